"""Predicts the pairs that measure.py ran, from the recordings alone, and prints prediction and measurement side by side.

predict.py OUT [--device h100] [--mps] [--only N ...]    OUT: the folder of measure.py, with recordings and pairs

A program at a rate gets the arrivals that it had, and its recording at a rate, where there is one; one in a closed loop goes at its own
pace. Of several recordings those are used that know the kernels of their graphs, of them the one with the shortest mean job, as whatever
disturbs them makes them longer. GANGWAY is the program `gangway`."""

import argparse
import contextlib
import csv
import gzip
import json
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import GANGWAY, PAIRS

EXPERIMENT = """kind: experiment
version: 1
name: pair
workload:
  kind: workload
  version: 1
  name: pair
  clients:
{clients}device: {device}
{more}mechanism: ideal
policies: [passthrough]
horizon: {horizon} ns
"""


class Recordings:
    """Those of a folder, unpacked."""

    def __init__(self, out, unpacked):
        self.out, self.unpacked, self.means = out, unpacked, {}

    def best(self, name, rate):
        for suffixes in ([["-paced"]] if rate is not None else []) + [["", "-2"]]:
            files = [file for suffix in suffixes if (file := self._file(name + suffix))]
            if files:
                return min(files, key=lambda file: (not self._knows_graphs(file), self._mean_job(file)))
        sys.exit(f"predict.py: {self.out}: found no {name}.rec, expected the recordings of measure.py")

    def _file(self, name):
        if (self.out / f"{name}.rec").exists():
            return (self.out / f"{name}.rec").resolve()
        packed, file = self.out / f"{name}.rec.gz", self.unpacked / f"{name}.rec"
        if packed.exists() and not file.exists():
            file.write_bytes(gzip.decompress(packed.read_bytes()))
        return file if file.exists() else None

    def _knows_graphs(self, file):
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            return not database.execute("SELECT COUNT(*) FROM graphs WHERE id NOT IN (SELECT graph FROM nodes)").fetchone()[0]

    def _mean_job(self, file):
        if file not in self.means:
            with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
                self.means[file] = statistics.mean(row[0] for row in database.execute("SELECT length FROM jobs WHERE NOT warm_up"))
        return self.means[file]


def client(recording, number, rows, rate, zero):
    first = rows[0][0]
    if rate is None:
        repeat = "{jobs: endless}"
    else:
        repeat = f"{{releases: [{', '.join(f'{arrival - zero} ns' for arrival, _, _ in rows)}]}}"
    arrive = f", arrive: {first - zero} ns" if rate is None else ""
    return f"    - {{name: c{number}, recording: {json.dumps(str(recording))}{arrive}, repeat: {repeat}}}\n"


def predict(recordings, programs, device, mps):
    """`programs`: two (name, rows, rate). Returns the predicted job times of each, in ns."""
    zero = min(rows[0][0] for _, rows, _ in programs)
    last = max(rows[-1][1] for _, rows, _ in programs) - zero  # begin of a job: later ones count on neither side
    horizon = last + 10 * max(end - arrival for _, rows, _ in programs for arrival, _, end in rows)
    clients = "".join(client(recordings.best(name, rate), number, rows, rate, zero)
                      for number, (name, rows, rate) in enumerate(programs))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pair.yaml"
        file.write_text(EXPERIMENT.format(clients=clients, device=device, horizon=horizon,
                                          more="set: {device.arbitration: mps}\n" if mps else ""), encoding="utf-8")
        done = subprocess.run([GANGWAY, "run", file, "--out", Path(folder) / "out"], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr.strip())
        times = [[], []]
        with open(Path(folder) / "out/jobs.csv", encoding="utf-8") as jobs:
            for job in csv.DictReader(jobs):
                if job["response_ns"] and int(job["arrival_ns"]) <= last:
                    times[int(job["client"][1:])].append(int(job["response_ns"]))
    return times


def p99(times):
    ordered = sorted(times)
    return ordered[max(0, -(-99 * len(ordered) // 100) - 1)]


def read_pairs(path):
    """{pair: {program: [(arrival, begin, end)]}}, in ns."""
    pairs = {}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            jobs = pairs.setdefault(int(row["pair"]), {}).setdefault(row["program"], [])
            jobs.append((int(row["arrival_ns"]), int(row["begin_ns"]), int(row["end_ns"])))
    return pairs


def compare(out, prefix, device, mps, only):
    """Rows of (pair, program, what, measured in ms, predicted in ms); a p99 where there are 100 jobs or more."""
    path = out / f"{prefix}pairs.csv.gz"
    if not path.exists():
        sys.exit(f"predict.py: {out}: found no {path.name}, expected what measure.py wrote")
    with tempfile.TemporaryDirectory() as unpacked:
        recordings = Recordings(out, Path(unpacked))
        for number, measured in sorted(read_pairs(path).items()):
            if only and number not in only:
                continue
            a, rate, b, _ = PAIRS[number]
            programs = [(name, measured[name], own) for name, own in ((a, rate), (b, None)) if name in measured]
            if len(programs) < 2:
                continue
            pair = f"{a} {'closed' if rate is None else f'{rate}/s'} + {b}"
            for (name, rows, _), predicted in zip(programs, predict(recordings, programs, device, mps)):
                times = [end - arrival for arrival, _, end in rows]
                yield pair, name, "mean", statistics.mean(times) / 1e6, statistics.mean(predicted) / 1e6 if predicted else None
                if min(len(times), len(predicted)) >= 100:
                    yield pair, name, "p99", p99(times) / 1e6, p99(predicted) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="h100")
    parser.add_argument("--mps", action="store_true", help="the pairs that ran under MPS")
    parser.add_argument("--only", type=int, nargs="+", metavar="N", help="pairs of these numbers, from 0")
    args = parser.parse_args()
    errors = {"mean": [], "p99": []}
    print("| pair | program | | measured | predicted | error |\n|---|---|---|---|---|---|")
    for pair, name, what, measured, predicted in compare(args.out, "mps-" if args.mps else "", args.device, args.mps, args.only):
        if predicted is None:
            print(f"| {pair} | {name} | {what} | {measured:.3f} ms | no job | |")
            continue
        error = predicted / measured - 1
        errors[what].append(abs(error))
        print(f"| {pair} | {name} | {what} | {measured:.3f} ms | {predicted:.3f} ms | {100 * error:+.1f} % |")
    if not errors["mean"]:
        sys.exit(f"predict.py: {args.out}: found no pair, expected the logs of measure.py")
    for what, all_errors in errors.items():
        if all_errors:
            print(f"\n{what}: median error {100 * statistics.median(all_errors):.1f} %, worst {100 * max(all_errors):.1f} %, "
                  f"of {len(all_errors)}")


if __name__ == "__main__":
    main()
