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


class Measured:
    """What a kernel's launches took, as measured; nothing said: nothing different."""
    __slots__ = ("launch", "pending_work", "after_another", "each", "in_step", "near", "evictions", "too_late")

    def __init__(self, spec):
        self.launch, self.pending_work = (quantity(spec[key]) if key in spec else None for key in ("launch", "pending_work"))
        self.after_another, self.each, self.too_late = (quantity(spec.get(key, "0 ns")) for key in ("after_another", "each_launch", "too_late"))
        self.in_step, self.near = spec.get("in_step"), spec.get("near", 1)
        self.evictions = [tuple(map(quantity, eviction)) for eviction in spec.get("evictions", [])]

    def like(self, at, drawn):
        """Of the evictions that were ordered about `at` ns after the first block, the one that `drawn` in [0, 1) names."""
        nearest = sorted(range(len(self.evictions)), key=lambda i: (abs(self.evictions[i][0] - at), i))[:self.near]
        return self.evictions[sorted(nearest)[math.floor(drawn * self.near)]]


class Kernel:
    """A kernel of the workload file with everything parsed; `fit` of its blocks are on the device at once."""
    __slots__ = ("tasks", "fit", "resident", "original", "transformed", "time", "declared", "eviction_delay", "task_length", "given_length",
                 "see", "drain", "useful", "threads", "drain_work", "host_work", "gap", "priority", "measured")

    def __init__(self, spec, device, mechanism, client_priority, privileged):
        self.tasks = spec["block_tasks"] if "block_tasks" in spec else math.prod(spec["grid"])
        self.fit = persistent_blocks(spec, device)
        self.resident = min(self.fit, self.tasks)
        self.threads = math.prod(spec["block"])
        overhead = share(spec.get("transformation_overhead", 1))
        self.original = (quantity(spec["time"]) if "time" in spec
                         else quantity(spec["time_per_block_task"]) * self.tasks)
        self.transformed = round_half_up(self.original * overhead)
        self.eviction_delay = quantity(spec["eviction_delay"]) if "eviction_delay" in spec else None
        self.given_length = quantity(spec["block_task_length"]) if "block_task_length" in spec else None
        self.task_length = (self.given_length if self.given_length is not None
                            else ceil_div(self.transformed * self.resident, self.tasks))
        self.host_work, self.gap = (quantity(spec.get(key, "0 ns")) for key in ("host_work", "gap"))
        priority = spec.get("priority", client_priority)
        self.priority = priority if privileged else min(priority, client_priority)

        self.measured = Measured(spec.get("measured") or {}) if mechanism.measures else Measured({})
        self.time = mechanism.running_time(self)
        self.declared = (round_half_up(quantity(spec["declared_time"]) * overhead) if "declared_time" in spec
                         else self.time)
        self.see, self.drain = mechanism.delays(self)
        self.useful = share(spec["useful"]) if "useful" in spec else mechanism.useful
        self.drain_work = math.floor(self.drain * self.useful)

    def alone(self, standalone):
        return self.gap + max(self.host_work, self.original if standalone == "original" else self.time)


def persistent_blocks(spec, device):
    sm, threads = device["sm"], math.prod(spec["block"])
    limits = [sm["threads"] // threads, sm["blocks"]]
    if spec.get("registers"):
        limits.append(sm["registers"] // (spec["registers"] * threads))
    shared = quantity(str(spec["shared_memory"])) if spec.get("shared_memory") else 0
    if shared:
        limits.append(quantity(sm["shared_memory"]) // shared)
    return min(limits) * device["sms"]


class Client:
    """A client of the workload file with everything parsed; `setting` is the file's `priorities`."""

    def __init__(self, index, spec, device, mechanism, setting=None):
        self.index, self.name = index, spec["name"]
        priority = spec.get("priority", 0)
        if "priorities" in spec:
            priority = spec["priorities"][setting["use"]]
        self.gpus = sorted(spec.get("gpus", range(device.get("gpus", 1))))  # that it may use
        self.home = self.gpus[index % len(self.gpus)]                       # where it copies in
        self.arrive = quantity(spec.get("arrive", "0 ns"))
        repeat = spec.get("repeat") or {"jobs": 1}
        self.jobs = None if repeat["jobs"] == "endless" else repeat["jobs"]
        self.period = quantity(repeat["period"]) if "period" in repeat else None
        self.think = quantity(repeat.get("think", "0 ns"))
        self.copy_in = copy_time(spec.get("copy_in"), device.get("copy", {}).get("h2d"))
        self.copy_out = copy_time(spec.get("copy_out"), device.get("copy", {}).get("d2h"))
        self.kernels = [Kernel(kernel, device, mechanism, priority, spec.get("privileged", False))
                        for kernel in spec["kernels"]]
        declared = [kernel.declared for kernel in self.kernels]
        self.total = sum(declared)
        self.later = [sum(declared[stage + 1:]) for stage in range(len(declared))]

    def alone(self, standalone):
        """The time of a job alone with no scheduling cost."""
        return self.copy_in + self.copy_out + sum(kernel.alone(standalone) for kernel in self.kernels)


def copy_time(size, engine):
    if not size or not quantity(size):
        return 0
    return quantity(engine.get("latency", "0 ns")) + ceil_div(quantity(size) * 10**9, quantity(engine["bandwidth"]))
