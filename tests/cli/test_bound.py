"""gangway bound and gangway taskset as their user meets them."""

import json
import re
import unittest
from fractions import Fraction

from program import ROOT, ProgramTest, table

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

    def test_the_search_of_the_page(self):
        text = PAGE.read_text()
        example = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)[1]
        output = re.search(r"    \$ gangway bound detector.yaml --steps 5000 --save worst \| grep searched\n((?:    .*\n)*)", text)[1]
        found = self.gangway("bound", self.file("detector.yaml", example), "--steps", 5000, "--save", "worst").stdout
        self.assertEqual([f"    {line}" for line in found.split("\n") if "searched" in line], output.rstrip("\n").split("\n"))

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

    def test_what_a_step_limit_stopped_is_said(self):
        rows = [f"  - {{name: t{T}, C: {T / 10 - (T == 101) * 1e-6:.6f} ms, T: {T} ms, g: 1, b: 1}}\n"
                for T in (101, 103, 107, 109, 113, 127, 131, 137, 139, 149)]
        near = SET.split("tasks:")[0].replace("m: 2", "m: 1") + "tasks:\n" + "".join(rows)
        out = self.gangway("bound", self.file("near.yaml", near)).stdout
        self.assertRegex(out, r"\nt101, u = \S+ = 0.1: at most \S+( = \S+)? ms \(T5[^)]*\), perhaps less, as a step limit stopped T2, T5, ")
        self.assertRegex(out, r"T5-with-T1 +[^-\n]*, perhaps looser than it need be: windows of \d+ jobs or more are bounded by the fluid demand")
        self.assertIn("perhaps looser than it need be: lambda is only bounded from above", out)
        self.assertIn("-  needs a window that closes within the steps allowed; reached of t101 = ", out)
        report = json.loads(self.gangway("bound", "near.yaml", "--json").stdout)
        self.assertIn("looser", report["tasks"][0]["tightest"])
        self.assertEqual(report["tasks"][0]["stopped"], ["T2", "T5", "T5-closed", "T5-with-T1"])
        self.assertEqual(report["tasks"][9]["stopped"], ["T5", "T5-closed", "T5-with-T1"])
        for task in json.loads(self.gangway("bound", self.file("set.yaml", SET), "--json").stdout)["tasks"]:
            self.assertEqual(task["stopped"], [])
            self.assertNotIn("looser", json.dumps(task))

    def test_what_the_search_finds_is_replayed_to_the_nanosecond(self):
        text = SET.replace("m: 2", "m: 3").replace("C: 1 ms, T: 3 ms, g: 1", "C: 4.5 ms, T: 4 ms, g: 3").replace("2000 us", "1/3 ms")
        report = json.loads(self.gangway("bound", self.file("set.yaml", text), "--steps", 600, "--save", "worst", "--json").stdout)
        self.assertEqual((report["search"]["steps"], report["search"]["ns_per_unit"]), (600, "6000"))
        for task in report["tasks"]:
            self.gangway("check", f"worst/{task['name']}.yaml")
            self.gangway("run", f"worst/{task['name']}.yaml", "--out", f"out-{task['name']}")
            jobs = [row for row in table(self.folder / f"out-{task['name']}/jobs.csv") if row["client"] == task["name"]]
            found = task["searched"]
            self.assertEqual(max(int(job["response_ns"]) for job in jobs), found["simulated_ns"])
            self.assertEqual(int(jobs[found["job"]]["response_ns"]), found["simulated_ns"])
            self.assertEqual(Fraction(found["exact"]) * 6000, found["simulated_ns"])
            self.assertGreaterEqual(Fraction(task["tightest"]["exact"]), Fraction(found["exact"]))

    def test_what_shares_a_channel_is_kept_and_replayed(self):
        text = SET.split("device:")[0] + "device: {layout: sm, sms: 2, threads: 5, channels: 2}\ntasks:\n" + "".join(
            f"  - {{name: {name}, C: {C} ms, T: {T} us, g: {g}, b: {b}}}\n"
            for name, C, T, g, b in (("t0", 2.25, 5907, 1, 5), ("t1", 7, 4176, 5, 1), ("t2", 5, 6188, 1, 3), ("t3", 7, 4143, 2, 1)))
        report = json.loads(self.gangway("bound", self.file("set.yaml", text), "--steps", 150, "--seed", 51, "--save", "worst", "--json").stdout)
        for task in report["tasks"]:
            self.gangway("run", f"worst/{task['name']}.yaml", "--out", f"out-{task['name']}")
            jobs = table(self.folder / f"out-{task['name']}/jobs.csv")
            self.assertEqual({job["client"] for job in jobs}, {"t0", "t1", "t2", "t3"})
            own = [int(job["response_ns"]) for job in jobs if job["client"] == task["name"]]
            self.assertEqual(own[task["searched"]["job"]], task["searched"]["simulated_ns"])

    def test_costs_that_do_not_fit_are_told_by_line(self):
        text = SET.split("device:")[0] + ("scheduler: fixed-priority\ncosts: {lateness: 5 ms, launch: 1 ms}\n"
                                          "tasks:\n  - {name: a, c: 1 ms, e: 0 ms, l: 0 ms, T: 3 ms}\n")
        path = self.file("costs.yaml", text)
        line = f"error: {path}:7: key 'tasks.a.T': found 3 ms, expected more than the 6 ms that a launch costs"
        self.assertEqual(self.refused("bound", path), line)
        self.assertEqual(self.refused("check", path), line)
        # What only the bounds show, too.
        never = SET.split("tasks:")[0] + "costs: {issue: 9 us}\ntasks:\n" + "".join(
            f"  - {{name: {name}, C: 1 ms, T: 90 ms, g: 1, b: 1}}\n" for name in "ab")
        self.gangway("check", self.file("never.yaml", never))
        self.assertRegex(self.refused("bound", "never.yaml"), r"^error: never.yaml:7: key 'tasks': found a, which never waits")

    def test_units_that_are_real_stay_real(self):
        self.gangway("bound", self.file("set.yaml", SET), "--search", 0.01, "--save", "worst")
        self.assertIn("1 ms of the task set is 1000000 ns here", (self.folder / "worst/b.yaml").read_text())
        self.assertIn("block_task_length: 2000000 ns", (self.folder / "worst/b.yaml").read_text())

    def test_times_too_fine_for_a_clock_are_rounded_and_the_output_says_to_what(self):
        path = self.file("set.yaml", SET.replace("C: 1 ms", "C: 1/3333333331 ms").replace("T: 3 ms", "T: 1/999983 s"))
        seen = self.gangway("bound", path, "--simulate", "1 ms").stdout
        self.assertIn("with block times rounded down and periods up to multiples of 1/100000000000000", seen)
        self.assertIn("rounded down", self.gangway("bound", path, "--steps", 3).stdout)
        found = json.loads(self.gangway("bound", path, "--simulate", 1, "--json").stdout)
        self.assertFalse(found["simulation"]["exact"])

    def test_a_simulation_without_end_is_refused(self):
        path = self.file("blocks.yaml", SET.split("tasks:")[0] + "tasks: [{name: a, C: 1, T: 1, g: 1000000000, b: 1}]\n")
        self.assertIn("--simulate: key 'horizon': found 5000000000 waves of blocks for each pattern of releases, expected at most 740740",
                      self.refused("bound", path, "--simulate", 10))
        self.assertIn("found 1000000 jobs for each pattern", self.refused("bound", path, "--simulate", 1000000))
        self.assertIn("expected at most 33333", self.refused("bound", path, "--steps", 1))
        study = self.file("study.yaml", "kind: study\nversion: 1\nname: s\ntask_sets: [blocks.yaml]\nsimulate: {jobs: 10}\n")
        self.assertIn("10 for each task, 5000000000 waves of blocks", self.refused("run", study, "--out", "out"))

    def test_kernels_submitted_once_have_no_horizon(self):
        text = SET.split("tasks:")[0] + "streams: [{name: s, kernels: [{name: k, C: 4 ms, g: 2, b: 1}]}]\n"
        short, long = (self.gangway("bound", self.file("once.yaml", text), "--simulate", time).stdout for time in ("1 ms", "1000 ms"))
        self.assertEqual(short, long)
        self.assertIn("200 jobs simulated, whatever the time, as these kernels are submitted once", short)
        many = self.file("many.yaml", text.replace("g: 2", "g: 1000000000"))
        self.assertIn("500000000 waves of blocks in each of 200 orders", self.refused("bound", many, "--simulate", 1))

    def test_a_horizon_in_any_unit(self):
        path = self.file("set.yaml", SET)  # in ms
        seen = {time: self.gangway("bound", path, "--simulate", time).stdout for time in ("1 s", "1000 ms", "1000", "1e6 us")}
        self.assertEqual(len(set(seen.values())), 1, seen)
        self.assertIn("found '0 s', expected a time above 0 (1 s, 1000 ms), or a number of ms", self.refused("bound", path, "--simulate", "0 s"))
        plain = self.file("plain.yaml", SET.replace("2000 us", "2").replace(" ms", ""))
        self.gangway("bound", plain, "--simulate", 1000)
        self.assertIn("found '1 s', expected a number above 0 without a unit", self.refused("bound", plain, "--simulate", "1 s"))

    def test_a_time_in_which_nothing_may_be_released(self):
        for time in ("0.1 ms", "1 ms", "4 ms"):  # the detector's task comes every 8 ms, at an offset in some patterns
            self.assertIn("simulated", self.gangway("bound", ROOT / "examples/detector/detector.yaml", "--simulate", time).stdout)

    def test_wrong_calls_of_the_search(self):
        path = self.file("set.yaml", SET)
        (self.folder / "full").mkdir()
        self.file("full/x", "")
        self.assertIn("--search or --steps", self.refused("bound", path, "--save", "worst"))
        self.assertIn("an empty folder", self.refused("bound", path, "--steps", 5, "--save", "full"))
        self.assertIn("--save", self.refused("bound", path, "--steps", 5, "--save", "full/x"))
        self.refused("bound", path, "--steps", 0)
        self.refused("bound", path, "--search", 0)
        self.refused("bound", path, "--search", 1, "--steps", 5)
        owners = "kind: taskset\nversion: 1\nname: o\nscheduler: fixed-priority\ntasks: [{name: a, c: 2, e: 1, l: 1, T: 12}]\n"
        self.assertIn("--steps: key 'tasks': found kernels that own the GPU", self.refused("bound", self.file("owners.yaml", owners), "--steps", 5))
        self.assertIn("--search: key 'tasks': found kernels that own the GPU", self.refused("bound", "owners.yaml", "--search", 5))
        self.refused("bound", "owners.yaml", "--steps", 5, "--save", "none")
        self.assertFalse((self.folder / "none").exists())
        (self.folder / "empty").mkdir()
        self.refused("bound", "owners.yaml", "--steps", 5, "--save", "empty")
        self.assertTrue((self.folder / "empty").exists())
        found = json.loads(self.gangway("bound", "owners.yaml", "--simulate", 500, "--json").stdout)["tasks"][0]
        self.assertEqual((found["simulated"]["exact"], found["tightest"]["exact"]), ("3", "3"))

    def test_options_without_effect(self):
        path = self.file("set.yaml", SET)
        for option, needed in (("--run", "--world"), ("--mechanism", "--world"), ("--climb", "--world"), ("--slack", "--draw"), ("--margin", "--draw"), ("--until-held", "--draw"), ("--periods", "--world")):
            self.assertIn(f"{option} requires {needed}", self.refused("bound", path, option, 2))
        for option in ("--from", "--out"):
            self.assertIn(f"{option} requires --draw", self.refused("bound", path, option, "x"))
        self.assertIn("--cost requires --draw", self.refused("bound", path, "--cost", "lateness=1 us"))
        self.assertIn("--draw requires --world", self.refused("bound", "--draw", 1, "--from", "x", "--out", "y"))
        self.assertIn("which use it", self.refused("bound", path, "--seed", 2))

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
        self.assertIn("a consistent combination of parameters", self.refused("taskset", "randfixedsum", "--set", "most=0.01"))
        self.assertIn("no name=value", self.refused("taskset", "randfixedsum", "--set", "tasks"))
        self.assertIn("an empty folder", self.refused("taskset", "randfixedsum", "--out", "full"))
        self.assertIn("more than one set", self.refused("taskset", "randfixedsum", "--count", 2))
        self.refused("taskset", "randfixedsum", "--count", 0)


if __name__ == "__main__":
    unittest.main()
