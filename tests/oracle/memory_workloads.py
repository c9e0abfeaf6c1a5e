"""Random clients with memory, devices of one or several GPUs with little of it, and parameters of microkernel-rr."""

NAMES = ["ant", "bee", "cat", "dog", "eel"]


def ns(time):
    return f"{time} ns"


class Draw:
    """One workload, device, mechanism and policy from a seed. `most_gpus`: of the device; `split`: whether kernels may be."""

    def __init__(self, draw, most_gpus=1, split=False):
        self.draw, self.most_gpus, self.split = draw, most_gpus, split
        self.round = self.some(0.4)             # whole 100 ns, so that much happens in the same instant
        self.maps = self.some(0.4)
        self.blocks, self.longest = draw.choice([(24, 6000), (24, 6000), (80, 40_000)])     # of kernels
        self.footprints = []

    def some(self, probability):
        return self.draw.random() < probability

    def time(self, longest, least=0):
        time = self.draw.randint(least, longest)
        return ns(max(least, time // 100 * 100 if self.round else time))

    def size(self, longest):
        size = self.draw.randint(1, longest)
        return max(1, size // 100 * 100 if self.round else size)

    def kernel(self, number, blocks):
        draw = self.draw
        kernel = {"name": f"k{draw.randrange(number + 1)}", "block_tasks": blocks, "block": [draw.choice([256, 512, 1024])],
                  "time": ns(100 * draw.randint(1, self.longest // 100)) if self.round else self.time(self.longest, 1)}
        if self.some(0.3):
            kernel["gap"] = self.time(draw.choice([300, 5000]))
        if self.some(0.15):
            kernel["host_work"] = self.time(8000)
        if self.some(0.15):
            kernel["count"] = draw.randint(2, 4)
        if self.some(0.15):
            kernel["transformation_overhead"] = draw.choice([0.9, 1.5])
        if self.some(0.15):
            kernel["declared_time"] = self.time(self.longest, 1)
        if self.some(0.2):
            kernel["priority"] = draw.randint(0, 3)
        return kernel

    def variables(self, blocks):
        """(variables, what they take)."""
        draw, variables, footprint = self.draw, [], 0
        for number in range(draw.randint(1, 3)):
            variable, size = {"name": f"v{number}"}, self.size(2000)
            if self.some(0.4):
                variable["input"] = False
            if self.some(0.4):
                variable["dirty"] = True
            if self.some(0.3):
                variable["output"] = True
            if self.maps and self.some(0.6):
                part = draw.randint(1, 1 + 2000 // blocks)
                first, gap = draw.choice([0, 0, draw.randint(0, 50)]), draw.choice([0, 0, draw.randint(0, 5)])
                variable["map"] = {"size": f"{part} B", "first": f"{first} B", "stride": f"{part + gap} B"}
                size = first + (blocks - 1) * (part + gap) + part + draw.choice([0, 0, draw.randint(0, 300)])
            variable["size"] = f"{size} B"
            footprint += size
            variables.append(variable)
        return variables, footprint

    def repeat(self):
        draw = self.draw
        how, jobs = draw.choice(["period", "think", "releases"]), draw.randint(1, 4)
        if how == "releases":
            return {"releases": [ns(time) for time in sorted(draw.randint(0, 20_000) for _ in range(jobs))]}
        return {"jobs": jobs, how: self.time(15_000, 1) if how == "period" else self.time(4000)}

    def client(self, name):
        draw = self.draw
        spec = {"name": name, "priority": draw.randint(0, 3), "privileged": self.some(0.5)}
        if self.some(0.6):
            spec["repeat"] = self.repeat()
        if "releases" not in spec.get("repeat", {}) and self.some(0.6):
            spec["arrive"] = self.time(draw.choice([500, 10_000]))
        blocks = draw.randint(1, self.blocks)
        kernels = draw.choice([1, 1, 2, 3])
        most = 1 if kernels == 1 else draw.choice([1, blocks])
        spec["kernels"] = [self.kernel(number, blocks if number == 0 else draw.randint(min(most, blocks), blocks))
                           for number in range(kernels)]
        names = {}
        for kernel in spec["kernels"]:  # calls of one kernel are alike
            first = names.setdefault(kernel["name"], kernel)
            kernel.update({key: first[key] for key in ("block_tasks", "block", "time")})
        blocks = max(kernel["block_tasks"] for kernel in spec["kernels"])
        footprint = 0
        if self.some(0.8):
            spec["variables"], footprint = self.variables(blocks)
        elif self.some(0.7):
            spec["memory"] = f"{(footprint := self.size(3000))} B"
        if "variables" in spec and self.some(0.3):
            footprint += self.size(500)
            spec["memory"] = f"{footprint} B"
        if "variables" not in spec:
            for key in ("copy_in", "copy_out"):
                if self.some(0.4):
                    spec[key] = f"{self.size(2000)} B"
        self.footprints.append(footprint)
        return spec

    def workload(self):
        names = NAMES[:self.draw.choice([1, 2, 2, 3, 3, 4, 5])]
        jitter = {"jitter": {"kernel_time": "20 %", "gap": "50 %"}} if self.some(0.2) else {}
        return {"kind": "workload", "version": 1, "name": "random", "source": "made up by memory_workloads.py", **jitter,
                "clients": [self.client(name) for name in names]}

    def device(self):
        draw = self.draw
        copy = {way: {"bandwidth": f"{draw.choice([1000, 1000, 2000, draw.randint(300, 3000)])} MB/s",
                      "latency": ns(draw.choice([0, 0, 5, draw.randint(0, 200)]))} for way in ("h2d", "d2h")}
        for way in copy:
            if self.some(0.2):
                copy[way]["queued_latency"] = ns(draw.randint(0, 100))
        fastest = max(int(engine["bandwidth"].split()[0]) for engine in copy.values())
        shared = draw.random()
        if shared < 0.5:
            copy["bus"] = f"{fastest + draw.choice([0, 0, 500, draw.randint(0, fastest)])} MB/s"
        elif shared < 0.7:
            copy[draw.choice(["h2d", "d2h"])]["both_ways"] = draw.choice([0.3, 0.5, 0.913])
        if self.some(0.5):
            copy["merge"] = f"{draw.randint(500, 8000)} MB/s"
        least, most = max(self.footprints), sum(self.footprints)
        device = {"kind": "device", "version": 1, "name": "random", "source": "made up by memory_workloads.py",
                  "sms": draw.choice([1, 1, 2, 3]),
                  "sm": {"threads": 1024, "blocks": 4, "registers": 65536, "shared_memory": "48 KiB"},
                  "memory": f"{max(1, draw.choice([least, most, draw.randint(least, most)]))} B", "copy": copy,
                  "commands": {key: self.time(draw.choice([0, 200])) for key in ("launch", "evict", "notice", "pending_work")}}
        if self.most_gpus > 1:
            device["gpus"] = draw.randint(1, self.most_gpus)
        return device

    def mechanism(self):
        name = self.draw.choice(["microkernel"] * 4 + ["slice", "slice", "flag-copy", "ideal"])
        if name == "microkernel":
            return {"name": name, "params": {"message": ns(self.draw.choice([0, 1, 50, 100, 300])),
                                             "registration": ns(self.draw.choice([0, 0, 100, 500]))}}
        if name == "slice":
            return {"name": name, "params": {"slice_cost": self.time(100)}}
        return {"name": name}

    def policy(self):
        params = {}
        for key, choices in {"order": ["round-robin", "priority", "shortest-first"], "keep": ["while-alone", "while-room"],
                             "blocks": ["declared", "declared", "profiled", "block-tasks"], "unready": ["run-on", "yield"],
                             "slice": [ns(1000), ns(1500), ns(self.draw.randint(1000, 4000))],
                             "block_tasks": [1, 2, 5, 30], "ahead": [1, 2, 3]}.items():
            if self.some(0.6):
                params[key] = self.draw.choice(choices)
        if not self.split:
            params["split"] = "never"
        return {"slice": ns(1000), **params}


def experiment(workload, device, mechanism, params):
    return {"kind": "experiment", "version": 1, "name": "oracle-memory", "title": "Random clients for the comparison",
            "workload": workload, "device": device, "mechanism": mechanism,
            "policies": [{"name": "microkernel-rr", "label": "p", "params": params}],
            "permutations": 1, "replications": 1, "seed": 1, "jobs": True}
