"""Gantt charts from the Chrome traces of `gangway trace`: one row per client, one panel per policy."""
import math
from dataclasses import dataclass, field

from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWN, CARETRIGHT
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from gangway.drawing import names, quantity, style, timeline
from gangway.drawing.results import InputError

_INCHES_PER_ROW = 0.15
_INCHES_OF_ACCESS = 0.07  # more, for the strip below a row
_DENSE_FROM = 300  # bars in a row, above which edges and marks would hide the bars, and a PDF of vectors opens slowly
_COLUMNS = 600     # of a row with so many bars, each two pixels wide or more: every one has the colour of one state
_MOST_MARKS = 150  # of a kind in a row, above which they are a smear
_MOST_BARS = 3000  # in a row, about two to a pixel; of longer runs the beginning is drawn

_ARRIVED, _EVICT, _FINISHED = 'arrived', 'evict ordered', 'finished'
# What a bar looks like: height in rows, then the artist's own words.
_STATES = {
    'on host': (0.22, {'facecolor': '#E3D5EC', 'edgecolor': 'none'}),
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
# Below a client's row, how it may submit; where there is no strip it submits as it likes.
_ACCESS_PLACE, _ACCESS_HEIGHT = 0.5, 0.2  # in rows
_ACCESS = {
    'direct': ('submits directly', style.GREEN),
    'intercept': ('intercepted', style.ORANGE),
    'sampled': ('intercepted to sample', style.BLUE),
    'deny': ('denied', '#F2C4BC'),
}
_OFFSETS = {_EVICT: -0.36}  # rows: an order points at the top of the bar that it ends


@dataclass
class Client:
    name: str
    place: int  # among the rows
    spans: dict = field(default_factory=dict)  # state -> [(start, duration)] in ms
    marks: dict = field(default_factory=dict)  # kind -> [time] in ms
    access: dict = field(default_factory=dict)  # kind -> [(start, duration)] in ms


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
    until, whole = _first_part(traces), max(_end(trace) for trace in traces)
    if until < whole:
        traces = [_before(until, trace) for trace in traces]
    left_out = _smeared(traces)
    rows = [len(trace.clients) for trace in traces]
    per_row = _INCHES_PER_ROW + (_INCHES_OF_ACCESS if any(map(_has_access, traces)) else 0)
    heights = [per_row * count + 0.2 for count in rows]
    figure, grid = style.pyplot.subplots(
        len(traces), 1, squeeze=False, sharex=True, figsize=(style.WIDTH, 1.1 + sum(heights) + 0.1 * len(rows)),
        gridspec_kw={'height_ratios': heights})
    same_run = len({trace.run for trace in traces}) == 1
    for axes, trace, label in zip(grid[:, 0], traces, labels or [trace.policy for trace in traces]):
        _draw_trace(axes, trace, left_out, until)
        axes.set_title(label + ('' if same_run else f' ({_run(trace)})'), loc='left', fontweight='bold', pad=3)
    unit, factor = quantity.unit_of_time(until)
    grid[-1, 0].set_xlim(-0.015 * until, 1.01 * until)
    grid[-1, 0].xaxis.set_major_locator(_Times(factor))
    grid[-1, 0].xaxis.set_major_formatter(lambda time, _: f'{time * factor:,.4g}')
    grid[-1, 0].set_xlabel(f'time ({unit})' + ('' if until == whole else
                                               f': the first {until * factor:,g} of {whole * factor:,.4g}'))
    style.lay_out(figure, f'{title} ({_run(traces[0])})' if same_run else title, _handles(traces, left_out))
    return figure


def _read_clients(file, events):
    threads = timeline.named(events, 'thread_name', 'name')
    places = timeline.named(events, 'thread_sort_index', 'sort_index')
    clients = {thread: Client(str(name), places.get(thread, place))
               for place, (thread, name) in enumerate(sorted(threads.items()))}
    if not clients:
        raise InputError(file, 'no client', f'named threads in process {timeline.CLIENTS}', key='traceEvents')
    for index, event in enumerate(events):
        if event.get('tid') not in clients:
            continue
        if event.get('pid') == timeline.CLIENTS:
            _take(file, index, event, clients[event['tid']])
        elif event.get('pid') == timeline.ACCESS and event.get('ph') == 'X' and event.get('name') in _ACCESS:
            clients[event['tid']].access.setdefault(event['name'], []).append(_span(file, index, event))
    for client in clients.values():
        _begin_directly(client)
    return sorted(clients.values(), key=lambda client: client.place)


def _begin_directly(client):
    """A trace tells of access from its first change on; up to there it is direct."""
    first = min((start for spans in client.access.values() for start, _ in spans), default=0)
    if first > 0:
        client.access.setdefault('direct', []).insert(0, (0, first))


def _take(file, index, event, client):
    kind, name = event.get('ph'), event.get('name')
    if kind == 'X' and name in _STATES:
        client.spans.setdefault(name, []).append(_span(file, index, event))
    elif kind in ('i', 'I') and name in _MARKS:
        client.marks.setdefault(name, []).append(timeline.milliseconds(file, index, event, 'ts'))


def _span(file, index, event):
    return timeline.milliseconds(file, index, event, 'ts'), timeline.milliseconds(file, index, event, 'dur')


def _has_access(trace):
    return any(client.access for client in trace.clients)


def _first_part(traces):
    """The time up to which no row has too many bars: the end, or a round number of ms."""
    begins = [sorted(start for spans in client.spans.values() for start, _ in spans)
              for trace in traces for client in trace.clients]
    full = [times[_MOST_BARS] for times in begins if len(times) > _MOST_BARS and times[_MOST_BARS] > 0]
    if not full:
        return max(_end(trace) for trace in traces)
    power = 10 ** math.floor(math.log10(min(full)))
    return max(step * power for step in (1, 2, 5) if step * power <= min(full))


def _before(until, trace):
    """A trace of what began before that time."""
    def cut(spans):
        return {kind: [(start, min(length, until - start)) for start, length in each if start < until]
                for kind, each in spans.items()}
    return Trace(trace.experiment, trace.policy, trace.run, [
        Client(client.name, client.place, cut(client.spans), {
            kind: [time for time in times if time <= until] for kind, times in client.marks.items()}, cut(client.access))
        for client in trace.clients])


class _Times(MaxNLocator):
    """Ticks of an axis in ms at round numbers of another unit."""

    def __init__(self, factor):
        super().__init__(8, steps=[1, 2, 2.5, 5, 10])
        self._factor = factor

    def tick_values(self, vmin, vmax):
        return [tick / self._factor for tick in super().tick_values(vmin * self._factor, vmax * self._factor)]


def _columns(spans, until):
    """state -> [(start, length)] of a row with too many bars: of each of the columns into which the time is cut, one state
    (or none). A state's share of the columns is its share of the time, as nearly as whole columns allow: a column goes to
    the state that has most time without a column yet."""
    width, owed = until / _COLUMNS, dict.fromkeys([*spans, None], 0.0)
    within = [dict.fromkeys(owed, 0.0) for _ in range(_COLUMNS)]
    for state, each in spans.items():
        for start, length in each:
            first, last = (min(_COLUMNS - 1, max(0, int(time / width))) for time in (start, start + length))
            for column in range(first, last + 1):
                overlap = min(start + length, (column + 1) * width) - max(start, column * width)
                within[column][state] += max(0.0, overlap) / width
    chosen = {}
    for column, shares in enumerate(within):
        shares[None] = max(0.0, 1 - sum(shares.values()))
        for state, share in shares.items():
            owed[state] += share
        present = [state for state, share in shares.items() if share > 0]
        best = max(present, key=owed.get)
        owed[best] -= 1
        if best is not None:
            chosen.setdefault(best, []).append((column * width, width))
    return chosen


def _draw_trace(axes, trace, left_out, until):
    dense = _is_dense(trace)
    for row, client in enumerate(trace.clients):
        for kind, (_, colour) in _ACCESS.items():
            axes.broken_barh(client.access.get(kind, []), (row + _ACCESS_PLACE - _ACCESS_HEIGHT / 2, _ACCESS_HEIGHT),
                             facecolor=colour, edgecolor='none', zorder=2)
        spans = _columns(client.spans, until) if dense else client.spans
        for layer, (state, (height, words)) in enumerate(_STATES.items()):
            axes.broken_barh(spans.get(state, []), (row - height / 2, height), zorder=2 + 0.1 * layer,
                             rasterized=dense, **(_without_edge(words) if dense else words))
        for kind, words in _MARKS.items():
            times = [] if kind in left_out or dense and kind == _EVICT else client.marks.get(kind, [])
            axes.plot(times, [row + _OFFSETS.get(kind, 0)] * len(times), linestyle='none', zorder=4,
                      markeredgecolor=words['color'] if kind == _FINISHED else 'white',
                      **{'markeredgewidth': 0.3, **words})
    axes.set_yticks(range(len(trace.clients)), [client.name for client in trace.clients])
    axes.set_ylim(len(trace.clients) - (0.3 if _has_access(trace) else 0.4), -0.75)
    axes.tick_params(axis='y', length=0)
    axes.grid(axis='x')


def _is_dense(trace):
    return max(sum(map(len, client.spans.values())) for client in trace.clients) > _DENSE_FROM


def _smeared(traces):
    """The kinds of marks that would hide the bars of some trace."""
    return {kind for trace in traces for client in trace.clients for kind, times in client.marks.items()
            if len(times) > _MOST_MARKS}


def _without_edge(words):
    """For bars that may be thinner than an edge."""
    outlined = words['facecolor'] == 'white'
    return {'facecolor': words['edgecolor' if outlined else 'facecolor'], 'edgecolor': 'none', 'linewidth': 0,
            'antialiased': False}


def _end(trace):
    spans = [start + length for client in trace.clients for spans in client.spans.values()
             for start, length in spans]
    marks = [time for client in trace.clients for times in client.marks.values() for time in times]
    return max(spans + marks, default=0) or 1


def _run(trace):
    return 'point {}, replication {}, permutation {}'.format(*trace.run)


def _handles(traces, left_out):
    """Legend entries for what is drawn of the traces."""
    clients = [client for trace in traces for client in trace.clients]
    dense = any(map(_is_dense, traces))
    bars = [Patch(label=state, **(_without_edge(words) if dense else words)) for state, (_, words) in _STATES.items()
            if any(client.spans.get(state) for client in clients)]
    marks = [Line2D([], [], linestyle='none', label=kind, **words) for kind, words in _MARKS.items()
             if kind not in left_out and any(client.marks.get(kind) for client in clients)]
    if dense:
        marks.append(Line2D([], [], linestyle='none', label=f'one state for each 1/{_COLUMNS} of the time'))
    access = [Patch(label=label, facecolor=colour, edgecolor='none') for kind, (label, colour) in _ACCESS.items()
              if any(client.access.get(kind) for client in clients)]
    return bars + marks + access
