"""The metrics of one policy against a swept quantity: a line for each value of another one, all in the same panels."""
from matplotlib import colormaps
from matplotlib.lines import Line2D

from gangway.drawing import names, quantity, style, sweep, swept_axis
from gangway.drawing.results import Measured

_LEAST_PLACES = 3  # on the axis, for a line to show a course
_MOST = 7          # lines
_MARKERS = 'os^Dvph'
_LIGHTEST = 0.88   # of the colour map, whose end is too faint on white
_INCHES = 2.2      # of a panel, high


def applies(results):
    """Whether two quantities are swept under one policy, with several clients: few values of one, more of the other."""
    if not results.swept or results.alone() or len({row.policy for row in results.summary}) > 1:
        return False
    axis, varying = swept_axis.choose(results), _varying(results)
    if not axis.numeric or len(axis.places) < _LEAST_PLACES or len(varying) != 2 or axis.index not in varying:
        return False
    values = _values(results, _other(results, axis))
    return len(values) <= _MOST and quantity.in_common_unit(values) is not None


def draw(results):
    """The figure, whose lines have the order of the values."""
    axis = swept_axis.choose(results)
    other, metrics = _other(results, axis), sweep.metrics_of(results)
    looks = _looks(_values(results, other))
    columns = min(len(metrics), 3)
    rows = -(-len(metrics) // columns)
    figure, grid = style.pyplot.subplots(rows, columns, squeeze=False, figsize=(style.WIDTH, 0.7 + _INCHES * rows))
    for axes in grid.flat[len(metrics):]:
        axes.set_visible(False)
    published = [row for row in results.published_metrics() if row.metric in metrics]
    for axes, metric in zip(grid.flat, metrics):
        _draw_panel(axes, results, axis, other, metric, looks)
        axis.label_ticks(axes, style.WIDTH / columns)
        axes.set_xlabel(axis.label)
        axes.set_ylabel(names.metric(metric))
        sweep.scale_y(axes, [sweep.measured_of(row, metric) for row in results.summary] + [
            Measured(row.published, 0) for row in published if row.metric == metric], False)
    shown = [sweep.measured_of(row, metric) for row in results.summary for metric in metrics]
    lines = [Line2D([], [], label=names.setting(results.swept[other], value), **look) for value, look in looks.items()]
    style.lay_out(figure, results.title, [*lines, *sweep.band_handles(results, shown), *style.published_handles(published),
                                          *style.bound_handles(results.bounds(metrics)),
                                          *style.starved_handles(any(row.starves(metric) for row in results.summary for metric in metrics))])
    return figure


def _varying(results):
    return [index for index in range(len(results.swept)) if len({row.swept[index] for row in results.summary}) > 1]


def _other(results, axis):
    return next(index for index in _varying(results) if index != axis.index)


def _values(results, index):
    """As they are written, the smallest first."""
    texts = list(dict.fromkeys(row.swept[index] for row in results.summary))
    common = quantity.in_common_unit(texts)
    return sorted(texts, key=dict(zip(texts, common[0])).get) if common else texts


def _looks(values):
    """value -> the words that make its line, from dark to light."""
    shades = [_LIGHTEST * place / max(1, len(values) - 1) for place in range(len(values))]
    return {value: {'color': colormaps['viridis'](shade), 'marker': marker, 'clip_on': False, 'markeredgecolor': 'white',
                    'markeredgewidth': 0.4} for value, shade, marker in zip(values, shades, _MARKERS)}


def _draw_panel(axes, results, axis, other, metric, looks):
    for value, look in looks.items():
        sweep.draw_line(axes, [(axis.place(row), sweep.measured_of(row, metric)) for row in results.summary
                               if row.swept[other] == value], look)
        style.mark_bounds(axes, [(axis.place(row), sweep.measured_of(row, metric).mean, row.bound(metric)) for row in results.summary
                                 if row.swept[other] == value], look['color'])
        for row in results.summary:
            if row.starves(metric) and row.swept[other] == value:
                style.mark_starved(axes, axis.place(row), look['color'])
    rows = {row.point: row for row in results.summary}
    for row in results.published_metrics():
        if row.metric == metric:
            at = rows[row.point]
            style.mark_published(axes, axis.place(at), row, looks[at.swept[other]]['color'], points_right=6)
    axes.grid()
