"""Sweeps: each point has the results of an experiment that says the same without a sweep."""

import shutil
import unittest

from program import SMALL, TINY, ProgramTest, contents, manifest, read_trace, table
from test_recordings import EXPERIMENT as recorded
from test_recordings import program
from test_study import STUDY

NO_SWEEP = SMALL[:SMALL.index("sweep:")] + "permutations: 3\nreplications: 2\n"


class Sweeps(ProgramTest):
    def rows(self, out, point, swept=()):
        """Of summary.csv at a point, without the columns that tell points apart."""
        apart = {"point", *swept, *(f"{path}{unit}" for path in swept for unit in ("_ns", "_bytes", "_per_second"))}
        return [{name: cell for name, cell in row.items() if name not in apart}
                for row in table(self.folder / out / "summary.csv") if row["point"] == str(point)]

    def check_points(self, experiment, paths, points, plain=NO_SWEEP):
        """Each point's results against a run of its own with --set of these values."""
        self.gangway("run", experiment, "--out", "swept")
        summary = table(self.folder / "swept/summary.csv")
        self.assertEqual(sorted({int(row["point"]) for row in summary}), list(range(len(points))))
        self.file("plain.yaml", plain)
        for point, values in enumerate(points):
            with self.subTest(point=point):
                own = [word for path, value in zip(paths, values) for word in ("--set", f"{path}={value}")]
                self.gangway("run", "plain.yaml", "--out", f"own-{point}", *own)
                self.assertEqual(self.rows("swept", point, paths), self.rows(f"own-{point}", 0))
                row = next(row for row in summary if row["point"] == str(point))
                self.assertEqual([row[path] for path in paths], [str(value) for value in values])


class Together(Sweeps):
    def test_paths_vary_side_by_side_and_have_a_column_each(self):
        sweep = """sweep:
  policies.rr.params.quantum: [0.5 ms, 2 ms]
  together:
    device.sms: [14, 28, 56]
    workload.arrivals.gap: {from: 1 ms, to: 3 ms, step: 1 ms}
"""
        experiment = self.file("e.yaml", NO_SWEEP + sweep)
        self.check_points(experiment, ["policies.rr.params.quantum", "device.sms", "workload.arrivals.gap"],
                          [(quantum, sms, gap) for quantum in ("0.5 ms", "2 ms") for sms, gap in ((14, "1 ms"), (28, "2 ms"), (56, "3 ms"))])
        columns = list(table(self.folder / "swept/summary.csv")[0])
        self.assertEqual(columns[2:7], ["policies.rr.params.quantum", "policies.rr.params.quantum_ns", "device.sms",
                                        "workload.arrivals.gap", "workload.arrivals.gap_ns"])

    def test_files_vary_side_by_side_and_set_holds_in_each(self):
        sweep = "sweep: {together: {device: [titan-x-pascal, h200], workload: [frs-table1, effisha-table3]}}\nset: {device.commands.launch: 20 us}\n"
        lines = [line for line in NO_SWEEP.splitlines() if not line.startswith(("workload:", "device:", "permutations:"))]
        experiment = self.file("e.yaml", "\n".join(lines) + "\n" + sweep)
        self.check_points(experiment, ["device", "workload"], [("titan-x-pascal", "frs-table1"), ("h200", "effisha-table3")],
                          NO_SWEEP.replace("permutations: 3", "set: {device.commands.launch: 20 us}"))

    def test_a_path_that_undoes_an_earlier_one_is_refused(self):
        lines = "\n".join(line for line in NO_SWEEP.splitlines() if not line.startswith("device:")) + "\n"
        undone = ("{device.commands.launch: [500 us, 5 us], device: [h200, titan-x-pascal]}",
                  "{policies.rr.params.quantum: [1 ms], policies.rr: [{name: rr, params: {quantum: 2 ms}}]}",
                  "{workload.clients.0.copy_in: [1 MiB, 2 MiB], workload.clients.CEDD.copy_in: [3 MiB]}",
                  "{workload.clients.CEDD.copy_in: [1 MiB], workload.clients.0.copy_in: [3 MiB]}")
        for sweep in undone:
            own = NO_SWEEP if "device" not in sweep else lines + "device: h200\n"
            said = self.refused("check", self.file("e.yaml", own + f"sweep: {sweep}\n"))
            self.assertRegex(said, "e.yaml:[0-9]+: key 'sweep\\.[^']+': found a path that replaces what '[^']+' varies, expected")
        self.gangway("check", self.file("e.yaml", lines + "sweep: {device: [h200, titan-x-pascal], device.commands.launch: [500 us, 5 us]}\n"))

    def test_a_manifest_runs_again(self):
        experiment = self.file("e.yaml", NO_SWEEP + "sweep: {together: {device: [titan-x-pascal, h200], device.commands.launch: [10 us, 20 us]}}\n")
        self.gangway("run", experiment, "--out", "swept")
        self.gangway("run", "swept/manifest.json", "--out", "again")
        self.assert_same_files(contents(self.folder / "swept"), contents(self.folder / "again"))
        self.assertIn("already", self.gangway("run", "swept/manifest.json", "--out", "swept").stdout)

    def test_lists_of_different_lengths_are_refused(self):
        experiment = self.file("e.yaml", NO_SWEEP + "sweep:\n  together:\n    device.sms: [1, 2]\n    workload.arrivals.gap: [1 ms]\n")
        message = self.refused("check", experiment)
        self.assertRegex(message, r"e\.yaml:\d+: key 'sweep.together.workload.arrivals.gap': found 1 values, expected 2, as device.sms has")

    def test_a_path_that_cannot_be_swept_is_refused(self):
        experiment = self.file("e.yaml", TINY + "sweep: {together: {name: [a, b]}}\n")
        self.assertIn("key 'sweep.name': found 'name', expected a path that begins with", self.refused("check", experiment))


