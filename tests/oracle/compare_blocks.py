#!/usr/bin/python3
"""Compare the gangway binary with the tick-by-tick block model: every job and every block, to the nanosecond.

    compare_blocks.py --gangway build/gangway [--workloads 5000] [--seed 1]

One comparison is one workload on one device. gangway plays it by waves and block by block, and both must be what
the model says. A workload on which they differ stays on disk as an experiment of its own.
"""
import argparse
import collections
import gzip
import csv
import itertools
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from block_model import BlockModel
from block_workloads import FIRST, WorkloadDraw, device, experiment

WORKLOADS, DEVICES = 5, 5  # of one experiment
CASES = 5000
LATE = 10**9  # ns: a horizon behind all events, which a run needs where kernels block each other for ever
EVENTS = ("cohorts", "blocks")
MEMORY = "/dev/shm"  # where 5,000 short-lived traces cost no time


def spans_of(path):
    """The block spans of a trace, waves written out: how many of (client, job, kernel, sm, begin, end)."""
    spans = collections.Counter()
    with gzip.open(path, "rt") as file:
        for event in json.load(file)["traceEvents"]:
            if event["pid"] != 3 or event["ph"] != "X":
                continue
            args, begin = event["args"], round(event["ts"] * 1000)
            length, rest = divmod(round(event["dur"] * 1000), args["waves"])
            assert rest == 0, event
            for _ in range(args["waves"]):
                key = args["client"], args["job"], args["kernel"], args["sm"], begin, begin + length
                spans[key] += args["blocks"]
                begin += length
    return spans


def jobs_of(path):
    """By point: (client, job) -> (arrival, start, finish), numbers or None."""
    points = collections.defaultdict(dict)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            times = tuple(int(row[key]) if row[key] else None for key in ("arrival_ns", "start_ns", "finish_ns"))
            points[int(row["point"])][row["client"], int(row["job"])] = times
    return points


def run_gangway(binary, spec, folder):
    """(jobs, spans) of every point; a string instead if there are none."""
    out = folder / "out"
    path = folder / "experiment.yaml"
    path.write_text(json.dumps(spec))
    command = [binary, "run", str(path), "--out", str(out), "--trace", "--force", "--jobs", "1"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
    if done.returncode:
        return f"gangway exited with {done.returncode}: {' '.join(done.stdout.split())[-500:]}"
    jobs = jobs_of(out / "jobs.csv")
    count = math.prod(len(values) for values in spec["sweep"].values())
    points = [(jobs[point], spans_of(out / "trace" / f"point-{point}-passthrough-r0-p0.json.gz"))
              for point in range(count)]
    shutil.rmtree(out)
    return points


def differences(model, jobs, spans):
    """One line for every job and block in which gangway and the model differ, the earliest blocks first."""
    expected = {(job.client.name, job.number): (job.release, job.start, job.finish) for job in model.jobs}
    for key in sorted(set(spans) | set(model.spans), key=lambda key: (key[4], key)):
        if spans[key] != model.spans[key]:
            client, job, kernel, sm, begin, end = key
            yield (f"{client} job {job} {kernel} on SM {sm} from {begin} to {end}: "
                   f"gangway {spans[key]} blocks, model {model.spans[key]}")
    for key in sorted(set(jobs) | set(expected)):
        if jobs.get(key) != expected.get(key):
            yield f"{key[0]} job {key[1]}: gangway {jobs.get(key)}, model {expected.get(key)}"


def write_case(path, workload, gpu, horizon):
    spec = experiment([workload], [gpu], horizon, "cohorts")
    del spec["sweep"]
    path.write_text(json.dumps(spec, indent=1))


class Comparison:
    def __init__(self, binary, folder, scratch):
        self.binary, self.folder, self.scratch = binary, folder, scratch
        self.passed = self.failed = self.jobs = self.blocks = 0
        self.kinds = collections.Counter()

    def batch(self, seed, number):
        draw = random.Random(f"{seed}/{number}")
        workloads = [WorkloadDraw(draw).workload(index) for index in range(WORKLOADS)]
        devices = [device(draw, index) for index in range(DEVICES)]
        horizon = draw.choice([None, None, None, None, draw.randint(10, 60)])
        models = [[BlockModel(workload, gpu, horizon).run() for gpu in devices] for workload in workloads]
        for index, of_workload in enumerate(models):
            if not all(any(job.finish is not None for job in model.jobs) for model in of_workload):
                workloads[index]["clients"] = [FIRST, *workloads[index]["clients"], {**FIRST, "name": "last"}]
                models[index] = [BlockModel(workloads[index], gpu, horizon).run() for gpu in devices]
        if horizon is None and any(job.finish is None for of_workload in models for model in of_workload for job in model.jobs):
            horizon = LATE
        played = {}
        for events in EVENTS:
            played[events] = run_gangway(self.binary, experiment(workloads, devices, horizon, events), self.scratch)
            if isinstance(played[events], str):
                kept = self.folder / f"batch-{seed}-{number}.yaml"
                shutil.copy(self.scratch / "experiment.yaml", kept)
                print(f"{played[events]} [{kept}]")
                self.failed += WORKLOADS * DEVICES
                return
        for point, (workload, gpu) in enumerate(itertools.product(workloads, devices)):
            self.case(f"{seed}-{number}-{point}", workload, gpu, horizon, models[point // DEVICES][point % DEVICES],
                      {events: points[point] for events, points in played.items()})

    def case(self, name, workload, gpu, horizon, model, played):
        self.jobs += len(model.jobs)
        self.blocks += sum(model.spans.values())
        kind = gpu.get("arbitration", "native-priority"), gpu.get("layout", "sm"), gpu["queue_order"], "rules off" if "rules" in gpu else "all rules"
        wrong = [f"{events}: {line}" for events, (jobs, spans) in played.items()
                 for line in differences(model, jobs, spans)]
        self.kinds[kind] += 1
        if not wrong:
            self.passed += 1
            return
        self.failed += 1
        path = self.folder / f"case-{name}.yaml"
        write_case(path, workload, gpu, horizon)
        print(f"{' '.join(kind)} {gpu.get('rules', '')}: {wrong[0]} ({len(wrong)} differences) [{path}]")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gangway", required=True, help="path of the binary")
    parser.add_argument("--workloads", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first experiment to play")
    args = parser.parse_args()

    folder, begin = pathlib.Path(tempfile.mkdtemp(prefix="gangway-oracle-")), time.time()
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as scratch:
        comparison = Comparison(args.gangway, folder, pathlib.Path(scratch))
        for number in range(-(-args.workloads // (WORKLOADS * DEVICES))):
            comparison.batch(args.seed, args.first + number)
    if not comparison.failed:
        shutil.rmtree(folder)
    for kind, count in sorted(comparison.kinds.items()):
        print(f"{count:7} {' '.join(kind)}")
    print(f"{comparison.jobs} jobs, {comparison.blocks} blocks, {time.time() - begin:.1f} s")
    print(f"{comparison.passed} passed, {comparison.failed} failed")
    return 1 if comparison.failed else 0


if __name__ == "__main__":
    sys.exit(main())
