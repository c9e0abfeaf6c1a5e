"""The examples in Python run."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / 'examples' / 'python'


class Examples(unittest.TestCase):
    def run_one(self, name, *arguments):
        done = subprocess.run([sys.executable, FOLDER / name, *arguments], capture_output=True, text=True, env=os.environ)
        self.assertEqual((done.returncode, done.stderr), (0, ''))
        return done.stdout

    def test_longest_first(self):
        lines = self.run_one('longest_first.py').splitlines()
        antt = {line.split()[0]: float(line.split()[1]) for line in lines[1:]}
        self.assertEqual(set(antt), {'longest-first', 'sjf', 'fcfs'})
        self.assertLess(antt['sjf'], antt['longest-first'])

    def test_quantum(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(len(self.run_one('quantum.py', folder).splitlines()), 7)
            self.assertTrue((Path(folder) / 'quantum.png').read_bytes().startswith(b'\x89PNG'))

    def test_each_has_a_test(self):
        tested = {f'{name.removeprefix("test_")}.py' for name in dir(self) if name.startswith('test_')}
        self.assertEqual({file.name for file in FOLDER.glob('*.py')} - tested, set())


if __name__ == '__main__':
    unittest.main()
