"""Records what PyTorch's allocator asks of the driver, and which blocks it gives to tensors: a training with sequences
of many lengths, a second stream, captured graphs, a cache that grows, and a limit at which cached memory is returned.

    PYTORCH_CUDA_ALLOC_CONF=... record.py FILE

Lines of FILE, in order; numbers are names, sizes and offsets are in bytes:
  reserve R SIZE PIECE   addresses of an expandable segment, mapped in pieces of that size
  map R OFFSET SIZE, unmap R OFFSET SIZE, unreserve R
  segment S SIZE, release S
  block B PLACE OFFSET SIZE   in a segment, or in reserved addresses
  free B"""

import os
import sys

import torch
from torch import nn

MIB = 1 << 20
RESERVED = 64 << 30  # less than PyTorch reserves for a segment, which is more than the GPU's memory


def play():
    torch.manual_seed(0)
    width = 256
    embedding = nn.Embedding(1000, width).cuda()
    layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 1024, batch_first=True), 2, enable_nested_tensor=False).cuda()
    head = nn.Linear(width, 1000).cuda()
    parameters = [*embedding.parameters(), *layers.parameters(), *head.parameters()]
    optimiser = torch.optim.AdamW(parameters)

    def train(batch, length):
        tokens = torch.randint(0, 1000, (batch, length), device="cuda")
        optimiser.zero_grad()
        logits = head(layers(embedding(tokens)))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
        loss.backward()
        optimiser.step()
        return loss.item()

    for batch, length in ((4, 64), (4, 192), (2, 33), (4, 128), (2, 250)):
        train(batch, length)

    # Batches are prepared in a second stream, as a loader does.
    side = torch.cuda.Stream()
    for k in range(6):
        with torch.cuda.stream(side):
            prepared = torch.rand(2 + k, 150_000, device="cuda").sort().values
        torch.cuda.current_stream().wait_stream(side)
        prepared.record_stream(torch.cuda.current_stream())
        (prepared * 2).sum()
        del prepared
        torch.rand(1 + k, 400_000, device="cuda").sum().item()

    layers.eval()
    with torch.no_grad():
        # A graph for each batch size, with memory of its own.
        graphs = []
        for batch in (1, 2, 4):
            tokens = torch.zeros(batch, 64, dtype=torch.long, device="cuda")
            head(layers(embedding(tokens)))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                answer = head(layers(embedding(tokens)))
            graphs.append((graph, tokens, answer))
        for graph, *_ in graphs * 2:
            graph.replay()
        torch.cuda.synchronize()
        # Requests of growing length: each token makes the cache anew.
        caches = [torch.rand(2, 1, 4, 8 + 5 * r, 64, device="cuda") for r in range(8)]
        for step in range(60):
            r = step * 5 % 8
            caches[r] = torch.cat([caches[r], torch.rand(2, 1, 4, 1 + step % 7 * 40, 64, device="cuda")], 3)
            if step % 11 == 10:
                caches[step % 8] = torch.rand(2, 1, 4, 8, 64, device="cuda")
        del graphs, graph, tokens, answer, caches
    torch.cuda.empty_cache()

    # Near a limit of its own, what is cached is returned and asked for anew.
    layers.train()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, (torch.cuda.memory_reserved() + 60 * MIB) / total))
    for k in range(8):
        kept = []
        try:
            for n in range(8):
                kept.append(torch.zeros((3 + 3 * (k + n) % 13) * MIB // 4, device="cuda"))
        except torch.OutOfMemoryError:
            pass
        del kept[1:]
        train(2 + k, 40)
        del kept
    torch.cuda.set_per_process_memory_fraction(1.0)
    train(8, 96)


def reservations(trace):
    """Of each piece of an expandable segment that is mapped or unmapped: the segment's number, where it begins, and whether this is its
    first or its last piece. A segment that has nothing mapped is gone; the next one may have the same addresses."""
    mapped, found = {}, {}  # of each segment that is there: its number and how much is mapped
    count = 0
    for e, entry in enumerate(trace):
        if entry["action"] not in ("segment_map", "segment_unmap"):
            continue
        start = max((s for s in mapped if s <= entry["addr"] < s + RESERVED), default=None)
        first = start is None
        if start is None:
            start, mapped[entry["addr"]] = entry["addr"], [count, 0]
            count += 1
        segment = mapped[start]
        segment[1] += entry["size"] if entry["action"] == "segment_map" else -entry["size"]
        found[e] = (segment[0], start, first, segment[1] == 0)
        if segment[1] == 0:
            del mapped[start]
    return found


def lines(trace):
    """Of PyTorch's own history of one GPU."""
    expandable = reservations(trace)
    sizes = {}
    for e, (r, *_) in expandable.items():
        sizes.setdefault(r, []).append(trace[e]["size"])
    places, blocks, segments, count = {}, {}, 0, 0  # by address
    for e, entry in enumerate(trace):
        action, address, size = entry["action"], entry.get("addr"), entry["size"]  # no address where there was no memory
        if action == "segment_alloc":
            places[address] = f"s{segments}"
            segments += 1
            yield f"segment {places[address]} {size}"
        elif action == "segment_free":
            yield f"release {places.pop(address)}"
        elif action in ("segment_map", "segment_unmap"):
            r, start, first, last = expandable[e]
            if first:
                places[start] = f"r{r}"
                yield f"reserve r{r} {RESERVED} {next(p for p in (20 * MIB, 2 * MIB) if all(s % p == 0 for s in sizes[r]))}"
            yield f"{action[8:]} r{r} {address - start} {size}"
            if last:
                yield f"unreserve {places.pop(start)}"
        elif action == "alloc":
            blocks[address], count = count, count + 1
            start = max(start for start in places if start <= address)
            yield f"block {blocks[address]} {places[start]} {address - start} {size}"
        elif action == "free_completed" and address in blocks:
            yield f"free {blocks.pop(address)}"


def main():
    torch.cuda.memory._record_memory_history(enabled="all", context=None, stacks="python", max_entries=1_000_000)
    play()
    trace = torch.cuda.memory._snapshot()["device_traces"][0]
    gpu = torch.cuda.get_device_properties(0)
    configuration = os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "") or "as it is"
    with open(sys.argv[1], "w") as file:
        file.write(f"# PyTorch {torch.__version__} on {gpu.name}, configuration of its allocator: {configuration}\n")
        for line in lines(trace):
            file.write(line + "\n")
    kinds = {}
    for entry in trace:
        kinds[entry["action"]] = kinds.get(entry["action"], 0) + 1
    print(sys.argv[1], kinds, torch.cuda.max_memory_reserved() // MIB, "MiB reserved at most", file=sys.stderr)


if __name__ == "__main__":
    main()
