"""What the tests of a paper's experiments have in common."""

import csv
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GANGWAY = Path(os.environ.get("GANGWAY", "build/release/gangway")).resolve()


class Reproduction(unittest.TestCase):
    PAPER = ""  # its folder in experiments/

    def run_experiment(self, name, *options, code=0):
        """Leaves the results in self.out; returns what was said on stderr."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = Path(folder.name) / Path(name).name
        done = subprocess.run([GANGWAY, "run", ROOT / f"experiments/{self.PAPER}/{name}.yaml", "--out", self.out, *options],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def rows(self, file):
        with open(self.out / file, newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))
