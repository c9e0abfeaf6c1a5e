"""The metrics against two swept quantities of many values each, as colours: a row of panels for each metric, a column for
each policy."""
import math
from dataclasses import dataclass

from matplotlib import colormaps
from matplotlib.colors import LogNorm, Normalize
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogLocator, NullLocator

from gangway.drawing import names, quantity, style, sweep, swept_axis
from gangway.drawing.results import METRICS

_LEAST = 8      # values of either quantity; fewer are lines, unless somebody asks for colours
_COLUMNS = 4    # policies on a page
_INCHES = 1.35  # of a panel, high
_LOG_FROM = 25   # a ratio of largest to smallest value that linear colours would flatten
_TICKS = 5
_BAR = 0.035     # of the width, for the bar of colours
_STARVED = {'facecolor': 'white', 'edgecolor': style.GREY, 'hatch': '////', 'linewidth': 0}
_ABSENT = {'facecolor': 'white', 'edgecolor': style.GREY, 'hatch': '....', 'linewidth': 0}
_BETWEEN = 0.08  # inches between numbers under a panel, at least
_NUMBERS = 0.065  # inches of a digit there


@dataclass(frozen=True)
class _Side:
    """A swept quantity along one side of the map."""
    index: int
    label: str
    numbers: dict  # text -> number in one unit
    order: list    # the texts, smallest first


def applies(results):
    return len(_sides(results, _LEAST)) >= 2


def is_possible(results):
    """Whether there is a map to draw, however coarse."""
    return len(_sides(results, 2)) >= 2


def draw(results):
    """The pages of the figure: one for each four policies and each combination of the parameters that are not sides."""
    x, y = _sides(results, 2)[:2]
    policies = swept_axis.pages(names.in_order(row.policy for row in results.summary), _COLUMNS)
    others = list(dict.fromkeys(_others(row, x, y) for row in results.summary))
    cells = {(row.policy, _others(row, x, y), row.swept[x.index], row.swept[y.index]): row for row in results.summary}
    return [_draw_page(results, x, y, cells, of_page, rest, len(others) > 1) for rest in others for of_page in policies]


def _sides(results, least):
    """The quantities of so many values at least, the one of most first."""
    sides = []
    for index, path in enumerate(results.swept):
        texts = list(dict.fromkeys(row.swept[index] for row in results.summary))
        common = quantity.in_common_unit(texts)
        if common and len(texts) >= least:
            numbers, name = dict(zip(texts, common[0])), names.parameter(path)
            label = f'{name} ({quantity.shown(common[1])})' if common[1] else name
            sides.append(_Side(index, label, numbers, sorted(texts, key=numbers.get)))
    return sorted(sides, key=lambda side: -len(side.order))


def _others(row, x, y):
    return tuple(text for index, text in enumerate(row.swept) if index not in (x.index, y.index))


def _draw_page(results, x, y, cells, policies, others, several):
    metrics = sweep.metrics_of(results)
    figure, grid = style.pyplot.subplots(
        len(metrics), len(policies) + 1, squeeze=False, figsize=(style.WIDTH, 0.9 + _INCHES * len(metrics)),
        gridspec_kw={'width_ratios': [1] * len(policies) + [_BAR * (len(policies) + 1)]})
    starved = absent = nothing = False
    bounds = set()
    for line, metric in zip(grid, metrics):
        norm = _norm([sweep.measured_of(row, metric).mean for row in results.summary])
        for axes, policy in zip(line, policies):
            rows = [[cells.get((policy, others, right, up)) for right in x.order] for up in y.order]
            image = _draw_panel(axes, [[_value(row, metric) for row in line_of_rows] for line_of_rows in rows], norm)
            absent |= _mark_absent(axes, rows)
            bounds |= _mark_bounds(axes, rows, metric, len(policies))
            empty = [row for line_of_rows in rows for row in line_of_rows if row is not None and math.isnan(_value(row, metric))]
            starved |= any(row.starves(metric) or metric in METRICS for row in empty)  # averaged over clients: nothing else leaves it out
            nothing |= any(not row.starves(metric) and metric not in METRICS for row in empty)
        _draw_colours(figure, image, line[-1], metric)
    _label(grid, x, y, policies)
    reasons = [*(['a client finished no job'] if starved else []), *(['nothing to measure'] if nothing else [])]
    style.lay_out(figure, results.title + (f' ({_called(results, x, y, others)})' if several else ''), [
        *([Patch(label=f'no value: {", or ".join(reasons)}', **_STARVED)] if reasons else []),
        *([Patch(label='no result: it failed, or was not played', **_ABSENT)] if absent else []), *style.bound_handles(bounds)])
    return figure


