"""The policy microkernel-rr of sim/memory/README.md, step by step; written from that page."""
from memory_split import has_too_many, split
from simpy_inputs import quantity

LEFT, ARRIVED, STARTED, MOVED = range(4)


class Share:
    """Of a process's kernel. `rest`: block-tasks that were not launched, in order."""

    def __init__(self, process, rest, gpu=None):
        self.process, self.rest, self.gpu = process, rest, gpu
        self.since = None           # its place among those that request
        self.again = None           # the GPU on which it is being saved, if it requests when that is over
        self.launch = None
        self.placed = gpu

    @property
    def job(self):
        return self.process.job


class Process:
    def __init__(self, job):
        self.job, self.shares, self.spare = job, [], []
        self.split = False

    def whole(self):
        """Of a kernel that is to come."""
        self.spare, self.split = [], False
        self.shares = [Share(self, [])]
        return self.shares[0]


class MicrokernelRoundRobin:
    def __init__(self, model, params):
        self.model = model
        self.order = params.get("order", "round-robin")
        self.blocks = params.get("blocks", "declared")
        self.slice = quantity(params.get("slice", "1 s"))
        self.block_tasks = params.get("block_tasks", 1)
        self.ahead = params.get("ahead", 1)
        self.while_room = params.get("keep", "while-alone") == "while-room"
        self.always_yields = params.get("unready", "run-on") == "yield"
        self.splits = params.get("split", "when-idle") == "when-idle"
        self.processes, self.seen, self.entered = {}, {}, 0
        self.yielders = {}

    # --- facts

    def decide(self, facts):
        self.yielders = {}
        for fact in facts:
            job = fact.values["job"]
            if fact.kind == LEFT:
                self.left(fact)
            elif fact.kind == ARRIVED:
                if fact.client not in self.processes:
                    self.processes[fact.client] = Process(job)
                process = self.processes[fact.client]
                if not process.shares:
                    process.whole()
                self.kernel_arrived(process)
            elif fact.kind == MOVED and fact.values["what"] == "saved":
                if fact.client in self.processes and self.processes[fact.client].job is job:
                    self.saved(self.processes[fact.client], fact.gpu)
        self.place()
        if self.splits and self.model.gpus > 1:
            split(self)
        for gpu in range(self.model.gpus):
            self.steps(gpu)

    def request(self, share):
        self.entered += 1
        share.since = self.entered

    def kernel_arrived(self, process):
        process.shares[0].rest = list(range(process.job.kernel.tasks))
        self.request(process.shares[0])

    def left(self, fact):
        launch = fact.values["launch"]
        share, job = launch.share, fact.values["job"]
        process, share.launch = share.process, None
        self.seen[fact.client, fact.values["kernel"].name] = (
            fact.values["kernel"].waves(len(launch.blocks)), self.model.now - launch.started)
        if fact.values["completed"]:
            if not job.kernels_left():
                del self.processes[fact.client]
                self.yielders = {gpu: other for gpu, other in self.yielders.items() if other is not process}
                return
            process.whole()
            if fact.values["more"]:
                self.kernel_arrived(process)
        elif share.rest or process.spare:
            share.rest = share.rest or process.spare.pop()
            self.request(share)
        else:
            process.shares.remove(share)
        self.yielders[fact.gpu] = process

    def saved(self, process, gpu):
        for share in list(process.shares):
            if gpu not in (share.gpu, share.again):
                continue
            if len(process.shares) > 1:
                process.spare.append(share.rest)
                process.shares.remove(share)
                continue
            share.gpu = None
            if share.again == gpu:
                share.again = None
                self.request(share)

    # --- queues

    def place(self):
        """Of those that request, in order: queues have those in them that are before."""
        requesting = self.requesting()
        for share in requesting:
            share.placed = None
        for share in requesting:
            share.placed = self.place_of(share) if share.gpu is None else share.gpu

    def requesting(self):
        return sorted((share for process in self.processes.values() for share in process.shares
                       if share.since is not None), key=self.key)

    def key(self, share):
        job = share.job
        first = 0
        if self.order == "priority":
            first = -job.kernel.priority
        if self.order == "shortest-first":
            first = (job.kernel.tasks - job.done) * job.kernel.declared // job.kernel.tasks
        return first, share.since

    def place_of(self, share):
        job, model = share.job, self.model

        def rank(gpu):
            owner = model.owner[gpu]
            return (job.states[gpu].phase not in ("resident", "restoring"),
                    job.restore_room(gpu, set(range(job.client.blocks))) > model.room(gpu), len(self.queue(gpu)),
                    owner is not None, owner.ordered if owner else 0, gpu)
        return min(range(model.gpus), key=rank)

    def queue(self, gpu):
        return [share for share in self.requesting() if share.placed == gpu]

    # --- the steps

    def steps(self, gpu):
        model, yielder = self.model, self.yielders.get(gpu)
        launched = None
        saves = False   # the yielder, in step 1
        if model.owner[gpu] is None:
            queue = self.queue(gpu)
            ready = [share for share in queue if self.is_ready(share, gpu)]
            if ready and ready[0].process is yielder and (has_too_many(self, yielder) or queue[0] is not ready[0] and (
                    self.always_yields or any(self.short(share, gpu) for share in queue[:queue.index(ready[0])]))):
                saves = True
            elif ready:
                launched = ready[0]
                self.launch(launched, gpu)
        if yielder and not (launched and launched.process is yielder) and yielder.job.states[gpu].phase == "resident":
            queue = self.queue(gpu)
            if self.while_room:
                saves = saves or any(self.short(share, gpu) for share in queue)
            else:
                saves = saves or launched or any(share.process is not yielder for share in queue)
            if saves or has_too_many(self, yielder):
                self.save(yielder, gpu)
        self.prepare(gpu)
        self.make_room(gpu)

    def next_blocks(self, share):
        kernel = share.job.kernel
        if self.blocks == "block-tasks":
            size = self.block_tasks
        elif self.blocks == "declared":
            size = kernel.fit * max(1, self.slice * kernel.waves(kernel.tasks) // kernel.declared)
        else:
            waves = 1
            if (share.job.client.index, kernel.name) in self.seen:
                had, took = self.seen[share.job.client.index, kernel.name]
                waves = max(1, self.slice * had // took)
            size = kernel.fit * waves
        return share.rest[:size]

    def is_ready(self, share, gpu):
        return share.job.ready(gpu, set(self.next_blocks(share)))

    def restored(self, share):
        return set(share.rest) if share.process.split else set(range(share.job.client.blocks))

    def short(self, share, gpu):
        if share not in self.queue(gpu)[:self.ahead] or not self.is_absent(share, gpu):
            return False
        need = share.job.restore_room(gpu, self.restored(share))
        return need > self.model.room(gpu) + self.model.being_saved(gpu)

    def is_absent(self, share, gpu):
        return not share.job.states[gpu].moving() and not self.is_ready(share, gpu)

    def launch(self, share, gpu):
        blocks = self.next_blocks(share)
        launch = self.model.launch(share.job, gpu, blocks)
        launch.share, share.launch = share, launch
        share.rest = share.rest[len(blocks):]
        share.gpu, share.since = gpu, None

    def save(self, process, gpu):
        """Its share that requests there does so again behind that."""
        for share in process.shares:
            if share.since is not None and share.placed == gpu:
                share.since, share.again = None, gpu
        self.model.save(process.job, gpu)

    def prepare(self, gpu):
        for share in self.queue(gpu)[:self.ahead]:
            state = share.job.states[gpu]
            if state.phase == "saving":
                return
            blocks = self.restored(share)
            elsewhere = share.job.unsaved_elsewhere(gpu, blocks)
            if self.is_absent(share, gpu):
                if elsewhere:
                    self.save_on(share.process, elsewhere)
                    return
                if share.job.restore_room(gpu, blocks) > self.model.room(gpu):
                    return
                self.model.restore(share.job, gpu, blocks)

    def save_on(self, process, gpus):
        for gpu in gpus:
            if process.job.states[gpu].phase == "resident" and gpu not in process.job.running:
                self.save(process, gpu)

    def make_room(self, gpu):
        idle = [process for _, process in sorted(self.processes.items())
                if process.job.states[gpu].phase == "resident" and gpu not in process.job.running
                and not any(share.process is process for share in self.queue(gpu))]
        while idle and any(self.short(share, gpu) for share in self.queue(gpu)):
            self.save(idle.pop(0), gpu)
