"""A client that plays a recording: its releases, its jobs, what its steps do, and its stays on the GPU."""
import collections
import functools

from recorded_alone import between_ends, host_scale, times_alone
from recorded_forms import forms_of
from recorded_gates import OpenGate
from recorded_hosts import Helper, Home, Job
from recorded_parts import CONTEXT, COPY, EVENT, KERNEL, RECORD, STREAM, WAIT_EVENT, covered
from recorded_slicing import Sliced
from recorded_streams import Context, Stream, Submitted, Wait
from simpy_inputs import quantity, round_half_up, share


class Client:
    def __init__(self, world, index, spec):
        self.world, self.index, self.name = world, index, spec["name"]
        self.priority, self.weight = spec.get("priority", 0), float(spec.get("weight", 1))
        self.may_use, self.gpu, self.places, self.gone = spec.get("gpus"), None, None, False
        asked = spec["recording"]
        asked = {"file": asked} if isinstance(asked, str) else asked
        # Each timeline begins its jobs once.
        self.once = spec.get("once", spec.get("repeat") is None and asked.get("order", "recorded") == "recorded")
        self.asked, self.program = asked, world.program(asked["file"])
        scale = asked.get("scale", {})
        self.kernels_scale, self.host_scale = (share(scale.get(key, 1)) for key in ("kernels", "host"))
        self.busy_unknown = asked.get("busy") == "unknown"
        chosen = [job for job in self.program.jobs if not job.warm_up]
        limits = asked.get("jobs", {})
        self.recorded = chosen[limits.get("from", 0):limits.get("to", len(chosen) - 1) + 1]
        if "alone" in asked:
            self.host_scale = host_scale(type(world), self, quantity(asked["alone"]))
        self.contexts = [Context(self, number) for number in range(len(self.program.contexts))]
        self.streams = []
        for context, _ in self.program.streams:
            self.streams.append(Stream(world, self, self.contexts[context]))
            self.contexts[context].streams.append(self.streams[-1])
        self.events, self.crowded, self.works, self.emptied = {}, [], 0, 0
        self.open_jobs, self.jobs = [], []
        self.staying = None     # the job that has a stay which does not pause
        self.hosts = {}
        for place, name in enumerate(self.program.timelines):
            mine = [job for job in self.recorded if job.home == name]
            self.hosts[name] = Home(world, self, place, mine) if mine else Helper(world, self, place)
        self.gate = OpenGate()
        self.forms = forms_of(asked, self.program, self.kernels_scale, world.device)
        self._releases(spec)

    @functools.cached_property
    def busy(self):
        """The mean time in which works of a job are present."""
        used = [[(work.begin, work.end) for part in (job.part, *job.others) for step in part.steps for work in step.works]
                for job in self.recorded]
        mean = sum(map(covered, used)) // len(used)
        return mean if self.kernels_scale == 1 else round_half_up(mean * self.kernels_scale)

    @functools.cached_property
    def times_alone(self):
        """Of its recorded jobs by number: begin and end."""
        return times_alone(type(self.world), self, self.world.device)

    @functools.cached_property
    def lengths(self):
        return {number: end - begin for number, (begin, end) in self.times_alone.items()}

    @property
    def alone(self):
        """A job's mean standalone time, which policies know."""
        return sum(self.lengths.values()) // len(self.lengths)

    def between_releases(self):
        """The mean time from one job to the next."""
        if "releases" in self.repeat:
            times = [quantity(time) for time in self.repeat["releases"]]
            return (times[-1] - times[0]) / len(times)
        if "period" in self.repeat:
            return quantity(self.repeat["period"])
        if self.think is not None:
            return self.alone + self.think
        return between_ends(list(self.times_alone.values()))

    # -- releases

    def _releases(self, spec):
        self.repeat = repeat = spec.get("repeat") or {"jobs": len(self.recorded)}
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
        self.gate.program_begins(self._begin)

    def _begin(self):
        for host in self.hosts.values():
            if isinstance(host, Home):
                host.begin_first()

    def _new_job(self):
        self.jobs.append(Job(self, len(self.jobs), self.world.now))
        self.places.place(self)
        return self.jobs[-1]

    def _release(self):
        if self.gone:
            return
        job = self._new_job()
        self.released.append(job)
        self.gate.job_released(job)
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
            self.begun += 1
            begins(self._new_job())
            return
        self.waiting.append(begins)
        self._match()

    def _match(self):
        while self.waiting and self.released:
            self.begun += 1
            self.waiting.popleft()(self.released.popleft())

    # -- the end of it

    def has_jobs(self):
        return not self.gone and not (self.none_left() and all(job.finish is not None for job in self.jobs))

    def through(self):
        """Whether all its jobs are over, none is to come, and nothing of it goes on."""
        return not self.has_jobs() and not self.works and not self.crowded and all(host.idle for host in self.hosts.values())

    def refused(self):
        if self.own_pace:
            self._new_job()

    def vanish(self, outcome):
        self.gone = True
        for job in self.jobs:
            job.lost = outcome if job.finish is None else None
        for stream in self.streams:
            stream.vanish()
        for engine in self.gpu.engines:
            engine.leave(self)
        self.crowded, self.works = [], 0

    # -- jobs

    def opens(self, job, recorded):
        job.recorded, job.is_open, job.begin = recorded, True, self.world.now
        job.parts = 1 + len(recorded.others)
        self.open_jobs.append(job)

    def part_over(self, job):
        job.parts -= 1
        if job.parts:
            return
        last = [work for work in job.works if not work.over]
        needs_all = job.recorded.to_last_work
        if not self.holds(job) and not (needs_all and last):
            self._over(job)
            return

        def over():
            if not self.holds(job) and not (needs_all and not all(work.over for work in last)):
                self._over(job)
                return True
            return False

        self.world.await_over(last, over)

    def _over(self, job):
        job.finish, job.is_open = self.world.now, False
        self.open_jobs.remove(job)
        if self.staying is job:
            self.staying = None
        self.gate.job_over(job)
        if self.think is not None and (self.limit is None or len(self.jobs) < self.limit):
            self.world.at(self.world.now + self.think, self._release)

    # -- its stay on the GPU

    def look(self):
        """At the end of an instant."""
        running = [kernel.job for context in self.contexts for kernel in context.kernels() if kernel.running]
        if not running:
            self.staying = None
        elif self.staying is None and self.open_jobs:
            self.staying = next((job for job in self.open_jobs if job in running), self.open_jobs[0])
            if self.staying.start is None:
                self.staying.start = self.world.now

    # -- steps

    def host(self, time):
        return time if self.host_scale == 1 else round_half_up(time * self.host_scale)

    def _length(self, work):
        if work.kind == COPY or self.kernels_scale == 1:
            return work.length
        return round_half_up(work.length * self.kernels_scale)

    def _submitted(self, step, work, job):
        inside = min(work.launch, step.own)
        due = self.world.now + work.launch - inside + self.host(inside)
        stream, length = self.streams[work.stream], self._length(work)
        form = self.forms.get(work.shape) if work.kind == KERNEL and job else None
        if not form or not self._in_force(form):
            return Submitted(stream, work, due, length, job)
        if self.gate.slices:
            return Sliced(stream, work, due, length, job, form)
        return Submitted(stream, work, due, form.length(length), job, form)

    def _in_force(self, form):
        return self.gate.slices or self.gate.early and form.leaves_early

    def kernels_give_way(self):
        """Whether some can leave early or are sliced."""
        return any(self._in_force(form) for form in self.forms.values())

    def holds(self, job):
        """Whether kernels of the job keep it from being over."""
        return any(stream.holds(job) for stream in self.streams) or any(work.sliced and not work.over for work in job.works)

    def on_device(self):
        """How much of it is on the GPU or queued, and does not stand still."""
        return self.works - sum(stream.works for stream in self.streams if stream.stands_still())

    def _behind_null(self, stream):
        """Puts the next entry of a stream behind what it waits for by its kind."""
        targets = [entry for other in self.program.null_of(stream) for entry in self.streams[other].given()]
        if targets:
            self.streams[stream].put(Wait(self.streams[stream], targets))

    def submit(self, step, job):
        """What a step does when it begins; returns what its host waits for."""
        for work in step.works:
            self._behind_null(work.stream)
            entry = self._submitted(step, work, job)
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
            if all(stream.has_room() for stream in streams):
                self.crowded.remove(entry)
                begin()
