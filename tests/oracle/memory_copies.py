"""The copy engines of one or several GPUs: sim/blocks/README.md, Copies, and sim/memory/README.md; written from these."""
import math
from fractions import Fraction

from simpy_inputs import ceil_div, quantity, round_half_up, share

FULL = 10**6  # a speed of 1: speeds are whole millionths
OTHER = {"h2d": "d2h", "d2h": "h2d"}


class Copy:
    """`then` is called when it is over."""

    def __init__(self, client, size, then):
        self.client, self.size, self.then = client, size, then


class Engine:
    """One direction of one GPU. What is left of the running copy's work is in millionths of a ns."""

    def __init__(self, spec, bus):
        self.bandwidth = quantity(spec["bandwidth"]) if "bandwidth" in spec else bus
        self.latency = quantity(spec.get("latency", "0 ns"))
        self.queued_latency = quantity(spec["queued_latency"]) if "queued_latency" in spec else self.latency
        self.both_ways = round_half_up(share(spec.get("both_ways", 1)) * FULL)
        self.queue, self.running, self.last_end = [], None, None
        self.left = self.speed = self.since = self.version = None

    def work(self, size):
        return ceil_div(size * 10**9, self.bandwidth)

    def begin(self, now):
        self.running = self.queue.pop(0)
        latency = self.queued_latency if self.last_end == now else self.latency
        self.left = FULL * (latency + self.work(self.running.size))
        self.speed, self.since = None, now

    def set_speed(self, now, speed):
        if self.speed is not None and now > self.since:
            self.left -= self.speed * (now - self.since)
        self.speed, self.since, self.version = speed, now, object()
        return now + ceil_div(self.left, speed)


class Engines:
    """Two engines for each GPU; `at(time, do)` makes something happen."""

    def __init__(self, device, at):
        self.at, self.asked = at, []
        spec = device["copy"]
        self.bus = quantity(spec["bus"]) if "bus" in spec else None
        self.gpus = [{way: Engine(spec.get(way, {}), self.bus) for way in OTHER} for _ in range(device.get("gpus", 1))]

    def ask(self, gpu, way, copy):
        self.asked.append((gpu, way, copy))

    def copies_begin(self, now):
        """Of one instant in client order; but what began before the policy decided has begun."""
        for gpu, way, copy in self.asked:
            copy.asked = now
            self.gpus[gpu][way].queue.append(copy)
            self.gpus[gpu][way].queue.sort(key=lambda copy: (copy.asked, copy.client))
        self.asked = []
        for engine in self.each():
            if not engine.running and engine.queue:
                engine.begin(now)
        for gpu in self.gpus:
            for way, engine in gpu.items():
                speed = self.speed(gpu, way) if engine.running else None
                if engine.running and engine.speed != speed:
                    self.at(engine.set_speed(now, speed), self.perhaps_end(engine, engine.version))

    def each(self):
        return (engine for gpu in self.gpus for engine in gpu.values())

    def speed(self, gpu, way):
        if self.bus is None:
            return gpu[way].both_ways if gpu[OTHER[way]].running else FULL
        own, other = gpu[way].bandwidth, gpu[OTHER[way]].bandwidth
        n, k = (sum(each[direction].running is not None for each in self.gpus) for direction in (way, OTHER[way]))
        even = self.bus // (n + k)
        bandwidth = min(own, max(even, (self.bus - k * min(other, even)) // n))
        return round_half_up(Fraction(bandwidth * FULL, own))

    def perhaps_end(self, engine, version):
        def end(now):
            if engine.running and engine.version is version:
                copy, engine.running, engine.last_end = engine.running, None, now
                copy.then()
        return end
