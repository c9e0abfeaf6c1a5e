"""EffiSha's and Share-a-GPU's figures as they ran on H100s (experiments/live/h100-live), against `sim` with recordings of the programs alone."""

import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from program import table  # noqa: E402

GANGWAY = str(Path(os.environ.get("GANGWAY", ROOT / "build/release/gangway")).resolve())
FOLDER = ROOT / "experiments/live"


def clients(folder):
    return {(row["point"], row["policy"], row["client"]): row for row in table(folder / "clients.csv")}


class Predicted(unittest.TestCase):
    """Of one paper, or of files without one: `measured` and `predicted`, by figure."""

    paper, figures = "", ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.measured, cls.predicted = {}, {}
        for figure in cls.figures:
            out, name = Path(cls.folder.name) / figure, f"{cls.paper}-{figure}".lstrip("-")
            subprocess.run([GANGWAY, "run", FOLDER / f"{name}.yaml", "--out", out], check=True, capture_output=True)
            cls.predicted[figure], cls.measured[figure] = out, FOLDER / "h100-live" / name

    def errors(self, figures, policy=None):
        """Of mean responses, without sign, sorted."""
        found = []
        for figure in figures:
            predicted = clients(self.predicted[figure])
            for key, row in clients(self.measured[figure]).items():
                if policy in (None, key[1]):
                    found.append(abs(float(predicted[key]["response_ns_mean"]) / float(row["response_ns_mean"]) - 1))
        return sorted(found)

    def check_order(self, figure, metrics):
        """Of its policies, in both worlds alike, where values differ by more than 5 %."""
        measured, predicted = ({row["policy"]: row for row in table(folder[figure] / "summary.csv")} for folder in (self.measured, self.predicted))
        for metric in metrics:
            for a, b in itertools.combinations(measured, 2):
                ratios = [float(of[a][metric]) / float(of[b][metric]) for of in (measured, predicted)]
                if all(abs(ratio - 1) > 0.05 for ratio in ratios):
                    self.assertEqual(ratios[0] > 1, ratios[1] > 1, (figure, metric, a, b))


