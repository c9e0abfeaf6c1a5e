#!/usr/bin/python3
"""Compare the gangway binary with the memory model: every job, to the nanosecond.

    compare_memory.py --gangway build/gangway [--cases 400] [--seed 1] [--gpus 4] [--whole]

One case is one workload on one device under one microkernel-rr. A case in which they differ stays on disk as an
experiment of its own.
"""
import csv
import random
import sys
import traceback

from comparison import TIMES, Comparison, differences, numbers, options, run_gangway
from memory_model import MemoryModel, Refused
from memory_workloads import Draw, experiment

CASES = 400
MECHANISM = "microkernel-rr"


def jobs_of(path):
    """(arrival, start, finish, launches) by (client, job)."""
    with open(path, newline="") as file:
        return {(row["client"], int(row["job"])): numbers(row, (*TIMES, "launches")) for row in csv.DictReader(file)}


def play(binary, spec, folder):
    return run_gangway(binary, spec, folder, jobs_of)


def expected(spec):
    """The same from the model; a string if it stops the run."""
    model = MemoryModel(spec["workload"], spec["device"], spec["mechanism"], spec["policies"][0]["params"])
    try:
        model.run()
    except Refused as error:
        return f"the model refuses: {error}"
    except Exception:  # what else goes wrong in the model is a failed case, too
        return f"the model fails: {traceback.format_exc()[-700:]}"
    return {(job.client.name, job.number): (job.release, job.start, job.finish, job.launches) for job in model.jobs}


def case(seed, number, gpus, split):
    draw = Draw(random.Random(f"{seed}/{number}"), gpus, split)
    return experiment(draw.workload(), draw.device(), draw.mechanism(), draw.policy())


class MemoryComparison(Comparison):
    def batch(self, number):
        spec = case(self.args.seed, number, self.args.gpus, not self.args.whole)
        mine = expected(spec)
        self.judge(MECHANISM, f"{number}", number, spec, differences(mine, self.play(spec, jobs_of)),
                   0 if isinstance(mine, str) else len(mine))


def main():
    parser = options(CASES)
    parser.add_argument("--gpus", type=int, default=4, help="at most so many; 1: one in every case")
    parser.add_argument("--whole", action="store_true", help="kernels are not split")
    return MemoryComparison(parser).run()


if __name__ == "__main__":
    sys.exit(main())
