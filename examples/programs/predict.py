"""Predicts the pairs that measure.py ran, from the recordings alone, and prints prediction and measurement side by side.

predict.py OUT [--device h100] [--mps]    OUT: the folder of measure.py, with recordings and pairs

A program at a rate gets the arrivals that it had, and its recording at a rate, where there is one; one in a closed loop goes at its own
pace. Of several recordings the one with the shortest median job is used, as whatever disturbs them makes them longer. The host's times
are scaled to how fast the host was beside the GPU's work, as the programs logged it (--unscaled: they are not). GANGWAY is the program
`gangway`."""

import argparse
import csv
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


def read_log(path):
    """[(arrival, begin, end)] in ns."""
    with open(path, encoding="utf-8") as log:
        return [(job["arrival"], job["begin"], job["end"]) for job in map(json.loads, log) if "arrival" in job]


def host_of(path):
    """The time of the loop that tells how fast the host was, or None."""
    if not path.exists():
        return None
    with open(path, encoding="utf-8") as log:
        return next((line["host"] for line in map(json.loads, log) if "host" in line), None)


def median_job(recording):
    database = sqlite3.connect(f"file:{recording}?mode=ro", uri=True)
    lengths = [row[0] for row in database.execute("SELECT length FROM jobs WHERE NOT warm_up")]
    database.close()
    return statistics.median(lengths)


def recording_of(out, name, rate):
    """The file, and the name of its log."""
    kinds = [["-paced"], ["", "-2"]] if rate is not None else [["", "-2"]]
    for suffixes in kinds:
        files = [out / f"{name}{suffix}.rec" for suffix in suffixes if (out / f"{name}{suffix}.rec").exists()]
        if files:
            best = min(files, key=median_job)
            return best.resolve(), out / f"recorded-{best.stem}.jsonl"
    sys.exit(f"predict.py: {out}: found no {name}.rec, expected the recordings of measure.py")


def client(out, name, number, rows, rate, zero, host):
    first = rows[0][0]
    recording, log = recording_of(out, name, rate)
    then = host_of(log)
    scale = f", scale: {{host: {min(max(host / then, 0.25), 4):.3f}}}" if host and then else ""
    if rate is None:
        repeat = "{jobs: endless}"
    else:
        repeat = f"{{releases: [{', '.join(f'{arrival - zero} ns' for arrival, _, _ in rows)}]}}"
    arrive = f", arrive: {first - zero} ns" if rate is None else ""
    return f"    - {{name: c{number}, recording: {{file: {json.dumps(str(recording))}{scale}}}{arrive}, repeat: {repeat}}}\n"


def predict(out, programs, device, mps):
    """`programs`: two (name, log's rows, rate, host). Returns the predicted job times of each, in ns."""
    zero = min(rows[0][0] for _, rows, _, _ in programs)
    last = max(rows[-1][1] for _, rows, _, _ in programs) - zero  # begin of a job: later ones count on neither side
    horizon = last + 10 * max(end - arrival for _, rows, _, _ in programs for arrival, _, end in rows)
    clients = "".join(client(out, name, number, rows, rate, zero, host) for number, (name, rows, rate, host) in enumerate(programs))
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


def compare(out, prefix, device, mps, scaled=True):
    """Rows of (pair, program, what, measured in ms, predicted in ms); a p99 where there are 100 jobs or more."""
    for number, (a, rate, b, _) in enumerate(PAIRS):
        logs = [out / f"{prefix}{number:02}-{name}.jsonl" for name in (a, b)]
        if not all(log.exists() and log.stat().st_size for log in logs):
            continue
        programs = [(name, read_log(log), own, host_of(log) if scaled else None) for name, log, own in zip((a, b), logs, (rate, None))]
        pair = f"{a} {'closed' if rate is None else f'{rate}/s'} + {b}"
        for (name, rows, _, _), predicted in zip(programs, predict(out, programs, device, mps)):
            measured = [end - arrival for arrival, _, end in rows]
            yield pair, name, "mean", statistics.mean(measured) / 1e6, statistics.mean(predicted) / 1e6 if predicted else None
            if min(len(measured), len(predicted)) >= 100:
                yield pair, name, "p99", p99(measured) / 1e6, p99(predicted) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--device", default="h100")
    parser.add_argument("--mps", action="store_true", help="the pairs that ran under MPS")
    parser.add_argument("--unscaled", action="store_true", help="the host as fast as when the programs were recorded")
    args = parser.parse_args()
    errors = {"mean": [], "p99": []}
    print("| pair | program | | measured | predicted | error |\n|---|---|---|---|---|---|")
    for pair, name, what, measured, predicted in compare(args.out, "mps-pair-" if args.mps else "pair-", args.device, args.mps, not args.unscaled):
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
