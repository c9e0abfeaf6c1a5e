"""services.csv: when it is there, and each of its values computed anew from jobs.csv by the definitions of experiments/README.md."""

import math
import unittest

from program import TINY, ProgramTest, contents, manifest, table
from test_results import documented_columns, grouped, half_width, nearest_rank

WORKLOAD = """kind: workload
version: 1
name: services
clients:
  - name: web
    slo: 3 ms
    weight: 2
    repeat: {jobs: endless, arrivals: {process: poisson, rate: 300/s}}
    kernels: [{name: k, block_tasks: 800, time: 1 ms, eviction_delay: 50 us}]
  - name: bursts
    slo: 10 ms
    repeat: {jobs: endless, arrivals: {process: gamma, rate: 100/s, cv: 3}}
    kernels: [{name: k, block_tasks: 800, time: 2 ms, eviction_delay: 50 us}]
  - name: training
    repeat: {jobs: endless, think: 0 ms}
    kernels: [{name: k, block_tasks: 8000, time: 9 ms, eviction_delay: 200 us}]
"""
EXPERIMENT = """kind: experiment
version: 1
name: services
workload: ./w.yaml
device: titan-x-pascal
mechanism: flag-copy
policies: [edf, {name: stride, params: {quantum: 0.5 ms}}, fcfs, {name: piv, label: starving}]
horizon: 400 ms
replications: 3
seed: 2
"""
HORIZON = 400_000_000
SLO = {"web": 3_000_000, "bursts": 10_000_000, "training": None}
SHARES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}


def latency(job):
    return int(job["response_ns"] or HORIZON - int(job["arrival_ns"]))


def attainment(jobs, slo):
    """Met and missed; the rest is undecided."""
    met = sum(j["outcome"] == "finished" and latency(j) <= slo for j in jobs)
    return met, sum(latency(j) > slo for j in jobs)


def lower_bound(jobs, share):
    """Whether a percentile changes when unfinished jobs would have taken for ever."""
    known = [latency(j) for j in jobs]
    worst = [latency(j) if j["outcome"] == "finished" else math.inf for j in jobs]
    return nearest_rank(known, share) != nearest_rank(worst, share)


class Console(ProgramTest):
    SIGNS = {"": "", "at least": ">=", "at most": "<="}

    def rows(self, shown):
        lines = shown.split("\n\n")[1].splitlines()
        self.assertLessEqual(max(map(len, shown.splitlines())), 120)
        head = [title.strip() for title in lines[0].split("  ") if title.strip()]
        return head, [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines[1:]]

    def test_what_clients_are_judged_by(self):
        self.file("w.yaml", WORKLOAD.replace("name: training\n", "name: training\n    priority: 9\n"))
        head, shown = self.rows(self.gangway("run", self.file("e.yaml", EXPERIMENT), "--out", "out").stdout)
        self.assertEqual(head, ["point", "policy", "client", "p50 (ms)", "p99 (ms)", "slo (ms)", "attained", "jobs/s", "slowdown"])
        services = table(self.folder / "out/services.csv")
        slowdowns = {(row["policy"], row["client"]): row for row in table(self.folder / "out/clients.csv")}
        self.assertEqual(len(shown), len(services))
        for row, cells in zip(services, shown):
            self.assertEqual(cells[:3], [row["point"], row["policy"], row["client"]])

            def expect(cell, text, scale, bound="", unit=""):
                if not text:
                    return self.assertIn(cell, ("-", "starved"))
                value = float(text) * scale
                self.assertEqual(cell, bound + (f"{value:.0f}" if value >= 99.95 and not unit else f"{value:.2f}") + unit)

            lower = row["lower_bounds"].split("|")
            expect(cells[3], row["latency_ns_p50"], 1e-6, ">=" if "p50" in lower else "")
            expect(cells[4], row["latency_ns_p99"], 1e-6, ">=" if "p99" in lower else "")
            expect(cells[5], row["slo_ns"], 1e-6)
            expect(cells[6], row["attainment"], 100, unit=" %")
            expect(cells[7], row["throughput_per_s"], 1)
            own = slowdowns[row["policy"], row["client"]]
            expect(cells[8], own["ntt"], 1, ">=" if "ntt" in own["lower_bounds"].split("|") else "")
        self.assertIn("starved", [cells[8] for cells in shown])

    def test_without_objectives_and_without_services(self):
        without = WORKLOAD.replace("    slo: 3 ms\n", "").replace("    slo: 10 ms\n", "")
        self.file("w.yaml", without)
        head, _ = self.rows(self.gangway("run", self.file("e.yaml", EXPERIMENT.replace("edf, ", "")), "--out", "out").stdout)
        self.assertEqual(head[3:], ["p50 (ms)", "p99 (ms)", "jobs/s", "slowdown"])
        shown = self.gangway("run", self.file("tiny.yaml", TINY), "--out", "tiny").stdout
        self.assertNotIn("p99", shown)
        self.assertRegex(shown, r"\nplayed 1 job, \d+ events in [\d.]+ s on \d+ threads?; results in tiny\n\Z")


