#!/usr/bin/python3
"""Compare the gangway binary with the channel model: every job, to the nanosecond.

    compare_channels.py --gangway build/gangway [--cases 600] [--seed 1]

One case is one run of one workload on one device under one policy. A case in which they differ stays on disk as
an experiment of its own.
"""
import itertools
import random
import sys

from channel_model import ChannelModel
from channel_workloads import POLICIES, WorkloadDraw, device, experiment, policy
from comparison import Comparison, differences, expected_of, options

WORKLOADS, DEVICES, OF_FAIR, REPLICATIONS = 4, 2, 3, 2  # of one experiment
CASES = 2000
HORIZONS = [20_000, 60_000, 200_000, None]


class ChannelComparison(Comparison):
    def batch(self, number):
        draw = random.Random(f"{self.args.seed}/{number}")
        workloads = [WorkloadDraw(draw, self.args.without).workload(index) for index in range(WORKLOADS)]
        devices = [device(draw, index) for index in range(DEVICES)]
        longest = max(int(kernel[key].split()[0]) for workload in workloads for client in workload["clients"]
                      for kernel in client["kernels"] for key in ("time", "trapped_time") if key in kernel)
        names = [name for name in POLICIES for _ in range(OF_FAIR if name == "disengaged-fair-queueing" else 1)]
        policies = [policy(draw, name, f"p{place}", longest) for place, name in enumerate(names)]
        endless = any(client.get("repeat", {}).get("jobs") == "endless"
                      for workload in workloads for client in workload["clients"])
        horizon = draw.choice(HORIZONS[:-1] if endless else HORIZONS)
        if self.args.only:
            policies = [entry for entry in policies if entry["name"] in self.args.only]

        def modelled():
            return {(point, entry["label"], replication):
                    ChannelModel(workload, gpu, entry, horizon, number, replication).run()
                    for point, (workload, gpu) in enumerate(itertools.product(workloads, devices))
                    for entry in policies for replication in range(REPLICATIONS)}
        models = modelled()
        # What never ends and is not killed needs a horizon.
        if horizon is None and any(job.outcome == "unfinished" for model in models.values() for job in model.jobs):
            horizon = HORIZONS[-2]
            models = modelled()
        # An experiment in which no job finishes is an error: those runs cannot be compared in a batch.
        idle = {point for (point, label, _) in models
                if not any(job.finish is not None for replication in range(REPLICATIONS)
                           for job in models[point, label, replication].jobs)}
        if idle:
            self.one_by_one(number, workloads, devices, policies, horizon, models)
            return
        spec = experiment(workloads, devices, policies, horizon, number, REPLICATIONS)
        played = self.play(spec)
        if isinstance(played, str):
            self.one_by_one(number, workloads, devices, policies, horizon, models)
            return
        self.compare(number, workloads, devices, policies, horizon, models, played)

    def one_by_one(self, number, workloads, devices, policies, horizon, models):
        for point, (workload, gpu) in enumerate(itertools.product(workloads, devices)):
            for entry in policies:
                mine = {(0, entry["label"], r): models[point, entry["label"], r] for r in range(REPLICATIONS)}
                if not any(job.finish is not None for model in mine.values() for job in model.jobs):
                    continue
                spec = experiment([workload], [gpu], [entry], horizon, number, REPLICATIONS)
                played = self.play(spec)
                if isinstance(played, str):
                    self.judge(entry["name"], entry["name"], f"{number}-{point}-{entry['label']}", spec, [played], 0)
                    continue
                self.compare(f"{number}-{point}", [workload], [gpu], [entry], horizon, mine, played, number)

    def compare(self, name, workloads, devices, policies, horizon, models, played, seed=None):
        for point, (workload, gpu) in enumerate(itertools.product(workloads, devices)):
            for entry, replication in itertools.product(policies, range(REPLICATIONS)):
                run = point, entry["label"], replication
                expected = expected_of(models[run])
                self.outcomes.update(job[3] for job in expected.values())
                spec = experiment([workload], [gpu], [entry], horizon, name if seed is None else seed, REPLICATIONS)
                self.judge(entry["name"], f"{entry['name']} {entry.get('params', {})} {gpu['access']} r{replication}",
                           f"{name}-{point}-{entry['label']}-r{replication}", spec,
                           differences(expected, played.get(run, {})), len(expected))


def main():
    parser = options(CASES, "experiment")
    parser.add_argument("--only", nargs="*", default=(), help="these policies")
    parser.add_argument("--without", nargs="*", default=(), choices=["overhead", "trapped", "frames", "copies"],
                        help="what no workload has")
    return ChannelComparison(parser).run()


if __name__ == "__main__":
    sys.exit(main())
