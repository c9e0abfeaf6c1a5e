"""Whose kernels are on the GPU: "Time slices" of sim/recorded/README.md."""
from simpy_inputs import quantity


class AlwaysOn:
    """MPS: all contexts are on the GPU at once."""

    def __init__(self, contexts):
        pass

    def joined(self, contexts):
        for context in contexts:
            context.on = True

    def decide(self):
        return False


class TimeSlices:
    """The rules TS1 to TS9."""

    def __init__(self, world, contexts, times):
        def given(key, otherwise="0 ns"):
            return quantity(times.get(key, otherwise))

        self.world, self.ring = world, contexts
        self.length, self.switch, self.linger = given("length"), given("switch"), given("linger")
        self.stop, self.resume, self.renewal = given("stop"), given("resume"), given("renewal", times["length"])
        self.current, self.switching = None, False
        self.end, self.expired, self.unready = None, False, None
        self.choice = given("choice")
        self.following, self.unqueued = None, None  # who comes after the current one; since when it has had nothing queued

    def joined(self, contexts):
        pass

    def _slice(self, begin, length):
        self.end, self.expired = begin + length, False
        self.world.at(max(self.end, self.world.now), lambda: None)

    def _choose(self):
        """TS2: once nothing has been queued for long enough, a choice stands as long as it is of use."""
        if self.following is not None and self.unqueued is not None and self.world.now > self.unqueued + self.choice:
            if self.following.ready():
                return
        place = self.ring.index(self.current)
        behind = self.ring[place + 1:] + self.ring[:place]
        self.following = next((context for context in behind if context.ready()), None)
        if any(stream.due_behind() for stream in self.current.streams):
            self.unqueued = None
        elif self.unqueued is None:
            self.unqueued = self.world.now

    def decide(self):
        now = self.world.now
        if self.switching:
            return False
        if self.current is None:
            first = next((context for context in self.ring if context.ready()), None)
            if first:
                self._turn(first, now)
            return first is not None
        if self.current.ready():
            if self.unready is not None:
                if now - self.unready > self.linger:
                    self._slice(now, self.length)
                self.unready = None
        elif self.unready is None:
            self.unready = now
            self.world.at(now + self.linger, lambda: None)
        self._choose()
        over = self.end is not None and now >= self.end
        lingered = self.unready is not None and now - self.unready >= self.linger
        if (over or self.expired or lingered) and self.following is not None:
            self._leave()
            return True
        if over:
            self.end = None
            if any(stream.due_behind() for stream in self.current.streams):
                self._slice(now, self.renewal)
            else:
                self.expired = True
        return False

    def _leave(self):
        now = begin = self.world.now
        if self.unready is not None and now <= self.unready + self.linger:
            begin = self.unready
        following = self.following
        self.current.on = False
        running = [kernel for kernel in self.current.kernels() if kernel.running]
        for kernel in running:
            kernel.stop()
        begin += self.switch + (self.stop if running else 0)
        resume = self.resume if any(kernel.stopped for kernel in following.kernels()) else 0
        self.switching = True
        self.unready = self.end = None
        self.world.at(max(begin + resume, now), lambda: self._turn(following, begin))

    def _turn(self, context, begin):
        self.current, self.switching, self.unready = context, False, None
        self.following, self.unqueued = None, None
        context.on = True
        self._slice(begin, self.length)
        for stream in context.streams:
            self.world.touch(stream)
