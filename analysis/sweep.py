"""Lines for a folder with swept parameters: ANTT, DNTT, STP and evictions against the first numeric one."""
import math
import textwrap
from dataclasses import dataclass

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import names
import quantity
import style
from results import METRICS, Measured

_COLUMNS = 4           # of panels on a page
_INCHES_PER_TICK = 0.4
_LOG_FROM = 25         # a ratio of largest to smallest value that a linear axis would flatten
_BAND = 0.22           # opacity


@dataclass(frozen=True)
class Axis:
    """The swept parameter along x: where each of its texts stands."""
    index: int
    label: str
    places: dict
    numeric: bool

    @property
    def log(self):
        return self.numeric and quantity.is_geometric(self.places.values())


def draw(results):
    """The pages of the figure: without a second parameter all panels on one, else a column of panels for each
    combination of the others' values."""
    axis = choose_axis(results)
    others = _distinct(_others(row, axis) for row in results.summary)
    metrics = _metrics(results.summary)
    if len(others) == 1:
        return [_draw_page(results, axis, metrics, others, _grid_of_metrics(len(metrics)))]
    return [_draw_page(results, axis, metrics, part, (len(metrics), len(part))) for part in _pages(others)]


def choose_axis(results):
    """The first swept parameter that is a quantity of several values; if there is none, the first, as categories."""
    axes = [_axis(results, index) for index in range(len(results.swept))]
    return next((axis for axis in axes if axis.numeric and len(axis.places) > 1), axes[0])


def _axis(results, index):
    texts = _distinct(row.swept[index] for row in results.summary)
    name = names.parameter(results.swept[index])
    common = quantity.in_common_unit(texts)
    if common is None:
        return Axis(index, name, {text: place for place, text in enumerate(texts)}, False)
    numbers, unit = common
    return Axis(index, f'{name} ({quantity.shown(unit)})' if unit else name, dict(zip(texts, numbers)), True)


def _distinct(values):
    return list(dict.fromkeys(values))


