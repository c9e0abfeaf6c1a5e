"""Random recordings, as `gangway record` could have made them, and workloads that play them.

`Recorder` makes a recording by hand: calls in the order of their begin, with what the GPU did for them. `draw_recording`
plays a made-up program on a made-up GPU and records that.
"""
import json
import pathlib
import re
import secrets
import sqlite3

from simpy_inputs import quantity
from recorded_model import (BLOCKING, CONTEXT, COPY, CUT, DEVICE, EVENT, GRAPH, KERNEL, MEMSET, NON_BLOCKING, NULL, NVTX,
                            PAGEABLE, PINNED, QUERY, RECORD, STREAM, SYNC, WAIT_EVENT, WHOLE)

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "models/recording/schema.hpp"
LAUNCHES, GRAPHS, COPIES, MEMSETS, SYNCHRONISES, RECORDS, WAITS = 1, 2, 3, 4, 7, 9, 10  # functions, by kind
KINDS = 11


class Recorder:
    """One GPU and one process. Times count from the origin."""

    def __init__(self, streams=(NON_BLOCKING,), threads=1, contexts=1):
        self.contexts = contexts
        self.streams = [stream if isinstance(stream, tuple) else (0, stream) for stream in streams]
        self.threads = threads
        self.functions = [(f"function{kind}", kind) for kind in range(KINDS)]
        self.calls, self.works, self.orders, self.jobs, self.transfers = [], [], [], [], []

    def call(self, begin, length, kind=0, thread=0, function=None):
        self.calls.append([thread, kind if function is None else function, begin, length])
        return len(self.calls) - 1

    def work(self, call, stream, begin, length, kind=KERNEL, transfer=None):
        shape = 0
        if kind in (COPY, MEMSET):
            shape = len(self.transfers)
            self.transfers.append(transfer or (DEVICE, DEVICE, 1))
        self.works.append((call, stream, kind, shape, begin - self.calls[call][2], length))

    def order(self, call, kind, place=None, recorded=None):
        self.orders.append((call, kind, place, recorded))

    def kernel(self, begin, length, stream, runs, lasts, thread=0):
        """A call at `begin` for `length`, whose kernel runs at `runs`."""
        call = self.call(begin, length, LAUNCHES, thread)
        self.work(call, stream, runs, lasts)
        return call

    def copy(self, begin, length, stream, runs, lasts, transfer, thread=0):
        call = self.call(begin, length, COPIES, thread)
        self.work(call, stream, runs, lasts, COPY, transfer)
        return call

    def wait(self, begin, length, kind, place=None, recorded=None, thread=0):
        call = self.call(begin, length, SYNCHRONISES, thread)
        self.order(call, kind, place, recorded)
        return call

    def record(self, begin, length, stream, thread=0):
        call = self.call(begin, length, RECORDS, thread)
        self.order(call, RECORD, stream)
        return call

    def wait_event(self, begin, length, stream, recorded, thread=0):
        call = self.call(begin, length, WAITS, thread)
        self.order(call, WAIT_EVENT, stream, recorded)
        return call

    def job(self, begin, length, calls, kind=SYNC, thread=0):
        self.jobs.append((begin, length, kind, thread, list(calls)))

    def write(self, path, skip=0, schema=None):
        """Writes the recording; calls must be in the order of their begin."""
        path = pathlib.Path(path)
        path.unlink(missing_ok=True)
        database = sqlite3.connect(path, isolation_level=None)
        database.executescript("PRAGMA application_id = 0x47575243; PRAGMA user_version = 1; PRAGMA journal_mode = OFF; BEGIN;"
                               + (schema or read_schema()))
        jobs = sorted(self.jobs, key=lambda job: job[0])
        of_call = {call: number for number, job in enumerate(jobs) for call in job[4]}
        clock, rows = {}, []
        for number, (thread, function, begin, length) in enumerate(self.calls):
            rows.append((number, thread, function, begin - clock.get(thread, 0), length, 0, of_call.get(number)))
            clock[thread] = begin + length
        length = max([clock.get(thread, 0) for thread in range(self.threads)] + [1])
        about = {"identity": f"{secrets.randbelow(10**32):032d}", "command": json.dumps(["./made-up"]),
                 "origin": 1_700_000_000_000_000_000, "length": length, "ending": "exited", "code": 0, "jobs": "sync",
                 "skip": skip, "lost": 0, "gangway": "0", "cupti": "0", "driver": "0", "cpu": "", "cores": 1, "system": "",
                 "trouble": ""}
        fill(database, "about", about.items())
        fill(database, "gpus", [(0, "A GPU", 132, 9, 0, 1_980_000, 3, 1 << 36, 1 << 25)])
        fill(database, "processes", [(0, 10, 9, json.dumps(["./made-up"]), 0, 1)])
        fill(database, "threads", [(thread, 0, 10 + thread, "thread") for thread in range(self.threads)])
        fill(database, "contexts", [(context, 0, 0, 1 + context) for context in range(self.contexts)])
        fill(database, "streams", [(number, context, 7 + number, kind, 0) for number, (context, kind) in enumerate(self.streams)])
        fill(database, "functions", [(number, *function) for number, function in enumerate(self.functions)])
        fill(database, "kernels", [(0, "_Z1kv")])
        fill(database, "launches", [(0, 0, 4, 1, 1, 32, 1, 1, 0, 0, 0, 16, 0, 0, 0, 0)])
        fill(database, "graphs", [(0, 0, 1)])
        fill(database, "transfers", [(number, 64, *transfer) for number, transfer in enumerate(self.transfers)])
        fill(database, "calls", rows)
        fill(database, "works", [(number, *work) for number, work in enumerate(sorted(self.works, key=lambda work: work[0]))])
        fill(database, "orders", sorted(self.orders))
        fill(database, "jobs", [(number, kind, thread, begin, length, int(number < skip))
                                for number, (begin, length, kind, thread, _) in enumerate(jobs)])
        database.execute("COMMIT")
        database.close()


