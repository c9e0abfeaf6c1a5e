"""Training whose losses are printed bit by bit: GPT-2 small, so many steps, each followed by a synchronisation.

losses.py STEPS"""

import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
torch.use_deterministic_algorithms(True)
model = GPT2LMHeadModel(GPT2Config()).cuda()
optimiser = torch.optim.AdamW(model.parameters())
tokens = torch.randint(0, 50257, (8, 512), device="cuda")
steps = int(sys.argv[1])
began = None
for step in range(steps):
    optimiser.zero_grad()
    loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimiser.step()
    print(step, loss.item().hex(), flush=True)
    began = began or time.perf_counter()
torch.cuda.synchronize()
print(f"{(steps - 1) / (time.perf_counter() - began):.3f} steps/s, {torch.cuda.max_memory_reserved() >> 20} MiB", file=sys.stderr)
