"""Two result folders against each other: messages, exit codes, and errors recomputed from the files."""

import json
import math
import re
import shutil
import statistics
import subprocess
import tempfile
import unittest
from pathlib import Path

from program import BUSY, GANGWAY, SMALL, TINY, ProgramTest, table


def errors_in(done):
    """Without the notes on tables that the test has changed."""
    return [line for line in done.stderr.splitlines() if not line.startswith("note: ")]


class Compare(ProgramTest):
    def setUp(self):
        super().setUp()
        self.run_into("a", SMALL)

    def run_into(self, out, text, *arguments):
        self.gangway("run", self.file(f"{out}.yaml", text), "--out", out, *arguments)

    def run_slower(self, text=SMALL):
        self.run_into("b", text, "--set", "device.commands.launch=60 us", "--set", "device.commands.pending_work=40 us")

    def compare(self, *arguments, code=0):
        return json.loads(self.gangway("compare", "a", "b", "--json", *arguments, code=code).stdout)

    def test_a_folder_with_itself(self):
        shutil.copytree(self.folder / "a", self.folder / "b")
        got = self.compare("--fail-above", "ntt_p50=0,ntt_p90=0,antt=0,dntt=0,stp=0,ranking=0")
        jobs = len(table(self.folder / "a/jobs.csv"))
        zeros = {"p50": 0, "p90": 0, "mean": 0, "max": 0, "bias": 0, "bias_p50": 0}
        self.assertEqual(got["ntt_error"], {"jobs": jobs, **zeros})
        self.assertEqual(len(got["groups"]), 6)
        self.assertEqual(len(got["clients"]), 6 * 9)
        self.assertTrue(all(row["ntt"]["relative_error"] == 0 for row in got["clients"]))
        self.assertTrue(all(ranking["equal"] for ranking in got["rankings"]))
        self.assertEqual([got["unmatched"], got["unfinished"]["both"]], [[], 0])
        shown = self.gangway("compare", "a", "b", "--fail-above", "antt=0").stdout
        self.assertIn("rankings of policies: 6 of 6 equal", shown)
        self.assertNotIn("furthest", shown)

    def test_errors_are_those_of_the_files(self):
        self.run_slower()
        got = self.compare()
        key = ("point", "policy", "replication", "permutation", "client", "job")
        b = {tuple(row[k] for k in key): float(row["ntt"]) for row in table(self.folder / "b/jobs.csv")}
        errors = {}
        for row in table(self.folder / "a/jobs.csv"):
            measured = b[tuple(row[k] for k in key)]
            errors.setdefault((int(row["point"]), row["policy"]), []).append((float(row["ntt"]) - measured) / measured)
        for group in got["groups"]:
            own = errors[group["point"], group["policy"]]
            self.assertGreater(group["ntt_error"]["p50"], 0)
            self.assertAlmostEqual(group["ntt_error"]["bias"], statistics.fmean(own), 12)
            self.assertAlmostEqual(group["ntt_error"]["p50"], sorted(map(abs, own))[(len(own) + 1) // 2 - 1], 12)
        summary = {(int(r["point"]), r["policy"]): float(r["antt"]) for r in table(self.folder / "b/summary.csv")}
        for group in got["groups"]:
            antt = group["antt"]
            self.assertEqual(antt["measured"], summary[group["point"], group["policy"]])
            self.assertAlmostEqual(antt["relative_error"], antt["predicted"] / antt["measured"] - 1, 12)

    def made(self, name, world, antt, dntt, stp, of_b):
        """A result of ten runs, in which the NTT of A's job is 1."""
        folder = self.folder / name
        folder.mkdir()
        (folder / "manifest.json").write_text(json.dumps({"kind": "result", "experiment": "e", "world": world}))
        (folder / "summary.csv").write_text("point,policy,antt,dntt,stp,makespan_ns,evictions,eviction_delay_ns_mean,utilisation\n"
                                            f"0,rr,{antt},{dntt},{stp},100,4,10,0.5\n")
        (folder / "clients.csv").write_text("point,policy,client,ntt,response_ns_mean,standalone_ns\n0,rr,A,1,10,5\n0,rr,B,3,10,5\n")
        runs = "".join(f"0,rr,0,{run},A,0,1\n0,rr,0,{run},B,0,{of_b(run)}\n" for run in range(10))
        (folder / "jobs.csv").write_text("point,policy,replication,permutation,client,job,ntt\n" + runs)

    def test_a_single_run_that_decides_is_named(self):
        self.made("predicted", "sim", 2, 1, 4 / 3, lambda run: 3)
        self.made("measured", "cuda", 2.5, 1.5, 1.25, lambda run: 13 if run == 7 else 3)  # B's mean is 4
        shown = self.gangway("compare", "predicted", "measured").stdout
        self.assertEqual([line for line in shown.splitlines() if line.startswith("one run")], [
            f"one run decides: {metric} under rr at point 0 is {off} % off, without replication 0, permutation 7 +0.0 %"
            for metric, off in (("ANTT", "-20.0"), ("DNTT", "-33.3"), ("STP", "+6.7"))])
        [group] = json.loads(self.gangway("compare", "predicted", "measured", "--json").stdout)["groups"]
        for metric in ("antt", "dntt", "stp"):
            said = group[metric]["decisive_run"]
            self.assertEqual((said["replication"], said["permutation"]), (0, 7))
            self.assertAlmostEqual(said["without"], 0, 9)
        for option in ("--fail-above", "--metrics"):
            self.assertIn(f"{option}: found nothing, expected a value", self.gangway("compare", "predicted", "measured", option, "", code=2).stderr)
        self.made("same", "cuda", 2, 1, 4 / 3, lambda run: 3)
        self.assertNotIn("one run decides", self.gangway("compare", "predicted", "same").stdout)

    def test_limits(self):
        self.run_slower()
        self.gangway("compare", "a", "b", "--fail-above", "ntt_p50=0.9,antt=90 %")
        done = self.gangway("compare", "a", "b", "--fail-above", "ntt_p50=0.0001,antt=90 %,stp=0.001", code=1)
        complaints = done.stderr.splitlines()
        self.assertEqual(len(complaints), 2)
        self.assertRegex(complaints[0], r"^error: ntt_p50 is 0\.\d+, above 0\.0001$")
        self.assertRegex(complaints[1], r"^error: stp is 0\.\d+, above 0\.001$")
        self.assertIn("rankings of policies", done.stdout)
        limits = self.compare("--fail-above", "ntt_p50=0.0001,antt=0.9", code=1)["limits"]
        self.assertEqual([(each["metric"], each["exceeded"]) for each in limits], [("ntt_p50", True), ("antt", False)])

    def test_another_set_of_policies_and_seeds_is_compared_where_it_can_be(self):
        self.run_slower(SMALL.replace("[sjf, rr,", "[sjf, frs, rr,").replace("replications: 2", "replications: 1"))
        shown = self.gangway("compare", "a", "b").stdout
        self.assertIn("in B only: 2 rows of summary.csv: 0 frs, 1 frs\n", shown)
        self.assertRegex(shown, r"in A only: \d+ rows of jobs.csv: 0 rr 1 0 BS 0, .*, \.\.\.\n")
        done = self.gangway("compare", "a", "b", "--fail-above", "antt=9", code=1)
        self.assertIn("in the measurement only: 2 rows of summary.csv: 0 frs, 1 frs\n", done.stdout)
        self.assertEqual(errors_in(done), [f"error: no result in the prediction at point {point} under frs: missing" for point in (0, 1)]
                         + ["error: antt is inf, above 9"])

    def test_a_policy_that_failed_on_one_side_is_no_success(self):
        shutil.copytree(self.folder / "a", self.folder / "b")
        summary = self.folder / "b/summary.csv"
        lines = summary.read_text().splitlines()
        row = next(number for number, line in enumerate(lines) if line.startswith("0,sjf,"))
        begin = lines[row].split(",")[:4]  # point, policy and the swept gap
        lines[row] = ",".join(begin) + "," * (lines[0].count(",") - 3) + "no room for it"
        summary.write_text("\n".join(lines) + "\n")
        done = self.gangway("compare", "a", "b", "--fail-above", "ntt_p90=9", code=1)
        self.assertEqual(errors_in(done), ["error: no result in the measurement at point 0 under sjf: failed: no room for it",
                                                    "error: ntt_p90 is inf, above 9"])
        self.assertIn("(failed: sjf)", done.stdout)

    def test_another_experiment_is_refused(self):
        self.run_into("b", SMALL.replace("name: small", "name: other"))
        for arguments in ([], ["--json"], ["--fail-above", "antt=9"]):
            message = self.refused("compare", "a", "b", *arguments)
            self.assertEqual(message, "error: b/manifest.json: key 'experiment': found 'other', expected 'small' as in a")

    def test_unfinished_jobs_are_counted(self):
        shutil.rmtree(self.folder / "a")
        self.run_into("a", BUSY)
        self.run_into("b", BUSY, "--set", "horizon=30 ms")
        unfinished = self.compare()["unfinished"]
        self.assertGreater(unfinished["measurement_only"] + unfinished["both"], 0)
        self.assertIn("unfinished jobs: ", self.gangway("compare", "a", "b").stdout)

    def test_jobs_that_only_one_folder_has_are_infinitely_far_off(self):
        shutil.rmtree(self.folder / "a")
        endless = BUSY.replace("replications: 1", "replications: 2")
        self.run_into("a", endless)
        self.run_into("b", endless, "--set", "horizon=10 ms")
        rows = {name: [row for row in table(self.folder / name / "jobs.csv")] for name in "ab"}
        self.assertLess(len(rows["b"]), len(rows["a"]) / 2)
        done = self.gangway("compare", "a", "b", "--fail-above", "ntt_p50=9", code=1)
        self.assertIn("error: ntt_p50 is inf, above 9", done.stderr)

    def test_jobs_of_another_replication_are_not(self):
        shutil.rmtree(self.folder / "a")
        self.run_into("a", SMALL)
        self.run_into("b", SMALL.replace("replications: 2", "replications: 1"))
        self.gangway("compare", "a", "b", "--fail-above", "ntt_p90=0")

    def mean_responses(self, folder):
        return {(row["point"], row["policy"], row["client"]): float(row["response_ns_mean"]) for row in table(self.folder / folder / "clients.csv")
                if row["response_ns_mean"]}

    def test_times_alone_that_are_off(self):
        more = "".join(f"    - {{name: {name}, kernels: [{{name: k, block_tasks: 8, time: 10 us}}]}}\n" for name in "BC")
        self.run_into("tiny", TINY.replace("device:", more + "device:"))
        self.assertNotIn("times alone", self.gangway("compare", "tiny", "tiny", "--fail-above", "ntt_p50=9").stdout)
        others = more.replace("10 us", "10.1 us", 1).replace("10 us", "12.5 us", 1)
        self.run_into("other", TINY.replace("10 us", "8 us").replace("device:", others + "device:"))
        shown = self.gangway("compare", "tiny", "other", "--fail-above", "ntt_p50=9").stdout
        self.assertIn("\ntimes alone that are off themselves, in % (medians): A +25.0, C -20.0\n", shown)
        (a, *_) = json.loads(self.gangway("compare", "tiny", "other", "--json", "--fail-above", "ntt_p50=9").stdout)["clients"]
        self.assertIn("standalone_ns", json.dumps(a))

    def test_errors_of_all_mean_responses(self):
        for horizon, starved in (("1 s", False), ("20 ms", True)):
            with self.subTest(horizon=horizon):
                shutil.rmtree(self.folder / "b", ignore_errors=True)
                self.run_into("b", SMALL, "--set", "device.commands.launch=60 us", "--set", f"horizon={horizon}")
                a, b = self.mean_responses("a"), self.mean_responses("b")
                errors = sorted(100 * abs(a[key] / b[key] - 1) for key in b)
                median, ninetieth = (errors[math.ceil(share * len(errors)) - 1] for share in (0.5, 0.9))
                shown = self.gangway("compare", "a", "b", "--fail-above", "ranking=9").stdout
                self.assertIn(f"mean responses of all clients, {len(errors)} predictions: {median:.1f} % (median), {ninetieth:.1f} % (90th percentile), "
                              f"at most {errors[-1]:.1f} %\n", shown)
                self.assertEqual(len(b) < len(a), starved)  # who has none is not passed over in silence
                self.assertEqual(f"{len(a) - len(b)} more without a mean response in both\n" in shown, starved)

    def test_no_jobs_wanted(self):
        self.run_slower(SMALL + "jobs: false\n")
        self.assertIn("no errors of jobs: b has no jobs.csv", self.gangway("compare", "a", "b", "--fail-above", "antt=9").stdout)
        self.assertEqual(self.compare()["ntt_error"], {"jobs": 0})
        message = self.refused("compare", "a", "b", "--fail-above", "ntt_p50=1")
        self.assertEqual(message, "error: b: key 'jobs.csv': found no such table, expected one for --fail-above ntt_p50, from an experiment without `jobs: false`")

    def test_nonsense_is_refused(self):
        self.run_slower()
        b = self.folder / "b"
        self.assertEqual(self.refused("compare", "a"),
                         "error: compare: key 'DIR_B': found nothing, expected a second result folder, or --baseline POLICY")
        for arguments in [[], ["a", "b", "a"], ["a", "b", "--baseline", "sjf"], ["a", "--baseline", "sjf", "--fail-above", "antt=1"],
                          ["a", "--baseline", "nobody"], ["a", "b", "--metrics", "speed"], ["nowhere", "--baseline", "sjf"], ["a", "b", "--fast"], ["a", "b", "--fail-above"]]:
            with self.subTest(arguments=arguments):
                self.refused("compare", *arguments)
        for limits, part in {"speed=1": "expected one of ntt_p50", "antt=low": "found 'low', expected a number from 0", "antt": "found ''"}.items():
            self.assertIn(part, self.refused("compare", "a", "b", "--fail-above", limits))
        self.assertIn("nowhere: found no folder", self.refused("compare", "a", "nowhere"))
        self.assertIn("a.yaml: found no folder", self.refused("compare", "a.yaml", "b"))
        text = (b / "jobs.csv").read_text()
        (b / "jobs.csv").write_text(text.replace("permutation", "round", 1))
        self.assertIn("b/jobs.csv:1: key 'permutation': found no such column", self.refused("compare", "a", "b"))
        (b / "jobs.csv").write_text(text[:-4])
        self.assertIn("expected a whole line; the file is truncated", self.refused("compare", "a", "b"))
        (b / "manifest.json").unlink()
        self.assertIn("b: found no manifest.json, expected a folder that `gangway run` finished", self.refused("compare", "a", "b"))

    def test_another_experiment_is_refused(self):
        self.run_into("b", SMALL.replace("[0.5 ms, 1 ms]", "[0.5 ms, 2 ms]"))
        message = self.refused("compare", "a", "b")
        self.assertIn("b/summary.csv:5: key 'workload.arrivals.gap': found '2 ms', expected '1 ms' as in a", message)


JITTERED = SMALL.replace("workload: frs-table1", "workload: frs-table1\nset: {workload.jitter: {kernel_time: 20 %, arrival: 500 us}}").replace(
    "replications: 2", "replications: 8")


def density(t, degrees):
    """Of Student's law."""
    half = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
    return math.exp(half) / math.sqrt(degrees * math.pi) * (1 + t * t / degrees) ** (-(degrees + 1) / 2)


def two_sided(t, degrees):
    """The p value, by Simpson's rule over the law's density."""
    steps, t = 20_000, abs(t)
    inner = sum((1 if i in (0, steps) else 4 if i % 2 else 2) * density(i * t / steps, degrees) for i in range(steps + 1))
    return 1 - 2 * inner * t / steps / 3


class ChangedTables(ProgramTest):
    def test_they_are_named(self):
        self.gangway("run", self.file("e.yaml", SMALL), "--out", "a")
        self.gangway("run", self.file("e.yaml", SMALL), "--out", "b")
        self.assertEqual(self.gangway("compare", "a", "b").stderr, "")
        table = self.folder / "b/replications.csv"
        table.write_text("\n".join(table.read_text().splitlines()[:-1]) + "\n")
        note = "note: b/replications.csv is not as it was written (manifest.json)\n"
        self.assertEqual(self.gangway("compare", "a", "b").stderr, note)
        self.assertEqual(self.gangway("compare", "b", "--baseline", "rr").stderr, note)


class Differences(ProgramTest):
    """Two simulations, against statistics computed anew from replications.csv."""

    @classmethod
    def setUpClass(cls):
        cls.results = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.results)
        (cls.results / "e.yaml").write_text(JITTERED)
        for name, more in {"a": [], "slower": ["--set", "device.commands.launch=60 us"], "other": ["--seed", "8"],
                           "one": ["--set", "replications=1"]}.items():
            subprocess.run([GANGWAY, "run", "e.yaml", "--out", name, *more], cwd=cls.results, check=True, capture_output=True)

    def told(self, *arguments):
        return json.loads(self.gangway("compare", *arguments, "--json").stdout)

    def sample(self, folder, row, policy=None):
        values = [float(r[row["metric"]]) for r in table(self.results / folder / "replications.csv")
                  if (int(r["point"]), r["policy"]) == (row["point"], policy or row["policy"])]
        self.assertEqual(len(values), 8)
        return values

    def check_test(self, row, t, degrees, difference, error):
        self.assertAlmostEqual(row["difference"] / difference, 1, 9)
        self.assertAlmostEqual(row["t"] / t, 1, 9)
        self.assertAlmostEqual(row["degrees"], degrees, 9)
        self.assertAlmostEqual(row["p"], two_sided(t, degrees), 8)
        self.assertAlmostEqual((row["low"] + row["high"]) / 2 / difference, 1, 9)
        self.assertAlmostEqual(two_sided((row["high"] - difference) / error, degrees), 0.05, 8)

    def rows_with_p(self, told):
        rows = [row for row in told["rows"] if row["p"] is not None]
        self.assertEqual(len(rows), told["tests"])
        self.assertGreater(len(rows), 20)
        return rows

    def test_pairs(self):
        told = self.told(self.results / "a", self.results / "slower")["differences"]
        self.assertEqual(told["test"], "paired")
        for row in self.rows_with_p(told):
            pairs = [b - a for a, b in zip(self.sample("a", row), self.sample("slower", row))]
            error = statistics.stdev(pairs) / math.sqrt(8)
            self.check_test(row, statistics.fmean(pairs) / error, 7, statistics.fmean(pairs), error)
        self.assertGreater(told["significant"], 10, "five times the launch delay, at the same random numbers")

    def test_samples(self):
        told = self.told(self.results / "a", self.results / "other")["differences"]
        self.assertEqual(told["test"], "welch")
        for row in self.rows_with_p(told):
            a, b = self.sample("a", row), self.sample("other", row)
            parts = [statistics.variance(side) / 8 for side in (a, b)]
            error, difference = math.sqrt(sum(parts)), statistics.fmean(b) - statistics.fmean(a)
            self.check_test(row, difference / error, sum(parts) ** 2 / sum(part ** 2 / 7 for part in parts), difference, error)
    def test_seeds_of_one_experiment_differ_by_chance(self):
        experiment, found, hits, tests = self.file("e.yaml", JITTERED + "jobs: false\n"), 0, 0, 0
        for seed in range(100, 140):
            self.gangway("run", experiment, "--seed", seed, "--out", str(seed))
        for seed in range(100, 140, 2):
            told = self.told(str(seed), str(seed + 1))["differences"]
            found += told["significant"] > 0
            hits += sum(row["p"] < 0.05 for row in self.rows_with_p(told))
            tests += told["tests"]
        # Tests of one pair of folders look at the same runs: some 20 of 960 tests are independent.
        self.assertLess(hits / tests, 0.2)
        self.assertLess(found, 5, "some difference is called significant in one of twenty comparisons, or less")

    def test_policies_of_one_folder(self):
        told = self.told(self.results / "a", "--baseline", "sjf")
        self.assertEqual({row["policy"] for row in told["rows"]}, {"rr", "rr-long"})
        for row in self.rows_with_p(told):
            pairs = [b - a for a, b in zip(self.sample("a", row, "sjf"), self.sample("a", row))]
            error = statistics.stdev(pairs) / math.sqrt(8)
            self.check_test(row, statistics.fmean(pairs) / error, 7, statistics.fmean(pairs), error)

    def test_means_and_intervals_are_the_summarys(self):
        summary = {(int(row["point"]), row["policy"]): row for row in table(self.results / "a/summary.csv")}
        rows = self.told(self.results / "a", self.results / "slower", "--metrics", "antt,dntt,stp")["differences"]["rows"]
        self.assertEqual({row["metric"] for row in rows}, {"antt", "dntt", "stp"})
        for row in rows:
            known = summary[row["point"], row["policy"]]
            self.assertAlmostEqual(row["a"]["mean"] / float(known[row["metric"]]), 1, 12)
            self.assertAlmostEqual(row["a"]["ci95"] / float(known[f"{row['metric']}_ci95"]), 1, 12)

    def test_holms_correction(self):
        rows = self.rows_with_p(self.told(self.results / "a", self.results / "slower")["differences"])
        so_far = 0
        for rank, row in enumerate(sorted(rows, key=lambda row: row["p"])):
            so_far = max(so_far, min(1, (len(rows) - rank) * row["p"]))
            self.assertAlmostEqual(row["p_holm"], so_far, 12)
            self.assertEqual(row["finding"], "significant" if so_far < 0.05 else "not significant")

    def test_it_is_said_in_words(self):
        shown = self.gangway("compare", self.results / "a", self.results / "slower").stdout
        self.assertRegex(shown, r"\n +0  rr .* antt .* <0\.0001 .* B is [\d.]+ % higher\n")
        self.assertIn("Paired by replication, because both drew the same random numbers (seed 1): 8 pairs.", shown)
        self.assertRegex(shown, r"\n\d+ of \d+ tested differences are significant \(p below 0\.05 after Holm's correction for \d+ tests\)\.\n")
        both = self.gangway("compare", self.results / "a", self.results / "slower", "--metrics", "antt", "--fail-above", "antt=9").stdout
        self.assertRegex(both, r"\n +0  rr .* antt .* <0\.0001 .* B is [\d.]+ % higher\n")
        self.assertIn("errors in %, ", both)
        shown = self.gangway("compare", self.results / "a", "--baseline", "rr").stdout
        self.assertRegex(shown, r"rr-long is [\d.]+ % (higher|lower)")

    def test_bounds_are_marked_in_every_row(self):
        experiment = self.file("busy.yaml", BUSY.replace("name: stream", "name: stream\n      slo: 5 ms"))
        self.gangway("run", experiment, "--set", "sweep.device.commands.launch=[12 us]", "--set", "replications=8", "--out", "c")
        arguments = ["c", "--baseline", "fcfs", "--metrics", "antt,dntt,stp,latency_ns_p99"]
        rows = [row for row in self.told(*arguments)["rows"] if row["finding"] != "equal"]
        shown = self.gangway("compare", *arguments).stdout.splitlines()[3:]
        signs = {"": "", "at least": ">=", "at most": "<=", "rough": "~"}
        self.assertEqual({row[side]["is"] for row in rows for side in "ab"}, set(signs))
        self.assertEqual({row["difference"] < 0 for row in rows if row["at_least"]}, {False, True})
        for row, line in zip(rows, shown, strict=False):
            in_ms = 1e-6 if "_ns" in row["metric"] else 1
            means = ["-" if row[side]["mean"] is None else f'{signs[row[side]["is"]]}{row[side]["mean"] * in_ms:.4g}' for side in "ab"]
            self.assertRegex(line, r" +".join([r"\(ms\)" if in_ms < 1 else row["metric"], *map(re.escape, means)]) + " ")
            if row["at_least"]:
                self.assertIn(f' {"<=" if row["difference"] < 0 else ">="}{row["difference"] * in_ms:+.4g} ', line)

    def test_one_replication_tells_nothing(self):
        shown = self.gangway("compare", self.results / "a", self.results / "one").stdout
        self.assertIn("Chance cannot be judged", shown)
        self.assertIn(" A has 7 replications more, which are left out.\n", shown)
        [more] = re.findall(r"`gangway (run \S+/manifest.json --set replications=20) --out NEW`", shown)
        self.gangway(*more.split(), "--out", "more")
        self.assertIn("pairs", self.gangway("compare", self.results / "a", "more").stdout)


if __name__ == "__main__":
    unittest.main()
