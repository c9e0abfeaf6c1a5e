"""Inference with PyTorch: input copied in, model, answer copied out; eager or as a CUDA graph."""

import torch


def add_options(parser, batch):
    parser.add_argument("--graph", action="store_true", help="the model as a CUDA graph")
    parser.add_argument("--batch", type=int, default=batch, help=f"(default {batch})")


def captured(model, there, warm_ups):
    """The model as a CUDA graph: (graph, the tensor that has its answer). `there` is what it reads each time."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm_ups):
            model(there)
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        answer = model(there)
    return graph, answer


def job_of(model, example, graph):
    """A job for `model`, which takes a tensor and returns one. `example` is on the host."""
    there = example.cuda()
    here = example.pin_memory()

    @torch.inference_mode()
    def eager():
        there.copy_(here, non_blocking=True)
        answer.copy_(model(there), non_blocking=True)

    @torch.inference_mode()
    def replay():
        there.copy_(here, non_blocking=True)
        of_model.replay()
        answer.copy_(result, non_blocking=True)

    with torch.inference_mode():
        answer = torch.empty_like(model(there), device="cpu").pin_memory()
        if not graph:
            return eager
        of_model, result = captured(model, there, warm_ups=5)
        return replay
