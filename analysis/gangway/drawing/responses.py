"""Response times of jobs, a panel per client and a line per point and policy: by job number, so that growth shows, and of
many jobs how they are distributed."""
import math
import statistics
from dataclasses import replace

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, PercentFormatter

from gangway.drawing import quantity, style
from gangway.drawing.percentiles import nearest_rank

_LEAST_JOBS = 3  # of a client, to speak of growth
_LINES = 6       # in a panel
_PANELS = 6      # on a page
_LINES_OF_POLICIES = 8  # likewise, where their colours are known from other figures
PAGES = 8        # of lines: a sweep of many points has the metrics for that
_DASHES = ['-', (0, (5, 2)), (0, (1.5, 1.5)), '-.', (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (3, 3))]
_BESIDE = 5      # points between crosses
_COLOURS = [style.VERMILLION, style.BLUE, style.GREEN, style.ORANGE, style.PURPLE, style.SKY]
_FEW = 40        # jobs, which get a mark each
_MANY = 200      # jobs in a line, from which it would be a blob
_BINS = 50       # parts of so long a line
_BAND = 0.2      # opacity
_LOG_FROM = 25   # a ratio of longest to shortest that a linear axis would flatten
_ALIKE = 10      # a ratio of one client's longest to another's, up to which they share a scale
_SAME_UNIT = 100  # likewise, a unit
_MARKERS = 'os^Dvp'
_LAST = {'marker': 'o', 'markersize': 7.5, 'markerfacecolor': 'none', 'markeredgewidth': 1, 'linestyle': 'none'}


def applies(responses):
    return any(len(jobs) >= _LEAST_JOBS for clients in responses.values() for jobs in clients.values())


def is_distributed(responses):
    """Whether some client has so many jobs that how they are distributed says more than each of them."""
    return any(len(jobs) > _MANY for clients in responses.values() for jobs in clients.values())


def draw(responses, title, labels, every=None):
    """The pages of the figure. responses: (point, policy) -> client -> {job: ms, or NaN where it did not finish};
    labels: what tells each (point, policy) from the others, or ''. every: all results, if these are not all: pages share scales and colours."""
    return _pages(responses, title, labels, every or responses, _draw_by_number)


def draw_distribution(responses, title, labels, every=None):
    """The same over all runs: the cumulative distribution of each client's response times. A job that did not finish took longer than all of
    them, so its line ends below 100 %."""
    return _pages(responses, title, labels, every or responses, _draw_distribution)


def _pages(responses, title, labels, every, draw_panel):
    runs, scales, looks = list(responses), _scales(every), _looks(responses, every)
    lines = _LINES if looks is None else _LINES_OF_POLICIES
    most = lines * PAGES
    if len(runs) > most:
        title += f' (the first {most} of {len(runs)} results)'
    for start in range(0, min(len(runs), most), lines):
        part = {run: responses[run] for run in runs[start:start + lines]}
        of_page = _looks_by_place(part) if looks is None else {run: looks[run] for run in part}
        panels = sorted(_alike(part).values(), key=lambda clients: -_growth(clients[0], part))
        for first in range(0, len(panels), _PANELS):
            yield _draw_page(panels[first:first + _PANELS], part, of_page, scales, title, labels, draw_panel)


def _looks(runs, every):
    """run -> the words that make its line: as everywhere for its policy, in shades where there are several of one. None of one policy at
    several points."""
    of_policy = style.styles(policy for _, policy in every)
    if len(runs) > 1 and len(of_policy) == 1:
        return None
    looks = {}
    for policy, look in of_policy.items():
        own = [run for run in runs if run[1] == policy]
        for place, (run, colour) in enumerate(zip(own, style.shades(look.colour, len(own)))):
            dash = look.dash if len(own) == 1 else _DASHES[place % len(_DASHES)]
            looks[run] = {**style.line(replace(look, colour=colour, dash=dash)), 'markersize': 4}
    return looks


def _looks_by_place(runs):
    return {run: {'color': _COLOURS[place], 'linestyle': _DASHES[place], 'marker': _MARKERS[place], 'markersize': 3}
            for place, run in enumerate(runs)}


def _scales(responses):
    """client -> its scale, on all pages. Clients whose longest times are alike share one, so that panels can be compared."""
    times = {}
    for clients in responses.values():
        for client, jobs in clients.items():
            times.setdefault(client, []).extend(time for time in jobs.values() if not math.isnan(time))
    longest, every = [max(found) for found in times.values() if found] or [0], [time for found in times.values() for time in found]
    times = {client: found or every for client, found in times.items()}  # of who starved there is none to show
    if max(longest) <= _ALIKE * min(longest):
        return dict.fromkeys(times, _Scale(every, every))
    one_unit = max(longest) <= _SAME_UNIT * min(longest)
    return {client: _Scale(found, every if one_unit else found) for client, found in times.items()}


class _Scale:
    """An axis of response times: its unit, which suits `alike`, and whether it is logarithmic."""

    def __init__(self, times, alike):
        self.log = _is_log(times)
        self.unit, self.factor = quantity.unit_of_times(alike, _is_log(alike))
        times = [time * self.factor for time in times if time > 0]
        self.low, self.high = min(times, default=1), max(times, default=1)
        self.label = f'response time ({self.unit})'

    def of_y(self, axes):
        if self.log:
            style.log_y(axes, 0.8 * self.low, 1.25 * self.high)
        else:
            axes.set_ylim(0, 1.08 * self.high)

    def of_x(self, axes):
        if self.log:
            axes.set_xlim(0.8 * self.low, 1.25 * self.high)
            style.log_x(axes)
        else:
            axes.set_xlim(0, 1.08 * self.high)