class Services(ProgramTest):
    def run_services(self, more="", workload=WORKLOAD, experiment=EXPERIMENT, out="out"):
        self.file("w.yaml", workload)
        self.gangway("run", self.file("e.yaml", experiment + more), "--out", out)
        return self.folder / out

    def test_every_value_follows_from_the_jobs(self):
        # Under piv the training is the most urgent, so nobody else gets the GPU.
        out = self.run_services(workload=WORKLOAD.replace("name: training\n", "name: training\n    priority: 9\n"))
        columns = (out / "services.csv").read_text().split("\n")[0].split(",")
        self.assertEqual(columns, documented_columns("services.csv"))
        rows = grouped(table(out / "services.csv"), "policy", "client")
        jobs = grouped(table(out / "jobs.csv"), "policy", "client")
        clients = grouped(table(out / "clients.csv"), "policy", "client")
        self.assertEqual(sorted(rows), sorted(clients))
        bounded = 0
        for key, (row,) in rows.items():
            with self.subTest(key):
                own = jobs.get(key, [])
                (client,) = clients[key]
                for column in ("jobs", "unfinished", "starved_runs"):
                    self.assertEqual(row[column], client[column])
                bounded += self.check_latencies(row, own)
                self.check_attainment(row, own, SLO[key[1]])
                self.check_rates(row, own)
        self.assertGreater(bounded, 0, "no percentile was a lower bound")

    def test_each_replication_by_itself(self):
        out = self.run_services(workload=WORKLOAD.replace("name: training\n", "name: training\n    priority: 9\n"))
        columns = (out / "service_replications.csv").read_text().split("\n")[0].split(",")
        self.assertEqual(columns, documented_columns("service_replications.csv"))
        jobs = grouped(table(out / "jobs.csv"), "policy", "client", "replication")
        alone = grouped(table(out / "service_replications.csv"), "policy", "client", "replication")
        self.assertEqual(len(alone), len(table(out / "services.csv")) * len({key[2] for key in alone}))
        for key, (row,) in alone.items():
            own = jobs.get(key, [])
            with self.subTest(key):
                starved = row["starved_runs"] != "0"
                self.assertEqual(starved, not any(job["outcome"] == "finished" for job in own))
                for name, share in {} if starved else SHARES.items():
                    self.assertEqual(float(row[f"latency_ns_{name}"]), nearest_rank([latency(job) for job in own], share))
                    self.assertEqual(name in row["lower_bounds"].split("|"), lower_bound(own, share))
                if SLO[key[1]] is not None:
                    met, missed = attainment(own, SLO[key[1]])
                    self.assertEqual([int(row["slo_met"]), int(row["slo_missed"])], [met, missed])
        services = grouped(table(out / "services.csv"), "policy", "client")
        for key, rows in grouped(table(out / "service_replications.csv"), "policy", "client").items():
            mean = sum(float(row["throughput_per_s"]) for row in rows) / len(rows)
            self.assertAlmostEqual(mean, float(services[key][0]["throughput_per_s"]))

    def check_latencies(self, row, jobs):
        if row["starved_runs"] != "0":
            self.assertTrue(all(row[f"latency_ns_{name}"] == row[f"latency_ns_{name}_ci95"] == "" for name in SHARES))
            return 0
        bounds = [name for name, share in SHARES.items() if lower_bound(jobs, share)]
        self.assertEqual(row["lower_bounds"], "|".join(bounds))
        replications = grouped(jobs, "replication").values()
        for name, share in SHARES.items():
            self.assertEqual(float(row[f"latency_ns_{name}"]), nearest_rank([latency(j) for j in jobs], share))
            each = [nearest_rank([latency(j) for j in own], share) for own in replications]
            if any(lower_bound(own, share) for own in replications):
                self.assertEqual(row[f"latency_ns_{name}_ci95"], "")
            else:
                self.assertAlmostEqual(float(row[f"latency_ns_{name}_ci95"]), half_width(each), delta=1e-6 * half_width(each))
        return len(bounds)

    def check_attainment(self, row, jobs, slo):
        if slo is None:
            for column in ("slo_ns", "attainment", "attainment_ci95", "slo_met", "slo_missed", "slo_undecided"):
                self.assertEqual(row[column], "", column)
            return
        met, missed = attainment(jobs, slo)
        self.assertEqual([int(row[c]) for c in ("slo_ns", "slo_met", "slo_missed", "slo_undecided")],
                         [slo, met, missed, len(jobs) - met - missed])
        self.assertAlmostEqual(float(row["attainment"]), met / (met + missed))
        each = [attainment(own, slo) for own in grouped(jobs, "replication").values()]
        self.assertAlmostEqual(float(row["attainment_ci95"]), half_width([m / (m + n) for m, n in each]))

    def check_rates(self, row, jobs):
        # Of every run the window ends with the run, as jobs are unfinished; it begins with the training's release at 0.
        for column, count in (("arrivals_per_s", len(jobs)), ("throughput_per_s", sum(j["outcome"] == "finished" for j in jobs))):
            self.assertAlmostEqual(float(row[column]), count / 3 / HORIZON * 1e9)
        self.assertAlmostEqual(float(row["queue_mean"]), sum(map(latency, jobs)) / 3 / HORIZON)
        self.assertAlmostEqual(float(row["gpu_share"]), float(row["gpu_time_ns"]) / HORIZON)
        most = 0
        for own in grouped(jobs, "replication").values():
            steps = sorted([(int(j["arrival_ns"]), 1) for j in own] + [(int(j["arrival_ns"]) + latency(j), -1) for j in own])
            length = 0
            for _, step in steps:
                length += step
                most = max(most, length)
        self.assertEqual(int(row["queue_max"]), most)

    def test_who_starves_looks_bad(self):
        out = self.run_services(workload=WORKLOAD.replace("name: training\n", "name: training\n    priority: 9\n"))
        rows = {(row["policy"], row["client"]): row for row in table(out / "services.csv")}
        web = rows["starving", "web"]
        self.assertEqual((web["jobs"], web["starved_runs"], web["latency_ns_p50"], web["lower_bounds"]), ("0", "3", "", ""))
        self.assertEqual((web["attainment"], web["throughput_per_s"], web["gpu_share"], web["share_against_weight"]), ("0", "0", "0", "0"))
        self.assertGreater(float(rows["edf", "web"]["attainment"]), 0.9)

    def test_weights_are_met_where_work_never_ends(self):
        busy = WORKLOAD.split("  - name: web")[0] + "".join(
            f"  - name: w{weight}\n    weight: {weight}\n    repeat: {{jobs: endless, think: 0 ms}}\n"
            f"    kernels: [{{name: k, block_tasks: 8000, time: 20 ms, eviction_delay: 50 us}}]\n" for weight in (1, 2, 5))
        out = self.run_services(workload=busy, experiment=EXPERIMENT.replace("400 ms", "2 s"))
        for row in table(out / "services.csv"):
            if row["policy"] == "stride":
                self.assertAlmostEqual(float(row["share_against_weight"]), 1, delta=0.02)
            if row["policy"] == "fcfs":
                self.assertNotAlmostEqual(float(row["share_against_weight"]), 1, delta=0.1)

    def test_it_is_written_where_a_client_is_a_service_or_it_is_asked_for(self):
        client = "{name: A, kernels: ["
        for change, there in (("", False), ("slo: 1 ms, ", True), ("weight: 2, ", True), ("weight: 1, ", False),
                              ("repeat: {jobs: 2, arrivals: {process: fixed, rate: 1/s}}, ", True)):
            text = TINY.replace(client, client.replace("kernels", change + "kernels"))
            for more, wanted in (("", there), ("services: true\n", True), ("services: false\n", False)):
                self.gangway("run", self.file("e.yaml", text + more), "--out", "out", "--force")
                self.assertEqual((self.folder / "out/services.csv").exists(), wanted, change + more)
                self.assertEqual("services.csv" in str(manifest(self.folder / "out")["files"]), wanted)

    def test_a_table_that_was_lost_or_changed_is_made_anew(self):
        out = self.run_services()
        before = contents(out)
        (out / "services.csv").unlink()
        self.gangway("run", "e.yaml", "--out", "out")
        self.assert_same_files(contents(out), before)
        (out / "services.csv").write_text("changed\n")
        self.gangway("run", "e.yaml", "--out", "out")
        self.assert_same_files(contents(out), before)

    def test_values_of_services_can_be_published(self):
        published = "published: [{figure: f, policy: edf, client: web, metric: attainment, relation: '>', published: 0.5, class: order}]\n"
        (row,) = table(self.run_services(more=published) / "published.csv")
        self.assertEqual(row["verdict"], "pass")


if __name__ == "__main__":
    unittest.main()
