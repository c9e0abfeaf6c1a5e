"""A training loop with pauses: so many GiB of state; steps of about 30 ms, each followed by a synchronisation and a pause in ms, for so many seconds.

pauses.py GIB PAUSE SECONDS"""

import sys
import time

import torch

size, pause, seconds = int(sys.argv[1]), float(sys.argv[2]) / 1e3, float(sys.argv[3])
state = [torch.zeros(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(size)]
weights = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
torch.cuda.synchronize()
steps, began = 0, time.monotonic()
while time.monotonic() - began < seconds:
    for _ in range(20):
        weights @ weights
    state[steps % size][:4096] += 1
    torch.cuda.synchronize()
    steps += 1
    time.sleep(pause)  # as for the next batch
print(steps)