def fill(database, table, rows):
    rows = list(rows)
    if rows:
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def read_schema():
    return re.search(r'R"\((.*?)\)"', SCHEMA.read_text(), re.DOTALL).group(1)


# ---- random recordings --------------------------------------------------------------------------

class Thread:
    def __init__(self, number):
        self.number, self.time, self.script, self.waits, self.calls = number, 0, [], False, []


class DrawnProgram:
    """A made-up program on a made-up GPU. Whoever waits does so for what CUDA would make it wait for."""

    def __init__(self, draw, without=()):
        self.draw, self.without = draw, without
        self.grid = draw.choice([1, 1, 10, 100, 1000])
        self.rule = draw.choice(["sync", "sync", "sync", "nvtx", "nvtx", "whole", "cut"])
        self.rule = "sync" if self.rule in without else self.rule
        self.depth = draw.randint(256, 270) if draw.random() < 0.07 and "full" not in without else None
        self.homes = 2 if draw.random() < 0.2 and self.rule != "whole" and "homes" not in without else 1
        # Jobs cut by device time have no calls of other threads.
        helpers = draw.choice([0, 0, 0, 1, 1, 2]) if "helpers" not in without and self.rule != "cut" else 0
        contexts = 2 if draw.random() < 0.15 and "contexts" not in without else 1
        streams = []
        for _ in range(draw.randint(1, 4)):
            kind = draw.choice([NON_BLOCKING, NON_BLOCKING, BLOCKING, BLOCKING, NULL])
            context = draw.randrange(contexts)
            if kind == NULL and (context, NULL) in streams:
                kind = BLOCKING
            streams.append((context, kind))
        self.recorder = Recorder(streams, self.homes + (helpers if self.homes == 1 else 0), contexts)
        self.threads = [Thread(number) for number in range(self.recorder.threads)]
        self.helpers = self.threads[self.homes:]
        self.silent = {helper.number: draw.random() < 0.5 for helper in self.helpers}
        self.front, self.events = [None] * len(streams), {}
        self.outstanding = [[] for _ in streams]
        self.launch, self.behind, self.wake = self.near(5_000), self.near(1_200), self.near(4_000)

    # -- times

    def near(self, time, spread=0.5):
        return self.snap(time * self.draw.uniform(1 - spread, 1 + spread))

    def snap(self, time):
        return max(round(time / self.grid), 0) * self.grid

    def short(self):
        return self.snap(self.draw.choice([0, 300, 1_000, 2_000, 5_000, 12_000]) * self.draw.choice([1, 1, self.draw.random()]))

    def lasts(self):
        if self.draw.random() < 0.03:
            return 0
        return self.snap(self.draw.choice([800, 4_000, 15_000, 60_000]) * self.draw.choice([1, self.draw.random()]))

    # -- what the program does

    def record(self):
        """The recording, as a Recorder."""
        for home in self.threads[:self.homes]:
            home.time = self.short()
            for number in range(self.draw.randint(2, 5)):
                if number or self.draw.random() < 0.5:
                    home.script += [("between", None)] * self.draw.choice([0, 0, 1, 2])
                final = [("final", None)] if self.rule == "sync" else []
                home.script += [("begin", None)] + self.body() + final + [("end", None)]
            home.script += [("between", None)] * self.draw.choice([0, 0, 1])
        for helper in self.helpers:
            if not self.silent[helper.number]:
                helper.time = self.snap(self.draw.uniform(0, 200_000))
                helper.script = self.body(12, waits=False)
        while True:
            able = [thread for thread in self.threads if thread.script and not thread.waits]
            if not able:
                break
            self.do(self.next_of(able))
        self.cut()
        return self.recorder

    def next_of(self, able):
        for thread in able:
            if not hasattr(thread, "gap"):
                thread.gap = self.short() if thread.script[0][0] not in ("begin", "end") else 0
        return min(able, key=lambda thread: (thread.time + thread.gap, thread.number))

    def body(self, most=7, waits=True):
        operations = ["kernel"] * 6 + ["graph", "memset", "copy", "copy", "copy", "batch", "record", "record", "wait_event",
                                       "other"]
        if waits and self.rule != "cut":
            operations += ["wait", "wait", "query"]
        if self.helpers and waits:
            operations += ["hand over"]
        if self.depth and waits and self.draw.random() < 0.6:
            return [("flood", None)] * (self.depth + self.draw.randint(5, 40))
        return [(self.draw.choice(operations), None) for _ in range(self.draw.randint(1, most))]

    def do(self, thread):
        operation, detail = thread.script.pop(0)
        begin = thread.time = thread.time + thread.gap  # whoever is handed to goes on from here
        del thread.gap
        draw = self.draw
        if operation == "begin":
            thread.first, thread.open_since = len(thread.calls), None
            thread.calls_of_job = []
            thread.in_job = True
            if self.rule == "nvtx":
                thread.time = thread.open_since = begin + self.short()
            # The first call is a submission.
            thread.script.insert(0, ("kernel", None))
            return
        if operation == "end":
            self.end_job(thread, begin)
            return
        if operation == "hand over":
            silent = [helper for helper in self.helpers if self.silent[helper.number] and not helper.script]
            if not silent:
                return
            helper = draw.choice(silent)
            helper.time, thread.waits = max(helper.time, begin), True
            helper.script = self.body(4, waits=False) + [("hand back", thread)]
            return
        if operation == "hand back":
            detail.waits, detail.time = False, max(detail.time, thread.time)
            return
        if operation == "between":
            operation = draw.choice(["other", "other", "record", "wait", "kernel", "copy"])
            operation = "kernel" if operation == "wait" and self.rule == "cut" else operation
        call = getattr(self, "do_" + operation)(thread, begin)
        if call is not None:
            thread.calls.append(call)
            _, _, start, length = self.recorder.calls[call]
            thread.time = start + length
            if getattr(thread, "in_job", False):
                thread.calls_of_job.append(call)

    def end_job(self, thread, begin):
        recorder, calls = self.recorder, thread.calls_of_job
        thread.in_job = False
        if self.rule == "whole":
            return
        first = recorder.calls[calls[0]][2]
        if self.rule == "nvtx":
            end = thread.time + self.short()
            recorder.job(thread.open_since, end - thread.open_since, calls, NVTX, thread.number)
            thread.time = end
        elif self.rule == "sync":
            recorder.job(first, thread.time - first, calls, SYNC, thread.number)
        else:
            works = [work for work in recorder.works if work[0] in set(calls)]
            last = max(work[0] for work in works)
            calls = [call for call in calls if call <= last]
            end = max([recorder.calls[last][2] + recorder.calls[last][3]]
                      + [recorder.calls[last][2] + work[4] + work[5] for work in works if work[0] == last])
            recorder.job(first, end - first, calls, CUT, thread.number)

    def cut(self):
        """Gives the calls of helpers to the jobs that are under way."""
        recorder = self.recorder
        if self.rule == "whole":
            first = recorder.works[0][0]
            begin = recorder.calls[first][2]
            end = max(recorder.calls[work[0]][2] + work[4] + work[5] for work in recorder.works)
            recorder.job(begin, end - begin, [call for call in range(first, len(recorder.calls)) if recorder.calls[call][2] <= end],
                         WHOLE, None)
            return
        for helper in self.helpers:
            for call in helper.calls:
                _, _, begin, length = recorder.calls[call]
                for job in recorder.jobs:
                    if job[0] <= begin and begin + length <= job[0] + job[1]:
                        job[4].append(call)

    # -- the GPU

    def ordered(self, stream):
        context, kind = self.recorder.streams[stream]
        wanted = {BLOCKING: NULL, NULL: BLOCKING}.get(kind)
        return [self.front[other] for other, (place, its) in enumerate(self.recorder.streams)
                if place == context and its == wanted and self.front[other] is not None]

    def submit(self, call, stream, kind=KERNEL, transfer=None, lasts=None):
        begin = self.recorder.calls[call][2]
        launch = self.draw.choice([self.launch, self.near(self.launch)])
        behind = self.draw.choice([self.behind, self.near(self.behind)])
        follows = self.ordered(stream) + ([] if self.front[stream] is None else [self.front[stream]])
        runs = max([begin + launch] + [time + behind for time in follows])
        lasts = self.lasts() if lasts is None else lasts
        self.recorder.work(call, stream, runs, lasts, kind, transfer)
        self.front[stream] = runs + lasts
        self.outstanding[stream].append(runs + lasts)
        return runs + lasts

    # -- calls

    def stream(self):
        return self.draw.randrange(len(self.front))

    def do_other(self, thread, begin):
        return self.recorder.call(begin, self.short(), 0, thread.number)

    def do_kernel(self, thread, begin):
        call = self.recorder.call(begin, self.near(1_500), LAUNCHES, thread.number)
        self.submit(call, self.stream())
        return call

    def do_flood(self, thread, begin):
        stream, length = 0, self.near(1_500, 0.1)
        waiting = sorted(end for end in self.outstanding[stream] if end > begin)
        if len(waiting) >= self.depth:
            length = max(length, waiting[len(waiting) - self.depth] - begin + length)
        call = self.recorder.call(begin, length, LAUNCHES, thread.number)
        self.submit(call, stream, lasts=self.near(30_000))
        return call

    def do_graph(self, thread, begin):
        call = self.recorder.call(begin, self.near(3_000), GRAPHS, thread.number)
        self.submit(call, self.stream(), GRAPH)
        return call

    def do_memset(self, thread, begin):
        call = self.recorder.call(begin, self.near(1_000), MEMSETS, thread.number)
        self.submit(call, self.stream(), MEMSET)
        return call

    def do_copy(self, thread, begin):
        draw = self.draw
        transfer = draw.choice([(PAGEABLE, DEVICE, 0), (PINNED, DEVICE, 0), (PINNED, DEVICE, 1), (PAGEABLE, DEVICE, 1),
                                (DEVICE, PAGEABLE, 0), (DEVICE, PINNED, 0), (DEVICE, PAGEABLE, 1), (DEVICE, PINNED, 1),
                                (DEVICE, DEVICE, 0), (DEVICE, DEVICE, 1)])
        own = self.near(2_000)
        call = self.recorder.call(begin, own, COPIES, thread.number)
        end = self.submit(call, self.stream(), COPY, transfer)
        waits = transfer[1] == PAGEABLE or not transfer[2] and (transfer[1] == PINNED or draw.random() < 0.5)
        if waits:
            self.recorder.calls[call][3] = max(own, end + self.near(self.wake) - begin)
        return call

    def do_batch(self, thread, begin):
        call = self.recorder.call(begin, self.near(3_000), COPIES, thread.number)
        transfer = self.draw.choice([(PINNED, DEVICE, 1), (DEVICE, PINNED, 1), (DEVICE, DEVICE, 1)])
        stream = self.stream()
        for _ in range(self.draw.randint(2, 3)):
            self.submit(call, stream, COPY, transfer)
        return call

    def do_record(self, thread, begin):
        stream = self.stream()
        call = self.recorder.record(begin, self.near(600), stream, thread.number)
        self.front[stream] = max(self.ordered(stream) + [self.front[stream] or 0]) or None
        self.events[call] = self.front[stream]
        return call

    def event(self):
        if not self.events:
            return None
        return self.draw.choice(list(self.events)[-4:])

    def do_wait_event(self, thread, begin):
        event, stream = self.event(), self.stream()
        if event is None:
            return self.do_other(thread, begin)
        call = self.recorder.wait_event(begin, self.near(500), stream, event, thread.number)
        self.front[stream] = max(self.front[stream] or 0, self.events[event] or 0) or None
        return call

    def target(self, whole):
        """What a host waits for, as (kind, place, recorded), and until when."""
        draw, fronts = self.draw, self.front
        choice = draw.choice(["context", "stream", "event"]) if not whole else "context"
        event = self.event()
        if choice == "event" and event is not None:
            return (EVENT, None, event), self.events[event]
        if choice == "stream" or choice == "event":
            stream = self.stream()
            return (STREAM, stream, None), fronts[stream]
        context = draw.randrange(self.recorder.contexts)
        return (CONTEXT, context, None), max([front or 0 for front, (place, _) in zip(fronts, self.recorder.streams)
                                              if place == context], default=0) or None

    def do_wait(self, thread, begin, whole=False):
        order, until = self.target(whole)
        length = self.near(1_000)
        if until is not None and until > begin:
            length = max(length, until + self.near(self.wake) - begin)
        return self.recorder.wait(begin, length, *order, thread=thread.number)

    def do_final(self, thread, begin):
        return self.do_wait(thread, begin, whole=True)

    def do_query(self, thread, begin):
        order, until = self.target(False)
        begin = max(begin, self.recorder.calls[-1][2] if self.recorder.calls else 0)
        if order[0] == CONTEXT:
            return self.do_other(thread, begin)
        if until is not None and until > begin:
            # Asked until then. Nobody else may have called in between.
            if any(other is not thread and other.script for other in self.threads):
                return self.do_other(thread, begin)
            begin = until + self.short()
        call = self.recorder.call(begin, self.near(400), QUERY, thread.number)
        self.recorder.order(call, *order)
        return call


