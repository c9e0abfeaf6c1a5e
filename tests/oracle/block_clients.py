"""Clients and SMs of the block model: what workload and device file say, and what becomes of operations."""
import math

from simpy_inputs import ceil_div, quantity

NO_LIMIT = 10**9


class Sm:
    """What is free on one SM; the device of the layout `pool` is one SM that has nothing but threads."""

    def __init__(self, threads, blocks, registers, shared_memory):
        self.free = {"threads": threads, "blocks": blocks, "registers": registers, "shared": shared_memory}

    def fits(self, need, limits):
        """How many such blocks would fit."""
        return min([self.free[what] // need[what] for what in limits if need[what]], default=NO_LIMIT)

    def take(self, need, sign=1):
        for what, amount in need.items():
            self.free[what] -= sign * amount


def multiprocessors(device):
    if device.get("layout") == "pool":
        return [Sm(device["m"], NO_LIMIT, NO_LIMIT, NO_LIMIT)]
    sm = device["sm"]
    return [Sm(sm["threads"], sm["blocks"], sm["registers"], quantity(sm["shared_memory"]))
            for _ in range(device["sms"])]


def given(spec, name):
    """A quantity that the file may leave out."""
    return quantity(spec[name]) if name in spec else 0


def delay_of(device, name):
    return given(device.get("delays", {}), name)


def need_of(spec, device):
    """What a block takes."""
    sm = device.get("sm", {})
    threads = math.prod(spec["block"])
    threads += -threads % sm.get("warp", 1)
    shared = given(spec, "shared_memory") + given(sm, "reserved_shared_memory")
    return {"threads": threads, "blocks": 1, "registers": spec.get("registers", 0) * threads, "shared": shared}


def limits_of(device):
    return ["threads"] if device.get("layout") == "pool" else ["threads", "blocks", "registers", "shared"]


class Kernel:
    def __init__(self, spec, device):
        self.name = spec["name"]
        self.blocks = spec["block_tasks"] if "block_tasks" in spec else math.prod(spec["grid"])
        self.need = need_of(spec, device)
        if "block_task_length" in spec:
            self.length = quantity(spec["block_task_length"])
        else:
            fit = sum(sm.fits(self.need, limits_of(device)) for sm in multiprocessors(device))
            time = (quantity(spec["time"]) if "time" in spec
                    else self.blocks * quantity(spec["time_per_block_task"]))
            waves = ceil_div(self.blocks, fit)
            self.length = max(1, ceil_div(time - (waves - 1) * delay_of(device, "block_end"), waves))
        self.exceptions = {(entry["job"], entry["block"]): quantity(entry["length"])
                           for entry in spec.get("exceptions", [])}

    def length_of(self, job, block):
        return self.exceptions.get((job, block), self.length)


class Client:
    def __init__(self, index, spec, device, stream):
        self.index, self.name, self.stream = index, spec["name"], stream
        self.priority = min(max(spec.get("priority", 0), 0), device.get("priorities", 1) - 1)
        self.kernels = [Kernel(kernel, device) for kernel in spec["kernels"]]
        self.program = [("kernel", kernel) for kernel in self.kernels]
        if "copy_in" in spec:
            self.program.insert(0, ("h2d", spec["copy_in"]))
        if "copy_out" in spec:
            self.program.append(("d2h", spec["copy_out"]))
        repeat, arrive = spec.get("repeat", {"jobs": 1, "period": "0 ns"}), quantity(spec.get("arrive", "0 ns"))
        self.think, self.jobs = None, repeat.get("jobs", 0)
        if "releases" in repeat:
            self.releases = [quantity(release) for release in repeat["releases"]]
        elif "period" in repeat:
            self.releases = [arrive + number * quantity(repeat["period"]) for number in range(self.jobs)]
        else:
            self.releases, self.think = [arrive], quantity(repeat["think"])


class Job:
    def __init__(self, client, number, release):
        self.client, self.number, self.release = client, number, release
        self.operations = [Operation(self, index, *step) for index, step in enumerate(client.program)]
        self.start = self.finish = None


class Operation:
    """A kernel, or a copy by the engine `kind`."""

    def __init__(self, job, index, kind, what):
        self.job, self.index, self.kind = job, index, kind
        self.kernel, self.size = (what, None) if kind == "kernel" else (None, what)
        self.issued = self.joined = None  # numbers: the order in which that happened
        self.joined_at = self.ready_at = self.ended_at = self.channel = None
        self.work = None  # of a copy that began: what is left of it
        self.begun = self.ended = self.left = False
        self.assigned = self.running = 0

    def stream(self):
        return self.job.client.stream

    def all_assigned(self):
        return self.assigned == self.kernel.blocks


def contexts_of(specs):
    """The context of each client, numbered in the order of the clients that are in them first."""
    numbers = {}
    for index, spec in enumerate(specs):
        own = ("stream", spec["stream"]) if "stream" in spec else ("client", index)
        name = ("context", spec["context"]) if "context" in spec else own
        yield numbers.setdefault(name, len(numbers))