def _mark_absent(axes, rows):
    """Cells of which there is no result at all; returns whether there are any."""
    places = [(right, up) for up, line in enumerate(rows) for right, row in enumerate(line) if row is None]
    for right, up in places:
        axes.add_patch(Rectangle((right - 0.5, up - 0.5), 1, 1, **_ABSENT))
    return bool(places)


def _mark_bounds(axes, rows, metric, panels):
    """Marks in the middle of cells; returns which."""
    cells = [(right, up, row.bound(metric)) for up, line in enumerate(rows) for right, row in enumerate(line)
             if row is not None and not math.isnan(_value(row, metric))]
    style.mark_bounds(axes, cells, shown_by='cell', size=_size_of_marks(rows, panels))
    return {bound for _, _, bound in cells}


def _size_of_marks(rows, panels):
    """In points: such that a mark does not fill its cell."""
    return min(4, 0.5 * 72 * min(_INCHES / len(rows), _panel_inches(panels) / len(rows[0])))


def _draw_colours(figure, image, axes, metric):
    """What the colours of a row of panels mean."""
    bar = figure.colorbar(image, cax=axes)
    bar.set_label(names.metric(metric).replace(' (', '\n('))
    bar.outline.set_linewidth(0.5)
    if isinstance(image.norm, LogNorm):
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter('{x:g}')
        axes.yaxis.set_minor_locator(NullLocator())


def _label(grid, x, y, policies):
    inches = style.WIDTH / (len(policies) + 0.5)
    for axes, policy in zip(grid[0], policies):
        axes.set_title(swept_axis.wrapped(policy, inches), fontweight='bold')
    for number, line in enumerate(grid, 1):
        line[0].set_ylabel(swept_axis.wrapped(y.label, _INCHES))
        for axes in line[:-1]:
            _ticks(axes.set_yticks, y, axes is line[0])
            _ticks(axes.set_xticks, x, number == len(grid), _panel_inches(len(line) - 1))
    for axes in grid[-1][:-1]:
        axes.set_xlabel(swept_axis.wrapped(x.label, inches))


def _called(results, x, y, others):
    paths = [path for index, path in enumerate(results.swept) if index not in (x.index, y.index)]
    return ', '.join(names.setting(path, text) for path, text in zip(paths, others))


def _value(row, metric):
    return math.nan if row is None else sweep.measured_of(row, metric).mean


def _norm(values):
    """One scale of colours for all panels of a metric, on all pages."""
    values = [value for value in values if not math.isnan(value)] or [0]
    low, high = min(values), max(values)
    if low > 0 and high > _LOG_FROM * low:
        return LogNorm(low, high)
    return Normalize(low, high if high > low else low + 1)


def _draw_panel(axes, values, norm):
    axes.patch.set(**_STARVED)
    shades = colormaps['cividis'].copy()
    shades.set_bad(alpha=0)
    image = axes.imshow(values, origin='lower', aspect='auto', cmap=shades, norm=norm, interpolation='nearest')
    for spine in axes.spines.values():
        spine.set_visible(True)
    return image


def _panel_inches(panels):
    """How wide a panel is, about: numbers on the left, the bar of colours and its words on the right."""
    return (style.WIDTH - 1.7) / panels - 0.15


def _ticks(put, side, numbers, inches=math.inf):
    """Ticks at some of the places, evenly apart; their numbers fit beside each other into so many inches."""
    shown = [f'{side.numbers[text]:g}' for text in side.order]
    step = math.ceil(len(shown) / _TICKS)
    while step < len(shown) and _crowded(shown[::step], inches * step / len(shown)):
        step += 1
    put(list(range(0, len(shown), step)), shown[::step] if numbers else [''] * len(shown[::step]))


def _crowded(texts, apart):
    return any(_NUMBERS * (len(one) + len(other)) / 2 + _BETWEEN > apart for one, other in zip(texts, texts[1:]))
