"""examples/programs/predict.py: what it predicts for pairs whose times are known by hand."""

import csv
import gzip
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "examples/programs")]
from measure import PAIRS  # noqa: E402
from test_recordings import program  # noqa: E402

NUMBER, (FIRST, RATE, SECOND, _) = next((n, pair) for n, pair in enumerate(PAIRS) if pair[1] is not None)


class Predict(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.rows = Path(folder.name), {}

    def log(self, name, rows):
        self.rows[name] = [(NUMBER, name, a, a, e) for a, e in rows]
        with gzip.open(self.folder / "pairs.csv.gz", "wt", newline="") as file:
            csv.writer(file).writerows([("pair", "program", "arrival_ns", "begin_ns", "end_ns"), *sum(self.rows.values(), [])])

    def predict(self, *options):
        environment = dict(os.environ, GANGWAY=str(Path(os.environ.get("GANGWAY", ROOT / "build/release/gangway")).resolve()))
        return subprocess.run([sys.executable, ROOT / "examples/programs/predict.py", self.folder, *options], env=environment,
                              capture_output=True, text=True)

    def test_programs_that_never_meet_are_predicted_as_recorded(self):
        """The first has requests every 20 ms, of 311 us; the second's one job of 2.012 ms begins at 65 ms, and the GPU switches to it
        first, for 137 us."""
        program(self.folder / f"{FIRST}.rec", kernels=(300_000,))
        program(self.folder / f"{SECOND}.rec", jobs=1)
        second = 10**9
        self.log(FIRST, [(second + k * 20_000_000, second + k * 20_000_000 + 622_000) for k in range(4)])
        self.log(SECOND, [(second + 65_000_000, second + 65_000_000 + 2_012_000)])
        done = self.predict()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"| {FIRST} {RATE}/s + {SECOND} | {FIRST} | mean | 0.622 ms | 0.311 ms | -50.0 % |", done.stdout)
        self.assertIn("| 2.012 ms | 2.149 ms | +6.8 % |", done.stdout)
        self.assertIn("mean: median error 28.4 %, worst 50.0 %, of 2", done.stdout)
        self.assertEqual(self.predict("--mps").returncode, 1)  # no pairs under MPS here

    def test_the_least_disturbed_recording_is_used_and_a_missing_one_named(self):
        self.log(FIRST, [(0, 500_000)])
        self.log(SECOND, [(50_000_000, 52_000_000)])
        done = self.predict()
        self.assertEqual((done.returncode, done.stdout.count("ms")), (1, 0))
        self.assertIn(f"found no {FIRST}.rec", done.stderr)
        program(self.folder / f"{FIRST}.rec", kernels=(400_000,))
        program(self.folder / f"{FIRST}-2.rec", kernels=(300_000,))
        program(self.folder / f"{SECOND}.rec", jobs=1)
        self.assertIn("| 0.500 ms | 0.311 ms |", self.predict().stdout)
        program(self.folder / "unpacked", kernels=(350_000,))
        (self.folder / f"{FIRST}-paced.rec.gz").write_bytes(gzip.compress((self.folder / "unpacked").read_bytes()))
        self.assertIn("| 0.500 ms | 0.361 ms |", self.predict().stdout)


if __name__ == "__main__":
    unittest.main()
