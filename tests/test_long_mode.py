"""long_mode.py against a made-up test program: what is run, what is not run again, and what is said of it."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
# Lists two tests; plays 10 cases of each, split by shard, and fails case 7 of the second where "broken" is in its folder.
PROGRAM = r"""#!/usr/bin/env python3
import os, pathlib, sys
if sys.argv[1].startswith("--list"):
    print("sums, in order\nproducts")
    sys.exit(0)
assert os.environ["GANGWAY_LONG"] == "1"
here, name = pathlib.Path(__file__).parent, sys.argv[1]
assert name in ("sums\\, in order", "products"), name
index, parts = map(int, os.environ["GANGWAY_SHARD"].split("/"))
numbers = range(10 * (index - 1) // parts, 10 * index // parts)
with open(here / "played", "a") as log:
    log.writelines(f"{name} {n}\n" for n in numbers)
if not (here / "silent").exists():
    with open(os.environ["GANGWAY_TALLY"], "a") as tally:
        print(len(numbers), file=tally)
print("case 7 is wrong")
sys.exit(name == "products" and 7 in numbers and (here / "broken").exists())
"""


class LongMode(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.tests = self.folder / "tests"
        self.tests.mkdir()
        self.write(PROGRAM)
        (self.folder / "gangway").touch()

    def write(self, program):
        (self.tests / "gangway_tests").write_text(program)
        (self.tests / "gangway_tests").chmod(0o755)

    def run_long(self, *options, only):
        """The exit code and what was said."""
        command = [sys.executable, str(TESTS / "long_mode.py"), "--build", str(self.folder), "--out", str(self.folder / "out"),
                   "--shards", "4", "--only", only, *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
        return done.returncode, done.stdout

    def played(self):
        path = self.tests / "played"
        lines = sorted(path.read_text().splitlines()) if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def test_every_case_is_played_once_and_counted(self):
        for only in ("sums", "products"):
            code, said = self.run_long(only=only)
            self.assertEqual(code, 0, said)
            self.assertIn("100% tests passed, 0 tests failed out of 4", said)
            name = {"sums": "sums, in order", "products": "products"}[only]
            self.assertRegex(said, rf"\| {name} \| 10 \| \d+\.\d min \| passed \|")
            self.assertEqual(len(set(self.played())), 10)

    def test_what_is_done_is_not_done_again_by_the_same_program(self):
        self.run_long(only="sums")
        self.played()
        code, said = self.run_long(only="sums")
        self.assertEqual((code, self.played()), (0, []))
        self.assertIn("4 of 4 parts were done before", said)
        record = next((self.folder / "out").glob("*-2-of-4.json"))
        record.unlink()
        self.run_long(only="sums")
        self.assertEqual(self.played(), [f"sums\\, in order {n}" for n in (2, 3, 4)])

    def test_another_program_does_everything_again(self):
        self.run_long(only="sums")
        self.played()
        self.write(PROGRAM + "# built anew\n")
        self.assertEqual(self.run_long(only="sums")[0], 0)
        self.assertEqual(len(self.played()), 10)

    def test_a_part_that_fails_is_named_kept_and_run_again(self):
        (self.tests / "broken").touch()
        code, said = self.run_long(only="products")
        self.assertEqual(code, 1)
        self.assertIn("75% tests passed, 1 tests failed out of 4", said)
        self.assertIn("1 of 4 parts failed", said)
        log = pathlib.Path(re.search(r"products 4/4 \(see (.*)\)", said)[1])
        self.assertEqual(log.read_text(), "case 7 is wrong\n")
        self.played()
        (self.tests / "broken").unlink()
        self.assertEqual(self.run_long(only="products")[0], 0)
        self.assertEqual(self.played(), [f"products {n}" for n in (7, 8, 9)])

    def test_a_part_that_plays_nothing_has_failed(self):
        (self.tests / "silent").touch()
        code, said = self.run_long(only="sums")
        self.assertEqual(code, 1, said)

    def test_time_that_is_up_leaves_parts_for_later(self):
        code, said = self.run_long("--minutes", "0", only="sums")
        self.assertEqual((code, self.played()), (3, []))
        self.assertIn("4 of 4 parts are still to be run", said)
        self.assertIn("| not run |", said)

    def test_oracles_that_need_more_than_there_is_are_skipped_aloud(self):
        code, said = self.run_long("--minutes", "0", only="oracle: policies")
        missing = [p for p in ("simpy", "yaml") if subprocess.run([sys.executable, "-c", f"import {p}"], stderr=subprocess.DEVNULL).returncode]
        self.assertIn("skipped: no simpy" if "simpy" in missing else "| not run |", said)


class Sources(unittest.TestCase):
    def test_what_asks_for_case_numbers_is_tagged_long(self):
        tagged = 0
        for path in TESTS.rglob("test_*.cpp"):
            for test in re.split(r"^(?=TEST_CASE\()", path.read_text(), flags=re.MULTILINE)[1:]:
                head = test[:test.index(") {")]
                self.assertEqual("case_numbers(" in test, "[long]" in head, f"{path.name}: {head}")
                tagged += "[long]" in head
        self.assertGreater(tagged, 25)


if __name__ == "__main__":
    unittest.main()
