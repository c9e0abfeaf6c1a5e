"""The mechanisms of sim/README.md: what launches and evictions cost, and how they change a kernel."""
import math
from fractions import Fraction

from simpy_inputs import ceil_div, name_and_params, quantity, round_half_up, share


class FlagCopy:
    """`flag-copy`, and what the others have in common with it."""
    evicts, pending_work, measures = True, True, True

    def __init__(self, params, device):
        costs = device.get("commands") or {}
        self.launch, self.evict, self.report, pending = (
            quantity(costs.get(key, "0 ns")) for key in ("launch", "evict", "notice", "pending_work"))
        self.notice, self.pending = self.report, pending if self.pending_work else 0
        self.report += self.pending
        beside = costs.get("beside_copies") or {}
        self.launch_beside, self.evict_beside = (quantity(beside.get(key, "0 ns")) for key in ("launch", "evict"))
        self.reads_wait = beside.get("reads_wait", False)
        self.after_idle = [(0, 0)] + [tuple(map(quantity, pair)) for pair in costs.get("after_idle", [])]
        self.useful = share(params.get("useful", "0.5"))
        self.scale = share(params.get("delay_scale", 1))

    def running_time(self, kernel):
        """T', which the transformed kernel takes for all its block-tasks."""
        return kernel.transformed

    def delays(self, kernel):
        """From the order until blocks see the flag, and from then until the last one is gone."""
        see, drain = self.measured_or(kernel, self.evict, kernel.task_length)
        return math.floor(see * self.scale), math.floor(drain * self.scale)

    def measured_or(self, kernel, see, drain):
        if kernel.eviction_delay is None:
            return see, drain
        see = min(see, kernel.eviction_delay)
        return see, kernel.eviction_delay - see

    def look_every(self, kernel):
        """A block looks at the flag before every so many of its block-tasks."""
        return 1

    def duration(self, kernel, tasks):
        each, rounds = min(kernel.measured.each, kernel.time), kernel.measured.in_step
        share, whole = (ceil_div(tasks, rounds), ceil_div(kernel.tasks, rounds)) if rounds else (tasks, kernel.tasks)
        return each + ceil_div(share * (kernel.time - each), whole)

    def tasks_in(self, kernel, work):
        """Block-tasks that so much work is."""
        even = kernel.time - min(kernel.measured.each, kernel.time)
        return work * kernel.tasks // even if even else kernel.tasks

    def read_of(self, kernel):
        """How long it takes to read what is done."""
        if self.pending_work and kernel.measured.pending_work is not None:
            return kernel.measured.pending_work
        return self.pending

    def longer_after(self, idle):
        """How much longer a launch takes after so long with nothing on the GPU."""
        for (short, less), (long, more) in zip(self.after_idle, self.after_idle[1:]):
            if short <= idle < long:
                return math.floor(less + Fraction((more - less) * (idle - short), long - short))
        return self.after_idle[-1][1]

    def relaunch_delay(self, busy):
        """By how much a later launch of a kernel is put off while its host thread is busy for so long."""
        return 0


    def claims(self, kernel, blocks):
        """What those blocks of an ordinary grid that have not begun add to a drain."""
        return 0


class Loop(FlagCopy):
    pass


class Prologue(FlagCopy):
    def __init__(self, params, device):
        super().__init__(params, device)
        self.few, self.many = share(params.get("claim_ns", "0.73")), share(params.get("claim_1024_ns", "1.8"))
        self.overhead = share(params.get("overhead", 1))

    def claims(self, kernel, blocks):
        part = Fraction(min(max(kernel.threads, 256), 1024) - 256, 768)
        return ceil_div(blocks * round_half_up(1000 * (self.few + part * (self.many - self.few))), 1000)

    def running_time(self, kernel):
        return max(round_half_up(kernel.transformed * self.overhead), self.claims(kernel, kernel.tasks))


class WriteValue(FlagCopy):
    pending_work = False


class Ideal(FlagCopy):
    measures = False

    def __init__(self, params, device):
        super().__init__(params, {})
        self.scale = Fraction(0)  # no drain


class Polling(FlagCopy):
    pending_work = False

    def __init__(self, params, device):
        super().__init__(params, device)
        polls = device["polls"]
        self.host, self.device = (quantity(polls[key]) for key in ("host", "device"))
        self.by_proxy = quantity(polls["proxy"]) if "proxy" in polls else self.host + self.host // 2
        self.signal = params.get("relaunch", "signal") == "signal"
        self.signal_after = quantity(params.get("signal_after", "100 us"))

    def delays(self, kernel):
        return self.measured_or(kernel, *self.polled(kernel))

    def relaunch_delay(self, busy):
        return min(busy, self.signal_after) if self.signal else busy


class Basic(Polling):
    def running_time(self, kernel):
        reads = kernel.tasks * self.host
        return max(kernel.transformed + ceil_div(reads, kernel.resident), reads)

    def polled(self, kernel):
        return 0, max(kernel.task_length + self.host, kernel.resident * self.host)


class Proxy(Polling):
    def running_time(self, kernel):
        if kernel.fit < 2:
            raise ValueError("no room for the proxy")
        workers = min(kernel.fit - 1, kernel.tasks)
        waves, less = ceil_div(kernel.tasks, kernel.resident), ceil_div(kernel.tasks, workers)
        return (max(ceil_div(kernel.transformed * kernel.resident, workers), ceil_div(kernel.transformed * less, waves))
                + ceil_div(kernel.tasks * self.device, workers * self.look_every(kernel)))

    def polled(self, kernel):
        return self.by_proxy, self.look_every(kernel) * kernel.task_length + self.device


class ProxyAdaptive(Proxy):
    def __init__(self, params, device):
        super().__init__(params, device)
        self.r, self.slice = params.get("r", 10), quantity(params.get("L", "1 ms"))
        self.printed = params.get("interval") == "as-printed"
        self.first = share(params.get("first_block_task", 1))

    def look_every(self, kernel):
        first = max(round_half_up(kernel.task_length * self.first), 1)
        tasks = (self.r * self.slice if self.printed else self.slice // self.r) // first
        return min(max(tasks, 1), kernel.tasks)


class Slice(FlagCopy):
    evicts, pending_work = False, False

    def __init__(self, params, device):
        super().__init__(params, device)
        self.launch += quantity(params.get("slice_cost", "0 ns"))
        self.block_end = quantity((device.get("delays") or {}).get("block_end", "0 ns"))

    def running_time(self, kernel):
        if kernel.given_length is None:
            return kernel.original
        waves = ceil_div(kernel.tasks, kernel.fit)
        return max(kernel.original, waves * kernel.given_length + (waves - 1) * self.block_end)

    def duration(self, kernel, tasks):
        each = min(kernel.measured.each, kernel.time)
        return each + ceil_div(tasks, kernel.fit) * ceil_div(kernel.time - each, ceil_div(kernel.tasks, kernel.fit))


MECHANISMS = {"flag-copy": FlagCopy, "write-value": WriteValue, "ideal": Ideal, "basic": Basic, "proxy": Proxy,
              "proxy-adaptive": ProxyAdaptive, "slice": Slice, "prologue": Prologue, "loop": Loop}


def mechanism(spec, device):
    name, params = name_and_params(spec)
    return MECHANISMS[name](params, device)
