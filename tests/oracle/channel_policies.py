"""The policies of models/policy/README.md, section Access, and `passthrough`; plain readings of the page.

A policy hears the facts of an instant, all of them, and then orders. Facts are (kind, client, values).
"""
import math
from fractions import Fraction

from simpy_inputs import name_and_params, quantity, share


def make_policy(spec, model, random):
    name, params = name_and_params(spec)
    return POLICIES[name](params, model, random)


class Passthrough:
    def __init__(self, params, model, random):
        pass

    def start(self):
        pass

    def decide(self, facts):
        pass


class Access:
    """What all of them do: kill who is overdue, and grant channels."""

    def __init__(self, params, model, random):
        self.model, self.params, self.random = model, params, random
        self.present, self.channels = [], params.get("channels", 0)
        self.asked = {}

    def may_go_on(self):
        """Whether a client that has used up its time is alone, and so not held back."""
        return len(self.present) == 1 and self.params.get("alone", "free") == "free"

    def length(self, key, default):
        return quantity(self.params.get(key, default))

    def start(self):
        self.model.order_watch(self.length("limit", "1 s"))

    def decide(self, facts):
        of = {}
        for fact in facts:
            of.setdefault(fact.kind, []).append(fact)
        opening = sorted(fact.client for fact in of.get("Opens", []))
        exited = [fact.client for fact in of.get("Exited", [])]
        self.present = [client for client in self.present if client not in exited]
        for client in sorted({fact.client for fact in of.get("Overdue", [])}):
            self.model.order_kill(client)
        for client in opening:
            if self.channels:
                room = self.model.channels == math.inf or len(self.present) < self.model.channels // self.channels
                self.model.order_grant(client, self.channels if room else 0)
            self.present = sorted(self.present + [client])
            self.opens(client)
        self.follow(of, exited)

    def opens(self, client):
        pass


class TrapPerRequest(Access):
    def opens(self, client):
        self.model.order_access(client, "intercept")

    def follow(self, of, exited):
        for fact in of.get("Submitted", []):
            self.model.order_admit(fact.client)


class Token(Access):
    held_with = None

    def __init__(self, params, model, random):
        super().__init__(params, model, random)
        self.slice = self.length("slice", "30 ms")
        self.holder, self.last, self.draining, self.number = None, -1, False, 0
        self.overuse = {}

    def opens(self, client):
        self.overuse[client] = 0
        self.model.order_access(client, "deny")

    def follow(self, of, exited):
        if self.holder in exited:
            self.holder = None
        for fact in of.get("Drained", []):
            if fact.client == self.holder and self.draining:
                self.overuse[fact.client] += fact.values[0]
                self.holder = None
        if self.holder is not None and not self.draining:
            over = any(fact.values[0] == self.number for fact in of.get("Timer", []))
            if over and self.may_go_on():
                self.begin_slice()
            elif over:
                self.draining = True
                self.model.order_access(self.holder, "deny")
                self.model.order_drain(self.holder)
        if self.holder is None and self.present:
            self.choose()
        if self.holder is not None and not self.draining:
            for fact in of.get("Submitted", []):
                if fact.client == self.holder:
                    self.model.order_admit(fact.client)

    def choose(self):
        self.holder, self.draining = self.next(), False
        self.begin_slice()
        self.model.order_access(self.holder, self.held_with)

    def begin_slice(self):
        self.number += 1
        self.since = self.model.now
        self.model.order_wake(self.model.now + self.slice, self.number)

    def next(self):
        while True:
            self.last = min([client for client in self.present if client > self.last], default=self.present[0])
            if self.overuse[self.last] <= self.slice:
                return self.last
            self.overuse[self.last] -= self.slice


class Timeslice(Token):
    held_with = "intercept"


class DisengagedTimeslice(Token):
    held_with = "direct"


class StrideTimeslice(Token):
    held_with = "direct"

    def __init__(self, params, model, random):
        super().__init__(params, model, random)
        self.system, self.passes = 0.0, {}

    def opens(self, client):
        super().opens(client)
        self.passes[client] = self.system

    def follow(self, of, exited):
        for fact in of.get("Drained", []):
            if fact.client == self.holder and self.draining and fact.client not in exited:
                self.passes[fact.client] += (self.model.now - self.since) / self.model.hosts[fact.client].client.weight
        super().follow(of, exited)

    def next(self):
        least = min(self.present, key=lambda client: (self.passes[client], client))
        self.system = max(self.system, self.passes[least])
        return least


class Known:
    """What fair queueing knows of a client."""

    def __init__(self, virtual, mixed):
        self.virtual, self.mixed = virtual, mixed
        self.used = self.pending = self.low = self.denied = False   # denied: the free run
        self.size = self.demand = self.device_usage = self.overrun = 0
        self.drained = None


