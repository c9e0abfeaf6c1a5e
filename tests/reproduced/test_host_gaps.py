"""Gaps of a microsecond between kernels: what experiments/host-gaps/README.md says of them."""

import json
import unittest

from reproduction import ROOT, Reproduction


class HostGaps(Reproduction):
    PAPER = "host-gaps"

    def results(self):
        """By policy: requests done, their mean response in ms, training steps, evictions, and whether the mean is a lower bound."""
        evictions = {row["policy"]: float(row["evictions"]) for row in self.rows("summary.csv")}
        clients = {(row["policy"], row["client"]): row for row in self.rows("clients.csv")}
        return {policy: (int(clients[policy, "service"]["jobs"]), float(clients[policy, "service"]["response_ns_mean"] or 0) / 1e6,
                         int(clients[policy, "training"]["jobs"]), evictions[policy],
                         "response_ns_mean" in clients[policy, "service"]["lower_bounds"]) for policy in evictions}

    def test_the_table_on_the_page(self):
        self.run_experiment("linger")
        results = self.results()

        def cells(requests, response, steps, evictions, least):
            late = f", {'≥' * least}{response:.1f} ms" if requests > 11 else ""  # of these means are given
            return f"{requests}{late} | {steps} | {evictions:,.0f}"

        page = (ROOT / "experiments/host-gaps/README.md").read_text()
        for policy in ("piv", "sjf", "srt", "fcfs", "rr", "cfs", "frs", "dprr", "pkm"):
            self.assertIn(f"{cells(*results[policy])} | {cells(*results[policy + '-linger'])} |", page)

    def test_who_loses_half_of_the_time_is_told_what_to_try(self):
        warnings = [line for line in self.run_experiment("linger").splitlines() if line.startswith("warning")]
        self.assertEqual(len(warnings), 1)
        self.assertRegex(warnings[0], "launches and reports take 55 % of the time at point 0 under piv .*params.linger='5 us'")
        self.assertEqual(json.loads((self.out / "manifest.json").read_text(encoding="utf-8"))["warnings"], warnings)
        rows = {row["policy"]: row for row in self.rows("summary.csv")}
        for row in rows.values():
            self.assertGreaterEqual(float(row["switching"]), 0)
            self.assertLessEqual(float(row["switching"]), 1)
        self.assertGreater(float(rows["piv"]["switching"]), 1.5 * float(rows["piv-linger"]["switching"]))

    def test_whoever_owns_the_gpu_for_whole_jobs_is_not_told_to_linger(self):
        said = self.run_experiment("linger", "--set", "grant=job", "--set", "policies=[piv]")
        [warning] = [line for line in said.splitlines() if line.startswith("warning")]
        self.assertRegex(warning, r"the owner has nothing on the GPU \d+ % of the time at point 0 under piv .*its host computes")
        self.assertNotIn("linger", warning)

    def test_where_launches_cost_little_nothing_is_said(self):
        self.assertNotIn("warning", self.run_experiment("../frs/fig3"))

    def test_with_a_linger_gaps_hardly_matter(self):
        self.run_experiment("linger")
        with_gaps = self.results()
        self.run_experiment("linger", "--set", "workload.clients.service.kernels.convolution.gap=0 us",
                            "--set", "workload.clients.service.kernels.activation.gap=0 us")
        without = self.results()
        for policy in ("piv", "sjf", "pkm"):
            self.assertAlmostEqual(with_gaps[policy + "-linger"][1], without[policy][1], delta=0.7)
            self.assertGreater(with_gaps[policy][1], 4 * without[policy][1])


if __name__ == "__main__":
    unittest.main()
