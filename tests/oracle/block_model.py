"""The GPU of sim/blocks/README.md, tick by tick: every instant is played as the page says, nothing is skipped.

This is the independent oracle of the block-level model: it was written from the page alone (and
models/gpu_rules.hpp for what happens without a rule) and shares nothing with the C++ engine. Every block is
placed by itself, by a look at all SMs. A tick is 1 ns, so workloads for it are a few hundred ns long.
"""
import collections
import math

from simpy_inputs import ceil_div, copy_time, quantity

NO_LIMIT = 10**9
RULES = ("G1", "G2", "G3", "G4", "X1", "R1", "R2", "R3", "A1", "A2", "C1", "C2", "C3", "C4", "N1", "N2", "B1", "K1",
         "T1")
FULL_SPEED = 10**6  # of copies


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


class BlockModel:
    def __init__(self, workload, device, horizon=None):
        off = [rule for rules in device.get("rules", {}).values() for rule, on in rules.items() if not on]
        self.on = {rule: rule not in off for rule in RULES}
        limits = limits_of(device) if self.on["R1"] else []
        unlimited = ["threads"] * (not self.on["R2"]) + ["registers", "shared"] * (not self.on["R3"])
        self.limits = [what for what in limits if what not in unlimited]
        self.order = device.get("queue_order", "became-head")
        self.placement = device.get("placement", "most-room-first")
        self.sms = multiprocessors(device)
        self.sm_order = device.get("sm_order", range(len(self.sms)))
        self.most_resident = device.get("resident_kernels", NO_LIMIT) if self.on["K1"] else NO_LIMIT
        self.copying = device.get("copy", {})
        self.issue_delay, self.end_delay = ({kind: delay_of(device, f"{kind}_{what}") for kind in ("kernel", "copy")}
                                            for what in ("issue", "end"))
        self.room_delay = delay_of(device, "block_end")
        self.horizon = horizon

        self.single_queue = device.get("arbitration") == "native-fifo" or not self.on["A1"]
        self.turns = Turns(self, device) if device.get("arbitration") == "native-timeslice" and self.on["T1"] else None
        self.clients, numbers = [], {}
        for index, spec in enumerate(workload["clients"]):
            stream = numbers.setdefault(spec.get("stream", ("own", index)), len(numbers))
            self.clients.append(Client(index, spec, device, stream))
        contexts = list(contexts_of(workload["clients"])) if self.turns else [0] * len(self.clients)
        for client, context in zip(self.clients, contexts):
            client.context = context
        self.null = numbers.get("default")
        self.streams = [[] for _ in numbers]
        self.channels = min(device.get("channels", len(numbers)), len(numbers))
        if not self.on["B1"]:
            self.channels = len(numbers)
        self.dynamic = device.get("channel_assignment") == "dynamic" and self.channels < len(numbers)
        self.queues = [[[] for _ in range(device.get("priorities", 1))]
                       for _ in range(max(contexts) + 1)]  # by context, priority
        self.outside, self.resident = [], []  # kernels that K1 keeps from their queue; those it let in
        self.engines = {"h2d": [], "d2h": []}  # the copies that wait

        self.now = 0
        self.jobs, self.due = [], [(release, client.index, number) for client in self.clients
                                   for number, release in enumerate(client.releases)]
        self.to_issue = [[] for _ in self.clients]
        self.issued, self.joins = [], 0  # operations in the order of issue; how often one joined
        self.open = []  # those issued of which something is still to happen
        self.copies = []  # that run
        self.copy_ended_at = {}  # by engine
        self.blocks = []  # that run: (end, operation, SM)
        self.leaving = []  # what blocks had that ended: (when it is free, operation, SM)
        self.delays = []  # that run: their ends
        self.spans = collections.Counter()

    # ---- time -----------------------------------------------------------------------------------

    def run(self):
        while self.due or self.copies or self.blocks or self.delays:
            if self.horizon is not None and self.now > self.horizon:
                break
            while self.events():
                while any([self.leave(), self.join(), self.begin()]):
                    pass
            if self.turns:
                self.turns.end_of_instant()
            self.copy_for_a_tick()
            self.now += 1
        return self

    def copy_for_a_tick(self):
        for copy in self.copies:
            both = any(other.kind != copy.kind for other in self.copies)
            share = self.copying[copy.kind].get("both_ways", 1) if both else 1
            copy.work -= round(share * FULL_SPEED)

    def after(self, delay):
        if delay:
            self.delays.append(self.now + delay)
        return self.now + delay

    # ---- 1. events ------------------------------------------------------------------------------

    def events(self):
        """True when something happened."""
        copies = [copy for copy in self.copies if copy.work <= 0]
        over = [time for time in self.delays if time == self.now]
        blocks = [entry for entry in self.blocks if entry[0] == self.now]
        releases = sorted(entry for entry in self.due if entry[0] == self.now)  # in client order
        for copy in sorted(copies, key=lambda copy: (copy.begun_at, copy.kind == "d2h")):
            self.copies.remove(copy)
            self.end(copy)
            self.copy_ended_at[copy.kind] = self.now
            self.issue(copy.job.client.index)  # without G1 the client waited for it
        for entry in blocks:
            self.blocks.remove(entry)
            _, operation, sm = entry
            self.leaving.append((self.after(self.room_delay), operation, sm))
            operation.running -= 1
        for time in over:
            self.delays.remove(time)
        for entry in [entry for entry in self.leaving if entry[0] == self.now]:
            self.leaving.remove(entry)
            self.sms[entry[2]].take(entry[1].kernel.need, -1)
        for entry in releases:
            self.due.remove(entry)
            release, client, number = entry
            job = Job(self.clients[client], number, release)
            self.jobs.append(job)
            self.to_issue[client] += job.operations
            self.issue(client)
        return bool(copies or blocks or releases or over)

    def end(self, operation):
        operation.ended, operation.ended_at = True, self.now
        self.after(self.end_delay["kernel" if operation.kernel else "copy"])

    def issue(self, client):
        waiting = self.to_issue[client]
        while waiting:
            before = [operation for operation in self.issued if operation.job.client.index == client]
            if not self.on["G1"] and before and not before[-1].ended:
                return
            operation = waiting.pop(0)
            operation.channel = self.channel_for(operation.stream())
            operation.ready_at = self.after(self.issue_delay["kernel" if operation.kernel else "copy"])
            operation.issued = len(self.issued)
            self.issued.append(operation)
            self.open.append(operation)
            self.streams[operation.stream()].append(operation)
            if operation.kernel and self.order == "release-all":
                self.outside.append(operation)

    def channel_for(self, stream):
        if not self.dynamic:
            return stream % self.channels
        waiting = [operation for operation in self.issued if operation.joined is None]
        of_stream = [operation.channel for operation in waiting if operation.stream() == stream]
        if of_stream:
            return of_stream[-1]
        busy = {operation.channel for operation in waiting}
        choice = [channel for channel in range(self.channels) if channel not in busy] or range(self.channels)
        last = {operation.channel: operation.issued for operation in self.issued}
        return min(choice, key=lambda channel: last.get(channel, -1))

    # ---- 2. operations leave their streams, jobs finish -------------------------------------------

    def leave(self):
        changed = False
        for operation in list(self.open):
            if operation.kernel and operation.all_assigned() and not operation.running and not operation.ended:
                self.end(operation)
                changed = True
            if not operation.left and self.may_leave(operation):
                operation.left = changed = True
                self.streams[operation.stream()].remove(operation)
            queue = self.queue_of(operation) if operation.kernel else []
            if operation.ended and operation in queue:  # without G3
                queue.remove(operation)
                changed = True
            if operation.ended:
                self.issue(operation.job.client.index)
                self.finish(operation.job)
                if operation.left:
                    self.open.remove(operation)
        return changed

    def may_leave(self, operation):
        if not self.on["G4" if operation.kernel else "C4"]:
            return operation.all_assigned() if operation.kernel else operation.begun
        delay = self.end_delay["kernel" if operation.kernel else "copy"]
        return operation.ended and self.now >= operation.ended_at + delay

    def finish(self, job):
        if job.finish is None and all(operation.ended for operation in job.operations):
            job.finish = self.now
            client = job.client
            if client.think is not None and job.number + 1 < client.jobs:
                self.due.append((self.now + client.think, client.index, job.number + 1))

    # ---- 3. operations join queues ----------------------------------------------------------------

    def join(self):
        changed, again = False, True
        while again:
            again = False
            for stream in self.streams:
                for operation in stream:
                    if operation.joined is None and self.may_join(operation):
                        operation.joined, operation.joined_at = self.joins, self.now
                        self.joins += 1
                        if not (operation.kernel and self.order == "release-all"):
                            (self.outside if operation.kernel else self.queue_of(operation)).append(operation)
                        again = changed = True
        return changed

    def queue_of(self, operation):
        if not operation.kernel:
            return self.engines[operation.kind]
        return self.queues[operation.job.client.context][self.level(operation)]

    def level(self, operation):
        return 0 if self.single_queue else operation.job.client.priority

    def may_join(self, operation):
        needs_head = self.on["G2"] if operation.kernel else self.on["C1"]
        if needs_head and self.streams[operation.stream()][0] is not operation:
            return False
        return self.now >= operation.ready_at and not self.kept(operation)

    def kept(self, operation):
        """By B1, N1 or N2."""
        stream = operation.stream()
        heads = [queue[0] for queue in self.streams if queue]
        earlier = [head for head in heads if head.issued < operation.issued]
        if stream == self.null:
            if self.on["N1"] and any(head.stream() != stream for head in earlier):
                return True
        elif self.on["N2"] and any(head.stream() == self.null for head in earlier):
            return True
        return any(other.channel == operation.channel and other.joined is None
                   for other in self.issued[:operation.issued])

    # ---- 4. copies begin, blocks are assigned -----------------------------------------------------

    def begin(self):
        changed = False
        for engine, waiting in self.engines.items():
            waiting.sort(key=lambda copy: (copy.joined_at, copy.job.client.index))
            while waiting and not (self.on["C2"] and any(copy.kind == engine for copy in self.copies)):
                copy = waiting.pop(0)
                copy.begun = changed = True
                copy.begun_at = self.now
                about = dict(self.copying[engine])
                if "queued_latency" in about and self.copy_ended_at.get(engine) == self.now:
                    about["latency"] = about["queued_latency"]
                copy.work = copy_time(copy.size, about) * FULL_SPEED
                self.copies.append(copy)
        self.let_in()
        if self.turns:
            changed |= self.turns.look()
        while (not self.turns or self.turns.may_assign()) and self.assign_one():
            changed = True
        return changed

    def let_in(self):
        here = lambda kernel: not kernel.ended or self.now < kernel.ended_at + self.room_delay
        self.resident = [kernel for kernel in self.resident if here(kernel)]
        while self.outside and len(self.resident) < self.most_resident:
            chosen = min(self.outside, key=lambda kernel: (-self.level(kernel), self.place_in_queue(kernel)))
            self.outside.remove(chosen)
            self.queue_of(chosen).append(chosen)
            self.resident.append(chosen)

    def assign_one(self):
        for operation in self.next_kernels(self.turns.active if self.turns else 0):
            if self.assign(operation):
                queue = self.queue_of(operation)
                if self.on["G3"] and operation.all_assigned():
                    queue.remove(operation)
                return True
        return False

    def next_kernels(self, context):
        """Those that may have their next block assigned, if there is room: in the order in which they are tried."""
        found = []
        for queue in reversed(self.queues[context]):
            queue.sort(key=self.place_in_queue)
            tried = queue[:1] if self.on["X1"] else queue
            found += [kernel for kernel in tried if not kernel.all_assigned() and self.ready(kernel)]
            if queue and self.on["A2"]:
                break
        return found

    def place_in_queue(self, operation):
        if self.order == "became-head":
            return operation.joined
        job = operation.job
        return job.release, job.client.index, job.number, operation.index

    def ready(self, operation):
        return operation.joined is not None

    def assign(self, operation):
        kernel, job = operation.kernel, operation.job
        fits = {sm: self.sms[sm].fits(kernel.need, self.limits) for sm in self.sm_order}
        if not any(fits.values()):
            return False
        if self.placement == "most-room-first":
            sm = next(sm for sm, fit in fits.items() if fit == max(fits.values()))
        else:
            sm = next(sm for sm, fit in fits.items() if fit)
        self.sms[sm].take(kernel.need)
        end = self.now + kernel.length_of(job.number, operation.assigned)
        self.blocks.append((end, operation, sm))
        if self.horizon is None or end <= self.horizon:  # a span is told of when it ends
            self.spans[(job.client.name, job.number, kernel.name, sm, self.now, end)] += 1
        operation.assigned += 1
        operation.running += 1
        if job.start is None:
            job.start = self.now
        return True


