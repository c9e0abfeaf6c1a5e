"""Requests as services have them: the same in every world and on any number of threads, and files of times."""

import json
import unittest

from program import ProgramTest, contents, manifest, table

WORKLOAD = """kind: workload
version: 1
name: services
clients:
  - name: web
    arrive: 1 ms
    repeat: {jobs: 40, arrivals: {process: poisson, rate: 2/ms}}
    kernels: [{name: k, block_tasks: 8, block: [64], time: 0.1 ms, block_task_length: 50 us}]
  - name: bursts
    repeat: {jobs: 40, arrivals: {process: gamma, rate: 2000/s, cv: 3}}
    kernels: [{name: k, block_tasks: 8, block: [64], time: 0.1 ms, block_task_length: 50 us}]
"""
EXPERIMENT = """kind: experiment
version: 1
name: services
workload: ./w.yaml
device: {DEVICE}
mechanism: flag-copy
policies: {POLICIES}
"""
DEVICE = "{kind: device, version: 1, name: d, sms: 4, sm: {threads: 2048, blocks: 32, registers: 65536, shared_memory: 96 KiB}, " \
    "memory: 1 GiB, copy: {h2d: {bandwidth: 12 GB/s, latency: 8 us}, d2h: {bandwidth: 12 GB/s, latency: 8 us}}, " \
    "commands: {launch: 5 us, evict: 0 us, notice: 0 us, pending_work: 5 us}}"
POLICIES = "[fcfs, {name: rr, params: {quantum: 0.3 ms}}, {name: passthrough, label: native, device: {arbitration: native-fifo}}, " \
    "{name: passthrough, label: direct, device: {arbitration: direct}}, timeslice]"

TRACE = """arrived,what
0.0005,a
0.001,"b, c"
0.001,d
0.0025,e
"""


class ArrivalsTest(ProgramTest):
    def experiment(self, policies=POLICIES, more="", workload=WORKLOAD):
        self.file("w.yaml", workload)
        return self.file("e.yaml", EXPERIMENT.replace("{DEVICE}", DEVICE).replace("{POLICIES}", policies) + more)

    def arrivals(self, folder, **wanted):
        return [(row["client"], int(row["job"]), int(row["arrival_ns"])) for row in table(self.folder / folder / "jobs.csv")
                if all(row[key] == value for key, value in wanted.items())]


class InEveryWorld(ArrivalsTest):
    def test_requests_come_at_the_same_times_under_every_policy_and_on_any_number_of_threads(self):
        file = self.experiment(more="replications: 3\nseed: 5\n")
        self.gangway("run", file, "--out", "one", "--jobs", 1)
        self.gangway("run", file, "--out", "four", "--jobs", 4)
        self.assert_same_files(contents(self.folder / "one"), contents(self.folder / "four"))
        of_fcfs = self.arrivals("one", policy="fcfs")
        self.assertEqual(len(of_fcfs), 3 * 2 * 40)
        for policy in ("rr", "native", "direct", "timeslice"):
            self.assertEqual(self.arrivals("one", policy=policy), of_fcfs, policy)
        replications = [self.arrivals("one", policy="fcfs", replication=str(r)) for r in range(3)]
        self.assertNotEqual(replications[0], replications[1])
        self.assertTrue(all(time > 1_000_000 for client, _, time in of_fcfs if client == "web"), "not after `arrive`")

    def test_real_time_has_the_times_of_the_simulation(self):
        file = self.experiment(policies="[fcfs]", more="seed: 5\n")
        self.gangway("run", file, "--out", "sim")
        self.gangway("run", file, "--out", "host", "--world", "host")
        self.assertEqual(self.arrivals("sim"), self.arrivals("host"))

    def test_a_higher_rate_brings_the_same_requests_closer_together(self):
        file = self.experiment(policies="[fcfs]", more="sweep:\n  workload.clients.web.repeat.arrivals.rate: [1/ms, 120000/min]\n")
        self.gangway("run", file, "--out", "out")
        slow, fast = (self.arrivals("out", point=point, client="web") for point in "01")
        for (_, _, late), (_, _, early) in zip(slow, fast, strict=True):
            self.assertAlmostEqual(late - 1_000_000, 2 * (early - 1_000_000), delta=2)
        rows = table(self.folder / "out/summary.csv")
        path = "workload.clients.web.repeat.arrivals.rate"
        self.assertEqual([row[path + "_per_second"] for row in rows], ["1000", "2000"])

    def test_memory_does_not_depend_on_the_number_of_requests(self):
        peaks = []
        for horizon in ("2 s", "60 s"):
            file = self.experiment(policies="[fcfs]", more=f"horizon: {horizon}\njobs: false\n",
                                   workload=WORKLOAD.replace("jobs: 40", "jobs: endless"))
            peaks.append(self.peak_memory("run", file, "--out", f"out{len(peaks)}", "--jobs", 1))
        self.assertLess(peaks[1], peaks[0] + 8192, "KiB")


