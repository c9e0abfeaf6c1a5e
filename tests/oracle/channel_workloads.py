"""Random clients that submit by themselves, devices that serve them in turn, and policies that control access."""

NAMES = ["ant", "bee", "cat", "dog", "eel"]
POLICIES = ["passthrough", "trap-per-request", "timeslice", "disengaged-timeslice", "disengaged-fair-queueing"]


def ns(time):
    return f"{time} ns"


def copy_engines(draw):
    """Bandwidths such that random kernels and copies take about as long."""
    engines = {}
    for key in ("h2d", "d2h"):
        engines[key] = {"bandwidth": f"{draw.choice([1000, 1000, 2000, draw.randint(300, 3000)])} MB/s",
                        "latency": ns(draw.choice([0, 0, 5, draw.randint(0, 200)]))}
        if draw.random() < 0.2:
            engines[key]["queued_latency"] = ns(draw.randint(0, 100))
    fastest = max(int(engine["bandwidth"].split()[0]) for engine in engines.values())
    shared = draw.random()
    if shared < 0.5:
        engines["bus"] = f"{fastest + draw.choice([0, 0, 500, draw.randint(0, fastest)])} MB/s"
    elif shared < 0.65:
        engines[draw.choice(["h2d", "d2h"])]["both_ways"] = draw.choice([0.3, 0.5, 0.913])
    return engines


def device(draw, number):
    access = {}
    if draw.random() < 0.6:
        access["turns"] = draw.choice(["queue", "request"])
    for key, choices in {"switch": [0, 1, 50, draw.randint(1, 300)],
                         "interception": [0, 1, 100, 100, draw.randint(1, 400)],
                         "poll": [0, 0, 2, 100, draw.randint(1, 1000)]}.items():
        if draw.random() < 0.7:
            access[key] = ns(draw.choice(choices))
    if draw.random() < 0.4:
        access["channels"] = draw.randint(1, 8)
    return {"kind": "device", "version": 1, "name": f"random-{number}", "source": "made up by channel_workloads.py",
            "sms": 1, "sm": {"threads": 1024, "blocks": 8, "registers": 65536, "shared_memory": "48 KiB"},
            "memory": "1 GiB", "arbitration": "direct", "access": access, "copy": copy_engines(draw)}


