#!/usr/bin/python3
"""Compare the gangway binary with the model of recorded programs: every job, to the nanosecond.

    compare_recorded.py --gangway build/gangway [--cases 400] [--seed 1]

One case is one workload of random recordings on one device, under `passthrough` or a policy that grants jobs. A case in
which they differ stays on disk: its experiment and its recordings.
"""
import json
import random
import shutil
import sys

from comparison import Comparison, differences, expected_of, options
from recorded_model import RecordedModel
from recorded_programs import draw_recording
from recorded_workloads import draw_device, draw_policy, draw_workload, experiment
from simpy_inputs import quantity

CASES = 400
RECORDINGS, WORKLOADS = 3, 4  # of one batch


def expected(spec):
    """Of an experiment as JSON: (client, job) -> (arrival, start, finish, outcome)."""
    policy = spec["policies"][0]
    if policy != "passthrough":
        policy = (policy, {}) if isinstance(policy, str) else (policy["name"], policy.get("params", {}))
    model = RecordedModel(spec["workload"], spec["device"], policy, spec.get("grant"), quantity(spec["horizon"]))
    return expected_of(model.run())


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
            device = draw_device(draw, args.without)
            policy, grant = draw_policy(draw) if draw.random() < args.grants else ("passthrough", None)
            horizon = draw.choice(["200 us", "2 ms", "100 ms", "100 ms"]) if "horizon" not in args.without else "1 s"
            self.case(f"{number}-{place}", experiment(workload, device, policy, grant, horizon))

    def case(self, name, spec):
        wanted = expected(spec)
        if not any(job[2] is not None for job in wanted.values()):
            return  # an experiment in which no job finishes is an error
        played = self.play(spec)
        found = played if isinstance(played, str) else next(iter(played.values()), {})
        self.outcomes.update(job[3] for job in wanted.values())
        policy = spec["policies"][0] if isinstance(spec["policies"][0], str) else spec["policies"][0]["name"]
        self.judge(policy, policy, name, spec, differences(wanted, found), len(wanted))

    def keep(self, name, spec):
        kept, recordings = self.folder / name, self.scratch / "recordings"
        shutil.copytree(recordings, kept)
        (kept / "experiment.yaml").write_text(json.dumps(spec, indent=1).replace(str(recordings), str(kept)))
        return kept


def main():
    parser = options(CASES, "batch")
    parser.add_argument("--clients", type=int, default=4, help="at most so many clients")
    parser.add_argument("--grants", type=float, default=0.5, help="the share of cases under policies that grant jobs")
    parser.add_argument("--without", nargs="*", default=(), help="what no recording, workload or device has")
    return RecordedComparison(parser).run()


if __name__ == "__main__":
    sys.exit(main())