class Seeds(Sweeps):
    PLAIN = TINY.replace("fcfs", "sjf, {name: rr, params: {quantum: 1 us}}").replace(
        "kernels:", "repeat: {jobs: 20, arrivals: {process: poisson, rate: 40000/s}}, kernels:") + "replications: 2\n"

    def test_each_point_has_its_seed(self):
        for seeds in ("[3, 1, 12]", "{from: 3, to: 12, step: 9}"):
            experiment = self.file("e.yaml", self.PLAIN + f"sweep: {{seed: {seeds}}}\n")
            with self.subTest(seeds=seeds):
                self.check_points(experiment, ["seed"], [(3,), (1,), (12,)] if "[" in seeds else [(3,), (12,)], self.PLAIN)
                shutil.rmtree(self.folder / "swept")
                shutil.rmtree(self.folder / "own-0")
                shutil.rmtree(self.folder / "own-1")

    def test_timelines_and_the_manifest(self):
        experiment = self.file("e.yaml", self.PLAIN + "sweep: {seed: [5, 6]}\n")
        self.gangway("run", experiment, "--out", "swept", "--trace")
        self.assertIsNone(manifest(self.folder / "swept")["seed"])
        self.file("plain.yaml", self.PLAIN)
        self.gangway("run", "plain.yaml", "--out", "own", "--trace", "--seed", 6)
        events = [read_trace(self.folder / out / f"trace/point-{point}-sjf-r0-p0.json.gz")["traceEvents"] for out, point in (("swept", 1), ("own", 0))]
        self.assertEqual(*events)

    def test_a_seed_on_the_command_line_is_refused(self):
        experiment = self.file("e.yaml", self.PLAIN + "sweep: {seed: [5, 6]}\n")
        self.assertEqual(self.refused("run", experiment, "--seed", 3, "--out", "out"),
                         "error: --seed: key 'seed': found a seed in addition to the sweep's, expected one or the other")

    def test_a_value_for_what_is_swept_is_refused(self):
        experiment = self.file("e.yaml", self.PLAIN + "sweep: {policies.rr.params.quantum: [1 us, 2 us]}\n")
        self.assertIn("error: --set: key 'policies.rr.params.quantum': found '3 us' for a path that the sweep varies, expected a path that it leaves alone",
                      self.refused("run", experiment, "--set", "policies.rr.params.quantum=3 us", "--out", "out"))
        self.gangway("run", experiment, "--set", "sweep.policies.rr.params.quantum=[3 us]", "--out", "out")

    def test_of_studies(self):
        study = self.file("s.yaml", STUDY.replace("generator.params.utilisation: [0.3, 0.9]", "seed: [5, 9]"))
        self.gangway("run", study, "--out", "swept")
        plain = self.file("plain.yaml", STUDY[:STUDY.index("sweep:")])
        self.gangway("run", plain, "--out", "own", "--seed", 9)
        for name in ("summary.csv", "bounds.csv", "tasks.csv"):
            swept = [{k: v for k, v in row.items() if k not in ("point", "seed")} for row in table(self.folder / "swept" / name) if row["seed"] == "9"]
            self.assertEqual(swept, [{k: v for k, v in row.items() if k != "point"} for row in table(self.folder / "own" / name)])
        self.assertIn("seed in addition to the sweep's", self.refused("run", study, "--seed", 3, "--out", "out"))


