"""gangway run of a study: many task sets, their bounds and what is seen of them."""

import json
import unittest
from fractions import Fraction

from program import ProgramTest, contents, interrupt_in_the_middle, table

STUDY = """\
kind: study
version: 1
name: small
generator: {name: uunifast-discard, params: {tasks: 3, threads: 6, shortest: 5, longest: 20}}
orders: [became-head, release-ready]
sets: 12
simulate: {jobs: 60}
search: {steps: 40}
tasks: true
seed: 5
sweep:
  generator.params.utilisation: [0.3, 0.9]
"""
GIVEN = """\
kind: study
version: 1
name: given
task_sets:
  - one.yaml
  - {kind: taskset, version: 1, name: two, device: {layout: pool, m: 2}, tasks: [{name: a, C: 3, T: 2, g: 1, b: 1}]}
simulate: {jobs: 100}
"""
ONE = "kind: taskset\nversion: 1\nname: one\ndevice: {layout: pool, m: 2}\ntasks: [{name: a, C: 1, T: 2, g: 1, b: 1}]\n"


class Study(ProgramTest):
    def setUp(self):
        super().setUp()
        self.study = self.file("study.yaml", STUDY)

    def test_same_bytes_on_any_number_of_threads(self):
        for jobs in (1, 2, 5):
            self.gangway("run", self.study, "--out", f"out-{jobs}", "--jobs", jobs)
        one = contents(self.folder / "out-1")
        self.assertEqual(sorted(one), ["bounds.csv", "summary.csv", "tasks.csv", "tightness.csv"])
        for jobs in (2, 5):
            self.assert_same_files(one, contents(self.folder / f"out-{jobs}"))
        self.assertIn("already", self.gangway("run", self.study, "--out", "out-1").stdout)
        self.assertIn("another configuration", self.refused("run", self.study, "--out", "out-1", "--seed", 6))
        self.gangway("run", self.study, "--out", "out-1", "--seed", 6, "--force")
        self.assertNotEqual(one, contents(self.folder / "out-1"))

    def test_shares_are_those_of_the_sets_one_by_one(self):
        self.gangway("run", self.study, "--out", "out")
        rows = {(row["order"], row["bound"]): row for row in table(self.folder / "out/bounds.csv") if row["point"] == "1"}
        summary = {row["order"]: row for row in table(self.folder / "out/summary.csv") if row["point"] == "1"}
        tasks = {(row["order"], int(row["set"]), row["task"]): row for row in table(self.folder / "out/tasks.csv") if row["point"] == "1"}
        for order in ("became-head", "release-ready"):
            parameters = {"tasks": 3, "threads": 6, "shortest": 5, "longest": 20, "utilisation": 0.9, "order": order}
            sets = [text for name, value in parameters.items() for text in ("--set", f"{name}={value}")]
            self.gangway("taskset", "uunifast-discard", "--seed", 5, "--count", 12, "--out", order, *sets)
            all_bounded = {}
            for number in range(12):
                report = json.loads(self.gangway("bound", f"{order}/set-{number}.yaml", "--json").stdout)
                for at, bound in enumerate(report["bounds"]):
                    held = all("exact" in task["bounds"][at] for task in report["tasks"])
                    all_bounded[bound["name"]] = all_bounded.get(bound["name"], 0) + held
                held = all(task["tightest"] for task in report["tasks"])
                all_bounded["tightest"] = all_bounded.get("tightest", 0) + held
                for task in report["tasks"]:
                    row = tasks[order, number, task["name"]]
                    self.assertEqual(row["bound"], task["tightest"]["bound"] if task["tightest"] else "")
                    if task["tightest"]:
                        value, seen = float(row["value"]), max(float(row["simulated"]), float(row["searched"]))
                        self.assertAlmostEqual(value, float(Fraction(task["tightest"]["exact"])), places=9)
                        self.assertAlmostEqual(float(row["ratio"]), seen / value, places=9)
                        self.assertLessEqual(float(row["ratio"]), 1)
            for name, count in all_bounded.items():
                self.assertEqual(round(12 * float(rows[order, name]["bounded"])), count, (order, name))
            self.assertEqual(round(12 * float(summary[order]["proven"])), all_bounded["tightest"])
            proven, growing, unknown = (float(summary[order][key]) for key in ("proven", "growing", "unknown"))
            self.assertAlmostEqual(proven + growing + unknown, 1)
        self.assertEqual(sum(int(row["tasks"]) for row in table(self.folder / "out/tightness.csv") if row["bound"] == "tightest"),
                         sum(row["ratio"] != "" for row in table(self.folder / "out/tasks.csv")))

    def test_given_sets_of_which_one_grows(self):
        self.file("one.yaml", ONE)
        study = self.file("given.yaml", GIVEN)
        self.assertIn("study, fine", self.gangway("check", study).stdout)
        self.gangway("run", study, "--out", "out")
        (row,) = table(self.folder / "out/summary.csv")
        self.assertEqual([row[key] for key in ("order", "sets", "proven", "met", "growing", "unknown")], ["", "2", "0.5", "0.5", "0.5", "0"])
        self.assertFalse((self.folder / "out/tasks.csv").exists())

    def test_interrupted_and_taken_up_again(self):
        slow = self.file("slow.yaml", STUDY.replace("sets: 12", "sets: 100").replace("[0.3, 0.9]", "[0.3, 0.4, 0.5, 0.6, 0.7, 0.8]"))
        interrupt_in_the_middle(self, self.folder / "cut", "run", slow)
        self.assertFalse((self.folder / "cut/summary.csv").exists())
        self.gangway("run", slow, "--out", "cut")
        self.gangway("run", slow, "--out", "whole")
        self.assert_same_files(contents(self.folder / "whole"), contents(self.folder / "cut"))
        self.assertTrue(json.loads((self.folder / "cut/manifest.json").read_text())["resumed"])

    def test_what_is_refused(self):
        def change(old, new):
            return self.refused("run", self.file("bad.yaml", STUDY.replace(old, new)), "--out", "out")

        self.assertIn("--world", self.refused("run", self.study, "--world", "host"))
        self.assertIn("--trace", self.refused("run", self.study, "--trace"))
        self.assertIn("did you mean 'sets'?", change("sets: 12", "set: 12"))
        self.assertIn("did you mean 'uunifast-discard'?", change("uunifast-discard", "uunifast"))
        self.assertIn("a path that begins with generator, owners, orders or seed", change("  generator.params.utilisation", "  device.m"))
        self.assertIn("several sources of task sets", change("sets: 12", "sets: 12\ntask_sets: []"))
        self.assertIn("another order", change("release-ready", "became-head"))
        self.assertIn("a consistent combination of parameters", change("[0.3, 0.9]", "[0.3, 9]"))
        once = "{kind: taskset, version: 1, name: s, device: {layout: pool, m: 2}, streams: [{name: s, kernels: [{name: k, C: 1, g: 1, b: 1}]}]}"
        self.file("one.yaml", ONE)
        mixed = self.file("mixed.yaml", GIVEN.replace("  - one.yaml", f"  - one.yaml\n  - {once}"))
        self.assertIn("sets of one form", self.refused("run", mixed))
        alone = self.file("alone.yaml", f"kind: study\nversion: 1\nname: s\ntask_sets: [{once}]\nsimulate: {{jobs: 5}}\n")
        self.assertIn("released again", self.refused("run", alone))
        self.assertIn("does not exist", self.refused("run", self.file("given.yaml", GIVEN.replace("one.yaml", "none.yaml"))))


if __name__ == "__main__":
    unittest.main()
