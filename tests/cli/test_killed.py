"""Jobs that never end, clients that are killed for it, and clients that have no job at all in a run."""

import unittest

from program import ProgramTest, table

DEVICE = """device: {kind: device, version: 1, name: d, source: x, sms: 4, sm: {threads: 2048, blocks: 32, registers: 65536,
    shared_memory: 96 KiB}, copy: {h2d: {bandwidth: 12 GB/s, latency: 8 us}, d2h: {bandwidth: 12 GB/s, latency: 8 us}}, arbitration: direct,
  access: {turns: queue}}
mechanism: ideal
"""
KERNEL = "kernels: [{name: k, block_tasks: 1000, time: 1 ms, block: [256]%s}]"

# The first client's job 30 never ends; its jobs come when the one before is done.
ENDLESS = f"""kind: experiment
version: 1
name: endless
workload:
  kind: workload
  version: 1
  name: two
  clients:
    - {{name: endless, repeat: {{jobs: 100, think: 0 ns}}, {KERNEL % ', never_ends: 30'}}}
    - {{name: honest, repeat: {{jobs: 100, think: 0 ns}}, {KERNEL % ''}}}
{DEVICE}"""
KILLING = "policies: [{name: timeslice, params: {slice: 1 ms, limit: 2 ms}}]\n"

# Likewise with 200 requests a second: killed after 150 ms of 10 s.
SERVICE = ENDLESS.replace("repeat: {jobs: 100, think: 0 ns}", "slo: 50 ms, repeat: {jobs: 1000, arrivals: {process: fixed, rate: 200/s}}", 1)

# One request in 50 ms on average: in some runs of 100 ms there is none.
RARE = f"""kind: experiment
version: 1
name: rare
workload:
  kind: workload
  version: 1
  name: two
  clients:
    - {{name: busy, repeat: {{jobs: endless, period: 10 ms}}, {KERNEL % ''}}}
    - {{name: rare, slo: 50 ms, repeat: {{jobs: endless, arrivals: {{process: poisson, rate: 20/s}}}}, {KERNEL % ''}}}
{DEVICE.replace(', arbitration: direct,', '}').replace('  access: {turns: queue}}', '')}policies: [fcfs]
horizon: 100 ms
replications: 20
seed: 2
"""


def mean(values):
    values = list(values)
    return sum(values) / len(values)


