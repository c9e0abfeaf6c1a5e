"""tests/live/every_test.py on a folder of its own: what it counts, prints and exits with."""

import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

RUNNER = Path(__file__).parent / "live/every_test.py"
TESTS = '''
import os, pathlib, unittest

class Toy(unittest.TestCase):
    def test_fine(self): pass
    @unittest.skip("nothing to do")
    def test_left_out(self): pass
    def test_wrong(self): self.assertEqual(1, 2)
    def test_crash(self): os._exit(3)
    def test_at_first(self):
        mark = pathlib.Path("tried")
        tried = mark.exists()
        mark.touch()
        self.assertTrue(tried, "not yet")
'''


class EveryTest(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(RUNNER, self.folder)
        (self.folder / "test_toy.py").write_text(TESTS)

    def play(self, *tests, code):
        done = subprocess.run([sys.executable, self.folder / "every_test.py", *(f"test_toy.Toy.test_{test}" for test in tests)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def last(self, out):
        return out.splitlines()[-1].split(": ")[1]

    def test_passes_and_skips(self):
        self.assertEqual(self.last(self.play("fine", "left_out", code=0)), "0 failed, 1 skipped, 0 passed at the second attempt only")
        self.play("left_out", code=77)

    def test_failures_and_what_is_not_there(self):
        out = self.play("fine", "wrong", code=1)
        self.assertEqual(out.count("AssertionError: 1 != 2"), 2)
        self.assertEqual(self.last(out), "1 failed, 0 skipped, 0 passed at the second attempt only")
        self.play("missing", code=1)

    def test_a_second_attempt_is_named(self):
        out = self.play("at_first", "fine", code=0)
        self.assertIn("AssertionError: False is not true : not yet", out)
        self.assertIn("passed at its second attempt only: test_toy.Toy.test_at_first\n", out)
        self.assertEqual(self.last(out), "0 failed, 0 skipped, 1 passed at the second attempt only")

    def test_a_crash_fails_no_other(self):
        self.assertEqual(self.last(self.play("crash", "fine", code=1)).split(",")[0], "1 failed")

    def test_a_module_that_cannot_be_imported(self):
        (self.folder / "test_broken.py").write_text("import no_such_module\n")
        done = subprocess.run([sys.executable, self.folder / "every_test.py"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("No module named 'no_such_module'", done.stdout)


if __name__ == "__main__":
    unittest.main()
