"""Chrome traces: valid, complete, and no two spans of one track at once."""

import gzip
import json
import unittest
from collections import defaultdict

from program import BUSY, ROOT, SMALL, ProgramTest, contents, read_trace, table


def nanoseconds(microseconds):
    return round(microseconds * 1000)


def spans_by_track(trace):
    tracks = defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            begin = nanoseconds(event["ts"])
            tracks[event["pid"], event["tid"]].append((begin, begin + nanoseconds(event["dur"]), event["name"]))
    return {track: sorted(spans) for track, spans in tracks.items()}


class Traces(ProgramTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "results"

    def play(self, text, *arguments):
        self.gangway("run", self.file("e.yaml", text), "--out", self.out, "--trace", *arguments)
        return {p.name: read_trace(p) for p in sorted((self.out / "trace").iterdir())}

    def check_tracks(self, trace):
        tracks = spans_by_track(trace)
        for track, spans in tracks.items():
            for (_, end, name), (begin, _, other) in zip(spans, spans[1:]):
                self.assertLessEqual(end, begin, f"{name} and {other} on track {track}")
            self.assertTrue(all(begin < end for begin, end, _ in spans))
        return tracks

    def test_spans_never_overlap(self):
        policies = ("cfs", "fcfs", "frs", "rr", "sjf", "srt")
        traces = self.play(BUSY)
        self.assertEqual(sorted(traces), [f"point-{p}-{policy}-r0-p0.json.gz" for p in (0, 1) for policy in policies])
        for name, trace in traces.items():
            with self.subTest(trace=name):
                names = {n for spans in self.check_tracks(trace).values() for _, _, n in spans}
                self.assertLessEqual({"copy in", "copy out", "running", "waiting", "launch", "pending work", "stream a"}, names)
                if name.split("-")[2] in ("rr", "sjf", "srt"):
                    self.assertLessEqual({"draining", "evict"}, names)

    def test_spans_never_overlap_where_evictions_meet_launches(self):
        text = BUSY.replace("launch: [12 us, 50 us]", "evict: [0 us, 200 us]").replace("0.3 ms}}", "1 us}}").replace("0.2 ms}}", "1 us}}")
        for mechanism in ("flag-copy", "ideal", "{name: flag-copy, params: {delay_scale: 5}}"):
            for name, trace in self.play(text, "--set", f"mechanism={mechanism}", "--force").items():
                with self.subTest(mechanism=mechanism, trace=name):
                    self.check_tracks(trace)

    def test_every_copy_of_several_gpus_is_drawn_once(self):
        text = """
kind: experiment
version: 1
name: split
workload:
  kind: workload
  version: 1
  name: two
  clients:
    - name: a
      variables: [{name: x, size: 16 MiB, dirty: true}]
      memory: 64 MiB
      kernels: [{name: k, block_tasks: 512, time: 5 s}, {name: l, block_tasks: 512, time: 500 ms, gap: 100 ms}]
    - {name: b, arrive: 1 s, memory: 64 MiB, variables: [{name: x, size: 16 MiB, dirty: true}], kernels: [{name: k, block_tasks: 512, time: 500 ms}]}
device:
  {kind: device, version: 1, name: d, gpus: 2, sms: 2, sm: {threads: 2048, blocks: 16, registers: 65536, shared_memory: 48 KiB}, memory: 100 MiB,
   copy: {bus: 1 GB/s, h2d: {latency: 1 us}, d2h: {latency: 1 us}}}
mechanism: microkernel
policies: [{name: microkernel-rr, params: {slice: 20 s}}]
"""
        for rules in ("{}", "{RTSS17: {C2: false}}"):  # one copy at a time, or all at once: of one job, too
            with self.subTest(rules=rules):
                (trace,) = self.play(text, "--set", f"device.rules={rules}", "--force").values()
                processes = self.processes(trace)
                self.assertLessEqual({"GPU 0", "GPU 1"}, set(processes))
                tracks = self.check_tracks(trace)
                copies = [span for (pid, tid), spans in tracks.items() if pid in (processes["GPU 0"], processes["GPU 1"]) and tid % 10 in (3, 4)
                          for span in spans]
                self.assertGreaterEqual(len(copies), 6)  # a's restores and merge on both, b's restore; and all of them end
                self.assertTrue(all(begin < end for begin, end, _ in copies))
                self.assertIn("merged", {event["name"] for event in trace["traceEvents"] if event["ph"] == "i"})

    def processes(self, trace):
        return {event["args"]["name"]: event["pid"] for event in trace["traceEvents"] if event["name"] == "process_name"}

    def test_kernels_go_through_their_states(self):
        for name, trace in self.play(BUSY).items():
            with self.subTest(trace=name):
                states = self.processes(trace)["kernel states"]
                tracks = {tid: [n for _, _, n in spans] for (pid, tid), spans in self.check_tracks(trace).items() if pid == states}
                self.assertTrue(tracks)
                seen = {state for track in tracks.values() for state in track}
                self.assertLessEqual({"READY", "TORUN", "RUNNING"}, seen)
                self.assertLessEqual(seen, {"PREP", "READY", "TORUN", "RUNNING", "TOEVICT"})
                if name.split("-")[2] == "rr":
                    self.assertIn("TOEVICT", seen)

    def test_access_of_clients_that_submit_by_themselves(self):
        text = """{kind: experiment, version: 1, name: e, device: gtx-670, mechanism: ideal, standalone: original, horizon: 20 ms,
          workload: {kind: workload, version: 1, name: w, repeat: {jobs: endless, think: 0 us},
            clients: [{name: A, throttle: {request: 100 us}}, {name: B, throttle: {request: 300 us}}]},
          policies: [{name: passthrough, label: direct}, {name: timeslice, params: {slice: 2 ms}},
            {name: disengaged-fair-queueing, label: dfq, params: {sampling: 1 ms}}]}"""
        expected = {"direct": {"direct"}, "timeslice": {"intercept", "deny"}, "dfq": {"direct", "deny", "sampled"}}
        for name, trace in self.play(text).items():
            policy = name.split("-")[2]
            with self.subTest(policy):
                access = self.processes(trace)["access"]
                tracks = {tid: spans for (pid, tid), spans in self.check_tracks(trace).items() if pid == access}
                self.assertEqual(len(tracks), 2)
                self.assertNotIn("kernel states", self.processes(trace))
                for spans in tracks.values():
                    self.assertLessEqual({n for _, _, n in spans}, expected[policy] | {"direct"})
                    self.assertEqual((spans[0][0], spans[-1][1]), (0, 20_000_000))
                    self.assertTrue(all(a[1] == b[0] for a, b in zip(spans, spans[1:])))
                self.assertEqual({n for spans in tracks.values() for _, _, n in spans} | {"direct"}, expected[policy] | {"direct"})

    def test_the_trace_tells_what_the_results_tell(self):
        traces = self.play(BUSY)
        jobs = table(self.out / "jobs.csv")
        for point in ("0", "1"):
            for policy in ("rr", "frs"):
                trace = traces[f"point-{point}-{policy}-r0-p0.json.gz"]
                names = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name" and e["pid"] == 1}
                found = defaultdict(list)
                for event in trace["traceEvents"]:
                    if event["ph"] == "i" and event["name"] in ("arrived", "finished"):
                        found[names[event["tid"]], event["args"]["job"], event["name"]].append(nanoseconds(event["ts"]))
                rows = [j for j in jobs if (j["point"], j["policy"], j["replication"]) == (point, policy, "0")]
                self.assertTrue(rows)
                for row in rows:
                    job = row["client"], int(row["job"])
                    self.assertEqual(found.pop((*job, "arrived")), [int(row["arrival_ns"])])
                    if row["outcome"] == "finished":
                        self.assertEqual(found.pop((*job, "finished")), [int(row["finish_ns"])])
                self.assertFalse(found)

    def test_lengths_of_queues_and_blocks_of_native_clients(self):
        self.gangway("run", ROOT / "experiments/yang-anderson/fig2.yaml", "--out", self.out, "--trace")
        trace = read_trace(self.out / "trace/point-0-passthrough-r0-p0.json.gz")
        self.check_tracks(trace)
        self.assertEqual({key: trace["otherData"][key] for key in ("layout", "sms", "threads")},
                         {"layout": "pool", "sms": 1, "threads": 4096})
        lengths = defaultdict(list)
        for event in trace["traceEvents"]:
            if event["ph"] == "C":
                lengths[event["name"]].append((event["ts"] / 1000, event["args"]["kernels"]))
        self.assertEqual(lengths["streams"], [(0, 5), (3.8, 4), (6, 4), (9.8, 3), (12, 2), (15.8, 1), (17.2, 0)])
        # At 3.8 the last block of K2 is assigned and K5 joins.
        self.assertEqual(lengths["primary queue"], [(0, 3), (3.8, 3), (6, 1), (9.8, 1), (12, 0), (15.8, 0), (17.2, 0)])
        blocks = [(e["args"]["client"], e["ts"] / 1000, e["dur"] / 1000, e["args"]["blocks"])
                  for e in trace["traceEvents"] if e["ph"] == "X" and e["pid"] == 3]
        self.assertEqual(sorted(blocks), [("K1", 0, 3.8, 1), ("K2", 0, 6, 6), ("K2", 3.8, 6, 1), ("K3", 6, 6, 1),
                                          ("K4", 6, 11.2, 5), ("K5", 12, 3.8, 1)])

    def test_the_trace_command_writes_what_run_writes(self):
        self.play(BUSY)
        before = contents(self.out / "trace")
        for name in before:
            point, policy = name.split("-")[1:3]
            self.gangway("trace", self.out, "--point", point, "--policy", policy, "--out", self.folder / "t" / name)
        self.assert_same_files(contents(self.folder / "t"), before)

    def test_the_trace_command_plays_the_configuration_of_the_results(self):
        text = SMALL + "set: {device.commands.launch: 300 us, policies.rr.params.quantum: 2 ms}\n"
        self.play(text, "--set", "device.commands.launch=5 us", "--set", "policies.rr.params.quantum=0.3 ms", "--seed", 5)
        before = contents(self.out / "trace")
        self.gangway("trace", self.out, "--point", 1, "--policy", "rr", "--out", self.folder / "again.json")
        self.assertEqual((self.folder / "again.json").read_bytes(), gzip.decompress(before["point-1-rr-r0-p0.json.gz"]))

    def test_any_run_can_be_traced(self):
        self.gangway("run", self.file("e.yaml", SMALL), "--out", self.out)
        done = self.gangway("trace", self.out, "--point", 1, "--policy", "rr-long", "--replication", 1, "--permutation", 2)
        file = self.out / "trace/point-1-rr-long-r1-p2.json.gz"
        self.assertIn(str(file), done.stdout)
        self.check_tracks(read_trace(file))

    def test_timelines_end_where_their_limit_is_reached(self):
        file = self.file("e.yaml", BUSY.replace("replications: 3", "replications: 1"))
        self.gangway("run", file, "--out", self.folder / "whole", "--trace")
        whole = contents(self.folder / "whole/trace")
        for limit in (80, 110):
            with self.subTest(limit=limit):
                out = self.folder / str(limit)
                done = self.gangway("run", file, "--out", out, "--trace", "--trace-limit", f"{limit} KiB")
                kept = contents(out / "trace")
                self.assertLessEqual(sum(map(len, kept.values())), limit * 1024)
                cut = [line for line in done.stderr.splitlines() if f"because the --trace-limit of {limit} KiB is reached" in line]
                self.assertEqual(len(cut), 1)
                name = cut[0].split(": ends at ")[0].split("/")[-1]
                for other in set(kept) - {name}:
                    self.assertEqual(gzip.decompress(kept[other]), gzip.decompress(whole[other]))
                left = len(whole) - len(kept)
                self.assertGreater(left, 0)
                self.assertRegex(done.stderr, rf"--trace: {left} more timelines? (is|are) left out")
                trace, full = read_trace(out / "trace" / name), json.loads(gzip.decompress(whole[name]))
                self.assertIn("--trace-limit", trace["otherData"]["left_out"])
                end = trace["otherData"]["full_at_ns"]
                self.assertLess(max(nanoseconds(e["ts"] + e.get("dur", 0)) for e in trace["traceEvents"] if "ts" in e), end + 1)
                before = [e for e in trace["traceEvents"] if e["ph"] != "M" and nanoseconds(e["ts"] + e.get("dur", 0)) < end]
                self.assertEqual(before, [e for e in full["traceEvents"] if e["ph"] != "M"][:len(before)])
                self.check_tracks(trace)
                for other in ("summary.csv", "clients.csv", "jobs.csv"):
                    self.assertEqual((out / other).read_bytes(), (self.folder / "whole" / other).read_bytes())
                for _ in range(2):  # the same again changes nothing
                    again = self.gangway("run", file, "--out", out, "--trace", "--trace-limit", f"{limit} KiB")
                    self.assertIn(cut[0], again.stderr)
                    self.assert_same_files(contents(out / "trace"), kept)
                self.gangway("run", file, "--out", out)
                self.assert_same_files(contents(out / "trace"), kept)
                self.gangway("run", file, "--out", out, "--trace", "--trace-limit", "1 MiB")
                unpacked = [{name: gzip.decompress(data) for name, data in files.items()} for files in (contents(out / "trace"), whole)]
                self.assert_same_files(*unpacked)

    def test_the_trace_command_has_a_limit_for_its_file(self):
        self.gangway("run", self.file("e.yaml", BUSY), "--out", self.out)
        done = self.gangway("trace", self.out, "--policy", "rr", "--trace-limit", "60 KiB", "--out", "x.json")
        self.assertRegex(done.stderr, r"\Ax\.json: ends at .* ms, because the --trace-limit of 60 KiB is reached\n\Z")
        self.assertLessEqual((self.folder / "x.json").stat().st_size, 60 * 1024)
        self.check_tracks(read_trace(self.folder / "x.json"))

    def test_limits_that_are_none(self):
        self.gangway("run", self.file("e.yaml", SMALL), "--out", self.out)
        for limit in ("0 B", "1", "much", "-1 MiB", "1 ms"):
            with self.subTest(limit=limit):
                self.assertIn("expected a size above zero", self.refused("trace", self.out, f"--trace-limit={limit}"))
                self.assertIn("expected a size above zero", self.refused("run", "e.yaml", "--trace", f"--trace-limit={limit}"))
        self.assertIn("room for the names", self.refused("trace", self.out, "--trace-limit", "2 KiB"))
        self.assertFalse(any((self.out / "trace").glob("*")))

    def test_runs_that_are_not_there(self):
        self.gangway("run", self.file("e.yaml", SMALL), "--out", self.out)
        before = contents(self.out, manifest=True)
        for arguments, part in [
            (["--point", 2], "at most 1"),
            (["--policy", "srt"], "one of rr, rr-long, sjf"),
            (["--replication", 2], "at most 1"),
            (["--permutation", 3], "at most 2"),
            (["--point", -1], "point"),
        ]:
            with self.subTest(arguments=arguments):
                self.assertIn(part, self.refused("trace", self.out, *arguments))
        self.assert_same_files(contents(self.out, manifest=True), before)
        self.assertIn("manifest.json", self.refused("trace", self.folder))
        self.assertIn("absent", self.refused("trace", "absent"))


if __name__ == "__main__":
    unittest.main()
