#!/usr/bin/env python3
"""The long mode: a hundred times the random cases, in parts that can be resumed.

    tests/long_mode.py [--build build/release] [--out out/long] [--jobs N] [--shards 64] [--only TEXT] [--minutes M]

Every test case with the tag [long] and every comparison with an oracle is split into shards that play different
cases, each a part that takes minutes. A part that is done leaves a record in the folder, with the hash of the
program that it ran; it is not run again unless that program has changed. So a run that was interrupted goes on
where it stopped, and records that were made on another machine count if they are copied into the folder. Parts
run at the lowest priority, on all cores. At the end table.md in the folder has the cases, the processor time
and the result of each test.

It needs nothing but the standard library, to run on a machine to which the programs were carried (CMake's
-DGANGWAY_PORTABLE=ON); oracles whose packages are missing there are skipped, and listed as such.

Exit code 0: all parts have passed; 1: a part failed; 3: none failed, but some are still to be run.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
ORACLES = pathlib.Path(__file__).resolve().parent / "oracle"
# name: (script, option for the number of cases, so many in all, the packages it needs)
COMPARISONS = {
    "oracle: policies and mechanisms": ("compare.py", "--workloads", 2_000, ("simpy", "yaml")),
    "oracle: blocks and queues": ("compare_blocks.py", "--workloads", 100_000, ()),
    "oracle: clients that submit by themselves": ("compare_channels.py", "--cases", 100_000, ()),
    "oracle: device memory": ("compare_memory.py", "--cases", 20_000, ()),
    "oracle: recorded programs": ("compare_recorded.py", "--cases", 20_000, ()),
    "oracle: response-time bounds": ("compare_bounds.py", "--sets", 100_000, ()),
}
COMPARED = re.compile(r"^(?:(\d+) passed, (\d+) failed|(\d+) sets, (\d+) differ)", re.MULTILINE)


def digest(paths):
    total = hashlib.sha256()
    for path in paths:
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


class Part:
    """One shard of one test: how it is run, and what is known of it."""

    def __init__(self, test, shard, shards, folder):
        self.test, self.shard, self.shards = test, shard, shards
        stem = re.sub(r"[^a-z0-9]+", "-", test.name.lower()).strip("-")[:60]
        self.stem = folder / f"{stem}-{hashlib.sha256(test.name.encode()).hexdigest()[:8]}-{shard}-of-{shards}"

    @property
    def title(self):
        return f"{self.test.name} {self.shard}/{self.shards}"

    def file(self, ending):
        return self.stem.with_name(self.stem.name + ending)

    def record(self):
        """What was written when this part was last run by the present program; None if it was not."""
        try:
            record = json.loads(self.file(".json").read_text())
        except (OSError, ValueError):
            return None
        return record if record.get("program") == self.test.program else None

    def passed(self):
        record = self.record()
        return record is not None and record["result"] == "passed"

    def start(self):
        self.file(".tally").unlink(missing_ok=True)
        self.began = time.monotonic()
        environment = {**os.environ, "GANGWAY_DATA": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1",
                       **self.test.environment(self)}
        with open(self.file(".log"), "wb") as log:
            self.process = subprocess.Popen(self.test.command(self), stdout=log, stderr=subprocess.STDOUT, cwd=ROOT,
                                            env=environment, preexec_fn=step_back, start_new_session=True)
        return self.process.pid

    def end(self, status, usage):
        """Write the record of a process that has ended. A part that played no case has failed."""
        self.process.returncode = status
        self.seconds = time.monotonic() - self.began
        cases = self.test.cases(self)
        good = status == 0 and cases is not None
        record = {"test": self.test.name, "shard": f"{self.shard}/{self.shards}", "program": self.test.program,
                  "cases": cases or 0, "cpu_s": round(usage.ru_utime + usage.ru_stime, 2), "wall_s": round(self.seconds, 2),
                  "result": "passed" if good else "failed"}
        fresh = self.file(".json.new")
        fresh.write_text(json.dumps(record, indent=1) + "\n")
        fresh.replace(self.file(".json"))
        self.file(".tally").unlink(missing_ok=True)
        if good:
            self.file(".log").unlink()
        return good

    def stop(self):
        """Of a part that is not to end: all its processes, and what they left."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for ending in (".log", ".tally"):
            self.file(ending).unlink(missing_ok=True)


def step_back():
    """In a part's process: run only when nobody else wants the processor."""
    os.nice(19)
    if hasattr(os, "SCHED_IDLE"):
        try:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        except OSError:
            pass  # not allowed here
    # Where sessions are scheduled as groups, niceness counts only within one, and this part is one by itself.
    try:
        pathlib.Path("/proc/self/autogroup").write_text("19")
    except OSError:
        pass  # there are no such groups, or not allowed here


class TestCase:
    """One of the test program, by its name; the program counts the cases that it plays."""
    missing = ()

    def __init__(self, name, path, program):
        self.name, self.path, self.program = name, path, program

    def command(self, _):
        return [str(self.path), re.sub(r"([\\,\[\]\"*~])", r"\\\1", self.name)]

    def environment(self, part):
        return {"GANGWAY_LONG": "1", "GANGWAY_SHARD": f"{part.shard}/{part.shards}", "GANGWAY_TALLY": str(part.file(".tally"))}

    def cases(self, part):
        try:
            return sum(map(int, part.file(".tally").read_text().split()))
        except OSError:
            return None


