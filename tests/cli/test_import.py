"""Profiles of other profilers: imported as a user does, then checked, listed and played in experiments."""

import contextlib
import json
import random
import resource
import sqlite3
import unittest

from made_profiles import (CONTEXT_SYNC, DTOH, EVENT_SYNC, HTOD, PID, PINNED, DEVICE, WAIT_EVENT, Kineto, Nsys, global_id)
from program import ROOT, ProgramTest, manifest, table

EXPERIMENT = """kind: experiment
version: 1
name: imported
workload:
  kind: workload
  version: 1
  name: imported
  clients:
@CLIENTS@device: h100
mechanism: ideal
policies: [passthrough]
"""
# What one step of the program below takes, and what comes between two.
STEP, THOUGHT = 56_000, 100_000


def steps(profile, count=3, begin=1_000_000, sync=None, **who):
    """Each step launches two kernels of 20 us, copies from the GPU and waits; its range is longer by 15 us."""
    for number in range(count):
        at = begin + number * (STEP + THOUGHT)
        profile.range(f"ProfilerStep#{number}", at - 1_000, at + STEP + 14_000)
        profile.kernel(at, at + 3_000, at + 5_000, at + 25_000, **who)
        profile.kernel(at + 4_000, at + 7_000, at + 26_000, at + 46_000, **who)
        profile.copy(at + 8_000, at + 9_000, at + 47_000, at + 50_000)
        (sync or (lambda b, e: profile.sync(b, e)))(at + 10_000, at + STEP)
    return profile


def torch_steps(version=2025, told=True, **rest):
    profile = Kineto(version)
    told = told and version > 2021
    return steps(profile, sync=lambda b, e: profile.sync("cudaStreamSynchronize", b, e, "Stream Sync" if told else None, 7), **rest)


