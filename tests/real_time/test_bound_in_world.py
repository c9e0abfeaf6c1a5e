"""gangway bound --world: task sets played and held against their bounds with costs."""

import json
import math
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from program import ProgramTest, table  # noqa: E402  (the path comes first)

# So generous that a busy machine keeps them.
OWNERS = """\
kind: taskset
version: 1
name: owners
scheduler: SCHEDULER
costs: {lateness: 400 ms, launch: 400 ms, resume: RESUME, eviction: 400 ms, ending: 800 ms, block: 5 us}
tasks:
  - {name: control, c: 2 ms, e: 100 us, l: 100 us, T: 3600 s}
  - {name: batch, c: 20 ms, e: 500 us, l: 100 us, T: 3600 s, code: {name: throttle, params: {block_tasks: 40, threads: 64, time: 100 us}}}
"""
QUEUE = """\
kind: taskset
version: 1
name: queue
device: {layout: sm, sms: 4, threads: 256}
costs: {lateness: 50 us, issue: 12 us, stream: 4 us, refill: 2 us, change: 3 us, clock: 3 us, block: 2 us}
tasks:
  - {name: a, C: 102400 us, g: 8, b: 128, T: 3 ms}
  - {name: b, C: 204800 us, g: 8, b: 256, T: 4 ms}
"""
DEVICE = """\
kind: device
version: 1
name: small
sms: 4
sm: {threads: 1024, blocks: 16, registers: 65536, shared_memory: 64 KiB}
memory: 1 GiB
"""
WORKLOAD = """\
kind: workload
version: 1
name: measured
clients:
  - {name: t, kernels: [{name: t, code: {name: throttle, params: {block_tasks: 100, time: 100 us}}, block_tasks: 100, time: 2 ms}]}
  - {name: r, kernels: [{name: r, code: {name: RED, params: {elements: 65536, per_thread: 64}}, block_tasks: 4, time: 1 ms}]}
"""
SAMPLES = """\
quantity,mechanism,kernel,parameter,value_ns
launch,flag-copy,throttle-2us,0,9000
relaunch,flag-copy,throttle-2us,2000,11000.5
pending work,flag-copy,throttle-2us,0,6000
transformed,flag-copy,t,0,2000000
transformed,flag-copy,t,0,2100000
eviction,flag-copy,t,0,100000
eviction,write-value,t,0,900000
transformed,flag-copy,r,0,1000000
eviction,flag-copy,r,0,20000
"""


def owners(scheduler, resume="10 ms"):
    return OWNERS.replace("SCHEDULER", scheduler).replace("RESUME", resume)