class EffiSha(Predicted):
    paper, figures = "effisha", ("fig9", "fig10", "fig11", "fig12", "fig13", "fig14-group", "fig14-sjf", "fig15")

    def test_what_the_page_says_of_policies(self):
        for policy, count, median, ninety in (("piv", 396, 0.022, 0.082), ("dprr", 77, 0.135, 0.515), ("default", 77, 0.095, 0.655)):
            with self.subTest(policy):
                errors = self.errors(("fig9", "fig12", "fig13", "fig14-group", "fig14-sjf", "fig15"), policy)
                self.assertEqual(len(errors), count)
                self.assertLess(statistics.median(errors), median)
                self.assertLess(errors[count * 9 // 10], ninety)

    def test_delays_of_evictions(self):
        """Fig. 13: all but BFS's are predicted within a third."""
        predicted, measured = clients(self.predicted["fig13"]), clients(self.measured["fig13"])
        for key, row in measured.items():
            if key[2] not in ("urgent", "BFS"):
                delay = float(row["eviction_delay_ns_mean"])
                self.assertLess(abs(float(predicted[key]["eviction_delay_ns_mean"]) / delay - 1), 0.33, key)

    def test_numbers_of_evictions(self):
        """Fig. 12 under piv: each program is evicted as often as predicted, in every order of priorities."""
        predicted = clients(self.predicted["fig12"])
        for key, row in clients(self.measured["fig12"]).items():
            if key[1] == "piv":
                self.assertAlmostEqual(float(row["evictions"]), float(predicted[key]["evictions"]), delta=0.11, msg=key)

    def test_evictions_by_waiting_time(self):
        """Fig. 9: of all programs in a run, by how long each waits before its next job; means of the runs."""
        thinks = ("1 ms", "8 ms", "64 ms")
        for folder, says in ((self.measured["fig9"], (68, 54, 27)), (self.predicted["fig9"], (70, 56, 24))):
            rows = table(folder / "summary.csv")
            by_think = {think: [float(row["evictions"]) for row in rows if row["workload.repeat.think"] == think] for think in thinks}
            self.assertEqual(tuple(round(statistics.mean(found)) for found in by_think.values()), says)

    def test_turnaround(self):
        """Fig. 14: ANTT by group and by length, of the driver, piv and dprr; NTT of three programs by group under piv."""
        for folders, values, programs in ((self.measured, (4.1, 10.8, 5.8, 4.0, 2.0, 3.1), (41, 15, 42)),
                                          (self.predicted, (3.8, 12.2, 4.6, 3.8, 2.1, 2.7), (46, 16, 51))):
            for name, says in (("fig14-group", values[:3]), ("fig14-sjf", values[3:])):
                antt = {row["policy"]: float(row["antt"]) for row in table(folders[name] / "summary.csv")}
                for policy, value in zip(("default", "piv", "dprr"), says):
                    self.assertAlmostEqual(antt[policy], value, delta=0.06, msg=(name, policy))
            ntt = clients(folders["fig14-group"])
            self.assertEqual(tuple(round(float(ntt["0", "piv", program]["ntt"])) for program in ("Reduction", "Sort", "Scan")), programs)

    def test_slices(self):
        """Fig. 11: each program alone, by the latency that its slices may cause."""
        predicted = {(row["client"], row["policies.pkm.params.latency"], row["policy"]): float(row["response_ns_mean"])
                     for row in table(self.predicted["fig11"] / "clients.csv")}
        measured = {(row["client"], row["latency"]): float(row["ms"]) for row in table(FOLDER / "h100-live/effisha-slices.csv")}
        programs = {program for program, _ in measured}
        self.assertEqual(len(programs), 11)
        for latency, is_, most, says, most_says in (("1 ms", 8, 22, 4, 4), ("0.5 ms", 11, 23, 6, 8), ("0.25 ms", 19, 31, 11, 15),
                                                    ("0.125 ms", 31, 43, 23, 44), ("0.0625 ms", 63, 94, 49, 82)):
            with self.subTest(latency):
                told = [predicted[program, latency, "pkm"] / predicted[program, latency, "default"] for program in programs]
                found = [measured[program, latency] / measured[program, ""] for program in programs]
                overheads = [round(100 * (of(values) - 1)) for values in (found, told) for of in (statistics.mean, max)]
                self.assertEqual(overheads, [is_, most, says, most_says])
                self.assertLess(statistics.median(abs(a / b - 1) for a, b in zip(told, found)), 0.04)


class ShareAGpu(Predicted):
    paper, figures = "share-a-gpu", ("fig5", "fig6", "fig7", "makespan", "fig9", "fig10")

    def test_what_the_page_says(self):
        for figure, median, most in (("fig5", 0.002, 0.027), ("fig6", 0.08, 0.2), ("fig7", 0.07, 0.135), ("makespan", 0.057, 0.34), ("fig9", 0.003, 0.023), ("fig10", 0.091, 0.25)):
            with self.subTest(figure):
                errors = self.errors((figure,))
                self.assertLess(statistics.median(errors), median)
                self.assertLess(errors[-1], most)

    def test_order_of_policies(self):
        self.check_order("fig7", ("antt", "dntt", "stp"))

    def test_makespans(self):
        """Of all seven, a number of jobs each: the policies' order, and how far off."""
        measured, predicted = ({row["policy"]: float(row["makespan_ns"]) for row in table(folder["makespan"] / "summary.csv")}
                               for folder in (self.measured, self.predicted))
        order = ["while-room", "fcfs", "rr", "microkernel-rr"]
        for policy, says in zip(order, (0.4, 5.6, 4.6, 11.3)):
            self.assertAlmostEqual(100 * abs(predicted[policy] / measured[policy] - 1), says, delta=0.1, msg=policy)
        for makespans in (measured, predicted):
            self.assertEqual(sorted(order, key=makespans.get), order)


class OnePolicyOnSeveralGpus(Predicted):
    figures = ("two-gpus", "four-gpus")

    def test_what_the_page_says(self):
        for figure, number, median, tail, most in (("two-gpus", 28, 0.016, 0.225, 0.28), ("four-gpus", 56, 0.058, 0.515, 1.135)):
            with self.subTest(figure):
                errors = self.errors((figure,))
                self.assertEqual(len(errors), number)
                self.assertLess(statistics.median(errors), median)
                self.assertLess(errors[number * 9 // 10], tail)
                self.assertLess(errors[-1], most)

    def test_order_of_policies(self):
        self.check_order("two-gpus", ("antt", "dntt", "stp"))
        self.check_order("four-gpus", ("antt", "dntt", "stp"))


del Predicted  # no test by itself

if __name__ == "__main__":
    unittest.main()