def _is_log(times):
    known = [time for time in times if time > 0]
    return bool(known) and max(known) > _LOG_FROM * min(known)


def _alike(responses):
    """Clients by what their lines are: one panel for those that do the same."""
    groups = {}
    for client in dict.fromkeys(client for clients in responses.values() for client in clients):
        lines = tuple(tuple(clients.get(client, {}).items()) for clients in responses.values())
        if any(len(line) >= _LEAST_JOBS for line in lines):
            groups.setdefault(repr(lines), []).append(client)  # as text: a NaN equals nothing
    return groups


def _growth(client, responses):
    """The longest response time over the shortest, in the line where that is most."""
    lines = [[time for time in clients.get(client, {}).values() if time > 0] for clients in responses.values()]
    return max((max(line) / min(line) for line in lines if line), default=0)


def _draw_page(panels, responses, looks, scales, title, labels, draw_panel):
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, grid = style.pyplot.subplots(rows, columns, squeeze=False,
                                         figsize=(style.WIDTH, 0.7 + 0.16 * len(responses) + 1.75 * rows))
    banded, cut = False, False
    for axes, clients in zip(grid.flat, panels):
        of_panel = draw_panel(axes, clients[0], responses, looks, scales[clients[0]])
        banded, cut = banded or of_panel[0], cut or of_panel[1]
        axes.set_title(_named(clients), loc='left', fontweight='bold', pad=3)
        axes.grid()
    starved = [_mark_starved(axes, clients[0], responses, looks) for axes, clients in zip(grid.flat, panels)]
    for axes in grid.flat[len(panels):]:
        axes.set_visible(False)
    handles = [Line2D([], [], label=labels[run], **look) for run, look in looks.items() if labels[run]]
    if banded:
        handles.append(Patch(facecolor=style.GREY, alpha=2 * _BAND, label=f'5 to 95 % in each 1/{_BINS} of the jobs; line: median'))
    if cut:
        handles.append(Line2D([], [], color='black', label='later jobs did not finish', **_LAST))
    style.lay_out(figure, title, handles + style.starved_handles(any(starved)))
    return figure


def _mark_starved(axes, client, responses, looks):
    """Crosses at the right end of the axis, side by side; whether there are any."""
    starved = [run for run in looks if (jobs := responses[run].get(client)) and all(map(math.isnan, jobs.values()))]
    for number, run in enumerate(starved):
        style.mark_starved(axes, axes.get_xlim()[1], looks[run]['color'], points_right=-_BESIDE * number)
    return bool(starved)


def _named(clients):
    return ', '.join(clients) if len(clients) < 4 else f'{clients[0]} … {clients[-1]} ({len(clients)} alike)'


def _draw_by_number(axes, client, responses, looks, scale):
    """Returns whether there are bands, and whether a line ends before its last job."""
    banded, cut = False, False
    for run, look in looks.items():
        points = sorted(responses[run].get(client, {}).items())
        if not points:
            continue
        jobs, times = [job for job, _ in points], [time * scale.factor for _, time in points]
        finished = not math.isnan(times[-1])
        if len(jobs) > _MANY:
            banded = True
            jobs, times = _draw_band(axes, jobs, times, look['color'])
        every = 1 if len(jobs) <= _FEW else max(1, len(jobs) // 12)
        axes.plot(jobs, times, **{**look, 'markevery': every, 'clip_on': False, 'zorder': 3})
        known = [(job, time) for job, time in zip(jobs, times) if not math.isnan(time)]
        if known and not finished:
            cut = True
            axes.add_artist(Line2D(*zip(known[-1]), color=look['color'], clip_on=False, zorder=3.5, **_LAST))
    scale.of_y(axes)
    axes.set_xlim(0, max((job for clients in responses.values() for job in clients.get(client, {})), default=1) or 1)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlabel('job')
    axes.set_ylabel(scale.label)
    return banded, cut


def _draw_band(axes, jobs, times, colour):
    """Draws the 5th to 95th percentiles of parts of a long line; returns the middles of the parts, and their medians."""
    parts = [range(part * len(jobs) // _BINS, (part + 1) * len(jobs) // _BINS) for part in range(_BINS)]
    middles = [jobs[part[len(part) // 2]] for part in parts]
    sorted_times = [sorted(times[index] for index in part if not math.isnan(times[index])) for part in parts]
    low, high = ([nearest_rank(part, share) for part in sorted_times] for share in (0.05, 0.95))
    axes.fill_between(middles, low, high, color=colour, alpha=_BAND, linewidth=0)
    return middles, [statistics.median(part) if part else math.nan for part in sorted_times]


def _draw_distribution(axes, client, responses, looks, scale):
    for run, look in looks.items():
        jobs = responses[run].get(client, {})
        times = sorted(time * scale.factor for time in jobs.values() if not math.isnan(time))
        if times:
            shares = [number / len(jobs) for number in range(1, len(times) + 1)]
            axes.plot([times[0], *times], [0, *shares],
                      **{**look, 'drawstyle': 'steps-post', 'markevery': len(times) // 10 or 1, 'clip_on': True, 'zorder': 3})
    scale.of_x(axes)
    axes.set_xlabel(scale.label)
    axes.set_ylim(0, 1.02)
    axes.set_ylabel('share of jobs within this time')
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    return False, False
