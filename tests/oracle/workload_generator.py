"""Random workloads, devices, mechanisms and policy parameters for compare.py: many ties, many corners.

Values come from small pools, so that equal times, equal arrivals and events at one instant are common.
"""
from simpy_inputs import persistent_blocks, quantity
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
    "piv": ("piv", {}, None),
    "piv-tail": ("piv", {"evicted": "tail"}, None),
    "dprr": ("dprr", {}, "quota"),
    "dprr-preempts": ("dprr", {"arrival_preempts": "yes"}, "quota"),
    "pkm": ("pkm", {}, "latency"),
    "pkm-block-tasks": ("pkm", {"slice": "block-tasks"}, None),
}
LEAST_LENGTH = 1000
POLICIES_EACH = 9  # of a workload


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

    commands = {key: cost() for key in ("launch", "evict", "notice", "pending_work")}
    if draw.random() < 0.4:
        commands["beside_copies"] = {"launch": cost(), "evict": cost(), "reads_wait": draw.random() < 0.7}
    if draw.random() < 0.4:
        times = sorted(draw.sample([1, 300, 5000, 77_777, 10**6, 10**8], draw.randint(1, 4)))
        commands["after_idle"] = [[ns(time), cost()] for time in times]
    return {"kind": "device", "version": 1, "name": "random-gpu", "source": "made up by compare.py",
            "sms": draw.choice([1, 2, 5, 28]),
            "sm": {"threads": draw.choice([1024, 2048]), "blocks": draw.choice([2, 8, 16, 32]),
                   "registers": 65536, "shared_memory": draw.choice(["48 KiB", "96 KiB"])},
            "memory": "12 GiB", "copy": {"h2d": engine(), "d2h": engine()},
            "commands": commands,
            "polls": {"host": ns(draw.choice([0, 1, 77, 1000, 5000])), "device": ns(draw.choice([0, 1, 33, 300])),
                      **({"proxy": ns(draw.choice([0, 4700]))} if draw.random() < 0.3 else {})},
            "delays": {"block_end": ns(draw.choice([0, 1, 270]))}}


def several_gpus(draw, device, clients):
    """Two or four, of which some clients may use only some."""
    device["gpus"] = draw.choice([2, 2, 4])
    restricted = draw.choice([0, 0.3, 1])
    for client in clients:
        if draw.random() < restricted:
            client["gpus"] = draw.sample(range(device["gpus"]), draw.randint(1, device["gpus"]))


def mechanism(draw, room):
    """One for kernels of which at least `room` blocks fit on the device: proxies need one for themselves."""
    names = ["flag-copy", "write-value", "ideal", "basic", "slice", "prologue", "prologue", "loop"] + ["proxy", "proxy-adaptive", "proxy-adaptive"] * (room > 1)
    name = draw.choice(names)

    def some(**choices):
        return {key: draw.choice(values) for key, values in choices.items() if draw.random() < 0.5}

    flags = some(useful=[0, 0.25, 0.3, 0.5, 1], delay_scale=[0.5, 1, 1.7, 2])
    polls = some(useful=[0, 0.25, 0.3, 0.5, 1], relaunch=["signal", "wait"], signal_after=["0 ns", "1 us", "30 us", "5 ms"])
    interval = some(r=[1, 3, 10, 1000], L=["1 us", "10 us", "333 us", "4 ms"], interval=["several-per-slice", "as-printed"],
                    first_block_task=[0.01, 0.5, 1, 1.37, 20])
    claims = some(claim_ns=[0, 0.73, 12, 999.9], claim_1024_ns=[0, 1.8, 33.3], overhead=[0.9, 1.003, 1.21])
    params = {"prologue": {**flags, **claims}, "loop": flags, "flag-copy": flags, "write-value": flags, "ideal": {}, "basic": polls, "proxy": polls,
              "proxy-adaptive": {**polls, **interval}, "slice": some(slice_cost=["0 ns", "1 ns", "5 us"])}[name]
    return {"name": name, "params": params} if params else name


