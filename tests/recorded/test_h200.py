"""Runs recorded on a GPU, predicted again: fails when the simulator gets worse at it."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GANGWAY = Path(os.environ.get("GANGWAY", "build/release/gangway")).resolve()
RECORDED = ROOT / "experiments/recorded/h200"

# A little above what was reached, far below what is asked of it (5% and 12% of NTT; 4% of ANTT and STP, 12% of DNTT).
LIMITS = "ntt_p50=0.005,ntt_p90=0.015,antt=0.015,stp=0.015,dntt=0.04,ranking=0"


def compare(prediction, *options):
    return subprocess.run([GANGWAY, "compare", prediction, RECORDED / prediction.name, *options], capture_output=True, text=True)


class RecordedMix(unittest.TestCase):
    def predict(self, *options, name="mix"):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        out = Path(folder.name) / name
        subprocess.run([GANGWAY, "run", ROOT / f"experiments/h200/{name}.yaml", "--out", out, *options], check=True,
                       capture_output=True)
        return out

    def test_prediction_is_as_near_as_it_was(self):
        done = compare(self.predict(), "--fail-above", LIMITS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_priorities_are_predicted_as_near(self):
        done = compare(self.predict(name="priorities"), "--fail-above", LIMITS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_worse_model_is_noticed(self):
        done = compare(self.predict("--set", "device.commands.launch=100 us"), "--fail-above", LIMITS)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)

    def test_a_kernel_that_is_slower_than_it_was_is_noticed(self):
        done = compare(self.predict("--set", "workload.clients.RED.kernels.RED.time=1 ms"), "--fail-above", LIMITS)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
