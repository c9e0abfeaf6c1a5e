"""When and where each block and each copy of a run was: from a trace, or as recorded in a CSV file."""
import csv
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from gangway.drawing import device_run, timeline
from gangway.drawing.results import InputError, read_table

COLUMNS = ('client', 'job', 'kernel', 'sm', 'blocks_ns')
_COPIES = {'copy h2d': 'copy in', 'copy d2h': 'copy out'}


@dataclass(frozen=True)
class Span:
    """Blocks of one launch that were on one SM (-1: a copy) from begin to end, in ns."""
    sm: int
    blocks: int
    begin: int
    end: int


@dataclass
class Timeline:
    """By operation, (client, job, kernel) with the kernel 'copy in' or 'copy out' for copies; in order of begin."""
    spans: dict = field(default_factory=dict)
    releases: dict = field(default_factory=dict)  # (client, job) -> ns, where known
    uncertainty_ns: int = 0

    def add(self, operation, span):
        self.spans.setdefault(operation, []).append(span)

    def sort(self):
        for spans in self.spans.values():
            spans.sort(key=lambda span: (span.begin, span.end, span.sm))
        return self

    def begins(self, operation):
        return sorted(span.begin for span in self.spans[operation] for _ in range(span.blocks))

    def ends(self, operation):
        return sorted(span.end for span in self.spans[operation] for _ in range(span.blocks))

    def first_block(self):
        return min(spans[0].begin for spans in self.spans.values() if spans[0].sm >= 0)


def read_traces(folder):
    """point -> Timeline, of the traces that a result folder kept."""
    found = {}
    for file in timeline.of_folder(folder):
        (_, _, (point, *_)), about, events = timeline.read(file)
        if point in found:
            raise InputError(folder, 'several runs of a point', 'one')
        found[point] = _with_copies(file, events, _blocks_of(file))
        found[point].uncertainty_ns = about.get('clock_uncertainty_ns', 0)
    if not found:
        raise InputError(folder, 'no traces', 'a result folder of `gangway run --trace`')
    return found


def _blocks_of(file):
    run, made, jobs = device_run.read(file), Timeline(), defaultdict(int)
    for time, client in run.releases:
        made.releases[client, jobs[client]] = _ns(time)
        jobs[client] += 1
    for span in run.spans:
        begin = _ns(span.begin)
        length = (_ns(span.end) - begin) // span.waves
        for wave in range(span.waves):
            made.add((span.client, span.job, span.kernel),
                     Span(span.sm, span.blocks, begin + wave * length, begin + (wave + 1) * length))
    return made


def _with_copies(file, events, made):
    # An engine that makes several at once has further tracks: copy h2d (2).
    engines = {event.get('tid'): _COPIES.get(str(event.get('args', {}).get('name')).split(' (')[0]) for event in events
               if (event.get('ph'), event.get('pid'), event.get('name')) == ('M', timeline.GPU, 'thread_name')}
    for index, event in enumerate(events):
        copy = engines.get(event.get('tid'))
        if copy and (event.get('ph'), event.get('pid')) == ('X', timeline.GPU):
            begin, length = (_ns(timeline.milliseconds(file, index, event, key)) for key in ('ts', 'dur'))
            made.add((event['name'], event.get('args', {}).get('job'), copy), Span(-1, 1, begin, begin + length))
    return made.sort()


def _ns(milliseconds):
    return round(milliseconds * 1e6)


def write_table(file, times):
    """Of one timeline: a row for each operation and SM, with BEGIN+LENGTH, in ns, of each block there."""
    with open(file, 'w', newline='', encoding='utf-8') as stream:
        table = csv.writer(stream, lineterminator='\n')
        table.writerow(COLUMNS)
        for (client, job, kernel), spans in sorted(times.spans.items()):
            by_sm = {}
            for span in spans:
                by_sm.setdefault(span.sm, []).extend([f'{span.begin}+{span.end - span.begin}'] * span.blocks)
            for sm, blocks in sorted(by_sm.items()):
                table.writerow([client, job, kernel, sm, ' '.join(blocks)])


def read_recorded(file):
    """The Timeline that write_table() wrote."""
    made = Timeline()
    for row in read_table(Path(file), COLUMNS, 'a recording')[1]:
        operation = (row.text('client'), row.index('job'), row.text('kernel'))
        for block in row.text('blocks_ns').split():
            found = re.fullmatch(r'(\d+)\+(\d+)', block)
            if not found:
                row.refuse('blocks_ns', 'BEGIN+LENGTH')
            begin, length = map(int, found.groups())
            made.add(operation, Span(int(row.number('sm')), 1, begin, begin + length))
    return made.sort()
