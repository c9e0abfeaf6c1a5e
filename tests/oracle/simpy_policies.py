"""The policies of models/policy/README.md, as the SimPy oracle plays them."""
import bisect
import itertools
import math

from simpy_inputs import quantity


class Turn:
    """A GPU and its owner, as a policy knows them."""

    def __init__(self, gpu):
        self.gpu, self.number = gpu, gpu.number
        self.clear()

    def clear(self):
        self.owner, self.evicting, self.displaced = None, False, False
        self.between = False   # the owner is between two kernels
        self.late = False      # for too long
        self.back = None       # it has come back: the place that it would have among those that wait
        self.timer = self.linger = None
        self.quantum, self.over, self.counts, self.since = None, False, False, None


class Policy:
    """Who waits, who owns which GPU, and the rules of how GPUs are taken and left."""

    def __init__(self):
        self.waiting, self.candidates, self.turns, self.world = [], [], [], None
        self.places = itertools.count()
        self.linger = 0        # how long an owner may be between two kernels

    def attach(self, world):
        self.world, self.env = world, world.env
        self.turns = [Turn(gpu) for gpu in world.gpus]

    # -- what is told

    def turn_of(self, job):
        return next((turn for turn in self.turns if turn.owner is job), None)

    def left(self, launch):
        turn, job = self.turn_of(launch.job), launch.job
        if self._stays(turn, launch):
            return
        turn.clear()
        if job.ready and job.more():
            self._wait(job)

    def _stays(self, turn, launch):
        """Whether the job keeps the GPU, as it has another kernel behind the one that is complete."""
        job = launch.job
        if not self.linger or turn.evicting or not job.more() or job.kernel is launch.kernel:
            return False
        turn.between, turn.late, turn.back = True, False, next(self.places) if job.ready else None
        if not job.ready:
            turn.linger = self.world.timer(self.linger)
        return True

    def arrived(self, job):
        job.waited = 0
        if job.arrived is None:  # it may come again, for a later kernel
            job.arrived = self.env.now
            job.rank = (job.arrived, job.client.index)  # decides all ties
        turn = self.turn_of(job)
        if turn:
            turn.back = next(self.places)
        else:
            self._wait(job)

    def started(self, job):
        pass

    def awaits(self, timer):
        return any(timer in (turn.timer, turn.linger) for turn in self.turns)

    def rings(self, timer):
        for turn in self.turns:
            turn.late = turn.late or timer is turn.linger
            turn.over = turn.over or timer is turn.timer

    def exited(self, job):
        """Its client is gone, while the job waited."""
        if job in self.waiting:
            self.waiting.remove(job)

    def _wait(self, job):
        self._join_at(job, next(self.places))

    def _join_at(self, job, place):
        job.wait_since, job.place = self.env.now, place
        bisect.insort(self.waiting, job, key=lambda other: other.place)

    # -- the decision

    def decide(self):
        self._take_free()
        provided = self._make_room()
        for turn in self.turns:
            if turn.owner and not turn.evicting:
                self._watch(turn, provided)
        self._take_free()

    def _take_free(self):
        while True:
            free = [turn for turn in self.turns if not turn.owner]
            self.candidates = [job for job in self.waiting if any(may_use(job, turn) for turn in free)]
            if not self.candidates:
                return
            job = self.choose()
            self._launch(job, next(turn for turn in free if may_use(job, turn)))

    def _make_room(self):
        """Each waiting job, the most urgent first, has a GPU that is being vacated or displaces the least urgent owner."""
        provided = set()
        vacated = [turn for turn in self.turns if turn.evicting]
        yielding = {turn: self.owner_urgency(turn) for turn in self.turns
                    if turn.owner and not turn.evicting and self.yields(turn)}
        if not yielding and not any(turn.over for turn in self.turns):
            return provided
        queue = sorted((-self.urgency(job), job.place, job) for job in self.waiting)
        while queue:
            urgency, _, job = queue.pop(0)
            provided.add(job)
            if room := [turn for turn in vacated if may_use(job, turn)]:
                vacated.remove(room[0])
                continue
            weaker = [turn for turn in yielding if may_use(job, turn) and yielding[turn] < -urgency]
            if not weaker:
                provided.discard(job)
                continue
            turn = min(weaker, key=lambda turn: (yielding[turn], turn.number))
            del yielding[turn]
            turn.displaced = True
            if (back := self._vacate(turn)):
                bisect.insort(queue, (-self.urgency(back), back.place, back))
        return provided

    def _watch(self, turn, provided):
        if turn.over:
            turn.over = False
            other = next((job for job in self.waiting if job not in provided and may_use(job, turn)), None)
            if other:
                provided.add(other)
                self._vacate(turn)
                return
            turn.timer = self.world.timer(self.renewed(turn))
        if turn.between and turn.back is not None:
            turn.between, turn.back, turn.linger = False, None, None
            turn.gpu.launch(turn.owner, self.block_tasks(turn.owner))
        elif turn.between and turn.late:
            turn.clear()

    def _vacate(self, turn):
        """The owner has to go; returns it if it had only lingered, and waits now."""
        if not turn.between:
            turn.evicting = True
            turn.gpu.evict()
            return None
        job, place = turn.owner, turn.back
        turn.clear()
        if place is None:
            return None
        self._join_at(job, place)
        return job

    def _launch(self, job, turn):
        self.waiting.remove(job)
        job.waited += self.env.now - job.wait_since
        turn.clear()
        turn.owner = job
        turn.gpu.launch(job, self.block_tasks(job))

    # -- what a policy says

    def block_tasks(self, job):
        """How many block-tasks of the chosen job's kernel are launched."""
        return job.kernel.tasks - job.done

    def choose(self):
        """One of the candidates, who wait and may use a free GPU."""
        raise NotImplementedError

    def yields(self, turn):
        """Whether the owner leaves for a waiting job that is more urgent."""
        return False

    def urgency(self, job):
        return 0

    def owner_urgency(self, turn):
        return self.urgency(turn.owner)

    def renewed(self, turn):
        """The next quantum of an owner for whom nobody waits."""
        raise NotImplementedError


