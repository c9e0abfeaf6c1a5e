"""gangway bound and gangway taskset as their user meets them."""

import json
import re
import unittest
from fractions import Fraction

from program import ROOT, ProgramTest

PAGE = ROOT / "models/bounds/README.md"
SET = """\
kind: taskset
version: 1
name: small
device: {layout: pool, m: 2}
tasks:
  - {name: a, C: 1 ms, T: 3 ms, g: 1, b: 1}
  - {name: b, C: 2 ms, T: 6 ms, g: 1, b: 1}
  - {name: c, C: 2000 us, T: 6 ms, g: 1, b: 1}
"""


class Bound(ProgramTest):
    def test_the_example_of_the_page(self):
        text = PAGE.read_text()
        example = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1]
        output = re.search(r"    \$ gangway bound detector.yaml\n((?:    .*\n|\n)*)", text)[1]
        expected = [line.removeprefix("    ") for line in output.rstrip("\n").split("\n")]
        done = self.gangway("bound", self.file("detector.yaml", example))
        self.assertEqual(done.stdout.rstrip("\n").split("\n"), expected)

    def test_every_bound_has_a_section_on_the_page(self):
        text = PAGE.read_text()
        for bound in json.loads(self.gangway("list", "bounds", "--json").stdout):
            self.assertIn(f"`{bound['name']}`", text)

    def test_json_has_exact_values_and_units(self):
        report = json.loads(self.gangway("bound", self.file("set.yaml", SET), "--json").stdout)
        self.assertEqual((report["unit"], report["m"], report["M*"], report["U"]["exact"]), ("ms", 2, 2, "1"))
        by_name = {task["name"]: task for task in report["tasks"]}
        self.assertEqual(by_name["b"]["tightest"], {"bound": "T1", "exact": "7/2", "value": 3.5})
        for task in report["tasks"]:
            bounds = {bound["bound"]: bound for bound in task["bounds"]}
            self.assertEqual(Fraction(bounds["T1"]["exact"]), Fraction(bounds["T1"]["value"]))
            self.assertIn("not proven for became-head", bounds["T3"]["needs"])

    def test_a_failing_condition_comes_with_its_numbers(self):
        text = SET.replace("T: 3 ms", "T: 2.9 ms")
        out = self.gangway("bound", self.file("set.yaml", text)).stdout
        self.assertIn("needs H_i <= T_i; H_i of a = 3 ms, T_i of a = 29/10 = 2.9 ms", out)

    def test_wrong_files_and_calls(self):
        self.assertIn("found '0', expected", self.refused("bound", self.file("bad.yaml", SET.replace("C: 1 ms", "C: 0"))))
        self.refused("bound", ROOT / "models/devices/titan-x-pascal.yaml")
        self.refused("bound", "absent.yaml")
        self.refused("bound")
        self.assertIn("task set", self.gangway("check", "--help").stdout)
        self.assertIn("taskset, fine", self.gangway("check", self.file("set.yaml", SET)).stdout)


class Taskset(ProgramTest):
    def test_sets_are_drawn_checked_and_bounded(self):
        self.gangway("taskset", "randfixedsum", "--count", 5, "--seed", 3, "--set", "tasks=4", "--out", "sets")
        files = sorted((self.folder / "sets").iterdir())
        self.assertEqual([file.name for file in files], [f"set-{n}.yaml" for n in range(5)])
        self.gangway("check", *files)
        self.assertEqual(len(json.loads(self.gangway("bound", files[0], "--json").stdout)["tasks"]), 4)
        one = self.gangway("taskset", "randfixedsum", "--seed", 3, "--set", "tasks=4").stdout
        self.assertEqual(one, files[0].read_text())

    def test_what_is_refused(self):
        (self.folder / "full").mkdir()
        self.file("full/x", "")
        self.assertIn("did you mean 'uunifast-discard'?", self.refused("taskset", "uunifast"))
        self.assertIn("did you mean 'tasks'?", self.refused("taskset", "randfixedsum", "--set", "taks=3"))
        self.assertIn("parameters that fit together", self.refused("taskset", "randfixedsum", "--set", "most=0.01"))
        self.assertIn("no name=value", self.refused("taskset", "randfixedsum", "--set", "tasks"))
        self.assertIn("an empty folder", self.refused("taskset", "randfixedsum", "--out", "full"))
        self.assertIn("more than one set", self.refused("taskset", "randfixedsum", "--count", 2))
        self.refused("taskset", "randfixedsum", "--count", 0)


if __name__ == "__main__":
    unittest.main()
