"""T1 of sim/blocks/README.md: contexts of the block model take turns."""
from simpy_inputs import quantity


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
