"""How many kernels are in streams (issued and not over) and in the device's primary queues, over time; a panel per run."""
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from gangway.drawing import quantity, style
from gangway.drawing.device_run import PRIMARY, STREAMS

_PANELS = 5       # on a page
_INCHES = 1.1     # of a panel
_MOST_STEPS = 2000  # where there are more, the most in each of
_BINS = 200         # parts of the time
_LOOKS = {STREAMS: (style.SKY, 'in streams: issued and not over'),
          PRIMARY: (style.BLUE, 'of these in the primary queue: not all blocks assigned')}


def draw(runs, title, labels):
    """The pages of the figure, of runs that tell of queues. labels: what tells each run from the others, or ''."""
    pages = [list(zip(runs, labels))[start:start + _PANELS] for start in range(0, len(runs), _PANELS)]
    most = max(kernels for run in runs for points in (run.queues or {'': [(0, 1)]}).values() for _, kernels in points)
    return [_draw_page(page, title, most) for page in pages]


def _draw_page(page, title, most):
    figure, grid = style.pyplot.subplots(len(page), 1, squeeze=False, sharex=True,
                                         figsize=(style.WIDTH, 0.9 + (_INCHES + 0.25) * len(page)))
    end = max(run.end for run, _ in page)
    unit, factor = quantity.unit_of_time(end)
    binned = any(_binned(run) for run, _ in page)
    for axes, (run, label) in zip(grid[:, 0], page):
        for name, (colour, _) in _LOOKS.items():
            times, kernels = _steps(run.queues[name], run.end) if name in run.queues else ([0], [0])
            axes.fill_between([time * factor for time in times], kernels, step='post', color=colour, linewidth=0.8,
                              zorder=2)
        axes.set_ylim(0, 1.08 * max(1, most))  # the same in all panels
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.set_ylabel('kernels')
        axes.set_title(label, loc='left', fontweight='bold', pad=3)
        axes.grid(axis='y')
    grid[-1, 0].set_xlim(0, end * factor)
    grid[-1, 0].set_xlabel(f'time ({unit})')
    handles = [Patch(facecolor=colour, label=label) for colour, label in _LOOKS.values()]
    style.lay_out(figure, f'{title} (most in each 1/{_BINS} of the time)' if binned else title, handles)
    return figure


def _binned(run):
    return any(len(points) > _MOST_STEPS for points in run.queues.values())


def _steps(points, end):
    """(times, kernels from each on)"""
    if len(points) <= _MOST_STEPS:
        return [time for time, _ in points] + [end], [kernels for _, kernels in points] + [points[-1][1]]
    most, now, place = [], 0, 0
    for number in range(1, _BINS + 1):
        here = now  # as the part begins
        while place < len(points) and points[place][0] < number * end / _BINS:
            now = points[place][1]
            here, place = max(here, now), place + 1
        most.append(here)
    return [number * end / _BINS for number in range(_BINS + 1)], [*most, now]
