"""The policies by priority of models/policy/README.md: piv, dprr and pkm, as the SimPy oracle plays them."""
import math

from simpy_inputs import ceil_div, quantity
from simpy_policies import Policy, Quantum


class Piv(Policy):
    def __init__(self, evicted="place"):
        super().__init__()
        self.tail = {"place": False, "tail": True}[evicted]

    def choose(self):
        return min(self.candidates, key=lambda job: (-job.kernel.priority, self.tail and job.wait_since, job.rank))

    def yields(self, turn):
        return True

    def urgency(self, job):
        return job.kernel.priority


class Pkm(Policy):
    def __init__(self, slice="latency", latency="1 ms", block_tasks=1):
        super().__init__()
        self.size = {"latency": self._waves, "block-tasks": lambda kernel: block_tasks}[slice]
        self.latency = quantity(latency)

    def choose(self):
        return min(self.candidates, key=lambda job: (-job.kernel.priority, job.rank))

    def yields(self, turn):
        """Only between kernels: a slice runs to its end."""
        return turn.between

    def urgency(self, job):
        return job.kernel.priority

    def _waves(self, kernel):
        waves = ceil_div(kernel.tasks, kernel.fit)
        return kernel.fit * (max(1, self.latency * waves // kernel.declared) if kernel.declared else 1)

    def block_tasks(self, job):
        return min(self.size(job.kernel), super().block_tasks(job))


class Dprr(Quantum):
    def __init__(self, quota="0.5 ms", quota_priority="static", aging="1 ms", most_aged=20, arrivals="active",
                 arrival_preempts="no", swap="when-empty"):
        super().__init__()
        self.unit, self.aging, self.most_aged = quantity(quota), quantity(aging), most_aged
        self.quota_dynamic = {"static": False, "dynamic": True}[quota_priority]
        self.arrivals_active = {"active": True, "inactive": False}[arrivals]
        self.preempts = {"no": False, "yes": True}[arrival_preempts]
        self.eager = {"when-needed": False, "when-empty": True}[swap]
        self.active, self.inactive = {}, {}  # waiting job -> since when its wait counts
        self.aged, self.rest = {}, {}        # job -> what it keeps after an arrival displaced it
        self.dynamic = {}                    # owner -> the priority that counts
        self.newcomers = set()               # of this instant, in the active queue

    # -- the two queues

    def _enter(self, job, active):
        (self.active if active else self.inactive)[job] = self.env.now

    def _wait(self, job):
        """Begins to wait with a kernel that has not run."""
        super()._wait(job)
        if self.arrivals_active:
            self.newcomers.add(job)

    def _join_at(self, job, place):
        super()._join_at(job, place)
        self.aged[job], self.rest[job] = 0, None
        self._enter(job, self.arrivals_active)

    def _swap(self):
        self.active, self.inactive = self.inactive, self.active
        self.active = dict.fromkeys(self.active, self.env.now)

    def decide(self):
        super().decide()
        self.newcomers.clear()

    # -- choosing

    def _age(self, job):
        return self.aged[job] + (self.env.now - self.active[job] if job in self.active else 0)

    def _priority(self, job):
        return job.kernel.priority + min(self.most_aged, self._age(job) // self.aging)

    def choose(self):
        if not self.active:
            self._swap()
        # Where other GPUs are those that the active ones may use, an inactive one is better than nobody.
        pool = [job for job in self.candidates if job in self.active] or self.candidates
        chosen = min(pool, key=lambda job: (-self._priority(job), job.rank))
        self.dynamic[chosen], self.aged[chosen] = self._priority(chosen), self._age(chosen)
        self.active.pop(chosen, None)
        self.inactive.pop(chosen, None)
        if self.eager and not self.active:
            self._swap()
        return chosen

    def _quota(self, priority):
        return self.unit * (max(priority, 0) + 1)

    def quantum_for(self, job):
        if self.rest[job] is not None:
            return self.rest[job]
        return self._quota(self.dynamic[job] if self.quota_dynamic else job.kernel.priority)

    # -- the owners

    def yields(self, turn):
        return self.preempts

    def urgency(self, job):
        return job.kernel.priority if self.preempts and job in self.newcomers else -math.inf

    def owner_urgency(self, turn):
        return self.dynamic[turn.owner]

    def started(self, job):
        turn = self.turn_of(job)
        if turn and not turn.counts:  # nobody, when evicted before its start and just reported
            turn.since = self.env.now
        super().started(job)

    def renewed(self, turn):
        self.dynamic[turn.owner], turn.since = turn.owner.kernel.priority, self.env.now
        turn.quantum = self._quota(turn.owner.kernel.priority)
        return turn.quantum

    def left(self, launch):
        job = launch.job
        turn = self.turn_of(job)
        if self._stays(turn, launch):
            self.aged[job], self.rest[job] = 0, None
            return
        used = self.env.now - turn.since if turn.since is not None else 0
        displaced, rest = turn.displaced, (turn.quantum or 0) - used
        turn.clear()
        if launch.kernel is not (job.kernel if job.more() else None):
            if job.ready and job.more():
                self._wait(job)
            return
        aged = self.aged[job]
        super()._join_at(job, next(self.places))
        if displaced and rest > 0:
            self.aged[job], self.rest[job] = aged, rest
            self._enter(job, True)
        else:
            self.aged[job], self.rest[job] = 0, None
            self._enter(job, False)


PRIORITY_POLICIES = {"piv": Piv, "dprr": Dprr, "pkm": Pkm}
