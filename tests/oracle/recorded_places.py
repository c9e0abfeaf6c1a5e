"""GPUs, and which of them a client is on: "Several GPUs" of sim/recorded/README.md."""
from recorded_room import Room
from recorded_slices import AlwaysOn, TimeSlices
from recorded_streams import Engine


class Gpu:
    """Its engines, and the contexts that take turns on it, or share its room."""

    def __init__(self, world, number, device, shared):
        self.number, self.ring, self.engines = number, [], [Engine(world), Engine(world)]
        if device["arbitration"] != "mps":
            self.slices = TimeSlices(world, self.ring, device)
        else:
            self.slices = Room(world, device) if shared else AlwaysOn()

    def join(self, client):
        client.gpu = self
        self.ring += client.contexts
        self.ring.sort(key=lambda context: (context.client.index, context.number))
        self.slices.joined(client.contexts)


class Gpus:
    def __init__(self, world, device, place):
        count, self.placed, self.least_used = device.get("gpus", 1), [], place == "least-used"
        for client in world.clients:
            client.places, may_use = self, sorted(client.may_use or range(count))
            client.may_use = may_use if self.least_used else [may_use[client.index % len(may_use)]]
        self.gpus = [Gpu(world, number, device, sum(number in client.may_use for client in world.clients) > 1) for number in range(count)]
        for client in world.clients if not self.least_used else ():
            self.gpus[client.may_use[0]].join(client)

    def decide(self):
        return any([gpu.slices.decide() for gpu in self.gpus])

    def place(self, client):
        """Its first job is released."""
        if not self.least_used or client.gpu:
            return
        self._least(client.may_use).join(client)
        self.placed.append(client)

    def _least(self, numbers):
        used = dict.fromkeys(numbers, 0.0)
        for other in sorted(self.placed, key=lambda other: other.index):
            if other.gpu.number in used and other.has_jobs():
                used[other.gpu.number] += uses(other)
        return self.gpus[min(numbers, key=lambda number: (used[number], number))]


def uses(client):
    """The share of a GPU that a client uses."""
    between = client.between_releases()
    return min(1.0, client.busy / between) if between else 1.0
