"""Random workloads, devices, mechanisms and policy parameters for compare.py: many ties, many corners.

Values come from small pools, so that equal times, equal arrivals and events at one instant are common.
"""
from simpy_inputs import quantity
from simpy_model import prepare

TASKS = [1, 1, 2, 3, 7, 10, 33, 64, 500, 1000, 4096, 65536]
BLOCKS = [[32], [64], [16, 16], [256], [8, 8, 8], [1024]]
OVERHEADS = [0.73, 0.91, 1.05, 1.113, "92 %", 1]
# Nanoseconds that everything in a workload is a multiple of: coarse ones make ties, 1 and 7 make remainders.
UNITS = [1, 7, 100, 1000, 1000, 50_000, 250_000]

# label -> (name, fixed parameters, the parameter that gets a random length of time)
VARIANTS = {
    "fcfs": ("fcfs", {}, None),
    "sjf": ("sjf", {}, None),
    "srt": ("srt", {}, None),
    "rr": ("rr", {}, "quantum"),
    "cfs": ("cfs", {}, "epoch"),
    "frs": ("frs", {}, "minimum_quantum"),
    "srt-stale": ("srt", {"remaining": "stale"}, None),
    "srt-learnt": ("srt", {"time_per_task": "learnt"}, None),
    "cfs-cumulative": ("cfs", {"order": "cumulative"}, "epoch"),
    "frs-done": ("frs", {"denominator": "done"}, "minimum_quantum"),
    "frs-learnt": ("frs", {"time_per_task": "learnt"}, "minimum_quantum"),
}
LEAST_LENGTH = 1000


def ns(value):
    """A length in the largest unit that needs no fraction, as a person would write it."""
    for unit, size in (("ms", 10**6), ("us", 10**3)):
        if value and value % size == 0:
            return f"{value // size} {unit}"
    return f"{value} ns"


def device(draw):
    def cost():
        return ns(draw.choice([0, 0, 0, 1, 700, 5000, 8000, 12_000, 100_000]))

    def engine():
        bandwidth = draw.choice(["1 GB/s", "12 GB/s", "55 GB/s", "999 MB/s", "7 MB/s"])
        return {"bandwidth": bandwidth, "latency": ns(draw.choice([0, 1, 5000, 8000]))}

    return {"kind": "device", "version": 1, "name": "random-gpu", "source": "made up by compare.py",
            "sms": draw.choice([1, 2, 5, 28]),
            "sm": {"threads": draw.choice([1024, 2048]), "blocks": draw.choice([8, 16, 32]),
                   "registers": 65536, "shared_memory": draw.choice(["48 KiB", "96 KiB"])},
            "memory": "12 GiB", "copy": {"h2d": engine(), "d2h": engine()},
            "commands": {key: cost() for key in ("launch", "evict", "notice", "pending_work")}}


def mechanism(draw):
    params = {}
    if draw.random() < 0.5:
        params["useful"] = draw.choice([0, 0.25, 0.3, 0.5, 1])
    if draw.random() < 0.5:
        params["delay_scale"] = draw.choice([0.5, 1, 1.7, 2])
    return draw.choice(["flag-copy", "flag-copy", {"name": "flag-copy", "params": params},
                        {"name": "flag-copy", "params": params}, "ideal"])


