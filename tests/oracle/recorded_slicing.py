"""Kernels that are launched in slices: "Slices" of sim/recorded/README.md."""
import types

from recorded_gates import ARRIVED, EXITED, LEFT, STARTED, Asked, OpenGate, Scheduler
from recorded_streams import Submitted
from simpy_inputs import ceil_div, quantity


class Sliced(Submitted):
    """A kernel that stands at the head of its stream while no slice of it is on the GPU."""

    sliced = True

    def __init__(self, stream, work, due, length, job, form):
        super().__init__(stream, work, due, length, job, form)
        self.done, self.stood, self.slicing = 0, None, False
        self.kernel = types.SimpleNamespace(tasks=form.blocks, fit=form.wave, declared=None,  # as policies see it
                                            priority=stream.client.priority)

    def ready(self):
        return self.slicing

    def stands_still(self):
        return self.stood is not None and not self.slicing

    def may_run(self):
        if self.stood is None:
            self.stood = self.stream.world.now
        return self.slicing

    def launch(self, until):
        self.slicing, self.until = True, until
        self.left = ceil_div(until - self.done, self.form.wave) * ceil_div(self.length, self.form.waves)
        self.stream.world.touch(self.stream)

    def _end(self):
        self.done, self.slicing, self.since = self.until, False, None
        if self.done == self.form.blocks:
            self.stream.ends(self)
        self.stream.client.gate.slice_over(self)


class Grant:
    """A launch, from its order until `Left` is told. Without a `sliced` kernel it is one of the rest."""

    def __init__(self, asked, sliced, until):
        self.kernel, self.sliced, self.until = asked.kernel, sliced, until
        self.behind = []       # gates that have to be closed, and their clients off the GPU, before its own opens
        self.due, self.opened, self.closes = False, None, False
        self.left = None       # it is over, and Left is told then


