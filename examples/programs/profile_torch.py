"""Runs one of the PyTorch programs here under PyTorch's profiler, from its first job on, and writes the trace.

    python3 profile_torch.py bert.json.gz bert.py --batch 32 --jobs 50
    gangway import torch bert.json.gz --out bert.rec --jobs nvtx:job"""

import argparse
import os
import runpy
import sys

import torch
from torch.profiler import ProfilerActivity, profile, record_function


class Ranges:
    """Stands in for NVTX, which this profiler does not see: each range is an annotation; with the first one profiling begins."""

    def __init__(self, profiler):
        self.profiler, self.open, self.begun = profiler, [], False

    def push(self, name):
        if not self.begun:
            self.profiler.start()
            self.begun = True
        self.open.append(record_function(name))
        self.open[-1].__enter__()

    def pop(self):
        self.open.pop().__exit__(None, None, None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sync-events", action="store_true", help="record what calls wait for, too, which PyTorch does not by default")
    parser.add_argument("trace", help=".json or .json.gz")
    parser.add_argument("program")
    parser.add_argument("options", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    config = torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True) if args.sync_events else None
    profiler = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], experimental_config=config)
    ranges = Ranges(profiler)
    torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop = ranges.push, ranges.pop
    sys.argv = [args.program, *args.options]
    sys.path.insert(0, os.path.dirname(os.path.abspath(args.program)))
    runpy.run_path(args.program, run_name="__main__")
    if not ranges.begun:
        sys.exit("profile_torch: the program had no job")
    profiler.stop()
    profiler.export_chrome_trace(args.trace)


if __name__ == "__main__":
    main()
