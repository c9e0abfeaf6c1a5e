#!/usr/bin/python3
"""Compare the gangway binary with the model of recorded programs: every job, to the nanosecond.

    compare_recorded.py --gangway build/gangway [--cases 400] [--seed 1]

One case is one workload of random recordings on one device, under `passthrough`, a policy that grants jobs, one that
launches slices or one that controls access. A case in which they differ stays on disk: its experiment and its recordings.
"""
import csv
import json
import random
import shutil
import sys

from comparison import Comparison, differences, expected_of, jobs_of, options
from recorded_alone import Unreachable
from recorded_model import RecordedModel
from recorded_parts import Program
from recorded_programs import draw_recording
from recorded_workloads import (draw_access, draw_device, draw_policy, draw_slices, draw_workload, experiment, give_access,
                                give_alone, give_forms, give_gpus)
from simpy_inputs import quantity

CASES = 400
RECORDINGS, WORKLOADS = 3, 4  # of one batch


def expected(spec):
    """Of an experiment as JSON: (client, job) -> (arrival, start, finish, outcome, alone)."""
    policy = spec["policies"][0]
    if policy != "passthrough":
        policy = (policy, {}) if isinstance(policy, str) else (policy["name"], policy.get("params", {}))
    model = RecordedModel(spec["workload"], spec["device"], policy, spec.get("grant"), quantity(spec["horizon"]), spec.get("place"),
                          spec.get("seed", 1), spec["mechanism"])
    expected = expected_of(model.run())
    return {(job.client.name, job.number): (*expected[job.client.name, job.number], job.alone) for job in model.jobs}


def with_alone(path):
    """`jobs_of`, and behind each job what it takes alone."""
    runs = jobs_of(path)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            run, job = (int(row["point"]), row["policy"], int(row["replication"])), (row["client"], int(row["job"]))
            runs[run][job] = *runs[run][job], int(row["standalone_ns"]) if row["standalone_ns"] else None
    return runs


class RecordedComparison(Comparison):
    def batch(self, number):
        draw, args = random.Random(f"{self.args.seed}/{number}"), self.args
        recordings = self.scratch / "recordings"
        shutil.rmtree(recordings, ignore_errors=True)
        recordings.mkdir()
        RecordedModel.programs.clear()
        paths = [recordings / f"{place}.rec" for place in range(RECORDINGS)]
        programs = [(path, draw_recording(draw, path, args.without)) for path in paths]
        for place in range(WORKLOADS):
            workload = draw_workload(draw, programs, draw.randint(1, args.clients), args.without)
            if "alone" not in args.without:
                give_alone(draw, workload, {str(path): [job.length for job in Program(str(path)).jobs if not job.warm_up] for path in paths})
            device = draw_device(draw, args.without)
            policy, grant = draw_policy(draw) if draw.random() < args.grants else ("passthrough", None)
            more = {}
            if draw.random() < args.slices:
                policy, grant, more["mechanism"] = draw_slices(draw)
                give_forms(draw, workload)
            elif draw.random() < args.access:
                policy, grant, more = draw_access(draw), None, {"seed": draw.randrange(1000)}
                give_access(draw, device, workload)
            elif draw.random() < args.gpus:
                where = give_gpus(draw, device, workload)
                more = {"place": where} if where else {}
            horizon = draw.choice(["200 us", "2 ms", "100 ms", "100 ms"]) if "horizon" not in args.without else "1 s"
            self.case(f"{number}-{place}", experiment(workload, device, policy, grant, horizon, **more))

    def case(self, name, spec):
        try:
            wanted = expected(spec)
        except Unreachable:
            return self.refused(name, spec)
        if not any(job[2] is not None for job in wanted.values()):
            return  # an experiment in which no job finishes is an error
        played = self.play(spec, with_alone)
        found = played if isinstance(played, str) else next(iter(played.values()), {})
        self.outcomes.update(job[3] for job in wanted.values())
        policy = spec["policies"][0] if isinstance(spec["policies"][0], str) else spec["policies"][0]["name"]
        self.judge(policy, policy, name, spec, differences(wanted, found), len(wanted))

    def refused(self, name, spec):
        found = self.play(spec, with_alone)
        wrong = [] if isinstance(found, str) and "recording.alone': found" in found else [f"played, or refused otherwise: {found}"]
        self.judge("refused", "alone", name, spec, wrong, 1)

    def keep(self, name, spec):
        kept, recordings = self.folder / name, self.scratch / "recordings"
        shutil.copytree(recordings, kept)
        (kept / "experiment.yaml").write_text(json.dumps(spec, indent=1).replace(str(recordings), str(kept)))
        return kept


def main():
    parser = options(CASES, "batch")
    parser.add_argument("--clients", type=int, default=4, help="at most so many clients")
    parser.add_argument("--grants", type=float, default=0.5, help="the share of cases under policies that grant jobs")
    parser.add_argument("--slices", type=float, default=0.2, help="the share of cases under a policy that launches slices")
    parser.add_argument("--access", type=float, default=0.4, help="the share of other cases under policies that control access")
    parser.add_argument("--gpus", type=float, default=0.4, help="the share of other cases with several GPUs")
    parser.add_argument("--without", nargs="*", default=(), help="what no recording, workload or device has")
    return RecordedComparison(parser).run()


if __name__ == "__main__":
    sys.exit(main())
