"""The policies by priority of models/policy/README.md: piv, dprr and pkm, as the SimPy oracle plays them."""
from simpy_inputs import ceil_div, quantity
from simpy_policies import Policy, Quantum


class Piv(Policy):
    def __init__(self, evicted="place"):
        super().__init__()
        self.tail = {"place": False, "tail": True}[evicted]

    def choose(self):
        return min(self.waiting, key=lambda job: (-job.kernel.priority, self.tail and job.wait_since, job.rank))

    def wants_back(self):
        return max(job.kernel.priority for job in self.waiting) > self.owner.kernel.priority


class Pkm(Policy):
    def __init__(self, slice="latency", latency="1 ms", block_tasks=1):
        super().__init__()
        self.size = {"latency": self._waves, "block-tasks": lambda kernel: block_tasks}[slice]
        self.latency = quantity(latency)

    def choose(self):
        return min(self.waiting, key=lambda job: (-job.kernel.priority, job.rank))

    def wants_back(self):
        """Only between kernels: a slice runs to its end."""
        return self.between and max(job.kernel.priority for job in self.waiting) > self.owner.kernel.priority

    def _waves(self, kernel):
        waves = ceil_div(kernel.tasks, kernel.fit)
        return kernel.fit * max(1, self.latency * waves // kernel.declared)

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
        self.dynamic = self.since = None     # of the owner: the priority that counts, and when it started
        self.displaced = False

    # -- the two queues

    def _join(self, job, active):
        (self.active if active else self.inactive)[job] = self.env.now
        super()._wait(job)

    def _wait(self, job):
        """Begins to wait with a kernel that has not run."""
        self.aged[job], self.rest[job] = 0, None
        self._join(job, self.arrivals_active)
        if self.arrivals_active and self.preempts and self.owner and job.kernel.priority > self.dynamic:
            self.displaced = True

    def _swap(self):
        self.active, self.inactive = self.inactive, self.active
        self.active = dict.fromkeys(self.active, self.env.now)

    # -- choosing

    def _age(self, job):
        return self.aged[job] + self.env.now - self.active[job]

    def _dynamic(self, job):
        return job.kernel.priority + min(self.most_aged, self._age(job) // self.aging)

    def choose(self):
        if not self.active:
            self._swap()
        chosen = min(self.active, key=lambda job: (-self._dynamic(job), job.rank))
        self.aged[chosen], self.dynamic = self._age(chosen), self._dynamic(chosen)
        del self.active[chosen]
        if self.eager and not self.active:
            self._swap()
        return chosen

    def _quota(self, priority):
        return self.unit * (max(priority, 0) + 1)

    def quantum_for(self, job):
        self.since, self.displaced = None, False
        if self.rest[job] is not None:
            return self.rest[job]
        return self._quota(self.dynamic if self.quota_dynamic else job.kernel.priority)

    # -- the owner

    def started(self, job):
        if job is self.owner and not self.counts:  # not the owner, when evicted before its start and just reported
            self.since = self.env.now
        super().started(job)

    def renewed(self):
        self.dynamic, self.since = self.owner.kernel.priority, self.env.now
        self.quantum = self._quota(self.dynamic)
        return self.quantum

    def wants_back(self):
        return self.over or self.displaced

    def left(self, launch):
        job = launch.job
        if self._stays(launch):
            self.aged[job], self.rest[job] = 0, None
            return
        self._nobody()
        if launch.kernel is not (job.kernel if job.more() else None):
            if job.ready and job.more():
                self._wait(job)
            return
        used = self.env.now - self.since if self.since is not None else 0
        if self.displaced and self.quantum > used:
            self.rest[job] = self.quantum - used
            self._join(job, True)
        else:
            self.aged[job], self.rest[job] = 0, None
            self._join(job, False)


PRIORITY_POLICIES = {"piv": Piv, "dprr": Dprr, "pkm": Pkm}