class DisengagedFairQueueing(Access):
    def __init__(self, params, model, random):
        super().__init__(params, model, random)
        self.sampling = self.length("sampling", "5 ms")
        self.requests, self.mixed = params.get("requests", 32), params.get("requests_mixed", 96)
        self.free_run = float(share(params.get("free_run", 5)))
        self.vendor = params.get("statistics", "sampled") == "vendor"
        self.idle_only = params.get("forward", "low-demand") == "idle"
        self.subset, self.randomise = params.get("subset", 0), float(share(params.get("randomise", 0)))
        self.virtual, self.known = 0.0, {}
        self.phase, self.began, self.time, self.number = "idle", 0, 0, 0
        self.undrained, self.to_sample, self.sampled, self.at_sampling = set(), [], 0, None

    def drawn(self, length):
        if not self.randomise:
            return max(1, math.floor(length + 0.5))
        return max(1, math.floor(length * (1 + self.randomise * (2 * self.random.uniform() - 1)) + 0.5))

    def opens(self, client):
        self.known[client] = Known(self.virtual, self.model.hosts[client].client.asks > 1)
        if self.phase not in ("idle", "free run"):
            self.model.order_access(client, "deny")

    def follow(self, of, exited):
        for client in exited:
            self.known.pop(client, None)
        for fact in of.get("Activity", []):
            known = self.known.get(fact.client)
            if known:
                used, pending, usage = fact.values
                if any(drained.client == fact.client for drained in of.get("Drained", [])):
                    known.drained = self.model.now
                if known.drained == self.model.now:
                    known.pending = pending
                if self.phase in ("free run", "draining"):
                    known.used |= used
                    known.device_usage += min(usage, self.model.now - self.began)
        if not self.present:
            self.phase, self.sampled = "idle", 0
        if self.phase == "idle" and self.present:
            self.begin_free_run()
        elif self.phase == "free run":
            if any(fact.values[0] == self.number for fact in of.get("Timer", [])):
                if self.may_go_on():
                    self.virtual = max(self.virtual, self.known[self.present[0]].virtual)
                    self.begin_free_run()
                else:
                    self.end_free_run()
        elif self.phase == "draining":
            for fact in of.get("Drained", []):
                self.undrained.discard(fact.client)
                if fact.client in self.known:
                    self.known[fact.client].overrun = fact.values[0]
            self.undrained -= set(exited)
            self.perhaps_drained()
        elif self.phase == "sampling":
            for fact in of.get("Sampled", []):
                if fact.client == self.at_sampling:
                    if fact.client in self.known:  # else it has exited in the same instant
                        self.take(fact)
                    self.at_sampling = None
            if self.at_sampling in exited:
                self.at_sampling = None
            if self.at_sampling is None:
                self.sample_next()

    def end_free_run(self):
        self.phase, self.undrained = "draining", set(self.present)
        for client in self.present:
            self.model.order_access(client, "deny")
            self.model.order_drain(client)
        self.perhaps_drained()

    def perhaps_drained(self):
        if self.undrained:
            return
        self.time = self.model.now - self.began
        self.phase, self.sampled = "sampling", 0
        self.to_sample = [] if self.vendor else [client for client in self.present
                                                 if self.known[client].used]
        while self.subset and len(self.to_sample) > self.subset:
            del self.to_sample[self.random.below(len(self.to_sample))]
        self.sample_next()

    def sample_next(self):
        self.to_sample = [client for client in self.to_sample if client in self.known]
        if not self.to_sample:
            self.account()
            self.begin_free_run()
            return
        self.at_sampling = self.to_sample.pop(0)
        self.sampled += 1
        known = self.known[self.at_sampling]
        self.model.order_sample(self.at_sampling, self.drawn(self.sampling), self.mixed if known.mixed else self.requests)

    def take(self, fact):
        known, (requests, busy, span) = self.known[fact.client], fact.values
        if requests:
            known.size = Fraction(busy, requests)
        known.demand = min(Fraction(1), Fraction(busy, span)) if span > 0 else Fraction(1)
        known.virtual += busy

    def account(self):
        usage = self.vendor_usage() if self.vendor else self.estimated_usage()
        active = {client for client, known in self.known.items() if known.used or (known.denied and known.pending)}
        for client in active:
            self.known[client].virtual += usage[client]
        low = {client for client, known in self.known.items() if known.low}
        counted = active if self.idle_only else active - low
        if counted:
            self.virtual = max(self.virtual, min(self.known[client].virtual for client in counted))
        else:
            self.virtual = max([self.virtual, *(known.virtual for known in self.known.values())])
        for client, known in self.known.items():
            if client not in active or (client in low and not self.idle_only):
                known.virtual = max(known.virtual, self.virtual)

    def vendor_usage(self):
        for known in self.known.values():
            known.low = known.overrun == 0 and not known.pending
        return {client: known.device_usage for client, known in self.known.items()}

    def estimated_usage(self):
        usage = dict.fromkeys(self.known, Fraction(0))
        for known in self.known.values():
            known.low = known.used and known.size == 0
        sharing = [client for client, known in sorted(self.known.items())
                   if known.used and known.size > 0]
        rest = Fraction(self.time)  # exact: who gets just what it demands does not get more
        while sharing:
            sizes = sum(self.known[client].size for client in sharing)
            for client in sharing:
                usage[client] = rest * self.known[client].size / sizes
            low = [client for client in sharing if usage[client] > self.known[client].demand * self.time]
            if not low:
                break
            for client in low:
                self.known[client].low = True
                usage[client] = self.known[client].demand * self.time
                rest -= usage[client]
            sharing = [client for client in sharing if client not in low]
        return {client: float(used) for client, used in usage.items()}

    def begin_free_run(self):
        if not self.present:
            self.phase = "idle"
            return
        self.phase, self.began = "free run", self.model.now
        length = self.free_run * self.sampling * max(1, len(self.present) if self.vendor else self.sampled)
        self.number += 1
        self.model.order_wake(self.model.now + self.drawn(length), self.number)
        for client, known in sorted(self.known.items()):
            known.used, known.device_usage, known.overrun = False, 0, 0
            known.denied = known.virtual - self.virtual >= length
            self.model.order_access(client, "deny" if known.denied else "direct")


POLICIES = {"passthrough": Passthrough, "trap-per-request": TrapPerRequest, "timeslice": Timeslice,
            "disengaged-timeslice": DisengagedTimeslice, "stride-timeslice": StrideTimeslice,
            "disengaged-fair-queueing": DisengagedFairQueueing}
