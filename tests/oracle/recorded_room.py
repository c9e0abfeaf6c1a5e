"""Which blocks of several clients' kernels are on the GPU: "Room under MPS" of sim/recorded/README.md."""
import collections
import functools

from recorded_parts import GRAPH, KERNEL
from recorded_slices import AlwaysOn, fits
from simpy_inputs import ceil_div

ALL = 10**12  # parts of the GPU
MOST_WAVES = 1_000


class Room(AlwaysOn):
    """The rules MP1 to MP6, for a GPU on which several clients may be."""

    def __init__(self, world, device):
        self.world, self.device, self.there = world, device, []

    @functools.cached_property
    def unlimited(self):
        """Whether all kernels run at once, for some can leave early or are sliced."""
        return any(client.kernels_give_way() for client in self.world.clients)

    def could_begin(self, kernel):
        """MP3: without other clients it would."""
        parts = [] if self.unlimited else self._parts(kernel)
        if not parts:
            kernel.run()
        elif not any(coming.kernel is kernel for coming in self.there):
            self.there.append(Coming(self, kernel, parts))

    def _parts(self, kernel):
        """Of a kernel that holds anything: its launches, one after the other, and how long each lasts."""
        program, work, length = kernel.stream.client.program, kernel.work, kernel.length
        if work.kind == KERNEL:
            return [(program.launches[work.shape], length)]
        nodes = program.nodes[work.shape] if work.kind == GRAPH else []
        together, before, parts = sum(node for _, node in nodes), 0, []
        for launch, node in nodes if together else ():
            lasts = ceil_div((before + node) * length, together) - ceil_div(before * length, together)
            parts.append((program.launches[launch], lasts))
            before += node
        return parts

    def decide(self):
        """MP4; whether anything begins."""
        self.there = [coming for coming in self.there if not coming.client.gone]
        queue = sorted((coming for coming in self.there if coming.left), key=lambda coming: coming.place)
        return any([self._begin(coming, queue[:number]) for number, coming in enumerate(queue)])

    def _begin(self, coming, before):
        if any(other.left and other.client is not coming.client for other in before):
            return False
        return coming.begin(ALL - sum(other.held for other in self.there if other.client is not coming.client))

    def over(self, coming):
        self.there.remove(coming)
        coming.kernel.stream.ends(coming.kernel)


class Coming:
    """A kernel that has come, or a graph, whose kernels come in turn: how many blocks are `left` to begin, and what the others hold."""

    def __init__(self, room, kernel, parts):
        self.room, self.world, self.kernel, self.client = room, room.world, kernel, kernel.stream.client
        self.parts, self.held = collections.deque(parts), 0
        self._comes()

    def _comes(self):
        launch, self.length = self.parts.popleft()
        fit = max(fits(self.room.device, launch), 1)
        together = ceil_div(ceil_div(launch[1], fit), MOST_WAVES)
        self.left, self.share = ceil_div(launch[1], together), ALL // fit
        self.waves, self.groups, self.ended = ceil_div(self.left, fit), 0, 0
        self.place = self.world.now, self.client.index, self.client.streams.index(self.kernel.stream)

    def _until(self, group):
        return ceil_div(group * self.length, self.waves)

    def begin(self, free):
        """A group, of as many blocks as fit into what others leave free; whether any does."""
        blocks = min(self.left, max(free - self.held, 0) // self.share)
        if not blocks:
            return False
        if not self.kernel.running:
            self.kernel.begins()
        holds, group = blocks * self.share, self.groups
        self.left, self.held, self.groups = self.left - blocks, self.held + holds, group + 1
        self.world.at(self.world.now + self._until(group + 1) - self._until(group), lambda: self._ends(holds))
        return True

    def _ends(self, holds):
        """A group does, and with the last one the kernel."""
        self.held, self.ended = self.held - holds, self.ended + 1
        if self.client.gone or self.ended < self.groups:
            return
        self.kernel.since = None  # none of its blocks is there
        if self.left:
            return
        if self.parts:
            self._comes()
        else:
            self.room.over(self)
