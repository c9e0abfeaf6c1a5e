"""Numba kernels of many kinds, compiled without a GPU. python3 numba_kernels.py FOLDER"""

import math
import pathlib
import sys
import types

import numpy
from numba import boolean, complex64, cuda, float32, float64, int32, int64, uint8, uint32
from numba.cuda import dispatcher
from numba.cuda.random import xoroshiro128p_type, xoroshiro128p_uniform_float32

V32, V64, I32, I64, U8, M32 = (float32[::1], float64[::1], int32[::1], int64[::1], uint8[::1], float32[:, ::1])
TILE = 16
CONSTANT_ARRAY = numpy.array([1.0, 2.0, 4.0, 2.0, 1.0], dtype=numpy.float32)


@cuda.jit(device=True)
def clamp(value, low, high):
    return min(max(value, low), high)


@cuda.jit(device=True, inline=False)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def add(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + y[i]


def saxpy_strided(a, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] += a * x[i]


def early_return(x, out):
    i = cuda.grid(1)
    if i >= x.size:
        return
    if x[i] < 0:
        return
    out[i] = math.sqrt(x[i])


def black_scholes(call, put, price, strike, years, rate, volatility):
    i = cuda.grid(1)
    if i >= price.size:
        return
    root = math.sqrt(years[i])
    d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility**2) * years[i]) / (volatility * root)
    d2 = d1 - volatility * root
    n1, n2 = 0.5 * math.erfc(-d1 / math.sqrt(2.0)), 0.5 * math.erfc(-d2 / math.sqrt(2.0))
    later = strike[i] * math.exp(-rate * years[i])
    call[i] = price[i] * n1 - later * n2
    put[i] = later * (1 - n2) - price[i] * (1 - n1)


def mandelbrot(image, x0, y0, step, limit):
    x, y = cuda.grid(2)
    if x < image.shape[0] and y < image.shape[1]:
        c = complex(x0 + x * step, y0 + y * step)
        z = 0j
        for k in range(limit):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                image[x, y] = k
                return
        image[x, y] = limit


def matmul_plain(a, b, c):
    i, j = cuda.grid(2)
    if i < c.shape[0] and j < c.shape[1]:
        total = 0.0
        for k in range(a.shape[1]):
            total += a[i, k] * b[k, j]
        c[i, j] = total


