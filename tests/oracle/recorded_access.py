"""Policies that control access over recorded programs: "Access" of sim/recorded/README.md. The policies are those of the channel model."""
import math
import types

from channel_model import Fact
from channel_policies import POLICIES, make_policy
from channel_streams import Stream
from recorded_gates import OpenGate
from recorded_parts import covered
from simpy_inputs import quantity

ACCESS = set(POLICIES) - {"passthrough"}


class Watched:
    """A drain or a sample under way."""

    def __init__(self, order):
        self.order, self.over = order, False
        self.overdue, self.told = None, False   # when a request of the client would be, and whether one was


class Sample(Watched):
    def __init__(self, order, span, most, busy):
        super().__init__(order)
        self.end, self.most, self.busy = order + span, most, busy
        self.joined, self.traps = 0, []

    def takes(self, now):
        return self.joined < self.most and now < self.end


class Held:
    """A submission that trapped, and waits."""

    def __init__(self, place, passes, now):
        self.place, self.passes, self.began = place, passes, now
        self.order = self.submitted = None   # of those that wait; whether Submitted was told


class AccessGate(OpenGate):
    """A client's access, and its submissions that wait."""

    def __init__(self, scheduler, client):
        self.scheduler, self.world, self.client = scheduler, client.world, client
        self.access, self.sample, self.drain = "direct", None, None
        self.held, self.used = [], False
        self.busy, self.busy_told, self.uses = 0, 0, False
        self.begin, self.channels, self.opened = None, 0, False

    # -- it opens, and exits

    def program_begins(self, begin):
        self.begin = begin
        if self.client.own_pace:
            self.scheduler.asks(self)

    def job_released(self, job):
        if job.number == 0 and not self.client.own_pace:
            self.scheduler.asks(self)

    def opens(self, granted):
        asked = len(self.client.streams)
        self.channels = min(asked, granted, self.scheduler.left)
        if self.channels < asked:
            self.channels = 0
            self.client.refused()
            self.exits("out of resources")
            return
        self.scheduler.left -= self.channels
        self.opened = True
        self.begin()

    def exits(self, outcome=None):
        self.client.vanish(outcome)
        self.scheduler.left += self.channels
        self.held, self.sample, self.drain, self.opened = [], None, None, False
        self.tell("Exited")

    # -- submissions

    def come(self, host, job, passes):
        held = Held(host.place, passes, self.world.now)
        if self.access == "direct" and not self.sample:
            self._join(held)
            return
        host.at(self.world.now + self.scheduler.interception, lambda: self._trap_over(held))

    def _trap_over(self, held):
        held.order = self.world.now, held.place
        self.held.append(held)
        if self.sample:
            self.sample.traps.append((max(held.began, self.sample.order), self.world.now))
        self._treat(held)

    def _treat(self, held):
        if self.sample:
            if self.sample.takes(self.world.now) and not self.client.works:
                self.sample.joined += 1
                self._join(held)
        elif self.access == "direct":
            self._join(held)
        elif self.access == "intercept":
            held.submitted = True
            self.tell("Submitted")
        else:
            held.submitted = False
            self.tell("Activity", False, True, 0)

    def treat_all(self):
        for held in sorted(self.held, key=lambda held: held.order):
            self._treat(held)

    def admit(self):
        first = min((held for held in self.held if held.submitted), key=lambda held: held.order, default=None)
        if first and self.access == "intercept":
            self._join(first)

    def _join(self, held):
        if held in self.held:
            self.held.remove(held)
        self.used = True
        held.passes()

    # -- what is seen

    def tell(self, kind, *values):
        self.scheduler.facts.append(Fact(kind, self.client.index, values))

    def tell_activity(self):
        self.scheduler.share()
        self.tell("Activity", self.used, bool(self.held), self.busy - self.busy_told)
        self.used, self.busy_told = False, self.busy

    def look(self):
        """At the end of an instant."""
        now, kernels = self.world.now, [kernel for context in self.client.contexts for kernel in context.kernels()]
        if self.opened and self.client.through():
            self.exits()
            return
        if self.drain and not self.drain.over and not self.client.works:
            self.drain.over = True
            self._see(self.drain, self._drained)
        if self.sample and not self.client.works:
            if not self.sample.takes(now):
                self._sample_over()
            elif self.held:
                self.treat_all()
                self.scheduler.goes_on = True
        self._look_out([kernel.began for kernel in kernels if kernel.began is not None])

    def _see(self, what, told):
        poll = self.scheduler.poll
        after = math.floor(self.scheduler.polls.uniform() * poll) if poll else 0
        self.world.at(self.world.now + after, lambda: told(what))

    def _drained(self, drain):
        if self.drain is drain:
            self.drain = None
            self.tell("Drained", self.world.now - drain.order)
            self.tell_activity()

    def _sample_over(self):
        self.scheduler.share()
        sample, self.sample, self.access = self.sample, None, "deny"
        values = sample.joined, self.busy - sample.busy, self.world.now - sample.order - covered(sample.traps)

        def sampled(_):
            if not self.client.gone:
                self.tell("Sampled", *values)
                self.tell_activity()

        self._see(sample, sampled)
        self.treat_all()

    def _look_out(self, began):
        """For a request that has run too long while the client is drained or sampled."""
        watched = self.drain or self.sample
        if not watched or watched.told or not began or self.scheduler.limit == math.inf:
            return
        overdue = max(min(began), watched.order) + self.scheduler.limit + 1
        if overdue <= self.world.now:
            watched.told = True
            self.tell("Overdue")
        elif watched.overdue != overdue:
            watched.overdue = overdue
            self.world.at(overdue, lambda: None)


