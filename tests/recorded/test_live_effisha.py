"""EffiSha's and Share-a-GPU's figures as they ran on H100s (experiments/live/h100-live), against `sim` with recordings of the programs alone."""

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
    """Of one paper: `measured` and `predicted`, by figure."""

    paper, figures = "", ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.measured, cls.predicted = {}, {}
        for figure in cls.figures:
            out = Path(cls.folder.name) / figure
            subprocess.run([GANGWAY, "run", FOLDER / f"{cls.paper}-{figure}.yaml", "--out", out], check=True, capture_output=True)
            cls.predicted[figure], cls.measured[figure] = out, FOLDER / f"h100-live/{cls.paper}-{figure}"

    def errors(self, figures, policy=None):
        """Of mean responses, without sign, sorted."""
        found = []
        for figure in figures:
            predicted = clients(self.predicted[figure])
            for key, row in clients(self.measured[figure]).items():
                if policy in (None, key[1]):
                    found.append(abs(float(predicted[key]["response_ns_mean"]) / float(row["response_ns_mean"]) - 1))
        return sorted(found)


class EffiSha(Predicted):
    paper, figures = "effisha", ("fig10", "fig12", "fig13", "fig15")

    def test_what_the_page_says_of_policies(self):
        for policy, count, median, ninety in (("piv", 77, 0.035, 0.08), ("dprr", 55, 0.145, 0.47), ("default", 55, 0.135, 0.67)):
            with self.subTest(policy):
                errors = self.errors(("fig12", "fig13", "fig15"), policy)
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

    def test_turnaround(self):
        """Fig. 14, as Fig. 12's run has it: ANTT by group and by length, of the driver, piv and dprr."""
        for folder, values in ((self.measured["fig12"], (3.6, 10.9, 4.8, 3.6, 2.0, 2.7)), (self.predicted["fig12"], (3.7, 12.2, 5.3, 3.7, 2.1, 2.7))):
            antt = {(row["point"], row["policy"]): float(row["antt"]) for row in table(folder / "summary.csv")}
            found = [antt[(point, policy)] for point in "12" for policy in ("default", "piv", "dprr")]
            for is_, says in zip(found, values):
                self.assertAlmostEqual(is_, says, delta=0.06, msg=(folder, found))


class ShareAGpu(Predicted):
    paper, figures = "share-a-gpu", ("fig5", "fig6", "fig9")

    def test_what_the_page_says(self):
        for figures, median, most in ((("fig5",), 0.002, 0.027), (("fig6",), 0.105, 0.2), (("fig9",), 0.003, 0.023)):
            with self.subTest(figures):
                errors = self.errors(figures)
                self.assertLess(statistics.median(errors), median)
                self.assertLess(errors[-1], most)


del Predicted  # no test by itself

if __name__ == "__main__":
    unittest.main()