def matmul_tiled(a, b, c):
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array((TILE, TILE), float32)
    i, j = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range((a.shape[1] + TILE - 1) // TILE):
        sa[ty, tx] = a[j, tx + k * TILE] if j < a.shape[0] and tx + k * TILE < a.shape[1] else 0
        sb[ty, tx] = b[ty + k * TILE, i] if i < b.shape[1] and ty + k * TILE < b.shape[0] else 0
        cuda.syncthreads()
        for m in range(TILE):
            total += sa[ty, m] * sb[m, tx]
        cuda.syncthreads()
    if j < c.shape[0] and i < c.shape[1]:
        c[j, i] = total


def transpose(x, out):
    tile = cuda.shared.array((32, 33), float32)
    i, j = cuda.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        tile[cuda.threadIdx.x, cuda.threadIdx.y] = x[i, j]
    cuda.syncthreads()
    if i < x.shape[0] and j < x.shape[1]:
        out[j, i] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


def sum_shared(x, out):
    partial = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    partial[t] = total
    cuda.syncthreads()
    step = 128
    while step:
        if t < step:
            partial[t] += partial[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(out, 0, partial[0])


def sum_warp(x, out):
    i = cuda.grid(1)
    value = x[i] if i < x.size else 0.0
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    if cuda.laneid == 0:
        out[i // 32] = value


def last_block(x, out, counter):
    """The last block that finishes adds up what all left behind."""
    shared = cuda.shared.array(1, int32)
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * 2
    cuda.threadfence()
    if cuda.threadIdx.x == 0:
        shared[0] = cuda.atomic.add(counter, 0, 1)
    cuda.syncthreads()
    if shared[0] == cuda.gridDim.x - 1 and cuda.threadIdx.x == 0:
        total = float32(0)
        for k in range(x.size):
            total += out[k]
        out[0] = total


def histogram(x, counts):
    local = cuda.shared.array(256, int32)
    for b in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        local[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(local, x[i], 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, 256, cuda.blockDim.x):
        cuda.atomic.add(counts, b, local[b])


def atomics(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(out, 0, x[i])
        cuda.atomic.min(out, 1, x[i])
        cuda.atomic.sub(out, 2, x[i])


def atomics_integer(x, out):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.and_(out, 0, x[i])
        cuda.atomic.or_(out, 1, x[i])
        cuda.atomic.xor(out, 2, x[i])
        cuda.atomic.exch(out, 3, x[i])
        cuda.atomic.cas(out, 4, 0, x[i])


def spin_lock(lock, total):
    if cuda.threadIdx.x == 0:
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        total[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


def grid_sync(x, out):
    """Cooperative: a barrier over the whole grid."""
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + 1
    grid.sync()
    if i < x.size:
        out[i] += out[x.size - 1 - i]


def stencil(x, out):
    tile = cuda.shared.array(258, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i < x.size:
        tile[t + 1] = x[i]
        if t == 0:
            tile[0] = x[i - 1] if i > 0 else 0
        if t == cuda.blockDim.x - 1 or i == x.size - 1:
            tile[t + 2] = x[i + 1] if i + 1 < x.size else 0
    cuda.syncthreads()
    if i < x.size:
        out[i] = 0.25 * tile[t] + 0.5 * tile[t + 1] + 0.25 * tile[t + 2]


def convolve_constant(x, out):
    weights = cuda.const.array_like(CONSTANT_ARRAY)
    i = cuda.grid(1)
    if 2 <= i < x.size - 2:
        total = 0.0
        for k in range(5):
            total += weights[k] * x[i + k - 2]
        out[i] = total


def heat_2d(old, new, alpha):
    i, j = cuda.grid(2)
    if 0 < i < old.shape[0] - 1 and 0 < j < old.shape[1] - 1:
        new[i, j] = old[i, j] + alpha * (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1] - 4 * old[i, j])


def volume_3d(x, out):
    i, j, k = cuda.grid(3)
    if i < x.shape[0] and j < x.shape[1] and k < x.shape[2]:
        out[i, j, k] = x[i, j, k] * cuda.blockIdx.z + cuda.gridDim.y


def bodies(position, force):
    tile = cuda.shared.array((256, 3), float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    fx = fy = fz = float32(0)
    for base in range(0, position.shape[0], 256):
        for axis in range(3):
            tile[t, axis] = position[base + t, axis]
        cuda.syncthreads()
        for k in range(256):
            dx, dy, dz = tile[k, 0] - position[i, 0], tile[k, 1] - position[i, 1], tile[k, 2] - position[i, 2]
            inverse = 1 / math.sqrt(dx * dx + dy * dy + dz * dz + float32(1e-6))
            cube = inverse * inverse * inverse
            fx += dx * cube
            fy += dy * cube
            fz += dz * cube
        cuda.syncthreads()
    force[i, 0], force[i, 1], force[i, 2] = fx, fy, fz


def bitonic(x, j, k):
    i = cuda.grid(1)
    other = i ^ j
    if other > i and other < x.size:
        if (i & k == 0) == (x[i] > x[other]):
            x[i], x[other] = x[other], x[i]


def search(haystack, needles, out):
    i = cuda.grid(1)
    if i < needles.size:
        low, high = 0, haystack.size
        while low < high:
            middle = (low + high) // 2
            if haystack[middle] < needles[i]:
                low = middle + 1
            else:
                high = middle
        out[i] = low


def sparse(values, columns, starts, x, y):
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for at in range(starts[row], starts[row + 1]):
            total += values[at] * x[columns[at]]
        y[row] = total


def monte_carlo(states, out, draws):
    i = cuda.grid(1)
    inside = 0
    for _ in range(draws):
        x = xoroshiro128p_uniform_float32(states, i)
        y = xoroshiro128p_uniform_float32(states, i)
        if x * x + y * y <= 1:
            inside += 1
    out[i] = 4 * inside / draws


def local_array(x, out):
    work = cuda.local.array(32, float32)
    i = cuda.grid(1)
    if i < x.size:
        for k in range(32):
            work[k] = x[i] * k
        total = float32(0)
        for k in range(32):
            total += work[int(x[i]) % 32 ^ k]
        out[i] = total


def votes(x, out):
    i = cuda.grid(1)
    mask = cuda.ballot_sync(0xFFFFFFFF, x[i] > 0)
    some = cuda.any_sync(0xFFFFFFFF, x[i] > 1)
    every = cuda.all_sync(0xFFFFFFFF, x[i] > 2)
    same = cuda.match_any_sync(0xFFFFFFFF, x[i])
    out[i] = cuda.popc(mask) + some + every + cuda.popc(same)


def block_votes(x, out):
    i = cuda.grid(1)
    count = cuda.syncthreads_count(int32(x[i] > 0))
    both = cuda.syncthreads_and(int32(x[i] > 1))
    either = cuda.syncthreads_or(int32(x[i] > 2))
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = count + both + either


def game_of_life(old, new):
    i, j = cuda.grid(2)
    rows, columns = old.shape
    if i >= rows or j >= columns:
        return
    alive = 0
    for di in range(-1, 2):
        for dj in range(-1, 2):
            alive += old[(i + di) % rows, (j + dj) % columns]
    alive -= old[i, j]
    new[i, j] = alive == 3 or (old[i, j] and alive == 2)


def device_functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = clamp(x[i], float32(-1), float32(1))


def recursion(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = fibonacci(x[i])


def complex_product(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * y[i].conjugate()


def printing(x):
    i = cuda.grid(1)
    if i < x.size and x[i] < 0:
        print("negative at", i, x[i])


def clocked(x, out):
    start = cuda.nanosleep(100)
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] + cuda.blockIdx.x


def dynamic_shared(x, out):
    tile = cuda.shared.array(0, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = x[i]
    cuda.syncthreads()
    out[i] = tile[cuda.blockDim.x - 1 - t]


def integer_division(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] // y[i] + x[i] % y[i]


def powers(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = math.sin(x[i]) ** 2 + math.pow(math.fabs(x[i]), 1.7) + math.lgamma(x[i]) + math.atan2(x[i], 2.0)


# name: kernel, types of its arguments
KERNELS = {
    "add": (add, (V32, V32, V32)),
    "add_double": (add, (V64, V64, V64)),
    "add_strided_array": (add, (float32[:], float32[:], float32[:])),
    "saxpy_strided": (saxpy_strided, (float32, V32, V32)),
    "early_return": (early_return, (V32, V32)),
    "black_scholes": (black_scholes, (V64, V64, V64, V64, V64, float64, float64)),
    "mandelbrot": (mandelbrot, (int32[:, ::1], float64, float64, float64, int32)),
    "matmul_plain": (matmul_plain, (M32, M32, M32)),
    "matmul_tiled": (matmul_tiled, (M32, M32, M32)),
    "transpose": (transpose, (M32, M32)),
    "sum_shared": (sum_shared, (V32, V32)),
    "sum_warp": (sum_warp, (V32, V32)),
    "last_block": (last_block, (V32, V32, I32)),
    "histogram": (histogram, (U8, I32)),
    "atomics": (atomics, (I32, I32)),
    "atomics_float": (atomics, (V32, V32)),
    "atomics_double": (atomics, (V64, V64)),
    "atomics_integer": (atomics_integer, (uint32[::1], uint32[::1])),
    "spin_lock": (spin_lock, (I32, I32)),
    "grid_sync": (grid_sync, (V32, V32)),
    "stencil": (stencil, (V32, V32)),
    "convolve_constant": (convolve_constant, (V32, V32)),
    "heat_2d": (heat_2d, (float64[:, ::1], float64[:, ::1], float64)),
    "volume_3d": (volume_3d, (float32[:, :, ::1], float32[:, :, ::1])),
    "bodies": (bodies, (M32, M32)),
    "bitonic": (bitonic, (V32, int32, int32)),
    "search": (search, (V32, V32, I64)),
    "sparse": (sparse, (V64, I32, I32, V64, V64)),
    "monte_carlo": (monte_carlo, (xoroshiro128p_type[::1], V32, int32)),
    "local_array": (local_array, (V32, V32)),
    "votes": (votes, (I32, I32)),
    "block_votes": (block_votes, (I32, I32)),
    "game_of_life": (game_of_life, (boolean[:, ::1], boolean[:, ::1])),
    "device_functions": (device_functions, (V32, V32)),
    "recursion": (recursion, (I64, I64)),
    "complex_product": (complex_product, (complex64[::1], complex64[::1], complex64[::1])),
    "printing": (printing, (V32,)),
    "nanosleep": (clocked, (V32, V32)),
    "dynamic_shared": (dynamic_shared, (V32, V32)),
    "integer_division": (integer_division, (I64, I64, I64)),
    "powers": (powers, (V64, V64)),
}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (kernel, arguments) in KERNELS.items():
        for architecture in ((8, 0), (9, 0)):
            target = f"{name}.sm_{architecture[0]}{architecture[1]}"
            # Functions of the device are compiled for the GPU that is there: say which.
            dispatcher.get_current_device = lambda: types.SimpleNamespace(compute_capability=architecture)
            try:
                ptx, _ = cuda.compile_ptx(kernel, arguments, cc=architecture)
            except Exception as error:  # what this Numba cannot do
                reason = next((line for line in str(error).splitlines() if line.strip()), repr(error))
                print(f"skipped numba/{target}: {reason.strip()}")
                continue
            (folder / f"{target}.ptx").write_text(ptx)


if __name__ == "__main__":
    main()
