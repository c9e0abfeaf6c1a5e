"""Calls the gangway program and reads what it leaves behind."""

import contextlib
import csv
import gzip
import json
import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GANGWAY = Path(os.environ.get("GANGWAY", "build/release/gangway")).resolve()

SMALL = """kind: experiment
version: 1
name: small
workload: frs-table1
device: titan-x-pascal
mechanism: flag-copy
policies: [sjf, rr, {name: rr, label: rr-long, params: {quantum: 4 ms}}]
sweep:
  workload.arrivals.gap: [0.5 ms, 1 ms]
permutations: 3
replications: 2
"""

TINY = """kind: experiment
version: 1
name: tiny
workload:
  kind: workload
  version: 1
  name: tiny
  clients:
    - {name: A, kernels: [{name: k, block_tasks: 8, time: 10 us}]}
device: titan-x-pascal
mechanism: ideal
policies: [fcfs]
"""

# Some seconds of work in 12 groups and little output.
SLOW = """kind: experiment
version: 1
name: slow
workload: frs-table1
device: titan-x-pascal
mechanism: ideal
policies: [{name: rr, params: {quantum: 4 us}}, {name: cfs, params: {epoch: 40 us}}]
sweep:
  workload.arrivals.gap: [0 ms, 0.5 ms, 1 ms, 2 ms, 3 ms, 4 ms]
permutations: 20
replications: 3
"""
SLOW_GROUPS = 12

# Copies, repetition with a period and with thinking, jitter, several kernels, a client that a horizon cuts off.
BUSY = """kind: experiment
version: 1
name: busy
workload:
  kind: workload
  version: 1
  name: busy
  jitter: {kernel_time: 5 %, arrival: 200 us, distribution: normal}
  clients:
    - name: stream
      arrive: 0 ms
      copy_in: 4 MiB
      copy_out: 2 MiB
      repeat: {jobs: 12, period: 3 ms}
      kernels:
        - {name: a, block_tasks: 2000, time: 0.8 ms, eviction_delay: 60 us}
        - {name: b, block_tasks: 3000, time: 0.5 ms, block_task_length: 30 us}
    - name: batch
      arrive: 0.3 ms
      copy_in: 16 MiB
      repeat: {jobs: 3, think: 1 ms}
      kernels: [{name: long, block_tasks: 9000, time: 9 ms, transformation_overhead: 1.05}]
    - name: endless
      priority: 3
      arrive: 1 ms
      copy_out: 1 MiB
      repeat: {jobs: endless, think: 0.5 ms}
      kernels: [{name: short, block_tasks: 700, time: 0.4 ms, eviction_delay: 25 us, declared_time: 0.6 ms}]
    - name: once
      arrive: 2 ms
      kernels: [{name: single, grid: [64, 16], time_per_block_task: 2 us}]
device: titan-x-pascal
mechanism: flag-copy
policies: [fcfs, sjf, srt, {name: rr, params: {quantum: 0.3 ms}}, cfs, {name: frs, params: {minimum_quantum: 0.2 ms}}]
sweep:
  device.commands.launch: [12 us, 50 us]
replications: 3
horizon: 40 ms
"""


class ProgramTest(unittest.TestCase):
    """A test with a folder of its own, in which the program is called."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path

    def gangway(self, *arguments, code=0):
        done = subprocess.run([GANGWAY, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, f"gangway {' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
        return done

    def limited(self, limit, most, *arguments):
        """The program under a limit of the system, such as resource.RLIMIT_AS; returns what it did."""
        return subprocess.run([GANGWAY, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              preexec_fn=lambda: resource.setrlimit(limit, (most, most)))

    def peak_memory(self, *arguments):
        """In KiB."""
        process = subprocess.Popen([GANGWAY, *map(str, arguments)], cwd=self.folder, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss

    def another_build(self):
        """A program that does the same and is not the same."""
        copy = self.folder / "gangway-of-another-build"
        copy.write_bytes(GANGWAY.read_bytes() + b"another build")
        copy.chmod(0o755)
        return copy

    def refused(self, *arguments, code=2):
        """One line of complaint and nothing else; returns the line."""
        done = self.gangway(*arguments, code=code)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\A(error|gangway): [^\n]+\n\Z")
        return done.stderr.rstrip("\n")

    def assert_same_files(self, one, other):
        self.assertEqual(sorted(one), sorted(other))
        self.assertEqual([name for name in one if one[name] != other[name]], [], "these differ")

    def start(self, *arguments):
        process = subprocess.Popen(
            [GANGWAY, *map(str, arguments)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def start_and_wait_for_groups(self, out, groups, *arguments):
        """A run that is stopped (SIGSTOP) when it has finished so many groups, or up to two more. A busy machine can hold this test
        up until the run has come further: then it is played once more, from the beginning."""
        while True:
            process = self.start(*arguments, "--out", out, "--jobs", 2)
            while finished_groups(out) < groups and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGSTOP)
            if process.poll() is None and groups <= finished_groups(out) <= groups + 2:
                return process
            process.kill()
            error = process.communicate()[1]
            self.assertIn(process.returncode, (0, -signal.SIGKILL), error)
            shutil.rmtree(out)

    def end(self, process, how, code):
        """Of a process that is stopped."""
        process.send_signal(how)
        process.send_signal(signal.SIGCONT)
        out, error = process.communicate()
        self.assertEqual(process.returncode, code, out + error)
        return out, error


def interrupt_in_the_middle(test, out, *arguments):
    process = test.start_and_wait_for_groups(out, 2, *arguments)
    return test.end(process, signal.SIGINT, 130)


def finished_groups(out):
    """How many groups of results an unfinished folder keeps; it may be written to meanwhile."""
    store = Path(out) / "parts/results.sqlite"
    try:
        with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=10)) as parts:
            return parts.execute("SELECT count(*) FROM parts WHERE error = ''").fetchone()[0]
    except sqlite3.OperationalError:  # not there yet
        return 0


def contents(folder, manifest=False):
    """Every file below a folder, as bytes; the manifest, which tells when and how, only on demand."""
    files = {str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}
    if not manifest:
        files.pop("manifest.json", None)
    return files


def read_trace(path):
    """A timeline, compressed or not."""
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def manifest(folder):
    return json.loads((Path(folder) / "manifest.json").read_text())


def table(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))
