"""Reads, sums up and makes recordings, from models/recording/README.md alone."""

import json
import sqlite3
from collections import defaultdict

KERNEL, COPY, MEMSET, GRAPH = range(4)
PAGEABLE, PINNED, DEVICE = 1, 2, 3


class Recording:
    """Tables as lists of rows; calls and works with their times."""

    def __init__(self, path):
        database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        database.row_factory = sqlite3.Row
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        self.tables = {name: [dict(row) for row in database.execute(f'SELECT * FROM "{name}" ORDER BY 1')] for name in names}
        database.close()
        self.about = {row["key"]: row["value"] for row in self.tables["about"]}
        self.calls, self.works, self.jobs = (self.tables[name] for name in ("calls", "works", "jobs"))
        returned = defaultdict(int)
        for call in self.calls:
            call["begin"] = returned[call["thread"]] + call["gap"]
            call["end"] = returned[call["thread"]] = call["begin"] + call["length"]
        for work in self.works:
            work["begin"] = self.calls[work["call"]]["begin"] + work["after"]
            work["end"] = work["begin"] + work["length"]

    def summary(self):
        """What `gangway list FILE --json` says."""
        jobs = [job for job in self.jobs if not job["warm_up"]]
        counted = [w for w in self.works if self._counts(w)]
        submissions, kernels = [0] * len(self.jobs), [0] * len(self.jobs)
        for work in self.works:
            job = self.calls[work["call"]]["job"]
            if job is not None:
                submissions[job] += 1
                kernels[job] += self._kernels(work)
        out = {"submissions": len(self.works), "job_count": len(jobs),
               "job_median_ns": middle([job["length"] for job in jobs]),
               "submissions_of_job": middle([submissions[job["id"]] for job in jobs]),
               "kernels_of_job": middle([kernels[job["id"]] for job in jobs])}
        windows = joined([(job["begin"], job["begin"] + job["length"]) for job in jobs])
        out["gpus"] = [self._gpu(gpu, windows) for gpu in sorted({self._gpu_of(work) for work in self.works})]
        times = defaultdict(lambda: [0, 0])
        for work in counted:
            if work["kind"] in (KERNEL, GRAPH):
                entry = times[self._name(work)]
                entry[0] += 1
                entry[1] += work["length"]
        out["kernels"] = {name: tuple(entry) for name, entry in times.items()}
        copies = [self.tables["transfers"][w["shape"]]["bytes"] for w in counted if w["kind"] == COPY]
        out["copies"] = (len(copies), sum(copies))
        return out

    def _counts(self, work):
        job = self.calls[work["call"]]["job"]
        return job is not None and not self.jobs[job]["warm_up"]

    def _kernels(self, work):
        if work["kind"] == GRAPH:
            return sum(n["graph"] == work["shape"] and n["kind"] == KERNEL for n in self.tables["nodes"])
        return int(work["kind"] == KERNEL)

    def _name(self, work):
        if work["kind"] == GRAPH:
            return f"graph {work['shape']}"
        return self.tables["kernels"][self.tables["launches"][work["shape"]]["kernel"]]["name"]

    def _gpu_of(self, work):
        return self.tables["contexts"][self.tables["streams"][work["stream"]]["context"]]["gpu"]

    def _gpu(self, gpu, windows):
        works = sorted((w for w in self.works if self._gpu_of(w) == gpu), key=lambda w: w["begin"])
        busy = joined([(w["begin"], w["end"]) for w in works])
        under_way = sum(end - begin for begin, end in windows)
        in_windows = sum(max(0, min(e, end) - max(b, begin)) for b, e in windows for begin, end in busy)
        waits = 0
        for begin, end in windows:
            gaps, at = [], begin
            for b, e in busy:
                if e <= at or b >= end:
                    continue
                if b > at:
                    gaps.append((at, b))
                at = max(at, e)
            # Behind the last work the host is waited for once all calls that were under way have returned.
            returned = max([at, *(c["end"] for c in self.calls if c["begin"] <= at)])
            waits += max(0, end - returned)
            for b, e in gaps:  # each ends with work; what comes first decides, of several the first in the file
                first = next(w for w in works if w["begin"] == e)
                waits += max(0, min(self.calls[first["call"]]["end"], e) - b)
        held = most = 0
        for change in self.tables["memory"]:
            if change["gpu"] == gpu and change["kind"] == DEVICE:
                held += change["bytes"]
                most = max(most, held)
        return {"gpu": gpu, "under_way_ns": under_way, "busy_ns": in_windows, "waits_for_host_ns": waits, "most_memory": most}


