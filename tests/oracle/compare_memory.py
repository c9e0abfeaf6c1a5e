#!/usr/bin/python3
"""Compare the gangway binary with the memory model: every job, to the nanosecond.

    compare_memory.py --gangway build/gangway [--cases 400] [--seed 1] [--gpus 4] [--whole]

One case is one workload on one device under one microkernel-rr. A case in which they differ stays on disk as an
experiment of its own.
"""
import argparse
import collections
import csv
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

from memory_model import MemoryModel, Refused
from memory_workloads import Draw, experiment

CASES = 400
MEMORY = "/dev/shm"


def play(binary, spec, folder):
    """(start, finish, launches) by (client, job); a string instead if there are none."""
    path, out = folder / "experiment.yaml", folder / "out"
    path.write_text(json.dumps(spec, indent=1))
    done = subprocess.run([binary, "run", str(path), "--out", str(out), "--force", "--jobs", "1"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        return f"gangway exited with {done.returncode}: {' '.join(done.stdout.split())[-600:]}"
    with open(out / "jobs.csv", newline="") as file:
        jobs = {(row["client"], int(row["job"])): tuple(int(row[key]) if row[key] else None for key in (
            "arrival_ns", "start_ns", "finish_ns", "launches")) for row in csv.DictReader(file)}
    shutil.rmtree(out)
    return jobs


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


def first_difference(mine, found):
    """None if they are equal; else one line about the earliest."""
    if mine == found:
        return None
    if isinstance(mine, str) or isinstance(found, str):
        return f"gangway {found if isinstance(found, str) else 'runs'}, model {mine if isinstance(mine, str) else 'runs'}"
    wrong = [key for key in set(mine) | set(found) if mine.get(key) != found.get(key)]

    def when(key):
        return min(each[key][place] or 0 for each in (mine, found) if key in each for place in (1, 2)), key
    key = min(wrong, key=when)
    return f"{key[0]} job {key[1]}: gangway {found.get(key)}, model {mine.get(key)} ({len(wrong)} of {len(mine)} jobs differ)"


def case(seed, number, gpus, split):
    draw = Draw(random.Random(f"{seed}/{number}"), gpus, split)
    return experiment(draw.workload(), draw.device(), draw.mechanism(), draw.policy())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gangway", default=os.environ.get("GANGWAY"), help="path of the binary")
    parser.add_argument("--cases", type=int, default=CASES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="the first case to play")
    parser.add_argument("--gpus", type=int, default=4, help="at most so many; 1: one in every case")
    parser.add_argument("--whole", action="store_true", help="kernels are not split")
    parser.add_argument("--show", type=int, default=20, help="so many differences")
    args = parser.parse_args()
    if not args.gangway:
        parser.error("--gangway or $GANGWAY is needed")

    folder, begin, counts = pathlib.Path(tempfile.mkdtemp(prefix="gangway-oracle-")), time.time(), collections.Counter()
    with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as scratch:
        for number in range(args.first, args.first + args.cases):
            spec = case(args.seed, number, args.gpus, not args.whole)
            wrong = first_difference(expected(spec), play(args.gangway, spec, pathlib.Path(scratch)))
            counts["failed" if wrong else "passed"] += 1
            if wrong and counts["failed"] <= args.show:
                kept = folder / f"case-{number}.yaml"
                shutil.copy(pathlib.Path(scratch) / "experiment.yaml", kept)
                print(f"{number}: {wrong} [{kept}]", flush=True)
    if not counts["failed"]:
        shutil.rmtree(folder)
    print(f"{counts['passed']} passed, {counts['failed']} failed in {time.time() - begin:.1f} s")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
