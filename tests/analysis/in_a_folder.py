"""Tests that draw from result folders of their own, and the commands as processes."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ANALYSIS = Path(__file__).resolve().parents[2] / 'analysis'
sys.path.insert(0, str(ANALYSIS))

import results  # noqa: E402  (the path comes first)
import style  # noqa: E402
import synthetic  # noqa: E402


class InAFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(style.pyplot.close, 'all')
        self.folder = Path(folder.name)
        style.prepare()

    def sweep(self, **swept):
        synthetic.write_sweep(self.folder / 'swept', **swept)
        return results.read(self.folder / 'swept')


def start(command, *arguments, **environment):
    return subprocess.Popen([sys.executable, '-B', ANALYSIS / command, *arguments], text=True,
                            env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    """(exit code, standard output, standard error)"""
    out, errors = process.communicate()
    return process.returncode, out, errors
