"""Programs recorded alone on an H100 (experiments/colocation/h100): played alone, and in the pairs that ran there without a policy."""

import contextlib
import csv
import gzip
import json
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
        self.assertRegex(self.notes, r"A: its host's times are scaled by 0\.\d+, since its median job takes 6\.\d+ ms alone and unrecorded")
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
        self.assertRegex(self.notes, r"A: its median job takes 39\.\d+ ms unrecorded, but a faster host does not explain that")
        self.assertIn("'workload.clients.0.recording.alone': found 39 ms, expected at least ", self.played("{file: a.rec, alone: 39 ms}", 2))

    def test_what_is_refused(self):
        self.assertIn("found a factor beside `alone`", self.played("{file: a.rec, alone: 9 ms, scale: {host: 0.5}}", 2))
        self.assertIn("'workload.clients.0.recording.alone': found 10 s, expected at most ", self.played("{file: a.rec, alone: 10 s}", 2))
        self.slowed(-1)
        self.assertIn("unrecorded is -", self.played("a.rec", 2))


BESIDE = """kind: experiment
version: 1
name: beside
workload:
  kind: workload
  version: 1
  name: beside
  clients:
    - {{name: A, recording: {recording}, repeat: {{jobs: endless}}}}
    - {{name: B, recording: {recording}, repeat: {{jobs: endless}}}}
device: h100
mechanism: ideal
grant: {{of: job, overlap: true, idle: 1 ms}}
policies:
  - {{name: passthrough, label: mps, device: {{arbitration: mps}}}}
  - {{name: piv, label: piv-mps, device: {{arbitration: mps}}}}
  - {{name: piv, label: piv-mps-none, device: {{arbitration: mps}}, grant: {{of: job, overlap: true, idle: 1 ms, forms: none}}}}
  - piv
horizon: 20 ms
"""


