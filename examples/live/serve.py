"""Inference as a service: ResNet-50 (batch 8, fp16, random weights) as a CUDA graph under Poisson requests.

serve.py FOLDER ALONE_SECONDS TOGETHER_SECONDS: a line of JSON for each phase; latencies count from when a request was due."""

import json
import sys
import time

import numpy
import torch
import torchvision

from phases import from_arguments

RATE = 60

torch.manual_seed(0)
model = torchvision.models.resnet50().cuda().eval().half().to(memory_format=torch.channels_last)
images = torch.randn(8, 3, 224, 224, device="cuda").half().to(memory_format=torch.channels_last)
with torch.no_grad():
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(20):
            model(images)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answer = model(images)


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
