"""NEON's figures and adversaries as they ran on an H100 (experiments/live/h100-live), against `sim` with recordings of the programs alone."""

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
TIME_SLICES = ("timeslice", "disengaged-timeslice")


def clients(folder):
    return {(row["point"], row["policy"], row["client"]): row for row in table(folder / "clients.csv")}


class LiveNeon(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.errors = {}  # (experiment, point, policy, client): of the mean job time
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        for measured in sorted((FOLDER / "h100-live").glob("neon-*")):
            if measured.name == "neon-never-ends":  # a recording ends
                continue
            out = Path(cls.folder.name) / measured.name
            subprocess.run([GANGWAY, "run", FOLDER / f"{measured.name}.yaml", "--out", out], check=True, capture_output=True)
            predicted = clients(out)
            for key, row in clients(measured).items():
                cls.errors[(measured.name, *key)] = float(predicted[key]["response_ns_mean"]) / float(row["response_ns_mean"]) - 1

    def among(self, *policies):
        return sorted(abs(error) for key, error in self.errors.items() if not policies or key[2] in policies)

    def test_what_the_page_says_of_all(self):
        errors = self.among()
        self.assertEqual(len(errors), 305)
        self.assertLess(statistics.median(errors), 0.03)
        self.assertLess(errors[len(errors) * 9 // 10], 0.2)
        self.assertLess(errors[-1], 0.6)

    def test_what_the_page_says_of_policies(self):
        for policy, median in (("direct", 0.02), ("timeslice", 0.05), ("disengaged-timeslice", 0.03), ("dfq", 0.06), ("dfq-vendor", 0.02)):
            with self.subTest(policy):
                errors = self.among(policy)
                self.assertEqual(len(errors), 61)
                self.assertLess(statistics.median(errors), median)

    def test_four_clients(self):
        """Each client under each policy, and the efficiency that the policies cost."""
        self.assertLess(max(abs(error) for key, error in self.errors.items() if key[0] == "neon-fig8"), 0.15)
        for folder, most in ((FOLDER / "h100-live/neon-fig8", 0.13), (Path(self.folder.name) / "neon-fig8", 0.06)):
            efficiency = {row["policy"]: float(row["concurrency_efficiency"]) for row in table(folder / "summary.csv")}
            for policy in TIME_SLICES:
                self.assertTrue(0.04 < 1 - efficiency[policy] / efficiency["direct"] < most, (folder, policy, efficiency))
            self.assertLess(1 - efficiency["dfq"] / efficiency["direct"], 0.04)

    def test_what_sleeping_costs(self):
        """Fig. 10: efficiency lost against direct access where Throttle sleeps 80 % of its time, measured and predicted."""
        for folder, costs in ((FOLDER / "h100-live/neon-fig9", (0.32, 0.30, 0.05)), (Path(self.folder.name) / "neon-fig9", (0.25, 0.25, 0.04))):
            efficiency = {row["policy"]: float(row["concurrency_efficiency"]) for row in table(folder / "summary.csv") if row["point"] == "4"}
            for policy, cost in zip((*TIME_SLICES, "dfq"), costs):
                self.assertAlmostEqual(1 - efficiency[policy] / efficiency["direct"], cost, delta=0.006, msg=(folder, policy))

    def test_a_request_that_never_ends(self):
        """Under every policy the adversary is killed after its first 8,000 requests or so, and the honest client gets more than without."""
        measured = clients(FOLDER / "h100-live/neon-never-ends")
        honest = {policy: int(row["jobs"]) for (_, policy, client), row in measured.items() if client == "honest"}
        self.assertEqual(honest, {"direct": 8773, "timeslice": 30135, "disengaged-timeslice": 30632, "dfq": 28815, "dfq-vendor": 15212})
        for (_, policy, client), row in measured.items():
            if client == "endless":
                self.assertEqual(row["unfinished"], "1", policy)
                self.assertLessEqual(int(row["jobs"]), 8000, policy)


if __name__ == "__main__":
    unittest.main()
