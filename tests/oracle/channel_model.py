"""The device of sim/channels/README.md, event by event: clients that submit to channels of their own.

This is the independent oracle of the channel world and of the policies that control access: written from
the pages alone, it shares nothing with the C++ engine. Nothing is fast in it, every step is the page's.
"""
import collections
import heapq
import itertools
import math

from channel_clients import Client, Jitter, Job
from channel_copies import Copy, Engines
from channel_policies import make_policy
from channel_streams import Stream
from simpy_inputs import quantity, round_half_up

# What happens at one time, in this order: ends of requests before all that could ask whether they run.
ENDS, RELEASES, HOSTS, TRAPS, SPANS, OVERDUE, SEEN, TIMERS = range(8)

Fact = collections.namedtuple("Fact", "kind client values")


class Request:
    def __init__(self, job, kernel, time):
        self.job, self.kernel, self.time = job, kernel, time
        self.begin = None
        self.sample = None


class Watched:
    """A drain or a sample under way."""

    def __init__(self, client, order):
        self.client, self.order = client, order


class Sample(Watched):
    def __init__(self, client, order, span, most):
        super().__init__(client, order)
        self.end, self.most = order + span, most
        self.joined = self.busy = self.trapped = self.out = 0
        self.span_over = False


class Host:
    """A client's thread, its channels and what the scheduler has ordered for it."""

    def __init__(self, model, client):
        self.model, self.client = model, client
        self.queues = []        # of its channels, once they are open
        self.opened = self.gone = False
        self.released = collections.deque()
        self.open_jobs = []
        self.job = self.kernel = None
        self.copy = None        # that it is to submit in the place of a kernel, or waits for
        self.copying = False    # that one has joined its engine
        self.behind_kernels = False     # it waits for the job's requests before the copy out
        self.ready = False      # to submit that now
        self.waits_for = None   # a request, or its host_work
        self.working = False
        self.access, self.sample, self.drain = "direct", None, None
        self.held = None        # a request whose trap is over
        self.trap_began = None
        self.trapped_before = False
        self.used, self.usage = False, 0

    def on_device(self):
        return self.copying or any(self.queues) or (self.model.running is not None and self.model.running.job.client is self.client)

    # --- the program

    def begin_job(self):
        if not self.opened or self.gone or self.job or not self.released:
            return
        self.job, self.kernel = self.released.popleft(), -1
        if self.client.copy_in:
            self.copy, self.ready = Copy(self.job, "in", self.client.copy_in), True
        else:
            self.next_kernel()

    def next_kernel(self):
        self.kernel += 1
        if self.kernel == len(self.client.kernels):
            if self.client.copy_out:
                self.behind_kernels = True
                self.perhaps_copy_out()
            else:
                self.program_over()
            return
        gap = self.job.gap(self.client.kernels[self.kernel], self.trapped_before)
        if gap:
            self.model.at(self.model.now + gap, HOSTS, self.gap_over)
        else:
            self.ready = True

    def perhaps_copy_out(self):
        if self.behind_kernels and not self.job.requests:
            self.behind_kernels = False
            self.copy, self.ready = Copy(self.job, "out", self.client.copy_out), True

    def program_over(self):
        job, self.job = self.job, None
        job.host_through = True
        self.model.perhaps_finish(job)
        self.begin_job()

    def gap_over(self):
        if not self.gone:
            self.ready = True

    def submit(self):
        self.ready = False
        if self.copy:
            request = self.copy
        else:
            kernel = self.client.kernels[self.kernel]
            request = Request(self.job, kernel, self.job.time(kernel, self.trapped_before))
            self.job.requests += 1
        self.trapped_before = self.access != "direct" or self.sample is not None
        if not self.trapped_before:
            self.join(request)
            return
        self.trap_began = self.model.now
        held_up = round_half_up(self.model.interception * (1 if self.copy else 1 + self.client.trivial))
        if held_up:
            self.model.at(self.model.now + held_up, TRAPS, lambda: self.trap_over(request))
        else:
            self.trap_over(request)

    def trap_over(self, request):
        if self.gone:
            return
        self.held = request
        if self.sample:
            self.sample.trapped += self.model.now - max(self.trap_began, self.sample.order)
        self.treat_held()

    def treat_held(self):
        request = self.held
        if request is None:
            return
        if self.sample:
            if self.sample.joined < self.sample.most and self.model.now < self.sample.end and not self.sample.span_over:
                self.sample.joined += 0 if self.copy else 1
                self.sample.out += 1
                request.sample = self.sample
                self.held = None
                self.join(request)
        elif self.access == "direct":
            self.held = None
            self.join(request)
        elif self.access == "intercept":
            self.model.tell("Submitted", self)
        else:
            self.model.tell_activity(self)

    def admit(self):
        if self.held and self.access == "intercept":
            request, self.held = self.held, None
            self.join(request)

    def join(self, request):
        self.used = True
        if self.copy:
            self.copying = True
            self.model.asked.append(request)
            return
        self.queues[request.kernel.channel].append(request)
        self.waits_for = request if self.client.blocking or request.kernel.host_work else None
        if request.kernel.host_work:
            self.working = True
            self.model.at(self.model.now + request.kernel.host_work, HOSTS, self.work_over)
        elif not self.waits_for:
            self.next_kernel()

    def work_over(self):
        self.working = False
        if not self.gone and not self.waits_for:
            self.next_kernel()

    def ended(self, request):
        self.usage += self.model.now - request.begin
        request.job.requests -= 1
        if self.waits_for is request:
            self.waits_for = None
            if not self.working:
                self.next_kernel()
        if request.job.outcome == "unfinished":
            self.model.perhaps_finish(request.job)
        self.perhaps_copy_out()

    def copy_ended(self, copy):
        self.copy, self.copying = None, False
        if copy.way == "in":
            self.next_kernel()
        else:
            self.program_over()