# ---- workloads, devices, policies ---------------------------------------------------------------

def draw_recording(draw, path, without=()):
    """Writes a random recording; returns how many of its jobs are no warm-up."""
    recorder = DrawnProgram(draw, without).record()
    skip = draw.choice([0, 0, 1]) if len(recorder.jobs) > 1 else 0
    recorder.write(path, skip)
    return len(recorder.jobs) - skip


def time(value):
    return f"{value} ns"


def draw_client(draw, name, recordings, without=()):
    path, jobs = draw.choice(recordings)
    asked = {"file": str(path)}
    if draw.random() < 0.4 and "subset" not in without:
        first = draw.randrange(jobs)
        asked["jobs"] = {"from": first, "to": draw.randrange(first, jobs)}
    if draw.random() < 0.4 and "scale" not in without:
        asked["scale"] = {key: draw.choice([0.5, 1.5, 2, 0.333]) for key in draw.choice([["kernels"], ["host"], ["kernels", "host"]])}
    if draw.random() < 0.2 and "unknown" not in without:
        asked["busy"] = "unknown"
    client = {"name": name, "recording": asked if len(asked) > 1 else str(path)}
    count = draw.randint(1, 8)
    repeat = {"jobs": count}
    how = draw.choice(["own", "own", "own", "period", "think", "releases"])
    how = "own" if "releases" in without else how
    if how == "period":
        repeat["period"] = time(draw.choice([20_000, 100_000, 400_000]) + draw.choice([0, draw.randrange(10_000)]))
    elif how == "think":
        repeat["think"] = time(draw.choice([0, 5_000, 100_000]))
    elif how == "releases":
        repeat = {"releases": [time(value) for value in sorted(draw.choice([0, 50_000, draw.randrange(1_000_000)])
                                                               for _ in range(count))]}
    client["repeat"] = repeat
    if how != "releases" and draw.random() < 0.3:
        client["arrive"] = time(draw.choice([0, 10_000, draw.randrange(100_000)]))
    if draw.random() < 0.5:
        client["priority"] = draw.randint(0, 3)
    return client


