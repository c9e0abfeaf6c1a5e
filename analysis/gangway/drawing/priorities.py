"""Evictions by the priority of the job that was evicted: a line for each point and policy."""
import math

from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from gangway.drawing import style

_LINES = 8  # in a panel
_MARKS = 'os^vDPX*'


def applies(evictions):
    """Whether jobs drew priorities of their own, and some were evicted."""
    return any(len(levels) > 2 for levels in evictions.values()) and any(
        count for levels in evictions.values() for count in levels.values())


def draw(evictions, title, labels):
    """The pages of the figure. evictions: (point, policy) -> {priority: evictions of all its jobs}; labels: what tells
    each (point, policy) from the others, or ''."""
    runs = list(evictions)
    for start in range(0, len(runs), _LINES):
        yield _draw_page(runs[start:start + _LINES], evictions, title, labels)


def _draw_page(runs, evictions, title, labels):
    figure, axes = style.pyplot.subplots(figsize=(style.WIDTH, 3.2 + 0.12 * math.ceil(len(runs) / 4)))
    handles = []
    for run, look in _looks(runs, evictions).items():
        levels = sorted(evictions[run].items())
        axes.plot([level for level, _ in levels], [count for _, count in levels], **{**look, 'clip_on': False})
        if labels[run]:
            handles.append(Line2D([], [], label=labels[run], **look))
    axes.set_ylim(0, None)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel('priority (higher is more urgent)')
    axes.set_ylabel('evictions')
    axes.grid()
    style.lay_out(figure, title, handles)
    return figure


def _looks(runs, evictions):
    """How lines are drawn: as everywhere where each is of another policy, else by their place, as points are in order."""
    if len({point for point, _ in evictions}) == 1:
        of_policy = style.styles(policy for _, policy in evictions)
        return {run: style.line(of_policy[run[1]]) for run in runs}
    colours = style.pyplot.get_cmap('viridis')
    return {run: {'color': colours(0.9 * place / max(1, len(runs) - 1)), 'marker': _MARKS[place], 'markersize': 4.5}
            for place, run in enumerate(runs)}
