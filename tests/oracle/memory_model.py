"""Device memory, moves of state and several GPUs: sim/memory/README.md, step by step.

This is the independent oracle of the policies that move memory: written from the pages alone, it shares
nothing with the C++ engine. Sets of blocks are sets, nothing is fast in it.
"""
import collections
import heapq

from channel_clients import Jitter, drawn
from memory_clients import Client, Mechanism
from memory_copies import Copy, Engines
from memory_policy import MicrokernelRoundRobin
from simpy_inputs import ceil_div, quantity

LEFT, ARRIVED, STARTED, MOVED = range(4)
Fact = collections.namedtuple("Fact", "kind client gpu values")
NOT_THERE, RESTORING, RESIDENT, SAVING = "absent", "restoring", "resident", "saving"


class Refused(Exception):
    """An order that is not allowed."""


class State:
    """What one GPU has of a job."""

    def __init__(self):
        self.phase = NOT_THERE
        self.clear()

    def clear(self):
        self.room, self.blocks = 0, set()
        self.out_of_date = False    # its shared dirty variables
        self.changed = False        # likewise, by launches, and not on the host
        self.changed_blocks = set()

    def moving(self):
        return self.phase in (RESTORING, SAVING)


class Launch:
    def __init__(self, job, gpu, blocks, now):
        self.job, self.gpu, self.blocks, self.ordered = job, gpu, blocks, now


class Job:
    def __init__(self, client, number, release, gpus, jitter):
        self.client, self.number, self.release = client, number, release
        self.start = self.finish = None
        self.time_factor = jitter.factor("kernel_time", jitter.kernel_time, client.index, number)
        self.gap_factor = jitter.factor("gap", jitter.gap, client.index, number)
        self.launches = 0
        self.stage, self.eligible = -1, False
        self.given, self.done = set(), 0            # of the current kernel: blocks that were launched, how many ended
        self.kernel_launched = None                 # when it was first
        self.touched = set()                        # blocks that were launched in the job
        self.states = [State() for _ in range(gpus)]
        self.versions = set()                       # GPUs that wrote to shared variables in the current kernel
        self.host_current = True                    # the host has them as of the kernel's beginning
        self.merged = False
        self.running = {}                           # launches by GPU
        self.last_gpu = 0
        self.waits_for_moves = None

    @property
    def kernel(self):
        return self.client.kernels[self.stage]

    def launched(self):
        return self.launches > 0

    def kernels_left(self):
        return self.stage < len(self.client.kernels)

    def restore_blocks(self, gpu, blocks):
        return blocks - self.states[gpu].blocks

    def restore_room(self, gpu, blocks):
        shared = self.client.shared_footprint if self.states[gpu].phase == NOT_THERE else 0
        return shared + self.client.part * len(self.restore_blocks(gpu, blocks))

    def copied_by_restore(self, gpu, blocks):
        """(of the shared variables, of parts)."""
        state, client = self.states[gpu], self.client
        shared = 0
        if state.phase == NOT_THERE:
            shared = client.shared_restore(self.launched())
        elif state.out_of_date:
            shared = client.shared_dirty
        return shared, sum(client.part_restore(block in self.touched) for block in self.restore_blocks(gpu, blocks))

    def unsaved_elsewhere(self, gpu, blocks):
        """GPUs that have changes of what a restore would copy."""
        state = self.states[gpu]
        shared = self.client.shared_dirty and (state.phase == NOT_THERE or state.out_of_date) and not self.host_current
        return [other for other, there in enumerate(self.states) if other != gpu and (
            shared and there.changed or self.client.part_dirty and there.changed_blocks & self.restore_blocks(gpu, blocks))]

    def ready(self, gpu, blocks):
        state = self.states[gpu]
        shared = not (self.client.shared_dirty and state.out_of_date)
        return state.phase == RESIDENT and shared and (not self.client.part or blocks <= state.blocks)


