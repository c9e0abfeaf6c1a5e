"""The Share-a-GPU paper's figures: what is printed is met where the page says so, and equation 1 has its knee where it says."""

import unittest

from reproduction import Reproduction


class ShareAGpu(Reproduction):
    PAPER = "share-a-gpu"

    def clients(self, column):
        return {(int(row["point"]), row["client"]): float(row[column]) for row in self.rows("clients.csv")}

    def test_what_is_missed_is_what_the_page_says(self):
        for name, missed in (("fig5", []), ("fig6-compute", []), ("fig6-memory", []), ("fig6-mixed", []), ("fig7", ["together-proportional"])):
            with self.subTest(name):
                self.run_experiment(name)
                self.assertEqual([row["printed"] for row in self.rows("published.csv") if row["verdict"] == "miss"], missed)

    def test_overheads_fall_with_the_time_slice_program_by_program(self):
        self.run_experiment("fig5")
        ntt = {(row["policy"], row["client"]): float(row["ntt"]) for row in self.rows("clients.csv")}
        for client in {client for _, client in ntt}:
            self.assertGreaterEqual(ntt["slice-10-ms", client], ntt["slice-100-ms", client], client)
            self.assertGreaterEqual(ntt["slice-100-ms", client], ntt["slice-1000-ms", client], client)

    def test_all_of_a_state_is_three_slices(self):
        self.run_experiment("fig6-mixed", "--set", "workload.clients.matTrans.variables.matrix.dirty=true")
        self.assertAlmostEqual(self.clients("slice_share")[1, "dxtc"], 0.75, delta=0.01)
        self.assertAlmostEqual(self.clients("slice_share")[0, "dxtc"], 0.67, delta=0.01)

    def test_time_slices_below_equation_1_leave_the_gpu_idle(self):
        self.run_experiment("equation1")
        busy = [float(row["utilisation"]) for row in self.rows("summary.csv")]
        for place, utilisation in enumerate(busy):
            slice_s = 0.1 * (place + 1)
            self.assertAlmostEqual(utilisation, min(1, slice_s), delta=0.02)

    def test_or_make_turns_as_long_as_it_says(self):
        self.run_experiment("equation1-runs-on")
        in_a_row = self.clients("slices_in_a_row")
        for place in range(20):
            slices = 10 / (place + 1)  # the transfers, in slices
            expected = int(slices) + (slices % 1 > 0 or slices == 1)
            self.assertAlmostEqual(in_a_row[place, "second"], expected, delta=0.06 * expected, msg=place)
        for row in self.rows("summary.csv"):
            self.assertGreater(float(row["utilisation"]), 0.98)

    def test_algorithm_2_as_printed_never_begins(self):
        message = self.run_experiment("fig6-mixed", "--set", "policies.0.params.protocol=literal", code=1)
        self.assertRegex(message, "client .*: job 0 is not over, and nothing else can happen after")


if __name__ == "__main__":
    unittest.main()
