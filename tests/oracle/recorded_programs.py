"""Random recordings, as `gangway record` could have made them: made-up programs, played on a made-up GPU."""
from recorded_files import COPIES, GRAPHS, LAUNCHES, MEMSETS, Recorder
from recorded_parts import (BLOCKING, CONTEXT, COPY, CUT, DEVICE, EVENT, GRAPH, KERNEL, MEMSET, NON_BLOCKING, NULL, NVTX,
                            PAGEABLE, PINNED, QUERY, STREAM, SYNC, WHOLE)


class Thread:
    def __init__(self, number):
        self.number, self.time, self.script, self.waits, self.calls = number, 0, [], False, []


class DrawnProgram:
    """A made-up program on a made-up GPU. Whoever waits does so for what CUDA would make it wait for."""

    def __init__(self, draw, without=()):
        self.draw, self.without = draw, without
        self.grid = draw.choice([1, 1, 10, 100, 1000])
        self.rule = draw.choice(["sync", "sync", "sync", "nvtx", "nvtx", "whole", "cut"])
        self.rule = "sync" if self.rule in without else self.rule
        self.depth = draw.randint(256, 270) if draw.random() < 0.07 and "full" not in without else None
        self.homes = 2 if draw.random() < 0.2 and self.rule != "whole" and "homes" not in without else 1
        # Jobs cut by device time have no calls of other threads.
        helpers = draw.choice([0, 0, 0, 1, 1, 2]) if "helpers" not in without and self.rule != "cut" else 0
        # Two threads whose work only a third one submits.
        self.mute = self.homes == 2 and self.rule == "nvtx" and "mute" not in without and draw.random() < 0.5
        helpers = 1 if self.mute else helpers if self.homes == 1 else 0
        contexts = 2 if draw.random() < 0.15 and "contexts" not in without else 1
        streams = []
        for _ in range(draw.randint(1, 4)):
            kind = draw.choice([NON_BLOCKING, NON_BLOCKING, BLOCKING, BLOCKING, NULL])
            context = draw.randrange(contexts)
            if kind == NULL and (context, NULL) in streams:
                kind = BLOCKING
            streams.append((context, kind))
        self.recorder = Recorder(streams, self.homes + helpers, contexts)
        self.recorder.launches = [(f"_Z{place}kv", draw.choice([1, 7, 40, draw.randint(1, 500)]), draw.choice([32, 128, 256, 1000, 1024]),
                                   draw.choice([16, 23, 40, 64])) for place in range(draw.randint(1, 3))]
        if self.grid == 10:  # so many blocks that several count as one
            self.recorder.launches = [(name, 400 * blocks if blocks == 40 else blocks, *rest) for name, blocks, *rest in self.recorder.launches]
        if draw.random() < 0.5:
            self.recorder.nodes = [(draw.randrange(len(self.recorder.launches)), draw.randrange(40_000))
                                   for _ in range(draw.randint(1, 4))]
        self.threads = [Thread(number) for number in range(self.recorder.threads)]
        self.helpers = self.threads[self.homes:]
        self.silent = {helper.number: self.mute or draw.random() < 0.5 for helper in self.helpers}
        self.front, self.events = [None] * len(streams), {}
        self.outstanding = [[] for _ in streams]
        self.launch, self.behind, self.wake = self.near(5_000), self.near(1_200), self.near(4_000)

    # -- times

    def near(self, time, spread=0.5):
        return self.snap(time * self.draw.uniform(1 - spread, 1 + spread))

    def snap(self, time):
        return max(round(time / self.grid), 0) * self.grid

    def short(self):
        return self.snap(self.draw.choice([0, 300, 1_000, 2_000, 5_000, 12_000]) * self.draw.choice([1, 1, self.draw.random()]))

    def lasts(self):
        if self.draw.random() < 0.03:
            return 0
        return self.snap(self.draw.choice([800, 4_000, 15_000, 60_000]) * self.draw.choice([1, self.draw.random()]))

    # -- what the program does

    def record(self):
        """The recording, as a Recorder."""
        for home in self.threads[:self.homes]:
            home.time = self.short()
            for number in range(self.draw.randint(2, 5)):
                if number or self.draw.random() < 0.5:
                    home.script += [("between", None)] * (0 if self.mute else self.draw.choice([0, 0, 1, 2]))
                final = [("final", None)] if self.rule == "sync" else []
                home.script += [("begin", None)] + self.body() + final + [("end", None)]
            home.script += [("between", None)] * (0 if self.mute else self.draw.choice([0, 0, 1]))
        for helper in self.helpers:
            if not self.silent[helper.number]:
                helper.time = self.snap(self.draw.uniform(0, 200_000))
                helper.script = self.body(12, waits=False)
        while True:
            able = [thread for thread in self.threads if thread.script and not thread.waits]
            if not able:
                break
            self.do(self.next_of(able))
        self.cut()
        return self.recorder

    def next_of(self, able):
        for thread in able:
            if not hasattr(thread, "gap"):
                thread.gap = self.short() if thread.script[0][0] not in ("begin", "end") else 0
        return min(able, key=lambda thread: (thread.time + thread.gap, thread.number))

    def body(self, most=7, waits=True):
        if self.mute and waits:
            return [("hand over", None)] * self.draw.randint(1, 3)
        operations = ["kernel"] * 6 + ["graph", "memset", "copy", "copy", "copy", "batch", "record", "record", "wait_event",
                                       "other"]
        if waits and self.rule != "cut":
            operations += ["wait", "wait", "query"]
        if self.helpers and waits:
            operations += ["hand over"]
        if self.depth and waits and self.draw.random() < 0.6:
            return [("flood", None)] * (self.depth + self.draw.randint(5, 40))
        return [(self.draw.choice(operations), None) for _ in range(self.draw.randint(1, most))]

    def do(self, thread):
        operation, detail = thread.script.pop(0)
        begin = thread.time = thread.time + thread.gap  # whoever is handed to goes on from here
        del thread.gap
        draw = self.draw
        if operation == "begin":
            thread.first, thread.open_since = len(thread.calls), None
            thread.calls_of_job = []
            thread.in_job = True
            if self.rule == "nvtx":
                thread.time = thread.open_since = begin + self.short()
            # The first call is a submission.
            if not self.mute:
                thread.script.insert(0, ("kernel", None))
            return
        if operation == "end":
            self.end_job(thread, begin)
            return
        if operation == "hand over":
            silent = [helper for helper in self.helpers if self.silent[helper.number] and not helper.script]
            if not silent:
                return
            helper = draw.choice(silent)
            helper.time, thread.waits = max(helper.time, begin), True
            helper.script = self.body(4, waits=False) + [("hand back", thread)]
            return
        if operation == "hand back":
            detail.waits, detail.time = False, max(detail.time, thread.time)
            return
        if operation == "between":
            operation = draw.choice(["other", "other", "record", "wait", "kernel", "copy"])
            operation = "kernel" if operation == "wait" and self.rule == "cut" else operation
        call = getattr(self, "do_" + operation)(thread, begin)
        if call is not None:
            thread.calls.append(call)
            _, _, start, length = self.recorder.calls[call]
            thread.time = start + length
            if getattr(thread, "in_job", False):
                thread.calls_of_job.append(call)

    def end_job(self, thread, begin):
        recorder, calls = self.recorder, thread.calls_of_job
        thread.in_job = False
        if self.rule == "whole":
            return
        first = None if self.mute else recorder.calls[calls[0]][2]
        if self.rule == "nvtx":
            end = max(thread.time + self.short(), thread.open_since + self.grid)
            recorder.job(thread.open_since, end - thread.open_since, calls, NVTX, thread.number)
            thread.time = end
        elif self.rule == "sync":
            recorder.job(first, thread.time - first, calls, SYNC, thread.number)
        else:
            works = [work for work in recorder.works if work[0] in set(calls)]
            last = max(work[0] for work in works)
            calls = [call for call in calls if call <= last]
            end = max([recorder.calls[last][2] + recorder.calls[last][3]]
                      + [recorder.calls[last][2] + work[4] + work[5] for work in works if work[0] == last])
            recorder.job(first, end - first, calls, CUT, thread.number)

    def cut(self):
        """Gives the calls of helpers to the jobs that are under way."""
        recorder = self.recorder
        if self.rule == "whole":
            first = recorder.works[0][0]
            begin = recorder.calls[first][2]
            end = max(recorder.calls[work[0]][2] + work[4] + work[5] for work in recorder.works)
            recorder.job(begin, end - begin, [call for call in range(first, len(recorder.calls)) if recorder.calls[call][2] <= end],
                         WHOLE, None)
            return
        for helper in self.helpers:
            for call in helper.calls:
                _, _, begin, length = recorder.calls[call]
                for job in recorder.jobs:
                    if job[0] <= begin and begin + length <= job[0] + job[1]:
                        job[4].append(call)

    # -- the GPU

    def ordered(self, stream):
        context, kind = self.recorder.streams[stream]
        wanted = {BLOCKING: NULL, NULL: BLOCKING}.get(kind)
        return [self.front[other] for other, (place, its) in enumerate(self.recorder.streams)
                if place == context and its == wanted and self.front[other] is not None]

    def submit(self, call, stream, kind=KERNEL, transfer=None, lasts=None):
        begin = self.recorder.calls[call][2]
        launch = self.draw.choice([self.launch, self.near(self.launch)])
        behind = self.draw.choice([self.behind, self.near(self.behind)])
        follows = self.ordered(stream) + ([] if self.front[stream] is None else [self.front[stream]])
        runs = max([begin + launch] + [time + behind for time in follows])
        lasts = self.lasts() if lasts is None else lasts
        self.recorder.work(call, stream, runs, lasts, kind, transfer)
        self.front[stream] = runs + lasts
        self.outstanding[stream].append(runs + lasts)
        return runs + lasts

    # -- calls

    def stream(self):
        return self.draw.randrange(len(self.front))

    def do_other(self, thread, begin):
        return self.recorder.call(begin, self.short(), 0, thread.number)

    def do_kernel(self, thread, begin):
        call = self.recorder.call(begin, self.near(1_500), LAUNCHES, thread.number)
        self.submit(call, self.stream())
        return call

    def do_flood(self, thread, begin):
        stream, length = 0, self.near(1_500, 0.1)
        waiting = sorted(end for end in self.outstanding[stream] if end > begin)
        if len(waiting) >= self.depth:
            length = max(length, waiting[len(waiting) - self.depth] - begin + length)
        call = self.recorder.call(begin, length, LAUNCHES, thread.number)
        self.submit(call, stream, lasts=self.near(30_000))
        return call

    def do_graph(self, thread, begin):
        call = self.recorder.call(begin, self.near(3_000), GRAPHS, thread.number)
        self.submit(call, self.stream(), GRAPH)
        return call

    def do_memset(self, thread, begin):
        call = self.recorder.call(begin, self.near(1_000), MEMSETS, thread.number)
        self.submit(call, self.stream(), MEMSET)
        return call

    def do_copy(self, thread, begin):
        draw = self.draw
        transfer = draw.choice([(PAGEABLE, DEVICE, 0), (PINNED, DEVICE, 0), (PINNED, DEVICE, 1), (PAGEABLE, DEVICE, 1),
                                (DEVICE, PAGEABLE, 0), (DEVICE, PINNED, 0), (DEVICE, PAGEABLE, 1), (DEVICE, PINNED, 1),
                                (DEVICE, DEVICE, 0), (DEVICE, DEVICE, 1)])
        own = self.near(2_000)
        call = self.recorder.call(begin, own, COPIES, thread.number)
        end = self.submit(call, self.stream(), COPY, transfer)
        waits = transfer[1] == PAGEABLE or not transfer[2] and (transfer[1] == PINNED or draw.random() < 0.5)
        if waits:
            self.recorder.calls[call][3] = max(own, end + self.near(self.wake) - begin)
        return call

    def do_batch(self, thread, begin):
        call = self.recorder.call(begin, self.near(3_000), COPIES, thread.number)
        transfer = self.draw.choice([(PINNED, DEVICE, 1), (DEVICE, PINNED, 1), (DEVICE, DEVICE, 1)])
        stream = self.stream()
        for _ in range(self.draw.randint(2, 3)):
            self.submit(call, stream, COPY, transfer)
        return call

    def do_record(self, thread, begin):
        stream = self.stream()
        call = self.recorder.record(begin, self.near(600), stream, thread.number)
        self.front[stream] = max(self.ordered(stream) + [self.front[stream] or 0]) or None
        self.events[call] = self.front[stream]
        return call

    def event(self):
        if not self.events:
            return None
        return self.draw.choice(list(self.events)[-4:])

    def do_wait_event(self, thread, begin):
        event, stream = self.event(), self.stream()
        if event is None:
            return self.do_other(thread, begin)
        call = self.recorder.wait_event(begin, self.near(500), stream, event, thread.number)
        self.front[stream] = max(self.front[stream] or 0, self.events[event] or 0) or None
        return call

    def target(self, whole):
        """What a host waits for, as (kind, place, recorded), and until when."""
        draw, fronts = self.draw, self.front
        choice = draw.choice(["context", "stream", "event"]) if not whole else "context"
        event = self.event()
        if choice == "event" and event is not None:
            return (EVENT, None, event), self.events[event]
        if choice == "stream" or choice == "event":
            stream = self.stream()
            return (STREAM, stream, None), fronts[stream]
        context = draw.randrange(self.recorder.contexts)
        return (CONTEXT, context, None), max([front or 0 for front, (place, _) in zip(fronts, self.recorder.streams)
                                              if place == context], default=0) or None

    def do_wait(self, thread, begin, whole=False):
        order, until = self.target(whole)
        length = self.near(1_000)
        if until is not None and until > begin:
            length = max(length, until + self.near(self.wake) - begin)
        return self.recorder.wait(begin, length, *order, thread=thread.number)

    def do_final(self, thread, begin):
        return self.do_wait(thread, begin, whole=True)

    def do_query(self, thread, begin):
        order, until = self.target(False)
        begin = max(begin, self.recorder.calls[-1][2] if self.recorder.calls else 0)
        if order[0] == CONTEXT:
            return self.do_other(thread, begin)
        if until is not None and until > begin:
            # Asked until then. Nobody else may have called in between.
            if any(other is not thread and other.script for other in self.threads):
                return self.do_other(thread, begin)
            begin = until + self.short()
        call = self.recorder.call(begin, self.near(400), QUERY, thread.number)
        self.recorder.order(call, *order)
        return call


def draw_recording(draw, path, without=()):
    """Writes a random recording; returns how many of its jobs are no warm-up."""
    recorder = DrawnProgram(draw, without).record()
    skip = draw.choice([0, 0, 1]) if len(recorder.jobs) > 1 else 0
    recorder.write(path, skip)
    return len(recorder.jobs) - skip