def may_use(job, turn):
    return turn.number in job.client.gpus


class Fcfs(Policy):
    def choose(self):
        return min(self.candidates, key=lambda job: job.rank)


class Declared:
    """`left` and `total` from the times that the workload declares."""

    def learn(self, launch, elapsed):
        pass

    def total(self, job):
        return job.client.total

    def left(self, job):
        kernel = job.kernel
        return (kernel.tasks - job.done) * kernel.declared // kernel.tasks + job.client.later[job.stage]


class Learnt(Declared):
    """The same from the time per block-task that was seen, once one was."""

    def __init__(self):
        self.seen = {}  # kernel (one per client, whatever the job) -> [time, block-tasks]

    def learn(self, launch, elapsed):
        seen = self.seen.setdefault(launch.kernel, [0, 0])
        seen[0] += elapsed
        seen[1] += launch.did

    def _time(self, kernel, tasks):
        time, count = self.seen.get(kernel, (0, 0))
        return tasks * time // count if count else tasks * kernel.declared // kernel.tasks

    def total(self, job):
        return sum(self._time(kernel, kernel.tasks) for kernel in job.client.kernels)

    def left(self, job):
        first, *later = job.client.kernels[job.stage:]
        return (self._time(first, first.tasks - job.done)
                + sum(self._time(kernel, kernel.tasks) for kernel in later))


TIMES = {"given": Declared, "learnt": Learnt}


class Sjf(Policy):
    def __init__(self):
        super().__init__()
        self.times = Declared()

    def choose(self):
        return min(self.candidates, key=lambda job: (self.times.total(job), job.rank))

    def yields(self, turn):
        return True

    def urgency(self, job):
        return -self.times.total(job)