def draw_workload(draw, recordings, clients, without=()):
    return {"kind": "workload", "version": 1, "name": "drawn", "source": "drawn",
            "clients": [draw_client(draw, f"c{number}", recordings, without) for number in range(clients)]}


def draw_device(draw, without=()):
    grid = draw.choice([1, 10, 100, 1000])

    def about(most, least=0):
        return time(max(round(draw.uniform(least, most) / grid), -(-least // grid)) * grid)

    device = {"kind": "device", "version": 1, "name": "drawn", "source": "drawn", "sms": 1,
              "sm": {"threads": 1024, "blocks": 8, "registers": 65536, "shared_memory": "48 KiB"}, "memory": "1 GiB",
              "commands": {"launch": about(8_000), "evict": about(3_000), "notice": about(3_000), "pending_work": "0 ns"}}
    if draw.random() < 0.2 and "mps" not in without:
        return {**device, "arbitration": "mps"}
    length = about(draw.choice([30_000, 200_000]), 10_000)
    switch = about(10_000)
    slices = {"length": length, "switch": switch, "stop": about(3_000), "resume": about(3_000),
              "renewal": length if draw.random() < 0.3 else about(200_000, 10_000),
              "linger": min(about(4_000), switch, key=quantity)}
    return {**device, "arbitration": "native-timeslice", "time_slice": slices}


def draw_policy(draw):
    """A policy that grants jobs, and its grant."""
    name = draw.choice(["fcfs", "rr", "piv", "srt", "sjf", "cfs", "frs"])
    params = {"rr": {"quantum": time(draw.choice([20_000, 100_000, 300_000]))},
              "cfs": {"epoch": time(draw.choice([50_000, 400_000])), "order": draw.choice(["rounds", "cumulative"])},
              "frs": {"minimum_quantum": time(draw.choice([20_000, 200_000])), "time_per_task": draw.choice(["given", "learnt"])},
              "srt": {"remaining": draw.choice(["fresh", "stale"]), "time_per_task": draw.choice(["given", "learnt"])},
              "piv": {"evicted": draw.choice(["place", "tail"])}}.get(name, {})
    grant = {"of": "job", "idle": time(draw.choice([0, 5_000, 50_000, draw.randrange(100_000)]))}
    if draw.random() < 0.5:
        grant["in_flight"] = draw.randint(1, 4)
    return {"name": name, **({"params": params} if params else {})}, grant


def experiment(workload, device, policy="passthrough", grant=None, horizon="100 ms", mechanism="ideal"):
    return {"kind": "experiment", "version": 1, "name": "drawn", "title": "Drawn at random", "device": device,
            "mechanism": mechanism, "policies": [policy], "permutations": 1, "replications": 1, "jobs": True,
            "horizon": horizon, "workload": workload, **({"grant": grant} if grant else {})}
