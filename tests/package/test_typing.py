"""The package is annotated, and its compiled half as its stub says."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODULE = Path(os.environ['GANGWAY_CORE'])


def needs(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f'there is no {name}')


class Typing(unittest.TestCase):
    def run_module(self, *arguments, **more):
        done = subprocess.run([sys.executable, '-m', *arguments], capture_output=True, text=True, cwd=ROOT, **more)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    @needs('mypy')
    def test_mypy(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_module('mypy', '--cache-dir', folder)

    @needs('ruff')
    def test_ruff(self):
        self.run_module('ruff', 'check', '--no-cache', 'analysis/gangway')

    @needs('nanobind')
    def test_the_stub_is_that_of_the_module(self):
        with tempfile.TemporaryDirectory() as folder:
            self.run_module('nanobind.stubgen', '-q', '-i', MODULE, '-m', '_core', '-o', Path(folder) / '_core.pyi')
            def plain(text):  # the values belong to the build
                return re.sub(r'^(version|commit): str.*$', r'\1: str', text, flags=re.MULTILINE)

            self.assertEqual(plain((Path(folder) / '_core.pyi').read_text()), plain((ROOT / 'analysis/gangway/_core.pyi').read_text()),
                             'make it anew: python3 -m nanobind.stubgen -i FOLDER -m _core -o analysis/gangway/_core.pyi')


if __name__ == '__main__':
    unittest.main()
