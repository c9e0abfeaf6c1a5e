"""Small programs of several frameworks, each with its own ways to submit work. Prints results that must not depend on
how the program was started: programs.py NAME"""

import sys


def eager():
    import torch
    torch.manual_seed(0)
    a = torch.randn(512, 512, device="cuda")
    total = 0.0
    for _ in range(50):
        total += (a @ a.T * 1e-3).sin().sum().item()
    host = torch.randn(1 << 20).pin_memory()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        there = host.to("cuda", non_blocking=True)
        done = torch.cuda.Event()
        done.record()
    done.synchronize()
    image = torch.nn.functional.conv2d(torch.randn(8, 3, 64, 64, device="cuda"), torch.randn(16, 3, 3, 3, device="cuda"))
    return round(total, 3), round(there.cpu().sum().item(), 3), round(image.double().sum().item(), 2)


def graph():
    import torch
    torch.manual_seed(0)
    x = torch.randn(256, 256, device="cuda")
    w = torch.randn(256, 256, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            (x @ w).relu().sum()
    torch.cuda.current_stream().wait_stream(side)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = x
        for _ in range(20):
            y = (y @ w * 1e-2).relu()
        s = y.sum()
    out = []
    for i in range(30):
        x.fill_(i * 1e-2)
        g.replay()
        out.append(s.item())
    return [round(v, 4) for v in out[::7]]


def train():
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(False)
    model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=256, n_head=4, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)).to("cuda")
    optimiser = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 50257, (4, 128), device="cuda")
    losses = []
    for _ in range(5):
        optimiser.zero_grad()
        loss = model(tokens, labels=tokens).loss
        loss.backward()
        optimiser.step()
        losses.append(round(loss.item(), 3))
    return losses


def triton():
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def scale(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, i < n) * 2 + 1, i < n)

    x = torch.arange(100000, device="cuda", dtype=torch.float32)
    y = torch.empty_like(x)
    for _ in range(30):
        scale[(98,)](x, y, 100000, 1024)
        x, y = y * 1e-3, x
    return round(x.double().sum().item(), 2)


def jax():
    import jax
    import jax.numpy as jnp
    f = jax.jit(lambda x: jnp.sin(x @ x.T * 1e-3).sum())
    x = jax.random.normal(jax.random.key(0), (512, 512))
    out = [float(f(x * i)) for i in range(20)]
    g = jax.jit(lambda x: jax.lax.fori_loop(0, 50, lambda i, v: jnp.tanh(v) * 1.01, x))
    return [round(v, 2) for v in out[::6]], round(float(g(x).sum()), 2)


def cupy():
    import cupy
    x = cupy.arange(100000, dtype=cupy.float32)
    for _ in range(30):
        x = cupy.sin(x) + 1
    k = cupy.RawKernel('extern "C" __global__ void k(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }', "k")
    k((10,), (256,), (x,))
    ffted = cupy.abs(cupy.fft.fft(x)).max()
    return round(float(x.sum()), 1), round(float(ffted), 0)


def compiled():
    import torch
    torch.manual_seed(0)
    f = torch.compile(lambda x, w: torch.softmax(torch.nn.functional.gelu(x @ w) * 2 + 1, -1).sum(0))
    x, w = torch.randn(512, 256, device="cuda"), torch.randn(256, 128, device="cuda")
    for _ in range(10):
        y = f(x, w)
    return round(y.double().sum().item(), 2)


def fft():
    import torch
    torch.manual_seed(0)
    x = torch.randn(64, 4096, device="cuda")
    y = torch.fft.irfft(torch.fft.rfft(x) * 2)
    sparse = torch.eye(512, device="cuda").to_sparse_csr()
    z = sparse @ torch.randn(512, 64, device="cuda")
    q, r = torch.linalg.qr(torch.randn(256, 256, device="cuda"))
    ordered, _ = torch.sort(x.flatten())
    return round(y.sum().item(), 2), round(z.sum().item(), 3), round((q @ q.T).trace().item(), 2), round(ordered[1000].item(), 4)


if __name__ == "__main__":
    print(sys.argv[1], globals()[sys.argv[1]](), flush=True)
