"""Programs that were recorded on an H100, written as the profiles that Nsight Systems and PyTorch's profiler would have made of the
same runs, and imported: calls, works, waits and jobs are those that were recorded."""

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))
from made_profiles import CONTEXT_SYNC, EVENT_SYNC, STREAM_SYNC, WAIT_EVENT, Kineto, Nsys, global_id  # noqa: E402
from program import table  # noqa: E402

GANGWAY = Path(os.environ.get("GANGWAY", "build/release/gangway")).resolve()
RECORDINGS = ROOT / "experiments/colocation/h100"
KERNEL, COPY, MEMSET, GRAPH = range(4)
CONTEXT, STREAM, EVENT, RECORD, WAIT = range(5)
QUERY = 8
HOST = (1, 2)  # kinds of memory
WORDS = ["Unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"]


class Recording:
    """Tables with their times, counted from the first call."""

    def __init__(self, data):
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            database = sqlite3.connect(file.name)
            database.row_factory = sqlite3.Row
            for table in ("streams", "contexts", "functions", "calls", "works", "orders", "jobs", "launches", "transfers", "kernels", "threads",
                          "graphs", "ranges", "range_names", "processes"):
                setattr(self, table, [dict(row) for row in database.execute(f'SELECT * FROM "{table}" ORDER BY 1')])
            self.about = dict(database.execute("SELECT key, value FROM about").fetchall())
            database.close()
        returned = defaultdict(int)
        for call in self.calls:
            call["begin"] = returned[call["thread"]] + call["gap"]
            call["end"] = returned[call["thread"]] = call["begin"] + call["length"]
        self.first = min(call["begin"] for call in self.calls)

    def kind(self, call):
        return self.functions[call["function"]]["kind"]

    def stream(self, row):
        return self.streams[row]["number"]

    def context_of(self, stream):
        return self.contexts[self.streams[stream]["context"]]["number"]

    def rows_of_calls(self, kept):
        return [(call["begin"] - self.first, call["length"], self.functions[call["function"]]["name"], self.threads[call["thread"]]["tid"])
                for call in self.calls if kept(call)]

    def rows_of_works(self):
        return [(self.calls[w["call"]]["begin"] - self.first, w["after"], w["length"], w["kind"], self.stream(w["stream"])) for w in self.works]

    def rows_of_orders(self, kept):
        """Each with the times of the calls."""
        begin = lambda call: None if call is None else self.calls[call]["begin"] - self.first
        place = lambda o: o["place"] if o["kind"] in (CONTEXT, EVENT) else self.stream(o["place"])
        return [(begin(o["call"]), o["kind"], place(o), begin(o["recorded"])) for o in self.orders if kept(self.calls[o["call"]])]


def as_export(r):
    n = Nsys("2025")
    pid = r.processes[0]["pid"]
    to_nsys = lambda kind: (kind - 1) % 8
    for stream in r.streams:
        n.put("TARGET_INFO_CUDA_STREAM", streamId=stream["number"], processId=pid, contextId=r.contexts[stream["context"]]["number"],
              priority=stream["priority"], flag=(1, 2, 3)[stream["kind"]])
    for call in r.calls:
        n.call(r.functions[call["function"]]["name"], call["begin"], call["end"], pid, r.threads[call["thread"]]["tid"], call["result"])
    for w in r.works:
        begin = r.calls[w["call"]]["begin"] + w["after"]
        where = (w["call"] + 1, begin, begin + w["length"], r.stream(w["stream"]), pid, r.context_of(w["stream"]))
        if w["kind"] == KERNEL:
            shape = r.launches[w["shape"]]
            name = n.string(r.kernels[shape["kernel"]]["name"])
            n.work("KERNEL", *where, demangledName=name, shortName=name, mangledName=name, registersPerThread=shape["registers"],
                   staticSharedMemory=shape["static_shared"], dynamicSharedMemory=shape["dynamic_shared"],
                   **{part + axis.upper(): shape[f"{part}_{axis}"] for part in ("grid", "block", "cluster") for axis in "xyz"})
        elif w["kind"] == GRAPH:
            n.work("GRAPH_TRACE", *where, graphId=r.graphs[w["shape"]]["number"], graphExecId=1)
        else:
            shape = r.transfers[w["shape"]]
            source, target = shape["from"] in HOST, shape["to"] in HOST
            n.work("MEMCPY" if w["kind"] == COPY else "MEMSET", *where, bytes=shape["bytes"], srcKind=to_nsys(shape["from"]),
                   dstKind=to_nsys(shape["to"]), memKind=to_nsys(shape["to"]),
                   copyKind=9 if source and target else 1 if source else 2 if target else 8)
    for o in r.orders:
        call = r.calls[o["call"]]
        if r.kind(call) == QUERY:  # CUPTI has no records of these
            continue
        stream = 0xFFFFFFFF if o["kind"] in (CONTEXT, EVENT) else r.stream(o["place"])
        context = r.contexts[o["place"]]["number"] if o["kind"] == CONTEXT else r.context_of(o["place"] or 0)
        recorded = 0 if o["recorded"] is None else o["recorded"] + 1
        if o["kind"] == RECORD:
            n.put("CUPTI_ACTIVITY_KIND_CUDA_EVENT", correlationId=o["call"] + 1, globalPid=global_id(pid), contextId=context, streamId=stream,
                  eventId=1, eventSyncId=o["call"] + 1)
        else:
            n.put("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", correlationId=o["call"] + 1, globalPid=global_id(pid), contextId=context, streamId=stream,
                  syncType={CONTEXT: CONTEXT_SYNC, STREAM: STREAM_SYNC, EVENT: EVENT_SYNC, WAIT: WAIT_EVENT}[o["kind"]], eventSyncId=recorded)
    for row in r.ranges:
        if row["length"] is not None:
            n.range(r.range_names[row["name"]]["name"], row["begin"], row["begin"] + row["length"], pid, r.threads[row["thread"]]["tid"])
    return n