class Comparison:
    """The program against an oracle; a shard has a seed of its own."""

    def __init__(self, name, gangway, program):
        self.name, self.gangway, self.program = name, gangway, program
        self.script, self.option, self.all, packages = COMPARISONS[name]
        self.missing = [p for p in packages if subprocess.run([sys.executable, "-c", f"import {p}"], stderr=subprocess.DEVNULL).returncode]

    def command(self, part):
        some = self.all * part.shard // part.shards - self.all * (part.shard - 1) // part.shards
        return [sys.executable, str(ORACLES / self.script), "--gangway", str(self.gangway), "--seed", str(part.shard),
                self.option, str(max(1, some))]

    def environment(self, _):
        return {}

    def cases(self, part):
        found = COMPARED.search(part.file(".log").read_text(errors="replace"))
        return int(found[1] or found[3]) + int(found[2] or found[4]) if found else None


def long_tests(build, only):
    """What there is to run, of the programs in a build folder: tests that have `only` in their names."""
    path, gangway = build / "tests" / "gangway_tests", build / "gangway"
    for program in (path, gangway):
        if not program.is_file():
            sys.exit(f"long_mode: {program}: found no file, expected a program that ./dev build or ./dev test makes")
    for options in (["--list-test-names-only"], ["--list-tests", "--verbosity", "quiet"]):  # Catch2 2 and 3
        listed = subprocess.run([str(path), *options, "[long]"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
        if names := [line for line in listed.splitlines() if line.strip()]:
            break
    else:
        sys.exit(f"long_mode: {path}: found no test, expected some with the tag [long]")
    tests_hash = digest([path])
    compared_hash = digest([gangway, *sorted(ORACLES.glob("*.py"))])
    return [TestCase(name, path, tests_hash) for name in names if only in name] + [
        Comparison(name, gangway, compared_hash) for name in COMPARISONS if only in name]


class Runner:
    def __init__(self, parts, jobs, until):
        self.waiting, self.jobs, self.until = list(parts), jobs, until
        self.running, self.failed, self.all = {}, [], len(parts)

    def run(self):
        """Run what is waiting; what does not end in time is stopped, and not recorded."""
        try:
            while self.running or self.waiting:
                if time.monotonic() >= self.until:
                    break
                while self.waiting and len(self.running) < self.jobs:
                    part = self.waiting.pop(0)
                    self.running[part.start()] = part
                self.reap()
        finally:
            for part in self.running.values():
                part.stop()

    def reap(self):
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if pid == 0:
            time.sleep(0.1)
            return
        part = self.running.pop(pid)
        good = part.end(os.waitstatus_to_exitcode(status), usage)
        if not good:
            self.failed.append(part)
        ended = self.all - len(self.waiting) - len(self.running)
        print(f"{ended:5}/{self.all} {part.title} {'Passed' if good else '***Failed'} {part.seconds:.2f} sec", flush=True)


def table(tests, parts):
    """Markdown: what is known of each test."""
    lines = ["| test | cases | processor time | result |", "|---|---|---|---|"]
    for test in tests:
        records = [record for part in parts if part.test is test and (record := part.record())]
        cases, seconds = sum(r["cases"] for r in records), sum(r["cpu_s"] for r in records)
        total = sum(1 for part in parts if part.test is test)
        failed = sum(1 for r in records if r["result"] != "passed")
        result = f"{failed} of {total} parts failed" if failed else "passed" if records else "not run"
        if 0 < len(records) < total:
            result += f", {len(records)} of {total} parts run"
        if test.missing:
            result = f"skipped: no {' and no '.join(test.missing)} here"
        lines.append(f"| {test.name} | {cases:,} | {seconds / 60:.1f} min | {result} |")
    return "\n".join(lines) + "\n"


def close(parts, failed, skipped, waiting, seconds):
    """The lines with which ctest ends."""
    ran = sum(1 for part in parts if part.record())
    print(f"\n{100 * (ran - len(failed)) // max(1, ran)}% tests passed, {len(failed)} tests failed out of {ran}")
    print(f"\nTotal Test time (real) = {seconds:.2f} sec")
    if skipped:
        print("\nThe following tests did not run:")
        for test in skipped:
            print(f"\t{test.name} (Skipped: no {' and no '.join(test.missing)} here)")
    if waiting:
        print(f"\n{waiting} of {len(parts)} parts are still to be run: the same command goes on with them")
    if failed:
        print("\nThe following tests FAILED:")
        for part in failed:
            print(f"\t{part.title} (see {part.file('.log')})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release", help="where the programs are")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/long", help="the folder of the records")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="so many parts at a time")
    parser.add_argument("--shards", type=int, default=64, help="so many parts of each test")
    parser.add_argument("--only", default="", help="tests with this in their name")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop then; parts that have not ended are run anew")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    args.out.mkdir(parents=True, exist_ok=True)
    tests = long_tests(args.build.resolve(), args.only)
    if not tests:
        sys.exit(f"long_mode: --only: found '{args.only}', expected a part of a test's name")
    folder = args.out.resolve()
    skipped = [test for test in tests if test.missing]
    # Shard by shard, so that what is done when a run is interrupted is a sample of everything.
    parts = [Part(test, shard, args.shards, folder) for shard in range(1, args.shards + 1) for test in tests if not test.missing]
    waiting = [part for part in parts if not part.passed()]
    if len(waiting) < len(parts):
        print(f"{len(parts) - len(waiting)} of {len(parts)} parts were done before")
    began = time.monotonic()
    runner = Runner(waiting, max(1, args.jobs), began + 60 * args.minutes)
    code = 0
    try:
        runner.run()
    except KeyboardInterrupt:
        code = 130
    text = table(tests, parts)
    (folder / "table.md").write_text(text)
    print(f"\n{text}", end="")
    left = sum(1 for part in parts if part.record() is None)
    close(parts, runner.failed, skipped, left, time.monotonic() - began)
    return code or (1 if runner.failed else 3 if left else 0)


if __name__ == "__main__":
    sys.exit(main())
