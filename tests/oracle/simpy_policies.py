"""The policies of models/policy/README.md, as the SimPy oracle plays them."""
import math

from simpy_inputs import quantity


class Policy:
    """Who waits, who owns the GPU, and the rule that a free GPU is given to somebody who waits."""

    def __init__(self):
        self.waiting, self.owner, self.evicting, self.world = [], None, False, None
        self.linger = 0        # how long an owner may be between two kernels
        self.between = False   # it is
        self.late = False      # too long
        self.back = None       # it has come back: how many had begun to wait before

    def attach(self, world):
        self.world, self.env = world, world.env

    def left(self, launch):
        if self._stays(launch):
            return
        self._nobody()
        if launch.job.ready and launch.job.more():
            self._wait(launch.job)

    def _stays(self, launch):
        """Whether the job keeps the GPU, as it has another kernel behind the one that is complete."""
        job = launch.job
        if not self.linger or self.evicting or not job.more() or job.kernel is launch.kernel:
            return False
        self.between, self.late, self.back = True, False, len(self.waiting) if job.ready else None
        if not job.ready:
            self.world.set_linger(self.linger)
        return True

    def _nobody(self):
        self.owner, self.evicting, self.between, self.back = None, False, False, None
        self.world.timer = self.world.linger = None

    def arrived(self, job):
        job.waited = 0
        if job.arrived is None:  # it may come again, for a later kernel
            job.arrived = self.env.now
            job.rank = (job.arrived, job.client.index)  # decides all ties
        if self.between and job is self.owner:
            self.back = len(self.waiting)
        else:
            self._wait(job)

    def started(self, job):
        pass

    def rings(self, timer):
        if timer is self.world.linger:
            self.late = True
        else:
            self.expired()

    def expired(self):
        pass

    def _wait(self, job):
        job.wait_since = self.env.now
        self.waiting.append(job)

    def decide(self):
        if self.between:
            self._between_kernels()
        if self.owner is None:
            if self.waiting:
                self._launch(self.choose())
        elif self.waiting and not self.evicting and not self.between and self.wants_back():
            self.evicting = True
            self.world.gpu.evict()

    def _between_kernels(self):
        job, place = self.owner, self.back
        if self.waiting and self.wants_back():
            self._nobody()
            if place is not None:
                self._wait(job)
                self.waiting.insert(place, self.waiting.pop())
        elif place is not None:
            self.between, self.back, self.world.linger = False, None, None
            self.world.gpu.launch(job, self.block_tasks(job))
        elif self.late:
            self._nobody()

    def _launch(self, job):
        self.waiting.remove(job)
        job.waited += self.env.now - job.wait_since
        self.owner = job
        self.world.gpu.launch(job, self.block_tasks(job))

    def block_tasks(self, job):
        """How many block-tasks of the chosen job's kernel are launched."""
        return job.kernel.tasks - job.done

    def choose(self):
        raise NotImplementedError

    def wants_back(self):
        """Whether the owner is to be evicted; asked only while somebody waits."""
        return False


class Fcfs(Policy):
    def choose(self):
        return min(self.waiting, key=lambda job: job.rank)


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
    def choose(self):
        return min(self.waiting, key=lambda job: (job.client.total, job.rank))

    def wants_back(self):
        return min(job.client.total for job in self.waiting) < self.owner.client.total


class Srt(Policy):
    def __init__(self, remaining="fresh", time_per_task="given"):
        super().__init__()
        self.fresh, self.times = {"fresh": True, "stale": False}[remaining], TIMES[time_per_task]()
        self.since = None

    def left(self, launch):
        self.times.learn(launch, self.env.now - launch.start)
        self.since = None
        super().left(launch)

    def started(self, job):
        # A launch that was evicted before its start may be reported at that instant, before Started.
        if job is self.owner:
            self.since = self.env.now

    def choose(self):
        return min(self.waiting, key=lambda job: (self.times.left(job), job.rank))

    def wants_back(self):
        mine = self.times.left(self.owner)  # job.done does not move before the report
        if self.fresh and self.since is not None:
            mine = max(mine - (self.env.now - self.since), 0)
        return min(map(self.times.left, self.waiting)) < mine


class Quantum(Policy):
    """Takes the GPU back when a quantum is over and somebody waits, and renews it when nobody does."""

    def __init__(self):
        super().__init__()
        self.over, self.quantum, self.counts = False, None, False

    def _launch(self, job):
        self.quantum, self.over, self.counts = self.quantum_for(job), False, False
        super()._launch(job)

    def started(self, job):
        if job is self.owner and not self.counts:
            self.counts = True
            self.world.set_timer(self.quantum)

    def expired(self):
        if self.waiting:
            self.over = True
        elif self.owner:  # not, when it was reported left at this same instant
            self.world.set_timer(self.renewed())

    def wants_back(self):
        return self.over


class Rr(Quantum):
    def __init__(self, quantum="1 ms"):
        super().__init__()
        self.length = quantity(quantum)

    def choose(self):
        return self.waiting[0]  # facts come in the order in which jobs are to enter the queue

    def quantum_for(self, job):
        return self.length

    def renewed(self):
        return self.length


class Cfs(Quantum):
    LEAST = 1000

    def __init__(self, epoch="4 ms", order="rounds"):
        super().__init__()
        self.epoch, self.order = quantity(epoch), order
        self.choose = {"rounds": self._next_of_round, "cumulative": self._longest_waiting}[order]
        self.round, self.part = [], None

    def _next_of_round(self):
        if not self.round:
            self.round = sorted(self.waiting, key=lambda job: (job.wait_since, job.rank))
            self.part = self.epoch // len(self.round)
        return self.round.pop(0)

    def _longest_waiting(self):
        now = self.env.now
        self.part = self.epoch // len(self.waiting)
        return min(self.waiting, key=lambda job: (job.wait_since - now - job.waited, job.rank))

    def quantum_for(self, job):
        return max(self.part, self.LEAST)

    def renewed(self):
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
        return (self.env.now - job.arrived + self.times.left(job)) / self.times.total(job)

    def _by_done(self, job):
        left = self.times.left(job)
        done = self.times.total(job) - left
        return (self.env.now - job.arrived + left) / done if done > 0 else math.inf

    def choose(self):
        chosen, self.part = self._greatest(self.waiting)
        return chosen

    def quantum_for(self, job):
        return self.part

    def renewed(self):
        return self._greatest([self.owner])[1]

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