def as_trace(r):
    k = Kineto(2025)
    pid = r.processes[0]["pid"]
    for call in r.calls:
        name = r.functions[call["function"]]["name"]
        k.call(name, call["begin"], call["end"], pid, r.threads[call["thread"]]["tid"], "cuda_runtime" if name.startswith("cuda") else "cuda_driver")
    for w in r.works:
        begin = r.calls[w["call"]]["begin"] + w["after"]
        where = {"device": 0, "context": r.context_of(w["stream"]), "stream": r.stream(w["stream"]), "correlation": w["call"] + 1}
        if w["kind"] == KERNEL:
            shape = r.launches[w["shape"]]
            k.event("kernel", r.kernels[shape["kernel"]]["name"], begin, begin + w["length"], 0, where["stream"], **where,
                    grid=[shape["grid_" + axis] for axis in "xyz"], block=[shape["block_" + axis] for axis in "xyz"])
        else:
            shape = r.transfers[w["shape"]]
            words = (f"Memcpy ({WORDS[shape['from']]} -> {WORDS[shape['to']]})" if w["kind"] == COPY else f"Memset ({WORDS[shape['to']]})")
            k.event("gpu_memcpy" if w["kind"] == COPY else "gpu_memset", words, begin, begin + w["length"], 0, where["stream"], **where,
                    bytes=shape["bytes"])
    for o in r.orders:
        call = r.calls[o["call"]]
        if o["kind"] == RECORD:
            k.event("cuda_event", "cudaEvent", call["begin"], call["end"], 0, r.stream(o["place"]), context=r.context_of(o["place"]),
                    stream=r.stream(o["place"]), correlation=o["call"] + 1, device=0)
        elif r.kind(call) != QUERY:
            kind = {CONTEXT: "Context Sync", STREAM: "Stream Sync", EVENT: "Event Sync", WAIT: "Stream Wait Event"}[o["kind"]]
            stream = -1 if o["kind"] in (CONTEXT, EVENT) else r.stream(o["place"])
            context = r.contexts[o["place"]]["number"] if o["kind"] == CONTEXT else r.context_of(o["place"] or 0)
            recorded = {} if o["recorded"] is None else {"wait_on_cuda_event_record_corr_id": o["recorded"] + 1, "wait_on_stream": -1}
            k.event("cuda_sync", kind, call["begin"], call["end"], 0, stream, cuda_sync_kind=kind, stream=stream, correlation=o["call"] + 1,
                    device=0, context=context, **recorded)
    for row in r.ranges:
        if row["length"] is not None:
            k.event("user_annotation", r.range_names[row["name"]]["name"], row["begin"], row["begin"] + row["length"], pid,
                    r.threads[row["thread"]]["tid"])
    return k


class Profiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def imported(self, profiler, profile, name, rule, skip):
        file = profile.write(self.folder / name)
        out = self.folder / "a.rec"
        done = subprocess.run([GANGWAY, "import", profiler, file, "--out", out, "--force", "--jobs", rule, "--skip", str(skip)],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return Recording(out.read_bytes())

    def compare(self, profiler, make, name, recordings):
        for path in recordings:
            with self.subTest(path.name):
                recorded = Recording(gzip.decompress(path.read_bytes()))
                self.assertEqual(len(recorded.processes), 1)
                imported = self.imported(profiler, make(recorded), name, recorded.about["jobs"], recorded.about["skip"])
                told = lambda call: profiler == "nsys" or recorded.kind(call) != QUERY
                known = lambda call: recorded.kind(call) != QUERY
                self.assertEqual(imported.rows_of_calls(lambda _: True), recorded.rows_of_calls(told))
                self.assertEqual(imported.rows_of_works(), recorded.rows_of_works())
                self.assertEqual(imported.rows_of_orders(lambda _: True), recorded.rows_of_orders(known))
                jobs = lambda r: [(job["begin"] - r.first, job["length"], job["warm_up"]) for job in r.jobs]
                self.assertEqual(jobs(imported), jobs(recorded))
                transfers = lambda r: [tuple(r.transfers[w["shape"]].values())[1:] for w in r.works if w["kind"] == COPY]
                self.assertEqual(transfers(imported), transfers(recorded))
                self.assertEqual(imported.about["lost"], 0)

    def test_exports_of_nsight_systems(self):
        self.compare("nsys", as_export, "p.sqlite", [path for path in sorted(RECORDINGS.glob("*.rec.gz")) if "paced" not in path.name])

    def test_traces_of_pytorchs_profiler(self):
        """Of programs without graphs, which it takes apart."""
        self.compare("torch", as_trace, "p.json", [RECORDINGS / f"{name}.rec.gz" for name in ("bert-eager", "gpt2-train")])

    def test_what_calls_wait_for_where_the_profile_does_not_say_it(self):
        """Of several streams it is that to which the thread submitted last, in all programs there."""
        for path in sorted(RECORDINGS.glob("*-graph*.rec.gz")):
            with self.subTest(path.name):
                recorded = Recording(gzip.decompress(path.read_bytes()))
                profile = as_export(recorded)
                for table in ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "CUPTI_ACTIVITY_KIND_CUDA_EVENT"):
                    profile.rows[table] = []
                imported = self.imported("nsys", profile, "p.sqlite", recorded.about["jobs"], recorded.about["skip"])
                waits = lambda r: [row for row in r.rows_of_orders(lambda call: r.kind(call) != QUERY) if row[1] in (CONTEXT, STREAM, EVENT)]
                self.assertEqual(waits(imported), waits(recorded))

    def test_a_real_profile_shows_what_was_recorded(self):
        """PyTorch 2.11 profiled three of the programs on an H100 (examples/programs/profile_torch.py), on another day and machine than they were
        recorded: a job submits the same, and what the GPU does in it takes as long. (Of the graph some kernels were chosen otherwise, and its nodes
        take longer where they are timed one by one.)"""
        programs = (("bert", "bert-eager", 4, 0, 0.05), ("gpt2_train", "gpt2-train", 2, 0, 0.05), ("resnet50", "resnet50-graph", 10, 2, 0.2))
        for profile, recording, jobs, kernels, longer in programs:
            with self.subTest(profile), tempfile.TemporaryDirectory() as folder:
                subprocess.run([GANGWAY, "import", "torch", ROOT / f"tests/recorded/profiles/{profile}.json.gz", "--jobs", "nvtx:job", "--out",
                                folder + "/a.rec"], check=True, capture_output=True)
                imported, recorded = (json.loads(subprocess.run([GANGWAY, "list", path, "--json"], check=True, capture_output=True).stdout)
                                      for path in (folder + "/a.rec", RECORDINGS / f"{recording}.rec.gz"))
                self.assertEqual((imported["job_count"], imported["lost"], imported["trouble"]), (jobs, 0, ""))
                self.assertEqual(imported["submissions_of_job"], recorded["submissions_of_job"])
                self.assertLessEqual(abs(imported["kernels_of_job"] - recorded["kernels_of_job"]), kernels)
                busy = lambda about: sum(kernel["total_ns"] for kernel in about["kernels"]) / about["job_count"]
                self.assertAlmostEqual(busy(imported) / busy(recorded), 1, delta=longer)
                played = Path(folder + "/e.yaml")
                played.write_text("kind: experiment\nversion: 1\nname: e\nworkload: {kind: workload, version: 1, name: w, clients: [{name: A, recording: a.rec}]}\n"
                                  "device: h100\nmechanism: ideal\npolicies: [passthrough]\n")
                subprocess.run([GANGWAY, "run", played, "--out", folder + "/out"], check=True, capture_output=True)
                lengths = [float(row["response_ns"]) for row in table(Path(folder) / "out/jobs.csv")]
                self.assertEqual(len(lengths), jobs)
                self.assertAlmostEqual(sum(lengths) / sum(job["length_ns"] for job in imported["job_times"]), 1, delta=0.02)


if __name__ == "__main__":
    unittest.main()
