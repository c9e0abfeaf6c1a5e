"""Gates and grants of whole jobs: "The gate" of sim/recorded/README.md. The policies are those of the SimPy oracle."""
import functools
import types

from recorded_streams import Submitted
from simpy_inputs import quantity
from simpy_policies import POLICIES
from simpy_priorities import PRIORITY_POLICIES

LATEST = 31  # jobs from which times are learnt
LEFT, ARRIVED, STARTED, EXITED, TIMER = range(5)
FREE, ORDERED, OPEN, CLOSED, OVER = range(5)


class OpenGate:
    """Under `passthrough`."""

    flag = None             # the job whose kernels are to leave
    early = slices = False  # whether kernels with a form leave early; whether they run in slices

    def program_begins(self, begin):
        begin()

    def job_released(self, job):
        pass

    def come(self, host, job, passes):
        passes()

    def limited(self):
        return False

    def job_over(self, job):
        pass

    def settle(self):
        pass


class Asked:
    """A job, as policies know it."""

    def __init__(self, gate, job):
        self.gate, self.job = gate, job
        self.client, self.kernel = gate.asking, gate.asking.kernels[0]
        self.done = self.stage = self.waited = self.served = 0
        self.arrived = self.rank = self.wait_since = self.place = None
        self.ready = False     # a submission waited when Left was told
        self.alone = None if gate.client.busy_unknown else gate.client.alone

    def more(self):
        return self.job.finish is None


