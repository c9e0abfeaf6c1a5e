"""What a trace tells of the device's own queues and of the blocks on its SMs."""
import itertools
from collections import defaultdict
from dataclasses import dataclass

from gangway.drawing import timeline
from gangway.drawing.results import InputError

_BLOCKS = '"blocks on SMs"'  # the name of a process that only traces with blocks have
_MOST_RUNS = 8  # that anyone looks at
STREAMS, PRIMARY = 'streams', 'primary queue'  # counters of kernels


@dataclass(frozen=True)
class Span:
    """Blocks of one launch that ran on one SM together, perhaps wave after wave."""
    client: str
    kernel: str
    job: int
    sm: int
    blocks: int
    threads: int  # of each block
    waves: int
    begin: float  # ms
    end: float

    @property
    def label(self):
        return self.client if self.kernel == self.client else f'{self.client} {self.kernel}'


@dataclass(frozen=True)
class DeviceRun:
    experiment: str
    policy: str
    run: tuple  # point, replication, permutation
    pool: bool
    sms: int
    threads: int  # of each SM
    clients: list  # names, as the workload lists them
    spans: list  # by begin
    releases: list  # (ms, client), by time
    queues: dict  # STREAMS or PRIMARY -> [(ms, kernels from then on)]

    @property
    def end(self):
        return max([span.end for span in self.spans] + [points[-1][0] for points in self.queues.values()]) or 1

    @property
    def labels(self):
        """Of the kernels that had blocks: by client, then by first block."""
        first = {}
        for span in self.spans:
            first.setdefault(span.label, self.clients.index(span.client))
        return sorted(first, key=first.get)


def has_blocks(file):
    """Whether a trace tells of blocks; quicker than reading it."""
    return timeline.holds(file, _BLOCKS)


def read(file):
    (experiment, policy, run), about, events = timeline.read(file)
    names, places = (timeline.named(events, *what) for what in
                     (('thread_name', 'name'), ('thread_sort_index', 'sort_index')))
    clients = {thread: str(names[thread]) for thread in sorted(names, key=lambda thread: places.get(thread, thread))}
    spans, releases, queues = [], [], defaultdict(list)
    for index, event in enumerate(events):
        kind, name = (event.get('ph'), event.get('pid')), event.get('name')
        if kind == ('X', timeline.BLOCKS):
            spans.append(_span(file, index, event, clients))
        elif kind == ('i', timeline.CLIENTS) and name == 'arrived' and event.get('tid') in clients:
            releases.append((timeline.milliseconds(file, index, event, 'ts'), clients[event['tid']]))
        elif kind == ('C', timeline.GPU) and name in (STREAMS, PRIMARY):
            queues[name].append((timeline.milliseconds(file, index, event, 'ts'), _whole(file, index, event, 'kernels')))
    if not spans:
        raise InputError(file, 'no block', f'spans in process {timeline.BLOCKS}', key='traceEvents')
    spans.sort(key=lambda span: (span.begin, span.sm))  # a stable order: of equals, as the trace has them
    return DeviceRun(experiment, policy, run, about.get('layout') == 'pool',
                     _limit(about, 'sms', max(span.sm + 1 for span in spans)),
                     _limit(about, 'threads', _most_at_once(spans)),
                     list(clients.values()), spans, sorted(releases, key=lambda release: release[0]), dict(queues))


def read_first_runs(files):
    """Of each point and policy the first run, where it tells of blocks; of many the first."""
    abouts = sorted(((timeline.peek(file), file) for file in files), key=lambda each: (*each[0][2], *each[0], each[1]))
    first = {}
    for (_, policy, (point, *_)), file in abouts:
        first.setdefault((point, policy), file)
    return [read(file) for file in itertools.islice(filter(has_blocks, first.values()), _MOST_RUNS)]


def _span(file, index, event, clients):
    args = event.get('args', {})
    for key, known in (('client', clients.values()), ('kernel', None)):
        if not isinstance(args.get(key), str) or (known and args[key] not in known):
            raise InputError(file, repr(args.get(key)), f'the name of a {key}', key=f'traceEvents.{index}.args.{key}')
    begin, length = (timeline.milliseconds(file, index, event, key) for key in ('ts', 'dur'))
    job, sm, blocks, threads, waves = (_whole(file, index, event, key)
                                       for key in ('job', 'sm', 'blocks', 'threads', 'waves'))
    return Span(args['client'], args['kernel'], job, sm, blocks, threads, max(1, waves), round(begin, 6),
                round(begin + length, 6))  # to the ns, so that an end equals the next begin


def _whole(file, index, event, key):
    value = event.get('args', {}).get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(file, repr(value), 'a whole number from 0', key=f'traceEvents.{index}.args.{key}')
    return value


def _limit(about, key, at_least):
    """What the trace says of the device, or, where it says nothing, what was seen."""
    value = about.get(key)
    return max(value, at_least) if isinstance(value, int) and not isinstance(value, bool) else at_least


def _most_at_once(spans):
    """The most threads in use on an SM at once."""
    changes = defaultdict(int)
    for span in spans:
        changes[span.sm, span.begin] += span.blocks * span.threads
        changes[span.sm, span.end] -= span.blocks * span.threads
    most, used, sm = 1, 0, None
    for (here, _), change in sorted(changes.items()):
        used = change if here != sm else used + change
        most, sm = max(most, used), here
    return most
