"""Two result folders against each other: messages, exit codes, and errors recomputed from the files."""

import json
import shutil
import statistics
import unittest

from program import BUSY, SMALL, ProgramTest, table


class Compare(ProgramTest):
    def setUp(self):
        super().setUp()
        self.run_into("a", SMALL)

    def run_into(self, out, text, *arguments):
        self.gangway("run", self.file(f"{out}.yaml", text), "--out", out, *arguments)

    def run_slower(self, text=SMALL):
        self.run_into("b", text, "--set", "device.commands.launch=60 us", "--set", "device.commands.pending_work=40 us")

    def compare(self, *arguments, code=0):
        return json.loads(self.gangway("compare", "a", "b", "--json", *arguments, code=code).stdout)

    def test_a_folder_with_itself(self):
        shutil.copytree(self.folder / "a", self.folder / "b")
        got = self.compare("--fail-above", "ntt_p50=0,ntt_p90=0,antt=0,dntt=0,stp=0,ranking=0")
        jobs = len(table(self.folder / "a/jobs.csv"))
        zeros = {"p50": 0, "p90": 0, "mean": 0, "max": 0, "bias": 0, "bias_p50": 0}
        self.assertEqual(got["ntt_error"], {"jobs": jobs, **zeros})
        self.assertEqual(len(got["groups"]), 6)
        self.assertEqual(len(got["clients"]), 6 * 9)
        self.assertTrue(all(row["ntt"]["relative_error"] == 0 for row in got["clients"]))
        self.assertTrue(all(ranking["equal"] for ranking in got["rankings"]))
        self.assertEqual([got["unmatched"], got["unfinished"]["both"]], [[], 0])
        shown = self.gangway("compare", "a", "b").stdout
        self.assertIn("rankings of policies: 6 of 6 equal", shown)
        self.assertNotIn("furthest", shown)

    def test_errors_are_those_of_the_files(self):
        self.run_slower()
        got = self.compare()
        key = ("point", "policy", "replication", "permutation", "client", "job")
        b = {tuple(row[k] for k in key): float(row["ntt"]) for row in table(self.folder / "b/jobs.csv")}
        errors = {}
        for row in table(self.folder / "a/jobs.csv"):
            measured = b[tuple(row[k] for k in key)]
            errors.setdefault((int(row["point"]), row["policy"]), []).append((float(row["ntt"]) - measured) / measured)
        for group in got["groups"]:
            own = errors[group["point"], group["policy"]]
            self.assertGreater(group["ntt_error"]["p50"], 0)
            self.assertAlmostEqual(group["ntt_error"]["bias"], statistics.fmean(own), 12)
            self.assertAlmostEqual(group["ntt_error"]["p50"], sorted(map(abs, own))[(len(own) + 1) // 2 - 1], 12)
        summary = {(int(r["point"]), r["policy"]): float(r["antt"]) for r in table(self.folder / "b/summary.csv")}
        for group in got["groups"]:
            antt = group["antt"]
            self.assertEqual(antt["measured"], summary[group["point"], group["policy"]])
            self.assertAlmostEqual(antt["relative_error"], antt["predicted"] / antt["measured"] - 1, 12)

    def test_limits(self):
        self.run_slower()
        self.gangway("compare", "a", "b", "--fail-above", "ntt_p50=0.9,antt=90 %")
        done = self.gangway("compare", "a", "b", "--fail-above", "ntt_p50=0.0001,antt=90 %,stp=0.001", code=1)
        complaints = done.stderr.splitlines()
        self.assertEqual(len(complaints), 2)
        self.assertRegex(complaints[0], r"^error: ntt_p50 is 0\.\d+, above 0\.0001$")
        self.assertRegex(complaints[1], r"^error: stp is 0\.\d+, above 0\.001$")
        self.assertIn("rankings of policies", done.stdout)
        limits = self.compare("--fail-above", "ntt_p50=0.0001,antt=0.9", code=1)["limits"]
        self.assertEqual([(each["metric"], each["exceeded"]) for each in limits], [("ntt_p50", True), ("antt", False)])

    def test_another_set_of_policies_and_seeds_is_compared_where_it_can_be(self):
        self.run_slower(SMALL.replace("[sjf, rr,", "[sjf, frs, rr,").replace("replications: 2", "replications: 1"))
        shown = self.gangway("compare", "a", "b").stdout
        self.assertIn("in the measurement only: 2 rows of summary.csv: 0 frs, 1 frs\n", shown)
        self.assertRegex(shown, r"in the prediction only: \d+ rows of jobs.csv: 0 rr 1 0 BS 0, .*, \.\.\.\n")

    def test_unfinished_jobs_are_counted(self):
        shutil.rmtree(self.folder / "a")
        self.run_into("a", BUSY)
        self.run_into("b", BUSY, "--set", "horizon=30 ms")
        unfinished = self.compare()["unfinished"]
        self.assertGreater(unfinished["measurement_only"] + unfinished["both"], 0)
        self.assertIn("unfinished jobs: ", self.gangway("compare", "a", "b").stdout)

    def test_no_jobs_wanted(self):
        self.run_slower(SMALL + "jobs: false\n")
        self.assertIn("no errors of jobs: b was run without jobs.csv", self.gangway("compare", "a", "b").stdout)
        self.assertEqual(self.compare()["ntt_error"], {"jobs": 0})
        message = self.refused("compare", "a", "b", "--fail-above", "ntt_p50=1")
        self.assertEqual(message, "error: --fail-above: key 'ntt_p50': found nothing in both folders to tell it, expected folders that have it")

    def test_nonsense_is_refused(self):
        self.run_slower()
        b = self.folder / "b"
        for arguments in [[], ["a"], ["a", "b", "a"], ["a", "b", "--fast"], ["a", "b", "--fail-above"]]:
            with self.subTest(arguments=arguments):
                self.refused("compare", *arguments)
        for limits, part in {"speed=1": "expected one of ntt_p50", "antt=low": "found 'low', expected a number from 0", "antt": "found ''"}.items():
            self.assertIn(part, self.refused("compare", "a", "b", "--fail-above", limits))
        self.assertIn("nowhere: found no folder", self.refused("compare", "a", "nowhere"))
        self.assertIn("a.yaml: found no folder", self.refused("compare", "a.yaml", "b"))
        text = (b / "jobs.csv").read_text()
        (b / "jobs.csv").write_text(text.replace("permutation", "round", 1))
        self.assertIn("b/jobs.csv:1: key 'permutation': found no such column", self.refused("compare", "a", "b"))
        (b / "jobs.csv").write_text(text[:-4])
        self.assertIn("expected a whole line: the file is cut off", self.refused("compare", "a", "b"))
        (b / "manifest.json").unlink()
        self.assertIn("b: found no manifest.json, expected a folder that `gangway run` finished", self.refused("compare", "a", "b"))

    def test_another_experiment_is_refused(self):
        self.run_into("b", SMALL.replace("[0.5 ms, 1 ms]", "[0.5 ms, 2 ms]"))
        message = self.refused("compare", "a", "b")
        self.assertIn("b/summary.csv:5: key 'workload.arrivals.gap': found '2 ms', expected '1 ms' as in a", message)


if __name__ == "__main__":
    unittest.main()