class Gate(OpenGate):
    """Where the submissions of a client's jobs wait until the policy grants it the GPU."""

    def __init__(self, scheduler, client):
        self.scheduler, self.world, self.client, self.early = scheduler, client.world, client, True
        self.waiting, self.state, self.asked, self.known = [], FREE, None, False
        self.closing, self.opened, self.grants = False, None, 0
        self.leaves = None      # when Left is told, whether the grant was evicted, and the time served
        self.asking = types.SimpleNamespace(index=client.index, gpus=[], jobs=[], kernels=[
            types.SimpleNamespace(tasks=1, priority=client.priority)])

    # -- submissions

    def come(self, host, job, passes):
        if self._lets(job):
            passes()
            return
        self.waiting.append((self.world.now, host.place, job, passes))
        self._ask()

    def _lets(self, job):
        if job is None:
            return True
        return self.state == OPEN and job is self.asked.job and (not self.limited() or self.client.works < self.scheduler.in_flight)

    def limited(self):
        """Whether a client of higher priority is on the same GPU."""
        return self.scheduler.in_flight is not None and any(
            other.priority > self.client.priority and other.jobs and other.has_jobs() and other.gpu is self.client.gpu
            for other in self.world.clients)

    def cost_of_limit(self):
        group = max(1, min(self.scheduler.in_flight // 2, 8))
        return self.world.limited + (self.world.event + group // 2) // group

    def _first(self, may):
        """Of those that wait, who has waited longest, then the first timeline."""
        return min((entry for entry in self.waiting if may(entry[2])), key=lambda entry: entry[:2], default=None)

    def settle(self):
        """Lets through what may go."""
        while first := self._first(self._lets):
            self.waiting.remove(first)
            first[-1]()

    def _waits(self):
        return self._first(lambda job: job is self.asked.job) is not None

    def _ask(self):
        first = self._first(lambda job: True)
        if self.state != FREE or self.known or not first:
            return
        if not self.asked:
            self.asked = Asked(self, first[2])
        if self._waits():
            self.known, asked = True, self.asked
            self.asking.gpus = [self.client.gpu.number]
            self.scheduler.tell(ARRIVED, self.client, lambda: self.scheduler.policy.arrived(asked))

    # -- the grant

    def look(self):
        """At the end of an instant."""
        now = self.world.now
        if self.closing:
            self.closing, self.state = False, CLOSED
            self._raise_flag()
        if self.state == OVER:
            told, evicted, served = self.leaves
            if now >= told:
                self._left(evicted, served)
            return
        if self.client.on_device() and not (self.state == CLOSED and self.scheduler.overlap):
            return
        if self.state == CLOSED:
            self._over(evicted=True)
        elif self.state == OPEN:
            empty = max(self.opened, self.client.emptied)
            if now >= empty + self.scheduler.idle:
                self._over(idle_since=empty)
            else:
                self.world.at(empty + self.scheduler.idle, lambda: None)

    def launch(self):
        self.grants += 1
        if not self.asked.more() and (first := self._first(lambda job: True)):
            self.asked.job = first[2]  # which so has its turn
        if not self.asked.more():
            self.known = self.asked.ready = False
            self._tell_left()
            return
        self.state, self.opened = ORDERED, None

        def opens(grant=self.grants):
            if self.grants == grant and self.state == ORDERED and not self.closing:
                self.state, self.opened, asked = OPEN, self.world.now, self.asked
                self.scheduler.tell(STARTED, self.client, lambda: self.scheduler.policy.started(asked))
                self._lower_flag()
                self.settle()

        self.world.at(self.world.now + self.scheduler.launch, opens)

    def evict(self):
        def close(grant=self.grants):
            self.closing = self.grants == grant and self.state in (ORDERED, OPEN)

        self.world.at(self.world.now + self.scheduler.evict, close)

    def _raise_flag(self):
        self.flag = self.asked.job
        for stream in self.client.streams:
            head = stream.queue[0] if stream.queue else None
            if isinstance(head, Submitted) and head.running and head.flagged and head.rest is None:
                head.leave()

    def _lower_flag(self):
        self.flag = None
        for stream in self.client.streams:
            if stream.left():
                stream.queue[0].comes_back()

    def job_over(self, job):
        if not self.asked or self.asked.job is not job:
            return
        if self.state in (ORDERED, OPEN, CLOSED):
            self._over()
        elif self.state == FREE and not self.known:
            self.asked = None
            self._ask()
        elif self.state == FREE and not self.client.has_jobs():
            self.known, self.asked, asked = False, None, self.asked
            self.scheduler.tell(EXITED, self.client, lambda: self.scheduler.policy.exited(asked))

    def _over(self, evicted=False, idle_since=None):
        self.state, self.closing = OVER, False
        told = self.world.now + self.scheduler.notice
        until = told if idle_since is None else idle_since
        self.leaves = told, evicted, 0 if self.opened is None else until - self.opened
        self.world.at(told, lambda: None)

    def _left(self, evicted, served):
        asked, client, self.state = self.asked, self.client, FREE
        client.staying = None
        asked.served += served
        self.known = asked.ready = asked.more() and (evicted or self._waits() or client.holds(asked.job))
        self._tell_left()
        self._ask()

    def _tell_left(self):
        asked, over = self.asked, not self.asked.more()
        launch = types.SimpleNamespace(job=asked, kernel=asked.kernel, did=1, start=self.world.now)
        if over:
            self.asked = None

        def left():
            if over:
                self.asking.jobs.append(asked.served)
            self.scheduler.policy.left(launch)

        self.scheduler.tell(LEFT, self.client, left)


class Served:
    """`left` and `total` of jobs."""

    def __init__(self, learnt):
        self.learnt = learnt

    def learn(self, launch, elapsed):
        pass

    def total(self, job):
        jobs = job.client.jobs[-LATEST:]
        if job.alone is not None and not (self.learnt and jobs):
            return job.alone
        return sorted(jobs)[len(jobs) // 2] if jobs else 0

    def left(self, job):
        return max(self.total(job) - job.served, 0)


class Scheduler:
    """The policy, and what it is told."""

    gate = Gate

    def __init__(self, world, policy, grant, device):
        name, params = policy
        commands = device.get("commands", {})
        self.launch, self.evict, self.notice = (quantity(commands.get(key, "0 ns")) for key in ("launch", "evict", "notice"))
        self.idle, self.in_flight, self.overlap = quantity(grant.get("idle", "50 us")), grant.get("in_flight"), grant.get("overlap", False)
        self.world, self.facts, self.owner = world, [], {}
        self.gates = [self.gate(self, client) for client in world.clients]
        for client, gate in zip(world.clients, self.gates):
            client.gate = gate
        self.policy = {**POLICIES, **PRIORITY_POLICIES}[name](**params)
        self.policy.times = Served(params.get("time_per_task") == "learnt")
        ports = [types.SimpleNamespace(number=gpu.number, launch=functools.partial(self._launch, gpu.number),
                                       evict=functools.partial(self._evict, gpu.number)) for gpu in world.places.gpus]
        self.policy.attach(types.SimpleNamespace(env=world, gpus=ports, timer=self._timer))

    def _launch(self, number, asked, _):
        self.owner[number] = asked.gate
        asked.gate.launch()

    def _evict(self, number):
        self.owner[number].evict()

    def _timer(self, delay):
        timer = object()

        def ring():
            if self.policy.awaits(timer):
                self.tell(TIMER, None, lambda: self.policy.rings(timer))

        self.world.at(self.world.now + delay, ring)
        return timer

    def tell(self, kind, client, how):
        self.facts.append((kind, client.index if client else -1, how))

    def decide(self):
        """At the end of an instant; whether anything is to follow."""
        for gate in self.gates:
            gate.look()
        return self.tell_facts()

    def tell_facts(self):
        """Tells the facts of the instant and lets the policy decide; whether there were any."""
        facts, self.facts = sorted(self.facts, key=lambda fact: fact[:2]), []
        for _, _, how in facts:
            how()
        if facts:
            self.policy.decide()
        return bool(facts)