class Killed(ProgramTest):
    def played(self, text, *names, code=0):
        """The output, and the tables."""
        done = self.gangway("run", self.file("e.yaml", text), "--out", "out", "--force", code=code)
        return done, *(table(self.folder / "out" / f"{name}.csv") for name in names)

    def test_what_nothing_ends_needs_a_horizon(self):
        text = ENDLESS + KILLING.replace("[", "[passthrough, ")
        done, summary = self.played(text, "summary", code=1)
        error = "client endless: job 30 never ends, and nothing else can happen after"
        lines = [line for line in done.stderr.splitlines() if error in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], r"^error: .*passthrough.* such a run needs a `horizon`$")
        self.assertNotIn("\n  ", done.stderr)  # no history
        passthrough, killing = summary
        self.assertIn(error, passthrough["error"])
        self.assertEqual((passthrough["antt"], killing["error"], killing["unfinished"]), ("", "", "1"))
        _, summary = self.played(text + "horizon: 1 s\n", "summary")
        self.assertEqual({row.get("error", "") for row in summary}, {""})
        self.assertEqual(summary[0]["understated"], "endless|honest")

    def test_a_killed_client_makes_averages_bounds(self):
        published = """published:
  - {figure: f, policy: timeslice, client: honest, metric: ntt, published: 1, relation: ">", class: order}
  - {figure: f, policy: timeslice, metric: antt, published: 1, relation: "<", class: order}
replications: 2
"""
        done, summary, clients, jobs, values = self.played(ENDLESS + KILLING + published, "summary", "clients", "jobs", "published")
        (row,) = summary
        self.assertEqual((row["understated"], row["antt_ci95"], row["percentiles"], row["p99_response_ns_most"]),
                         ("endless", "", "lower-bound", ""))
        self.assertRegex(done.stdout, r">=1\.\d+ +~0\.\d+ +<=1\.\d+ .*\n +bounds, as jobs are unfinished or killed: endless\n")
        endless, honest = clients
        self.assertEqual((endless["jobs"], endless["unfinished"], endless["percentiles"]), ("60", "2", "lower-bound"))
        self.assertEqual(endless["lower_bounds"], "ntt|response_ns_mean|waiting_ns_mean")
        self.assertEqual((honest["lower_bounds"], honest["percentiles"]), ("", "exact"))
        counted = {"endless": 60 + 2, "honest": 200}
        waited = sum(float(client["waiting_ns_mean"]) * counted[client["client"]] for client in clients) / sum(counted.values())
        self.assertAlmostEqual(float(row["waiting_ns_mean"]) / waited, 1, delta=1e-9)
        ends = [job["outcome"] for job in jobs if job["client"] == "endless"]
        self.assertEqual((ends.count("killed"), ends.count("finished")), (2, 60))
        self.assertGreaterEqual(float(endless["ntt"]), mean(float(job["ntt"]) for job in jobs if job["client"] == "endless" and job["ntt"]))
        self.assertEqual([(value["verdict"], value["bound"], value["note"]) for value in values],
                         [("pass", "", ""), ("miss", "at least", "unfinished or killed jobs of endless")])

    def test_a_makespan_that_killing_made_short_is_not_better(self):
        for name, limit in (("patient", "20 ms"), ("strict", "2 ms")):
            self.gangway("run", self.file("e.yaml", SERVICE + KILLING.replace("2 ms", limit) + "horizon: 10 s\nreplications: 3\n"), "--out", name)
        said = self.gangway("compare", "patient", "strict").stdout
        self.assertRegex(said, r"makespan .* not tested: a lower bound in 3 of 3 replications of A\n")

    def test_a_killed_service_does_not_look_fine(self):
        _, services = self.played(SERVICE + KILLING + "horizon: 10 s\nreplications: 2\n", "services")
        endless, honest = services
        self.assertEqual(endless["lower_bounds"], "p50|p90|p95|p99|p999|queue_mean|queue_max")
        self.assertEqual(endless["upper_bounds"], "attainment|throughput_per_s")
        for column in ("latency_ns_p99_most", "latency_ns_p50_ci95", "attainment_ci95", "throughput_per_s_ci95", "queue_mean_ci95"):
            self.assertEqual(endless[column], "", column)
        self.assertEqual((honest["lower_bounds"], honest["upper_bounds"]), ("", ""))
        published = 'published: [{figure: f, policy: timeslice, client: endless, metric: attainment, relation: ">", published: 0.5, class: order}]\n'
        _, (value,) = self.played(SERVICE + KILLING + "horizon: 10 s\n" + published, "published")
        self.assertEqual((value["verdict"], value["bound"]), ("miss", "at most"))

    def test_a_client_without_a_request_in_a_run_does_not_starve(self):
        _, summary, clients, replications, jobs, services = self.played(RARE, "summary", "clients", "replications", "jobs", "services")
        own = {number: {job["client"] for job in jobs if job["replication"] == str(number)} for number in range(20)}
        absent = [number for number, found in own.items() if "rare" not in found]
        self.assertTrue(absent, "no such run")
        (row,) = summary
        self.assertEqual(row["starved"], "")
        busy, rare = clients
        self.assertEqual(rare["starved_runs"], "0")
        each = [mean(float(job["ntt"]) for job in jobs if job["replication"] == str(number) and job["client"] == "rare" and job["ntt"])
                for number in own if number not in absent]
        self.assertAlmostEqual(float(rare["ntt"]), mean(each), delta=1e-9)
        for number in absent:
            alone = [float(job["ntt"]) for job in jobs if job["replication"] == str(number) and job["ntt"]]
            self.assertAlmostEqual(float(replications[number]["antt"]), mean(alone), delta=1e-9)
            self.assertAlmostEqual(float(replications[number]["stp"]), 1 / mean(alone), delta=1e-9)
        self.assertAlmostEqual(float(row["antt"]), mean(float(each["antt"]) for each in replications), delta=1e-9)
        self.assertNotEqual(services[1]["share_against_weight"], "")
        self.assertNotEqual(services[1]["attainment_ci95"], "")


if __name__ == "__main__":
    unittest.main()
