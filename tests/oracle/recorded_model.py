"""Recorded programs that share a GPU: the model of sim/recorded/README.md, written from that page alone.

`RecordedModel` plays a workload of them under `passthrough`, a policy that grants whole jobs, one that launches slices or
one that controls access.
Time is whole nanoseconds.
"""
import heapq
import itertools

from recorded_access import ACCESS, AccessScheduler
from recorded_clients import Client
from recorded_gates import Scheduler
from recorded_parts import Program
from recorded_places import Gpus
from recorded_slicing import SliceScheduler
from recorded_streams import Stream
from simpy_inputs import name_and_params, quantity, share

SLICES = {"pkm"}


class RecordedModel:
    """A workload of recorded programs on a device under a policy."""

    programs = {}

    def __init__(self, workload, device, policy="passthrough", grant=None, horizon=None, place=None, seed=1,
                 mechanism="ideal"):
        self.now, self.heap, self.order = 0, [], itertools.count()
        self.todo, self.hosts, self.horizon, self.device = [], [], horizon, device
        self.limited, self.event = (quantity(device.get("access", {}).get(key, "0 ns")) for key in ("limited", "event"))
        cooling = device.get("cooling", {"factor": 1, "after": "0 ns", "share": 0, "most": "0 ns"})
        self.cooling = share(cooling["factor"]), quantity(cooling["after"]), share(cooling["share"]), quantity(cooling["most"])
        self.clients = [Client(self, index, spec) for index, spec in enumerate(workload["clients"])]
        self.places = Gpus(self, device, place)
        self.scheduler = None
        if policy != "passthrough" and policy[0] in ACCESS:
            self.scheduler = AccessScheduler(self, policy, device, seed)
        elif policy != "passthrough" and policy[0] in SLICES:
            self.scheduler = SliceScheduler(self, policy, grant or {}, device, name_and_params(mechanism))
        elif policy != "passthrough":
            self.scheduler = Scheduler(self, policy, grant or {}, device)

    def program(self, path):
        if path not in self.programs:
            self.programs[path] = Program(path)
        return self.programs[path]

    @property
    def jobs(self):
        return [job for client in self.clients for job in client.jobs]

    # -- time

    def at(self, time, action, host=None):
        heapq.heappush(self.heap, (max(time, self.now), next(self.order), host, action))

    def touch(self, stream):
        self.todo.append(stream.settle)

    def over(self, entry):
        entry.over = True
        for waiter in entry.waiters:
            self.todo.append(waiter.settle if isinstance(waiter, Stream) else waiter)
        entry.waiters = []

    def await_over(self, targets, check):
        done = []

        def look():
            if not done and check():
                done.append(True)

        for target in targets:
            target.waiters.append(look)

    def _follow(self):
        """What waited for what is over goes on."""
        while self.todo:
            todo, self.todo = self.todo, []
            for action in todo:
                action()
        for client in self.clients:
            client.uncrowd()
        self._settle_gates()

    def _settle_gates(self):
        for gate in self.scheduler.gates if self.scheduler else ():
            gate.settle()

    def run(self):
        while self.heap and (self.horizon is None or self.heap[0][0] <= self.horizon):
            self.now = self.heap[0][0]
            self._instant()
        return self

    def _instant(self):
        while True:
            while self._more():
                *_, host, action = heapq.heappop(self.heap)
                if host is None:
                    action()
                else:
                    self.hosts.append((host.client.index, host.place, action))
            if self.todo:
                self._follow()
                continue
            if self.hosts:
                hosts, self.hosts = sorted(self.hosts, key=lambda host: host[:2]), []
                for *_, action in hosts:
                    action()
                self._settle_gates()
                continue
            if self.places.decide() or self._more():
                continue
            for client in self.clients:
                client.look()
            if self.scheduler and self.scheduler.decide() or self._more():
                continue
            return

    def _more(self):
        return self.heap and self.heap[0][0] == self.now
