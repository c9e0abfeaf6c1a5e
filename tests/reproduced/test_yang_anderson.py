"""Experiments of experiments/yang-anderson/ whose response times are known exactly: the paper's own, and counterexamples."""

import csv
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GANGWAY = Path(os.environ.get("GANGWAY", "build/release/gangway")).resolve()
UNIT = 1_000_000  # of the paper, in ns


def run(name, **overrides):
    """point -> client -> [(start, response) of its jobs], in ns"""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        sets = [text for path, value in overrides.items() for text in ("--set", f"{path}={value}")]
        subprocess.run([GANGWAY, "run", ROOT / f"experiments/yang-anderson/{name}.yaml", "--out", out, *sets], check=True,
                       capture_output=True)
        with open(out / "published.csv", newline="") as file:
            verdicts = [row["verdict"] for row in csv.DictReader(file)]
        points = {}
        with open(out / "jobs.csv", newline="") as file:
            for row in csv.DictReader(file):
                jobs = points.setdefault(int(row["point"]), {}).setdefault(row["client"], {})
                jobs[int(row["job"])] = int(row["start_ns"]), int(row["response_ns"])
    assert "miss" not in verdicts, verdicts
    return {point: {client: [jobs[job] for job in range(len(jobs))] for client, jobs in clients.items()}
            for point, clients in points.items()}


def responses(clients, client):
    return [response for _, response in clients[client]]


def exactly(units):
    """Units of the paper in ns; every value here has one decimal place or two."""
    return round(units * 100) * UNIT // 100


class Fig2(unittest.TestCase):
    def schedule(self, clients):
        return {client: tuple(value / UNIT for value in jobs[0]) for client, jobs in clients.items()}  # all released at 0

    def test_both_readings_of_k4(self):
        long, short = run("fig2").values()
        first = {"K1": (0, 3.8), "K2": (0, 9.8), "K3": (6, 12)}
        self.assertEqual(self.schedule(long), {**first, "K4": (6, 17.2), "K5": (12, 15.8)})  # K5 when K3 ends
        self.assertEqual(self.schedule(short), {**first, "K4": (6, 11.2), "K5": (11.2, 15)})  # K5 when K4 ends

    def test_what_makes_no_difference(self):
        expected = run("fig2")
        self.assertEqual(run("fig2", **{"events": "blocks"}), expected)
        self.assertEqual(run("fig2", **{"device.queue_order": "release-ready"}), expected)

    def test_other_releases_with_the_same_schedule(self):
        for k4, k5 in [(0, 2), (0, 8), (2, 2), (2, 8), (2, 0), (6, 8)]:
            arrive = {"workload.clients.K4.arrive": f"{k4} ms", "workload.clients.K5.arrive": f"{k5} ms"}
            clients = run("fig2", published="[]", **arrive)[0]
            self.assertEqual({client: jobs[0][0] / UNIT for client, jobs in clients.items()},
                             {"K1": 0, "K2": 0, "K3": 6, "K4": 6, "K5": 12}, (k4, k5))


class Example2(unittest.TestCase):
    def test_the_printed_utilisations(self):
        tasks = [("K1", 1024 * 3.8, 8, 1, 1024), ("K2", 3584 * 6, 16, 7, 512), ("K3", 1024 * 6, 17, 1, 1024), ("K4", 2560 * 11.2, 18, 5, 512)]
        text = "kind: taskset\nversion: 1\nname: example-2\ndevice: {layout: pool, m: 4096}\ntasks:\n" + "".join(
            f"  - {{name: {name}, C: {C:g}, T: {T}, g: {g}, b: {b}}}\n" for name, C, T, g, b in tasks)
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "set.yaml").write_text(text)
            done = subprocess.run([GANGWAY, "bound", Path(folder) / "set.yaml", "--json"], check=True, capture_output=True, text=True)
        report = json.loads(done.stdout)
        self.assertEqual(round(float(report["U"]["value"]), 1), 3784.7)
        self.assertEqual(float(report["tasks"][0]["u"]["value"]), 486.4)