class BoundInWorld(ProgramTest):
    def calibration(self):
        folder = self.folder / "calibration"
        folder.mkdir(exist_ok=True)
        for name, text in (("device.yaml", DEVICE), ("workload.yaml", WORKLOAD), ("samples.csv", SAMPLES)):
            (folder / name).write_text(text)
        return folder

    def test_owners_on_cores(self):
        for scheduler, resume in (("fixed-priority", "10 ms"), ("round-robin\nquantum: 10 ms", "1 ms")):
            out = self.gangway("bound", "--world", "host", self.file("set.yaml", owners(scheduler, resume)), "--run", 0.2, "--periods", 0, "--json")
            report = json.loads(out.stdout)
            self.assertEqual((report["violated"], report["unmet"]), ("", ""))
            for task in report["tasks"]:
                self.assertGreater(task["observed_ns"], 1.8e6)  # `c`, less what its claims are taken to cost
                self.assertAlmostEqual(task["ratio"], task["observed_ns"] / task["bound_ns"])
            self.assertLessEqual({"lateness", "launch", "run", "idle"}, {a["name"] for a in report["assumptions"]})

    def test_an_assumption_that_does_not_hold_is_told_from_a_violated_bound(self):
        text = owners("fixed-priority").replace("launch: 400 ms", "launch: 0 ms").replace("l: 100 us", "l: 0 us")
        done = self.gangway("bound", "--world", "host", self.file("set.yaml", text), "--run", 0.2, "--periods", 0, code=1)
        self.assertRegex(done.stderr, r"^error: assumption 'launch' did not hold of \w+: measured \S+ \w+ against 0 ns; no response was above a bound\n$")
        self.assertIn("did not hold", done.stdout)

    def test_a_queue_in_simulation(self):
        done = self.gangway("bound", "--world", "sim", self.file("set.yaml", QUEUE), "--run", 0.1)
        self.assertRegex(done.stdout, r"\na +\S+ us +\S+ us  T1 +0\.\d{3}  \w+")
        self.assertRegex(done.stdout, r"\nhead +a ")
        again = self.gangway("bound", "--world", "sim", "set.yaml", "--run", 0.1)
        self.assertEqual(done.stdout, again.stdout)

    def test_a_pattern_lasts_for_three_longest_periods(self):
        def jobs(*options):
            return json.loads(self.gangway("bound", "--world", "sim", "set.yaml", "--run", 0.001, "--climb", 0, "--json", *options).stdout)["jobs"]

        self.file("set.yaml", QUEUE)
        self.assertLess(jobs("--periods", 0), 24)  # eight patterns, two tasks
        self.assertGreater(jobs(), 8 * 5)

    def test_owners_are_searched_for_bad_releases(self):
        text = owners("fixed-priority").replace("400 ms", "1 ms").replace("800 ms", "1 ms").replace("10 ms", "0 ms").replace("3600 s", "100 ms")
        out = json.loads(self.gangway("bound", "--world", "sim", self.file("set.yaml", text), "--run", 0.01, "--climb", 60, "--json").stdout)
        self.assertEqual((out["violated"], out["unmet"]), ("", ""))
        self.assertTrue(any(re.match("closed loop|searched", task["pattern"]) for task in out["tasks"]), out["tasks"])

    def test_nothing_is_held_against_no_bound(self):
        text = "kind: taskset\nversion: 1\nname: o\nscheduler: fixed-priority\ntasks: [{name: a, c: 20 us, e: 5 us, l: 1 us, T: 20 us}]\n"
        done = self.gangway("bound", "--world", "sim", self.file("set.yaml", text), "--run", 0.001)
        self.assertEqual(done.stderr, "note: no task of o has a bound, so no response was held against one\n")

    def test_bounds_of_a_file_are_with_its_costs(self):
        with_costs = json.loads(self.gangway("bound", self.file("set.yaml", QUEUE), "--json").stdout)
        plain = "".join(line + "\n" for line in QUEUE.splitlines() if not line.startswith("costs"))
        without = json.loads(self.gangway("bound", self.file("plain.yaml", plain), "--json").stdout)
        for more, less in zip(with_costs["tasks"], without["tasks"]):
            self.assertGreater(more["tightest"]["value"], less["tightest"]["value"] + 65)

    def test_options_without_effect(self):
        queue, owning = self.file("queue.yaml", QUEUE), self.file("owners.yaml", owners("fixed-priority"))
        self.assertIn("kernels that own it", self.refused("bound", "--world", "host", queue, "--mechanism", "host-flag"))
        self.assertIn("found 'sim', expected a world in real time", self.refused("bound", "--world", "sim", owning, "--mechanism", "host-flag"))

    def test_drawn_sets_are_gone_on_with(self):
        folder = self.calibration()
        draw = ("bound", "--world", "sim", "--from", folder, "--run", 0.1, "--seed", 5)
        self.gangway(*draw, "--draw", 9, "--out", "whole")
        self.gangway(*draw, "--draw", 4, "--out", "parts")
        before = (self.folder / "parts/sets.csv").read_text()
        self.gangway(*draw, "--draw", 9, "--out", "parts")
        for name in ("sets.csv", "tasks.csv", "assumptions.csv", "summary.json", "sets/set-8.yaml"):
            self.assertEqual((self.folder / "whole" / name).read_text(), (self.folder / "parts" / name).read_text(), name)
        self.assertTrue((self.folder / "parts/sets.csv").read_text().startswith(before))
        rows = table(self.folder / "whole/sets.csv")
        self.assertEqual([row["form"] for row in rows], ["fixed-priority", "round-robin", "queue"] * 3)
        self.assertEqual({(row["assumptions"], row["violated"]) for row in rows}, {("held", "no")})
        summary = json.loads((self.folder / "whole/summary.json").read_text())
        ratios = [float(row["ratio"]) for row in table(self.folder / "whole/tasks.csv")]
        self.assertEqual((summary["sets"], summary["tasks"], summary["violated"]), (9, len(ratios), 0))
        self.assertEqual(summary["ratio_largest"], max(ratios))
        for share in (0.5, 0.9, 0.99):  # nearest ranks
            self.assertEqual(summary[f"ratio_p{100 * share:.0f}"], sorted(ratios)[math.ceil(share * len(ratios)) - 1], share)
        # Each can be played by itself, with the same result.
        seed = rows[4]["seed"]
        alone = json.loads(self.gangway("bound", "--world", "sim", "whole/sets/set-4.yaml", "--run", 0.1, "--seed", seed, "--json").stdout)
        self.assertAlmostEqual(max(task["ratio"] for task in alone["tasks"]), float(rows[4]["largest_ratio"]))
        text = (self.folder / "whole/sets/set-0.yaml").read_text()
        self.assertIn("code: {name: ", text)

    def test_drawn_costs_are_those_of_schedules(self):
        folder = self.calibration()
        def first_set(out):
            self.gangway("bound", "--world", "sim", "--from", folder, "--draw", 1, "--out", out, "--run", 0.01, "--climb", 0)
            return (self.folder / out / "sets/set-0.yaml").read_text()

        before = first_set("before")
        self.assertIn("l: 11001/1000 us", before)
        self.assertIn("ending: 9 us", before)
        rows = ("launch after another,flag-copy,t,0,12000", "launch after idle,flag-copy,throttle-2us,100000000,41000",
                "pending work of the whole,flag-copy,t,0,8000", "pending work after an eviction,flag-copy,t,0,10000",
                "transformed after another,flag-copy,t,0,2500000", "transformed after another,flag-copy,r,0,1500000")
        (folder / "samples.csv").write_text(SAMPLES + "".join(row + "\n" for row in rows))
        after = first_set("after")
        self.assertIn("l: 41 us", after)
        self.assertIn("ending: 15 us", after)
        self.assertRegex(after, "c: (2550|1530) us")
        self.assertNotRegex(after, "c: (2142|1020) us")

    def test_sets_are_drawn_until_enough_hold(self):
        draw = ("bound", "--world", "sim", "--from", self.calibration(), "--run", 0.01, "--climb", 0, "--draw", 9, "--out", "out")
        def drawn(*options):
            self.gangway(*draw, *options)
            return [row["set"] for row in table(self.folder / "out/sets.csv")]

        self.assertEqual(drawn("--until-held", 2), ["0", "1"])
        self.assertEqual(drawn("--until-held", 2), ["0", "1"])
        self.assertEqual(drawn("--until-held", 4), ["0", "1", "2", "3"])

    def test_half_a_set_of_rows_is_dropped(self):
        draw = ("bound", "--world", "sim", "--from", self.calibration(), "--run", 0.1, "--draw", 3, "--out", "out")
        self.gangway(*draw)
        whole = (self.folder / "out/tasks.csv").read_text()
        sets = (self.folder / "out/sets.csv").read_text().splitlines(keepends=True)
        (self.folder / "out/sets.csv").write_text("".join(sets[:-1]))  # as if stopped between the files
        self.gangway(*draw)
        self.assertEqual((self.folder / "out/tasks.csv").read_text(), whole)

    def test_what_cannot_be_played(self):
        folder = self.calibration()
        def refused(message, *arguments):
            done = self.gangway("bound", *arguments, code=2)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

        good = self.file("good.yaml", owners("fixed-priority"))
        refused("found kernels that share the device, expected kernels that own it", "--world", "host", self.file("q.yaml", QUEUE))
        refused("found 'cdua', expected", "--world", "cdua", good)
        refused("scheduler': found 'fcfs', expected", "--world", "sim", self.file("s.yaml", owners("fcfs")))
        refused("T': found 300 ms, expected more than the 810.1 ms that a launch costs", "--world", "sim",
                self.file("short.yaml", owners("fixed-priority").replace("e: 100 us, l: 100 us, T: 3600 s", "e: 100 us, l: 100 us, T: 300 ms")))
        refused("T': found 8 us, expected more than the 10 us that a launch takes", "--world", "sim",
                self.file("often.yaml", "kind: taskset\nversion: 1\nname: o\nscheduler: fixed-priority\ntasks: [{name: a, c: 2 us, e: 1 us, l: 10 us, T: 8 us}]\n"))
        refused("found 0 ns, expected more than the 5 us that a busy block-task takes", "--world", "host",
                self.file("e.yaml", owners("fixed-priority").replace("e: 100 us", "e: 0 us")))
        refused("GiB of the device", "--world", "host",
                self.file("big.yaml", owners("fixed-priority").replace("{name: throttle, params: {block_tasks: 40, threads: 64, time: 100 us}}", "{name: VA, params: {elements: 1342177280}}")))
        plain = "kind: taskset\nversion: 1\nname: p\nscheduler: fixed-priority\ntasks: [{name: a, c: 10, e: 1, l: 1, T: 40}]\n"
        refused("times without a unit", "--world", "host", self.file("plain.yaml", plain))
        refused("expected one or the other", "--world", "sim", good, "--simulate", "9 s")
        refused("expected a task set file, or --draw", "--world", "sim")
        refused("--out requires --draw", good, "--out", "x")
        refused("--draw requires --from", "--draw", 2, "--world", "sim", "--out", "x")
        refused("found 'late', expected", "--draw", 2, "--world", "sim", "--from", folder, "--out", "x", "--cost", "late=3 us")
        refused("no cost=value", "--draw", 2, "--world", "sim", "--from", folder, "--out", "x", "--cost", "lateness")
        self.gangway("bound", "--draw", 1, "--world", "sim", "--from", folder, "--out", "x", "--run", 0.05)
        refused("results of another request", "--draw", 1, "--world", "sim", "--from", folder, "--out", "x", "--run", 0.06)


if __name__ == "__main__":
    unittest.main()
