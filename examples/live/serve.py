"""Inference as a service: ResNet-50 (batch 8, fp16, random weights) as a CUDA graph under Poisson requests.

serve.py FOLDER ALONE_SECONDS TOGETHER_SECONDS: a line of JSON for each phase; latencies count from when a request was due."""

import json
import os
import sys
import time

import numpy
import torch
import torchvision

from phases import from_arguments

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "programs"))
import inference

RATE = 60

torch.manual_seed(0)
model = torchvision.models.resnet50().cuda().eval().half().to(memory_format=torch.channels_last)
images = torch.randn(8, 3, 224, 224, device="cuda").half().to(memory_format=torch.channels_last)
with torch.no_grad():
    graph, answer = inference.captured(model, images, warm_ups=20)


def one():
    graph.replay()
    torch.cuda.synchronize()


for _ in range(50):
    one()
expected = answer.clone()
torch.cuda.synchronize()
random = numpy.random.default_rng(3)
for phase, begin, end in from_arguments("serve", sys.argv[1:]).mine():
    due = begin + numpy.cumsum(random.exponential(1 / RATE, int(RATE * (end - begin))))
    rows = []
    for at in due:
        while time.perf_counter() < at:
            pass
        started = time.perf_counter()
        one()
        rows.append((at, started, time.perf_counter()))
    rows = numpy.array(rows)
    latency = (rows[:, 2] - rows[:, 0]) * 1e3
    service = (rows[:, 2] - rows[:, 1]) * 1e3
    numpy.save(f"{sys.argv[1]}/requests-{phase.replace(' ', '-')}.npy", rows)
    print(json.dumps({"phase": phase, "requests": len(rows), "p50": round(float(numpy.percentile(latency, 50)), 3),
                      "p90": round(float(numpy.percentile(latency, 90)), 3),
                      "p99": round(float(numpy.percentile(latency, 99)), 3),
                      "most": round(float(latency.max()), 3),
                      "service_p50": round(float(numpy.percentile(service, 50)), 3),
                      "service_p99": round(float(numpy.percentile(service, 99)), 3)}), flush=True)
assert torch.equal(expected, answer)
