"""Training beside it: GPT-2 small (batch 8, 512 tokens, TF32, random weights and data), a synchronisation a step.

train.py FOLDER ALONE_SECONDS TOGETHER_SECONDS: a line of JSON for each phase."""

import json
import sys
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from phases import from_arguments

torch.manual_seed(0)
torch.backends.cuda.matmul.allow_tf32 = True
model = GPT2LMHeadModel(GPT2Config()).cuda()
optimiser = torch.optim.AdamW(model.parameters())
tokens = torch.randint(0, 50257, (8, 512), device="cuda")


def step():
    optimiser.zero_grad()
    model(tokens, labels=tokens).loss.backward()
    optimiser.step()


for _ in range(5):
    step()
torch.cuda.synchronize()
for phase, begin, end in from_arguments("train", sys.argv[1:]).mine():
    marks = [time.perf_counter()]
    while marks[-1] < end:
        step()
        torch.cuda.synchronize()
        marks.append(time.perf_counter())
    print(json.dumps({"phase": phase, "steps": len(marks) - 1,
                      "steps_per_second": round((len(marks) - 1) / (marks[-1] - marks[0]), 3)}), flush=True)
