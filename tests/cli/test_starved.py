"""Cells in which a client finishes nothing: no averages, the client named, in every output."""

import json
import unittest

from program import ProgramTest, table

# A client with a job every 5 ms, more urgent than one whose only job takes 40 s, in runs of 2 s.
STARVING = """kind: experiment
version: 1
name: starving
workload:
  kind: workload
  version: 1
  name: two
  clients:
    - {name: frames, priority: 9, arrive: 0 ms, repeat: {jobs: endless, period: 5 ms}, kernels: [{name: k, block_tasks: 1000, time: 1 ms}]}
    - {name: batch, arrive: 0 ms, kernels: [{name: k, block_tasks: 100000, time: %s}]}
device: titan-x-pascal
mechanism: flag-copy
policies: [piv, rr]
horizon: 2 s
replications: 2
published:
  - {figure: f, policy: piv, metric: antt, published: 1.1, class: tight}
  - {figure: f, policy: piv, client: frames, metric: ntt, published: 1.1, class: moderate}
"""

# 5 ms, 5 s and 5 s in turns, for one second.
SHORT = """kind: experiment
version: 1
name: short
workload:
  kind: workload
  version: 1
  name: three
  clients:
    - {name: a, arrive: 0 ms, kernels: [{name: k, block_tasks: 100, time: 5 ms}]}
    - {name: b, arrive: 0 ms, kernels: [{name: k, block_tasks: 100000, time: 5 s}]}
    - {name: c, arrive: 0 ms, kernels: [{name: k, block_tasks: 100000, time: 5 s}]}
device: titan-x-pascal
mechanism: flag-copy
policies: [rr]
horizon: 1 s
"""

AVERAGES = ["antt", "antt_ci95", "dntt", "dntt_ci95", "stp", "stp_ci95", "jain", "waiting_ns_mean", "concurrency_efficiency"]


class Starved(ProgramTest):
    def run_into(self, out, text):
        return self.gangway("run", self.file(f"{out}.yaml", text), "--out", out).stdout

    def rows(self, file):
        return table(self.folder / file)

    def test_a_starved_cell_has_no_averages(self):
        shown = self.run_into("a", STARVING % "40 s")
        for row in table(self.folder / "a/summary.csv"):
            self.assertEqual(row["starved"], "batch")
            self.assertEqual([row[name] for name in AVERAGES], [""] * len(AVERAGES))
            self.assertLessEqual(float(row["utilisation"]), 1)
            self.assertGreater(int(row["unfinished"]), 1)
        batch = next(row for row in table(self.folder / "a/clients.csv") if row["client"] == "batch")
        self.assertEqual([batch[name] for name in ("ntt", "response_ns_mean", "response_ns_p99", "percentiles")], [""] * 4)
        self.assertEqual((batch["jobs"], batch["unfinished"], batch["starved_runs"]), ("0", "2", "2"))
        line = next(line for line in shown.splitlines() if " piv " in line)
        self.assertEqual(line.split()[2:5], ["starved", "-", "-"])
        self.assertTrue(line.endswith("finished nothing in some run: batch"), line)
        self.assertIn("unfinished", shown.splitlines()[0])

    def test_what_is_published_of_a_starved_cell_is_missed(self):
        self.run_into("a", STARVING % "40 s")
        of_all, of_frames = self.rows("a/published.csv")
        self.assertEqual((of_all["measured"], of_all["verdict"], of_all["note"]), ("", "miss", "starved: batch"))
        self.assertNotEqual(of_frames["measured"], "")
        self.assertEqual(of_frames["note"], "")

    def test_comparison_names_the_starved_and_never_ranks_them_best(self):
        self.run_into("a", STARVING % "40 s")
        self.run_into("b", STARVING % "0.4 s")
        got = json.loads(self.gangway("compare", "a", "b", "--json").stdout)
        self.assertEqual([group["starved"] for group in got["groups"]], [{"predicted": ["batch"], "measured": []}] * 2)
        ranking = got["rankings"][0]
        self.assertEqual((ranking["predicted"], ranking["starved"]), ([], {"predicted": ["piv", "rr"], "measured": []}))
        self.assertIn("not tested: batch finished nothing in 2 of 2 replications of A", self.gangway("compare", "a", "b").stdout)
        refused = self.gangway("compare", "a", "b", "--fail-above", "antt=1000", code=1)
        self.assertIn("starved at point 0 under piv: predicted batch; measured nobody", refused.stdout)
        self.assertIn("error: antt is inf, above 1000", refused.stderr)

    def test_the_utilisation_of_a_run_cut_short(self):
        self.run_into("a", SHORT)
        row = table(self.folder / "a/summary.csv")[0]
        self.assertEqual(row["starved"], "b|c")
        self.assertEqual(float(row["makespan_ns"]), 1e9)
        self.assertTrue(0.9 < float(row["utilisation"]) <= 1)


if __name__ == "__main__":
    unittest.main()
