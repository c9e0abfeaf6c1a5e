"""What a workload file says of clients with memory (sim/README.md, sim/memory/README.md), as numbers; written from the pages."""
from simpy_inputs import ceil_div, name_and_params, persistent_blocks, quantity, round_half_up, share


class Mechanism:
    """What launches cost, and how long they last: all of sim/README.md that needs no eviction."""

    def __init__(self, spec, device):
        self.name, params = name_and_params(spec)
        costs = {} if self.name == "ideal" else device.get("commands", {})
        command, notice, pending = (quantity(costs.get(key, "0 ns")) for key in ("launch", "notice", "pending_work"))
        self.message = self.registration = 0
        if self.name == "microkernel":
            self.message = quantity(params.get("message", "50 us"))
            self.registration = quantity(params.get("registration", "200 us"))
        self.slices = self.name in ("slice", "microkernel")
        self.launch = command + self.message + (quantity(params.get("slice_cost", "0 ns")) if self.name == "slice" else 0)
        self.notice = notice + self.message + (pending if self.name == "flag-copy" else 0)

    def duration(self, kernel, tasks, time):
        """`time`: that the kernel takes in this job."""
        if self.slices:
            return ceil_div(tasks, kernel.fit) * ceil_div(time, kernel.waves(kernel.tasks))
        return ceil_div(tasks * time, kernel.tasks)


class Kernel:
    def __init__(self, spec, device, mechanism, client_priority, privileged):
        self.name, self.tasks, self.fit = spec["name"], spec["block_tasks"], persistent_blocks(spec, device)
        overhead = share(spec.get("transformation_overhead", 1))
        original = quantity(spec["time"])
        self.time = original if mechanism.slices else round_half_up(original * overhead)
        self.declared = round_half_up(quantity(spec["declared_time"]) * overhead) if "declared_time" in spec else self.time
        self.gap, self.host_work = quantity(spec.get("gap", "0 ns")), quantity(spec.get("host_work", "0 ns"))
        priority = spec.get("priority", client_priority)
        self.priority = priority if privileged else min(priority, client_priority)

    def waves(self, tasks):
        return ceil_div(tasks, self.fit)


class Variable:
    """`part`: bytes that a block has of it; `shared`: what is in no part."""

    def __init__(self, spec, blocks):
        self.size, self.output = quantity(spec["size"]), spec.get("output", False)
        self.input, self.dirty = spec.get("input", True), spec.get("dirty", False) or self.output
        self.part = quantity(spec["map"]["size"]) if "map" in spec else 0
        self.shared = self.size - blocks * self.part


class Client:
    def __init__(self, index, spec, device, mechanism):
        self.index, self.name = index, spec["name"]
        self.kernels = [Kernel(kernel, device, mechanism, spec.get("priority", 0), spec.get("privileged", False))
                        for kernel in spec["kernels"] for _ in range(kernel.get("count", 1))]
        self.blocks = max(kernel.tasks for kernel in self.kernels)
        variables = spec.get("variables", [])
        self.copy_in = self.copy_out = 0    # of their own
        if not variables:
            self.copy_in, self.copy_out = (quantity(spec.get(key, "0 B")) for key in ("copy_in", "copy_out"))
            if "memory" in spec:
                variables = [{"size": spec["memory"], "input": True, "dirty": True}]
        self.own_copies = "variables" not in spec
        self.variables = [Variable(variable, self.blocks) for variable in variables]
        self.footprint = quantity(spec["memory"]) if "memory" in spec else sum(each.size for each in self.variables)
        self.part = sum(each.part for each in self.variables)
        self.shared_footprint = self.footprint - self.blocks * self.part
        self.shared_dirty = sum(each.shared for each in self.variables if each.dirty)
        self.shared_output = sum(each.shared for each in self.variables if each.output)
        self.part_dirty = sum(each.part for each in self.variables if each.dirty)
        self.part_output = sum(each.part for each in self.variables if each.output)
        self.arrive = quantity(spec.get("arrive", "0 ns"))
        self.repeat = spec.get("repeat", {"jobs": 1})
        self.think = quantity(self.repeat["think"]) if "think" in self.repeat else None

    def releases(self):
        """The times that are known before the run."""
        if "releases" in self.repeat:
            return [quantity(time) for time in self.repeat["releases"]]
        if "period" in self.repeat:
            return [self.arrive + number * quantity(self.repeat["period"]) for number in range(self.repeat["jobs"])]
        return [self.arrive]

    def jobs(self):
        return len(self.repeat["releases"]) if "releases" in self.repeat else self.repeat["jobs"]

    def shared_restore(self, launched):
        return sum(each.shared for each in self.variables if each.input or each.dirty and launched)

    def part_restore(self, launched):
        return sum(each.part for each in self.variables if each.input or each.dirty and launched)