class Theorem1(unittest.TestCase):
    def test_sporadic_releases_give_the_formula(self):
        literal, by_release = run("fig3").values()
        self.assertEqual(responses(literal, "tau3"), [exactly(1 + 0.1 * j) for j in range(1, 21)])
        self.assertEqual(set(responses(by_release, "tau3")), {exactly(1.1), exactly(1.2)})

    def test_the_formula_for_other_m_and_eps(self):
        for m, b_max, eps in [(8, 3, 0.05), (8, 3, 0.2), (32, 5, 0.1), (16, 8, 0.1), (100, 7, 0.01)]:
            k = m // b_max * b_max
            tasks = {"tau1": (k // b_max, b_max, eps, 1 + eps), "tau2": (max(1, m - k), 1, 1, 1 + eps),
                     "tau3": (k - b_max + 1, 1, 1, 1)}
            overrides = {"device.m": m, "published": "[]"}
            for task, (blocks, threads, length, period) in tasks.items():
                kernel = f"workload.clients.{task}.kernels.{task}"
                overrides |= {f"{kernel}.block_tasks": blocks, f"{kernel}.block": f"[{threads}]",
                              f"{kernel}.block_task_length": f"{length} ms",
                              f"workload.clients.{task}.repeat.period": f"{period} ms"}
            if k == m:  # tau2 has no blocks: it comes when all is over
                overrides |= {"workload.clients.tau2.arrive": "1 s"}
            with self.subTest(m=m, b_max=b_max, eps=eps):
                self.assertEqual(responses(run("fig3", **overrides)[0], "tau3"), [exactly(1 + eps * j) for j in range(1, 21)])

    def test_the_formula_on_the_papers_own_gpu(self):
        self.assertEqual(responses(run("fig3-tx1")[0], "tau3"), [exactly(1 + 0.05 * j) for j in range(1, 41)])

    def test_periodic_releases_give_half_the_slope(self):
        points = run("fig3-periodic")
        for index, eps in enumerate([0.05, 0.1, 0.2]):
            formula = [exactly(1 + eps * (j // 2 + 1)) for j in range(1, 21)]
            literal, by_release = (responses(points[2 * index + order], "tau3") for order in (0, 1))
            self.assertEqual(by_release, formula)
            # Until tau1, whose jobs wait, too, is late by its period; from then on it joins the queue later than it is released.
            before = min(20, round(2 / eps) - 2)
            self.assertEqual(literal[:before], formula[:before])
            self.assertTrue(all(here > there for here, there in zip(literal[before:], formula[before:])))


class Counterexamples(unittest.TestCase):
    def check(self, clients, values):
        found = responses(clients, "tau1")
        self.assertEqual({job: found[job] for job in values}, {job: units * UNIT for job, units in values.items()})
        return found

    def test_ce1(self):
        literal, by_release = run("ce1").values()
        self.check(literal, {0: 30, 100: 130, 500: 530, 1000: 1030})
        self.assertEqual(max(responses(by_release, "tau1")), 50 * UNIT)
        self.check(by_release, {0: 30, 100: 40, 500: 30, 1000: 40})

    def test_ce2(self):
        for clients in run("ce2").values():
            found = self.check(clients, {0: 100, 100: 200, 500: 600, 1000: 1100, 1999: 2099})
            self.assertEqual(found, [(100 + job) * UNIT for job in range(2000)])

    def test_ce3(self):
        points = run("ce3")
        found = self.check(points[0], {0: 202, 10: 212, 100: 302, 999: 1201})
        self.assertEqual(found, [(202 + job) * UNIT for job in range(1000)])
        for point in (1, 2, 3):  # release-ready, or a period of 203
            self.assertEqual(max(self.check(points[point], {0: 202, 10: 200, 999: 200})), 202 * UNIT)

    def test_ce4(self):
        t3 = 641.6  # what T3 would give; tests/models/bounds holds that it does not
        for events in ("cohorts", "blocks"):
            most_room, first_fit = run("ce4", events=events).values()
            found = self.check(most_room, {0: 100, 100: 100, 500: 500, 642: 642, 999: 999})
            self.assertEqual(found, [max(100, job) * UNIT for job in range(1000)])
            self.assertGreater(found[-1], t3 * UNIT)
            self.assertEqual(max(responses(first_fit, "tau1")), 100 * UNIT)
        pool = {"device.sms": 1, "device.sm.threads": 9, "device.sm.blocks": 9}  # where T3 holds
        self.assertEqual(max(responses(run("ce4", **pool)[0], "tau1")), 100 * UNIT)


if __name__ == "__main__":
    unittest.main()
