#!/usr/bin/python3
"""Compare the gangway binary with the model of recorded programs: every job, to the nanosecond.

    compare_recorded.py --gangway build/gangway [--cases 400] [--seed 1]

One case is one workload of random recordings on one device, under `passthrough` or a policy that grants jobs. A case in
which they differ stays on disk: its experiment and its recordings.
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

from compare_channels import differences, expected_of, run_gangway
from recorded_model import RecordedModel
from recorded_programs import draw_device, draw_policy, draw_recording, draw_workload, experiment
from simpy_inputs import quantity

CASES = 400
RECORDINGS, WORKLOADS = 3, 4  # of one batch
MEMORY = "/dev/shm"


def expected(spec):
    """Of an experiment as JSON: (client, job) -> (arrival, start, finish, outcome)."""
    policy = spec["policies"][0]
    if policy != "passthrough":
        policy = (policy, {}) if isinstance(policy, str) else (policy["name"], policy.get("params", {}))
    model = RecordedModel(spec["workload"], spec["device"], policy, spec.get("grant"), quantity(spec["horizon"]))
    return expected_of(model.run())


class Comparison:
    def __init__(self, binary, folder, scratch, args):
        self.binary, self.folder, self.scratch, self.args = binary, folder, scratch, args
        self.passed, self.failed, self.outcomes = (collections.Counter() for _ in range(3))

    def batch(self, seed, number):
        draw, args = random.Random(f"{seed}/{number}"), self.args
        folder = self.scratch / "recordings"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        RecordedModel.programs.clear()
        paths = [folder / f"{place}.rec" for place in range(RECORDINGS)]
        recordings = [(path, draw_recording(draw, path, args.without)) for path in paths]
        for place in range(WORKLOADS):
            workload = draw_workload(draw, recordings, draw.randint(1, args.clients), args.without)
            device = draw_device(draw, args.without)
            policy, grant = draw_policy(draw) if draw.random() < args.grants else ("passthrough", None)
            horizon = draw.choice(["200 us", "2 ms", "100 ms", "100 ms"]) if "horizon" not in args.without else "1 s"
            self.case(f"{number}-{place}", experiment(workload, device, policy, grant, horizon), folder)

    def case(self, name, spec, recordings):
        wanted = expected(spec)
        policy = spec["policies"][0] if isinstance(spec["policies"][0], str) else spec["policies"][0]["name"]
        if not any(job[2] is not None for job in wanted.values()):
            return  # an experiment in which no job finishes is an error
        played = run_gangway(self.binary, spec, self.scratch)
        if isinstance(played, str):
            wrong = [played]
        else:
            wrong = list(differences(wanted, next(iter(played.values()), {})))
        self.outcomes.update(job[3] for job in wanted.values())
        (self.failed if wrong else self.passed)[policy] += 1
        if not wrong:
            return
        kept = self.folder / f"case-{name}"
        shutil.copytree(recordings, kept)
        text = json.dumps(spec, indent=1).replace(str(recordings), str(kept))
        (kept / "experiment.yaml").write_text(text)
        print(f"{policy}: {wrong[0]} ({len(wrong)} of {len(wanted)} jobs differ) [{kept}]", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gangway", default=os.environ.get("GANGWAY"), help="path of the binary")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="the first batch to play")
    parser.add_argument("--clients", type=int, default=4, help="at most so many clients")
    parser.add_argument("--grants", type=float, default=0.5, help="the share of cases under policies that grant jobs")
    parser.add_argument("--without", nargs="*", default=(), help="what no recording, workload or device has")
    args = parser.parse_args()
    if not args.gangway:
        parser.error("--gangway or $GANGWAY is needed")

    folder, begin = pathlib.Path(tempfile.mkdtemp(prefix="gangway-oracle-")), time.time()
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as scratch:
        comparison = Comparison(args.gangway, folder, pathlib.Path(scratch), args)
        number = args.first
        while sum(comparison.passed.values()) + sum(comparison.failed.values()) < args.cases:
            comparison.batch(args.seed, number)
            number += 1
    failed = sum(comparison.failed.values())
    if not failed:
        shutil.rmtree(folder)
    for name in sorted(set(comparison.passed) | set(comparison.failed)):
        print(f"{comparison.passed[name]:7} of {comparison.passed[name] + comparison.failed[name]} equal: {name}")
    print(", ".join(f"{count} jobs {outcome}" for outcome, count in sorted(comparison.outcomes.items())),
          f"in {time.time() - begin:.1f} s")
    print(f"{sum(comparison.passed.values())} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
