"""The FRS paper's figures as they ran on an H100 (experiments/chip/h100), against `sim` from the calibration of single kernels."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from program import table  # noqa: E402

GANGWAY = str(Path(os.environ.get("GANGWAY", ROOT / "build/release/gangway")).resolve())
CHIP = ROOT / "experiments/chip"
MEASURED = CHIP / "h100/frs-fig4"
OWNERS = ("sjf", "srt", "rr", "cfs", "frs")


class FrsOnAChip(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.predicted = Path(folder.name) / "predicted"
        useful = json.loads((CHIP / "h100/calibration/calibration.json").read_text())["useful"]
        subprocess.run([GANGWAY, "run", CHIP / "frs-fig4.yaml", "--out", cls.predicted, "--set", "replications=2",
                        "--set", "device=h100/calibration/device.yaml", "--set", "workload=h100/calibration/workload.yaml",
                        "--set", f"mechanism.params.useful={useful}"], check=True, capture_output=True)

    def test_every_printed_statement_holds_on_the_chip_and_in_the_prediction(self):
        for folder in (MEASURED, self.predicted):
            verdicts = [row["verdict"] for row in table(folder / "published.csv") if row["class"] == "order"]
            self.assertEqual(verdicts, ["pass"] * 27, folder)

    def test_policies_are_predicted_as_near_as_the_page_says(self):
        measured = {row["policy"]: row for row in table(MEASURED / "summary.csv")}
        predicted = {row["policy"]: row for row in table(self.predicted / "summary.csv")}
        for policy in OWNERS:
            for metric, most in (("antt", 0.013), ("stp", 0.013), ("dntt", 0.056 if policy == "frs" else 0.018)):
                error = float(predicted[policy][metric]) / float(measured[policy][metric]) - 1
                self.assertLess(abs(error), most, (policy, metric))

    def test_the_page_has_each_applications_ntt(self):
        head, _, *rows = (CHIP / "README.md").read_text().partition("Fig. 3, NTT of each application")[2].split("\n\n")[1].splitlines()
        policies = [cell.strip(" `") for cell in head.strip("|").split("|")][1:]
        sides = [{(row["policy"], row["client"]): float(row["ntt"]) for row in table(folder / "clients.csv")}
                 for folder in (MEASURED, self.predicted)]
        self.assertEqual(len(rows) * len(policies), len(sides[0]))
        for client, *cells in ([cell.strip() for cell in row.strip("|").split("|")] for row in rows):
            for policy, told in zip(policies, cells):
                self.assertEqual(told, ", ".join(f"{side[policy, client]:.2f}" for side in sides), (policy, client))
                error = sides[1][policy, client] / sides[0][policy, client] - 1
                if policy != "processes":
                    self.assertLess(abs(error), 0.018 if policy in OWNERS else 0.031, (policy, client))

    def test_jobs_are_predicted_as_near_as_the_page_says(self):
        done = subprocess.run([GANGWAY, "compare", self.predicted, MEASURED, "--fail-above", "ntt_p50=0.009,antt=0.02,stp=0.035,ranking=0"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