def _pages(columns):
    """Parts of nearly the same size, so that none has a single column."""
    count = math.ceil(len(columns) / _COLUMNS)
    return [columns[page * len(columns) // count:(page + 1) * len(columns) // count] for page in range(count)]


def _others(row, axis):
    return row.swept[:axis.index] + row.swept[axis.index + 1:]


def _metrics(rows):
    """What gets a panel: evictions only where they differ."""
    evictions = {row.evictions for row in rows if not math.isnan(row.evictions)}
    return [*METRICS, 'evictions'] if len(evictions) > 1 else list(METRICS)


def _grid_of_metrics(count):
    return (1, count) if count <= 3 else (2, 2)


def _draw_page(results, axis, metrics, columns, shape):
    looks = style.styles(row.policy for row in results.summary)
    inches = style.WIDTH / shape[1]
    height = 0.9 + (1.5 if len(columns) > 1 else 1.8) * shape[0]
    if not axis.numeric:
        height += style.rotated_inches(axis.places, inches)
    figure, grid = style.pyplot.subplots(*shape, squeeze=False, sharex=True, figsize=(style.WIDTH, height))
    if len(columns) > 1:
        cells = [(grid[row, column], metric, others) for row, metric in enumerate(metrics)
                 for column, others in enumerate(columns)]
    else:
        cells = [(axes, metric, columns[0]) for axes, metric in zip(grid.flat, metrics)]
    for axes, metric, others in cells:
        _draw_panel(axes, results, axis, metric, others, looks)
        _label_x(axes, axis, inches)
        _scale_y(axes, _all_of(results, metric))
    _label_panels(grid, results, axis, metrics, columns)
    style.lay_out(figure, results.title,
                  _handles(looks, results) + style.published_handles(results.published_metrics()))
    return figure


def _draw_panel(axes, results, axis, metric, others, looks):
    rows = [row for row in results.summary if _others(row, axis) == others]
    places = {row.point: axis.places[row.swept[axis.index]] for row in rows}
    for policy, look in looks.items():
        points = [(places[row.point], _measured(row, metric)) for row in rows if row.policy == policy]
        _draw_line(axes, sorted(points, key=lambda point: point[0]), look)
    for row in results.published_metrics():
        if row.metric == metric and row.point in places:
            style.mark_published(axes, places[row.point], row, looks[row.policy].colour, points_right=6)
    axes.grid()


def _measured(row, metric):
    return Measured(row.evictions, math.nan) if metric == 'evictions' else row.metrics[metric]


def _all_of(results, metric):
    """All values of a metric that some panel shows."""
    return [_measured(row, metric) for row in results.summary] + [
        Measured(row.published, math.nan) for row in results.published_metrics() if row.metric == metric]


def _draw_line(axes, points, look):
    places, means = [place for place, _ in points], [value.mean for _, value in points]
    axes.plot(places, means, **style.line(look))
    intervals = [value.half_width for _, value in points]
    if any(intervals):
        axes.fill_between(places, [mean - half for mean, half in zip(means, intervals)],
                          [mean + half for mean, half in zip(means, intervals)],
                          color=look.colour, alpha=_BAND, linewidth=0)


def _label_x(axes, axis, inches):
    points = sorted(set(axis.places.values()))
    if not axis.numeric:
        style.name_ticks(axes, list(axis.places), inches)
        axes.margins(x=0.15)
    elif axis.log:
        axes.set_xscale('log')
        chosen = _room_for(points, 0.8 * inches)
        axes.set_xticks(chosen, [f'{point:g}' for point in chosen])
        axes.set_xticks(points, [''] * len(points), minor=True)
    elif len(points) * _INCHES_PER_TICK < inches and _even(points):
        axes.set_xticks(points, [f'{point:g}' for point in points])


def _room_for(points, inches):
    """The points of a log axis whose numbers fit beside each other: of two that do not, the rounder one."""
    span = math.log(points[-1] / points[0])
    chosen = {}
    for point in sorted(points, key=_roundness):
        place, width = math.log(point / points[0]) / span * inches, len(f'{point:g}') * style.INCHES_PER_LETTER
        if all(abs(place - other) > (width + space) / 2 for other, space in chosen.values()):
            chosen[point] = place, width
    return sorted(chosen)


def _roundness(point):
    """Sorts short numbers first, and among them those that begin like powers of 10 and 2."""
    text = f'{point:g}'
    return len(text), '12584'.find(text.lstrip('0.')[0]) % 6, point


def _even(points):
    gaps = [after - before for before, after in zip(points, points[1:])]
    return not gaps or max(gaps) < 1.01 * min(gaps)


def _scale_y(axes, measured):
    """The same scale in every panel of a metric, from 0 unless that would flatten the lines."""
    tops = [value.mean + value.half_width for value in measured if not math.isnan(value.mean)]
    means = [value.mean for value in measured if value.mean > 0]
    if means and min(tops) > 0 and max(tops) > _LOG_FROM * min(means):
        style.log_y(axes, 0.8 * min(means), 1.25 * max(tops))
    elif means:
        axes.set_ylim(0, 1.08 * max(tops))


def _label_panels(grid, results, axis, metrics, columns):
    for axes in grid[-1]:
        axes.set_xlabel(axis.label)
    if len(columns) == 1:
        for axes, metric in zip(grid.flat, metrics):
            axes.set_ylabel(names.metric(metric))
        return
    for axes, title in zip(grid[0], _titles(results, axis, columns)):
        axes.set_title(title)
    for axes, metric in zip(grid[:, 0], metrics):
        axes.set_ylabel(names.metric(metric).replace(' (', '\n('))
    for axes in grid[:, 1:].flat:
        axes.tick_params(labelleft=False)


def _titles(results, axis, columns):
    """What tells a column of panels from the others, in lines that are no longer than it is wide."""
    varying = [index for index in range(len(results.swept))
               if index != axis.index and len({row.swept[index] for row in results.summary}) > 1]
    letters = int(style.WIDTH / len(columns) / style.INCHES_PER_LETTER)
    for values in columns:
        swept = [*values[:axis.index], '', *values[axis.index:]]
        texts = [f'{names.parameter(results.swept[index])} {swept[index]}' for index in varying]
        yield '\n'.join(line for text in texts for line in textwrap.wrap(text, letters, break_on_hyphens=False))


def _handles(looks, results):
    lines = [Line2D([], [], label=policy, **style.line(look)) for policy, look in looks.items()]
    band = Patch(facecolor=style.GREY, alpha=2 * _BAND, label=names.interval(results.replications))
    return [*lines, band] if results.has_intervals() else lines
