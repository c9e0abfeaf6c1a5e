"""Blocks as they lie on the device: time along x, threads up y. Where there are too many to see, the beginning of the run
block by block and under it how many threads each kernel uses."""
import heapq
import itertools
import math
from dataclasses import dataclass, field

import numpy
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gangway.drawing import device_run, quantity, style

_PANELS = 4             # on a page
_MOST_SMS = 32          # whose blocks are drawn one by one
_MOST_SPANS = 400       # if there are no more than these
_MOST_SMS_AT_FIRST = 16  # whose first blocks are drawn one by one even so,
_SPANS_AT_FIRST = 60    # this many
_MOST_STEPS = 1000      # of threads in use; where there are more, means over
_BINS = 100             # parts of the time, long enough that what is periodic looks even
_MOST_RELEASES = 100    # marked in a panel
_POOL, _SM, _SUM = 1.5, 0.21, 1.2  # inches of a panel (_SM: for each)
_MARK, _MARKS = 0.08, 0.4  # inches of the mark of a release; at most of those of one instant
_PAGE = 6.3             # inches of the x axis, about

_COLOURS = [style.BLUE, style.ORANGE, style.GREEN, style.SKY, style.VERMILLION, style.PURPLE, '#F0E442', style.GREY,
            '#404040']
_HATCHES = ['', '//////', '......', 'xxxxxx', '------']  # of the kernels beyond those
_DARK = (style.BLUE, style.GREEN, style.VERMILLION, _COLOURS[-1])  # white is easier to read on them
_EDGE = {'edgecolor': '#303030', 'linewidth': 0.4}


@dataclass(frozen=True)
class _Piece:
    """Blocks of a span that lie on top of each other."""
    span: device_run.Span
    low: int  # threads of its SM below it
    high: int


@dataclass(frozen=True)
class _Panel:
    run: device_run.DeviceRun
    title: str
    end: float  # ms, of what it shows
    inches: float
    pieces: list = field(default_factory=list)  # none: threads in use are drawn

    @property
    def releases(self):
        """(ms, client, how many others of the same instant came before); none where there are too many to tell apart."""
        shown = [release for release in self.run.releases if release[0] <= self.end] if self.pieces else []
        if len(shown) > _MOST_RELEASES:
            return []
        return [(time, client, place) for time, group in itertools.groupby(shown, key=lambda release: release[0])
                for place, (_, client) in enumerate(group)]

    @property
    def inches_of_releases(self):
        """Above the threads."""
        return min(_MARKS, _MARK * self._most_at_once()) + (0.04 if self.releases else 0)

    def _most_at_once(self):
        return 1 + max((place for *_, place in self.releases), default=-1)

    def height_of_release(self, place):
        """Inches above the threads."""
        return 0.02 + (place + 0.5) * min(_MARK, _MARKS / self._most_at_once())


def draw(runs, title, labels):
    """The pages of the figure. labels: what tells each run from the others, or ''."""
    looks = _looks(runs)
    panels = [_panels(run, label) for run, label in zip(runs, labels)]
    return [_draw_page(page, title, looks) for page in _pages(panels)]


