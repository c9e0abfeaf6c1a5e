"""Experiments whose clients are programs, on the stand-in driver: gangway run --world live as people use it."""

import csv
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from live_daemon import CLIENT, GANGWAY, LIMIT, STANDIN, is_on_this_machine

FOREVER = 1_000_000_000


def loop(kernels, us, jobs=FOREVER, end=""):
    return f"[{CLIENT}, loop, {kernels}, {us}, {jobs}{', ' + end if end else ''}]"


def client(name, command, more=""):
    return f"    - {{name: {name}, command: {command}{', ' + more if more else ''}}}\n"


def running():
    """Programs of this process's tests that are there."""
    found = subprocess.run(["pgrep", "-f", f"^{CLIENT} loop"], capture_output=True, text=True).stdout.split()
    return [process for process in found if is_on_this_machine(process)]


def left_behind():
    """Likewise, soon after their run: what was killed needs a moment."""
    end = time.monotonic() + 5
    while running() and time.monotonic() < end:
        time.sleep(0.02)
    return running()


@unittest.skipUnless(STANDIN, "there is no stand-in driver")
class LiveExperiments(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, clients, policies="[passthrough]", more="", horizon="500 ms"):
        text = f"""kind: experiment
version: 1
name: test
workload:
  kind: workload
  version: 1
  name: test
  clients:
{clients}device: h100
mechanism: ideal
grant: {{of: job, in_flight: 1, idle: 1 ms}}
policies: {policies}
horizon: {horizon}
{more}"""
        path = self.folder / "test.yaml"
        path.write_text(text)
        return path

    def environment(self):
        return dict(os.environ, LD_LIBRARY_PATH=STANDIN, XDG_RUNTIME_DIR=str(self.folder))

    def run_file(self, path, *options, code=0, folder=None):
        result = subprocess.run([GANGWAY, "run", path, "--world", "live", "--out", self.folder / "out", *options], capture_output=True,
                                text=True, timeout=LIMIT, env=self.environment(), cwd=folder)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        self.assertEqual(left_behind(), [])
        self.assertEqual([str(p) for p in self.folder.glob("gangway/run.*")], [])  # nothing is left behind
        return result

    def rows(self, name="jobs.csv"):
        with open(self.folder / "out" / name) as lines:
            return list(csv.DictReader(lines))

    def refused(self, text, path):
        result = self.run_file(path, code=2)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn(text, result.stderr)
