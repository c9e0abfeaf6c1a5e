"""The experiments for a GPU, predicted, and on CPU cores with little kernels."""

import pathlib
import subprocess
import unittest

from program import GANGWAY, ProgramTest, table

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "experiments/chip"
# What makes each little enough for a core: kernels, device, and what only a GPU can play left out.
KERNELS = ["workload=host-kernels", "device=k40m", "workload.arrivals.gap=2 ms"]
ON_HOST = {
    "effisha-fig10": [*KERNELS, "replications=1"],
    "effisha-fig10-lengths": [f"workload.clients.{us}-us.kernels.{us}-us.block_tasks={20_000 // us}" for us in (2, 5, 10, 20, 50, 100, 200)]
                     + [f"workload.clients.{us}-us.arrive=0 ms" for us in (2, 5, 10, 20, 50, 100, 200)],
    "effisha-fig11": [*KERNELS, "replications=1", "published=[]", "sweep={policies.pkm.params.latency: [1 ms, 0.1 ms]}"],
    "effisha-fig12": ["policies=[fcfs, piv, dprr]", "published=[]", "permutations=1"],
    "effisha-fig13": ["horizon=150 ms", "sweep={workload.clients.urgent.repeat.think: [1 ms]}"],
    "effisha-fig13-native": ["policies=[{name: fcfs, label: no-eviction}, piv, {name: pkm, params: {latency: 0.1 ms}, mechanism: slice}]"]
                            + [f"workload.clients.{us}-us.kernels.{us}-us.block_tasks={20_000 // us}" for us in (20, 50, 100, 200)]
                            + [f"workload.clients.{us}-us.kernels.{us}-us.measured.in_step=1" for us in (50, 100, 200)],
    "microkernels": [*KERNELS, "policies=[{name: fcfs, label: one-by-one}, {name: microkernel-rr, params: {state: resident}}]", "permutations=1",
                     "sweep={policies.microkernel-rr.params.slice: [1 ms, 0.1 ms]}"],
}


class Chip(ProgramTest):
    def play(self, name, world, *settings):
        out = self.folder / f"{name}-{world}"
        settings = [word for setting in settings for word in ("--set", setting)]
        done = subprocess.run([GANGWAY, "run", FOLDER / f"{name}.yaml", "--world", world, "--out", out, *settings], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return out

    def test_every_file_plays_in_both_worlds(self):
        self.assertEqual({file.stem for file in FOLDER.glob("*.yaml") if not file.stem.startswith("frs-")}, set(ON_HOST))
        for name, settings in ON_HOST.items():
            with self.subTest(name=name):
                predicted = self.play(name, "sim")
                played = self.play(name, "host", *settings)
                for out in (predicted, played):
                    rows = table(out / "jobs.csv")
                    finished = [row for row in rows if row["outcome"] == "finished"]
                    self.assertGreater(len(finished), 0)
                    if not name.startswith("effisha-fig13"):  # they end at a horizon
                        self.assertEqual(len(finished), len(rows))
                    for row in table(out / "published.csv"):
                        self.assertEqual((row["class"], row["verdict"]), ("open", "shown"))

    def summary(self, out, column):
        return {row["policy"]: float(row[column]) for row in table(out / "summary.csv")}

    def test_fewer_looks_cost_less(self):
        # The latter's forms cost 7 % without a look, and its original blocks of 2 us follow each other late.
        for name, most, original in (("effisha-fig10", 1.05, 1.01), ("effisha-fig10-lengths", 1.1, 1.04)):
            antt = self.summary(self.play(name, "sim"), "antt")
            self.assertGreater(antt["basic"], 10 * antt["proxy"])
            self.assertGreater(antt["proxy"], antt["effisha"])
            self.assertLess(antt["effisha"], most)
            self.assertLess(antt["original"], original)

    def test_slices_that_leave_sooner_cost_more(self):
        antt = [float(row["antt"]) for row in table(self.play("effisha-fig11", "sim") / "summary.csv")]
        self.assertEqual(antt, sorted(antt))
        self.assertGreater(antt[-1], antt[0] + 0.05)

    def test_longer_block_tasks_leave_later_unless_they_are_in_step(self):
        rows = table(self.play("effisha-fig13", "sim") / "clients.csv")
        for policy in ("proxy", "flag-copy", "write-value"):
            delay = {row["client"]: float(row["eviction_delay_ns_mean"]) for row in rows
                     if row["policy"] == policy and row["point"] == "0" and row["client"] != "urgent"}
            spread = [delay[f"{us}-us"] for us in (2, 5, 10, 20)]
            self.assertEqual(spread, sorted(spread))
            self.assertLess(spread[0], 20_000)
            self.assertGreater(spread[3], 20_000)
            for us in (50, 100, 200):  # mostly at the end of a round, never later than in a whole one
                self.assertLess(delay[f"{us}-us"], us * 1000)


if __name__ == "__main__":
    unittest.main()
