"""Workload and device mappings (experiments/README.md) as numbers: whole ns, bytes, exact shares."""
import functools
import math
import re
from fractions import Fraction

UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9,
         "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
         "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


@functools.lru_cache(maxsize=None)
def quantity(text):
    """'3.71 ms' in ns, '4 MiB' in bytes, '12 GB/s' in bytes per second; exact."""
    number, unit = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]+)(?:/s)?\s*", text).groups()
    value = Fraction(number) * UNITS[unit]
    if value.denominator != 1:
        raise ValueError(f"finer than the smallest unit: {text}")
    return value.numerator


def share(value):
    """A plain number or a percentage, exactly as written (0.91 is 91/100, not the nearest double)."""
    text = str(value).strip()
    return Fraction(text[:-1].strip()) / 100 if text.endswith("%") else Fraction(text)


def round_half_up(value):
    return math.floor(value + Fraction(1, 2))


def ceil_div(a, b):
    return -(-a // b)


def name_and_params(spec):
    return (spec, {}) if isinstance(spec, str) else (spec["name"], spec.get("params") or {})


class Kernel:
    __slots__ = ("tasks", "time", "declared", "see", "drain", "drain_work")

    def __init__(self, spec, device, mechanism):
        self.tasks = spec["block_tasks"] if "block_tasks" in spec else math.prod(spec["grid"])
        overhead = share(spec.get("transformation_overhead", 1))
        time = (quantity(spec["time"]) if "time" in spec
                else quantity(spec["time_per_block_task"]) * self.tasks)
        self.time = round_half_up(time * overhead)
        told = quantity(spec["declared_time"]) if "declared_time" in spec else time
        self.declared = round_half_up(told * overhead)
        see, drain = self._delays(spec, device, mechanism.evict)
        self.see = math.floor(see * mechanism.delay_scale)
        self.drain = math.floor(drain * mechanism.delay_scale)
        self.drain_work = math.floor(self.drain * mechanism.useful)

    def _delays(self, spec, device, evict):
        """From the order until the blocks see the flag, and from then until the last one is gone."""
        if "eviction_delay" in spec:
            delay = quantity(spec["eviction_delay"])
            return min(evict, delay), delay - min(evict, delay)
        if "block_task_length" in spec:
            return evict, quantity(spec["block_task_length"])
        resident = min(persistent_blocks(spec, device), self.tasks)
        return evict, ceil_div(self.time * resident, self.tasks)


def persistent_blocks(spec, device):
    sm, threads = device["sm"], math.prod(spec["block"])
    limits = [sm["threads"] // threads, sm["blocks"]]
    if spec.get("registers"):
        limits.append(sm["registers"] // (spec["registers"] * threads))
    shared = quantity(str(spec["shared_memory"])) if spec.get("shared_memory") else 0
    if shared:
        limits.append(quantity(sm["shared_memory"]) // shared)
    return min(limits) * device["sms"]


class Mechanism:
    def __init__(self, spec, device):
        name, params = name_and_params(spec)
        if name not in ("flag-copy", "ideal"):
            raise ValueError(f"the oracle does not know the mechanism {name}")
        ideal = name == "ideal"
        costs = {} if ideal else device.get("commands") or {}
        self.launch, self.evict, notice, pending = (
            quantity(costs.get(key, "0 ns")) for key in ("launch", "evict", "notice", "pending_work"))
        self.report = notice + pending
        self.useful = share(params.get("useful", "0.5"))
        # A scale of nothing is how `ideal` has no drain.
        self.delay_scale = Fraction(0) if ideal else share(params.get("delay_scale", 1))


class Client:
    """A client of the workload file with everything parsed."""

    def __init__(self, index, spec, device, mechanism):
        self.index, self.name = index, spec["name"]
        self.arrive = quantity(spec.get("arrive", "0 ns"))
        repeat = spec.get("repeat") or {"jobs": 1}
        self.jobs = None if repeat["jobs"] == "endless" else repeat["jobs"]
        self.period = quantity(repeat["period"]) if "period" in repeat else None
        self.think = quantity(repeat.get("think", "0 ns"))
        self.copy_in = copy_time(spec.get("copy_in"), device.get("copy", {}).get("h2d"))
        self.copy_out = copy_time(spec.get("copy_out"), device.get("copy", {}).get("d2h"))
        self.kernels = [Kernel(kernel, device, mechanism) for kernel in spec["kernels"]]
        declared = [kernel.declared for kernel in self.kernels]
        self.total = sum(declared)
        self.later = [sum(declared[stage + 1:]) for stage in range(len(declared))]


def copy_time(size, engine):
    if not size or not quantity(size):
        return 0
    return quantity(engine.get("latency", "0 ns")) + ceil_div(quantity(size) * 10**9, quantity(engine["bandwidth"]))