class WorkloadDraw:
    def __init__(self, draw):
        self.draw, self.unit = draw, draw.choice(UNITS)
        self.times = [self.unit * draw.randint(1, 60) for _ in range(draw.randint(1, 6))]
        self.copies = draw.random() < 0.5
        self.repeats = draw.random() < 0.6
        self.evictions = draw.choice(["explicit", "length", "derived", "mixed", "mixed"])

    def some(self, probability):
        return self.draw.random() < probability

    def kernel(self, number):
        draw, time = self.draw, self.draw.choice(self.times)
        spec = {"name": f"k{number}", "block": draw.choice(BLOCKS), "time": ns(time)}
        if self.some(0.2):
            spec["grid"] = [draw.randint(1, 64), draw.randint(1, 64)]
        else:
            spec["block_tasks"] = draw.choice(TASKS)
        if self.some(0.1):
            spec["time_per_block_task"] = ns(draw.choice([1, 20, 400]))
            del spec["time"]
        if self.some(0.4):
            spec["transformation_overhead"] = draw.choice(OVERHEADS)
        if self.some(0.5):
            spec["registers"] = draw.choice([0, 16, 32, 61, 64])
        if self.some(0.3):
            spec["shared_memory"] = draw.choice(["0 B", "1 KiB", "4 KiB", "20 KiB", "48 KiB"])
        if self.some(0.25):
            spec["declared_time"] = ns(draw.choice(self.times))
        self._eviction(spec, time)
        return spec

    def _eviction(self, spec, time):
        kind = self.evictions
        if kind == "mixed":
            kind = self.draw.choice(["explicit", "length", "derived"])
        if kind == "explicit":
            spec["eviction_delay"] = ns(self.draw.choice([0, 1, time // 20, time // 3, time, 8000]))
        elif kind == "length":
            spec["block_task_length"] = ns(self.draw.choice([1, max(time // 10, 1), time, 8000]))

    def repeat(self):
        length = self.draw.choice([self.unit, *self.times, 5 * self.times[0]])
        how = self.draw.choice(["period", "think"])
        return {"jobs": self.draw.randint(1, 5), how: ns(length)}

    def client(self, name):
        draw, spec = self.draw, {"name": name}
        spec["arrive"] = ns(draw.choice([0, 0, self.unit, *self.times]))
        if self.copies and self.some(0.7):
            spec["copy_in"] = draw.choice(["1 B", "10 kB", "64 KiB", "64 KiB", "1 MiB"])
        if self.copies and self.some(0.7):
            spec["copy_out"] = draw.choice(["1 B", "10 kB", "64 KiB", "64 KiB"])
        if self.repeats and self.some(0.7):
            spec["repeat"] = self.repeat()
        spec["kernels"] = [self.kernel(number) for number in range(draw.choice([1, 1, 1, 2, 3, 4]))]
        return spec

    def workload(self):
        # Names that do not sort as they are listed: client order is that of the file.
        names = self.draw.sample("hgfedcba", self.draw.randint(1, 8))
        clients = [self.client(f"app-{name}") for name in names]
        spec = {"kind": "workload", "version": 1, "name": "random", "source": "made up by compare.py"}
        if self.some(0.3):
            gap = self.draw.choice([0, self.unit, *self.times])
            spec["arrivals"] = {"gap": ns(gap), "order": "listed"}
            for client in clients:
                del client["arrive"]
        return {**spec, "clients": clients}


def policy(draw, label, length):
    """An entry of the experiment's `policies`."""
    name, params, timed = VARIANTS[label]
    if timed:
        params = {**params, timed: ns(length)}
    return {"name": name, "label": label, **({"params": params} if params else {})}


class Case:
    """One experiment, with the schedule that the model has for each of its policies."""

    def __init__(self, draw):
        self.workload, self.device, self.mechanism = WorkloadDraw(draw).workload(), device(draw), mechanism(draw)
        self.model = prepare(self.workload, self.device, self.mechanism)
        jobs = [(client, kernel) for client in self.model.clients for kernel in client.kernels]
        self.work = sum(client.jobs * kernel.time for client, kernel in jobs)
        self.task = max(-(-kernel.time // kernel.tasks) for _, kernel in jobs)
        self.policies, self.schedules = [], {}
        for label in VARIANTS:
            self._settle(draw, label)

    def _settle(self, draw, label):
        """Draw the policy's length of time until no kernel starves.

        A quantum that is shorter than a block-task can evict a kernel for ever before it did one. Some
        such quanta go well all the same, and are kept; the last resort is one that lets all progress.
        """
        safe = max(self.task, self.work // 1000, LEAST_LENGTH)
        short = max(self.work // draw.choice([2, 10, 100, 1000]), LEAST_LENGTH)
        for length in (short, safe, safe * len(self.model.clients)):
            entry = policy(draw, label, length)
            rows = self.model.run(entry, horizon_ns=self._horizon())
            if sum(row["finish_ns"] is not None for row in rows) == sum(c.jobs for c in self.model.clients):
                self.policies.append(entry)
                self.schedules[label] = rows
                return
        raise RuntimeError(f"no length of time for {label} lets every job finish")

    def _horizon(self):
        """Later than anything but a starving kernel ends: a generous number of evictions, one by one."""
        costs = self.model.mechanism
        drain = max(k.see + k.drain for client in self.model.clients for k in client.kernels)
        waits = sum(c.arrive + c.jobs * (c.copy_in + c.copy_out + (c.period or c.think)) for c in self.model.clients)
        gap = quantity(self.workload.get("arrivals", {}).get("gap", "0 ns")) * len(self.model.clients)
        return 10 * self.work + waits + gap + 3000 * (costs.launch + costs.report + drain + LEAST_LENGTH)

    def experiment(self, seed):
        return {"kind": "experiment", "version": 1, "name": f"oracle-{seed}",
                "title": "A random workload for the comparison with the SimPy model",
                "workload": self.workload, "device": self.device, "mechanism": self.mechanism,
                "standalone": "transformed", "policies": self.policies,
                "permutations": 1, "replications": 1, "seed": 1, "jobs": True}
