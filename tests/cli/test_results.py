"""Result files: columns as experiments/README.md names them, metrics recomputed from jobs.csv."""

import math
import re
import statistics
import unittest
from collections import defaultdict

from program import BUSY, ROOT, SMALL, TINY, ProgramTest, table

# Student's t, 97.5% quantile, by degrees of freedom.
T975 = {
    1: 12.706204736174694,
    2: 4.302652729749462,
    3: 3.182446305283709,
    4: 2.776445105197793,
    5: 2.570581835636315,
    6: 2.446911851144969,
    7: 2.364624251592785,
    8: 2.306004135204166,
    9: 2.262157162798205,
}


HORIZON_NS = 40_000_000  # of BUSY
PERIODIC = {"stream"}
THINKS_NS = {"batch": 1_100_000, "endless": 600_000}  # with half of the jitter


def documented_columns(file, swept=()):
    """The columns that the table in experiments/README.md gives a file."""
    page = (ROOT / "experiments/README.md").read_text().split("\n## Result folder\n")[1]
    row = re.search(rf"^\| `{re.escape(file)}` \| (.*) \|$", page, re.MULTILINE)[1]
    columns = [span.split(",") for span in re.findall(r"`([^`]+)`", row)]
    if "the swept paths" in row:
        columns.insert(1, list(swept))
    return [column for part in columns for column in part]


def half_width(values):
    if len(values) < 2:
        return None
    return T975[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))


def nearest_rank(values, share):
    ordered = sorted(values)
    return ordered[max(1, math.ceil(share * len(ordered))) - 1]


def grouped(rows, *columns):
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[c] for c in columns)].append(row)
    return dict(sorted(groups.items()))


def mean_of(rows, column):
    return statistics.fmean(float(row[column]) for row in rows)


def efficiency(jobs):
    """Of one client in one replication: time between finishes alone over time per job, both averaged over runs. Of a client with a
    period the former is the mean time between its releases, unless its jobs take longer; one that thinks does so after each."""
    alone, shared = [], []
    for run in grouped(jobs, "permutation").values():
        done = finished_of(run)
        arrivals = [int(j["arrival_ns"]) for j in run]
        own = mean_of(done, "standalone_ns")
        between = own + THINKS_NS.get(run[0]["client"], 0)
        if run[0]["client"] in PERIODIC and len(run) > 1:
            between = max(between, (max(arrivals) - min(arrivals)) / (len(run) - 1))
        alone.append(between)
        last = max(int(j["finish_ns"]) for j in done) + between - own
        if understated(jobs) and len(done) < len(run):
            last = max(last, HORIZON_NS)
        shared.append((last - min(arrivals)) / len(done))
    return statistics.fmean(alone) / statistics.fmean(shared)


def finished_of(jobs):
    return [j for j in jobs if j["outcome"] == "finished"]


def least(jobs, column):
    """The mean of ntt or response_ns over finished jobs; or what it is at least if those unfinished count with their age, where that is
    more than 5 % larger or they are many. And whether it is the latter."""
    done = mean_of(finished_of(jobs), column)
    divisors = [int(j["standalone_ns"]) if column == "ntt" else 1 for j in jobs]
    bound = statistics.fmean(age / divisor for age, divisor in zip(ages(jobs), divisors))
    unfinished = len(jobs) - len(finished_of(jobs))
    many = unfinished > len(grouped(jobs, "permutation")) and unfinished > 0.05 * len(jobs)
    return (bound, True) if many or bound > done * 1.05 else (done, False)


def understated(jobs):
    """Of one client in one replication."""
    return least(jobs, "ntt")[1]


def starved(jobs):
    """The clients that finished no job in some run."""
    return sorted(
        {client for (client, _, _), own in grouped(jobs, "client", "replication", "permutation").items()
         if all(j["outcome"] != "finished" for j in own)}
    )


def ages(jobs):
    """Of all jobs: the response, or how long an unfinished one was there when the run ended, as BUSY's do."""
    return [int(j["response_ns"] or HORIZON_NS - int(j["arrival_ns"])) for j in jobs]


