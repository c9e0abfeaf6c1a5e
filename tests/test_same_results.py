"""same_results.py: what it finds between folders, and between made-up programs that leave results."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import same_results

SCRIPT = pathlib.Path(same_results.__file__).resolve()
MANIFEST = {"kind": "result", "identity": "1", "program": "one", "start": "today", "events": 5, "jobs": 3, "configuration": {"seed": "1"}}
# A program that leaves a table with the text that follows in this file, and fails for the experiment "broken".
PROGRAM = """#!/usr/bin/env python3
import json, os, pathlib, sys
file, out = sys.argv[2], pathlib.Path(sys.argv[sys.argv.index("--out") + 1])
with open(pathlib.Path({log!r}), "a") as log:
    print(" ".join([file] + sys.argv[8:]), file=log)
if "broken" in file:
    sys.exit("error: it is broken")
out.mkdir(parents=True, exist_ok=True)
(out / "summary.csv").write_text("a,b\\n" + ("{text}" if "changed" in file else "same") + "\\n")
(out / "manifest.json").write_text(json.dumps({{"kind": "result", "program": "{text}", "jobs": 1}}))
"""


class Folders(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        for side in ("before", "after"):
            self.put(side, "manifest.json", json.dumps(MANIFEST).encode())
            self.put(side, "jobs.csv", b"job,time\n0,15\n1,20\n")
            self.put(side, "traces/0.json.gz", gzip.compress(b'{"a": 1}\n{"b": 2}\n', mtime=0))

    def put(self, side, name, content):
        path = self.folder / side / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def found(self):
        return same_results.differences(self.folder / "before", self.folder / "after")

    def test_equal_folders(self):
        self.assertEqual(self.found(), [])

    def test_a_byte(self):
        self.put("after", "jobs.csv", b"job,time\n0,15\n1,21\n")
        self.assertEqual(self.found(), ["jobs.csv:3: before '1,20', after '1,21'"])

    def test_a_line_more_and_a_byte_at_the_end(self):
        self.put("after", "jobs.csv", b"job,time\n0,15\n1,20\n2,25\n")
        self.assertEqual(self.found(), ["jobs.csv:4: before nothing, after '2,25'"])
        self.put("after", "jobs.csv", b"job,time\n0,15\n1,20")
        self.assertEqual(len(self.found()), 1)

    def test_a_byte_far_into_a_long_line(self):
        line = b"0," * 5000
        self.put("before", "jobs.csv", line + b"7\n")
        self.put("after", "jobs.csv", line + b"8\n")
        self.assertRegex(self.found()[0], r"^jobs\.csv:1: before '.{1,90}7', after '.{1,90}8'$")

    def test_a_file_that_is_missing_and_one_that_is_extra(self):
        (self.folder / "after/jobs.csv").unlink()
        self.put("after", "traces/1.json.gz", b"")
        self.assertEqual(self.found(), ["jobs.csv: missing after", "traces/1.json.gz: missing before"])

    def test_a_compressed_line(self):
        self.put("after", "traces/0.json.gz", gzip.compress(b'{"a": 1}\n{"b": 3}\n', mtime=0))
        self.assertEqual(self.found(), ["""traces/0.json.gz:2: before '{"b": 2}', after '{"b": 3}'"""])

    def test_other_compressed_bytes_of_the_same_content(self):
        self.put("after", "traces/0.json.gz", gzip.compress(b'{"a": 1}\n{"b": 2}\n', compresslevel=1, mtime=5))
        self.assertEqual(self.found(), ["traces/0.json.gz: compressed differently"])

    def test_a_manifest_may_tell_of_another_run(self):
        self.put("after", "manifest.json", json.dumps({**MANIFEST, "program": "two", "start": "tomorrow", "events": 6}).encode())
        self.assertEqual(self.found(), [])

    def test_a_manifest_must_have_the_same_configuration_and_jobs(self):
        for change, said in (({"configuration": {"seed": "2"}}, """before 'configuration.seed: "1"', after 'configuration.seed: "2"'"""),
                             ({"jobs": 4}, "before 'jobs: 3', after 'jobs: 4'"), ({"new": 1}, "before nothing, after 'new: 1'")):
            self.put("after", "manifest.json", json.dumps({**MANIFEST, **change}).encode())
            self.assertEqual(self.found(), [f"manifest.json: {said}"])


class Programs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.old, self.new = self.program("old"), self.program("new")

    def program(self, text):
        path = self.folder / text
        path.write_text(PROGRAM.format(text=text, log=str(self.folder / f"{text}.log")))
        path.chmod(0o755)
        return path

    def compare(self, *options, runs="experiments/a/plain.yaml --trace\nexperiments/a/changed.yaml\n"):
        return subprocess.run([sys.executable, SCRIPT, "--after", self.new, *options], input=runs, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})

    def test_a_line_for_each_experiment(self):
        done = self.compare("--before", self.old, "--jobs", "1")
        self.assertEqual((done.returncode, done.stdout.splitlines()),
                         (1, ["same    a/plain (2 files)", "DIFFERS a/changed: summary.csv:2: before 'old', after 'new'",
                              "1 of 2 experiments have the same results"]))
        for name in ("old", "new"):
            self.assertEqual((self.folder / f"{name}.log").read_text().splitlines(),
                             ["experiments/a/plain.yaml --trace", "experiments/a/changed.yaml"])

    def test_the_same(self):
        done = self.compare("--before", self.old, "--only", "plain")
        self.assertEqual((done.returncode, done.stdout), (0, "same    a/plain (2 files)\n1 of 1 experiments have the same results\n"))

    def test_an_experiment_that_fails_is_not_the_same(self):
        done = self.compare("--before", self.old, runs="experiments/broken.yaml\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("not run broken: before: exit code 1: error: it is broken\n", done.stdout)

    def test_results_stay_where_they_are_wanted(self):
        self.compare("--before", self.old, "--out", self.folder / "kept")
        self.assertEqual(len(list(self.folder.glob("kept/*/a/*/summary.csv"))), 4)

    def test_wrong_input(self):
        for options, said in ((["--before", self.folder / "none"], "expected a program"), (["no-such-commit"], "expected a commit"),
                              (["--before", self.old, "--only", "none"], "expected text in the name of an experiment"),
                              ([], "expected COMMIT or --before PROGRAM"), (["main", "--before", self.old], "found both")):
            done = self.compare(*options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(said, done.stderr)


if __name__ == "__main__":
    unittest.main()
