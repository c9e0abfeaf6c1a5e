"""What comparisons with a second model share: the command line, playing experiments, the cases that are kept, and the report."""
import argparse
import collections
import csv
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

MEMORY = "/dev/shm"  # where thousands of short-lived files cost no time
TIMES = "arrival_ns", "start_ns", "finish_ns"


def numbers(row, columns):
    return tuple(int(row[column]) if row[column] else None for column in columns)


def jobs_of(path):
    """Of jobs.csv, by (point, policy, replication): (client, job) -> (arrival, start, finish, outcome)."""
    runs = collections.defaultdict(dict)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            run = int(row["point"]), row["policy"], int(row["replication"])
            runs[run][row["client"], int(row["job"])] = *numbers(row, TIMES), row["outcome"]
    return runs


def run_gangway(binary, spec, folder, read=jobs_of):
    """What `read` makes of the experiment's jobs.csv; a string instead if there is none."""
    path, out = folder / "experiment.yaml", folder / "out"
    path.write_text(json.dumps(spec, indent=1))
    done = subprocess.run([binary, "run", str(path), "--out", str(out), "--force", "--jobs", "1"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        return f"gangway exited with {done.returncode}: {' '.join(done.stdout.split())[-600:]}"
    jobs = read(out / "jobs.csv")
    shutil.rmtree(out)
    return jobs


def expected_of(model):
    return {(job.client.name, job.number): (job.release, job.start, job.finish, job.outcome) for job in model.jobs}


def differences(expected, found):
    """One line for every job in which gangway and the model differ, the earliest first. A string stands for no jobs at all."""
    if isinstance(expected, str) or isinstance(found, str):
        said = [jobs if isinstance(jobs, str) else "runs" for jobs in (found, expected)]
        return [f"gangway {said[0]}, model {said[1]}"] if found != expected else []

    def when(key):
        times = [value for job in (expected.get(key), found.get(key)) if job for value in job[1:3] if value is not None]
        return min(times, default=0), key

    wrong = [key for key in set(expected) | set(found) if expected.get(key) != found.get(key)]
    return [f"{key[0]} job {key[1]}: gangway {found.get(key)}, model {expected.get(key)}" for key in sorted(wrong, key=when)]


def options(cases, what="case"):
    parser = argparse.ArgumentParser()
    parser.add_argument("--gangway", default=os.environ.get("GANGWAY"), help="path of the binary")
    parser.add_argument("--cases", type=int, default=cases)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help=f"the first {what} to play")
    parser.add_argument("--show", type=int, default=20, help="so many differences")
    return parser


class Comparison:
    """Plays batch after batch of cases until there are enough. Those in which gangway and the model differ stay on disk."""

    def __init__(self, parser):
        self.args = parser.parse_args()
        if not self.args.gangway:
            parser.error("--gangway or $GANGWAY is needed")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gangway-oracle-"))
        self.scratch = None
        self.passed, self.failed, self.outcomes = (collections.Counter() for _ in range(3))

    def batch(self, number):
        raise NotImplementedError

    def play(self, spec, read=jobs_of):
        return run_gangway(self.args.gangway, spec, self.scratch, read)

    def judge(self, kind, about, name, spec, wrong, jobs):
        """`wrong`: the differences of a case with so many jobs."""
        (self.failed if wrong else self.passed)[kind] += 1
        if wrong and sum(self.failed.values()) <= self.args.show:
            print(f"{about}: {wrong[0]} ({len(wrong)} of {jobs} jobs differ) [{self.keep(f'case-{name}', spec)}]", flush=True)

    def keep(self, name, spec):
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(spec, indent=1))
        return path

    def run(self):
        """Plays the cases and says how they went; returns the exit code."""
        begin, number = time.time(), self.args.first
        with tempfile.TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None) as scratch:
            self.scratch = pathlib.Path(scratch)
            while sum(self.passed.values()) + sum(self.failed.values()) < self.args.cases:
                self.batch(number)
                number += 1
        failed = sum(self.failed.values())
        if not failed:
            shutil.rmtree(self.folder)
        for kind in sorted(self.passed | self.failed):
            print(f"{self.passed[kind]:7} of {self.passed[kind] + self.failed[kind]} equal: {kind}")
        print("".join(f"{count} jobs {outcome}, " for outcome, count in sorted(self.outcomes.items())) + f"{time.time() - begin:.1f} s")
        print(f"{sum(self.passed.values())} passed, {failed} failed")
        return 1 if failed else 0