def replication_metrics(jobs, sample):
    """The metrics of one replication of one policy at one point, from its rows of jobs.csv."""
    clients = [own for own in grouped(jobs, "client").values() if finished_of(own)]
    ntts = [least(own, "ntt")[0] for own in clients]
    speeds = [1 / ntt for ntt in ntts]
    runs = list(grouped(jobs, "permutation").values())
    spans = []
    for run in runs:
        last = max(int(j["finish_ns"] or HORIZON_NS) for j in run)
        spans.append(last - min(int(j["arrival_ns"]) for j in run))
    return {
        "antt": statistics.fmean(ntts),
        "dntt": statistics.stdev(ntts) if sample else statistics.pstdev(ntts),
        "stp": sum(speeds),
        "jain": sum(speeds) ** 2 / (len(speeds) * sum(s * s for s in speeds)),
        "makespan_ns": statistics.fmean(spans),
        "evictions": sum(int(j["evictions"]) for j in jobs) / len(runs),
        "launches": sum(int(j["launches"]) for j in jobs) / len(runs),
        "concurrency_efficiency": sum(map(efficiency, clients)) if not starved(jobs) else 0,
    }


def understated_clients(jobs):
    """Those that are in some replication; none where a client starves."""
    cells = grouped(jobs, "client", "replication").items()
    return [] if starved(jobs) else sorted({client for (client, _), own in cells if understated(own)})


def summary_of(jobs, sample):
    replications = [replication_metrics(own, sample) for own in grouped(jobs, "replication").values()]
    summary = {name: statistics.fmean(r[name] for r in replications) for name in replications[0]}
    for name in ("antt", "dntt", "stp"):
        summary[name + "_ci95"] = None if understated_clients(jobs) else half_width([r[name] for r in replications])
    if starved(jobs):
        summary.update(dict.fromkeys(("antt", "dntt", "stp", "antt_ci95", "dntt_ci95", "stp_ci95", "jain", "concurrency_efficiency")))
    responses = [int(j["response_ns"]) for j in jobs if j["outcome"] == "finished"]
    summary["p99_response_ns"] = nearest_rank(ages(jobs), 0.99)
    summary["p50_response_ns"] = nearest_rank(ages(jobs), 0.5)
    if len(responses) == len(jobs):
        own = [nearest_rank(ages(each), 0.99) for each in grouped(jobs, "replication").values()]
        summary["p99_response_ns_ci95"] = half_width(own)
    summary["jobs"] = len(responses)
    summary["unfinished"] = len(jobs) - len(responses)
    return summary


def client_row_of(jobs):
    finished = finished_of(jobs)
    replications = list(grouped(finished, "replication").values())
    if starved(jobs):
        names = ("ntt", "ntt_ci95", "response_ns_mean", "response_ns_mean_ci95", "response_ns_p99", "waiting_ns_mean", "evictions")
        return {**dict.fromkeys(names), "jobs": len(finished), "unfinished": len(jobs) - len(finished)}
    over = {c: statistics.fmean(mean_of(own, c) for own in replications) for c in ("evictions", "standalone_ns")}
    means = {c: [least(own, c) for own in grouped(jobs, "replication").values()] for c in ("ntt", "response_ns")}
    values = {c: [value for value, _ in own] for c, own in means.items()}
    widths = {c: None if any(bound for _, bound in own) else half_width(values[c]) for c, own in means.items()}
    return {
        "ntt": statistics.fmean(values["ntt"]),
        "ntt_ci95": widths["ntt"],
        "response_ns_mean": statistics.fmean(values["response_ns"]),
        "response_ns_mean_ci95": widths["response_ns"],
        "response_ns_p99": nearest_rank(ages(jobs), 0.99),
        "evictions": over["evictions"],
        "standalone_ns": over["standalone_ns"],
        "jobs": len(finished),
        "unfinished": len(jobs) - len(finished),
    }