def _looks(runs):
    """label of a kernel -> (colour, hatch), the same in every panel"""
    labels = list(dict.fromkeys(label for run in runs for label in run.labels))
    return {label: (_COLOURS[place % len(_COLOURS)], _HATCHES[place // len(_COLOURS) % len(_HATCHES)])
            for place, label in enumerate(labels)}


def _panels(run, label):
    inches = _POOL if run.sms == 1 else max(_POOL, _SM * run.sms)
    if run.sms <= _MOST_SMS and len(run.spans) <= _MOST_SPANS:
        return [_Panel(run, label, run.end, inches, _lay(run, run.spans))]
    steps = 'threads in use by kernel'
    if _changes(run) > _MOST_STEPS:
        steps += f' (means over 1/{_BINS} of the time)'
    if run.sms > _MOST_SMS_AT_FIRST:
        return [_Panel(run, _join(label, steps), run.end, _SUM)]
    first = run.spans[:_SPANS_AT_FIRST]
    end = first[-1].begin or min(span.end for span in first)
    pieces = _lay(run, [span for span in run.spans if span.begin < end])
    return [_Panel(run, _join(label, 'the first blocks'), end, inches, pieces),
            _Panel(run, f'all of this run: {steps}', run.end, _SUM)]


def _join(label, what):
    return f'{label}: {what}' if label else what


def _changes(run):
    return len({time for span in run.spans for time in (span.begin, span.end)})


def _pages(panels):
    """The panels of a run stay together."""
    pages = [[]]
    for own in panels:
        if pages[-1] and len(pages[-1]) + len(own) > _PANELS:
            pages.append([])
        pages[-1] += own
    return pages


def _lay(run, spans):
    """Puts each block on the lowest free threads of its SM, in one piece where it fits; spans and pieces by begin."""
    pieces = []
    for _, here in itertools.groupby(sorted(spans, key=lambda span: span.sm), key=lambda span: span.sm):
        free, running = [(0, math.inf)], []  # gaps from below; (end, number, places) of what is there
        for number, span in enumerate(here):
            while running and running[0][0] <= span.begin:
                free = _merged([*free, *heapq.heappop(running)[2]])
            places, free = _take(free, run.threads, span.blocks, span.threads)
            heapq.heappush(running, (span.end, number, places))
            pieces += [_Piece(span, low, high) for low, high in places]
    return sorted(pieces, key=lambda piece: (piece.span.begin, piece.span.sm, piece.low))


def _take(free, limit, blocks, threads):
    """(places of so many blocks, gaps that are left): whole blocks from below; then, as the device does not ask for
    threads that stand together, what is left of the gaps; above the limit only where a rule of the device is off."""
    places = []
    for size, top in ((threads, limit), (1, limit), (threads, math.inf)):
        wanted = blocks * threads - sum(high - low for low, high in places)
        taken, left = [], []
        for low, high in free:
            room = min(high, top) - low
            fit = max(0, min(wanted, room // size * size if room < math.inf else wanted))
            wanted -= fit
            taken += [(low, low + fit)] if fit else []
            left += [(low + fit, high)] if low + fit < high else []
        places, free = places + taken, left
    return _merged(places), free


def _merged(gaps):
    merged = []
    for low, high in sorted(gaps):
        if merged and merged[-1][1] == low:
            merged[-1] = merged[-1][0], high
        else:
            merged.append((low, high))
    return merged


def _draw_page(panels, title, looks):
    heights = [panel.inches + panel.inches_of_releases for panel in panels]
    several = any(panel.end != panel.run.end for panel in panels)  # axes of time
    figure, grid = style.pyplot.subplots(
        len(panels), 1, squeeze=False, gridspec_kw={'height_ratios': heights},
        figsize=(style.WIDTH, 0.7 + sum(heights) + (0.6 if several else 0.42) * len(panels)))
    longest = max(panel.run.end for panel in panels)
    for axes, panel in zip(grid[:, 0], panels):
        end = longest if panel.end == panel.run.end else panel.end
        unit, factor = quantity.unit_of_time(end)
        axes.set_xlim(0, end * factor * (1.003 if panel.end == panel.run.end else 1))  # the last edge, too
        (_draw_pieces if panel.pieces else _draw_sum)(axes, panel, looks, factor)
        axes.set_title(panel.title, loc='left', fontweight='bold', pad=3)
        if several or axes is grid[-1, 0]:
            axes.set_xlabel(f'time ({unit})')
    style.lay_out(figure, title, _handles(panels, looks))
    return figure


def _draw_pieces(axes, panel, looks, factor):
    run = panel.run
    top = max(run.threads, *(piece.high for piece in panel.pieces))  # more only where a rule is off
    axes.set_ylim(0, top * run.sms * (1 + panel.inches_of_releases / panel.inches))
    axes.spines['left'].set_bounds(0, top * run.sms)
    inches = panel.inches / (top * run.sms), _PAGE / axes.get_xlim()[1]  # of a thread, of a unit of time
    for label, (colour, hatch) in looks.items():
        own = [_corners(piece, top, factor) for piece in panel.pieces if piece.span.label == label]
        edges = [_EDGE['edgecolor'] if (right - left) * inches[1] > 0.04 else colour  # lest edges be all that shows
                 for (left, _), (right, _), *_ in own]
        axes.add_collection(PolyCollection(own, facecolor=colour, hatch=hatch, zorder=2, edgecolor=edges,
                                           linewidth=_EDGE['linewidth']))
    lines = [line for piece in panel.pieces for line in _borders(piece, top, factor, *inches)]
    axes.add_collection(LineCollection(lines, colors=_EDGE['edgecolor'], linewidths=0.25, zorder=3))
    several = any(span.job for span in run.spans)
    for piece in panel.pieces:
        _name(axes, piece, str(piece.span.job) if several else piece.span.label, top, factor, inches, looks)
    _mark_releases(axes, panel, looks, factor, top * run.sms)
    _label_threads(axes, run, top)


def _corners(piece, top, factor):
    left, right = piece.span.begin * factor, piece.span.end * factor
    low, high = piece.span.sm * top + piece.low, piece.span.sm * top + piece.high
    return [(left, low), (right, low), (right, high), (left, high)]


def _borders(piece, top, factor, inches_up, inches_along):
    """Between the blocks of a piece and between waves, where there is room for them."""
    (left, low), _, (right, high), _ = _corners(piece, top, factor)
    if piece.span.threads * inches_up >= 0.04:
        for y in range(low + piece.span.threads, high, piece.span.threads):
            yield (left, y), (right, y)
    length = (right - left) / piece.span.waves
    if length * inches_along >= 0.04:
        for wave in range(1, piece.span.waves):
            yield (left + wave * length, low), (left + wave * length, high)


def _name(axes, piece, text, top, factor, inches, looks):
    (left, low), _, (right, high), _ = _corners(piece, top, factor)
    right = min(right, axes.get_xlim()[1])
    if (right - left) * inches[1] < 0.085 * len(text) or (high - low) * inches[0] < 0.12:
        return
    colour, hatch = looks[piece.span.label]
    axes.text((left + right) / 2, (low + high) / 2, text, ha='center', va='center', fontsize=7, zorder=4, clip_on=True,
              color='white' if colour in _DARK else 'black',
              bbox={'facecolor': colour, 'edgecolor': 'none', 'pad': 0.8} if _crossed(piece, hatch, inches) else None)


def _crossed(piece, hatch, inches):
    """Whether lines pass where its name stands."""
    return bool(hatch) or piece.span.waves > 1 or (piece.high - piece.low > piece.span.threads >= 0.04 / inches[0])


def _mark_releases(axes, panel, looks, factor, top):
    colours = {span.client: looks[span.label][0] for span in reversed(panel.run.spans)}
    for time, client, place in panel.releases:
        axes.plot([time * factor], [top * (1 + panel.height_of_release(place) / panel.inches)], marker='v', markersize=3.6,
                  color=colours.get(client, 'black'), markeredgecolor='#303030', markeredgewidth=0.3, linestyle='none',
                  clip_on=False)


def _label_threads(axes, run, top):
    if run.sms == 1:
        axes.set_ylabel('threads')
        return _tick_threads(axes, run.threads)
    axes.set_ylabel(f'SM (each {run.threads:,} threads high)')
    axes.set_yticks([(sm + 0.5) * top for sm in range(run.sms)], [str(sm) for sm in range(run.sms)])
    axes.tick_params(axis='y', length=0)
    axes.hlines([sm * top for sm in range(1, run.sms)], 0, 1, transform=axes.get_yaxis_transform(), color='#303030',
                linewidth=0.5, zorder=5)


def _tick_threads(axes, limit):
    parts = next(parts for parts in (4, 2, 1) if limit % parts == 0)
    axes.set_yticks([limit * part // parts for part in range(parts + 1)])
    axes.yaxis.set_major_formatter('{x:,.0f}')


def _draw_sum(axes, panel, looks, factor):
    run = panel.run
    times, used = _threads_in_use(run)
    floor = numpy.zeros(len(times))
    for label, (colour, hatch) in looks.items():
        if label in used:
            axes.fill_between(times * factor, floor, floor + used[label], step='post', facecolor=colour, hatch=hatch,
                              edgecolor='#303030' if hatch else 'none', linewidth=0, zorder=2)
            floor = floor + used[label]
    axes.set_ylim(0, max(run.sms * run.threads, floor.max()))
    axes.set_ylabel('threads')
    _tick_threads(axes, run.sms * run.threads)


def _threads_in_use(run):
    """(times, label -> threads in use from each time to the next)"""
    spans = {label: [span for span in run.spans if span.label == label] for label in run.labels}
    times = numpy.unique([time for span in run.spans for time in (span.begin, span.end)] + [0])
    if len(times) > _MOST_STEPS:
        times = numpy.linspace(0, run.end, _BINS + 1)
    used = {}
    for label, own in spans.items():
        at = numpy.array([span.begin for span in own] + [span.end for span in own])
        change = numpy.array([span.blocks * span.threads for span in own])
        order = numpy.argsort(at, kind='stable')
        at, change = at[order], numpy.concatenate([change, -change])[order]
        area = numpy.concatenate([[0], numpy.cumsum(numpy.cumsum(change)[:-1] * numpy.diff(at))])  # thread-time so far
        mean = numpy.diff(numpy.interp(times, at, area)) / numpy.diff(times)
        used[label] = numpy.append(mean, 0)
    return times, used


def _handles(panels, looks):
    shown = {span.label for panel in panels for span in panel.run.spans}
    kernels = [Patch(facecolor=colour, hatch=hatch, label=label, **_EDGE) for label, (colour, hatch) in looks.items()
               if label in shown]
    if any(panel.releases for panel in panels):
        kernels.append(Line2D([], [], linestyle='none', marker='v', markersize=4.5, color=style.GREY,
                              markeredgecolor='#303030', markeredgewidth=0.3, label='release'))
    if any(panel.pieces and span.job for panel in panels for span in panel.run.spans):
        kernels.append(Line2D([], [], linestyle='none', label='numbers: jobs'))
    return kernels
