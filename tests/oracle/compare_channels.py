#!/usr/bin/python3
"""Compare the gangway binary with the channel model: every job, to the nanosecond.

    compare_channels.py --gangway build/gangway [--cases 600] [--seed 1]

One case is one run of one workload on one device under one policy. A case in which they differ stays on disk as
an experiment of its own.
"""
import argparse
import collections
import csv
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

from channel_model import ChannelModel
from channel_workloads import POLICIES, WorkloadDraw, device, experiment, policy

WORKLOADS, DEVICES, OF_FAIR, REPLICATIONS = 4, 2, 3, 2  # of one experiment
CASES = 2000
HORIZONS = [20_000, 60_000, 200_000, None]
MEMORY = "/dev/shm"


def jobs_of(path):
    """By (point, policy, replication): (client, job) -> (arrival, start, finish, outcome)."""
    runs = collections.defaultdict(dict)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            times = tuple(int(row[key]) if row[key] else None for key in ("arrival_ns", "start_ns", "finish_ns"))
            run = int(row["point"]), row["policy"], int(row["replication"])
            runs[run][row["client"], int(row["job"])] = *times, row["outcome"]
    return runs


def run_gangway(binary, spec, folder):
    """jobs_of the experiment; a string instead if there are none."""
    path, out = folder / "experiment.yaml", folder / "out"
    path.write_text(json.dumps(spec, indent=1))
    done = subprocess.run([binary, "run", str(path), "--out", str(out), "--force", "--jobs", "1"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        return f"gangway exited with {done.returncode}: {' '.join(done.stdout.split())[-500:]}"
    jobs = jobs_of(out / "jobs.csv")
    shutil.rmtree(out)
    return jobs


def expected_of(model):
    return {(job.client.name, job.number): (job.release, job.start, job.finish, job.outcome) for job in model.jobs}


def differences(expected, found):
    """One line for every job in which gangway and the model differ, the earliest first."""
    def when(key):
        times = [value for job in (expected.get(key), found.get(key)) if job for value in job[1:3] if value is not None]
        return min(times, default=0), key

    wrong = [key for key in set(expected) | set(found) if expected.get(key) != found.get(key)]
    for key in sorted(wrong, key=when):
        yield f"{key[0]} job {key[1]}: gangway {found.get(key)}, model {expected.get(key)}"


class Comparison:
    def __init__(self, binary, folder, scratch, only=(), without=()):
        self.binary, self.folder, self.scratch, self.only, self.without = binary, folder, scratch, only, without
        self.passed, self.failed = collections.Counter(), collections.Counter()
        self.outcomes = collections.Counter()

    def batch(self, seed, number):
        draw = random.Random(f"{seed}/{number}")
        workloads = [WorkloadDraw(draw, self.without).workload(index) for index in range(WORKLOADS)]
        devices = [device(draw, index) for index in range(DEVICES)]
        longest = max(int(kernel[key].split()[0]) for workload in workloads for client in workload["clients"]
                      for kernel in client["kernels"] for key in ("time", "trapped_time") if key in kernel)
        names = [name for name in POLICIES for _ in range(OF_FAIR if name == "disengaged-fair-queueing" else 1)]
        policies = [policy(draw, name, f"p{place}", longest) for place, name in enumerate(names)]
        endless = any(client.get("repeat", {}).get("jobs") == "endless"
                      for workload in workloads for client in workload["clients"])
        horizon = draw.choice(HORIZONS[:-1] if endless else HORIZONS)
        if self.only:
            policies = [entry for entry in policies if entry["name"] in self.only]
        models = {(point, entry["label"], replication):
                  ChannelModel(workload, gpu, entry, horizon, number, replication).run()
                  for point, (workload, gpu) in enumerate(itertools.product(workloads, devices))
                  for entry in policies for replication in range(REPLICATIONS)}
        # An experiment in which no job finishes is an error: those runs cannot be compared in a batch.
        idle = {point for (point, label, _) in models
                if not any(job.finish is not None for replication in range(REPLICATIONS)
                           for job in models[point, label, replication].jobs)}
        if idle:
            self.one_by_one(number, workloads, devices, policies, horizon, models)
            return
        spec = experiment(workloads, devices, policies, horizon, number, REPLICATIONS)
        played = run_gangway(self.binary, spec, self.scratch)
        if isinstance(played, str):
            self.one_by_one(number, workloads, devices, policies, horizon, models)
            return
        self.judge(number, workloads, devices, policies, horizon, models, played)

    def one_by_one(self, number, workloads, devices, policies, horizon, models):
        for point, (workload, gpu) in enumerate(itertools.product(workloads, devices)):
            for entry in policies:
                mine = {(0, entry["label"], r): models[point, entry["label"], r] for r in range(REPLICATIONS)}
                if not any(job.finish is not None for model in mine.values() for job in model.jobs):
                    continue
                spec = experiment([workload], [gpu], [entry], horizon, number, REPLICATIONS)
                played = run_gangway(self.binary, spec, self.scratch)
                if isinstance(played, str):
                    kept = self.folder / f"case-{number}-{point}-{entry['label']}.yaml"
                    shutil.copy(self.scratch / "experiment.yaml", kept)
                    print(f"{entry['name']}: {played} [{kept}]")
                    self.failed[entry["name"]] += 1
                    continue
                self.judge(f"{number}-{point}", [workload], [gpu], [entry], horizon, mine, played, number)

    def judge(self, name, workloads, devices, policies, horizon, models, played, seed=None):
        for point, (workload, gpu) in enumerate(itertools.product(workloads, devices)):
            for entry in policies:
                for replication in range(REPLICATIONS):
                    run = point, entry["label"], replication
                    expected = expected_of(models[run])
                    self.outcomes.update(job[3] for job in expected.values())
                    wrong = list(differences(expected, played.get(run, {})))
                    (self.failed if wrong else self.passed)[entry["name"]] += 1
                    if not wrong:
                        continue
                    path = self.folder / f"case-{name}-{point}-{entry['label']}-r{replication}.yaml"
                    spec = experiment([workload], [gpu], [entry], horizon, name if seed is None else seed, REPLICATIONS)
                    path.write_text(json.dumps(spec, indent=1))
                    print(f"{entry['name']} {entry.get('params', {})} {gpu['access']} r{replication}: {wrong[0]} "
                          f"({len(wrong)} of {len(expected)} jobs differ) [{path}]")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gangway", default=os.environ.get("GANGWAY"), help="path of the binary")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="the first experiment to play")
    parser.add_argument("--only", nargs="*", default=(), help="these policies")
    parser.add_argument("--without", nargs="*", default=(), choices=["overhead", "trapped", "frames", "copies"],
                        help="what no workload has")
    args = parser.parse_args()
    if not args.gangway:
        parser.error("--gangway or $GANGWAY is needed")

    folder, begin = pathlib.Path(tempfile.mkdtemp(prefix="gangway-oracle-")), time.time()
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as scratch:
        comparison = Comparison(args.gangway, folder, pathlib.Path(scratch), args.only, args.without)
        number = args.first
        while sum(comparison.passed.values()) + sum(comparison.failed.values()) < args.cases:
            comparison.batch(args.seed, number)
            number += 1
    failed = sum(comparison.failed.values())
    if not failed:
        shutil.rmtree(folder)
    for name in POLICIES:
        print(f"{comparison.passed[name]:7} of {comparison.passed[name] + comparison.failed[name]} equal: {name}")
    print(", ".join(f"{count} jobs {outcome}" for outcome, count in sorted(comparison.outcomes.items())),
          f"in {time.time() - begin:.1f} s")
    print(f"{sum(comparison.passed.values())} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
