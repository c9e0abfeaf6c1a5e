"""Whose kernels are on the GPU: "Time slices" of sim/recorded/README.md."""
import math
from fractions import Fraction

from recorded_parts import GRAPH, KERNEL
from simpy_inputs import quantity


def fits(device, launch):
    """How many blocks of the launch the empty device has room for."""
    _, _, threads, registers = launch
    sm, registers = device["sm"], threads * (registers + -registers % 8)  # of a block
    return device["sms"] * min(sm["threads"] // threads, sm["registers"] // registers, sm["blocks"])


class AlwaysOn:
    """MPS: all contexts are on the GPU at once."""

    def joined(self, contexts):
        for context in contexts:
            context.on = True

    def could_begin(self, kernel):
        kernel.run()

    def decide(self):
        return False


class TimeSlices:
    """The rules TS1 to TS9."""

    def __init__(self, world, contexts, device):
        times = device["time_slice"]

        def given(key, otherwise="0 ns"):
            return quantity(times.get(key, otherwise))

        self.world, self.ring = world, contexts
        self.length, self.switch, self.linger = given("length"), given("switch"), given("linger")
        self.renewal = given("renewal", times["length"])
        self.costs = {what: (given(what), given(f"{what}_full", times.get(what, "0 ns"))) for what in ("stop", "resume")}
        self.device = device
        self.threads, self.registers = (device["sms"] * device["sm"][what] for what in ("threads", "registers"))
        self.current, self.switching = None, False
        self.end, self.expired, self.unready = None, False, None
        self.choice = given("choice")
        self.following, self.unqueued = None, None  # who comes after the current one; since when it has had nothing queued

    def joined(self, contexts):
        pass

    def could_begin(self, kernel):
        kernel.run()

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
        begin += self.switch + self._cost("stop", running)
        resume = self._cost("resume", [kernel for kernel in following.kernels() if kernel.stopped])
        self.switching = True
        self.unready = self.end = None
        self.world.at(max(begin + resume, now), lambda: self._turn(following, begin))

    def _cost(self, what, kernels):
        """TS9: of stopping these, or of their going on."""
        if not kernels:
            return 0
        least, full = self.costs[what]
        parts = 2 * self.threads * self.registers
        return least + math.floor((full - least) * min(Fraction(sum(map(self._parts, kernels)), parts), 1))

    def _parts(self, kernel):
        """Of the GPU, that a kernel holds."""
        program, work = kernel.stream.client.program, kernel.work
        if work.kind == KERNEL:
            return self._parts_of_launch(program.launches[work.shape])
        nodes = program.nodes[work.shape] if work.kind == GRAPH else []
        together = max(sum(length for _, length in nodes), 1)
        return 1 + sum(self._parts_of_launch(program.launches[launch]) * length // together for launch, length in nodes)

    def _parts_of_launch(self, launch):
        _, blocks, threads, registers = launch
        registers = threads * (registers + -registers % 8)  # of a block
        there = min(blocks, fits(self.device, launch))
        return max(1, there * (threads * self.registers + registers * self.threads))

    def _turn(self, context, begin):
        self.current, self.switching, self.unready = context, False, None
        self.following, self.unqueued = None, None
        context.on = True
        self._slice(begin, self.length)
        for stream in context.streams:
            self.world.touch(stream)
