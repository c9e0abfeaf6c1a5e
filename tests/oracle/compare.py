#!/usr/bin/python3
"""Compare the gangway binary with the SimPy model, job by job, to the nanosecond.

    compare.py --gangway build/gangway [--workloads 20] [--seed 1]

Writes random experiments, has gangway run them, and compares DIR/jobs.csv with the model. One comparison
is one workload under one policy. Without --gangway the model alone is run, and its own rules are checked.
A workload on which the two differ stays on disk, and its path is printed.
"""
import argparse
import csv
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import yaml

from workload_generator import Case

COMPARED = ("arrival_ns", "start_ns", "finish_ns", "evictions", "launches", "standalone_ns")


class PlainDumper(yaml.SafeDumper):
    """Writes a list that occurs twice twice: anchors are not part of the file format."""

    def ignore_aliases(self, data):
        return True


def run_gangway(binary, experiment, out):
    """The rows of jobs.csv by (policy, client, job); a string instead if there are none."""
    done = subprocess.run([binary, "run", str(experiment), "--out", str(out)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    if done.returncode:
        return f"gangway exited with {done.returncode}: {' '.join(done.stdout.split())[-500:]}"
    try:
        with open(out / "jobs.csv", newline="") as file:
            return {(row["policy"], row["client"], int(row["job"])): row for row in csv.DictReader(file)}
    except (OSError, KeyError, ValueError) as error:
        return f"jobs.csv cannot be read: {error!r}"


def differences(label, case, rows):
    """One line for every value of this policy's jobs in which gangway and the model differ."""
    alone = {client.name: client.alone(case.standalone) for client in case.model.clients}
    expected = {(label, row["client"], row["job"]): {**row, "standalone_ns": alone[row["client"]]}
                for row in case.schedules[label]}
    for key in [key for key in rows if key[0] == label and key not in expected]:
        yield f"{key[1]} job {key[2]}: only gangway has it"
    for (_, client, job), row in expected.items():
        found = rows.get((label, client, job))
        if found is None:
            yield f"{client} job {job}: gangway does not have it"
            continue
        for column in COMPARED:
            if found[column] != str(row[column]):
                yield f"{client} job {job} {column}: gangway {found[column]}, model {row[column]}"


def broken_rules(case, schedule, slices):
    """What must hold of any schedule of the model, whatever the policy."""
    clients = {client.name: client for client in case.model.clients}
    for row in schedule:
        client = clients[row["client"]]
        busy = 0 if row["evictions"] else sum(case.model.mechanism.duration(kernel, kernel.tasks) for kernel in client.kernels)
        least = row["evictions"] + len(client.kernels)
        if row["launches"] < least or (row["launches"] > least and not slices):
            yield f"{row}: launches are not evictions plus kernels"
        if not row["arrival_ns"] + client.copy_in <= row["start_ns"] <= row["finish_ns"] - client.copy_out - busy:
            yield f"{row}: out of order"


def check(number, case, args, folder):
    """Print what is wrong with this workload; return how many of its policies passed."""
    experiment = folder / f"workload-{number}.yaml"
    experiment.write_text(yaml.dump(case.experiment(number), Dumper=PlainDumper, sort_keys=False))
    rows = run_gangway(args.gangway, experiment, folder / f"out-{number}") if args.gangway else None
    if isinstance(rows, str):
        print(f"workload {number}: {rows} [{experiment}]")
        return 0
    passed = 0
    for label, schedule in case.schedules.items():
        wrong = list(broken_rules(case, schedule, label.startswith("pkm")) if rows is None else differences(label, case, rows))
        passed += not wrong
        if wrong:  # the earliest in the list is enough to go by: the rest tends to follow from it
            print(f"{label}: {wrong[0]} ({len(wrong)} differences) [{experiment}]")
    if passed == len(case.schedules):
        experiment.unlink()
        shutil.rmtree(folder / f"out-{number}", ignore_errors=True)
    return passed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gangway", help="path of the binary; without it the model is only checked by itself")
    parser.add_argument("--workloads", type=int, default=20, help="random workloads, each under some policies")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    folder = pathlib.Path(tempfile.mkdtemp(prefix="gangway-oracle-"))
    passed = compared = jobs = evictions = 0
    for number in range(args.workloads):
        case = Case(random.Random(f"{args.seed}/{number}"))
        passed += check(number, case, args, folder)
        for schedule in case.schedules.values():
            compared += 1
            jobs += len(schedule)
            evictions += sum(row["evictions"] for row in schedule)
    failed = compared - passed
    if not failed:
        shutil.rmtree(folder)
    print(f"{jobs} jobs with {evictions} evictions")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
