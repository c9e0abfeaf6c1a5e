"""Random workloads and devices for compare_blocks.py: few SMs, tight limits, many ties, rules switched off.

A tick is 1 ns and a copy takes 1 ns a byte. Every workload here runs on every device here: the kernels
fit on the smallest SM.
"""
NAMES = "hgfedcba"  # that do not sort as they are listed: client order is that of the file
RULES = {"RTSS17": ["G1", "G2", "G3", "G4", "X1", "R1", "R2", "R3", "A1", "A2", "C1", "C2", "C3", "C4", "N1", "N2"],
         "RTAS24": ["B1"], "CUDA": ["K1", "T1"]}
BYTE_PER_NS = {"bandwidth": "1 GB/s", "latency": "0 ns"}
DELAYS = ("kernel_issue", "copy_issue", "kernel_end", "copy_end", "block_end")


def ns(value):
    return f"{value} ns"


def engine(draw, latency):
    spec = {**BYTE_PER_NS, "latency": ns(latency)}
    if draw.random() < 0.3:
        spec["queued_latency"] = ns(draw.choice([0, 1, 4]))
    if draw.random() < 0.4:
        spec["both_ways"] = draw.choice([0.3, 0.5, 0.75, 0.9])
    return spec


def arbitrate(draw, spec):
    """Turns in a third of the cases."""
    how = draw.choice(["native-priority", "native-priority", "native-priority", "native-fifo", "native-timeslice",
                       "native-timeslice"])
    if how == "native-timeslice":
        spec["time_slice"] = {"length": ns(draw.choice([1, 2, 3, 5, 8, 13, 30])),
                              "switch": ns(draw.choice([0, 0, 1, 2, 5]))}
        if draw.random() < 0.6:
            spec["time_slice"]["order"] = draw.choice(["creation", "creation", "waiting"])
            spec["time_slice"]["choice"] = ns(draw.choice([0, 0, 1, 2, 7]))
        if draw.random() < 0.4:
            spec["time_slice"] |= {"blocks": "stop", "stop": ns(draw.choice([0, 0, 1, 3])), "resume": ns(draw.choice([0, 0, 2]))}
            if draw.random() < 0.5:
                spec["time_slice"] |= {"stop_full": ns(draw.choice([3, 7])), "resume_full": ns(draw.choice([2, 4]))}
            if int(spec["time_slice"]["length"].split()[0]) < 5:  # it contains the resumption
                spec["time_slice"]["length"] = ns(draw.choice([5, 6, 9]))
    if how != "native-priority" or (spec.get("priorities", 1) > 1 and draw.random() < 0.5):  # the default
        spec["arbitration"] = how


def device(draw, number):
    spec = {"kind": "device", "version": 1, "name": f"random-{number}", "source": "made up by block_workloads.py"}
    if draw.random() < 0.25:
        spec |= {"layout": "pool", "m": draw.choice([128, 160, 256, 512])}
    else:
        spec |= {"sms": draw.choice([1, 1, 2, 2, 3, 4]),
                 "sm": {"threads": draw.choice([128, 128, 192, 256]), "blocks": draw.choice([1, 2, 3, 4, 8]),
                        "registers": draw.choice([4096, 8192, 65536]),
                        "shared_memory": f"{draw.choice([1, 2, 3, 8])} KiB"},
                 "placement": draw.choice(["most-room-first", "lowest-index-first"])}
        if draw.random() < 0.3:
            spec["sm"]["warp"] = draw.choice([16, 32, 64])
        if draw.random() < 0.2:
            spec["sm"]["shared_memory"] = draw.choice(["2 KiB", "3 KiB"])
            spec["sm"]["reserved_shared_memory"] = draw.choice(["100 B", "512 B", "1 KiB"])
        if draw.random() < 0.3:
            spec["sm_order"] = draw.sample(range(spec["sms"]), spec["sms"])
    spec["copy"] = {"h2d": engine(draw, 0), "d2h": engine(draw, draw.choice([0, 0, 1, 2]))}
    spec["queue_order"] = draw.choice(["became-head", "release-ready", "release-all"])
    if draw.random() < 0.6:
        spec["priorities"] = draw.randint(1, 3)
    if draw.random() < 0.5:
        spec["channels"] = draw.randint(1, 3)
        spec["channel_assignment"] = draw.choice(["fixed", "dynamic", "dynamic"])
    if draw.random() < 0.25:
        spec["resident_kernels"] = draw.randint(1, 3)
    if draw.random() < 0.4:
        spec["delays"] = {delay: ns(draw.choice([1, 1, 2, 3, 7]))
                          for delay in draw.sample(DELAYS, draw.randint(1, len(DELAYS)))}
    arbitrate(draw, spec)
    off = []
    if draw.random() < 0.5:
        off = draw.sample([(who, rule) for who, rules in RULES.items() for rule in rules], draw.choice([1, 1, 2, 3]))
    if off:
        spec["rules"] = {who: {rule: False for found, rule in off if found == who} for who, _ in off}
    return spec


