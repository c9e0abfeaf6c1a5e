"""The GPU of sim/blocks/README.md, tick by tick: every instant is played as the page says, nothing is skipped.

This is the independent oracle of the block-level model: it was written from the page alone (and
models/gpu_rules.hpp for what happens without a rule) and shares nothing with the C++ engine. Every block is
placed by itself, by a look at all SMs. A tick is 1 ns, so workloads for it are a few hundred ns long.
"""
import collections
from fractions import Fraction

from block_clients import NO_LIMIT, Client, Job, contexts_of, delay_of, limits_of, multiprocessors
from block_turns import Turns
from simpy_inputs import copy_time

RULES = ("G1", "G2", "G3", "G4", "X1", "R1", "R2", "R3", "A1", "A2", "C1", "C2", "C3", "C4", "N1", "N2", "B1", "K1",
         "T1")
FULL_SPEED = 10**6  # of copies


class BlockModel:
    def __init__(self, workload, device, horizon=None):
        off = [rule for rules in device.get("rules", {}).values() for rule, on in rules.items() if not on]
        self.on = {rule: rule not in off for rule in RULES}
        limits = limits_of(device) if self.on["R1"] else []
        unlimited = ["threads"] * (not self.on["R2"]) + ["registers", "shared"] * (not self.on["R3"])
        self.limits = [what for what in limits if what not in unlimited]
        self.order = device.get("queue_order", "became-head")
        self.placement = device.get("placement", "most-room-first")
        self.sms_of = collections.defaultdict(lambda: multiprocessors(device))  # by context, where its blocks can stop
        self.sm_order = device.get("sm_order", range(len(multiprocessors(device))))
        self.whole = {what: sum(sm.free[what] for sm in multiprocessors(device)) for what in ("threads", "registers")}
        self.pool = device.get("layout") == "pool"
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
        if self.turns:
            self.turns.before_the_run(len(self.queues))
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
        self.blocks = []  # that run: (end, operation, SM, begin)
        self.stopped = []  # that do not: (what is left, operation, SM)
        self.leaving = []  # what blocks had that ended: (when it is free, operation, SM)
        self.delays = []  # that run: their ends
        self.spans = collections.Counter()

    # ---- time -----------------------------------------------------------------------------------

    def run(self):
        while self.due or self.copies or self.blocks or self.stopped or self.delays:
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
            _, operation, sm, _ = entry
            self.tell(entry)
            self.leaving.append((self.after(self.room_delay), operation, sm))
            operation.running -= 1
        for time in over:
            self.delays.remove(time)
        for entry in [entry for entry in self.leaving if entry[0] == self.now]:
            self.leaving.remove(entry)
            self.sms(entry[1])[entry[2]].take(entry[1].kernel.need, -1)
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
            if self.turns.active is not None and self.now >= self.turns.begin:
                self.go_on(self.turns.active)
        while (not self.turns or self.turns.may_assign()) and self.assign_one():
            changed = True
        return changed

    def sms(self, operation):
        return self.sms_of[operation.job.client.context if self.turns and self.turns.stops else 0]

    def tell(self, entry):
        """A block ran until now."""
        _, operation, sm, begin = entry
        if self.now > begin:
            self.spans[(operation.job.client.name, operation.job.number, operation.kernel.name, sm, begin, self.now)] += 1

    def share_of(self, need):
        """Of the device, that one block holds."""
        threads = Fraction(need["threads"], self.whole["threads"])
        if self.pool:
            return threads
        return (threads + (Fraction(need["registers"], self.whole["registers"]) if need["registers"] else threads)) / 2

    def stop_blocks(self):
        for entry in self.blocks:
            self.tell(entry)
            self.stopped.append((entry[0] - self.now, entry[1], entry[2]))
        self.blocks = []

    def go_on(self, context):
        for entry in [entry for entry in self.stopped if entry[1].job.client.context == context]:
            self.stopped.remove(entry)
            left, operation, sm = entry
            self.blocks.append((self.now + left, operation, sm, self.now))

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
        sms = self.sms(operation)
        fits = {sm: sms[sm].fits(kernel.need, self.limits) for sm in self.sm_order}
        if not any(fits.values()):
            return False
        if self.placement == "most-room-first":
            sm = next(sm for sm, fit in fits.items() if fit == max(fits.values()))
        else:
            sm = next(sm for sm, fit in fits.items() if fit)
        sms[sm].take(kernel.need)
        end = self.now + kernel.length_of(job.number, operation.assigned)
        self.blocks.append((end, operation, sm, self.now))
        operation.assigned += 1
        operation.running += 1
        if job.start is None:
            job.start = self.now
        return True
