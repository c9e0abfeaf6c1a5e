"""The simulated world of sim/README.md, in SimPy.

This is the independent oracle: it was written from the pages alone (with simpy_inputs.py for the files,
simpy_mechanisms.py for the mechanisms, simpy_policies.py and simpy_priorities.py for the policies) and
shares nothing with the C++ engine. Time is whole nanoseconds; whatever the pages define in integers is
computed in integers.
"""
import heapq
import itertools
import math
import operator

import simpy

from simpy_inputs import Client, ceil_div, name_and_params, quantity
from simpy_mechanisms import mechanism as make_mechanism
from simpy_policies import POLICIES
from simpy_priorities import PRIORITY_POLICIES

# Priorities within one instant. SimPy's own events have 0 (interrupts) and 1 (all others). Copies are
# granted after those, so that requests of one instant are seen together, and decisions come last.
GRANT, DECIDE = 2, 3

# Kinds of facts, in the order in which the policy hears them.
LEFT, ARRIVED, STARTED, TIMER = range(4)


# ---- the world ----------------------------------------------------------------------------------

def uniform(seed, name, *coordinates):
    """The first number of a named stream in [0, 1): SplitMix64 over a state hashed from (seed, name, coordinates)."""
    golden, most = 0x9E3779B97F4A7C15, 2**64 - 1

    def mix(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & most
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & most
        return z ^ (z >> 31)

    state = mix((seed[0] + golden) & most)
    for char in name.encode():
        state = mix(state ^ ((char + golden) & most))
    for coordinate in (*seed[1:], *coordinates):
        state = (mix((state + golden * (coordinate + 1)) & most) + golden) & most
    return (mix((state + golden) & most) >> 11) / 2**53


def trigger_late(env, event, priority):
    """Like event.succeed(), but behind everything of this instant that has a smaller priority."""
    event._ok, event._value = True, None
    env.schedule(event, priority=priority)


class Job:
    __slots__ = ("client", "number", "release", "stage", "done", "finished", "start", "finish", "launches",
                 "evictions", "host_until", "ready", "arrived", "wait_since", "waited", "rank", "place", "ran_on")

    def __init__(self, client, number, release, finished):
        self.client, self.number, self.release, self.finished = client, number, release, finished
        self.stage = self.done = self.launches = self.evictions = self.waited = 0
        self.start = self.finish = self.host_until = self.arrived = self.wait_since = self.rank = self.place = None
        self.ran_on = client.home
        self.ready = True  # not, while the host thread has not submitted the next kernel

    def more(self):
        return self.stage < len(self.client.kernels)

    @property
    def kernel(self):
        return self.client.kernels[self.stage]

    def row(self):
        return {"client": self.client.name, "job": self.number, "arrival_ns": self.release,
                "start_ns": self.start, "finish_ns": self.finish,
                "evictions": self.evictions, "launches": self.launches}


class Launch:
    """One launch of block-tasks of a job's current kernel."""
    __slots__ = ("job", "kernel", "tasks", "first", "start", "end", "evicting", "gone", "did", "sent")

    def __init__(self, job, tasks, start, duration):
        self.first = job.done
        self.job, self.kernel, self.tasks = job, job.kernel, tasks
        self.start, self.end = start, start + duration
        self.evicting = self.gone = False
        self.did = self.tasks


class Gpu:
    """The GPU with its one owner: a process that plays launches and is interrupted by evictions."""

    def __init__(self, env, number, mechanism, tell, seed):
        self.env, self.number, self.mechanism, self.tell, self.seed = env, number, mechanism, tell, seed
        self.current = self.last = self.engines = None
        self.ended = 0  # the latest launch's last block
        self.order = env.event()
        self.process = env.process(self._serve())

    def launch(self, job, tasks):
        job.launches += 1
        job.ran_on = self.number
        command, duration = self.mechanism.launch, self.mechanism.duration(job.kernel, tasks)
        kernel, measured = (job.client, job.stage), job.kernel.measured
        if kernel != self.last:
            command = command if measured.launch is None else measured.launch
            duration += measured.after_another
        self.last = kernel
        self.current = Launch(job, tasks, self.env.now + self._host_thread(job) + self._beside(self.mechanism.launch_beside)
                              + self._after_idle() + command, duration)
        self.order.succeed(self.current)

    def _beside(self, longer):
        """How much longer a command takes that is so much longer while a copy is under way."""
        return longer if self.engines.to_device.busy or self.engines.to_host.busy else 0

    def _after_idle(self):
        """How much longer a launch takes because nothing was on the GPU for a while."""
        copies = (self.engines.to_device, self.engines.to_host)
        if any(engine.busy for engine in copies):
            return 0
        return self.mechanism.longer_after(self.env.now - max(self.ended, *(engine.ended for engine in copies)))

    def _host_thread(self, job):
        """How long the launch waits for the client's host thread, which the kernel's first launch sets to work."""
        if job.host_until is None:
            job.host_until = self.env.now + job.kernel.host_work
            return 0
        return self.mechanism.relaunch_delay(max(job.host_until - self.env.now, 0))

    def evict(self):
        launch = self.current
        if self.mechanism.evicts and not (launch.gone or launch.evicting):
            launch.evicting, launch.sent = True, self.env.now + self._beside(self.mechanism.evict_beside)
            self.process.interrupt()

    def _serve(self):
        env = self.env
        while True:
            launch = yield self.order
            self.order = env.event()
            try:
                yield env.timeout(launch.start - env.now)
                self._begin(launch)
                yield env.timeout(launch.end - env.now)
            except simpy.Interrupt:
                yield from self._drain(launch)
            launch.gone, self.ended = True, env.now
            yield from self._read(launch)
            self._report(launch)

    def _read(self, launch):
        """What is done becomes known: read behind a copy to the host, on some devices."""
        asked, read = self.env.now + self.mechanism.notice, self.mechanism.read_of(launch.kernel)
        if self.mechanism.reads_wait and read and self.engines.to_host.busy:
            yield self.engines.to_host.over
            asked = max(asked, self.env.now)
        yield self.env.timeout(asked - self.env.now + read)

    def _begin(self, launch):
        if launch.job.start is None:
            launch.job.start = self.env.now
        self.tell(STARTED, launch.job)

    def _drain(self, launch):
        """Evicted just now: play the launch until its last block is gone."""
        env, kernel = self.env, launch.kernel
        seen, gone = launch.sent + kernel.see, launch.end
        if seen <= launch.start:
            gone, launch.did = launch.start + self.mechanism.claims(kernel, launch.tasks), 0
        elif kernel.measured.evictions:
            gone = self._drain_as_measured(launch, seen)
        elif kernel.measured.in_step and kernel.eviction_delay is None:
            gone = self._drain_in_step(launch, seen)
        elif launch.end > seen + kernel.drain_work:
            done = self.mechanism.tasks_in(kernel, seen - launch.start + kernel.drain_work)
            if done < launch.tasks:
                launch.did = done
                gone = min(launch.end, seen + kernel.drain + self.mechanism.claims(kernel, launch.tasks - launch.did))
        # Decisions come after all other events of an instant, so at launch.start it has begun.
        if env.now < launch.start:
            yield env.timeout(launch.start - env.now)
            self._begin(launch)
        yield env.timeout(gone - env.now)

    def _drain_in_step(self, launch, seen):
        """All blocks leave when the round under way ends, or the last one before they look."""
        kernel, mechanism = launch.kernel, self.mechanism
        if launch.end <= seen:
            return launch.end
        each = min(kernel.measured.each, kernel.time)
        rounds = ceil_div(kernel.tasks, kernel.measured.in_step)
        step = mechanism.look_every(kernel)
        for last in range(step, ceil_div(launch.tasks, kernel.measured.in_step), step):
            end = launch.start + each + ceil_div(last * (kernel.time - each), rounds)
            if end > seen:
                launch.did = last * kernel.measured.in_step
                return min(launch.end, end + mechanism.claims(kernel, launch.tasks - launch.did))
        return launch.end

    def _drain_as_measured(self, launch, seen):
        """Like an eviction that was ordered as long after the first block."""
        job, kernel, now = launch.job, launch.kernel, launch.sent
        if launch.end <= seen or launch.end - now < kernel.measured.too_late:
            return launch.end
        at = now - launch.start
        drawn = 0
        if kernel.measured.near > 1:
            drawn = uniform(self.seed, "eviction", job.client.index, job.number, job.stage, launch.first)
        ordered, gone, work = kernel.measured.like(at, drawn)
        done = self.mechanism.tasks_in(kernel, max(at + math.floor((work - ordered) * self.mechanism.scale), 0))
        if done >= launch.tasks:
            return launch.end
        launch.did = done
        gone = max(now + math.floor((gone - ordered) * self.mechanism.scale), launch.start)
        return min(launch.end, gone + self.mechanism.claims(kernel, launch.tasks - done))

    def _report(self, launch):
        job, kernel = launch.job, launch.kernel
        self.current = None
        job.done += launch.did
        job.evictions += launch.did < launch.tasks
        completed = job.done == kernel.tasks
        if not completed:
            self.tell(LEFT, job, launch)
            return
        job.stage, job.done = job.stage + 1, 0
        wait = max(job.host_until - self.env.now, 0) + (job.kernel.gap if job.more() else 0)
        job.ready = not wait
        self.tell(LEFT, job, launch)
        if wait:
            self.env.process(self._wait_for_host(job, wait))
        else:
            self._after_kernel(job)

    def _wait_for_host(self, job, wait):
        yield self.env.timeout(wait)
        job.ready = True
        if job.more():
            self.tell(ARRIVED, job)
        self._after_kernel(job)

    def _after_kernel(self, job):
        job.host_until = None
        if not job.more():
            job.finished.succeed()


class CopyEngine:
    """First come, first served; at one instant in client order, hence the grant behind all requests."""

    def __init__(self, env):
        self.env, self.queue, self.busy, self.over = env, [], False, None
        self.ended = 0  # the latest copy

    def copy(self, client, duration):
        turn = self.env.event()
        heapq.heappush(self.queue, (self.env.now, client.index, turn))
        self._arbitrate()
        yield turn
        yield self.env.timeout(duration)
        self.busy, self.ended = False, self.env.now
        self.over.succeed()
        self._arbitrate()

    def _arbitrate(self):
        if self.queue and not self.busy:
            round_over = self.env.event()
            round_over.callbacks.append(self._grant)
            trigger_late(self.env, round_over, GRANT)

    def _grant(self, _):
        if self.queue and not self.busy:
            self.busy, self.over = True, self.env.event()
            heapq.heappop(self.queue)[2].succeed()


class CopyEngines:
    """Of one GPU."""

    def __init__(self, env):
        self.to_device, self.to_host = CopyEngine(env), CopyEngine(env)


class Scheduler:
    """Collects the facts of an instant, tells the policy, and lets it decide once."""

    def __init__(self, env, mechanism, policy, gpus, seed):
        self.env, self.policy = env, policy
        self.facts, self.bell = [], env.event()
        self.gpus = [Gpu(env, number, mechanism, self.tell, seed) for number in range(gpus)]
        policy.attach(self)
        env.process(self._serve())

    def tell(self, kind, job, subject=None):
        if not self.facts:
            trigger_late(self.env, self.bell, DECIDE)
        self.facts.append((kind, job.client.index if job else -1, subject or job))

    def timer(self, delay):
        timer = self.env.timeout(delay)
        timer.callbacks.append(self._ring)
        return timer

    def _ring(self, timer):
        # SimPy cannot take a timeout back: one that was replaced or called off just passes.
        if self.policy.awaits(timer):
            self.tell(TIMER, None, timer)

    def _serve(self):
        policy = self.policy
        hear = {LEFT: policy.left, ARRIVED: policy.arrived, STARTED: policy.started, TIMER: policy.rings}
        while True:
            yield self.bell
            self.bell = self.env.event()
            facts, self.facts = self.facts, []
            facts.sort(key=operator.itemgetter(0, 1))
            for kind, _, subject in facts:
                hear[kind](subject)
            policy.decide()


def run_client(env, client, arrive, scheduler, engines, jobs):
    release = arrive
    numbers = itertools.count() if client.jobs is None else range(client.jobs)
    for number in numbers:
        if release > env.now:
            yield env.timeout(release - env.now)
        job = Job(client, number, release, env.event())
        jobs.append(job)
        if client.copy_in:
            yield from engines[client.home].to_device.copy(client, client.copy_in)
        if client.kernels[0].gap:
            yield env.timeout(client.kernels[0].gap)
        scheduler.tell(ARRIVED, job)
        yield job.finished
        if client.copy_out:
            yield from engines[job.ran_on].to_host.copy(client, client.copy_out)
        job.finish = env.now
        release = env.now + client.think if client.period is None else release + client.period


# ---- the door -----------------------------------------------------------------------------------

class Model:
    """A workload on a device, parsed once; run it as often as you like."""

    def __init__(self, workload, device, mechanism="flag-copy"):
        self.mechanism = make_mechanism(mechanism, device)
        self.clients = [Client(index, spec, device, self.mechanism, workload.get("priorities"))
                        for index, spec in enumerate(workload["clients"])]
        self.arrivals = workload.get("arrivals")
        self.gpus = device.get("gpus", 1)

    def _arrivals(self, order):
        if not self.arrivals:
            return [client.arrive for client in self.clients]
        if order is None:
            if self.arrivals.get("order") != "listed":
                raise ValueError("a permuted order has to be passed in")
            order = [client.name for client in self.clients]
        gap = quantity(self.arrivals["gap"])
        places = {name: place for place, name in enumerate(order)}
        return [places[client.name] * gap for client in self.clients]

    def run(self, policy, order=None, horizon_ns=None, seed=(1, 0, 0)):
        """`seed`: with the numbers of the replication and of the permutation."""
        name, params = name_and_params(policy)
        env, jobs = simpy.Environment(), []
        stop = env.timeout(horizon_ns) if horizon_ns is not None else None
        params = dict(params)
        linger = quantity(params.pop("linger", "0 ns"))
        policy = {**POLICIES, **PRIORITY_POLICIES}[name](**params)
        policy.linger = linger
        scheduler = Scheduler(env, self.mechanism, policy, self.gpus, seed)
        engines = [CopyEngines(env) for _ in range(self.gpus)]
        for gpu, own in zip(scheduler.gpus, engines):
            gpu.engines = own
        for client, arrive in zip(self.clients, self._arrivals(order)):
            env.process(run_client(env, client, arrive, scheduler, engines, jobs))
        env.run(until=stop)
        jobs.sort(key=lambda job: (job.client.index, job.number))
        return [job.row() for job in jobs]


def prepare(workload, device, mechanism="flag-copy"):
    return Model(workload, device, mechanism)


def simulate(workload, device, mechanism, policy, order=None, horizon_ns=None):
    return prepare(workload, device, mechanism).run(policy, order, horizon_ns)