class Results(ProgramTest):
    def run_experiment(self, text, out="results"):
        self.gangway("run", self.file("e.yaml", text), "--out", out)
        return {name: table(self.folder / out / f"{name}.csv") for name in ("summary", "clients", "jobs")}

    def check_row(self, row, expected):
        for column, value in expected.items():
            if value is None:
                self.assertEqual(row[column], "", column)
            else:
                self.assertTrue(math.isclose(float(row[column]), value, rel_tol=1e-9, abs_tol=1e-12), f"{column}: {row[column]}, not {value}")

    def check_metrics(self, tables, sample=False):
        for (point, policy), jobs in grouped(tables["jobs"], "point", "policy").items():
            with self.subTest(point=point, policy=policy):
                [row] = [r for r in tables["summary"] if (r["point"], r["policy"]) == (point, policy)]
                self.check_row(row, summary_of(jobs, sample))
                self.assertEqual(row["starved"], "|".join(starved(jobs)))
                self.assertEqual(row["understated"], "|".join(understated_clients(jobs)))
                self.assertTrue(0 < float(row["utilisation"]) <= 1)
                for (client,), own in grouped(jobs, "client").items():
                    [row] = [r for r in tables["clients"] if (r["point"], r["policy"], r["client"]) == (point, policy, client)]
                    self.check_row(row, client_row_of(own))
                    if not starved(own):
                        self.assertTrue(0 <= float(row["waiting_ns_mean"]) <= float(row["response_ns_mean"]))

    def test_metrics_of_permuted_arrivals(self):
        tables = self.run_experiment(SMALL.replace("replications: 2", "replications: 5"))
        self.check_metrics(tables)

    def test_metrics_with_copies_repetition_jitter_and_a_horizon(self):
        tables = self.run_experiment(BUSY)
        self.assertTrue(any(float(row["unfinished"]) > 0 for row in tables["summary"]))
        self.assertEqual({bool(row["understated"]) for row in tables["summary"]}, {True, False})
        self.check_metrics(tables)

    def test_metrics_of_one_replication_with_the_deviation_of_a_sample(self):
        tables = self.run_experiment(SMALL.replace("replications: 2", "replications: 1\nsigma: sample"))
        self.assertTrue(all(row["antt_ci95"] == "" for row in tables["summary"]))
        self.check_metrics(tables, sample=True)

    def test_a_sample_of_one_client_has_no_deviation(self):
        for sigma, expected in (("population", {"0"}), ("sample", {""})):
            text = SMALL.replace("replications: 2", f"replications: 2\nclients: [VA]\npermutations: 1\nsigma: {sigma}").replace("permutations: 3\n", "")
            self.assertEqual({row["dntt"] for row in self.run_experiment(text, sigma)["summary"]}, expected)

    def test_each_replication_by_itself(self):
        for out, text in {"small": SMALL.replace("replications: 2", "replications: 4"), "busy": BUSY}.items():
            tables = self.run_experiment(text, out)
            alone = table(self.folder / out / "replications.csv")
            jobs = grouped(tables["jobs"], "point", "policy", "replication")
            self.assertEqual([(r["point"], r["policy"], r["replication"]) for r in alone], list(jobs))
            for row in alone:
                own = jobs[row["point"], row["policy"], row["replication"]]
                with self.subTest(row={key: row[key] for key in ("point", "policy", "replication")}):
                    expected = {column: value for column, value in summary_of(own, False).items() if not column.endswith("_ci95")}
                    self.check_row(row, expected)
                    self.assertEqual(row["starved"], "|".join(starved(own)))
            for (point, policy), rows in grouped(alone, "point", "policy").items():
                [row] = [r for r in tables["summary"] if (r["point"], r["policy"]) == (point, policy)]
                for metric in ("antt", "dntt", "stp", "makespan_ns", "evictions", "utilisation", "jain"):
                    if row[metric]:
                        self.assertAlmostEqual(mean_of(rows, metric) / (float(row[metric]) or 1), float(row[metric]) and 1, 12, metric)
                for metric in ("antt", "p99_response_ns"):
                    if row[f"{metric}_ci95"]:
                        width = half_width([float(r[metric]) for r in rows])
                        self.assertAlmostEqual(width / float(row[f"{metric}_ci95"]), 1, 9, metric)

    def test_one_replication_is_the_summary(self):
        self.run_experiment(SMALL.replace("replications: 2", "replications: 1"))
        self.assertFalse((self.folder / "results/replications.csv").exists())

    def test_rows_of_jobs(self):
        for row in self.run_experiment(BUSY)["jobs"]:
            arrival = int(row["arrival_ns"])
            if row["outcome"] == "finished":
                self.assertEqual(int(row["response_ns"]), int(row["finish_ns"]) - arrival)
                self.assertLessEqual(arrival, int(row["start_ns"]))
                self.assertLess(int(row["start_ns"]), int(row["finish_ns"]))
                self.assertAlmostEqual(float(row["ntt"]), int(row["response_ns"]) / int(row["standalone_ns"]), 12)
                self.assertGreaterEqual(int(row["launches"]), int(row["evictions"]) + 1)
            else:
                self.assertEqual((row["outcome"], row["finish_ns"], row["response_ns"], row["ntt"]), ("unfinished", "", "", ""))

    def test_columns_and_order(self):
        swept = [path + unit for path in ("workload.arrivals.gap", "policies.rr.params.quantum") for unit in ("", "_ns")]
        text = SMALL.replace("permutations: 3", "  policies.rr.params.quantum: [1 ms, 0.5 ms]\npermutations: 3")
        text += "published:\n  - {figure: f, policy: rr, metric: antt, published: 2, class: open, note: 'a, \"b\"'}\n"
        self.run_experiment(text)
        for file in ("summary.csv", "clients.csv", "replications.csv", "jobs.csv", "published.csv"):
            with self.subTest(file=file):
                with open(self.folder / "results" / file) as lines:
                    self.assertEqual(lines.readline().rstrip("\n").split(","), documented_columns(file, swept))
        summary = table(self.folder / "results/summary.csv")
        values = [(r["workload.arrivals.gap"], r["policies.rr.params.quantum"]) for r in summary if r["policy"] == "rr"]
        self.assertEqual(values, [("0.5 ms", "1 ms"), ("0.5 ms", "0.5 ms"), ("1 ms", "1 ms"), ("1 ms", "0.5 ms")])
        self.assertEqual([r["policy"] for r in summary], ["rr", "rr-long", "sjf"] * 4)
        by_point = {r["point"]: [r[path] for path in swept] for r in summary}
        self.assertEqual(by_point["2"], ["1 ms", "1000000", "1 ms", "1000000"])
        for file in ("clients.csv", "replications.csv", "jobs.csv"):
            for row in table(self.folder / "results" / file):
                self.assertEqual([row[path] for path in swept], by_point[row["point"]])
        for file, keys in {
            "summary.csv": ("point", "policy"),
            "clients.csv": ("point", "policy", "client"),
            "replications.csv": ("point", "policy", "replication"),
            "jobs.csv": ("point", "policy", "replication", "permutation", "client", "job"),
        }.items():
            rows = [tuple(int(r[k]) if r[k].isdigit() else r[k] for k in keys) for r in table(self.folder / "results" / file)]
            self.assertEqual(rows, sorted(set(rows)), file)
        [published] = table(self.folder / "results/published.csv")
        self.assertEqual(published["note"], 'a, "b"')
        self.assertEqual(published["measured"], next(r["antt"] for r in summary if r["policy"] == "rr"))

    def test_swept_quantities_stand_in_base_units_too(self):
        text = TINY.replace("device: titan-x-pascal", "device: {kind: device, version: 1, name: d, sms: 2, copy: {h2d: {bandwidth: 1 GB/s, "
                            "latency: 1 us}, d2h: {bandwidth: 1 GB/s, latency: 1 us}}, sm: {threads: 2048, blocks: 32, registers: 65536, "
                            "shared_memory: 96 KiB}}")
        swept = {"device.copy.h2d.bandwidth": ("[12 GB/s, 800 MB/s]", "_bytes_per_second", ["12000000000", "800000000"]),
                 "workload.clients.A.copy_in": ("[1 MiB, 3 kB]", "_bytes", ["1048576", "3000"]),
                 "workload.clients.A.kernels.k.time": ("{from: 20 us, to: 0.5 ms, factor: 25}", "_ns", ["20000", "500000"]),
                 "workload.clients.A.kernels.k.transformation_overhead": ("[90 %, 1]", "_share", ["0.9", "1"]),
                 "device.sms": ("[2, 3]", None, None),
                 "workload.clients.A.blocking": ("[true, false]", None, None)}
        self.run_experiment(text + "sweep:\n" + "".join(f"  {path}: {values}\n" for path, (values, _, _) in swept.items()))
        rows = table(self.folder / "results/jobs.csv")
        self.assertEqual(len(rows), 64)
        for path, (_, unit, values) in swept.items():
            names = [name for name in rows[0] if name.startswith(path) and name != path]
            self.assertEqual(names, [path + unit] if unit else [], path)
            if unit:
                self.assertEqual(list(dict.fromkeys(row[path + unit] for row in rows)), values)

    def test_devices_and_workloads_can_be_swept(self):
        self.file("own.yaml", (ROOT / "models/devices/titan-x-pascal.yaml").read_text().replace("sms: 28", "sms: 14"))
        text = "kind: experiment\nversion: 1\nname: files\nmechanism: flag-copy\npolicies: [sjf, rr]\nset: {device.commands.launch: 20 us}\n"
        devices, workloads = ["titan-x-pascal", "own.yaml", "h200"], ["five-kernels", "h200-kernels"]
        file = self.file("files.yaml", text + f"sweep:\n  device: [{', '.join(devices)}]\n  workload: [{', '.join(workloads)}]\n")
        self.gangway("check", file)
        self.gangway("run", file, "--out", "results")
        rows = grouped(table(self.folder / "results/summary.csv"), "device", "workload")
        self.assertEqual(set(rows), {(device, workload) for device in devices for workload in workloads})
        for (device, workload), own in rows.items():
            alone = self.file("alone.yaml", text + f"device: {device}\nworkload: {workload}\n")
            self.gangway("run", alone, "--out", "alone", "--force")
            for row, other in zip(own, table(self.folder / "alone/summary.csv"), strict=True):
                self.assertEqual({name: row[name] for name in other if name != "point"}, {name: other[name] for name in other if name != "point"})
        self.gangway("run", "results/manifest.json", "--out", "again")
        self.assertEqual((self.folder / "again/summary.csv").read_bytes(), (self.folder / "results/summary.csv").read_bytes())
        self.assertNotEqual(*({row["makespan_ns"] for row in rows[device, "five-kernels"]} for device in ("titan-x-pascal", "own.yaml")))

    def test_whole_files_of_a_sweep_that_are_wrong(self):
        text = "kind: experiment\nversion: 1\nname: files\nworkload: frs-table1\nmechanism: flag-copy\npolicies: [sjf]\nsweep:\n  device: "
        for values, said in {"[titan-x-pascla]": "key 'sweep.device.0': found 'titan-x-pascla', expected",
                             "[titan-x-pascal, titan-x-pascal]": "key 'sweep.device.1': found 'titan-x-pascal' a second time",
                             "[none/such.yaml]": "does not exist", "[[a]]": "key 'sweep.device.0': found a list", "{}": "key 'sweep.device.from'",
                             "[{kind: device, version: 1, name: d}]": "key 'device.sms'",
                             "[{label: a, value: titan-x-pascal, more: 1}]": "key 'sweep.device.0.more': found an unknown key",
                             "[{value: titan-x-pascal}]": "key 'sweep.device.0.label'"}.items():
            with self.subTest(values=values):
                self.assertIn(said, self.refused("check", self.file("e.yaml", text + values + "\n")))

    def test_no_jobs_file_when_none_is_wanted(self):
        self.gangway("run", self.file("e.yaml", SMALL + "jobs: false\n"), "--out", "results")
        self.assertFalse((self.folder / "results/jobs.csv").exists())

    def test_the_order_of_policies_in_the_file_does_not_matter(self):
        self.gangway("run", self.file("a.yaml", SMALL.replace("[sjf, rr,", "[sjf, rr,")), "--out", "a")
        self.gangway("run", self.file("b.yaml", SMALL.replace("[sjf, rr,", "[rr, sjf,")), "--out", "b")
        for file in ("summary.csv", "clients.csv", "jobs.csv"):
            self.assertEqual((self.folder / "a" / file).read_bytes(), (self.folder / "b" / file).read_bytes())


if __name__ == "__main__":
    unittest.main()
