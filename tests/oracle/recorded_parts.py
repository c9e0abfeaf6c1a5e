"""A recording, taken apart: timelines, steps, works and jobs, as sim/recorded/README.md has them."""
import collections
import sqlite3

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


class Work:
    __slots__ = ("call", "stream", "kind", "begin", "end", "length", "follows", "launch", "behind", "to_host", "to_device",
                 "synchronous", "pinned", "shape")

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
    __slots__ = ("number", "kind", "thread", "begin", "end", "warm_up", "home", "part", "others", "before", "lead", "least_lead", "tail", "gap",
                 "end_at_home", "behind")

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
        self.launches = rows("kernels.name, grid_x * grid_y * grid_z, block_x * block_y * block_z, registers",
                             "launches JOIN kernels ON kernels.id = launches.kernel", "launches.id")
        self.nodes = collections.defaultdict(list)  # by graph: the launches of its kernels, and their lengths
        for graph, launch, length in rows("graph, shape, length", f"nodes WHERE kind = {KERNEL}"):
            self.nodes[graph].append((launch, length))
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
            work.call, work.stream, work.kind, work.length, work.shape = self.steps[call], stream, kind, length, shape
            work.begin = work.call.begin + after
            work.end = work.begin + length
            source, target, asynchronous = transfers[shape] if kind == COPY else (None, None, True)
            work.to_host = kind == COPY and source not in HOST and target in HOST
            work.to_device = kind == COPY and source in HOST and target not in HOST
            work.synchronous, work.pinned = kind == COPY and not asynchronous, target == PINNED
            work.call.works.append(work)
        for call, kind, place, recorded in rows("call, kind, place, recorded", "orders", "call"):
            self.steps[call].order = kind, place, recorded

    def played(self):
        """The works of jobs behind the warm-up, and of what is before them."""
        for job in self.jobs:
            if not job.warm_up:
                for steps in (job.before, job.part.steps, *(other.steps for other in job.others)):
                    yield from (work for step in steps for work in step.works)

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
            if thread not in begin_jobs and len(whose) == 1 and _silent(steps, played.get(next(iter(whose)), [])):
                self.timeline_of[thread] = next(iter(whose))
        self.timelines = collections.defaultdict(list)
        for step in self.steps:
            self.timelines[self.timeline_of[step.thread]].append(step)
        for thread in sorted(begin_jobs - set(self.timeline_of)):
            self.timeline_of[thread] = thread
            self.timelines.setdefault(thread, [])

    # -- steps

    def _steps(self):
        for timeline in self.timelines.values():
            end = 0
            for step in timeline:
                step.asked = step.kind == QUERY and step.awaited is not None and step.awaited > end
                step.gap = 0 if step.asked else max(step.begin - end, 0)
                end = step.over = max(end, step.end)
        quiet, wakes = collections.defaultdict(list), collections.defaultdict(list)
        for step in self.steps:
            if not step.waited:
                quiet[step.function].append(step.length)
            else:
                wakes[step.function].append(max(step.end - step.awaited, 0))
        all_wakes = [wake for some in wakes.values() for wake in some]
        depths = []
        for step in self.steps:
            step.full = (self.outstanding[step] >= FULL and step.length > LONG
                         and step.length > TIMES_LONGER * median(quiet[step.function] or [step.length]))
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
            job.home = self.timeline_of.get(job.thread)
        homes = {job.home for job in self.jobs if not job.warm_up}
        taken = set()
        for job in self.jobs:
            if job.home is None:  # of a warm-up
                continue
            for name, steps in self.timelines.items():
                mine = [place for place, step in enumerate(steps) if step.job == job.number]
                if name == job.home:
                    place = mine[0] if mine else sum(step.begin < job.begin for step in steps)
                    job.behind = mine[-1] + 1 if mine else place
                    job.part = Part(name, steps[place:job.behind], steps[place].begin - job.begin if mine else 0)
                elif mine and name not in homes:
                    its = [step for step in steps[mine[0]:mine[-1] + 1] if step.job == job.number or (step.job is None and step not in taken)]
                    taken.update(() if job.warm_up else its)
                    job.others.append(Part(name, its, steps[mine[0]].begin - job.begin))
            through = job.part.steps[-1].over if job.part.steps else job.begin
            job.tail = 0 if job.to_last_work else max(job.end - through, 0)
            job.end_at_home = through + job.tail
            earlier = [other for other in self.jobs[:job.number] if other.home == job.home and not other.warm_up]
            job.before, job.lead, job.gap = [], None, 0
            if earlier:
                steps = self.timelines[job.home]
                job.before = steps[earlier[-1].behind:place]
                if job.before:
                    job.gap = min(job.before[0].gap, max(job.before[0].begin - earlier[-1].end_at_home, 0))
                end = earlier[-1].end_at_home
                job.lead = max(job.begin - max(job.before[-1].over if job.before else end, end), 0)
        for home in {job.home for job in self.jobs if job.home is not None}:
            mine = [job for job in self.jobs if job.home == home and not job.warm_up] or [self.jobs[0]]
            leads = [job.lead for job in mine if job.lead is not None]
            mine[0].lead = median(leads or [0])
            for job in mine:
                job.least_lead = min(leads or [0])


def _silent(helper, home):
    few, many = (helper, home) if len(helper) < len(home) else (home, helper)

    def overlaps(step):
        return any((one.end > step.begin) if one.number < step.number else (step.end > one.begin) for one in many)

    return not few or SHARED * sum(map(overlaps, few)) < len(few)
