"""The command line that all programs here share, and the loop that runs their jobs."""

import argparse
import json
import os
import random
import sys
import time


def options(parser):
    parser.add_argument("--jobs", type=int, help="how many jobs (default 100, or as many as --seconds has room for)")
    parser.add_argument("--seconds", type=float, help="no job begins later than this after the start")
    parser.add_argument("--rate", type=float, help="arrivals a second (Poisson); without it a job follows the other")
    parser.add_argument("--seed", type=int, default=1, help="of the arrivals (default 1)")
    parser.add_argument("--log", help="a line of JSON for each job: arrival, begin and end in ns of CLOCK_MONOTONIC")
    parser.add_argument("--start-at", help="when the first job may begin: seconds of CLOCK_MONOTONIC, or a file that "
                                           "is waited for and removed")
    return parser


def sleep_until(at):
    """Wakes up at `at` (ns) to some microseconds: the last stretch is spent looking at the clock."""
    left = at - time.monotonic_ns()
    if left > 500_000:
        time.sleep((left - 300_000) / 1e9)
    while time.monotonic_ns() < at:
        pass


def await_start(start_at):
    if start_at is None:
        return
    try:
        sleep_until(int(float(start_at) * 1e9))
    except ValueError:
        print("ready", flush=True)
        while not os.path.exists(start_at):
            time.sleep(0.002)
        os.remove(start_at)


def run(args, one):
    """Runs jobs as the options have it; `one` is a whole job with its range. Returns (arrival, begin, end) of each."""
    jobs = args.jobs if args.jobs is not None else (100 if args.seconds is None else 1 << 60)
    await_start(args.start_at)
    start = time.monotonic_ns()
    end_of_run = start + int((args.seconds if args.seconds is not None else 1e9) * 1e9)
    arrivals, arrival, rows = random.Random(args.seed), start, []
    while len(rows) < jobs:
        if args.rate is not None:
            arrival += int(arrivals.expovariate(args.rate) * 1e9)
            if arrival >= end_of_run:
                break
            sleep_until(arrival)
        begin = time.monotonic_ns()
        if begin >= end_of_run:
            break
        one()
        rows.append((arrival if args.rate is not None else begin, begin, time.monotonic_ns()))
    return rows


def report(args, rows):
    if args.log:
        with open(args.log, "w") as log:
            for arrival, begin, end in rows:
                log.write(json.dumps({"arrival": arrival, "begin": begin, "end": end}) + "\n")
    if rows:
        lengths = sorted(end - begin for _, begin, end in rows)
        print(f"{len(rows)} jobs, mean {sum(lengths) / len(rows) / 1e6:.3f} ms, median {lengths[len(rows) // 2] / 1e6:.3f} ms",
              flush=True)
    else:
        print("0 jobs", flush=True)


def torch_tools():
    import torch
    return torch.cuda.synchronize, torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop


def cupy_tools():
    import cupy
    return cupy.cuda.Device().synchronize, cupy.cuda.nvtx.RangePush, cupy.cuda.nvtx.RangePop


def main(description, build, tools=torch_tools, more=lambda parser: None):
    """`build(args)` sets up the program and returns its job, a function. What it submits is waited for here."""
    parser = options(argparse.ArgumentParser(description=description))
    parser.add_argument("--warm-up", type=int, default=20, help="jobs before the first, without a range (default 20)")
    parser.add_argument("--runs", action="store_true", help="several runs: the options of each are a line of stdin")
    more(parser)
    args = parser.parse_args()
    for name in ("jobs", "seconds", "rate"):
        if getattr(args, name) is not None and not getattr(args, name) > 0:
            parser.error(f"--{name} must be greater than 0")
    job = build(args)
    synchronize, push, pop = tools()

    def one():
        push("job")
        job()
        synchronize()
        pop()

    for _ in range(args.warm_up):
        job()
        synchronize()
    if not args.runs:
        return report(args, run(args, one))
    print("ready", flush=True)
    line_parser = options(argparse.ArgumentParser())
    for line in sys.stdin:
        this = line_parser.parse_args(line.split())
        report(this, run(this, one))
