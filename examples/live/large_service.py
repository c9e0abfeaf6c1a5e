"""A service with a large state: layers of 8192 x 8192 in fp16 that take so many GiB, answered one request at a time.

large_service.py GIB SEED: a request for each line on stdin, with its time in ms and the answer's sum as the reply. Services with
different seeds have different weights and answers. The weights are made on the GPU; a real service reads them, and so starts later."""

import math
import sys
import time

began = time.perf_counter()
import torch

torch.manual_seed(int(sys.argv[2]))
WIDTH = 8192
layers = [torch.randn(WIDTH, WIDTH, device="cuda", dtype=torch.float16) / WIDTH**0.5
          for _ in range(int(float(sys.argv[1]) * 2**30 / (2 * WIDTH * WIDTH)))]
question = torch.randn(8, WIDTH, device="cuda", dtype=torch.float16)


def answer():
    with torch.no_grad():
        x = question
        for layer in layers:
            x = torch.nn.functional.silu(x @ layer).float()
            x = (x / x.square().mean(dim=1, keepdim=True).sqrt()).half()  # without it, 30 GiB of layers overflow
        total = x.float().abs().sum().item()
    if not math.isfinite(total):
        sys.exit(f"the answer is {total}")
    return total


answer()
print(f"ready {time.perf_counter() - began:.3f} {answer().hex()}", flush=True)
for line in sys.stdin:
    due = time.perf_counter()
    reply = answer()
    print(f"{(time.perf_counter() - due) * 1e3:.3f} {reply.hex()}", flush=True)