class MemoryModel:
    def __init__(self, workload, device, mechanism, policy):
        self.mechanism = Mechanism(mechanism, device)
        self.clients = [Client(index, spec, device, self.mechanism) for index, spec in enumerate(workload["clients"])]
        self.jitter = Jitter(workload.get("jitter", {}), 1, 0, 0)   # seed, replication and permutation of the experiment
        self.gpus = device.get("gpus", 1)
        self.memory = quantity(device["memory"])
        self.merge = quantity(device["copy"]["merge"]) if "merge" in device["copy"] else None
        self.now, self.agenda, self.entered = 0, [], 0
        self.engines = Engines(device, self.at)
        self.used = [0] * self.gpus
        self.owner = [None] * self.gpus
        self.facts, self.jobs = [], []
        self.current = [None] * len(self.clients)       # jobs whose program runs
        self.released = [collections.deque() for _ in self.clients]
        self.numbers = [0] * len(self.clients)
        self.finished = [0] * len(self.clients)
        self.decisions = 0
        self.policy = MicrokernelRoundRobin(self, policy)

    # --- time

    def at(self, time, do):
        self.entered += 1
        heapq.heappush(self.agenda, (time, self.entered, do))

    def run(self):
        for client in self.clients:
            for time in client.releases():
                self.at(time, lambda now, client=client: self.release(client))
        while self.agenda:
            self.now = self.agenda[0][0]
            self.instant()
        return self

    def instant(self):
        while True:
            while self.agenda and self.agenda[0][0] == self.now:
                heapq.heappop(self.agenda)[2](self.now)
            self.engines.copies_begin(self.now)
            if not self.facts:
                return
            facts, self.facts = sorted(self.facts, key=lambda fact: (fact.kind, fact.client)), []
            self.decisions += 1
            if self.decisions > 100_000:
                raise Refused("too many decisions")
            self.policy.decide(facts)

    def tell(self, kind, job, gpu, **values):
        self.facts.append(Fact(kind, job.client.index, gpu, {"job": job, **values}))

    # --- programs

    def release(self, client):
        job = Job(client, self.numbers[client.index], self.now, self.gpus, self.jitter)
        self.numbers[client.index] += 1
        self.jobs.append(job)
        self.released[client.index].append(job)
        self.perhaps_begin(client)

    def perhaps_begin(self, client):
        if self.current[client.index] or not self.released[client.index]:
            return
        job = self.current[client.index] = self.released[client.index].popleft()
        if client.copy_in:
            self.engines.ask(0, "h2d", Copy(client.index, client.copy_in, lambda: self.next_kernel(job)))
        else:
            self.next_kernel(job)

    def next_kernel(self, job):
        """Returns whether it is eligible at once."""
        job.stage += 1
        job.given, job.done, job.kernel_launched, job.eligible, job.merged = set(), 0, None, False, False
        gap = drawn(job.kernel.gap, job.gap_factor) if job.kernel.gap else 0
        delay = gap + self.mechanism.registration + self.mechanism.message
        if delay:
            self.at(self.now + delay, lambda now: self.arrived(job))
            return False
        if job.stage == 0:
            self.arrived(job)
        job.eligible = True
        return True

    def arrived(self, job):
        job.eligible = True
        self.tell(ARRIVED, job, 0)

    def kernel_over(self, job):
        """All its blocks are done and that was reported; returns whether the job has something to launch at once."""
        job.eligible = False
        last = job.stage == len(job.client.kernels) - 1
        if last:
            job.stage += 1
        through = job.kernel_launched + job.client.kernels[job.stage - last].host_work
        if len(job.versions) > 1 or last:
            job.waits_for_moves = lambda: self.moves_over(job, last, through)
            return self.perhaps_moved(job)
        if job.versions:
            job.host_current = not any(job.states[gpu].changed for gpu in job.versions)
            for gpu, state in enumerate(job.states):
                state.out_of_date = gpu not in job.versions
        job.versions = set()
        return self.program_goes_on(job, last, through)

    def perhaps_moved(self, job):
        if job.waits_for_moves and not any(state.moving() for state in job.states):
            then, job.waits_for_moves = job.waits_for_moves, None
            return then()
        return False

    def moves_over(self, job, last, through):
        if len(job.versions) < 2:
            return self.program_goes_on(job, last, through)
        left = [sum(state.changed for state in job.states)]

        def copied(*_):
            left[0] -= 1
            if left[0] <= 0:
                time = ceil_div(len(job.versions) * job.client.shared_dirty * 10**9, self.merge) if self.merge else 0
                self.at(self.now + time, lambda now: self.merge_over(job, last, through))

        for gpu, state in enumerate(job.states):
            if state.changed:
                self.engines.ask(gpu, "d2h", Copy(job.client.index, job.client.shared_dirty, copied))
        if not left[0]:
            copied()
        return False

    def merge_over(self, job, last, through):
        job.versions, job.host_current, job.merged = set(), True, True
        for state in job.states:
            state.out_of_date, state.changed = True, False
        job.waits_for_moves = lambda: self.moves_over(job, last, through)  # those that were ordered meanwhile
        self.move_over(job)

    def move_over(self, job):
        if self.perhaps_moved(job):
            self.tell(ARRIVED, job, 0)

    def program_goes_on(self, job, last, through):
        then = self.copy_out if last else self.next_kernel
        if through > self.now:
            def late(now):
                if then(job):
                    self.tell(ARRIVED, job, 0)
            self.at(through, late)
            return False
        return then(job)

    def copy_out(self, job):
        copies = []
        if job.client.own_copies:
            copies = [(job.last_gpu, job.client.copy_out)] if job.client.copy_out else []
        else:
            for gpu, state in enumerate(job.states):
                size = job.client.part_output * len(state.blocks)
                if gpu == job.last_gpu and not job.merged:
                    size += job.client.shared_output
                if size:
                    copies.append((gpu, size))
        left = [len(copies)]

        def copied():
            left[0] -= 1
            if left[0] <= 0:
                self.finish(job)

        for gpu, size in copies:
            self.engines.ask(gpu, "d2h", Copy(job.client.index, size, copied))
        if not copies:
            self.finish(job)
        return False

    def finish(self, job):
        job.finish = self.now
        for gpu, state in enumerate(job.states):
            if state.phase != NOT_THERE:
                self.used[gpu] -= state.room
                state.phase = NOT_THERE
                state.clear()
                self.tell(MOVED, job, gpu, what="finished")
        self.current[job.client.index] = None
        self.finished[job.client.index] += 1
        if job.client.think is not None and job.number + 1 < job.client.jobs():
            self.at(self.now + job.client.think, lambda now: self.release(job.client))
        self.perhaps_begin(job.client)

    # --- orders

    def room(self, gpu):
        return self.memory - self.used[gpu]

    def being_saved(self, gpu):
        """Bytes on the GPU of states that are being saved together."""
        return sum(job.states[gpu].room for job in self.current if job and (
            job.states[gpu].phase == SAVING or not job.kernels_left()))

    def restore(self, job, gpu, blocks):
        state = job.states[gpu]
        room, missing = job.restore_room(gpu, blocks), job.restore_blocks(gpu, blocks)
        if state.phase not in (NOT_THERE, RESIDENT) or gpu in job.running or room > self.room(gpu) \
                or job.unsaved_elsewhere(gpu, blocks) or not job.kernels_left():
            raise Refused(f"restore of {job.client.name} on {gpu}: {state.phase}, {room} of {self.room(gpu)}")
        size = sum(job.copied_by_restore(gpu, blocks))
        self.used[gpu] += room
        state.room += room
        state.blocks |= missing
        state.phase, state.out_of_date = RESTORING, False
        message = self.mechanism.message

        def over(now):
            state.phase = RESIDENT
            self.tell(MOVED, job, gpu, what="restored")
            self.move_over(job)

        def copied():
            self.at(self.now + message, over)

        def prepared(now):
            if size:
                self.engines.ask(gpu, "h2d", Copy(job.client.index, size, copied))
            else:
                copied()
        self.at(self.now + message, prepared)

    def save(self, job, gpu):
        state = job.states[gpu]
        if state.phase != RESIDENT or gpu in job.running or not job.kernels_left():
            raise Refused(f"save of {job.client.name} on {gpu}: {state.phase}")
        size = job.client.part_dirty * len(state.changed_blocks)
        size += job.client.shared_dirty if state.changed else 0
        state.phase = SAVING

        def over(now):
            if state.changed and job.versions <= {gpu}:
                job.host_current, job.versions = True, set()
                for other, there in enumerate(job.states):
                    there.out_of_date = other != gpu
            self.used[gpu] -= state.room
            state.phase = NOT_THERE
            state.clear()
            self.tell(MOVED, job, gpu, what="saved")
            self.move_over(job)

        def copied():
            self.at(self.now + self.mechanism.message, over)

        if size:
            self.engines.ask(gpu, "d2h", Copy(job.client.index, size, copied))
        else:
            copied()

    def launch(self, job, gpu, blocks):
        state, blocks = job.states[gpu], set(blocks)
        if self.owner[gpu] or not job.eligible or not job.ready(gpu, blocks) or blocks & job.given or not blocks:
            raise Refused(f"launch of {job.client.name} on {gpu}")
        self.owner[gpu] = job.running[gpu] = launch = Launch(job, gpu, blocks, self.now)
        job.launches += 1
        job.last_gpu = gpu
        job.given |= blocks
        job.touched |= blocks
        if job.kernel_launched is None:
            job.kernel_launched = self.now
        if job.client.shared_dirty:
            state.changed = True
            job.versions.add(gpu)
        if job.client.part_dirty:
            state.changed_blocks |= blocks
            for other, there in enumerate(job.states):
                if other != gpu and there.blocks & blocks:
                    freed = job.client.part * len(there.blocks & blocks)
                    there.blocks -= blocks
                    there.changed_blocks -= blocks
                    there.room -= freed
                    self.used[other] -= freed
        start = self.now + self.mechanism.launch
        end = start + self.mechanism.duration(job.kernel, len(blocks), drawn(job.kernel.time, job.time_factor))
        self.at(start, lambda now: self.started(launch))
        self.at(end + self.mechanism.notice, lambda now: self.left(launch))
        return launch

    def started(self, launch):
        launch.started = self.now
        if launch.job.start is None:
            launch.job.start = self.now
        self.tell(STARTED, launch.job, launch.gpu, launch=launch)

    def left(self, launch):
        job = launch.job
        self.owner[launch.gpu] = None
        del job.running[launch.gpu]
        kernel, stage = job.kernel, job.stage
        job.done += len(launch.blocks)
        completed = job.done == kernel.tasks
        fact = {"launch": launch, "completed": completed, "kernel": kernel, "stage": stage, "more": True}
        self.tell(LEFT, job, launch.gpu, **fact)
        if completed:
            values = self.facts[-1].values
            values["more"] = self.kernel_over(job)