class WorkloadDraw:
    def __init__(self, draw, without=()):
        """`without`: features to leave out, of overhead, trapped, frames, copies."""
        self.draw, self.without = draw, without
        self.round = draw.random() < 0.3     # whole 100 ns, so that much happens in the same instant
        self.longest = draw.choice([200, 800, 3000])
        self.channels = draw.choice([1, 1, 2, 3])
        self.endless = draw.random() < 0.3

    def some(self, probability):
        return self.draw.random() < probability

    def length(self, longest=None, least=1):
        time = self.draw.randint(least, longest or self.longest)
        return ns(max(least, time // 100 * 100 if self.round else time))

    def kernel(self, number):
        draw, spec = self.draw, {"name": f"k{number}", "block_tasks": 1, "block": [32], "time": self.length()}
        spec["time"] = ns(100 * draw.randint(1, 8)) if self.round else spec["time"]
        if self.some(0.1) and "overhead" not in self.without:
            spec["transformation_overhead"] = 1.5
        if self.channels > 1:
            spec["channel"] = draw.randrange(self.channels)
        if self.some(0.3):
            spec["gap"] = self.length(draw.choice([100, 2000]), 0)
        if self.some(0.15):
            spec["host_work"] = self.length(least=0)
        if self.some(0.1) and "trapped" not in self.without:
            spec["trapped_time"] = self.length(300)
        if self.some(0.1) and "trapped" not in self.without:
            spec["trapped_gap"] = self.length(1000, 0)
        if self.some(0.04):
            spec["never_ends"] = draw.randint(0, 3)
        if self.some(0.1):
            spec["count"] = draw.randint(2, 6)
        return spec

    def repeat(self):
        draw = self.draw
        how = draw.choice(["period", "think", "think", "releases"])
        jobs = "endless" if self.endless and self.some(0.5) else draw.choice([1, 2, 3, 5, 10, 20])
        if how == "releases":
            times = sorted(draw.randint(0, 20_000) for _ in range(draw.randint(1, 6)))
            return {"releases": [ns(time) for time in times]}
        if how == "period":
            return {"jobs": jobs, "period": self.length(300 + 3 * self.longest, 300)}
        return {"jobs": jobs, "think": ns(0) if self.some(0.4) and jobs != "endless" else self.length()}

    def client(self, name):
        draw, spec = self.draw, {"name": name}
        if self.some(0.85):
            spec["repeat"] = self.repeat()
        if "releases" not in spec.get("repeat", {}) and self.some(0.7):
            spec["arrive"] = ns(draw.choice([0, 0, 500, draw.randint(0, 3000), draw.randint(0, 30_000)]))
        if self.some(0.4):
            spec["blocking"] = draw.choice([True, False, False])
        if self.some(0.3):
            spec["trivial_requests"] = draw.choice([0, 1, 0.5, 2.25, 3])
        if self.some(0.3) and "frames" not in self.without:
            spec["frames_in_flight"] = draw.choice([1, 2, 3, 5])
        if "copies" not in self.without:
            self.copies(spec)
        spec["kernels"] = [self.kernel(number) for number in range(draw.choice([1, 1, 1, 2, 3, 5]))]
        used = 1 + max(kernel.get("channel", 0) for kernel in spec["kernels"])
        if used > 1 or self.some(0.3):
            spec["channels"] = used + draw.choice([0, 0, 1, 3])
        if self.some(0.1):
            arrive = int(spec.get("arrive", "0 ns").removesuffix(" ns"))
            spec["leave"] = ns(arrive + draw.choice([1, draw.randint(1, 3000), draw.randint(1, 30_000)]))
        return spec

    def copies(self, spec):
        draw = self.draw

        def size():
            return f"{100 * draw.randint(1, 10) if self.round else draw.randint(1, self.longest)} B"

        if self.some(0.1):
            spec["variables"] = [{"name": f"v{number}", "size": size(), "input": draw.choice([True, False]),
                                  "output": draw.choice([True, False])} for number in range(draw.randint(1, 3))]
            return
        for key in ("copy_in", "copy_out"):
            if self.some(0.35):
                spec[key] = size()

    def workload(self, number):
        names = self.draw.sample(NAMES, self.draw.choice([1, 2, 2, 3, 3, 4, 5]))
        spec = {"kind": "workload", "version": 1, "name": f"random-{number}",
                "source": "made up by channel_workloads.py"}
        if self.some(0.3):
            spec["jitter"] = jitter = {}
            for key, value in {"kernel_time": "20 %", "gap": "50 %", "arrival": ns(self.draw.choice([10, 2000]))}.items():
                if self.some(0.7):
                    jitter[key] = value
            if self.some(0.5) and jitter.keys() & {"kernel_time", "gap"}:
                jitter["distribution"] = self.draw.choice(["uniform", "normal"])
        return {**spec, "clients": [self.client(name) for name in names]}


def policy(draw, name, label, longest):
    params = {}

    def some(key, choices, probability=0.5):
        if draw.random() < probability:
            params[key] = draw.choice(choices)

    us = [ns(time) for time in (1000, 1000, 1500, 2000, draw.randint(1000, 5000), draw.randint(1000, 20_000))]
    if name != "passthrough":
        some("channels", [0, 1, 2, 3], 0.3)
        if draw.random() < 0.6:  # what never ends, jitter and trapped times are longer than the longest kernel
            params["limit"] = ns(max(longest, int(draw.choice(us).split()[0])))
    if "timeslice" in name:
        params["slice"] = draw.choice(us)
    if name not in ("passthrough", "trap-per-request"):
        some("alone", ["free", "watched"])
    if name == "disengaged-fair-queueing":
        params["sampling"] = draw.choice(us)
        some("requests", [1, 2, 3, 5])
        some("requests_mixed", [1, 2, 7])
        some("free_run", [0.5, 1, 1.37, 2, 3], 0.8)
        some("statistics", ["sampled", "vendor"], 0.4)
        some("forward", ["low-demand", "idle"], 0.4)
        some("subset", [1, 2, 3], 0.3)
        some("randomise", [0.1, 0.5, 0.9], 0.3)
    return {"name": name, "label": label, **({"params": params} if params else {})}


def experiment(workloads, devices, policies, horizon, seed, replications):
    """All workloads on all devices under all policies; the last key of a sweep varies fastest."""
    spec = {"kind": "experiment", "version": 1, "name": "oracle-channels", "title": "Random clients for the comparison",
            "workload": workloads[0], "device": devices[0], "mechanism": "ideal", "policies": policies,
            "permutations": 1, "replications": replications, "seed": seed, "jobs": True}
    if len(workloads) > 1 or len(devices) > 1:
        spec["sweep"] = {"workload": workloads, "device": devices}
    return spec if horizon is None else {**spec, "horizon": ns(horizon)}
