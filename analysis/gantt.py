"""Gantt charts from the Chrome traces of `gangway trace`: one row per client, one panel per policy."""
from dataclasses import dataclass, field

from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETRIGHT
from matplotlib.patches import Patch

import names
import style
import timeline
from results import InputError

_INCHES_PER_ROW = 0.15
_DENSE_FROM = 300  # bars in a row, above which edges and marks would hide the bars, and a PDF of vectors opens slowly

_ARRIVED, _EVICT, _FINISHED = 'arrived', 'evict ordered', 'finished'
# What a bar looks like: height in rows, then the artist's own words.
_STATES = {
    'waiting': (0.22, {'facecolor': '#C8C8C8', 'edgecolor': 'none'}),
    'copy in': (0.44, {'facecolor': style.SKY, 'edgecolor': 'none'}),
    'copy out': (0.44, {'facecolor': 'white', 'edgecolor': style.BLUE, 'linewidth': 0.6}),
    'running': (0.72, {'facecolor': '#606060', 'edgecolor': 'none'}),
    'draining': (0.72, {'facecolor': 'white', 'edgecolor': style.VERMILLION, 'hatch': '//////', 'linewidth': 0.4}),
}
_MARKS = {
    _ARRIVED: {'marker': CARETRIGHT, 'color': style.GREEN, 'markersize': 4.5},
    _EVICT: {'marker': CARETDOWN, 'color': style.VERMILLION, 'markersize': 4},
    _FINISHED: {'marker': '|', 'color': 'black', 'markersize': 8, 'markeredgewidth': 1.2},
}
_OFFSETS = {_EVICT: -0.36}  # rows: an order points at the top of the bar that it ends


@dataclass
class Client:
    name: str
    place: int  # among the rows
    spans: dict = field(default_factory=dict)  # state -> [(start, duration)] in ms
    marks: dict = field(default_factory=dict)  # kind -> [time] in ms


@dataclass(frozen=True)
class Trace:
    experiment: str
    policy: str
    run: tuple  # point, replication, permutation
    clients: list


def read(file):
    """The clients' part of a trace."""
    about, _, events = timeline.read(file)
    return Trace(*about, _read_clients(file, events))


def read_first_of_each_policy(files):
    """One trace per policy, that of the first run, in the order of the policies."""
    first = {}
    abouts = ((timeline.peek(file), file) for file in files)
    for (_, policy, _), file in sorted(abouts, key=lambda each: (each[0][2], each[1])):
        first.setdefault(policy, file)
    return [read(first[policy]) for policy in names.in_order(first)]


def read_pairs(predicted, measured):
    """For each policy a trace of either side, of the first run that both have."""
    sides = [{(about[1], about[2]): file for file in sorted(files) for about in [timeline.peek(file)]}
             for files in (predicted, measured)]
    first = {}
    for policy, run in sorted(sides[0].keys() & sides[1].keys()):
        first.setdefault(policy, run)
    return [[read(side[policy, first[policy]]) for side in sides] for policy in names.in_order(first)]


def draw(traces, title, labels=None):
    """The traces under each other on one time axis, each called by its policy unless there are labels."""
    rows = [len(trace.clients) for trace in traces]
    heights = [_INCHES_PER_ROW * count + 0.2 for count in rows]
    figure, grid = style.pyplot.subplots(
        len(traces), 1, squeeze=False, sharex=True, figsize=(style.WIDTH, 1.1 + sum(heights) + 0.1 * len(rows)),
        gridspec_kw={'height_ratios': heights})
    same_run = len({trace.run for trace in traces}) == 1
    for axes, trace, label in zip(grid[:, 0], traces, labels or [trace.policy for trace in traces]):
        _draw_trace(axes, trace)
        axes.set_title(label + ('' if same_run else f' ({_run(trace)})'), loc='left', fontweight='bold', pad=3)
    end = max(_end(trace) for trace in traces)
    grid[-1, 0].set_xlim(-0.015 * end, 1.01 * end)
    grid[-1, 0].set_xlabel('time (ms)')
    style.lay_out(figure, f'{title} ({_run(traces[0])})' if same_run else title, _handles(traces))
    return figure


def _read_clients(file, events):
    threads = timeline.named(events, 'thread_name', 'name')
    places = timeline.named(events, 'thread_sort_index', 'sort_index')
    clients = {thread: Client(str(name), places.get(thread, place))
               for place, (thread, name) in enumerate(sorted(threads.items()))}
    if not clients:
        raise InputError(file, 'no client', f'named threads in process {timeline.CLIENTS}', key='traceEvents')
    for index, event in enumerate(events):
        if event.get('pid') == timeline.CLIENTS and event.get('tid') in clients:
            _take(file, index, event, clients[event['tid']])
    return sorted(clients.values(), key=lambda client: client.place)


def _take(file, index, event, client):
    kind, name = event.get('ph'), event.get('name')
    if kind == 'X' and name in _STATES:
        span = timeline.milliseconds(file, index, event, 'ts'), timeline.milliseconds(file, index, event, 'dur')
        client.spans.setdefault(name, []).append(span)
    elif kind in ('i', 'I') and name in _MARKS:
        client.marks.setdefault(name, []).append(timeline.milliseconds(file, index, event, 'ts'))


def _draw_trace(axes, trace):
    dense = max(sum(map(len, client.spans.values())) for client in trace.clients) > _DENSE_FROM
    for row, client in enumerate(trace.clients):
        for layer, (state, (height, words)) in enumerate(_STATES.items()):
            axes.broken_barh(client.spans.get(state, []), (row - height / 2, height), zorder=2 + 0.1 * layer,
                             rasterized=dense, **(_without_edge(words) if dense else words))
        for kind, words in _MARKS.items():
            times = [] if dense and kind == _EVICT else client.marks.get(kind, [])
            axes.plot(times, [row + _OFFSETS.get(kind, 0)] * len(times), linestyle='none', zorder=4,
                      markeredgecolor=words['color'] if kind == _FINISHED else 'white',
                      **{'markeredgewidth': 0.3, **words})
    axes.set_yticks(range(len(trace.clients)), [client.name for client in trace.clients])
    axes.set_ylim(len(trace.clients) - 0.4, -0.75)
    axes.tick_params(axis='y', length=0)
    axes.grid(axis='x')


def _without_edge(words):
    """For bars that may be thinner than an edge."""
    outlined = words['facecolor'] == 'white'
    return {'facecolor': words['edgecolor' if outlined else 'facecolor'], 'edgecolor': 'none', 'linewidth': 0,
            'snap': False}


def _end(trace):
    spans = [start + length for client in trace.clients for spans in client.spans.values()
             for start, length in spans]
    marks = [time for client in trace.clients for times in client.marks.values() for time in times]
    return max(spans + marks, default=0) or 1


def _run(trace):
    return 'point {}, replication {}, permutation {}'.format(*trace.run)


def _handles(traces):
    """Legend entries for what the traces contain."""
    clients = [client for trace in traces for client in trace.clients]
    bars = [Patch(label=state, **words) for state, (_, words) in _STATES.items()
            if any(client.spans.get(state) for client in clients)]
    marks = [Line2D([], [], linestyle='none', label=kind, **words) for kind, words in _MARKS.items()
             if any(client.marks.get(kind) for client in clients)]
    return bars + marks
