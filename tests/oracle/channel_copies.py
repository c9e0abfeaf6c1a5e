"""The copy engines of a device: sim/blocks/README.md, Copies, and sim/memory/README.md, One bus; written from these."""
import collections
import math
from fractions import Fraction

from simpy_inputs import ceil_div, quantity, round_half_up, share

FULL = 10**6  # a speed of 1: speeds are whole millionths


class Copy:
    def __init__(self, job, way, size):
        self.job, self.way, self.size = job, way, size
        self.sample = None


class Engine:
    """One direction. What is left of the running copy's work is in millionths of a ns."""

    def __init__(self, spec):
        self.bandwidth = quantity(spec["bandwidth"])
        self.latency = quantity(spec["latency"])
        self.queued_latency = quantity(spec["queued_latency"]) if "queued_latency" in spec else self.latency
        self.both = FULL    # its speed while the other one copies, too
        self.queue, self.running, self.last_end = collections.deque(), None, None
        self.left = self.speed = self.since = self.version = None

    def begin(self, now):
        self.running = self.queue.popleft()
        latency = self.queued_latency if self.last_end == now else self.latency
        self.left = FULL * (latency + ceil_div(self.running.size * 10**9, self.bandwidth))
        self.speed, self.since = None, now


class Engines:
    """`at(time, do)` makes something happen, `ended(copy)` is called at a copy's end."""

    def __init__(self, device, at, ended):
        self.at, self.ended = at, ended
        self.engines = {}
        spec = device.get("copy")
        if not spec:
            return
        self.engines = {"in": Engine(spec["h2d"]), "out": Engine(spec["d2h"])}
        for way, key in (("in", "h2d"), ("out", "d2h")):
            engine, other = self.engines[way], self.engines["out" if way == "in" else "in"]
            part = share(spec[key].get("both_ways", 1))
            if "bus" in spec:
                bus = quantity(spec["bus"])
                part = min(engine.bandwidth, max(Fraction(bus, 2), bus - other.bandwidth)) / Fraction(engine.bandwidth)
            engine.both = round_half_up(part * FULL)

    def join(self, copy):
        self.engines[copy.way].queue.append(copy)

    def end_of_instant(self, now, asked):
        """`asked`: what joined in this instant."""
        for copy in sorted(asked, key=lambda copy: copy.job.client.index):
            self.join(copy)
        for engine in self.engines.values():
            if not engine.running and engine.queue:
                engine.begin(now)
        both = all(engine.running for engine in self.engines.values())
        for engine in self.engines.values():
            speed = engine.both if both else FULL
            if engine.running and engine.speed != speed:
                if engine.speed:
                    engine.left -= engine.speed * (now - engine.since)
                engine.speed, engine.since, engine.version = speed, now, object()
                self.at(now + math.ceil(Fraction(engine.left, speed)), self.perhaps_end(engine, engine.version))

    def perhaps_end(self, engine, version):
        def end(now):
            if engine.running and engine.version is version:
                copy, engine.running, engine.last_end = engine.running, None, now
                self.ended(copy)
        return end

    def remove(self, client):
        for engine in self.engines.values():
            engine.queue = collections.deque(copy for copy in engine.queue if copy.job.client is not client)
            if engine.running and engine.running.job.client is client:
                engine.running = None
