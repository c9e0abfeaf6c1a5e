"""T1 of sim/blocks/README.md: contexts of the block model take turns."""
import math

from simpy_inputs import quantity


class Turns:
    """T1: whose turn it is on a device where contexts take turns."""

    def __init__(self, model, device):
        self.model = model
        self.length, self.switch = (quantity(device["time_slice"][what]) for what in ("length", "switch"))
        self.by_creation = device["time_slice"].get("order") == "creation"
        self.line = []  # who waits, in that order, and since when; unless by creation
        self.active = self.begin = self.end = None
        self.idle = False  # nobody wants the device since it was looked at last
        self.following, self.unqueued = None, None  # the successor; since when the active context has had nothing queued
        self.stands = False  # the successor is certain, since an earlier instant
        about = device["time_slice"]
        self.choice = quantity(about.get("choice", "0 ns"))
        self.costs = {what: (quantity(about.get(what, "0 ns")), quantity(about.get(f"{what}_full", about.get(what, "0 ns"))))
                      for what in ("stop", "resume")}
        self.stops = device["time_slice"].get("blocks", "end") == "stop"
        self.expired = False  # its turn is over, and it has no other before somebody else

    def wants(self, context):
        of_context = lambda entries: any(entry[1].job.client.context == context for entry in entries)
        there = of_context(self.model.blocks) or of_context(self.model.leaving) and (context == self.active or not self.stops)
        return there or of_context(self.model.stopped) or bool(self.model.next_kernels(context))

    def give(self, context, begin):
        changed, resume = self.active is not None and context != self.active, 0
        if changed and self.stops:
            begin += self.cost("stop", self.model.blocks)
            self.model.stop_blocks()
            resume = self.cost("resume", [entry for entry in self.model.stopped if entry[1].job.client.context == context])
        begin += self.switch if changed else 0
        self.active, self.begin, self.end = context, begin + resume, begin + self.length
        self.following, self.unqueued, self.stands, self.expired = None, None, False, False
        self.model.delays += [time for time in self.times() if time > self.model.now]

    def cost(self, what, entries):
        """To stop or resume these blocks: more of them, more."""
        if not entries:
            return 0
        one, full = self.costs[what]
        return one + math.floor((full - one) * min(sum(self.model.share_of(entry[1].kernel.need) for entry in entries), 1))

    def before_the_run(self, contexts):
        """By creation, the last one is there."""
        if self.by_creation:
            self.active, self.begin, self.end, self.idle = contexts - 1, 0, self.length, True

    def times(self):
        """At which something changes by itself."""
        return () if self.active is None else (self.begin, self.end)

    def over(self):
        return self.model.now >= self.end

    def blocks_left(self):
        return bool(self.model.blocks or self.model.leaving)

    def ring(self):
        """All other contexts, from the active one's neighbour on."""
        contexts = list(range(len(self.model.queues)))
        place = -1 if self.active is None else self.active
        return [context for context in contexts[place + 1:] + contexts[:place + 1] if context != self.active]

    def look(self):
        """True when somebody got a turn."""
        wants_it = self.active is not None and self.wants(self.active)
        if self.idle and wants_it:
            self.idle = False
            self.give(self.active, self.model.now)
        self.choose(wants_it)
        if not wants_it and self.following is None:
            self.idle = True
            return False
        self.idle = False
        if self.following is not None and (not wants_it or self.over() and (self.stops or not self.blocks_left())):
            self.give(self.following, self.model.now)
            return True
        return False

    def choose(self, wants_it):
        if not self.by_creation:
            self.line = [(since, context) for since, context in self.line if context != self.active and self.wants(context)]
            for context in self.ring():
                if self.wants(context) and context not in (waiting for _, waiting in self.line):
                    self.line = sorted(self.line + [(self.model.now, context)])
            self.following = self.line[0][1] if self.line else None
        elif self.active is None or self.model.now >= self.begin or not wants_it:
            certain = self.unqueued is not None and self.model.now > self.unqueued + self.choice
            self.stands = certain and self.following is not None and self.wants(self.following)
            if not self.stands:
                self.following = next((context for context in self.ring() if self.wants(context)), None)

    def more_issued(self):
        """Whether kernels of the active context wait for their first blocks."""
        return any(operation.kernel and operation.job.client.context == self.active and operation.assigned == 0
                   for operation in self.model.open)

    def end_of_instant(self):
        if self.active is None or self.idle or self.model.now < self.begin:
            return
        if self.more_issued() and not self.stands:
            self.unqueued = None
        elif self.unqueued is None:
            self.unqueued = self.model.now
        if not self.over() or self.expired:
            return
        if self.following is None and (not self.by_creation or self.more_issued()):
            self.end += self.length
            self.model.delays += [self.end]
        else:
            self.expired = True

    def may_assign(self):
        if self.active is None or self.model.now < self.begin:
            return False
        return not (self.over() and self.following is not None)