def read(path):
    return Recording(path)


def joined(intervals):
    out = []
    for begin, end in sorted(intervals):
        if out and begin <= out[-1][1]:
            out[-1][1] = max(out[-1][1], end)
        else:
            out.append([begin, end])
    return out


def middle(values):
    """The median, the lower of two."""
    return sorted(values)[(len(values) - 1) // 2] if values else 0


def differences(ours, theirs):
    out = [key for key in ("submissions", "job_count", "job_median_ns", "submissions_of_job", "kernels_of_job") if ours[key] != theirs[key]]
    for mine, other in zip(ours["gpus"], theirs.get("gpus", [])):
        out += [f"gpu {key}: {mine[key]} {other[key]}" for key in mine if mine[key] != other[key]]
    if ours["kernels"] != {k["name"]: (k["launches"], k["total_ns"]) for k in theirs.get("kernels", [])}:
        out.append("kernels")
    copies = theirs.get("copies", [])
    if ours["copies"] != (sum(c["count"] for c in copies), sum(c["bytes"] for c in copies)):
        out.append("copies")
    return out


SCHEMA = """
CREATE TABLE about(key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE gpus(id INTEGER PRIMARY KEY, name, sms, major, minor, clock_khz, copy_engines, memory, l2);
CREATE TABLE processes(id INTEGER PRIMARY KEY, pid, parent, command, began, finished);
CREATE TABLE threads(id INTEGER PRIMARY KEY, process, tid, name);
CREATE TABLE contexts(id INTEGER PRIMARY KEY, process, gpu, number);
CREATE TABLE streams(id INTEGER PRIMARY KEY, context, number, kind, priority);
CREATE TABLE functions(id INTEGER PRIMARY KEY, name, kind);
CREATE TABLE kernels(id INTEGER PRIMARY KEY, name);
CREATE TABLE launches(id INTEGER PRIMARY KEY, kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y,
  cluster_z, registers, static_shared, dynamic_shared, local, cooperative);
CREATE TABLE transfers(id INTEGER PRIMARY KEY, bytes, "from", "to", asynchronous);
CREATE TABLE graphs(id INTEGER PRIMARY KEY, process, number);
CREATE TABLE nodes(id INTEGER PRIMARY KEY, graph, kind, shape, lane, after, length, launches);
CREATE TABLE range_names(id INTEGER PRIMARY KEY, domain, name);
CREATE TABLE ranges(id INTEGER PRIMARY KEY, name, thread, "begin", length);
CREATE TABLE calls(id INTEGER PRIMARY KEY, thread, function, gap, length, result, job);
CREATE TABLE works(id INTEGER PRIMARY KEY, call, stream, kind, shape, after, length);
CREATE TABLE orders(call INTEGER PRIMARY KEY, kind, place, recorded);
CREATE TABLE memory(id INTEGER PRIMARY KEY, at, gpu, process, kind, bytes);
CREATE TABLE jobs(id INTEGER PRIMARY KEY, kind, thread, "begin", length, warm_up);
"""


def make(path, random, jobs=40):
    """Writes a random recording of one or two threads and GPUs and returns its path."""
    database = sqlite3.connect(path)
    database.executescript(f"PRAGMA application_id = {0x47575243}; PRAGMA user_version = 1; {SCHEMA}")

    def put(table, *rows):
        for row in rows:
            database.execute(f"INSERT INTO {table} VALUES({','.join('?' * len(row))})", row)

    gpus, threads, skip = random.randint(1, 2), random.randint(1, 2), random.randint(0, 3)
    about = {"identity": str(random.random()), "command": '["./app"]', "origin": 10**18, "length": 10**9, "ending": "exited",
             "code": 0, "jobs": "sync", "skip": skip, "lost": 0, "gangway": "", "cupti": "", "driver": "", "cpu": "a cpu",
             "cores": 2, "system": "", "trouble": ""}
    put("about", *about.items())
    put("gpus", *((g, f"GPU {g}", 8, 9, 0, 1000, 2, 1 << 30, 1 << 20) for g in range(gpus)))
    put("processes", (0, 5, 1, json.dumps(["./app"]), 0, 1))
    put("threads", *((t, 0, 5 + t, "") for t in range(threads)))
    put("contexts", *((g, 0, g, 1) for g in range(gpus)))
    put("streams", *((s, s % gpus, 7 + s, 1, 0) for s in range(3)))
    put("functions", (0, "cudaLaunchKernel", 1), (1, "cudaMemcpyAsync", 3), (2, "cudaGraphLaunch", 2), (3, "cudaDeviceSynchronize", 7))
    put("kernels", (0, "_Z1av"), (1, "b"))
    put("launches", *((i, i % 2, 1 + i, 1, 1, 32, 1, 1, 0, 0, 0, 16, 0, 0, 0, 0) for i in range(4)))
    put("transfers", (0, 4096, PINNED, DEVICE, 1), (1, 100, DEVICE, DEVICE, 1), (2, 7, DEVICE, PAGEABLE, 1))
    put("graphs", (0, 0, 2), (1, 0, 3))
    put("nodes", (0, 0, KERNEL, 0, 0, 0, 50, 3), (1, 0, MEMSET, 1, 0, 50, 5, 3), (2, 0, KERNEL, 1, 1, 55, 9, 3))
    at, calls, works, rows = 100, [], [], []
    returned, free = [0] * threads, [0] * 3
    for job in range(jobs):
        thread = random.randrange(threads)
        begin = at + random.randint(0, 300)
        at = begin
        for _ in range(random.randint(1, 6)):
            kind, length = random.choice([KERNEL, KERNEL, COPY, MEMSET, GRAPH]), random.randint(1, 20)
            function, shapes = {KERNEL: (0, 4), COPY: (1, 3), MEMSET: (1, 2), GRAPH: (2, 2)}[kind]
            shape = 1 if kind == MEMSET else random.randrange(shapes)
            calls.append((len(calls), thread, function, at - returned[thread], length, 0, job))
            for _ in range(random.choice([1, 1, 1, 2])):
                stream = random.randrange(3)
                starts = max(free[stream], at + random.randint(-2, 60))
                free[stream] = starts + random.randint(0, 90)
                works.append((len(calls) - 1, stream, kind, shape, starts - at, free[stream] - starts, starts))
            at = returned[thread] = at + length
            at += random.randint(0, 40)
        wait = max(1, max(free) - at + random.randint(-5, 30))
        calls.append((len(calls), thread, 3, at - returned[thread], wait, 0, job))
        put("orders", (len(calls) - 1, 0, 0, None))
        at = returned[thread] = at + wait
        rows.append((job, 0, thread, begin, at - begin, int(job < skip)))
    works.sort(key=lambda w: (w[0], w[6]))
    put("calls", *calls)
    put("works", *((i, *work[:6]) for i, work in enumerate(works)))
    put("jobs", *rows)
    put("memory", *((i, i * 10, 0, 0, DEVICE, random.randint(-50, 100)) for i in range(20)))
    put("range_names", (0, "", "step"))
    put("ranges", (0, 0, 0, 5, 100), (1, 0, 0, 6, None))
    database.commit()
    database.close()
    return path
