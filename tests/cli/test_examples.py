"""The examples run, and come to what can be worked out by hand. Those in Python are tests/package/test_examples.py's."""

import csv
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

from program import GANGWAY, ROOT, ProgramTest

EXAMPLES = ROOT / "examples"
OWN_POLICY = Path(os.environ["GANGWAY_OWN_POLICY"]).resolve()  # the program with examples/own_policy/longest_first.cpp, too
NEED_A_GPU = {"live", "programs", "share_a_gpu", "shoc"}
ELSEWHERE = {"notebooks", "python", "skeletons"}  # tests/package, test_new.py


class Examples(ProgramTest):
    def rows(self, file):
        with open(self.folder / file, newline="", encoding="utf-8") as stream:
            return list(csv.DictReader(stream))

    def test_own_policy(self):
        # All three wait when `first` ends at 1 ms. ljf: long until 5, medium until 7, short until 8 ms; sjf the other way round.
        done = subprocess.run([OWN_POLICY, "run", EXAMPLES / "own_policy/ljf.yaml", "--out", "out"], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "GANGWAY_DATA": str(ROOT)})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        finishes = {(row["policy"], row["client"]): int(row["finish_ns"]) / 1e6 for row in self.rows("out/jobs.csv")}
        self.assertEqual([finishes["ljf", client] for client in ("first", "long", "medium", "short")], [1, 5, 7, 8])
        self.assertEqual([finishes["sjf", client] for client in ("first", "short", "medium", "long")], [1, 2, 4, 8])

    def test_the_readme_shows_this_policy(self):
        shown = re.findall(r"```cpp\n(.*?)```", (ROOT / "manual/how-to.md").read_text(encoding="utf-8"), re.DOTALL)
        self.assertIn((EXAMPLES / "own_policy/longest_first.cpp").read_text(encoding="utf-8"), shown)

    def test_two_programs(self):
        done = subprocess.run([EXAMPLES / "two_programs/run.sh"], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "GANGWAY": str(GANGWAY), "OUT": "out"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("latency", done.stdout)
        services = {(row["workload.clients.service.repeat.arrivals.rate"], row["policy"]): row for row in self.rows("out/services.csv") if row["client"] == "service"}
        for rate in ("25/s", "50/s", "100/s"):  # the service does not wait for whole steps of the training where it is preferred
            self.assertLess(float(services[rate, "piv"]["latency_ns_p50"]), float(services[rate, "fcfs"]["latency_ns_p50"]))
        self.assertTrue(json.loads((self.folder / "out/piv.json").read_text())["traceEvents"])

    def test_detector(self):
        # models/bounds/README.md works it out: 23/5.
        self.assertIn("detect, u = 40/11 = 3.63636: at most 23/5 = 4.6 ms (T2)", self.gangway("bound", EXAMPLES / "detector/detector.yaml").stdout)

    def test_every_file_is_fine_and_every_folder_is_run(self):
        folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
        self.assertEqual(folders - NEED_A_GPU - ELSEWHERE, {"own_policy", "two_programs", "detector"})
        page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
        for folder in folders:
            self.assertIn(f"`{folder}/`", page)
        files = sorted(file for file in EXAMPLES.rglob("*.yaml") if "own_policy" not in file.parts)
        self.assertEqual(self.gangway("check", *files).stderr, "")


if __name__ == "__main__":
    unittest.main()
