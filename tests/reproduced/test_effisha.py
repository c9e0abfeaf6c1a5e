"""The EffiSha paper's figures: what is printed is met where the page says so, and orders hold kernel by kernel."""

import unittest

from reproduction import Reproduction


class EffiSha(Reproduction):
    PAPER = "effisha"

    def verdicts(self):
        published = self.rows("published.csv")
        return {verdict: [(row["point"], row["policy"], row["client"]) for row in published if row["verdict"] == verdict]
                for verdict in ("pass", "miss", "shown")}

    def test_printed_values_are_met(self):
        for name, met in (("fig3", 11), ("fig10", 10), ("fig13", 6), ("fig14-sjf-ideal", 6), ("fig15", 4)):
            with self.subTest(name):
                self.run_experiment(name)
                verdicts = self.verdicts()
                self.assertEqual((verdicts["miss"], len(verdicts["pass"])), ([], met))

    def test_what_is_missed_is_what_the_page_says(self):
        self.run_experiment("fig12")
        self.assertEqual(self.verdicts()["miss"], [("1", "dprr", ""), ("2", "dprr", "")])
        self.run_experiment("fig14-group")
        verdicts = self.verdicts()
        self.assertEqual(verdicts["miss"], [("0", "default", "Spmv")])
        self.assertEqual(len(verdicts["pass"]), 23)

    def test_first_come_first_served_is_not_what_the_paper_measured(self):
        self.run_experiment("fig14-group", "--set", "device.arbitration=native-fifo")
        (antt,) = [float(row["antt"]) for row in self.rows("summary.csv") if row["policy"] == "default"]
        self.assertGreater(antt, 10)

    def test_evictions_fall_with_priority_and_with_waiting_time(self):
        self.run_experiment("fig9")
        by_wait = [float(row["evictions"]) for row in self.rows("summary.csv")]
        self.assertEqual(by_wait, sorted(by_wait, reverse=True))
        self.assertEqual(len(by_wait), 7)
        counts = {}
        for row in self.rows("jobs.csv"):
            key = int(row["point"]), int(row["priority"])
            counts[key] = counts.get(key, 0) + int(row["evictions"])
        for point in range(7):
            levels = [counts[point, priority] for priority in range(1, 10)]
            self.assertEqual(levels, sorted(levels, reverse=True), point)
            self.assertEqual(levels[-1], 0)

    def test_each_optimisation_helps_every_kernel(self):
        self.run_experiment("fig10")
        ntt = {(row["policy"], row["client"]): float(row["ntt"]) for row in self.rows("clients.csv")}
        for client in {client for _, client in ntt}:
            self.assertLessEqual(ntt["effisha", client], ntt["proxy", client], client)
            self.assertLessEqual(ntt["effisha", client], ntt["pkm", client], client)
            if client in ("Triad", "Stencil2D", "BFS", "FFT", "NeuralNet"):  # whose block-tasks are short
                self.assertLess(ntt["proxy", client], ntt["basic", client], client)

    def test_slices_that_leave_sooner_cost_more(self):
        self.run_experiment("fig11")
        antt = [float(row["antt"]) for row in self.rows("summary.csv")]
        self.assertEqual(antt, sorted(antt))

    def test_dprr_starves_unless_arrivals_wait_for_the_round(self):
        self.run_experiment("starvation", "--set", "horizon=3 s")
        outcome = {row["policy"]: row["outcome"] for row in self.rows("jobs.csv") if row["client"] == "long"}
        self.assertEqual(outcome, {"dprr": "unfinished", "dprr-bounded": "finished"})


if __name__ == "__main__":
    unittest.main()