class Srt(Policy):
    def __init__(self, remaining="fresh", time_per_task="given"):
        super().__init__()
        self.fresh, self.times = {"fresh": True, "stale": False}[remaining], TIMES[time_per_task]()

    def left(self, launch):
        self.times.learn(launch, self.env.now - launch.start)
        self.turn_of(launch.job).since = None
        super().left(launch)

    def started(self, job):
        # A launch that was evicted before its start may be reported at that instant, before Started.
        turn = self.turn_of(job)
        if turn and not turn.between:
            turn.since = self.env.now

    def choose(self):
        return min(self.candidates, key=lambda job: (self.times.left(job), job.rank))

    def yields(self, turn):
        return True

    def urgency(self, job):
        return -self.times.left(job)

    def owner_urgency(self, turn):
        left = self.times.left(turn.owner)  # job.done does not move before the report
        if self.fresh and turn.since is not None:
            left = max(left - (self.env.now - turn.since), 0)
        return -left


class Quantum(Policy):
    """Takes a GPU back when a quantum is over and somebody waits, and renews it when nobody does."""

    def _launch(self, job, turn):
        quantum = self.quantum_for(job)
        super()._launch(job, turn)
        turn.quantum = quantum

    def started(self, job):
        turn = self.turn_of(job)
        if turn and not turn.counts:
            turn.counts = True
            turn.timer = self.world.timer(turn.quantum)


class Rr(Quantum):
    def __init__(self, quantum="1 ms"):
        super().__init__()
        self.length = quantity(quantum)

    def choose(self):
        return self.candidates[0]  # facts come in the order in which jobs are to enter the queue

    def quantum_for(self, job):
        return self.length

    def renewed(self, turn):
        return self.length


class Cfs(Quantum):
    LEAST = 1000

    def __init__(self, epoch="4 ms", order="rounds"):
        super().__init__()
        self.epoch, self.order = quantity(epoch), order
        self.choose = {"rounds": self._next_of_round, "cumulative": self._longest_waiting}[order]
        self.round, self.part = [], None

    def _next_of_round(self):
        if not any(job in self.candidates for job in self.round):
            self.round = sorted(self.waiting, key=lambda job: (job.wait_since, job.rank))
            self.part = self.epoch // len(self.round)
        chosen = next(job for job in self.round if job in self.candidates)
        self.round.remove(chosen)
        return chosen

    def _longest_waiting(self):
        now = self.env.now
        self.part = self.epoch // len(self.candidates)
        return min(self.candidates, key=lambda job: (job.wait_since - now - job.waited, job.rank))

    def quantum_for(self, job):
        return max(self.part, self.LEAST)

    def renewed(self, turn):
        return max(self.epoch, self.LEAST)


class Frs(Quantum):
    def __init__(self, denominator="total", minimum_quantum="1 ms", time_per_task="given"):
        super().__init__()
        self.slowdown = {"total": self._by_total, "done": self._by_done}[denominator]
        self.least, self.times = quantity(minimum_quantum), TIMES[time_per_task]()
        self.part = None

    def left(self, launch):
        self.times.learn(launch, self.env.now - launch.start)
        super().left(launch)

    def _by_total(self, job):
        total = self.times.total(job)  # 0: nobody knows it yet
        return (self.env.now - job.arrived + self.times.left(job)) / total if total else math.inf

    def _by_done(self, job):
        left = self.times.left(job)
        done = self.times.total(job) - left
        return (self.env.now - job.arrived + left) / done if done > 0 else math.inf

    def choose(self):
        chosen, self.part = self._greatest(self.candidates)
        return chosen

    def quantum_for(self, job):
        return self.part

    def renewed(self, turn):
        return self._greatest([turn.owner])[1]

    def _greatest(self, jobs):
        """The job of greatest slowdown and its quantum, which the job of least slowdown sets."""
        slowdowns = [(self.slowdown(job), job.rank, job) for job in jobs]
        greatest, _, chosen = min(slowdowns, key=lambda entry: (-entry[0], entry[1]))
        if math.isinf(greatest):
            return chosen, self.least
        least = min(slowdowns)[2]
        waited = self.env.now - least.arrived
        stretch = greatest * self.times.total(least) - self.times.left(least) - waited
        return chosen, max(math.floor(stretch), self.least)


POLICIES = {"fcfs": Fcfs, "sjf": Sjf, "srt": Srt, "rr": Rr, "cfs": Cfs, "frs": Frs}
