"""Recorded programs that share a GPU: the model of sim/recorded/README.md, written from that page alone.

`Program` takes a recording apart. `RecordedModel` plays a workload of them under `passthrough` or under a policy that
grants whole jobs. Time is whole nanoseconds.
"""
import collections
import heapq
import itertools
import sqlite3
import types

from simpy_inputs import ceil_div, quantity, round_half_up, share
from simpy_policies import POLICIES
from simpy_priorities import PRIORITY_POLICIES

OTHER, QUERY, RECORDS = 0, 8, 9                                       # functions
CONTEXT, STREAM, EVENT, RECORD, WAIT_EVENT = range(5)                 # orders
BLOCKING, NON_BLOCKING, NULL = range(3)                               # streams
KERNEL, COPY, MEMSET, GRAPH = range(4)                                # works
PAGEABLE, PINNED, DEVICE = 1, 2, 3                                    # memory
SYNC, NVTX, WHOLE, CUT = range(4)                                     # jobs
HOST = PAGEABLE, PINNED
FULL, LONG, TIMES_LONGER = 256, 20_000, 3                             # when a call found the stream full
WAKE, LAUNCH, BEHIND = 5_000, 6_000, 1_000                            # with no example at all
SHARED = 100                                                          # one call in so many may overlap
LATEST = 31                                                           # jobs from which times are learnt
PARTS = 5040                                                          # of a copy's speed