def contexts_of(specs):
    """The context of each client, numbered in the order of the clients that are in them first."""
    numbers = {}
    for index, spec in enumerate(specs):
        own = ("stream", spec["stream"]) if "stream" in spec else ("client", index)
        name = ("context", spec["context"]) if "context" in spec else own
        yield numbers.setdefault(name, len(numbers))


class Turns:
    """T1: whose turn it is on a device where contexts take turns."""

    def __init__(self, model, device):
        self.model = model
        self.length, self.switch = (quantity(device["time_slice"][what]) for what in ("length", "switch"))
        self.active = self.begin = None
        self.idle = False  # nobody wants the device since it was looked at last
        self.line = []

    def wants(self, context):
        of_context = lambda entries: any(entry[1].job.client.context == context for entry in entries)
        return (of_context(self.model.blocks) or of_context(self.model.leaving)
                or bool(self.model.next_kernels(context)))

    def give(self, context, begin):
        changed = self.active is not None and context != self.active
        self.active, self.begin = context, begin + (self.switch if changed else 0)
        self.model.delays += [time for time in self.times() if time > self.model.now]

    def times(self):
        """At which something changes by itself."""
        return () if self.active is None else (self.begin, self.begin + self.length)

    def over(self):
        return self.model.now >= self.begin + self.length

    def blocks_left(self):
        return bool(self.model.blocks or self.model.leaving)

    def look(self):
        """True when somebody got a turn."""
        wanting = [context for context in range(len(self.model.queues)) if self.wants(context)]
        self.line = [(since, context) for since, context in self.line if context in wanting]
        for context in wanting:
            if context != self.active and context not in (waiting for _, waiting in self.line):
                self.join(context)
        if self.active not in wanting:
            self.idle = not self.line
            if self.line:
                self.give(self.line.pop(0)[1], self.model.now)
                return True
            return False
        if self.idle:
            self.idle = False
            self.give(self.active, self.model.now)
        elif self.over() and self.line and not self.blocks_left():
            loser = self.active
            self.give(self.line.pop(0)[1], self.model.now)
            self.join(loser)
            return True
        return False

    def join(self, context):
        self.line = sorted(self.line + [(self.model.now, context)])

    def end_of_instant(self):
        if self.active is not None and not self.idle and not self.line and self.over():
            self.give(self.active, self.begin + self.length)

    def may_assign(self):
        if self.active is None or self.model.now < self.begin:
            return False
        return not (self.over() and self.line)
