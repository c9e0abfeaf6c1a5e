"""How slow a program's host code is after a wait, measured without Gangway: ResNet-50 in PyTorch's eager mode.

cold_host.py [BATCH]. First, forward passes that begin after a wait: the time until some of the network's layers begin.
Then passes that are interrupted after each ms, as under a policy with such turns: how many layers begin in a turn. The
device's `cooling` (models/devices/h100.yaml) says the same to the simulator."""

import statistics
import sys
import time

import torch
import torchvision

WAITS_MS = [0, 0.2, 1, 5, 20, 43, 200]
SHOWN = [0, 1, 2, 5, 10, 20, 40, 80]
TURN_NS = 1_000_000


def wait(ms):
    torch.cuda.synchronize()
    if ms:
        time.sleep(ms / 1e3)


def layers(model):
    return [module for module in model.modules() if not list(module.children())]


def passes(model, images, repetitions=30):
    """By wait: for each layer and the end of the pass, the median time until it begins, in us."""
    begun = []
    hooks = [layer.register_forward_pre_hook(lambda *_: begun.append(time.perf_counter_ns())) for layer in layers(model)]
    rows = {ms: [] for ms in WAITS_MS}
    for _ in range(repetitions):
        for ms in WAITS_MS:
            wait(ms)
            begun.clear()
            began = time.perf_counter_ns()
            model(images)
            rows[ms].append([at - began for at in [*begun, time.perf_counter_ns()]])
    for hook in hooks:
        hook.remove()
    return {ms: [statistics.median(times) / 1e3 for times in zip(*of)] for ms, of in rows.items()}


def turns(model, images, ms):
    """How many layers began in each turn."""
    counts, turn = [], {"began": time.perf_counter_ns(), "layers": 0}

    def layer_begins(*_):
        turn["layers"] += 1
        if time.perf_counter_ns() - turn["began"] > TURN_NS:
            counts.append(turn["layers"])
            wait(ms)
            turn.update(began=time.perf_counter_ns(), layers=0)

    hooks = [layer.register_forward_pre_hook(layer_begins) for layer in layers(model)]
    until = time.perf_counter() + min(4, 60 * (ms + 2) / 1e3)
    while time.perf_counter() < until:
        model(images)
    for hook in hooks:
        hook.remove()
    return sorted(counts)


def main():
    torch.manual_seed(0)
    batch = int(sys.argv[1]) if len(sys.argv) > 1 else 128
    model = torchvision.models.resnet50().cuda().eval().half().to(memory_format=torch.channels_last)
    images = torch.randn(batch, 3, 224, 224, device="cuda").half().to(memory_format=torch.channels_last)
    print(f"{torch.cuda.get_device_name()}, batch {batch}, {len(layers(model))} layers")
    with torch.no_grad():
        for _ in range(20):
            model(images)
        times = passes(model, images)
        for ms in WAITS_MS:
            later = "  ".join(f"{layer}: {times[ms][layer]:.0f}" for layer in SHOWN)
            print(f"after {ms:5} ms, us until layers begin: {later}  end: {times[ms][-1]:.0f}")
        for ms in WAITS_MS:
            counts = turns(model, images, ms)
            low, middle, high = (counts[round(part * (len(counts) - 1))] for part in (0.1, 0.5, 0.9))
            print(f"after {ms:5} ms, layers in a turn of 1 ms: {middle} (10th percentile {low}, 90th {high}, {len(counts)} turns)")


if __name__ == "__main__":
    main()
