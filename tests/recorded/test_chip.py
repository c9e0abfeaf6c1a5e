"""Figures that ran on chips (experiments/chip/h100 and h200), against `sim` from calibrations of single kernels, and what the page says of them."""

import os
import re
import statistics
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from program import table  # noqa: E402

GANGWAY = str(Path(os.environ.get("GANGWAY", ROOT / "build/release/gangway")).resolve())
CHIP = ROOT / "experiments/chip"
PAGE = (CHIP / "README.md").read_text()
OWNERS = ("sjf", "srt", "rr", "cfs", "frs")


def predict(test, experiment, *settings):
    folder = tempfile.TemporaryDirectory()
    test.addClassCleanup(folder.cleanup)
    out = Path(folder.name) / "predicted"
    subprocess.run([GANGWAY, "run", CHIP / f"{experiment}.yaml", "--out", out] + [word for setting in settings for word in ("--set", setting)],
                   check=True, capture_output=True)
    return out


def page_table(before):
    """The first table behind this text: cells of its head, and of its rows."""
    lines = PAGE.partition(before)[2].partition("\n|")[2].partition("\n\n")[0].splitlines()
    cells = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    return cells[0], cells[2:]


def by(rows, *keys):
    return {tuple(row[key] for key in keys): row for row in rows}


