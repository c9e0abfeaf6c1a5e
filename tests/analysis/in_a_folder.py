"""Tests that draw from result folders of their own, and the commands as processes."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ANALYSIS = Path(__file__).resolve().parents[2] / 'analysis'
sys.path.insert(0, str(ANALYSIS))

from gangway.drawing import results  # noqa: E402  (the path comes first)
from gangway.drawing import style  # noqa: E402
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

    def check_drawn_alike(self, command, expected):
        """command: a script and its arguments. Run twice it writes these files, the same bytes."""
        outs = [self.folder / seed for seed in ('1', '2')]  # another order of sets must not show
        processes = [start(*command, '--out', out, PYTHONHASHSEED=out.name) for out in outs]
        for out, process in zip(outs, processes):
            self.assertEqual(finish(process), (0, ''.join(f'{out / name}\n' for name in expected), ''))
        for name in expected:
            first, second = ((out / name).read_bytes() for out in outs)
            self.assertGreater(len(first), 5000, name)
            self.assertEqual(first, second, name)


def start(command, *arguments, **environment):
    return subprocess.Popen([sys.executable, '-B', ANALYSIS / command, *arguments], text=True,
                            env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    """(exit code, standard output, standard error)"""
    out, errors = process.communicate()
    return process.returncode, out, errors