class WorkloadDraw:
    def __init__(self, draw):
        self.draw, self.unit = draw, draw.choice(UNITS)
        self.times = [self.unit * draw.randint(1, 60) for _ in range(draw.randint(1, 6))]
        self.copies = draw.random() < 0.5
        self.repeats = draw.random() < 0.6
        self.evictions = draw.choice(["explicit", "length", "derived", "mixed", "mixed"])
        self.priorities = draw.choice([[0], [0, 1], [0, 0, 3], [-1, 0, 0, 2], list(range(-3, 9))])
        self.setting = draw.choice(["calm", "urgent"]) if draw.random() < 0.2 else None
        self.host_work = draw.random() < 0.5
        self.measured = draw.random() < 0.5
        self.gaps = draw.choice([[], [], [1, 2, 1000], [self.unit, 2 * self.unit], [0, 1, self.unit, *self.times]])

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
        if self.some(0.3):
            spec["priority"] = draw.choice(self.priorities)
        if self.host_work and self.some(0.6):
            spec["host_work"] = ns(draw.choice([0, 1, time // 2, time, draw.choice(self.times), 5 * time, 30 * time]))
        if self.gaps and self.some(0.7):
            spec["gap"] = ns(draw.choice(self.gaps))
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
        if self.measured and self.draw.random() < 0.7:
            spec["measured"] = self._measured(spec, time)
        if self.draw.random() < 0.2:
            spec["useful"] = self.draw.choice([0, 0.1, 0.314, 1])

    def _measured(self, spec, time):
        """Some of what may be said of launches as measured. Evictions leave something done, or none might ever end."""
        draw, said = self.draw, {}
        if "time" not in spec:
            return said
        for key, choices in {"launch": [0, 1, 700, 9000], "pending_work": [0, 300], "after_another": [0, 1, time // 9],
                             "each_launch": [0, time // 10, time // 2]}.items():
            if self.some(0.5):
                said[key] = ns(draw.choice(choices))
        if self.some(0.3):
            said["in_step"] = min(draw.choice([1, 3, 16, 1000]), spec.get("block_tasks", 1))
        if self.some(0.6):
            said["evictions"] = [[ns(t) for t in self._measured_eviction(ordered, time)]
                                 for ordered in sorted(draw.randrange(time + 1) for _ in range(draw.choice([1, 2, 5, 30])))]
            if self.some(0.7):
                said["near"] = draw.randint(1, len(said["evictions"]))
            if self.some(0.5):
                said["too_late"] = ns(draw.choice([0, 1, time // 20, time // 3]))
        return said

    def _measured_eviction(self, ordered, time):
        draw = self.draw
        late = draw.choice([0, 1, time // 20, time // 3])
        return ordered, ordered + late, ordered + draw.choice([0, late // 2, late, late + 1])

    def repeat(self):
        length = self.draw.choice([self.unit, *self.times, 5 * self.times[0]])
        how = self.draw.choice(["period", "think"])
        return {"jobs": self.draw.randint(1, 5), how: ns(length)}

    def client(self, name):
        draw, spec = self.draw, {"name": name}
        spec["arrive"] = ns(draw.choice([0, 0, self.unit, *self.times]))
        if self.some(0.8):
            spec["priority"] = draw.choice(self.priorities)
            if self.setting and self.some(0.7):
                del spec["priority"]
                spec["priorities"] = {name: draw.choice(self.priorities) for name in ("calm", "urgent")}
        if self.some(0.4):
            spec["privileged"] = draw.choice([True, True, False])
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
        if self.setting:
            spec["priorities"] = {"settings": ["calm", "urgent"], "use": self.setting}
        return {**spec, "clients": clients}


def policy(label, more, length):
    """An entry of the experiment's `policies`, with these parameters more."""
    name, params, timed = VARIANTS[label]
    params = {**params, **more, **({timed: ns(length)} if timed else {})}
    return {"name": name, "label": label, **({"params": params} if params else {})}


class Case:
    """One experiment, with the schedule that the model has for each of its policies."""

    def __init__(self, draw):
        self.workload, self.device = WorkloadDraw(draw).workload(), device(draw)
        if draw.random() < 0.5:
            several_gpus(draw, self.device, self.workload["clients"])
        self.mechanism = mechanism(draw, min(persistent_blocks(kernel, self.device)
                                             for client in self.workload["clients"] for kernel in client["kernels"]))
        self.model = prepare(self.workload, self.device, self.mechanism)
        self.standalone = draw.choice(["transformed", "original"])
        jobs = [(client, kernel) for client in self.model.clients for kernel in client.kernels]
        self.work = sum(client.jobs * self.model.mechanism.duration(kernel, kernel.tasks) for client, kernel in jobs)
        self.task = max(-(-kernel.time // kernel.tasks) for _, kernel in jobs)
        self.largest = max((kernel for _, kernel in jobs), key=lambda kernel: kernel.tasks)
        self.policies, self.schedules = [], {}
        for label in draw.sample(list(VARIANTS), POLICIES_EACH):
            self._settle(draw, label)

    def _settle(self, draw, label):
        """Draw the policy's length of time until no kernel starves.

        A quantum that is shorter than a block-task can evict a kernel for ever before it did one. Some
        such quanta go well all the same, and are kept; the last resort is one that lets all progress.
        """
        safe = max(self.task, self.work // 1000, LEAST_LENGTH)
        parts = [2, 5, 10] if label == "dprr-preempts" else [2, 10, 100, 1000]  # owners displaced before their time
        short = max(self.work // draw.choice(parts), LEAST_LENGTH)
        more = self._more(draw, label)
        for length in (short, safe, safe * len(self.model.clients)):
            entry = policy(label, more, length)
            rows = self.model.run(entry, horizon_ns=self._horizon(1000 if entry["name"] == "pkm" else 10))
            if sum(row["finish_ns"] is not None for row in rows) == sum(c.jobs for c in self.model.clients):
                self.policies.append(entry)
                self.schedules[label] = rows
                return
        raise RuntimeError(f"no length of time for {label} lets every job finish")

    def _more(self, draw, label):
        """Those of the policy's parameters that cannot keep a kernel from finishing."""
        linger = draw.choice([0, 0, 1, 1000, 30 * 1000, *(kernel.gap for c in self.model.clients for kernel in c.kernels)])
        return {**self._own(draw, label), **({"linger": ns(linger)} if linger else {})}

    def _own(self, draw, label):
        if label == "pkm-block-tasks":
            tasks, fit = self.largest.tasks, self.largest.fit
            size = draw.choice([1, fit // 2, fit, fit + 1, 5 * fit, tasks // 17, tasks // 5, tasks])
            return {"block_tasks": max(size, -(-tasks // 60))}
        if not label.startswith("dprr"):
            return {}
        aging = max(self.work // draw.choice([5, 50, 500]), LEAST_LENGTH)
        choices = {"quota_priority": ["static", "dynamic"], "aging": [ns(aging)], "most_aged": [0, 1, 3, 20],
                   "swap": ["when-empty", "when-needed"]}
        if label != "dprr-preempts":  # which inactive arrivals never do
            choices["arrivals"] = ["active", "inactive"]
        return {key: draw.choice(values) for key, values in choices.items()}

    def _horizon(self, times):
        """Later than anything but a starving kernel ends: a generous number of evictions, one by one.

        Slices of less than a wave each take as long as one, and what each launch takes.
        """
        costs = self.model.mechanism
        late = max(longer for _, longer in costs.after_idle)
        drain = max(k.see + k.drain + costs.claims(k, k.tasks) for client in self.model.clients for k in client.kernels)
        waits = sum(c.arrive + c.jobs * (c.alone("transformed") + (c.period or c.think)) for c in self.model.clients)
        gap = quantity(self.workload.get("arrivals", {}).get("gap", "0 ns")) * len(self.model.clients)
        return times * self.work + waits + gap + 3000 * (costs.launch + late + costs.report + drain + LEAST_LENGTH)

    def experiment(self, seed):
        return {"kind": "experiment", "version": 1, "name": f"oracle-{seed}",
                "title": "A random workload for the comparison with the SimPy model",
                "workload": self.workload, "device": self.device, "mechanism": self.mechanism,
                "standalone": self.standalone, "policies": self.policies,
                "permutations": 1, "replications": 1, "seed": 1, "jobs": True}
