"""Recordings made by hand: calls in the order of their begin, with what the GPU did for them."""
import json
import pathlib
import re
import secrets
import sqlite3

from recorded_parts import COPY, DEVICE, KERNEL, MEMSET, NON_BLOCKING, RECORD, SYNC, WAIT_EVENT

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
        self.launches = [("_Z1kv", 4, 32, 16)]   # name, blocks, threads, registers; kernels take them in turn
        self.nodes = []  # of the graph: launch, length
        self.calls, self.works, self.orders, self.jobs, self.transfers = [], [], [], [], []

    def call(self, begin, length, kind=0, thread=0, function=None):
        self.calls.append([thread, kind if function is None else function, begin, length])
        return len(self.calls) - 1

    def work(self, call, stream, begin, length, kind=KERNEL, transfer=None):
        shape = len(self.works) % len(self.launches) if kind == KERNEL else 0
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
        fill(database, "kernels", [(number, name) for number, (name, *_) in enumerate(self.launches)])
        fill(database, "launches", [(number, number, blocks, 1, 1, threads, 1, 1, 0, 0, 0, registers, 0, 0, 0, 0)
                                    for number, (_, blocks, threads, registers) in enumerate(self.launches)])
        fill(database, "graphs", [(0, 0, 1)])
        fill(database, "nodes", [(number, 0, KERNEL, launch, 0, number, length, 1) for number, (launch, length) in enumerate(self.nodes)])
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