class WorkloadDraw:
    def __init__(self, draw):
        self.draw = draw
        self.exceptions, self.copies = draw.random() < 0.3, draw.random() < 0.5
        self.streams = draw.choice([[None], [None, None, "default"], ["s", "t", None], ["s", "default"],
                                    ["s", "t", "default", None]])
        self.priorities = draw.choice([[0], [0, 1], [0, 1, 2], [-1, 0, 7]])
        self.of_stream = {name: draw.choice(self.priorities) for name in ("s", "t", "default")}
        self.contexts = draw.choice([[None], [None], ["c", None], ["c", "s"]])
        self.context_of = {name: draw.choice(self.contexts) for name in self.of_stream}
        self.longest = draw.choice([2, 5, 12])

    def some(self, probability):
        return self.draw.random() < probability

    def length(self):
        return ns(self.draw.randint(1, self.longest))

    def kernel(self, number, jobs):
        draw = self.draw
        blocks = draw.choice([1, 1, 2, 3, 4, 5, 8, draw.randint(1, 8), draw.randint(9, 40)])
        spec = {"name": f"k{number}", "block_tasks": blocks, "block": [draw.choice([1, 32, 64, 64, 96, 128])]}
        if self.some(0.1):
            spec["grid"] = [2, draw.choice([1, 2, 12])]
            blocks = spec["grid"][0] * spec["grid"][1]
            del spec["block_tasks"]
        if self.some(0.2):
            spec["time"] = ns(draw.randint(1, 3 * self.longest))
        elif self.some(0.05):
            spec["time_per_block_task"] = ns(draw.randint(1, 3))
        if self.some(0.1) or not {"time", "time_per_block_task"} & set(spec):
            spec["block_task_length"] = self.length()
        if self.some(0.05):
            spec["transformation_overhead"] = 0.5
        if self.some(0.3):
            spec["registers"] = draw.choice([8, 16, 32])
        if self.some(0.3):
            spec["shared_memory"] = draw.choice(["0 B", "300 B", "512 B", "1 KiB"])
        if self.exceptions and self.some(0.6):
            places = {(draw.randrange(jobs), draw.randrange(blocks)) for _ in range(draw.randint(1, 3))}
            spec["exceptions"] = [{"job": job, "block": block, "length": self.length()}
                                  for job, block in sorted(places)]
        return spec

    def repeat(self, jobs):
        how = self.draw.choice(["period", "think", "releases"])
        if how == "releases":
            return {"releases": [ns(time) for time in sorted(self.draw.randint(0, 12) for _ in range(jobs))]}
        return {"jobs": jobs, how: ns(self.draw.randint(how == "period", 8))}

    def client(self, name):
        draw, spec, jobs = self.draw, {"name": name}, self.draw.choice([1, 1, 2, 3])
        if jobs > 1:
            spec["repeat"] = self.repeat(jobs)
        if "releases" not in spec.get("repeat", {}):
            spec["arrive"] = ns(draw.choice([0, 0, 1, 2, draw.randint(0, 12)]))
        stream = draw.choice(self.streams)
        priority = self.of_stream[stream] if stream else draw.choice(self.priorities)
        if stream:
            spec["stream"] = stream
        context = self.context_of[stream] if stream else draw.choice(self.contexts)
        if context:
            spec["context"] = context
        if priority:
            spec["priority"] = priority
        if self.copies and self.some(0.6):
            spec["copy_in"] = f"{draw.randint(1, 5)} B"
        if self.copies and self.some(0.6):
            spec["copy_out"] = f"{draw.randint(1, 5)} B"
        spec["kernels"] = [self.kernel(number, jobs) for number in range(draw.choice([1, 1, 2, 3]))]
        return spec

    def workload(self, number):
        names = self.draw.sample(NAMES, self.draw.randint(1, 5))
        return {"kind": "workload", "version": 1, "name": f"random-{number}", "source": "made up by block_workloads.py",
                "clients": [self.client(name) for name in names]}


# One job of it finishes under any rules: an experiment in which none does is an error.
FIRST = {"name": "first", "priority": 2, "kernels": [
    {"name": "k", "block_tasks": 1, "block": [1], "block_task_length": "1 ns"}]}


def experiment(workloads, devices, horizon, events):
    """All workloads on all devices; the last key of a sweep varies fastest."""
    spec = {"kind": "experiment", "version": 1, "name": "oracle-blocks", "title": "Random workloads for the comparison",
            "workload": workloads[0], "device": devices[0], "mechanism": "flag-copy", "policies": ["passthrough"],
            "sweep": {"workload": workloads, "device": devices}, "events": events,
            "permutations": 1, "replications": 1, "seed": 1, "jobs": True}
    return spec if horizon is None else {**spec, "horizon": ns(horizon)}