class ChannelModel:
    def __init__(self, workload, device, policy, horizon=None, seed=1, replication=0, permutation=0):
        jitter = Jitter(workload.get("jitter", {}), seed, replication, permutation)
        access = device.get("access", {})
        self.whole_queue = access.get("turns", "queue") == "queue"
        self.switch, self.interception, self.poll = (quantity(access.get(key, "0 ns"))
                                                     for key in ("switch", "interception", "poll"))
        self.channels = self.left = access.get("channels", math.inf)
        self.polls = Stream(seed, "poll", [replication, permutation])
        self.hosts = [Host(self, Client(index, spec, workload, jitter))
                      for index, spec in enumerate(workload["clients"])]
        self.policy = make_policy(policy, self, Stream(seed, "policy", [replication, permutation]))
        self.horizon = math.inf if horizon is None else horizon
        self.now, self.events, self.numbers = 0, [], itertools.count()
        self.facts, self.opening, self.jobs = [], [], []
        self.limit = math.inf
        self.running, self.switching, self.last_client = None, False, None
        self.turn, self.turn_left = (-1, -1), 0
        # Of graphics channels: for how long others have run since its last turn ended, and how long that took.
        self.others_ran, self.last_turn = collections.Counter(), collections.Counter()
        self.engines = Engines(device, lambda time, end: self.at(time, ENDS, lambda: end(self.now)), self.copy_ended)
        self.asked = []         # copies that joined their engines in this instant
        self.stirred = set()    # hosts of which something ended, or whose sampling's span did

    # --- time

    def at(self, time, rank, do):
        heapq.heappush(self.events, (time, rank, next(self.numbers), do))

    def run(self):
        for host in self.hosts:
            self.next_release(host)
        self.policy.start()
        while self.events and self.events[0][0] <= self.horizon and not all(host.gone for host in self.hosts):
            self.now = self.events[0][0]
            while self.round():
                pass
            self.begin_request()
            asked, self.asked = self.asked, []
            self.engines.end_of_instant(self.now, asked)
        return self

    def round(self):
        happened = False
        while self.events and self.events[0][0] == self.now:
            while self.events and self.events[0][0] == self.now:
                heapq.heappop(self.events)[-1]()
            self.look()
            happened = True
        for host in self.hosts:
            while host.ready and not host.gone:
                host.submit()
                happened = True
        if self.facts:
            facts, self.facts = self.facts, []
            opening, self.opening = self.opening, []
            self.grants = {}
            self.policy.decide(facts)
            for host in sorted(opening, key=lambda host: host.client.index):
                self.open(host)
            happened = True
        return happened

    # --- jobs

    def next_release(self, host):
        for time in host.client.releases:
            self.at(time, RELEASES, lambda: self.release(host, True))
            return

    def release(self, host, another):
        if host.gone:
            return
        number = sum(job.client is host.client for job in self.jobs)
        job = Job(host.client, number, self.now)
        self.jobs.append(job)
        host.open_jobs.append(job)
        host.released.append(job)
        if number == 0:
            self.opening.append(host)
            self.tell("Opens", host)
        host.begin_job()
        if another:
            self.next_release(host)

    def open(self, host):
        if host.gone:
            return
        gets = min(host.client.asks, self.grants.get(host.client.index, math.inf), self.left)
        if gets < host.client.used:
            self.leave(host, "out of resources")
            return
        self.left -= gets
        host.queues = [collections.deque() for _ in range(gets)]
        host.opened = True
        host.begin_job()

    def perhaps_finish(self, job):
        if not job.host_through or job.requests:
            return
        host = self.hosts[job.client.index]
        job.finish, job.outcome = self.now, "finished"
        host.open_jobs.remove(job)
        time = job.client.after_finish(self.now)
        if time is not None:
            self.at(time, RELEASES, lambda: self.release(host, False))
        elif not host.open_jobs and job.client.scheduled >= job.client.most and not self.yet_to_come(host):
            self.leave(host, None)

    def yet_to_come(self, host):
        """Whether a release of it is still to come."""
        return sum(job.client is host.client for job in self.jobs) < host.client.most

    def leave(self, host, outcome):
        for job in host.open_jobs:
            job.outcome = outcome
        host.open_jobs = []
        self.left += len(host.queues)
        host.queues, host.gone = [], True
        host.drain = host.sample = host.held = None
        self.tell("Exited", host)

    # --- the device

    def begin_request(self):
        if self.running:
            return
        waiting = [(host.client.index, number) for host in self.hosts
                   for number, queue in enumerate(host.queues) if queue]
        if not waiting:
            return
        if not self.turn_left or self.turn not in waiting:
            others = [place for place in waiting if not self.hosts[place[0]].client.draws]
            may = [place for place in waiting if place in others or not others or self.others_ran[place] >= self.last_turn[place]]
            self.turn = min([place for place in may if place > self.turn], default=may[0])
            self.others_ran[self.turn] = self.last_turn[self.turn] = 0
            client, number = self.turn
            self.turn_left = len(self.hosts[client].queues[number]) if self.whole_queue else 1
        self.turn_left -= 1
        client, number = self.turn
        self.running = request = self.hosts[client].queues[number].popleft()
        if self.last_client in (None, client) or not self.switch:
            self.begin(request)
        else:
            self.at(self.now + self.switch, ENDS, lambda: self.begin(request))
        self.last_client = client

    def begin(self, request):
        if self.running is not request:
            return
        request.begin, job = self.now, request.job
        if job.start is None:
            job.start = self.now
        if request.time is not None:
            self.at(self.now + request.time, ENDS, lambda: self.end(request))
        self.look_out(self.hosts[job.client.index])

    def end(self, request):
        if self.running is not request:
            return
        self.running = None
        host = self.hosts[request.job.client.index]
        if host.client.draws:
            self.last_turn[self.turn] += self.now - request.begin
        else:
            for place in self.last_turn:
                self.others_ran[place] += self.now - request.begin
        sample = request.sample
        if sample:
            sample.out -= 1
            sample.busy += self.now - request.begin
        host.ended(request)
        self.stirred.add(host)

    def copy_ended(self, copy):
        host = self.hosts[copy.job.client.index]
        if copy.sample:
            copy.sample.out -= 1
        host.copy_ended(copy)
        self.stirred.add(host)

    # --- what the scheduler sees

    def look(self):
        """What happened in this instant and is to be seen, in the order of the clients."""
        for host in self.hosts:
            if host not in self.stirred:
                continue
            if host.drain and not host.drain.over and not host.on_device():
                host.drain.over = True
                self.see(host)
            if host.sample:
                self.perhaps_over(host)
        self.stirred.clear()

    def tell(self, kind, host, *values):
        self.facts.append(Fact(kind, host.client.index, values))

    def tell_activity(self, host):
        self.tell("Activity", host, host.used, host.held is not None, host.usage)
        host.used, host.usage = False, 0

    def seen_after(self):
        return math.floor(self.polls.uniform() * self.poll) if self.poll else 0

    def see(self, host):
        drain = host.drain

        def drained():
            if host.drain is drain:
                host.drain = None
                self.tell("Drained", host, self.now - drain.order)
                self.tell_activity(host)
        self.at(self.now + self.seen_after(), SEEN, drained)

    def perhaps_over(self, host):
        sample = host.sample
        if sample.out or not (sample.span_over or sample.joined == sample.most):
            return
        host.sample, host.access = None, "deny"
        span = self.now - sample.order - sample.trapped

        def sampled():
            if not host.gone:
                self.tell("Sampled", host, sample.joined, sample.busy, span)
                self.tell_activity(host)
        self.at(self.now + self.seen_after(), SEEN, sampled)
        host.treat_held()

    def look_out(self, host):
        """For a request that runs too long while its client is drained or sampled."""
        request, watched = self.running, host.drain or host.sample
        if not watched or not request or request.job.client is not host.client or request.begin is None:
            return

        def overdue():
            if self.running is request and (host.drain is watched or host.sample is watched):
                self.tell("Overdue", host)
        if self.limit < math.inf:
            self.at(max(request.begin, watched.order) + self.limit + 1, OVERDUE, overdue)

    # --- orders

    def order_access(self, index, access):
        host = self.hosts[index]
        if host.gone or host.access == access:
            return
        host.access = access
        host.treat_held()

    def order_admit(self, index):
        self.hosts[index].admit()

    def order_grant(self, index, channels):
        self.grants[index] = channels

    def order_drain(self, index):
        host = self.hosts[index]
        if not host.on_device():
            self.tell("Drained", host, 0)
            self.tell_activity(host)
            return
        host.drain = Watched(host.client, self.now)
        host.drain.over = False
        self.look_out(host)

    def order_sample(self, index, span, most):
        host = self.hosts[index]
        host.sample = sample = Sample(host.client, self.now, span, most)

        def span_over():
            if host.sample is sample:
                sample.span_over = True
                self.stirred.add(host)
        self.at(sample.end, SPANS, span_over)
        host.treat_held()

    def order_watch(self, limit):
        self.limit = limit

    def order_kill(self, index):
        host = self.hosts[index]
        if host.gone:
            return
        if self.running and self.running.job.client is host.client:
            self.running = None
        self.engines.remove(host.client)
        self.asked = [copy for copy in self.asked if copy.job.client is not host.client]
        self.leave(host, "killed")

    def order_wake(self, time, name):
        self.at(time, TIMERS, lambda: self.facts.append(Fact("Timer", None, (name,))))
