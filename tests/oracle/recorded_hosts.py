"""Jobs and host threads: "How it is put together again" of sim/recorded/README.md."""
import collections

from simpy_inputs import round_half_up


class Job:
    def __init__(self, client, number, release):
        self.client, self.number, self.release = client, number, release
        self.recorded = self.begin = self.start = self.finish = None
        self.parts = 0         # that are not over
        self.works = []        # that were submitted
        self.is_open, self.lost = False, None

    @property
    def outcome(self):
        if self.lost:
            return self.lost
        return "finished" if self.finish is not None else "unfinished"

    @property
    def alone(self):
        """How long it takes with nothing else on the machine."""
        lengths = self.client.lengths
        homes = {job.home for job in self.client.recorded}
        if self.recorded is None and self.client.own_pace or len(homes) > 1 and not self.client.own_pace:
            return sum(lengths.values()) // len(lengths)
        recorded = self.recorded or self.client.recorded[self.number % len(self.client.recorded)]
        return lengths[recorded.number]


class Host:
    """A timeline, as it is played."""

    def __init__(self, world, client, place):
        self.world, self.client, self.place = world, client, place
        self.parts, self.busy = collections.deque(), False     # of jobs that begin elsewhere
        self.slow = 0                                          # host time that is slow yet

    def at(self, time, action):
        self.world.at(time, lambda: self.client.gone or action(), self)

    # Host time after a wait at the gate.

    def cool(self, waited):
        _, after, share, most = self.world.cooling
        self.slow = max(self.slow, min(most, round_half_up(max(waited - after, 0) * share)))

    def time(self, recorded):
        time = self.client.host(recorded)
        slow = min(time, self.slow)
        self.slow -= slow
        return time - slow + round_half_up(slow * self.world.cooling[0])

    # A list of steps: each begins `gap` after the one before.

    def play(self, steps, job, begin, then, place=0):
        """Plays the steps, the first of which begins at `begin`; `then` is told when the last one ends, as soon as that is known."""
        def ended(end):
            following = place + 1
            if following < len(steps):
                self.play(steps, job, end + self.time(steps[following].gap), then, following)
            else:
                then(end)

        self.at(begin, lambda: self._come(steps[place], job, ended))

    def _come(self, step, job, ended):
        if not step.works:
            self._begin(step, job, ended)
            return
        came = self.world.now

        def passes():
            self.cool(self.world.now - came)
            self._behind_gate(step, job, ended)

        self.client.gate.come(self, job, passes)

    def _behind_gate(self, step, job, ended):
        streams = {self.client.streams[work.stream] for work in step.works}
        if all(stream.has_room() for stream in streams):
            self._begin(step, job, ended)
            return
        self.client.crowded.append((self.world.now, self.place, streams, lambda: self._begin(step, job, ended)))

    def _begin(self, step, job, ended):
        world, client, begin = self.world, self.client, self.world.now
        targets = client.submit(step, job)
        targets = [target for target in targets if not target.over]
        own = self.time(step.own)
        if step.works and job is not None and client.gate.limited():
            own += client.gate.cost_of_limit()
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
        self.jobs, self.next, self.idle = jobs, 0, True     # idle: it waits for a job, if for anything

    def begin_first(self):
        self._wants(self.jobs[0])

    def _wants(self, recorded):
        self.idle = True
        self.client.wants(self, lambda job: self._job(job, recorded))

    def _job(self, job, recorded):
        world, client, self.idle = self.world, self.client, False
        client.opens(job, recorded)
        part = recorded.part
        for other in recorded.others:
            client.hosts[other.timeline].add(other, job, world.now)

        def last_step_over(end):
            self.at(end + client.host(recorded.tail), part_over)

        def part_over():
            client.part_over(job)
            self._through()

        if part.steps:
            self.play(part.steps, job, world.now + client.host(part.head), last_step_over)
        else:
            last_step_over(world.now)

    def _through(self):
        if self.client.none_left() or self.client.once and self.next + 1 == len(self.jobs):
            self.idle = True
            return
        self.next = (self.next + 1) % len(self.jobs)
        recorded, client, world = self.jobs[self.next], self.client, self.world

        def lead(end):
            length = recorded.lead if client.own_pace else recorded.least_lead
            self.at(end + client.host(length), lambda: self._wants(recorded))

        if recorded.before:
            self.play(recorded.before, None, world.now + self.time(recorded.gap), lead)
        else:
            lead(world.now)


class Helper(Host):
    """A timeline that only has parts of jobs of others."""

    @property
    def idle(self):
        return not self.busy and not self.parts

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