class AccessScheduler:
    """Tells the policy what is seen, and does what it orders."""

    def __init__(self, world, policy, device, seed):
        access = device.get("access", {})
        self.interception, self.poll = (quantity(access.get(key, "0 ns")) for key in ("interception", "poll"))
        self.channels = self.left = access.get("channels", math.inf)
        self.world, self.facts, self.opening, self.grants, self.limit = world, [], [], {}, math.inf
        self.polls, self.shared = Stream(seed, "poll", [0, 0]), 0
        self.gates = [AccessGate(self, client) for client in world.clients]
        self.hosts = [types.SimpleNamespace(client=types.SimpleNamespace(asks=len(client.streams), weight=client.weight))
                      for client in world.clients]
        for client, gate in zip(world.clients, self.gates):
            client.gate = gate
        name, params = policy
        self.policy = make_policy({"name": name, "params": params}, self, Stream(seed, "policy", [0, 0]))
        self.policy.start()

    @property
    def now(self):
        return self.world.now

    def asks(self, gate):
        self.opening.append(gate)
        gate.tell("Opens")

    def share(self):
        """Those that had works on a GPU when the last instant ended have had equal shares of it since then."""
        passed, self.shared = self.world.now - self.shared, self.world.now
        for gate in self.gates:
            if gate.uses:
                gate.busy += passed // sum(other.uses and other.client.gpu is gate.client.gpu for other in self.gates)

    def decide(self):
        """What is seen of the instant, and what the policy makes of it; whether anything is."""
        if [gate.uses for gate in self.gates] != [bool(gate.client.works) for gate in self.gates]:
            self.share()
            for gate in self.gates:
                gate.uses = bool(gate.client.works)
        self.goes_on = False
        for gate in self.gates:
            gate.look()
        if self.goes_on:
            return True   # the instant is not over
        facts, self.facts = self.facts, []
        if not facts:
            return False
        opening, self.opening, self.grants = self.opening, [], {}
        self.policy.decide(facts)
        for gate in sorted(opening, key=lambda gate: gate.client.index):
            gate.opens(self.grants.get(gate.client.index, math.inf))
        return True

    # -- orders

    def order_access(self, client, access):
        gate = self.gates[client]
        if not gate.client.gone and gate.access != access:
            gate.access = access
            gate.treat_all()

    def order_admit(self, client):
        self.gates[client].admit()

    def order_grant(self, client, channels):
        self.grants[client] = channels

    def order_drain(self, client):
        gate = self.gates[client]
        if gate.client.works:
            gate.drain = Watched(self.now)
        else:
            gate.tell("Drained", 0)
            gate.tell_activity()

    def order_sample(self, client, span, most):
        gate = self.gates[client]
        gate.sample = Sample(self.now, span, most, gate.busy)
        self.world.at(gate.sample.end, lambda: None)
        gate.treat_all()

    def order_watch(self, limit):
        self.limit = limit

    def order_kill(self, client):
        if not self.gates[client].client.gone:
            self.gates[client].exits("killed")

    def order_wake(self, time, name):
        self.world.at(time, lambda: self.facts.append(Fact("Timer", None, (name,))))
