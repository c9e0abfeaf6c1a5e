"""Streams, their contexts and the copy engines: "Streams" of sim/recorded/README.md."""
import collections
import itertools

from simpy_inputs import ceil_div

PARTS = 5040  # of a copy's speed
ROOM = 256    # for works behind a kernel with a form


class Entry:
    """What stands in a stream: work, or a wait."""

    def __init__(self, stream):
        self.stream, self.over, self.waiters = stream, False, []
        self.at_head = None


class Submitted(Entry):
    """A work, as it is played."""

    sliced = False

    def __init__(self, stream, work, due, length, job, form=None):
        super().__init__(stream)
        self.form, self.length = form, length
        self.rest = None       # of it, once it has left
        self.away = False      # it has left
        self.turn = 0          # of its ends that are planned the last one counts
        self.work, self.due, self.job = work, due, job
        self.begin = None      # when it may begin
        self.since = None      # it has run since then
        self.began = None      # it first ran
        self.left, self.stopped = length, False
        self.parts = length * PARTS

    @property
    def is_kernel(self):
        return not self.work.copies

    @property
    def running(self):
        return self.since is not None

    def ready(self):
        """Whether its context is, because of it."""
        return self.is_kernel and self.due <= self.stream.world.now and not self.away

    def stands_still(self):
        return self.away

    def may_run(self):
        """Of a head whose time has come."""
        return not self.away

    def run(self):
        """A kernel begins, or goes on."""
        self.begins()
        self._plan()
        if self.flagged and self.rest is None:
            self.leave()

    def begins(self):
        since = self.stream.world.now
        self.since, self.stopped = since, False
        self.began = since if self.began is None else self.began

    def _plan(self):
        self.turn += 1

        def end(turn=self.turn):
            if self.turn == turn and not self.over:
                self._end()

        self.stream.world.at(self.stream.world.now + self.left, end)

    def _end(self):
        if self.rest is None:
            self.stream.ends(self)
        else:
            self._gone()

    def stop(self):
        self.left -= self.stream.world.now - self.since
        self.since, self.stopped = None, True
        self.turn += 1

    # -- it leaves before its end

    @property
    def flagged(self):
        flag = self.stream.client.gate.flag
        return self.form is not None and flag is not None and flag is self.job

    def leave(self):
        """It sees the flag."""
        now = self.stream.world.now
        leaves = self.form.leaves(self.length, self.length - self.left + now - self.since)
        if leaves is None:
            return
        self.left, self.rest = leaves
        self.since = now
        self._plan()

    def _gone(self):
        self.left, self.rest, self.since, self.away = self.rest, None, None, True
        if self.stream.client.gate.flag is None:
            self.comes_back()

    def comes_back(self):
        self.away, self.begin = False, self.stream.world.now
        self.stream.world.touch(self.stream)


class Wait(Entry):
    def __init__(self, stream, targets):
        super().__init__(stream)
        self.targets = targets

    def stands_still(self):
        return any(not target.over and target.stream.stands_still() for target in self.targets)


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
            self.world.at(max(entry.due, self.world.now), lambda: None)  # it may be behind another, and of interest all the same
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
            if now >= head.begin and not head.running and head.may_run():
                self._begin(head)
            return

    def _look(self):
        self.world.touch(self)

    def _begin(self, head):
        if head.is_kernel:
            if self.context.on:
                self.client.gpu.slices.could_begin(head)
        else:
            head.since = self.world.now
            self.client.gpu.engines[head.work.to_host].enter(head)

    def ends(self, head):
        assert self.queue[0] is head
        self.queue.popleft()
        self.last_end = self.world.now
        self.works -= 1
        self.client.works -= 1
        self.client.emptied = self.world.now
        self.world.over(head)
        self.world.touch(self)

    def vanish(self):
        if self.queue and isinstance(self.queue[0], Submitted):
            self.queue[0].since = None
            self.queue[0].turn += 1
        self.queue.clear()
        self.works = 0

    def ready(self):
        head = self.queue[0] if self.queue else None
        return isinstance(head, Submitted) and head.ready()

    def stands_still(self):
        """Whether nothing of it goes on before a kernel does that has left, or is to be launched."""
        return bool(self.queue) and self.queue[0].stands_still()

    def has_room(self):
        """For another work."""
        depth = self.client.program.depth
        if depth is not None and self.works >= depth:
            return False
        forms = [entry.form for entry in self.queue if isinstance(entry, Submitted)]
        return len(list(itertools.dropwhile(lambda form: not form, forms))) <= ROOM

    def left(self):
        """Whether what is at the head has left."""
        return bool(self.queue) and getattr(self.queue[0], "away", False)

    def holds(self, job):
        """Whether a kernel of the job has left, or is about to, or comes behind one that has."""
        leaves = self.left() or bool(self.queue) and getattr(self.queue[0], "rest", None) is not None
        return leaves and any(getattr(entry, "job", None) is job for entry in self.queue)

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

    def leave(self, client):
        self._advance()
        self.copies = [copy for copy in self.copies if copy.stream.client is not client]
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
