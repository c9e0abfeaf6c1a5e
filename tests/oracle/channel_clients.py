"""Clients of the channel model: what a workload file says, when jobs are released, how long requests run."""
import math

from channel_streams import Stream
from simpy_inputs import quantity, share

NORMAL_CUT = 3


def given(spec, key):
    return quantity(spec.get(key, "0 ns"))


class Jitter:
    def __init__(self, spec, seed, replication, permutation):
        self.kernel_time, self.gap = float(share(spec.get("kernel_time", 0))), float(share(spec.get("gap", 0)))
        self.arrival = given(spec, "arrival")
        self.normal = spec.get("distribution") == "normal"
        self.run = seed, (replication, permutation)

    def stream(self, name, client, job):
        seed, run = self.run
        return Stream(seed, name, [*run, client, job])

    def factor(self, name, width, client, job):
        """None without jitter."""
        if not width:
            return None
        stream = self.stream(name, client, job)
        draw = min(max(stream.normal(), -NORMAL_CUT), NORMAL_CUT) if self.normal else 2 * stream.uniform() - 1
        return 1 + width * draw

    def late(self, client, job):
        """How much later than nominal a release comes."""
        return math.floor(self.stream("arrival", client, job).uniform() * self.arrival) if self.arrival else 0


def drawn(nominal, factor):
    return nominal if factor is None else max(1, math.floor(nominal * factor + 0.5))


class Kernel:
    def __init__(self, spec):
        self.channel = spec.get("channel", 0)
        self.time, self.gap, self.host_work = quantity(spec["time"]), given(spec, "gap"), given(spec, "host_work")
        self.never_ends = spec.get("never_ends", math.inf)
        self.trapped_time = quantity(spec["trapped_time"]) if "trapped_time" in spec else None
        self.trapped_gap = quantity(spec["trapped_gap"]) if "trapped_gap" in spec else None


class Job:
    def __init__(self, client, number, release):
        self.client, self.number, self.release = client, number, release
        self.start = self.finish = None
        self.outcome = "unfinished"
        self.requests = 0       # on their way or on the device
        self.host_through = False
        jitter = client.jitter
        self.factor = jitter.factor("kernel_time", jitter.kernel_time, client.index, number)
        self.gap_factor = jitter.factor("gap", jitter.gap, client.index, number)

    def gap(self, kernel, trapped_before):
        if trapped_before and kernel.trapped_gap is not None:
            return kernel.trapped_gap
        return drawn(kernel.gap, self.gap_factor) if kernel.gap else 0

    def time(self, kernel, trapped_before):
        """None: it never ends."""
        if self.number >= kernel.never_ends:
            return None
        trapped = trapped_before and kernel.trapped_time is not None
        return drawn(kernel.trapped_time if trapped else kernel.time, self.factor)


def copied(spec, key, which):
    """The bytes of a job's copy: `variables` say what is copied in the place of copy_in and copy_out."""
    if "variables" in spec:
        return sum(quantity(variable["size"]) for variable in spec["variables"] if variable.get(which, which == "input"))
    return quantity(spec.get(key, "0 B"))


class Client:
    """The program; of its state only the releases."""

    def __init__(self, index, spec, workload, jitter):
        self.index, self.name, self.jitter = index, spec["name"], jitter
        self.kernels = [Kernel(kernel) for kernel in spec["kernels"] for _ in range(kernel.get("count", 1))]
        self.used = 1 + max(kernel.channel for kernel in self.kernels)
        self.asks = spec.get("channels", 1)
        self.copy_in, self.copy_out = copied(spec, "copy_in", "input"), copied(spec, "copy_out", "output")
        self.blocking = spec.get("blocking", True)
        self.draws = spec.get("frames_in_flight", 1) > 1  # its channels are for graphics
        self.trivial = share(spec.get("trivial_requests", 0))
        first = given(spec, "arrive")
        if "arrivals" in workload:
            first = index * quantity(workload["arrivals"]["gap"])
        repeat = spec.get("repeat", workload.get("repeat", {"jobs": 1}))
        self.think, self.scheduled = None, 0
        self.leave = quantity(spec["leave"]) if "leave" in spec else math.inf
        if "releases" in repeat:
            self.most = len(repeat["releases"])
            self.nominal = [quantity(release) for release in repeat["releases"]]
        else:
            self.most = math.inf if repeat["jobs"] == "endless" else repeat["jobs"]
            if "period" in repeat:
                self.nominal = (first + number * quantity(repeat["period"]) for number in _count(self.most))
            else:
                self.think = quantity(repeat["think"]) if "think" in repeat else None
                frames = spec.get("frames_in_flight", 1) if self.think is not None else 1
                self.nominal = [first] * min(self.most, frames)
        self.releases = self._releases()
        if self.think is not None:  # no finish may take the number of one of the first jobs
            self.releases = iter(list(self.releases))

    def _releases(self):
        """Those that no finish causes; they never go back in time."""
        latest = 0
        for nominal in self.nominal:
            latest = max(latest, nominal + self.jitter.late(self.index, self.scheduled))
            if self.scheduled and latest >= self.leave:
                self.most = self.scheduled
                return
            self.scheduled += 1
            yield latest

    def after_finish(self, now):
        """When a finish releases another job, or None."""
        if self.think is None or self.scheduled >= self.most:
            return None
        time = now + self.think + self.jitter.late(self.index, self.scheduled)
        if time >= self.leave:
            self.most = self.scheduled
            return None
        self.scheduled += 1
        return time


def _count(most):
    number = 0
    while number < most:
        yield number
        number += 1