def median(values):
    """The middle one, the lower of two."""
    return sorted(values)[(len(values) - 1) // 2]


def covered(spans):
    """How long at least one of them is under way."""
    total, end = 0, None
    for begin, until in sorted(spans):
        if end is None or begin > end:
            total, end = total + until - begin, until
        elif until > end:
            total, end = total + until - end, until
    return total


def latest(*times):
    return max((time for time in times if time is not None), default=None)


# ---- a recording, taken apart -------------------------------------------------------------------

class Work:
    __slots__ = ("call", "stream", "kind", "begin", "end", "length", "follows", "launch", "behind", "to_host", "to_device",
                 "synchronous", "pinned")

    @property
    def copies(self):
        return self.to_host or self.to_device


class Step:
    """A call."""
    __slots__ = ("number", "thread", "function", "kind", "begin", "end", "job", "works", "order", "awaited", "asked", "full", "waits_for",
                 "gap", "own", "wake", "over")

    @property
    def length(self):
        return self.end - self.begin

    @property
    def waited(self):
        return self.awaited is not None and self.awaited > self.begin


class Part:
    """The steps of a job on a timeline."""

    def __init__(self, timeline, steps, head):
        self.timeline, self.steps, self.head = timeline, steps, head


class RecordedJob:
    __slots__ = ("number", "kind", "thread", "begin", "end", "warm_up", "home", "part", "others", "before", "lead", "tail", "gap",
                 "end_at_home")

    @property
    def length(self):
        return self.end - self.begin

    @property
    def to_last_work(self):
        return self.kind in (CUT, WHOLE)


class Program:
    """What sim/recorded/README.md makes of a recording."""

    def __init__(self, path):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            self._read(database)
        self._follow()
        self._timelines()
        self._steps()
        self._works()
        self._jobs()

    # -- the file

    def _read(self, database):
        def rows(what, table, order="id"):
            return database.execute(f"SELECT {what} FROM {table} ORDER BY {order}").fetchall()

        self.contexts = rows("gpu, number", "contexts")
        self.streams = rows("context, kind", "streams")
        functions = [kind for kind, in rows("kind", "functions")]
        transfers = rows('"from", "to", asynchronous', "transfers")
        self.jobs = []
        for number, (kind, thread, begin, length, warm_up) in enumerate(rows('kind, thread, "begin", length, warm_up', "jobs")):
            job = RecordedJob()
            job.number, job.kind, job.thread, job.begin, job.end = number, kind, thread, begin, begin + length
            job.warm_up, job.others = bool(warm_up), []
            self.jobs.append(job)
        self.steps, clock = [], collections.Counter()
        for number, (thread, function, gap, length, job) in enumerate(rows("thread, function, gap, length, job", "calls")):
            step = Step()
            step.number, step.thread, step.function, step.kind, step.job = number, thread, function, functions[function], job
            step.begin, step.works, step.order, step.waits_for = clock[thread] + gap, [], None, []
            step.end = clock[thread] = step.begin + length
            self.steps.append(step)
        for call, stream, kind, shape, after, length in rows("call, stream, kind, shape, after, length", "works"):
            work = Work()
            work.call, work.stream, work.kind, work.length = self.steps[call], stream, kind, length
            work.begin = work.call.begin + after
            work.end = work.begin + length
            source, target, asynchronous = transfers[shape] if kind == COPY else (None, None, True)
            work.to_host = kind == COPY and source not in HOST and target in HOST
            work.to_device = kind == COPY and source in HOST and target not in HOST
            work.synchronous, work.pinned = kind == COPY and not asynchronous, target == PINNED
            work.call.works.append(work)
        for call, kind, place, recorded in rows("call, kind, place, recorded", "orders", "call"):
            self.steps[call].order = kind, place, recorded

    def each_work(self):
        return (work for step in self.steps for work in step.works)

    def null_of(self, stream):
        """The null streams that a stream which blocks waits for; those that a null stream waits for."""
        context, kind = self.streams[stream]
        wanted = {BLOCKING: NULL, NULL: BLOCKING}.get(kind)
        return [other for other, (place, its) in enumerate(self.streams) if place == context and its == wanted]

    # -- what waits for what

    def _follow(self):
        fronts, events = [None] * len(self.streams), {}
        outstanding = [[] for _ in self.streams]
        self.outstanding = {}
        for step in self.steps:
            step.awaited = None
            for stream in {work.stream for work in step.works}:
                outstanding[stream] = [end for end in outstanding[stream] if end > step.begin]
            self.outstanding[step] = max((len(outstanding[work.stream]) for work in step.works), default=0)
            for work in step.works:
                ordered = [fronts[other] for other in self.null_of(work.stream)]
                work.follows = latest(fronts[work.stream], *ordered)
                fronts[work.stream] = latest(work.end, work.follows)
                outstanding[work.stream].append(work.end)
                if self._host_waits(work):
                    step.awaited = latest(step.awaited, fronts[work.stream])
                    step.waits_for.append(work.stream)
            if step.order:
                kind, place, recorded = step.order
                if kind == CONTEXT:
                    step.awaited = latest(step.awaited, *(fronts[stream] for stream, (context, _) in enumerate(self.streams)
                                                          if context == place))
                elif kind == STREAM:
                    step.awaited = latest(step.awaited, fronts[place])
                elif kind == EVENT:
                    step.awaited = latest(step.awaited, events.get(recorded))
                elif kind == RECORD:
                    fronts[place] = latest(fronts[place], *(fronts[other] for other in self.null_of(place)))
                    events[step.number] = fronts[place]
                elif kind == WAIT_EVENT:
                    fronts[place] = latest(fronts[place], events.get(recorded))

    def _host_waits(self, work):
        if work.to_host:
            return work.synchronous or not work.pinned
        return work.synchronous and work.end <= work.call.end

    # -- timelines

    def _timelines(self):
        for job in self.jobs:
            if job.thread is None:
                job.thread = next(step.thread for step in self.steps if step.job == job.number)
        begin_jobs = {job.thread for job in self.jobs if not job.warm_up}
        played = collections.defaultdict(list)  # by thread: steps of jobs that are no warm-up
        for step in self.steps:
            if step.job is not None and not self.jobs[step.job].warm_up:
                played[step.thread].append(step)
        self.timeline_of = {step.thread: step.thread for step in self.steps}
        for thread, steps in played.items():
            whose = {self.jobs[step.job].thread for step in steps}
            if thread not in begin_jobs and len(whose) == 1 and _silent(steps, played[next(iter(whose))]):
                self.timeline_of[thread] = next(iter(whose))
        self.timelines = collections.defaultdict(list)
        for step in self.steps:
            self.timelines[self.timeline_of[step.thread]].append(step)

    # -- steps

    def _steps(self):
        for timeline in self.timelines.values():
            end = 0
            for step in timeline:
                step.asked = step.kind == QUERY and step.awaited is not None and step.awaited > end
                step.gap = 0 if step.asked else max(step.begin - end, 0)
                end = step.over = max(end, step.end)
        lengths, quiet, wakes = (collections.defaultdict(list) for _ in range(3))
        for step in self.steps:
            lengths[step.function].append(step.length)
            if not step.waited:
                quiet[step.function].append(step.length)
            else:
                wakes[step.function].append(max(step.end - step.awaited, 0))
        all_wakes = [wake for some in wakes.values() for wake in some]
        depths = []
        for step in self.steps:
            step.full = (self.outstanding[step] >= FULL and step.length > LONG
                         and step.length > TIMES_LONGER * median(lengths[step.function]))
            if step.full:
                depths.append(self.outstanding[step])
        self.depth = median(depths) if depths else None
        for step in self.steps:
            step.own = step.length
            if step.waited or step.full:
                step.own = min(step.own, median(quiet[step.function] or [0]))
            if step.waited or step.asked:
                step.wake = max(step.end - step.awaited, 0)
                continue
            step.wake = median(wakes[step.function] or all_wakes or [WAKE])
            if step.awaited is not None:
                step.wake = min(step.wake, step.end - step.awaited)

    # -- works

    def _works(self):
        works = list(self.each_work())
        launches, behinds = collections.defaultdict(list), collections.defaultdict(list)
        for work in works:
            if work.follows is None or work.follows <= work.call.begin:
                launches[work.kind].append(work.begin - work.call.begin)
        every = [launch for some in launches.values() for launch in some]
        launch_of = {kind: median(launches[kind] or every or [LAUNCH]) for kind in range(4)}
        for work in works:
            if work.follows is not None and work.follows >= work.call.begin + launch_of[work.kind]:
                behinds[work.kind].append(work.begin - work.follows)
        every = [behind for some in behinds.values() for behind in some]
        behind_of = {kind: median(behinds[kind] or every or [BEHIND]) for kind in range(4)}
        for work in works:
            launch, behind = work.begin - work.call.begin, None
            if work.follows is not None:
                behind = work.begin - work.follows
            if behind is not None and work.follows + behind_of[work.kind] >= work.call.begin + launch_of[work.kind]:
                work.launch, work.behind = min(launch_of[work.kind], launch), behind
            else:
                work.launch = launch
                work.behind = behind_of[work.kind] if behind is None else min(behind_of[work.kind], behind)

    # -- jobs

    def _jobs(self):
        for job in self.jobs:
            job.home = self.timeline_of[job.thread]
            for name, steps in self.timelines.items():
                mine = [place for place, step in enumerate(steps) if step.job == job.number]
                if not mine:
                    continue
                part = Part(name, steps[mine[0]:mine[-1] + 1], steps[mine[0]].begin - job.begin)
                if name == job.home:
                    job.part, place = part, mine[0]
                else:
                    job.others.append(part)
            job.tail = 0 if job.to_last_work else max(job.end - job.part.steps[-1].over, 0)
            job.end_at_home = job.part.steps[-1].over + job.tail
            earlier = [other for other in self.jobs[:job.number] if other.home == job.home and not other.warm_up]
            job.before, job.lead, job.gap = [], None, 0
            if earlier:
                steps = self.timelines[job.home]
                first = steps.index(earlier[-1].part.steps[-1]) + 1
                job.before = steps[first:place]
                if job.before:
                    job.gap = min(job.before[0].gap, max(job.before[0].begin - earlier[-1].end_at_home, 0))
                end = earlier[-1].end_at_home
                job.lead = max(job.begin - max(steps[place - 1].over, end), 0)
        for home in {job.home for job in self.jobs}:
            mine = [job for job in self.jobs if job.home == home and not job.warm_up] or [self.jobs[0]]
            leads = [job.lead for job in mine if job.lead is not None]
            mine[0].lead = median(leads or [0])


def _silent(helper, home):
    few, many = (helper, home) if len(helper) < len(home) else (home, helper)

    def overlaps(step):
        return any((one.end > step.begin) if one.number < step.number else (step.end > one.begin) for one in many)

    return SHARED * sum(map(overlaps, few)) < len(few)


# ---- the GPU ------------------------------------------------------------------------------------

class Entry:
    """What stands in a stream: work, or a wait."""

    def __init__(self, stream):
        self.stream, self.over, self.waiters = stream, False, []
        self.at_head = None


class Submitted(Entry):
    """A work, as it is played."""

    def __init__(self, stream, work, now, length, job):
        super().__init__(stream)
        self.work, self.due, self.job = work, now + work.launch, job
        self.begin = None      # when it may begin
        self.since = None      # it has run since then
        self.left, self.stopped, self.begun = length, False, False
        self.parts = length * PARTS

    @property
    def is_kernel(self):
        return not self.work.copies

    @property
    def running(self):
        return self.since is not None


class Wait(Entry):
    def __init__(self, stream, targets):
        super().__init__(stream)
        self.targets = targets


class Stream:
    def __init__(self, world, client, context):
        self.world, self.client, self.context = world, client, context
        self.queue, self.last, self.last_end = collections.deque(), None, None
        self.works = 0

    def given(self):
        """Everything that it has been given."""
        return [self.last] if self.last and not self.last.over else []

    def put(self, entry):
        self.queue.append(entry)
        self.last = entry
        if isinstance(entry, Submitted):
            self.works += 1
            self.client.works += 1
        self.world.touch(self)

    def settle(self):
        now = self.world.now
        while self.queue:
            head = self.queue[0]
            if head.at_head is None:
                head.at_head = now
                for target in getattr(head, "targets", ()):
                    target.waiters.append(self)
            if isinstance(head, Wait):
                if not all(target.over for target in head.targets):
                    return
                if now > head.at_head:
                    self.last_end = now
                self.queue.popleft()
                self.world.over(head)
                continue
            if head.begin is None:
                after = [] if self.last_end is None else [self.last_end + head.work.behind]
                head.begin = max([head.due] + after)
                self.world.at(head.due, self._look)
                self.world.at(head.begin, self._look)
            if now >= head.begin and not head.running:
                self._begin(head)
            return

    def _look(self):
        self.world.touch(self)

    def _begin(self, head):
        if head.is_kernel:
            if self.context.on:
                self.world.run_kernel(head)
        else:
            head.since = self.world.now
            self.world.engines[head.work.to_host].enter(head)

    def ends(self, head):
        assert self.queue[0] is head
        self.queue.popleft()
        self.last_end = self.world.now
        self.works -= 1
        self.client.works -= 1
        self.client.emptied = self.world.now
        self.world.over(head)
        self.world.touch(self)

    def ready(self):
        head = self.queue[0] if self.queue else None
        return isinstance(head, Submitted) and head.is_kernel and head.due <= self.world.now

    def due_behind(self):
        """Whether work is due behind what is at the head."""
        return any(isinstance(entry, Submitted) and entry.due <= self.world.now
                   for entry in itertools.islice(self.queue, 1, None))


class Context:
    def __init__(self, client, number):
        self.client, self.number, self.streams, self.on = client, number, [], False

    def ready(self):
        return any(stream.ready() for stream in self.streams)

    def kernels(self):
        return [stream.queue[0] for stream in self.streams
                if stream.queue and isinstance(stream.queue[0], Submitted) and stream.queue[0].is_kernel]


class Engine:
    """Copies of one direction; those of n programs each go on at 1/n of their speed."""

    def __init__(self, world):
        self.world, self.copies, self.last, self.turn = world, [], 0, 0

    def enter(self, copy):
        self._advance()
        self.copies.append(copy)
        self._plan()

    def _speed(self):
        return PARTS // len({copy.stream.client for copy in self.copies})

    def _advance(self):
        if self.copies:
            for copy in self.copies:
                copy.parts -= (self.world.now - self.last) * self._speed()
        self.last = self.world.now

    def _plan(self):
        self.turn += 1
        if self.copies:
            first = min(max(ceil_div(copy.parts, self._speed()), 0) for copy in self.copies)
            self.world.at(self.world.now + first, lambda turn=self.turn: self._end(turn))

    def _end(self, turn):
        if turn != self.turn:
            return
        self._advance()
        done = [copy for copy in self.copies if copy.parts <= 0]
        self.copies = [copy for copy in self.copies if copy.parts > 0]
        for copy in done:
            copy.stream.ends(copy)
        self._plan()


class AlwaysOn:
    """MPS: all contexts are on the GPU at once."""

    def __init__(self, world, contexts):
        for context in contexts:
            context.on = True

    def decide(self):
        return False


class TimeSlices:
    """The rules TS1 to TS9."""

    def __init__(self, world, contexts):
        self.world, self.ring = world, contexts
        times = world.time_slice
        self.length, self.switch, self.linger = times["length"], times["switch"], times["linger"]
        self.stop, self.resume, self.renewal = times["stop"], times["resume"], times["renewal"]
        self.current, self.switching = None, False
        self.end, self.expired, self.unready = None, False, None

    def _slice(self, begin, length):
        self.end, self.expired = begin + length, False
        self.world.at(max(self.end, self.world.now), lambda: None)

    def _others(self):
        return any(context.ready() for context in self.ring if context is not self.current)

    def _next(self):
        place = self.ring.index(self.current)
        behind = self.ring[place + 1:] + self.ring[:place]
        return next(context for context in behind if context.ready())

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
        over = self.end is not None and now >= self.end
        lingered = self.unready is not None and now - self.unready >= self.linger
        if (over or self.expired or lingered) and self._others():
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
        now, world = self.world.now, self.world
        begin = now
        if self.unready is not None and now <= self.unready + self.linger:
            begin = self.unready
        following, stopped = self._next(), False
        self.current.on = False
        for kernel in self.current.kernels():
            if kernel.running:
                stopped = world.stop_kernel(kernel) or stopped
        goes_on = any(kernel.stopped for kernel in following.kernels())
        begin += self.switch + (self.stop if stopped else 0)
        resume = self.resume if goes_on else 0
        self.switching = True
        self.unready = self.end = None
        world.at(max(begin + resume, now), lambda: self._turn(following, begin))

    def _turn(self, context, begin):
        self.current, self.switching, self.unready = context, False, None
        context.on = True
        self._slice(begin, self.length)
        for stream in context.streams:
            self.world.touch(stream)


# ---- the programs -------------------------------------------------------------------------------

class Job:
    def __init__(self, client, number, release):
        self.client, self.number, self.release = client, number, release
        self.recorded = self.begin = self.start = self.finish = None
        self.parts = 0         # that are not over
        self.works = []        # that were submitted
        self.is_open = False

    @property
    def outcome(self):
        return "finished" if self.finish is not None else "unfinished"


class Host:
    """A timeline, as it is played."""

    def __init__(self, world, client, place):
        self.world, self.client, self.place = world, client, place
        self.parts, self.busy = collections.deque(), False     # of jobs that begin elsewhere

    def at(self, time, action):
        self.world.at(time, action, self)

    # A list of steps: each begins `gap` after the one before.

    def play(self, steps, job, begin, then, place=0):
        """Plays the steps, the first of which begins at `begin`; `then` is told when the last one ends, as soon as that is known."""
        def ended(end):
            following = place + 1
            if following < len(steps):
                self.play(steps, job, end + self.client.host(steps[following].gap), then, following)
            else:
                then(end)

        self.at(begin, lambda: self._come(steps[place], job, ended))

    def _come(self, step, job, ended):
        if not step.works:
            self._begin(step, job, ended)
            return
        self.client.gate.come(self, job, lambda: self._behind_gate(step, job, ended))

    def _behind_gate(self, step, job, ended):
        streams = {self.client.streams[work.stream] for work in step.works}
        depth = self.client.program.depth
        if depth is None or all(stream.works < depth for stream in streams):
            self._begin(step, job, ended)
            return
        self.client.crowded.append((self.world.now, self.place, streams, lambda: self._begin(step, job, ended)))

    def _begin(self, step, job, ended):
        world, client, begin = self.world, self.client, self.world.now
        targets = client.submit(step, job)
        targets = [target for target in targets if not target.over]
        own = client.host(step.own)
        if not targets:
            ended(begin + own)
            return

        def over():
            if all(target.over for target in targets):
                wake = step.wake if world.now > begin else 0
                ended(max(begin + own, world.now + wake))
                return True
            return False

        world.await_over(targets, over)


class Home(Host):
    """A timeline that begins jobs."""

    def __init__(self, world, client, place, jobs):
        super().__init__(world, client, place)
        self.jobs, self.next = jobs, 0

    def begin_first(self):
        self._wants(self.jobs[0])

    def _wants(self, recorded):
        self.client.wants(self, lambda job: self._job(job, recorded))

    def _job(self, job, recorded):
        world, client = self.world, self.client
        client.opens(job, recorded)
        part = recorded.part
        for other in recorded.others:
            client.hosts[other.timeline].add(other, job, world.now)

        def last_step_over(end):
            self.at(end + client.host(recorded.tail), part_over)

        def part_over():
            client.part_over(job)
            self._through()

        self.play(part.steps, job, world.now + client.host(part.head), last_step_over)

    def _through(self):
        if self.client.none_left():
            return
        self.next = (self.next + 1) % len(self.jobs)
        recorded, client, world = self.jobs[self.next], self.client, self.world

        def lead(end):
            self.at(end + client.host(recorded.lead), lambda: self._wants(recorded))

        if recorded.before:
            self.play(recorded.before, None, world.now + client.host(recorded.gap), lead)
        else:
            lead(world.now)


class Helper(Host):
    """A timeline that only has parts of jobs of others."""

    def add(self, part, job, begin):
        self.parts.append((part, job, begin))
        self._next()

    def _next(self):
        if self.busy or not self.parts:
            return
        self.busy = True
        part, job, begin = self.parts.popleft()

        def over():
            self.busy = False
            self.client.part_over(job)
            self._next()

        def last_step_over(end):
            self.at(end, over)

        self.play(part.steps, job, max(self.world.now, begin + self.client.host(part.head)), last_step_over)


class OpenGate:
    """Under `passthrough`."""

    def come(self, host, job, passes):
        passes()

    def job_over(self, job):
        pass

    def kernel_runs(self):
        pass


class Client:
    def __init__(self, world, index, spec):
        self.world, self.index, self.name = world, index, spec["name"]
        self.priority = spec.get("priority", 0)
        asked = spec["recording"]
        asked = {"file": asked} if isinstance(asked, str) else asked
        self.program = world.program(asked["file"])
        scale = asked.get("scale", {})
        self.kernels_scale, self.host_scale = (share(scale.get(key, 1)) for key in ("kernels", "host"))
        self.busy_unknown = asked.get("busy") == "unknown"
        chosen = [job for job in self.program.jobs if not job.warm_up]
        limits = asked.get("jobs", {})
        self.recorded = chosen[limits.get("from", 0):limits.get("to", len(chosen) - 1) + 1]
        self.contexts = [Context(self, number) for number in range(len(self.program.contexts))]
        self.streams = []
        for context, _ in self.program.streams:
            self.streams.append(Stream(world, self, self.contexts[context]))
            self.contexts[context].streams.append(self.streams[-1])
        self.events, self.crowded, self.works, self.emptied = {}, [], 0, 0
        self.open_jobs, self.jobs, self.staying, self.stays_since, self.used = [], [], None, None, 0
        self.hosts = {}
        for place, name in enumerate(self.program.timelines):
            mine = [job for job in self.recorded if job.home == name]
            self.hosts[name] = Home(world, self, place, mine) if mine else Helper(world, self, place)
        self.gate = OpenGate()
        self._releases(spec)

    @property
    def alone(self):
        """The mean time that a job uses the GPU."""
        if self.busy_unknown:
            return None
        used = {job.number: [] for job in self.recorded}
        for work in self.program.each_work():
            if work.call.job in used:
                used[work.call.job].append((work.begin, work.end))
        mean = sum(map(covered, used.values())) // len(used)
        return mean if self.kernels_scale == 1 else round_half_up(mean * self.kernels_scale)

    # -- releases

    def _releases(self, spec):
        repeat = spec.get("repeat") or {"jobs": len(self.recorded)}
        self.limit = None if repeat.get("jobs") == "endless" else repeat.get("jobs", len(repeat.get("releases", ())))
        self.own_pace = not set(repeat) & {"period", "think", "releases"}
        self.think = quantity(repeat["think"]) if "think" in repeat else None
        self.begun, self.released, self.waiting = 0, collections.deque(), collections.deque()
        arrive = quantity(spec.get("arrive", "0 ns"))
        if self.own_pace:
            self.world.at(arrive, self._first)
        elif "releases" in repeat:
            self.world.at(0, self._first)
            for time in repeat["releases"]:
                self.world.at(quantity(time), self._release)
        elif self.think is not None:
            self.world.at(arrive, self._first)
            self.world.at(arrive, self._release)
        else:
            self.world.at(0, self._first)
            self._periodic(arrive, quantity(repeat["period"]), 1)

    def _periodic(self, time, period, number):
        def release():
            self._release()
            if self.limit is None or number < self.limit:
                self._periodic(time + period, period, number + 1)

        self.world.at(time, release)

    def _first(self):
        for host in self.hosts.values():
            if isinstance(host, Home):
                host.begin_first()

    def _release(self):
        job = Job(self, len(self.jobs), self.world.now)
        self.jobs.append(job)
        self.released.append(job)
        self._match()

    def more(self):
        return self.limit is None or self.begun < self.limit

    def none_left(self):
        """Whether no job is left to begin, and none will be released."""
        if self.own_pace:
            return not self.more()
        return not self.released and self.limit is not None and len(self.jobs) >= self.limit

    def wants(self, host, begins):
        if not self.more():
            return
        if self.own_pace:
            self.jobs.append(Job(self, len(self.jobs), self.world.now))
            self.begun += 1
            begins(self.jobs[-1])
            return
        self.waiting.append(begins)
        self._match()

    def _match(self):
        while self.waiting and self.released:
            self.begun += 1
            self.waiting.popleft()(self.released.popleft())

    # -- jobs

    def opens(self, job, recorded):
        job.recorded, job.is_open, job.begin = recorded, True, self.world.now
        job.parts = 1 + len(recorded.others)
        self.open_jobs.append(job)

    def part_over(self, job):
        job.parts -= 1
        if job.parts:
            return
        last = [work for work in job.works if not work.over] if job.recorded.to_last_work else []
        if not last:
            self._over(job)
            return

        def over():
            if all(work.over for work in last):
                self._over(job)
                return True
            return False

        self.world.await_over(last, over)

    def _over(self, job):
        job.finish, job.is_open = self.world.now, False
        self.open_jobs.remove(job)
        if self.staying is job:
            self.end_stay()
        self.gate.job_over(job)
        if self.think is not None and (self.limit is None or len(self.jobs) < self.limit):
            self.world.at(self.world.now + self.think, self._release)

    # -- its stay on the GPU

    def look(self):
        """At the end of an instant."""
        running = [kernel.job for context in self.contexts for kernel in context.kernels() if kernel.running]
        if not running:
            self._pause()
            return
        self.gate.kernel_runs()
        if self.stays_since is None and self.open_jobs:
            self.staying = next((job for job in self.open_jobs if job in running), self.open_jobs[0])
            self.stays_since = self.world.now
            if self.staying.start is None:
                self.staying.start = self.world.now

    def _pause(self):
        if self.stays_since is not None:
            self.used += self.world.now - self.stays_since
        self.stays_since = None

    def end_stay(self):
        self._pause()
        self.staying = None

    # -- steps

    def host(self, time):
        return time if self.host_scale == 1 else round_half_up(time * self.host_scale)

    def _length(self, work):
        if work.kind == COPY or self.kernels_scale == 1:
            return work.length
        return round_half_up(work.length * self.kernels_scale)

    def _behind_null(self, stream):
        """Puts the next entry of a stream behind what it waits for by its kind."""
        targets = [entry for other in self.program.null_of(stream) for entry in self.streams[other].given()]
        if targets:
            self.streams[stream].put(Wait(self.streams[stream], targets))

    def submit(self, step, job):
        """What a step does when it begins; returns what its host waits for."""
        for work in step.works:
            self._behind_null(work.stream)
            entry = Submitted(self.streams[work.stream], work, self.world.now, self._length(work), job)
            self.streams[work.stream].put(entry)
            if job:
                job.works.append(entry)
        targets = [entry for stream in step.waits_for for entry in self.streams[stream].given()]
        if step.order:
            kind, place, recorded = step.order
            if kind == CONTEXT:
                targets += [entry for stream in self.contexts[place].streams for entry in stream.given()]
            elif kind == STREAM:
                targets += self.streams[place].given()
            elif kind == EVENT:
                targets += self.events.get(recorded, [])
            elif kind == RECORD:
                self._behind_null(place)
                self.events[step.number] = self.streams[place].given()
            elif kind == WAIT_EVENT:
                pending = [entry for entry in self.events.get(recorded, []) if not entry.over]
                if pending:
                    self.streams[place].put(Wait(self.streams[place], pending))
        return targets

    def uncrowd(self):
        """Those that have waited longest for room in their streams go first."""
        for entry in sorted(self.crowded, key=lambda entry: entry[:2]):
            *_, streams, begin = entry
            if all(stream.works < self.program.depth for stream in streams):
                self.crowded.remove(entry)
                begin()


# ---- grants of whole jobs -----------------------------------------------------------------------

LEFT, ARRIVED, STARTED, TIMER = range(4)
FREE, ORDERED, OPEN, CLOSED, OVER = range(5)


class Asked:
    """A job, as policies know it."""

    def __init__(self, gate, job):
        self.gate, self.job = gate, job
        self.client, self.kernel = gate.asking, gate.asking.kernels[0]
        self.done = self.stage = self.waited = self.served = 0
        self.arrived = self.rank = self.wait_since = self.place = None
        self.ready = False     # a submission waited when Left was told

    def more(self):
        return self.job.finish is None


class Gate:
    """Where the submissions of a client's jobs wait until the policy grants it the GPU."""

    def __init__(self, scheduler, client):
        self.scheduler, self.world, self.client = scheduler, client.world, client
        self.waiting, self.state, self.asked, self.known = [], FREE, None, False
        self.closing, self.opened, self.started, self.grants, self.used = False, None, False, 0, 0
        self.asking = types.SimpleNamespace(index=client.index, gpus=[0], total=client.alone, later=[0], jobs=[], kernels=[
            types.SimpleNamespace(tasks=1, priority=client.priority)])

    # -- submissions

    def come(self, host, job, passes):
        if job is None or self._lets(job):
            passes()
            return
        self.waiting.append((self.world.now, host.place, job, passes))
        self._ask()

    def _lets(self, job):
        limit = self.scheduler.in_flight
        return self.state == OPEN and job is self.asked.job and (limit is None or self.client.works < limit)

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
        if self.state != FREE or self.known or not self.waiting:
            return
        if not self.asked:
            self.asked = Asked(self, self._first(lambda job: True)[2])
        if self._waits():
            self.known, asked = True, self.asked
            self.scheduler.tell(ARRIVED, self.client, lambda: self.scheduler.policy.arrived(asked))

    # -- the grant

    def look(self):
        """At the end of an instant."""
        now = self.world.now
        if self.closing:
            self.closing, self.state = False, CLOSED
        if self.client.works:
            return
        if self.state == CLOSED:
            self._over()
        elif self.state == OPEN:
            until = max(self.opened, self.client.emptied) + self.scheduler.idle
            if now >= until:
                self._over()
            else:
                self.world.at(until, lambda: None)

    def launch(self):
        self.state, self.opened, self.started = ORDERED, None, False
        self.grants += 1
        self.world.at(self.world.now + self.scheduler.launch, self._open)

    def _open(self):
        if self.state == ORDERED and not self.closing:
            self.state, self.opened = OPEN, self.world.now
            self.settle()

    def evict(self):
        def close(grant=self.grants):
            self.closing = self.grants == grant and self.state in (ORDERED, OPEN)

        self.world.at(self.world.now + self.scheduler.evict, close)

    def kernel_runs(self):
        if self.state in (OPEN, CLOSED) and self.opened is not None and not self.started:
            self.started, asked = True, self.asked
            self.scheduler.tell(STARTED, self.client, lambda: self.scheduler.policy.started(asked))

    def job_over(self, job):
        if not self.asked or self.asked.job is not job:
            return
        if self.state in (ORDERED, OPEN, CLOSED):
            self._over()
        elif self.state == FREE:
            self.asked = None
            self._ask()

    def _over(self):
        self.state, self.closing = OVER, False
        self.world.at(self.world.now + self.scheduler.notice, self._left)

    def _left(self):
        asked, client, self.state = self.asked, self.client, FREE
        client.end_stay()
        asked.served += client.used - self.used
        self.used = client.used
        self.known = asked.ready = self._waits()
        if not asked.more():
            self.asked = None
        launch = types.SimpleNamespace(job=asked, kernel=asked.kernel, did=1, start=self.world.now)

        def left():
            if not asked.more():
                self.asking.jobs.append(asked.served)
            self.scheduler.policy.left(launch)

        self.scheduler.tell(LEFT, client, left)
        self._ask()


class Served:
    """`left` and `total` of jobs."""

    def __init__(self, learnt):
        self.learnt = learnt

    def learn(self, launch, elapsed):
        pass

    def total(self, job):
        jobs, total = job.client.jobs[-LATEST:], job.client.total
        if total is not None and not (self.learnt and jobs):
            return total
        return sorted(jobs)[len(jobs) // 2] if jobs else 0

    def left(self, job):
        return max(self.total(job) - job.served, 0)


class Scheduler:
    """The policy, and what it is told."""

    number = 0

    def __init__(self, world, policy, grant, device):
        name, params = policy
        commands = device.get("commands", {})
        self.launch, self.evict, self.notice = (quantity(commands.get(key, "0 ns")) for key in ("launch", "evict", "notice"))
        self.idle, self.in_flight = quantity(grant.get("idle", "50 us")), grant.get("in_flight")
        self.world, self.facts, self.owner = world, [], None
        self.gates = [Gate(self, client) for client in world.clients]
        for client, gate in zip(world.clients, self.gates):
            client.gate = gate
        self.policy = {**POLICIES, **PRIORITY_POLICIES}[name](**params)
        self.policy.times = Served(params.get("time_per_task") == "learnt")
        port = types.SimpleNamespace(number=0, launch=self._launch, evict=self._evict)
        self.policy.attach(types.SimpleNamespace(env=world, gpus=[port], timer=self._timer))

    def _launch(self, asked, _):
        self.owner = asked.gate
        asked.gate.launch()

    def _evict(self):
        self.owner.evict()

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
        """Tells the facts of the instant and lets the policy decide; whether there were any."""
        for gate in self.gates:
            gate.look()
        facts, self.facts = sorted(self.facts, key=lambda fact: fact[:2]), []
        for _, _, how in facts:
            how()
        if facts:
            self.policy.decide()
        return bool(facts)


# ---- the world ----------------------------------------------------------------------------------

class RecordedModel:
    """A workload of recorded programs on a device under a policy."""

    programs = {}

    def __init__(self, workload, device, policy="passthrough", grant=None, horizon=None):
        self.now, self.heap, self.places = 0, [], itertools.count()
        self.todo, self.hosts, self.horizon = [], [], horizon
        self.mps = device["arbitration"] == "mps"
        self.time_slice = {key: quantity(value) for key, value in device.get("time_slice", {}).items()}
        for key in ("switch", "stop", "resume", "linger"):
            self.time_slice.setdefault(key, 0)
        if "length" in self.time_slice:
            self.time_slice.setdefault("renewal", self.time_slice["length"])
        self.engines = [Engine(self), Engine(self)]
        self.clients = [Client(self, index, spec) for index, spec in enumerate(workload["clients"])]
        contexts = [context for client in self.clients for context in client.contexts]
        self.slices = (AlwaysOn if self.mps else TimeSlices)(self, contexts)
        self.scheduler = None
        if policy != "passthrough":
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
        heapq.heappush(self.heap, (max(time, self.now), next(self.places), host, action))

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
                continue
            if self.slices.decide() or self._more():
                continue
            for client in self.clients:
                client.look()
            if self.scheduler and self.scheduler.decide() or self._more():
                continue
            return

    def _more(self):
        return self.heap and self.heap[0][0] == self.now

    # -- kernels

    def run_kernel(self, kernel):
        kernel.since, kernel.stopped = self.now, False
        kernel.begun = True
        since = self.now

        def end():
            if kernel.since == since and not kernel.over:
                kernel.stream.ends(kernel)

        self.at(self.now + kernel.left, end)

    def stop_kernel(self, kernel):
        """Whether it was in the middle."""
        ran = self.now - kernel.since
        kernel.left -= ran
        kernel.since, kernel.stopped = None, True
        return True