class Load(Sweeps):
    TEXT = TINY[:TINY.index("  clients:")] + """  clients:
    - {name: A, repeat: {jobs: 20, arrivals: {process: poisson, rate: RATE/s}}, kernels: [{name: k, block_tasks: 8, time: 10 us}]}
    - {name: B, arrive: 7 us, repeat: {jobs: 20, period: PERIOD us}, kernels: [{name: k, block_tasks: 8, time: 10 us}]}
    - {name: C, repeat: {jobs: 20, think: 30 us}, kernels: [{name: k, block_tasks: 8, time: 10 us}]}
    - {name: D, native: true, repeat: {jobs: 20, arrivals: {file: times.csv, unit: us, rate_scale: SCALE}},
       kernels: [{name: k, block_tasks: 8, time: 10 us}]}
device: titan-x-pascal
mechanism: ideal
policies: [fcfs, sjf]
"""

    def scaled(self, load):
        return self.TEXT.replace("RATE", str(20000 * load)).replace("PERIOD", str(60 / load)).replace("SCALE", str(load))

    def test_load_is_what_each_rate_would_be(self):
        self.file("times.csv", "at\n" + "".join(f"{40 * n}\n" for n in range(20)))
        swept = self.file("e.yaml", self.scaled(1) + "sweep: {workload.load: [0.5, 1, 2, 4]}\n")
        self.gangway("run", swept, "--out", "swept")
        for point, load in enumerate((0.5, 1, 2, 4)):
            with self.subTest(load=load):
                self.gangway("run", self.file("own.yaml", self.scaled(load)), "--out", f"own-{point}")
                self.assertEqual(self.rows("swept", point, ["workload.load"]), self.rows(f"own-{point}", 0))
        jobs = table(self.folder / "swept/services.csv")
        rates = [float(row["arrivals_per_s"]) for row in jobs if row["policy"] == "sjf" and row["client"] == "A"]
        self.assertGreater(rates[1], 1.5 * rates[0])

    def test_a_closed_loop_has_none(self):
        closed = TINY.replace("kernels:", "repeat: {jobs: 3, think: 1 us}, kernels:", 1)
        experiment = self.file("e.yaml", closed + "sweep: {workload.load: [1, 2]}\n")
        self.assertRegex(self.refused("check", experiment), r"key 'workload.load': found clients of which none has a period, releases, "
                         r"arrivals or a gap to the next, expected 1, as closed loops have no load to scale")

    def arrivals(self, experiment):
        """Of two points, with the load 1 and 2: all times at which a job arrived."""
        self.gangway("run", experiment, "--out", "swept")
        rows = table(self.folder / "swept/jobs.csv")
        return [sorted(int(row["arrival_ns"]) for row in rows if row["workload.load"] == load) for load in ("1", "2")]

    def test_clients_come_sooner_after_each_other(self):
        once, twice = self.arrivals(self.file("e.yaml", NO_SWEEP + "sweep: {workload.load: [1, 2]}\n"))
        self.assertEqual(twice, [arrival // 2 for arrival in once])
        self.assertGreater(once[-1], 0)

    def test_clients_that_are_drawn(self):
        drawn = "workload: {kind: workload, version: 1, name: drawn, generator: {name: log-uniform, params: {clients: 5}}}\n"
        text = TINY[:TINY.index("workload:")] + drawn + TINY[TINY.index("device:"):]
        once, twice = self.arrivals(self.file("e.yaml", text + "replications: 3\nsweep: {workload.load: [1, 2]}\n"))
        self.assertEqual(len(once), 15)
        for early, late in zip(twice, once):
            self.assertAlmostEqual(early, late / 2, delta=1)

    def test_recorded_programs(self):
        program(self.folder / "a.rec")
        text = recorded.replace("@CLIENTS@", "    - {name: A, recording: a.rec, repeat: {jobs: 4, period: 20 ms}}\n")
        once, twice = self.arrivals(self.file("e.yaml", text + "sweep: {workload.load: [1, 2]}\n"))
        self.assertEqual((once, twice), ([0, 20_000_000, 40_000_000, 60_000_000], [0, 10_000_000, 20_000_000, 30_000_000]))
        own_pace = self.file("own.yaml", recorded.replace("@CLIENTS@", "    - {name: A, recording: a.rec}\n") + "set: {workload.load: 2}\n")
        self.assertIn("closed loops have no load", self.refused("check", own_pace))


if __name__ == "__main__":
    unittest.main()
