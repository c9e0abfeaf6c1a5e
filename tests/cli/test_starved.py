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

# Under piv the long client finishes one job of 40 in 85 ms: the others wait until the end, at 2 s.
NEARLY = """kind: experiment
version: 1
name: nearly
workload:
  kind: workload
  version: 1
  name: two
  jitter: {arrival: 10 us}
  clients:
    - {name: long, repeat: {jobs: endless, period: 50 ms}, kernels: [{name: k, block_tasks: 100, time: 40 ms}]}
    - {name: short, priority: 5, arrive: 45 ms, repeat: {jobs: endless, period: 10 ms}, kernels: [{name: k, block_tasks: 100, time: 10 ms}]}
device: {kind: device, version: 1, name: d, layout: pool, m: 4096}
mechanism: ideal
policies: [fcfs, {name: rr, params: {quantum: 1 ms}}, piv]
horizon: 2 s
replications: 5
published:
  - {figure: f, policy: rr, client: long, metric: response_ns_p99, published: 1.1 s, class: order, relation: "<"}
  - {figure: f, policy: piv, client: long, metric: ntt, published: 1, class: tight}
  - {figure: f, policy: piv, metric: antt, published: 2, class: order, relation: ">"}
  - {figure: f, policy: piv, metric: stp, published: 2, class: tight}
"""

# Each alone, at its own pace.
UNDISTURBED = """kind: experiment
version: 1
name: undisturbed
workload:
  kind: workload
  version: 1
  name: w
  clients:
    - {name: periodic, repeat: {jobs: 100, period: 10 ms}, kernels: [{name: k, block_tasks: 100, time: 1 ms}]}
    - {name: thinking, repeat: {jobs: 100, think: 9 ms}, kernels: [{name: k, block_tasks: 100, time: 1 ms}]}
    - {name: listed, repeat: {releases: [0 ms, 10 ms, 40 ms]}, kernels: [{name: k, block_tasks: 100, time: 1 ms}]}
    - {name: random, repeat: {jobs: 1000, arrivals: {process: poisson, rate: 100/s}}, kernels: [{name: k, block_tasks: 100, time: 1 ms}]}
    - {name: busy, repeat: {jobs: 100, period: 0.5 ms}, kernels: [{name: k, block_tasks: 100, time: 1 ms}]}
device: {kind: device, version: 1, name: d, layout: pool, m: 4096}
mechanism: ideal
policies: [fcfs]
sweep:
  clients: [[periodic], [thinking], [listed], [random], [busy]]
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
        self.assertIn(line + "\n       finished nothing in some run: batch\n", shown)
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

    def test_a_client_that_nearly_starves_makes_averages_bounds(self):
        shown = self.run_into("a", NEARLY)
        piv = next(row for row in self.rows("a/summary.csv") if row["policy"] == "piv")
        long = next(row for row in self.rows("a/clients.csv") if (row["policy"], row["client"]) == ("piv", "long"))
        self.assertEqual((long["jobs"], long["unfinished"], long["lower_bounds"]), ("5", "195", "ntt|response_ns_mean|waiting_ns_mean"))
        # Jobs 1 to 39, released every 50 ms, are 1.95 s to 0.05 s old in the end, 1 s on average; job 0 took 40 ms. The jitter is 10 us.
        self.assertAlmostEqual(float(long["response_ns_mean"]) / 1e6, (39 * 1000 + 40) / 40, delta=0.02)
        self.assertAlmostEqual(float(long["ntt"]), (39 * 1000 + 40) / 40 / 40, delta=0.001)
        self.assertAlmostEqual(float(piv["antt"]), (float(long["ntt"]) + 1) / 2, delta=0.001)
        self.assertEqual((piv["understated"], piv["antt_ci95"]), ("long", ""))
        line = next(line for line in shown.splitlines() if " piv " in line)
        self.assertRegex(line, r">=12\.\d+ +~11\.\d+ +<=1\.04\d ")
        self.assertIn(line + "\n       bounds, as jobs are unfinished or killed: long\n", shown)

    def test_a_bound_proves_what_it_can(self):
        self.run_into("a", NEARLY)
        published = [(row["verdict"], row["bound"], row["note"]) for row in self.rows("a/published.csv")]
        self.assertEqual(published, [("miss", "at least", "unfinished or killed jobs of long|short could change the verdict"),
                                     ("miss", "at least", "unfinished or killed jobs of long|short"),
                                     ("pass", "at least", "unfinished or killed jobs of long|short"),
                                     ("miss", "at most", "unfinished or killed jobs of long|short")])
        got = json.loads(self.gangway("compare", "a", "--baseline", "rr", "--json").stdout)
        of_piv = {row["metric"]: (row["finding"], row["words"]) for row in got["rows"] if row["policy"] == "piv"}
        self.assertEqual(of_piv["antt"], ("untested", "not tested: a lower bound in 5 of 5 replications of rr"))
        self.assertEqual(of_piv["stp"], ("untested", "not tested: an upper bound in 5 of 5 replications of rr"))
        self.assertEqual(of_piv["dntt"], ("untested", "not tested: open because of unfinished or killed jobs in 5 of 5 replications of rr"))
        self.assertEqual(got["understated"], {"fcfs": ["short"], "piv": ["long"], "rr": ["long", "short"]})
        self.assertIn("piv: unfinished or killed jobs of long make its averages bounds.", self.gangway("compare", "a", "--baseline", "rr").stdout)

    def test_an_undisturbed_client_is_efficient_at_whatever_pace(self):
        self.run_into("a", UNDISTURBED)
        efficiency = {row["clients"]: float(row["concurrency_efficiency"]) for row in self.rows("a/summary.csv")}
        self.assertEqual(set(efficiency), {"periodic", "thinking", "listed", "random", "busy"})
        for client, value in efficiency.items():
            self.assertAlmostEqual(value, 1, delta=0.001, msg=client)

    def test_the_utilisation_of_a_run_cut_short(self):
        self.run_into("a", SHORT)
        row = table(self.folder / "a/summary.csv")[0]
        self.assertEqual(row["starved"], "b|c")
        self.assertEqual(float(row["makespan_ns"]), 1e9)
        self.assertTrue(0.9 < float(row["utilisation"]) <= 1)


if __name__ == "__main__":
    unittest.main()