class FrsOnAChip:
    POLICIES = OWNERS

    @classmethod
    def setUpClass(cls):
        cls.predicted = predict(cls, "frs-fig4", *cls.SETTINGS)

    def test_every_printed_statement_holds_on_the_chip_and_in_the_prediction(self):
        for folder in (self.MEASURED, self.predicted):
            verdicts = [row["verdict"] for row in table(folder / "published.csv") if row["class"] == "order"]
            self.assertEqual(verdicts, ["pass"] * 27, folder)

    def test_policies_are_predicted_as_near_as_the_page_says(self):
        measured = by(table(self.MEASURED / "summary.csv"), "policy")
        predicted = by(table(self.predicted / "summary.csv"), "policy")
        for policy in self.POLICIES:
            for metric, most in self.NEAR.items():
                error = float(predicted[policy,][metric]) / float(measured[policy,][metric]) - 1
                self.assertLess(abs(error), most.get(policy, most["others"]), (policy, metric))

    def test_jobs_are_predicted_as_near_as_the_page_says(self):
        done = subprocess.run([GANGWAY, "compare", self.predicted, self.MEASURED, "--fail-above", self.JOBS], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class FrsOnAnH100(FrsOnAChip, unittest.TestCase):
    MEASURED = CHIP / "h100/frs-fig4"
    SETTINGS = ("replications=2", "device=h100/calibration/device.yaml", "workload=h100/calibration/workload.yaml", "mechanism.params.useful=0.508")
    NEAR = {"antt": {"others": 0.013}, "stp": {"others": 0.013}, "dntt": {"frs": 0.056, "others": 0.018}}
    JOBS = "ntt_p50=0.009,antt=0.02,stp=0.035,ranking=0"

    def test_the_page_has_each_applications_ntt(self):
        policies, rows = page_table("Fig. 3, NTT of each application")
        sides = [{(row["policy"], row["client"]): float(row["ntt"]) for row in table(folder / "clients.csv")}
                 for folder in (self.MEASURED, self.predicted)]
        self.assertEqual(len(rows) * (len(policies) - 1), len(sides[0]))
        for client, *cells in rows:
            for policy, told in zip(policies[1:], cells):
                self.assertEqual(told, ", ".join(f"{side[policy, client]:.2f}" for side in sides), (policy, client))
                error = sides[1][policy, client] / sides[0][policy, client] - 1
                if policy != "processes":
                    self.assertLess(abs(error), 0.018 if policy in OWNERS else 0.031, (policy, client))


class FrsOnAnH200(FrsOnAChip, unittest.TestCase):
    MEASURED = CHIP / "h200/frs-fig4"
    SETTINGS = ("device=h200/calibration-nine-applications/device.yaml", "workload=h200/calibration-nine-applications/workload.yaml",
                "mechanism.params.useful=0.733")
    NEAR = {"antt": {"others": 0.0105}, "stp": {"others": 0.0185}, "dntt": {"cfs": 0.0315, "others": 0.0185}}
    JOBS = "ntt_p50=0.0055,ntt_p90=0.0245,antt=0.0105,stp=0.0185,ranking=0"
    POLICIES = (*OWNERS, "streams", "stream-priorities", "processes", "mps")

    def test_the_page_has_each_policys_metrics(self):
        sides = [by(table(folder / "summary.csv"), "policy") for folder in (self.MEASURED, self.predicted)]
        _, rows = page_table("#### On an H200")
        self.assertEqual(len(rows), len(sides[0]))
        for policy, *cells in rows:
            for metric, told in zip(("antt", "dntt", "stp"), cells):
                self.assertEqual(told, ", ".join(f"{float(side[policy,][metric]):.2f}" for side in sides), (policy, metric))


class EffishaOnAnH200(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        five = ("device=h200/calibration/device.yaml", "workload=h200/calibration/workload.yaml")
        cls.sides = {name: (CHIP / "h200" / name, predict(cls, name, *settings))
                     for name, settings in (("effisha-fig10", five), ("effisha-fig11", five), ("effisha-fig10-lengths", five[:1]), ("effisha-fig12", five[:1]),
                                            ("effisha-fig13", five[:1]), ("effisha-fig13-native", five[:1]), ("microkernels", five))}

    def rows(self, name, file, *keys):
        return [by(table(side / file), *keys) for side in self.sides[name]]

    def near(self, name, limits):
        done = subprocess.run([GANGWAY, "compare", self.sides[name][1], self.sides[name][0], "--fail-above", limits], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_the_page_has_each_figure_beside_what_is_printed(self):
        ten, eleven, twelve = (self.rows(name, "summary.csv", "point", "policy") for name in ("effisha-fig10", "effisha-fig11", "effisha-fig12"))
        _, rows = page_table("Figs. 12 and 13 have kernels of their own")
        told = [row[2] for row in rows]

        def overhead(sides, point, policy, digits=1):
            return ", ".join(f"{100 * (float(side[point, policy]['antt']) - 1):.{digits}f}" for side in sides) + " %"

        def longer(policy, base, form):
            both = (100 * (float(side["0", policy]["makespan_ns"]) / float(side["0", base]["makespan_ns"]) - 1) for side in twelve)
            return ", ".join(form.format(one) for one in both) + " %"

        def slices(points, digits):
            return "; ".join(overhead(eleven, point, "pkm", digits) for point in points)

        times = ", ".join(f"{float(side['0', 'basic']['antt']):.0f}" for side in ten) + " times"
        self.assertEqual(told, [overhead(ten, "0", "proxy"), overhead(ten, "0", "effisha"),
                                overhead(ten, "0", "flag-copy") + "; " + overhead(ten, "0", "write-value"), overhead(ten, "0", "original"),
                                overhead(ten, "0", "pkm", 0), times, slices("012", 1), slices("34", 0),
                                longer("piv", "default", "{:.1f}"), longer("dprr", "default", "{:.1f}"),
                                longer("piv", "processes", "{:+.1f}"), longer("dprr", "processes", "{:+.1f}")])
        original = 100 * (float(ten[0]["0", "original"]["antt"]) - 1)
        forms = [100 * (float(ten[0]["0", form]["antt"]) - 1) - original for form in ("proxy", "effisha", "flag-copy", "write-value")]
        page = (CHIP / "README.md").read_text()
        self.assertIn(f"The original kernels' {original:.1f} % are", page)
        self.assertIn(f"Forms add at most {max(forms):.1f} % on average.", page)

    def test_the_page_has_all_bars_of_fig_12(self):
        sides = self.rows("effisha-fig12", "summary.csv", "point", "policy")
        _, rows = page_table("Fig. 12, all bars")
        for first, *cells in rows:
            policy = re.match("[a-z-]+", first)[0]
            for point, (makespan, antt, stp) in zip("01", (cells[:3], cells[3:])):
                more = [100 * (float(side[point, policy]["makespan_ns"]) / float(side[point, "default"]["makespan_ns"]) - 1) for side in sides]
                if policy in ("fcfs", "piv", "dprr", "processes"):
                    self.assertEqual(makespan, f"+{more[0]:.1f}, {more[1]:.1f} %", (policy, point))
                else:
                    self.assertLess(max(abs(one) for one in more), 0.15, (policy, point))
                for metric, told in (("antt", antt), ("stp", stp)):
                    self.assertEqual(told, ", ".join(f"{float(side[point, policy][metric]):.2f}" for side in sides), (policy, point, metric))
                errors = {metric: abs(float(sides[1][point, policy][metric]) / float(sides[0][point, policy][metric]) - 1)
                          for metric in ("makespan_ns", "antt")}
                self.assertLess(errors["makespan_ns"], 0.0065 if policy == "processes" else 0.0145, (policy, point))
                self.assertLess(errors["antt"], 0.0055 if policy == "processes" else 0.026, (policy, point))
                if policy in ("default", "stream-priorities", "mps"):
                    self.assertLess(errors["antt"], 0.0085, (policy, point))

    def test_the_page_has_what_looks_cost_by_length(self):
        sides = self.rows("effisha-fig10-lengths", "clients.csv", "policy", "client")
        lengths, rows = page_table("What looks cost by length of block-task")
        self.assertEqual(len(rows) * (len(lengths) - 1), len(sides[0]))
        errors = []
        for policy, *cells in rows:
            for length, told in zip(lengths[1:], cells):
                key = policy, length.replace(" ", "-")
                ratios = [float(side[key]["ntt"]) for side in sides]
                self.assertEqual(told, ", ".join(f"{one:.{0 if policy == 'basic' else 3}f}" for one in ratios), key)
                if policy != "basic":
                    errors.append(abs(ratios[1] / ratios[0] - 1))
        self.assertLess(statistics.median(errors), 0.0065)
        self.assertLess(max(errors), 0.0235)

    def test_the_page_has_the_delays_of_fig_13(self):
        sides = self.rows("effisha-fig13", "clients.csv", "point", "policy", "client")
        lengths, rows = page_table("Fig. 13, mean eviction delay")
        for first, *cells in rows:
            policy = re.match("[a-z-]+", first)[0]
            for length, told in zip(lengths[1:], cells):
                key = "2", policy, length.replace(" ", "-")
                self.assertEqual(told, " / ".join(f"{float(side[key]['eviction_delay_ns_mean']) / 1e3:.0f}" for side in sides), key)
        self.assertIn("1.4 % (median), 5.6 % (90th percentile)", self.near("effisha-fig13", "antt=0.06,stp=0.06,ntt_p50=0.0705"))

    def test_the_page_has_the_microkernels(self):
        sides = self.rows("microkernels", "summary.csv", "point", "policy")
        _, rows = page_table("Microkernels, makespan in ms")
        slices = {"1 ms": "0", "0.5 ms": "1", "0.25 ms": "2", "0.125 ms": "3"}
        for first, makespan, antt in rows:
            name = re.match("[a-z-]*", first)[0]
            if name == "processes":  # four times, one for each length of a slice
                antts = [float(sides[0][point, name]["antt"]) for point in "0123"]
                self.assertLess(max(antts), 1.003 * min(antts))
            point = next((slices[words] for words in slices if first.endswith(words) and first.split()[-2:] == words.split()), "0")
            key = point, "microkernel-rr" if first[0].isdigit() or name == "microkernel-rr" else name
            self.assertEqual(makespan, ", ".join(f"{float(side[key]['makespan_ns']) / 1e6:.2f}" for side in sides), key)
            self.assertEqual(antt, ", ".join(f"{float(side[key]['antt']):.2f}" for side in sides), key)
        self.near("microkernels", "ntt_p50=0.007,ntt_p90=0.0165,antt=0.023")

    def test_the_page_has_the_urgent_kernel_beside_long_ones(self):
        sides = self.rows("effisha-fig13-native", "clients.csv", "policy", "client")
        _, rows = page_table("Its response in ms, alone 0.1")
        self.assertEqual({row[0] for row in rows}, {policy for policy, _ in sides[0]})
        for policy, mean, most in rows:
            for told, metric in ((mean, "response_ns_mean"), (most, "response_ns_p99")):
                self.assertEqual(told, ", ".join(f"{float(side[policy, 'urgent'][metric]) / 1e6:.2f}" for side in sides), policy)
        self.assertIn("0.5 % (median), 5.0 % (90th percentile), at most 11.0 %", self.near("effisha-fig13-native", "antt=0.05,stp=0.05"))


if __name__ == "__main__":
    unittest.main()
