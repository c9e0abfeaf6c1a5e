"""Training beside it: GPT-2 small (batch 8, 512 tokens, TF32, random weights and data), a synchronisation a step.

train.py FOLDER ALONE_SECONDS TOGETHER_SECONDS: a line of JSON for each phase."""

import json
import os
import sys
import time

import torch

from phases import from_arguments

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))
import training

step = training.gpt2(8)
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
