"""The policy that `gangway new policy` writes runs as it is."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ['GANGWAY']


class Skeleton(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        subprocess.run([PROGRAM, 'new', 'policy', 'my-own', '--out', self.folder], check=True, capture_output=True)

    def compared(self):
        """The table that the file prints, by policy."""
        done = subprocess.run([sys.executable, '-W', 'ignore', self.folder / 'my-own.py'], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual(lines[0], ['policy', 'antt', 'dntt', 'stp', 'evictions'])
        return {line[0]: line[1:] for line in lines[1:]}

    def test_it_is_compared_with_others(self):
        table = self.compared()
        self.assertEqual(set(table), {'my-own', 'fcfs', 'sjf', 'rr', 'frs'})
        self.assertGreater(float(table['my-own'][3]), 0, 'it evicts')

    def test_it_is_round_robin_until_it_is_changed(self):
        file = self.folder / 'my-own.py'
        text = file.read_text()
        self.assertIn("QUANTUM = '2 ms'", text)
        file.write_text(text.replace("QUANTUM = '2 ms'", "QUANTUM = '1 ms'"))  # that of rr
        table = self.compared()
        self.assertEqual(table['my-own'], table['rr'])


if __name__ == '__main__':
    unittest.main()
