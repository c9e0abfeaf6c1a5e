"""Triton kernels of many kinds, compiled without a GPU. python3 triton_kernels.py FOLDER"""

import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n).to(tl.float32)
    inner = 0.7978845608 * (v + 0.044715 * v * v * v)
    tanh = 2 * tl.sigmoid(2 * inner) - 1
    tl.store(out + at, (0.5 * v * (1 + tanh)).to(out.dtype.element_ty), mask=at < n)


@triton.jit
def strided(x, out, n, BLOCK: tl.constexpr):
    """A grid-stride loop: the number of programs is read."""
    step = tl.num_programs(0) * BLOCK
    for base in range(tl.program_id(0) * BLOCK, n, step):
        at = base + tl.arange(0, BLOCK)
        tl.store(out + at, tl.sqrt(tl.load(x + at, mask=at < n)), mask=at < n)


@triton.jit
def dropout(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=mask) / (1 - p), 0.0), mask=mask)


@triton.jit
def softmax(out, x, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * row_stride + at, mask=at < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * row_stride + at, e / tl.sum(e, axis=0), mask=at < columns)


@triton.jit
def log_softmax_online(out, x, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    most = tl.full((), -float("inf"), tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for base in range(0, columns, BLOCK):
        at = base + tl.arange(0, BLOCK)
        v = tl.load(x + row * row_stride + at, mask=at < columns, other=-float("inf"))
        new = tl.maximum(most, tl.max(v, axis=0))
        total = total * tl.exp(most - new) + tl.sum(tl.exp(v - new), axis=0)
        most = new
    for base in range(0, columns, BLOCK):
        at = base + tl.arange(0, BLOCK)
        v = tl.load(x + row * row_stride + at, mask=at < columns)
        tl.store(out + row * row_stride + at, v - most - tl.log(total), mask=at < columns)


@triton.jit
def layer_norm(x, out, weight, bias, mean, rstd, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * stride
    out += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for base in range(0, n, BLOCK):
        at = base + tl.arange(0, BLOCK)
        total += tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    mu = tl.sum(total, axis=0) / n
    var = tl.zeros([BLOCK], dtype=tl.float32)
    for base in range(0, n, BLOCK):
        at = base + tl.arange(0, BLOCK)
        v = tl.where(at < n, tl.load(x + at, mask=at < n, other=0.0).to(tl.float32) - mu, 0.0)
        var += v * v
    r = 1 / tl.sqrt(tl.sum(var, axis=0) / n + eps)
    tl.store(mean + row, mu)
    tl.store(rstd + row, r)
    for base in range(0, n, BLOCK):
        at = base + tl.arange(0, BLOCK)
        w = tl.load(weight + at, mask=at < n)
        b = tl.load(bias + at, mask=at < n)
        v = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
        tl.store(out + at, ((v - mu) * r * w + b).to(out.dtype.element_ty), mask=at < n)


@triton.jit
def layer_norm_backward(dx, dy, dw, x, weight, locks, stride, n, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    """Partial sums behind a lock in global memory, as in Triton's tutorial: a kernel that spins."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < n
    g = tl.load(dy + row * stride + at, mask=mask, other=0).to(tl.float32)
    v = tl.load(x + row * stride + at, mask=mask, other=0).to(tl.float32)
    w = tl.load(weight + at, mask=mask).to(tl.float32)
    tl.store(dx + row * stride + at, g * w, mask=mask)
    lock = locks + row % GROUPS
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    sums = dw + (row % GROUPS) * n + at
    tl.store(sums, tl.load(sums, mask=mask) + g * v, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def sum_atomic(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + at, mask=at < n, other=0.0), axis=0))


@triton.jit
def histogram(x, counts, n, BLOCK: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.histogram(tl.load(x + at, mask=at < n, other=0), BINS)
    tl.atomic_add(counts + tl.arange(0, BINS), h)


@triton.jit
def scatter_max(x, index, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.atomic_max(out + tl.load(index + at, mask=mask), tl.load(x + at, mask=mask), mask=mask)


@triton.jit
def argmax(x, values, indices, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    best, where = tl.max(v, axis=0, return_indices=True)
    tl.store(values + row, best)
    tl.store(indices + row, where)


@triton.jit
def cumulative(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + at, mask=at < columns, other=0.0)
    tl.store(out + row * stride + at, tl.cumsum(v, axis=0), mask=at < columns)


@triton.jit
def sort_rows(x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * stride + at, tl.sort(tl.load(x + row * stride + at)))


@triton.jit
def transpose(x, out, rows, columns, TILE: tl.constexpr):
    r = tl.program_id(0) * TILE + tl.arange(0, TILE)
    c = tl.program_id(1) * TILE + tl.arange(0, TILE)
    v = tl.load(x + r[:, None] * columns + c[None, :], mask=(r[:, None] < rows) & (c[None, :] < columns))
    tl.store(out + c[:, None] * rows + r[None, :], tl.trans(v), mask=(c[:, None] < columns) & (r[None, :] < rows))


@triton.jit
def embedding(tokens, table, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.load(tokens + row)
    for base in range(0, width, BLOCK):
        at = base + tl.arange(0, BLOCK)
        tl.store(out + row * width + at, tl.load(table + token * width + at, mask=at < width), mask=at < width)


@triton.jit
def matmul(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           GROUP: tl.constexpr, STAGES: tl.constexpr):
    pid = tl.program_id(0)
    pm, pn = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = GROUP * pn
    first = (pid // group) * GROUP
    size = min(pm - first, GROUP)
    m = first + (pid % group) % size
    n = (pid % group) // size
    rm = (m * BM + tl.arange(0, BM)) % M
    rn = (n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :] * sak
    pb = b + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BK), num_stages=STAGES):
        acc = tl.dot(tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0),
                     tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0), acc)
        pa += BK * sak
        pb += BK * sbk
    om = m * BM + tl.arange(0, BM)
    on = n * BN + tl.arange(0, BN)
    tl.store(c + om[:, None] * scm + on[None, :] * scn, acc.to(c.dtype.element_ty),
             mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit
def matmul_persistent(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Programs that loop over tiles."""
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0)):
        m, n = tile // tl.cdiv(N, BN), tile % tl.cdiv(N, BN)
        rm = m * BM + tl.arange(0, BM)
        rn = n * BN + tl.arange(0, BN)
        rk = tl.arange(0, BK)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            x = tl.load(a + rm[:, None] * K + (k * BK + rk)[None, :])
            y = tl.load(b + (k * BK + rk)[:, None] * N + rn[None, :])
            acc = tl.dot(x, y, acc)
        tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def matmul_split_k(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK * SPLIT):
        acc = tl.dot(tl.load(a + rm[:, None] * K + (k + rk)[None, :]), tl.load(b + (k + rk)[:, None] * N + rn[None, :]),
                     acc)
    tl.atomic_add(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def matmul_int8(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(a + rm[:, None] * K + (k + rk)[None, :]), tl.load(b + (k + rk)[:, None] * N + rn[None, :]),
                     acc, out_dtype=tl.int32)
    tl.store(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Tensor descriptors made on the device: bulk asynchronous copies and mbarriers on sm_90."""
    da = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    m, n = tl.program_id(0) * BM, tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([m, k]), db.load([n, k]).T, acc)
    dc.store([m, n], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, out, lse, scale, H, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
              CAUSAL: tl.constexpr):
    start = tl.program_id(0) * BM
    head = tl.program_id(1).to(tl.int64) * N * D
    rm = start + tl.arange(0, BM)
    rd = tl.arange(0, D)
    vq = tl.load(q + head + rm[:, None] * D + rd[None, :], mask=rm[:, None] < N, other=0.0)
    most = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    stop = min(start + BM, N) if CAUSAL else N
    for base in range(0, stop, BN):
        rn = base + tl.arange(0, BN)
        vk = tl.load(k + head + rn[None, :] * D + rd[:, None], mask=rn[None, :] < N, other=0.0)
        s = tl.dot(vq, vk) * scale
        s = tl.where(rn[None, :] < N, s, -float("inf"))
        if CAUSAL:
            s = tl.where(rm[:, None] >= rn[None, :], s, -float("inf"))
        new = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2((s - new[:, None]) * 1.44269504)
        fade = tl.exp2((most - new) * 1.44269504)
        total = total * fade + tl.sum(p, 1)
        vv = tl.load(v + head + rn[:, None] * D + rd[None, :], mask=rn[:, None] < N, other=0.0)
        acc = tl.dot(p.to(vv.dtype), vv, acc * fade[:, None])
        most = new
    tl.store(lse + tl.program_id(1) * N + rm, most + tl.log(total), mask=rm < N)
    tl.store(out + head + rm[:, None] * D + rd[None, :], (acc / total[:, None]).to(tl.float16), mask=rm[:, None] < N)


@triton.jit
def convolution(x, w, out, height, width, TILE: tl.constexpr, R: tl.constexpr):
    r = tl.program_id(0) * TILE + tl.arange(0, TILE)
    c = tl.program_id(1) * TILE + tl.arange(0, TILE)
    acc = tl.zeros((TILE, TILE), tl.float32)
    for i in tl.static_range(-R, R + 1):
        for j in tl.static_range(-R, R + 1):
            y, z = r[:, None] + i, c[None, :] + j
            inside = (y >= 0) & (y < height) & (z >= 0) & (z < width)
            acc += tl.load(x + y * width + z, mask=inside, other=0.0) * tl.load(w + (i + R) * (2 * R + 1) + j + R)
    tl.store(out + r[:, None] * width + c[None, :], acc, mask=(r[:, None] < height) & (c[None, :] < width))


@triton.jit
def quantise(x, out, scales, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    scale = tl.max(tl.abs(v), axis=0) / 127
    tl.store(out + at, (v / scale).to(tl.int8), mask=at < n)
    tl.store(scales + tl.program_id(0), scale)


@triton.jit
def checked(x, out, n, BLOCK: tl.constexpr):
    """An assertion and a print: calls of vprintf and __assertfail."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=1.0)
    tl.device_assert(v > 0, "not positive")
    tl.device_print("value", v)
    tl.store(out + at, tl.log(v), mask=at < n)


@triton.jit
def chained_scan(x, out, flags, sums, n, BLOCK: tl.constexpr):
    """Each program awaits the one before it: forward progress by order of the block index."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at, mask=at < n, other=0.0)
    own = tl.sum(v, axis=0)
    before = tl.full((), 0.0, tl.float32)
    if pid > 0:
        while tl.atomic_add(flags + pid - 1, 0, sem="acquire") == 0:
            pass
        before = tl.load(sums + pid - 1)
    tl.store(sums + pid, before + own)
    tl.debug_barrier()
    tl.atomic_xchg(flags + pid, 1, sem="release")
    tl.store(out + at, before + tl.cumsum(v, axis=0), mask=at < n)


@triton.jit
def grid_barrier(x, out, count, n, BLOCK: tl.constexpr):
    """Every program waits for all others: no form can be right, unless all of them are resident."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)
    tl.debug_barrier()
    tl.atomic_add(count, 1)
    while tl.atomic_add(count, 0) < tl.num_programs(0):
        pass
    tl.store(x + at, tl.load(out + n - 1 - at, mask=at < n), mask=at < n)


@triton.jit
def chained_backwards(x, out, flags, n, BLOCK: tl.constexpr):
    """Each program awaits the one behind it: no form can be right."""
    pid = tl.program_id(0)
    if pid + 1 < tl.num_programs(0):
        while tl.atomic_add(flags + pid + 1, 0) == 0:
            pass
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)
    tl.debug_barrier()
    tl.atomic_xchg(flags + pid, 1)


F, H, I = "*fp32", "*fp16", "*i32"
TILES = {"BM": 128, "BN": 128, "BK": 64}
MATRICES = {"M": "i32", "N": "i32", "K": "i32"}
STRIDES = {"sam": "i32", "sak": "i32", "sbk": "i32", "sbn": "i32", "scm": "i32", "scn": "i32"}
ATTENTION = {"q": H, "k": H, "v": H, "out": H, "lse": F, "scale": "fp32", "H": "i32", "N": "i32"}


def row(*pointers):
    return {**{p: F for p in pointers}, "stride": "i32"}


def product(kind):
    return {"a": kind, "b": kind, "c": kind, **MATRICES}


# name: kernel, types of its parameters, constants, options
KERNELS = {
    "add": (add, {"x": F, "y": F, "out": F, "n": "i32"}, {"BLOCK": 1024}, {}),
    "add_i64": (add, {"x": "*i64", "y": "*i64", "out": "*i64", "n": "i64"}, {"BLOCK": 256}, {"num_warps": 1}),
    "add_bf16": (add, {"x": "*bf16", "y": "*bf16", "out": "*bf16", "n": "i32"}, {"BLOCK": 4096}, {"num_warps": 8}),
    "gelu": (gelu, {"x": H, "out": H, "n": "i32"}, {"BLOCK": 1024}, {}),
    "strided": (strided, {"x": F, "out": F, "n": "i32"}, {"BLOCK": 512}, {}),
    "dropout": (dropout, {"x": F, "out": F, "n": "i32", "p": "fp32", "seed": "i32"}, {"BLOCK": 1024}, {}),
    "softmax": (softmax, {"out": F, "x": F, "row_stride": "i32", "columns": "i32"}, {"BLOCK": 2048}, {"num_warps": 8}),
    "softmax_one_warp": (softmax, {"out": F, "x": F, "row_stride": "i32", "columns": "i32"}, {"BLOCK": 64},
                         {"num_warps": 1}),
    "log_softmax_online": (log_softmax_online, {"out": F, "x": F, "row_stride": "i32", "columns": "i32"},
                           {"BLOCK": 1024}, {}),
    "layer_norm": (layer_norm, {"x": H, "out": H, "weight": F, "bias": F, "mean": F, "rstd": F, "stride": "i32",
                                "n": "i32", "eps": "fp32"}, {"BLOCK": 1024}, {}),
    "layer_norm_backward": (layer_norm_backward, {"dx": F, "dy": F, "dw": F, "x": F, "weight": F, "locks": I,
                                                  "stride": "i32", "n": "i32"}, {"GROUPS": 64, "BLOCK": 1024}, {}),
    "sum_atomic": (sum_atomic, {"x": F, "out": F, "n": "i32"}, {"BLOCK": 1024}, {}),
    "histogram": (histogram, {"x": I, "counts": I, "n": "i32"}, {"BLOCK": 1024, "BINS": 128}, {}),
    "scatter_max": (scatter_max, {"x": I, "index": I, "out": I, "n": "i32"}, {"BLOCK": 512}, {}),
    "argmax": (argmax, {"x": F, "values": F, "indices": I, "stride": "i32", "columns": "i32"}, {"BLOCK": 1024}, {}),
    "cumulative": (cumulative, {**row("x", "out"), "columns": "i32"}, {"BLOCK": 1024}, {}),
    "sort_rows": (sort_rows, row("x", "out"), {"BLOCK": 512}, {}),
    "transpose": (transpose, {"x": F, "out": F, "rows": "i32", "columns": "i32"}, {"TILE": 64}, {}),
    "embedding": (embedding, {"tokens": "*i64", "table": H, "out": H, "width": "i32"}, {"BLOCK": 256}, {}),
    "matmul": (matmul, {**product(H), **STRIDES}, {**TILES, "GROUP": 8, "STAGES": 1},
               {"num_warps": 8}),
    "matmul_pipelined": (matmul, {**product(H), **STRIDES}, {**TILES, "GROUP": 8, "STAGES": 4},
                         {"num_warps": 8}),
    "matmul_tf32": (matmul, {**product(F), **STRIDES},
                    {"BM": 64, "BN": 64, "BK": 32, "GROUP": 8, "STAGES": 3}, {}),
    "matmul_fp8": (matmul, {"a": "*fp8e4nv", "b": "*fp8e4nv", "c": H, **MATRICES, **STRIDES},
                   {**TILES, "GROUP": 8, "STAGES": 3}, {}),
    "matmul_int8": (matmul_int8, {"a": "*i8", "b": "*i8", "c": I, **MATRICES}, {"BM": 64, "BN": 64, "BK": 64}, {}),
    "matmul_persistent": (matmul_persistent, product(H), TILES, {"num_warps": 8}),
    "matmul_split_k": (matmul_split_k, {"a": H, "b": H, "c": F, **MATRICES},
                       {"BM": 64, "BN": 64, "BK": 32, "SPLIT": 4}, {}),
    "matmul_tma": (matmul_tma, product(H), TILES, {"num_warps": 8, "num_stages": 3}),
    "attention": (attention, ATTENTION, {"D": 64, "BM": 128, "BN": 64, "CAUSAL": False}, {"num_stages": 3}),
    "attention_causal": (attention, ATTENTION, {"D": 128, "BM": 128, "BN": 64, "CAUSAL": True},
                         {"num_warps": 8, "num_stages": 2}),
    "convolution": (convolution, {"x": F, "w": F, "out": F, "height": "i32", "width": "i32"}, {"TILE": 32, "R": 2}, {}),
    "quantise": (quantise, {"x": H, "out": "*i8", "scales": F, "n": "i32"}, {"BLOCK": 1024}, {}),
    "checked": (checked, {"x": F, "out": F, "n": "i32"}, {"BLOCK": 256}, {"debug": True}),
    "chained_scan": (chained_scan, {"x": F, "out": F, "flags": I, "sums": F, "n": "i32"}, {"BLOCK": 1024}, {}),
    "grid_barrier": (grid_barrier, {"x": F, "out": F, "count": I, "n": "i32"}, {"BLOCK": 256}, {}),
    "chained_backwards": (chained_backwards, {"x": F, "out": F, "flags": I, "n": "i32"}, {"BLOCK": 256}, {}),
}


def compiled(kernel, types, constants, options, architecture):
    # Pointers and strides are said to be divisible by 16, as Triton finds them to be in nearly all calls.
    names = kernel.arg_names
    divisible = {(names.index(name),): [["tt.divisibility", 16]]
                 for name, kind in types.items() if kind[0] == "*" or name in ("M", "N", "K", "stride")}
    source = ASTSource(fn=kernel, signature={n: types.get(n, "constexpr") for n in names},
                       constexprs={(names.index(n),): value for n, value in constants.items()}, attrs=divisible)
    return triton.compile(source, target=GPUTarget("cuda", architecture, 32), options=options).asm["ptx"]


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, description in KERNELS.items():
        for architecture in (80, 90):
            try:
                ptx = compiled(*description, architecture)
            except Exception as error:  # a kernel that this Triton or architecture cannot do
                reason = next(line for line in reversed(str(error).splitlines()) if line.strip())
                print(f"skipped triton/{name}.sm_{architecture}: {reason.strip()}")
                continue
            (folder / f"{name}.sm_{architecture}.ptx").write_text(ptx)


if __name__ == "__main__":
    main()
