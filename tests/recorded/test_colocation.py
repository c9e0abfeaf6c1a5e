"""Programs recorded alone on an H100 (experiments/colocation/h100): played alone, and in the pairs that ran there without a policy."""

import csv
import gzip
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/record"), str(ROOT / "tests/cli")]
import recordings  # noqa: E402
from program import table  # noqa: E402

GANGWAY = str(Path(os.environ.get("GANGWAY", ROOT / "build/release/gangway")).resolve())
FOLDER = ROOT / "experiments/colocation/h100"
ALONE = """kind: experiment
version: 1
name: alone
workload:
  kind: workload
  version: 1
  name: alone
  clients: [{{name: A, recording: {file}}}]
device: h100
mechanism: ideal
policies: [passthrough]
"""


class Unrecorded(unittest.TestCase):
    """What a job takes when nobody records it, from the recording or the experiment (`alone`): the host's times are scaled."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "a.rec"
        self.take("bert-eager")

    def take(self, name):
        self.file.write_bytes(gzip.decompress((FOLDER / f"{name}.rec.gz").read_bytes()))
        lengths = [job["length"] for job in recordings.read(self.file).jobs]
        self.median, self.mean = statistics.median(lengths), statistics.mean(lengths)

    def slowed(self, factor):
        with sqlite3.connect(self.file) as database:
            database.execute("INSERT OR REPLACE INTO about VALUES('unrecorded', ?)", [round(self.median / factor)])

    def played(self, recording, code=0):
        (self.folder / "alone.yaml").write_text(ALONE.format(file=recording))
        done = subprocess.run([GANGWAY, "run", self.folder / "alone.yaml", "--out", self.folder / "out", "--force"], capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done.stderr)
        if code:
            return done.stderr
        self.notes = done.stderr
        row = table(self.folder / "out/clients.csv")[0]
        self.assertAlmostEqual(float(row["response_ns_mean"]) / float(row["standalone_ns"]), 1, delta=0.002)
        return float(row["standalone_ns"])

    def test_jobs_take_what_they_take_unrecorded(self):
        self.assertAlmostEqual(self.played("a.rec") / self.mean, 1, delta=0.001)
        self.slowed(1.04)
        self.assertAlmostEqual(self.played("a.rec") / self.mean, 1 / 1.04, delta=0.001)
        self.assertRegex(self.notes, r"A: its host's times are scaled by 0\.\d+, so that jobs take 6\.\d+ ms alone on the average, as unrecorded")
        self.assertAlmostEqual(self.played("{file: a.rec, alone: 5 ms}") / 5e6, 1, delta=0.001)
        self.assertAlmostEqual(self.played("{file: a.rec, scale: {host: 1}}") / self.mean, 1, delta=0.001)
        self.assertAlmostEqual(self.played(f"{{file: a.rec, alone: {round(self.mean)} ns}}") / self.mean, 1, delta=0.001)
        self.assertNotIn("unrecorded", self.notes)  # the scale is 1
        self.slowed(1.004)  # chance
        self.assertAlmostEqual(self.played("a.rec") / self.mean, 1, delta=0.001)

    def test_what_no_host_explains(self):
        self.take("long-kernel")  # 43 ms of 44
        self.slowed(1.1)
        self.assertAlmostEqual(self.played("a.rec") / self.mean, 1, delta=0.001)
        self.assertRegex(self.notes, r"A: a job takes 39\.\d+ ms unrecorded, but a faster host does not explain that")
        self.assertIn("'workload.clients.0.recording.alone': found 39 ms, expected at least ", self.played("{file: a.rec, alone: 39 ms}", 2))

    def test_what_is_refused(self):
        self.assertIn("found a factor beside `alone`", self.played("{file: a.rec, alone: 9 ms, scale: {host: 0.5}}", 2))
        self.assertIn("'workload.clients.0.recording.alone': found 10 s, expected at most ", self.played("{file: a.rec, alone: 10 s}", 2))
        self.slowed(-1)
        self.assertIn("unrecorded is -", self.played("a.rec", 2))


class Colocation(unittest.TestCase):
    def crosses_the_bus(self, r, work):
        if work["kind"] != recordings.COPY:
            return False
        transfer = r.tables["transfers"][work["shape"]]
        return bool({transfer["from"], transfer["to"]} & {recordings.PAGEABLE, recordings.PINNED})

    def test_programs_alone_take_what_was_recorded(self):
        """Job by job within 3 % (median), and the GPU's time within 1 %."""
        names = sorted(FOLDER.glob("*.rec.gz"))
        self.assertEqual(len(names), 10)
        for packed in names:
            with self.subTest(packed.name), tempfile.TemporaryDirectory() as folder:
                folder = Path(folder)
                (folder / "a.rec").write_bytes(gzip.decompress(packed.read_bytes()))
                (folder / "alone.yaml").write_text(ALONE.format(file="a.rec"))
                subprocess.run([GANGWAY, "run", folder / "alone.yaml", "--out", folder / "out", "--set", "services=true"], check=True,
                               capture_output=True)
                r = recordings.read(folder / "a.rec")
                played = [int(row["response_ns"]) for row in table(folder / "out/jobs.csv")]
                recorded = [job["length"] for job in r.jobs]
                self.assertEqual(len(played), len(recorded))
                self.assertLess(statistics.median(abs(p / m - 1) for p, m in zip(played, recorded)), 0.03)
                busy = float(table(folder / "out/services.csv")[0]["gpu_time_ns"])
                begin, end = r.jobs[0]["begin"], r.jobs[-1]["begin"] + r.jobs[-1]["length"]
                kernels = [(w["begin"], w["end"]) for w in r.works if begin <= w["begin"] < end and not self.crosses_the_bus(r, w)]
                self.assertAlmostEqual(busy / sum(end - begin for begin, end in recordings.joined(kernels)), 1, delta=0.01)

    def test_the_experiments_are_accepted(self):
        for file in sorted(FOLDER.parent.glob("*.yaml")):
            done = subprocess.run([GANGWAY, "check", file], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), file)

    def predicted(self, table_name, *options):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([GANGWAY, "run", FOLDER.parent / "live.yaml", "--out", folder + "/out", *options], check=True, capture_output=True)
            return {(row["policy"], row["client"]): row for row in table(Path(folder) / "out" / table_name)}

    def test_jobs_unrecorded_predict_better(self):
        """The numbers of experiments/colocation/README.md: medians over 16 policies, in percent."""
        measured = {(row["policy"], row["client"]): row for row in table(FOLDER.parent / "h100-live/services.csv")}
        as_recorded = [word for place, client in enumerate(("inference", "training"))
                       for word in ("--set", f"workload.clients.{place}.recording={{file: h100-live/{client}.rec.gz, scale: {{host: 1}}}}")]
        for options, expected in (([], {"inference": 3.3, "training": 1.6}), (as_recorded, {"inference": 7.1, "training": 7.9})):
            predicted = self.predicted("services.csv", *options)
            self.assertEqual(predicted.keys(), measured.keys())
            for client, percent in expected.items():
                errors = [abs(float(predicted[key]["latency_ns_p50"]) / float(row["latency_ns_p50"]) - 1)
                          for key, row in measured.items() if key[1] == client and "mps" not in key[0] and key[0] != "fcfs"]
                self.assertEqual(len(errors), 16)
                self.assertEqual(round(100 * statistics.median(errors), 1), percent)

    def test_programs_as_they_ran_under_every_policy(self):
        """What the page says of live.yaml: predicted from the recordings alone, against what was measured."""
        measured = {(row["policy"], row["client"]): row for row in table(FOLDER.parent / "h100-live/clients.csv")}
        predicted = self.predicted("clients.csv")
        self.assertEqual(predicted.keys(), measured.keys())
        self.assertEqual(len(measured), 38)

        def errors(column, client=""):
            return sorted(abs(float(predicted[key][column]) / float(measured[key][column]) - 1) for key in measured if client in key[1] and "mps" not in key[0])
        means, tails = errors("response_ns_mean"), errors("response_ns_p99", "inference")
        self.assertEqual(len(means), 34)
        self.assertLess(statistics.median(means), 0.03)
        self.assertLess(means[-2], 0.2)
        self.assertLess(means[-1], 0.4)
        self.assertEqual(sum(error <= 0.25 for error in tails), 14)
        self.assertLess(tails[-2], 0.33)
        self.assertLess(tails[-1], 2.33)
        self.assertLess(statistics.median(tails), 0.145)

    def test_programs_that_are_held_up_by_their_hosts(self):
        """What the page says of three.yaml and two.yaml, and what they would be without the cost of the limit in flight."""
        free = ("--set", "device.access.limited=0 us", "--set", "device.access.event=0 us")
        for name, options, (median, ninetieth, most) in (("three", (), (4.8, 15.1, 85.6)), ("two", (), (2.2, "4.0", "4.0")),
                                                         ("three", free, (10.3, 16.3, 19.2)), ("two", free, (3.6, 4.1, 4.9))):
            with self.subTest(name=name, options=options), tempfile.TemporaryDirectory() as folder:
                subprocess.run([GANGWAY, "run", FOLDER.parent / f"{name}.yaml", "--out", folder + "/out", *options], check=True, capture_output=True)
                done = subprocess.run([GANGWAY, "compare", folder + "/out", FOLDER.parent / "h200-live" / name], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f" predictions: {median} % (median), {ninetieth} % (90th percentile), at most {most} %", done.stdout)

    def test_pairs_under_the_drivers_time_slices(self):
        """What the page says: the mean job times of both programs of 17 pairs, and the 99th percentiles of graphs."""
        done = subprocess.run([sys.executable, ROOT / "examples/programs/predict.py", FOLDER], env=dict(os.environ, GANGWAY=GANGWAY),
                              capture_output=True, text=True, check=True)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.endswith(" % |")]
        means = [abs(float(row[5][:-2])) for row in rows if row[2] == "mean"]
        self.assertEqual(len(means), 34)
        self.assertLess(statistics.median(means), 1.05)
        self.assertLess(max(means), 16)
        tails = {row[0]: abs(float(row[5][:-2])) for row in rows if row[2] == "p99" and row[1].endswith("-graph")}
        self.assertEqual(len(tails), 10)
        self.assertLess(sorted(tails.values())[-2], 8.2)
        self.assertLess(max(tails.values()), 19.2)
        with open(FOLDER.parent / "pairs.csv", encoding="utf-8", newline="") as file:
            said = {tuple(row[:3]): row for row in csv.reader(file)}
        for row in rows:
            if row[2] == "mean":
                self.assertEqual(said[tuple(row[:3])], row)


if __name__ == "__main__":
    unittest.main()