class Files(ArrivalsTest):
    """Times of requests from a file."""

    def one_client(self, arrivals, repeat=""):
        return WORKLOAD.split("  - name: bursts")[0].replace(
            "{jobs: 40, arrivals: {process: poisson, rate: 2/ms}}", "{" + repeat + "arrivals: {" + arrivals + "}}")

    def played(self, arrivals, repeat="", trace=TRACE):
        """Arrivals in us, from the client's `arrive` on."""
        self.file("t.csv", trace)
        file = self.experiment(policies="[fcfs]", workload=self.one_client(arrivals, repeat))
        self.gangway("run", file, "--out", "out", "--force")
        return [(time - 1_000_000) / 1000 for _, _, time in self.arrivals("out")]

    def check_refused(self, arrivals, message, repeat="", trace=TRACE):
        self.file("t.csv", trace)
        refused = self.refused("check", self.file("w.yaml", self.one_client(arrivals, repeat)))
        self.assertIn(message, refused)

    def test_times_and_their_units(self):
        self.assertEqual(self.played("file: t.csv, column: arrived, unit: s"), [500, 1000, 1000, 2500])
        self.assertEqual(self.played("file: t.csv, column: arrived, unit: s", repeat="jobs: 2, "), [500, 1000])
        self.assertEqual(self.played("file: t.csv, column: arrived, unit: s, from: first"), [0, 500, 500, 2000])
        self.assertEqual(self.played("file: t.csv, column: arrived, unit: s, from: 0.6 ms"), [400, 400, 1900])
        self.assertEqual(self.played("file: t.csv, column: arrived, unit: s, rate_scale: 2"), [250, 500, 500, 1250])
        self.assertEqual(self.played("file: t.csv, unit: us", trace="t\n1\n1.5\n2.0004\n"), [1, 1.5, 2])
        self.assertEqual(self.played("file: t.csv, unit: ns, from: first", trace="t\n1700000000000000123\n1700000000000001123\n"), [0, 1])
        self.assertEqual(self.played("file: t.csv, unit: ms, from: first", trace="t\n-1\n1e0\n"), [0, 2000])

    def test_traces_as_they_are_published(self):
        azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109\n"
        self.assertEqual(self.played("file: t.csv, column: TIMESTAMP, unit: timestamp", trace=azure), [0, 4_314_579])
        windows = "\ufeff" + azure.replace("\n", "\r\n") + "\r\n"
        self.assertEqual(self.played("file: t.csv, column: TIMESTAMP, unit: timestamp", trace=windows), [0, 4_314_579])
        burst = "Timestamp,Model,Request tokens,Log Type\n5,ChatGPT,472,Conversation log\n45,ChatGPT,1087,Conversation log"
        self.assertEqual(self.played("file: t.csv, column: Timestamp, unit: s, rate_scale: 1000", trace=burst), [5000, 45000])

    def test_dates_count_from_a_date(self):
        trace = "t\n2024-05-10 00:00:00\n2024-05-10 00:00:02\n2024-05-10 00:00:02.5\n"
        column = "file: t.csv, unit: timestamp"
        self.assertEqual(self.played(column + ", from: '2024-05-10 00:00:01'", trace=trace), [1_000_000, 1_500_000])
        self.assertEqual(self.played(column + ", from: 2024-05-10T00:00:01Z", trace=trace.replace(":00\n", ":00Z\n").replace(":02\n", ":02Z\n")
                                     .replace(":02.5\n", ":02.5Z\n")), [1_000_000, 1_500_000])
        self.assertEqual(self.played(column + ", from: 1960-01-01 00:00:00", trace="t\n1960-01-01 00:00:03\n"), [3_000_000])
        offset = trace.replace(":02\n", ":02+00:00\n")
        self.check_refused(column, "t.csv:3: key 't': found '2024-05-10 00:00:02+00:00', expected no offset from UTC, as the first row has none",
                           trace=offset)
        self.check_refused(column, "t.csv:3: key 't': found '2024-05-10 00:00:02', expected an offset from UTC, as the first row has",
                           trace=trace.replace(":00\n", ":00Z\n"))
        self.check_refused(column + ", from: 2024-05-10T00:00:01Z", "arrivals.from': found '2024-05-10T00:00:01Z', expected no offset", trace=trace)
        self.check_refused(column + ", from: 1 s", "arrivals.from': found '1 s', expected first, or a date and time such as", trace=trace)
        self.check_refused(column + ", from: 1700-01-01 00:00:00", "expected a time at most 100 days after the first",
                           trace="t\n2250-01-01 00:00:00\n")

    def test_what_is_wrong_in_a_file_is_named_with_its_line(self):
        column = "file: t.csv, column: arrived, unit: s"
        self.check_refused(column, "t.csv:4: key 'arrived': found '0.0009', expected a time not before the previous row's",
                           trace=TRACE.replace("0.001,d", "0.0009,d"))
        self.check_refused(column, "t.csv:3: key 'arrived': found 'soon', expected a time as a plain number", trace=TRACE.replace("0.001,\"", "soon,\""))
        for number in ("nan", "inf", "1e30", "0x10", "1 s", ""):
            self.check_refused(column, f"t.csv:3: key 'arrived': found '{number}', expected a time as a plain number",
                               trace=TRACE.replace("0.001,\"", number + ",\""))
        self.check_refused("file: t.csv, column: arrived, unit: timestamp", "found '0.0005', expected a date and time such as")
        self.check_refused(column, "t.csv:2: key 'arrived': found no row, expected at least one time", trace="arrived\n")
        self.check_refused(column, "t.csv:1: key 'columns': found an empty file", trace="")
        self.check_refused(column, "t.csv:3: key 'row': found 1 cells, expected 2 as in the first line", trace="arrived,what\n1,a\n2\n")
        self.check_refused(column, "t.csv:2: key 'arrived': found '-1', expected a time from 0 on, or `from: first`", trace="arrived\n-1\n")
        self.check_refused(column, "found '1700000000', expected a time at most 100 days", trace="arrived\n1700000000\n")

    def test_what_is_wrong_in_the_workload_is_named_with_its_key(self):
        self.check_refused("file: t.csv, column: arrives, unit: s", "w.yaml:7: key 'clients.0.repeat.arrivals.column': found 'arrives', which ")
        self.check_refused("file: t.csv, unit: s", "t.csv:1: key 'columns': found 2 columns, expected one, or the name of one")
        column = "file: t.csv, column: arrived, unit: s"
        self.check_refused(column, "key 'clients.0.repeat.jobs': found '5', expected a whole number from 1 to 4", repeat="jobs: 5, ")
        self.check_refused(column, "found 'endless', expected a whole number from 1 to 4", repeat="jobs: endless, ")
        self.check_refused(column + ", from: 3 ms", "key 'clients.0.repeat.arrivals.from': found '3 ms', expected a time not after the last one in the file")
        self.check_refused(column + ", rate_scale: 0", "rate_scale': found '0'")
        self.check_refused(column + ", rate: 3/s", "rate': found an unknown key")
        self.check_refused("file: t.csv, column: arrived, unit: timestamp, from: 3 ms", "found '3 ms', expected first")

    def test_what_a_file_holds_decides_which_results_belong_together(self):
        self.file("t.csv", TRACE)
        file = self.experiment(policies="[fcfs]", workload=self.one_client("file: t.csv, column: arrived, unit: s"))
        self.gangway("run", file, "--out", "out")
        first = self.arrivals("out")
        kept = manifest(self.folder / "out")["configuration"]["workload"]["clients"][0]["repeat"]["arrivals"]["file"]
        self.assertEqual(kept["path"], str(self.folder / "t.csv"))
        self.file("t.csv", TRACE.replace("0.0025", "0.0026"))
        self.assertIn("another configuration", self.refused("run", file, "--out", "out"))
        self.assertIn("t.csv' with the SHA-256", self.refused("run", self.folder / "out/manifest.json", "--out", "again"))
        (self.folder / "t.csv").unlink()
        self.assertIn("which cannot be read", self.refused("run", file, "--out", "out"))
        self.file("t.csv", TRACE)
        self.gangway("run", self.folder / "out/manifest.json", "--out", "again")
        self.assertEqual(self.arrivals("again"), first)

    def test_results_belong_to_the_content_of_a_file_and_not_to_its_place(self):
        (self.folder / "here").mkdir()
        for place in ("here", "there"):
            (self.folder / place).mkdir(exist_ok=True)
            self.file(f"{place}/t.csv", TRACE)
            self.file(f"{place}/w.yaml", self.one_client("file: t.csv, column: arrived, unit: s"))
            self.file(f"{place}/e.yaml", EXPERIMENT.replace("{DEVICE}", DEVICE).replace("{POLICIES}", "[fcfs]"))
        self.gangway("run", "here/e.yaml", "--out", "out")
        self.assertIn("already holds these results", self.gangway("run", "there/e.yaml", "--out", "out").stdout)

    def test_files_can_be_swept(self):
        self.file("t.csv", TRACE)
        self.file("u.csv", TRACE.replace("0.0005", "0.0001"))
        file = self.experiment(policies="[fcfs]", workload=self.one_client("file: t.csv, column: arrived, unit: s"),
                               more="sweep:\n  workload.clients.web.repeat.arrivals.file: [t.csv, u.csv, {label: first, value: t.csv}]\n")
        self.gangway("run", file, "--out", "out")
        rows = table(self.folder / "out/summary.csv")
        self.assertEqual([row["workload.clients.web.repeat.arrivals.file"] for row in rows], ["t.csv", "u.csv", "first"])
        firsts = [self.arrivals("out", point=point)[0][2] for point in "012"]
        self.assertEqual(firsts, [1_500_000, 1_100_000, 1_500_000])

    def test_processes_are_listed(self):
        listed = json.loads(self.gangway("list", "arrivals", "--json").stdout)
        self.assertEqual([item["name"] for item in listed], ["fixed", "gamma", "poisson"])


if __name__ == "__main__":
    unittest.main()