class Imports(ProgramTest):
    def imported(self, profiler, file, *options, out="a.rec"):
        return self.gangway("import", profiler, file, "--out", out, *options)

    def listed(self, name="a.rec"):
        return json.loads(self.gangway("list", name, "--json").stdout)

    def rows(self, query, name="a.rec"):
        with contextlib.closing(sqlite3.connect(self.folder / name)) as recording:
            return recording.execute(query).fetchall()

    def play(self, *recordings, out="out", change=lambda text: text):
        clients = "".join(f"    - {{name: {chr(65 + i)}, recording: {name}}}\n" for i, name in enumerate(recordings))
        self.file("e.yaml", change(EXPERIMENT.replace("@CLIENTS@", clients)))
        return self.gangway("run", "e.yaml", "--out", out)

    def every_profile(self):
        """The same program in all versions of both formats."""
        for version in ("2021", "2023", "2025"):
            yield f"nsys {version}", "nsys", steps(Nsys(version)).write(self.folder / "p.sqlite")
        yield "torch 2021", "torch", torch_steps(2021).write(self.folder / "p.json")
        yield "torch 2025", "torch", torch_steps(2025).write(self.folder / "p.json.gz")

    def test_every_version_gives_a_recording_that_is_checked_listed_drawn_and_played(self):
        for what, profiler, file in self.every_profile():
            with self.subTest(what):
                done = self.imported(profiler, file, "--force")
                self.assertIn("3 jobs (sync)", done.stdout)
                self.assertEqual(self.gangway("check", "a.rec").stdout, "a.rec: recording, fine\n")
                self.assertIn("from a profile: ", self.gangway("list", "a.rec").stdout)
                listed = self.listed()
                self.assertEqual([job["length_ns"] for job in listed["job_times"]], [STEP] * 3)
                self.assertEqual((listed["submissions"], listed["kernels_of_job"], listed["lost"], listed["trouble"]), (9, 2, 0, ""))
                self.assertEqual(listed["copies"], [{"where": "from the GPU, pinned", "count": 3, "bytes": 3 * 4096, "total_ns": 9_000}])
                self.gangway("trace", "a.rec", "--out", f"{what}.json.gz")
                self.play("a.rec", out=what.replace(" ", "-"))
                jobs = table(self.folder / what.replace(" ", "-") / "jobs.csv")
                self.assertEqual([int(job["response_ns"]) for job in jobs], [STEP] * 3)
                self.assertEqual([int(job["arrival_ns"]) for job in jobs], [0, STEP + THOUGHT, 2 * (STEP + THOUGHT)])

    def test_a_timeline_has_no_spans_that_cross_on_one_track(self):
        """Two kernels of one stream at once (a graph's, say), and ranges that begin and end in turn."""
        profile = steps(Nsys("2025"))
        profile.kernel(2_000_000, 2_001_000, 2_010_000, 2_030_000)
        profile.kernel(2_002_000, 2_003_000, 2_020_000, 2_040_000)
        for begin in (2_000_000, 2_020_000, 2_030_000):
            profile.range("crossing", begin, begin + 40_000)
        profile.range("within", 2_001_000, 2_002_000)
        self.imported("nsys", profile.write(self.folder / "p.sqlite"), "--jobs", "nvtx:crossing")
        self.gangway("trace", "a.rec", "--out", "a.json")
        events = json.loads((self.folder / "a.json").read_text())["traceEvents"]
        names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
        tracks = {}
        for e in events:
            if e["ph"] == "X":
                begin = round(e["ts"] * 1000)
                tracks.setdefault((e["pid"], e["tid"]), []).append((begin, begin + round(e["dur"] * 1000)))
        self.assertEqual(sorted(names[track].rsplit(" (", 1)[1] for track in tracks if names[track].endswith(")") and "null" not in names[track]),
                         ["2)", "2)", "2)", "3)", "3)"])  # a stream, a thread's ranges, its jobs
        for track, spans in tracks.items():
            for i, (begin, end) in enumerate(spans):
                for other_begin, other_end in spans[:i]:
                    apart = other_end <= begin or end <= other_begin
                    within = other_begin <= begin and end <= other_end
                    self.assertTrue(apart or (within and "ranges" in names[track]), names[track])
        self.assertIn("--policy: key '--policy': found 'rr', expected a result folder", self.refused("trace", "a.rec", "--policy", "rr"))
        self.assertIn("--point", self.refused("trace", "a.rec", "--point", 0))

    def test_names_are_kept_in_full(self):
        for what, profiler, file in self.every_profile():
            self.imported(profiler, file, "--force")
            mangled = what in ("nsys 2023", "nsys 2025")
            self.assertEqual(self.rows("SELECT name FROM kernels"), [("_Z3addIfEvPT_i" if mangled else "void add<float>(float*, int)",)], what)

    def test_imported_programs_run_beside_each_other_and_beside_policies(self):
        self.imported("nsys", steps(Nsys("2025")).write(self.folder / "n.sqlite"), out="n.rec")
        self.imported("torch", torch_steps().write(self.folder / "t.json"), out="t.rec")
        self.play("n.rec", "t.rec", change=lambda text: text.replace("[passthrough]", "[passthrough, fcfs, edf, disengaged-timeslice]\ngrant: job"))
        jobs = table(self.folder / "out/jobs.csv")
        self.assertEqual(len(jobs), 4 * 2 * 3)
        self.assertTrue(any(int(job["response_ns"]) > STEP for job in jobs))

    def test_ranges_are_jobs(self):
        for profiler, file in (("nsys", steps(Nsys()).write(self.folder / "p.sqlite")), ("torch", torch_steps().write(self.folder / "p.json"))):
            self.imported(profiler, file, "--jobs", "nvtx:ProfilerStep*", "--skip", 1, "--force")
            self.assertEqual([(job["length_ns"], job["warm_up"]) for job in self.listed()["job_times"]],
                             [(STEP + 15_000, True), (STEP + 15_000, False), (STEP + 15_000, False)])
            self.imported(profiler, file, "--jobs", "nvtx:ProfilerStep#2", "--force")
            self.assertEqual(self.listed()["job_count"], 1)
            self.assertIn("'step', expected one of 'ProfilerStep#0', 'ProfilerStep#1'",
                          self.refused("import", profiler, file, "--out", "b.rec", "--jobs", "nvtx:step"))
            self.assertFalse((self.folder / "b.rec").exists())

    def test_domains_of_ranges(self):
        profile = steps(Nsys())
        profile.put("NVTX_EVENTS", start=0, eventType=75, text="mine", globalTid=global_id(PID), domainId=3)
        profile.range("step", 900_000, 1_100_000, domain=3, registered=True)
        self.imported("nsys", profile.write(self.folder / "p.sqlite"), "--jobs", "nvtx:mine/step")
        self.assertEqual(self.listed()["job_count"], 1)
        self.assertEqual(self.rows("SELECT domain, name FROM range_names WHERE domain <> ''"), [("mine", "step")])

    def test_processes_are_clients(self):
        profile = steps(Nsys("2025"))
        for number in range(2):  # beside the second kernel of a step
            at = 1_030_000 + 156_000 * number
            profile.kernel(at - 4_000, at - 2_000, at, at + 5_000, pid=77, tid=78)
            profile.sync(at - 1_000, at + 8_000, pid=77, tid=78)
        file = profile.write(self.folder / "p.sqlite")
        self.assertIn("found none, and 2 processes that used a GPU, expected one of 1234 (9 submissions), 77 (2 submissions), or --split process",
                      self.refused("import", "nsys", file, "--out", "a.rec"))
        self.assertIn("--process", self.refused("import", "nsys", file, "--out", "a.rec", "--process", 5))
        done = self.imported("nsys", file, "--process", PID)
        self.assertEqual(self.rows("SELECT work FROM beside"), [(1,), (4,)])
        self.assertIn("beside    2 of 9 submissions ran beside other work on the GPU", self.gangway("list", "a.rec").stdout)
        self.assertIn("beside other work there", done.stderr)
        done = self.imported("nsys", file, "--split", "process", out="all.rec")
        self.assertEqual(sorted(path.name for path in self.folder.glob("all*")), ["all-1234.rec", "all-77.rec"])
        self.assertEqual(self.listed("all-77.rec")["job_count"], 2)
        done = self.play("all-1234.rec", "all-77.rec")
        notes = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
        self.assertTrue(any(line.startswith("note: A, B: profiled beside other work on the same GPU") for line in notes), done.stderr)
        # What is merged is said in the same words.
        self.gangway("run", "e.yaml", "--points", 0, "--out", "part")
        merged = self.gangway("merge", "part", "--out", "merged")
        self.assertEqual([line for line in merged.stderr.splitlines() if line.startswith("note: ")], notes)

    def test_processes_count_their_gpus_by_themselves(self):
        """Both call theirs number 0; the first one's is the second GPU of the machine."""
        profile = steps(Nsys("2025"))
        profile.kernel(1_026_000, 1_028_000, 1_030_000, 1_035_000, pid=77, tid=78)
        profile.put("TARGET_INFO_GPU", id=1, name="NVIDIA H200", smCount=132, totalMemory=150_754_820_096)
        profile.put("TARGET_INFO_CUDA_DEVICE", gpuId=1, cudaId=0, pid=PID)
        profile.put("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=77)
        self.imported("nsys", profile.write(self.folder / "p.sqlite"), "--split", "process", "--jobs", "whole")
        self.assertEqual(self.rows("SELECT name FROM gpus", "a-1234.rec"), [("NVIDIA H200",)])
        self.assertEqual(self.rows("SELECT name FROM gpus", "a-77.rec"), [("NVIDIA H100 80GB HBM3",)])
        self.assertEqual([self.rows("SELECT * FROM beside", name) for name in ("a-1234.rec", "a-77.rec")], [[], []])

    def test_traces_of_several_processes_in_one(self):
        """Works have no process there: where two have a call of that number, nobody knows whose they are."""
        profile = torch_steps()
        profile.kernel(3_000_000, 3_001_000, 3_002_000, 3_003_000, pid=77, tid=78)
        profile.correlation = 0
        profile.kernel(4_000_000, 4_001_000, 4_002_000, 4_003_000, pid=77, tid=78)
        done = self.imported("torch", profile.write(self.folder / "p.json"), "--process", PID)
        self.assertEqual((self.listed()["submissions"], self.listed()["lost"]), (8, 2))
        self.assertIn("gangway: 2 rows of the profile are omitted", done.stderr)
        self.assertIn("found none, and 2 processes", self.refused("import", "torch", "p.json", "--out", "b.rec"))

    def test_a_kernel_without_a_length_is_none(self):
        """It would have taken no time, and its job too little."""
        profile = torch_steps()
        file = profile.write(self.folder / "p.json")
        trace = json.loads(file.read_text())
        kernels = [event for event in trace["traceEvents"] if event.get("cat") == "kernel"]
        del kernels[0]["dur"]
        kernels[1]["dur"] = None
        file.write_text(json.dumps(trace))
        done = self.imported("torch", file)
        self.assertIn("gangway: 2 rows of the profile are omitted", done.stderr)
        self.assertEqual(self.listed()["lost"], 2)

    def test_streams_are_clients(self):
        profile = steps(Nsys())
        for number in range(2):
            at = 1_060_000 + 156_000 * number
            profile.kernel(at, at + 2_000, at + 5_000, at + 15_000, stream=13)
            profile.sync(at + 3_000, at + 18_000, stream=13)
        profile.put("TARGET_INFO_CUDA_STREAM", streamId=13, processId=PID, contextId=1, priority=-2, flag=2)
        profile.put("TARGET_INFO_CUDA_CONTEXT_INFO", nullStreamId=7, processId=PID, deviceId=0, contextId=1)
        file = profile.write(self.folder / "p.sqlite")
        self.imported("nsys", file)
        self.assertEqual(self.rows("SELECT number, kind, priority FROM streams"), [(7, 2, 0), (13, 1, -2)])
        self.imported("nsys", file, "--stream", 13, out="13.rec")
        self.assertEqual(self.listed("13.rec")["submissions"], 2)
        self.assertEqual(self.rows("SELECT count(*) FROM calls", "13.rec"), [(4,)])
        self.imported("nsys", file, "--split", "stream", out="s.rec")
        self.assertEqual(sorted(path.name for path in self.folder.glob("s*.rec")), ["s-13.rec", "s-7.rec"])
        self.play("s-7.rec", "s-13.rec")
        self.assertIn("found '8', expected one of 7 (9 submissions), 13 (2 submissions)",
                      self.refused("import", "nsys", file, "--out", "b.rec", "--stream", 8))
        self.assertIn("--stream", self.refused("import", "nsys", file, "--out", "b.rec", "--stream", 8, "--split", "stream"))

    def test_waits_for_events_order_streams(self):
        """Stream 13 waits for what stream 7 had been given; the host waits for an event of stream 13."""
        for version in ("2023", "2025"):
            profile, ids = Nsys(version), (11, 12) if version == "2025" else (0, 0)
            profile.kernel(1_000, 2_000, 5_000, 50_000)
            profile.record(2_100, 2_200, 7, event=4, eventSyncId=ids[0])
            profile.sync(2_300, 2_400, WAIT_EVENT, stream=13, event=4, eventSyncId=ids[0])
            profile.kernel(2_500, 3_000, 51_000, 60_000, stream=13)
            profile.record(3_100, 3_200, 13, event=4, eventSyncId=ids[1])
            profile.sync(3_300, 65_000, EVENT_SYNC, event=4, eventSyncId=ids[1])
            self.imported("nsys", profile.write(self.folder / "p.sqlite"), "--force")
            self.assertEqual(self.rows("SELECT call, orders.kind, streams.number, recorded FROM orders LEFT JOIN streams ON place = streams.id"),
                             [(1, 3, 7, None), (2, 4, 13, 1), (4, 3, 13, None), (5, 2, None, 4)])
            self.assertEqual([job["length_ns"] for job in self.listed()["job_times"]], [64_000])

    def test_graphs_as_wholes_and_by_their_nodes(self):
        for nodes in (False, True):
            profile = Nsys("2023")
            for number in range(3):
                at = 10_000 + 100_000 * number
                correlation = profile.call("cudaGraphLaunch_v10000", at, at + 4_000)
                if nodes:
                    profile.kernel_of(correlation, at + 10_000, at + 20_000, graphNodeId=3)
                    profile.kernel_of(correlation, at + 21_000, at + 30_000 + number, graphNodeId=4)
                else:
                    profile.work("GRAPH_TRACE", correlation, at + 10_000, at + 30_000 + number, 7, graphId=9, graphExecId=10)
                profile.sync(at + 5_000, at + 35_000, CONTEXT_SYNC)
            self.imported("nsys", profile.write(self.folder / "p.sqlite"), "--force")
            self.assertEqual(self.rows("SELECT works.kind, works.length FROM works"), [(3, 20_000), (3, 20_001), (3, 20_002)])
            self.assertEqual(self.rows("SELECT after, length, launches FROM nodes"), [(0, 10_000, 3), (11_000, 9_001, 3)] if nodes else [])
            self.assertEqual(self.rows("SELECT count(*) FROM graphs"), [(1,)])
            self.assertIn("graphs    1, with their nodes\n" if nodes else "graphs    1, timed as launched\n", self.gangway("list", "a.rec").stdout)
            self.play("a.rec", out=f"out{nodes}")

    def test_memory_that_was_held(self):
        profile = steps(Nsys())
        for at, kind, bytes in ((500, 0, 3 << 20), (600, 0, 1 << 20), (900, 1, 3 << 20)):
            profile.put("CUDA_GPU_MEMORY_USAGE_EVENTS", start=at, globalPid=global_id(PID), memKind=DEVICE, memoryOperationType=kind, bytes=bytes)
        self.imported("nsys", profile.write(self.folder / "p.sqlite"))
        self.assertIn("memory    at most 4 MiB held", self.gangway("list", "a.rec").stdout)

    def test_traces_that_do_not_say_for_what_a_call_waits(self):
        self.imported("torch", torch_steps(told=False).write(self.folder / "p.json"))
        self.assertEqual(self.listed()["trouble"], "")  # there is one stream
        profile = torch_steps(told=False)
        profile.kernel(3_000_000, 3_001_000, 3_002_000, 3_003_000, stream=20)
        done = self.imported("torch", profile.write(self.folder / "p.json"), "--force")
        self.assertIn("gangway: for what 3 calls wait is not said: the stream is taken to which its thread submitted last\n", done.stderr)
        self.assertEqual(self.listed()["job_count"], 3)

    def test_what_is_not_said_of_the_gpu_is_asked_for_or_left_open(self):
        profile = torch_steps()
        profile.devices = []
        file = profile.write(self.folder / "p.json")
        done = self.imported("torch", file)
        self.assertIn("the profile lacks facts about the GPU: its name, its number of SMs, its memory (--device NAME supplies them)", done.stderr)
        self.assertEqual(self.rows("SELECT name, sms, memory FROM gpus"), [("", 0, 0)])
        done = self.play("a.rec")
        self.assertIn("A: recorded on a GPU unknown to its profile, played on h100", done.stderr)
        self.assertTrue(manifest(self.folder / "out")["recordings"][0]["another_device"])
        done = self.imported("torch", file, "--device", "h100", "--force")
        self.assertEqual(done.stderr, "")
        self.assertEqual(self.rows("SELECT name, sms, memory FROM gpus"), [("h100", 132, 80 << 30)])
        self.assertNotIn("recorded on", self.play("a.rec", out="known").stderr)
        self.assertIn("'h1000'", self.refused("import", "torch", file, "--out", "b.rec", "--device", "h1000"))

    def test_gpus_of_old_exports(self):
        self.imported("nsys", steps(Nsys("2021")).write(self.folder / "p.sqlite"))
        self.assertEqual(self.rows("SELECT name, sms, major, clock_khz FROM gpus"), [("Tesla V100-SXM2-16GB", 80, 7, 1_530_000)])

    def test_copies_to_the_gpu_and_kinds_of_memory(self):
        profile = Nsys("2021")
        profile.copy(1_000, 3_000, 4_000, 9_000, function="cudaMemcpy_v3020", kind=HTOD, src=0, dst=DEVICE)
        profile.copy(10_000, 20_000, 12_000, 19_000, function="cudaMemcpy_v3020", kind=DTOH, src=DEVICE, dst=PINNED)
        self.imported("nsys", profile.write(self.folder / "p.sqlite"))
        self.assertEqual(self.rows('SELECT "from", "to", asynchronous FROM transfers'), [(1, 3, 0), (3, 2, 0)])
        self.assertEqual(self.listed()["job_count"], 1)  # up to the copy from the GPU that the host waits for

    def test_files_that_are_there_stay(self):
        file = steps(Nsys()).write(self.folder / "p.sqlite")
        self.file("a.rec", "mine")
        self.assertIn("--force replaces it", self.refused("import", "nsys", file, "--out", "a.rec"))
        self.assertEqual((self.folder / "a.rec").read_text(), "mine")
        self.imported("nsys", file, "--force")
        self.assertEqual(self.listed()["job_count"], 3)
        profile = file.read_bytes()
        self.assertIn("found the profile, expected another file", self.refused("import", "nsys", file, "--out", file, "--force"))
        self.assertEqual(file.read_bytes(), profile)
        self.assertIn("no folder", self.refused("import", "nsys", file, "--out", "none/a.rec"))

    def test_wrong_files(self):
        steps(Nsys()).write(self.folder / "p.sqlite")
        torch_steps().write(self.folder / "p.json.gz")
        whole = (self.folder / "p.json.gz").read_bytes()
        (self.folder / "cut.json.gz").write_bytes(whole[:len(whole) // 2])
        self.file("empty.json", "")
        self.file("cpu.json", json.dumps({"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}))
        for profiler, file, found in (
                ("nsys", "none.sqlite", "no file"), ("nsys", "p.json.gz", "no SQLite database"), ("nsys", ".", "no regular file"),
                ("nsys", "empty.json", "no SQLite database"), ("torch", "none.json", "No such file"), ("torch", "p.sqlite", "syntax error"),
                ("torch", "cut.json.gz", "truncated or damaged compressed data"), ("torch", "empty.json", "empty.json:1: "),
                ("torch", "cpu.json", "no kernels, copies or memsets"), ("nvprof", "p.sqlite", "'nvprof', expected one of nsys, torch")):
            with self.subTest(file=file, profiler=profiler):
                self.assertIn(found, self.refused("import", profiler, file, "--out", "a.rec"))
        self.assertIn("jobs", self.refused("import", "nsys", "p.sqlite", "--out", "a.rec", "--jobs", "each"))
        self.assertEqual([path.name for path in self.folder.glob("*a.rec*")], [])

    def test_a_warm_up_of_all_jobs_is_refused(self):
        profile = ROOT / "tests/recorded/profiles/gpt2_train.json.gz"
        message = self.refused("import", "torch", profile, "--out", "a.rec", "--skip", 3)
        self.assertTrue(message.endswith("key '--skip': found 3, expected at most 1, as there are 2 jobs"), message)
        self.assertFalse((self.folder / "a.rec").exists())

    def test_spoilt_files_are_refused_in_one_line_or_imported(self):
        """60 of each; the tests in C++ take 10,000 (test_import_fuzz.cpp)."""
        dice = random.Random(7)
        codes = set()
        for profiler, file in (("nsys", steps(Nsys("2025")).write(self.folder / "p.sqlite")), ("torch", torch_steps().write(self.folder / "p.json")),
                               ("torch", torch_steps().write(self.folder / "p.json.gz"))):
            whole = file.read_bytes()
            for _ in range(20):
                spoilt = bytearray(whole[:dice.randrange(len(whole))] if dice.random() < 0.2 else whole)
                for _ in range(dice.randrange(1, 8)):
                    if spoilt:
                        spoilt[dice.randrange(len(spoilt))] = dice.randrange(256)
                file.write_bytes(spoilt)
                done = self.limited(resource.RLIMIT_AS, 4 << 30, "import", profiler, file, "--out", "a.rec", "--force")
                codes.add(done.returncode)
                if done.returncode != 0:
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                    self.assertRegex(done.stderr, r"\Aerror: [^\n]+\n\Z")
        self.assertEqual(codes, {0, 2})


if __name__ == "__main__":
    unittest.main()