class BestCases(unittest.TestCase):
    """Where kernels do not wait for room under MPS, as they would on a GPU."""

    def beside(self, recording, program="resnet50-graph"):
        """The policies that are labelled so, and the notes."""
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            file = gzip.decompress((FOLDER / f"{program}.rec.gz").read_bytes())
            for name in ("known.rec", "unknown.rec"):
                (folder / name).write_bytes(file)
            with contextlib.closing(sqlite3.connect(folder / "unknown.rec", isolation_level=None)) as database:
                database.execute("DELETE FROM nodes")
            (folder / "beside.yaml").write_text(BESIDE.format(recording=recording))
            done = subprocess.run([GANGWAY, "run", folder / "beside.yaml", "--out", folder / "out"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads((folder / "out/manifest.json").read_text()).get("best_cases"), done.stderr

    def test_graphs(self):
        best, notes = self.beside("known.rec")
        self.assertIsNone(best)
        self.assertIn("note: mps, piv-mps, piv-mps-none: kernels of several programs under MPS wait for room", notes)
        best, notes = self.beside("unknown.rec")
        self.assertEqual(best, ["mps", "piv-mps", "piv-mps-none"])
        self.assertIn("note: A, B: kernels of its graphs are not known, so that under MPS they neither wait", notes)

    def test_kernels_that_leave(self):
        best, notes = self.beside("{file: known.rec, forms: {default: loop, worth: 0 ns}}", "fft-filter")
        self.assertEqual(best, ["piv-mps"])
        self.assertIn("note: piv-mps: a best case: where kernels leave early", notes)
        self.assertIn("note: mps, piv-mps-none: kernels of several programs under MPS wait for room", notes)
        best, notes = self.beside("{file: known.rec, forms: {default: slice, worth: 0 ns}}", "fft-filter")  # which piv does not use
        self.assertIsNone(best)
        self.assertIn("note: mps, piv-mps, piv-mps-none: kernels", notes)


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

    # Where live.yaml was measured, and what it was predicted from.
    MACHINES = {"h200": "h200-live/live", "h100": "h100-live"}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)

    def played(self, machine, scale=None):
        """The folder of live.yaml, predicted once."""
        out = self.folder / (machine + ("-as-recorded" if scale else ""))
        if out.exists():
            return out
        options = ["--set", f"device={machine}"]
        for place, client in enumerate(("inference", "training")):
            file = f"{machine}-live/{client}.rec.gz"
            options += ["--set", f"workload.clients.{place}.recording=" + (f"{{file: {file}, scale: {scale}}}" if scale else file)]
        subprocess.run([GANGWAY, "run", FOLDER.parent / "live.yaml", "--out", out, *options], check=True, capture_output=True)
        return out

    def predicted(self, machine, table_name, scale=None):
        return {(row["policy"], row["client"]): row for row in table(self.played(machine, scale) / table_name)}

    def measured(self, machine, table_name):
        return {(row["policy"], row["client"]): row for row in table(FOLDER.parent / self.MACHINES[machine] / table_name)}

    def test_jobs_unrecorded_predict_better(self):
        """The numbers of experiments/colocation/README.md: medians over 18 policies, in percent."""
        for machine, scale, expected in (("h200", None, {"inference": 3.4, "training": 1.7}), ("h200", "{host: 1}", {"inference": 8.9, "training": 7.5}),
                                         ("h100", None, {"inference": 3.2, "training": 1.8}), ("h100", "{host: 1}", {"inference": 7.2, "training": 7.9})):
            measured, predicted = self.measured(machine, "services.csv"), self.predicted(machine, "services.csv", scale)
            self.assertEqual(predicted.keys(), measured.keys())
            for client, percent in expected.items():
                errors = [abs(float(predicted[key]["latency_ns_p50"]) / float(row["latency_ns_p50"]) - 1)
                          for key, row in measured.items() if key[1] == client and key[0] != "fcfs"]
                self.assertEqual(len(errors), 18)
                self.assertEqual(round(100 * statistics.median(errors), 1), percent, (machine, scale, client))

    def test_programs_as_they_ran_under_every_policy(self):
        """What the page says of live.yaml: predicted from the recordings alone, against what was measured."""
        for machine, (mean, worst_mean, tail, worst_tail, fragile) in {"h200": (0.026, 0.211, 0.077, 0.222, 0.69), "h100": (0.031, 0.202, 0.045, 0.163, 0)}.items():
            with self.subTest(machine):
                measured, predicted = self.measured(machine, "clients.csv"), self.predicted(machine, "clients.csv")
                self.assertEqual(predicted.keys(), measured.keys())
                self.assertEqual(len(measured), 38)

                def errors(column, *clients):
                    return {key[0]: abs(float(predicted[key][column]) / float(measured[key][column]) - 1)
                            for key in measured if key[1] in clients and key != ("fcfs", "inference")}
                means = [*errors("response_ns_mean", "inference").values(), *errors("response_ns_mean", "training").values()]
                self.assertEqual(len(means), 37)
                self.assertLess(statistics.median(means), mean)
                self.assertLess(max(means), worst_mean)
                tails = errors("response_ns_p99", "inference")
                self.assertEqual(len(tails), 18)
                self.assertLess(statistics.median(tails.values()), tail)
                if fragile:
                    self.assertLess(tails.pop("disengaged-fair-queueing"), fragile)
                self.assertLess(max(tails.values()), worst_tail)

    def test_rankings_of_policies(self):
        """By ANTT and STP those of live.yaml are equal on both machines, by DNTT on the H100, near ties aside."""
        for machine, equal in (("h200", 2), ("h100", 3)):
            with self.subTest(machine):
                done = subprocess.run([GANGWAY, "compare", self.played(machine), FOLDER.parent / self.MACHINES[machine]], capture_output=True, text=True)
                self.assertIn(f"rankings of policies: {equal} of 3 equal", done.stdout)
                self.assertNotIn("antt at point", done.stdout)
                self.assertNotIn("stp at point", done.stdout)

    def test_programs_that_are_held_up_by_their_hosts(self):
        """What the page says of three.yaml and two.yaml, and what they would be without the cost of the limit in flight."""
        free = ("--set", "device.access.limited=0 us", "--set", "device.access.event=0 us")
        for name, options, (median, ninetieth, most) in (("three", (), ("5.0", 16.4, 90.3)), ("two", (), (1.4, 3.8, 4.2)),
                                                         ("three", free, (10.6, 15.8, 17.3)), ("two", free, (1.9, 3.1, 3.8))):
            with self.subTest(name=name, options=options), tempfile.TemporaryDirectory() as folder:
                subprocess.run([GANGWAY, "run", FOLDER.parent / f"{name}.yaml", "--out", folder + "/out", *options], check=True, capture_output=True)
                done = subprocess.run([GANGWAY, "compare", folder + "/out", FOLDER.parent / "h200-live" / name], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn(f" predictions: {median} % (median), {ninetieth} % (90th percentile), at most {most} %", done.stdout)

    def pairs(self, *options):
        """The rows that predict.py prints."""
        done = subprocess.run([sys.executable, ROOT / "examples/programs/predict.py", *options], env=dict(os.environ, GANGWAY=GANGWAY),
                              capture_output=True, text=True, check=True)
        return [[cell.strip() for cell in line.split("|")[1:-1]] for line in done.stdout.splitlines() if line.endswith(" % |")]

    def test_pairs_under_mps(self):
        """What the page says of 17 pairs that wait for each other's room."""
        rows = self.pairs(FOLDER.parent / "h200-mps", "--mps", "--device", "h200")
        errors = {statistic: sorted(abs(float(row[5][:-2])) for row in rows if row[2] == statistic) for statistic in ("mean", "p99")}
        self.assertEqual((len(errors["mean"]), len(errors["p99"])), (34, 27))
        self.assertEqual([round(statistics.median(of), 1) for of in errors.values()], [3.8, 8.8])
        self.assertEqual(errors["mean"][-1], 75)
        self.assertLess(errors["mean"][-2], 34)

    def test_pairs_under_the_drivers_time_slices(self):
        """What the page says: the mean job times of both programs of 17 pairs, and the 99th percentiles of graphs."""
        rows = self.pairs(FOLDER)
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