class SlicedGate(OpenGate):
    """Where submissions of a client's jobs wait, and what the policy knows of its kernels."""

    slices = True

    def __init__(self, scheduler, client):
        self.scheduler, self.world, self.client = scheduler, client.world, client
        self.open, self.closing, self.waiting = False, None, []
        self.left_open = False             # by a grant, and not closed since then with nothing of the client on the GPU
        self.asked, self.known, self.grant = None, False, None
        self.current = self.seen = None    # the sliced kernel that is; the one that the policy knows
        self.learnt = set()                # launches of which a slice has ended
        self.there, self.emptied = False, 0
        self.asking = types.SimpleNamespace(index=client.index, gpus=[0], kernels=[self._rest()])

    def _rest(self):
        return types.SimpleNamespace(tasks=1, fit=1, declared=None, priority=self.client.priority)

    # -- submissions

    def come(self, host, job, passes):
        self.waiting.append((self.world.now, host.place, job, passes))
        self.settle()

    def _lets(self, job):
        return job is None or self.open and (not self.asked or self.asked.job is job)

    def settle(self):
        while first := min((entry for entry in self.waiting if self._lets(entry[2])), key=lambda entry: entry[:2], default=None):
            self.waiting.remove(first)
            *_, job, passes = first
            if job and not self.asked:
                self.asked = Asked(self, job)
            passes()

    def _can_be_launched(self):
        return bool(self.current or self.client.on_device() or any(job is self.asked.job for *_, job, _ in self.waiting))

    # -- grants

    def launch(self, tasks):
        grant = self.grant = Grant(self.asked, self.seen, self.asked.done + tasks)
        self.known, self.closing = False, None
        for gate in self.scheduler.gates:
            if gate is not self and gate.left_open and self.asked.more():
                gate.order_to_close()
                grant.behind.append(gate)
        if not self.asked.more():
            self._over(0)
            return

        def opens():
            grant.due = True
            self._open_for(grant)

        self.world.at(self.world.now + self.scheduler.launch + (self.scheduler.slice_cost if grant.sliced else 0), opens)

    def _open_for(self, grant):
        if grant is not self.grant or grant.left is not None or grant.opened is not None or not grant.due or grant.behind:
            return False
        self.open, self.left_open, grant.opened = True, False, self.world.now
        asked = self.asked
        self.scheduler.tell(STARTED, self.client, lambda: self.scheduler.policy.started(asked))
        if grant.sliced:
            grant.sliced.launch(grant.until)
        self.settle()
        return True

    def order_to_close(self):
        if self.open and self.closing is None:
            self.closing = self.world.now + self.scheduler.evict
            self.world.at(self.closing, lambda: None)

    def slice_over(self, sliced):
        self.learnt.add(sliced.work.shape)
        self._over(self.scheduler.notice)

    def job_over(self, job):
        if self.asked and self.asked.job is job:
            if self.grant:
                if self.grant.left is None:
                    self._over(self.scheduler.notice)
            elif not self.known:
                self._asks_no_more()
        if self.known and not self.client.has_jobs():
            self.known, self.asked, asked = False, None, self.asked
            self.scheduler.tell(EXITED, self.client, lambda: self.scheduler.policy.exited(asked))

    def _asks_no_more(self):
        self.asked = None
        self.settle()

    def _over(self, notice):
        self.left_open |= self.open
        self.grant.left = self.world.now + notice
        self.world.at(self.grant.left, lambda: None)

    # -- the end of an instant, in the order of its steps

    def look(self):
        if self.current and self.current.over:
            self.current = None
        if not self.current:
            standing = [stream.queue[0] for stream in self.client.streams
                        if stream.queue and getattr(stream.queue[0], "sliced", False) and stream.stands_still()]
            self.current = min(standing, key=lambda sliced: sliced.stood, default=None)
        was_there, self.there = self.there, bool(self.client.on_device())
        if was_there and not self.there:
            self.emptied = self.world.now

    def _is_there(self):
        """Whether the gate is open, or something of the client on the GPU or queued."""
        return self.open or bool(self.client.on_device())

    def report(self):
        grant, asked = self.grant, self.asked
        if not grant or grant.left is None or self.world.now < grant.left:
            return
        self.client.staying = None
        self.grant = None
        self.known = asked.ready = asked.more() and self._can_be_launched()
        self._show()
        launch = types.SimpleNamespace(job=asked, kernel=grant.kernel, did=grant.until, start=self.world.now)
        self.scheduler.tell(LEFT, self.client, lambda: self.scheduler.policy.left(launch))
        if not asked.more():
            self._asks_no_more()

    def _show(self):
        """What the policy sees of its kernels from now on."""
        self.seen = self.current
        self.asked.kernel, self.asked.done = self._rest(), 0
        if self.seen:
            self.asked.kernel, self.asked.done = self.seen.kernel, self.seen.done
            if not self.client.busy_unknown or self.seen.work.shape in self.learnt:
                self.seen.kernel.declared = self.seen.form.time

    def close(self):
        if self.closing is not None and self.world.now >= self.closing:
            self.open, self.closing = False, None
        self.left_open &= self._is_there()

    def open_behind(self):
        """Opens if it only waited for the gate of another; whether it does."""
        grant = self.grant
        if not grant or not grant.behind:
            return False
        grant.behind = [gate for gate in grant.behind if gate.left_open]
        return self._open_for(grant)

    def ask(self):
        if not self.asked and self.waiting:
            self.asked = Asked(self, min(self.waiting, key=lambda entry: entry[:2])[2])
        if not self.asked or self.grant or self.known or not self._can_be_launched():
            return
        self.known, asked = True, self.asked
        self._show()
        self.scheduler.tell(ARRIVED, self.client, lambda: self.scheduler.policy.arrived(asked))

    def end_rest(self):
        grant, there = self.grant, self.client.on_device()
        if not grant or grant.sliced or grant.opened is None or grant.left is not None:
            return
        notice = self.scheduler.notice
        if grant.closes:
            if not self._is_there():
                self._over(notice)
        elif self.current:
            self._over(notice)
        elif any(gate.known for gate in self.scheduler.gates if gate is not self):
            until = max(grant.opened, self.emptied, self.client.emptied) + self.scheduler.idle
            if there:
                grant.closes = True
                self.order_to_close()
            elif self.world.now >= until:
                self._over(notice)
            else:
                self.world.at(until, lambda: None)


class SliceScheduler(Scheduler):
    """The policy, and what it is told, under slices."""

    gate = SlicedGate

    def __init__(self, world, policy, grant, device, mechanism):
        name, params = policy
        params = dict(params)
        linger = quantity(params.pop("linger", "0 ns"))
        super().__init__(world, (name, params), grant, device)
        self.policy.linger = linger
        self.slice_cost = quantity(mechanism[1].get("slice_cost", "0 ns")) if mechanism[0] == "slice" else 0

    def _launch(self, number, asked, tasks):
        asked.gate.launch(tasks)

    def decide(self):
        gates = self.gates
        for gate in gates:
            gate.look()
        for gate in gates:
            gate.report()
        for gate in gates:
            gate.close()
        if any([gate.open_behind() for gate in gates]):
            return True
        for gate in gates:
            gate.ask()
        for gate in gates:
            gate.end_rest()
        return self.tell_facts()
