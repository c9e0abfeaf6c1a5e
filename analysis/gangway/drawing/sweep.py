"""The metrics of a folder with swept parameters, against the first numeric one: lines, or bars over categories."""
import math

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gangway.drawing import alike, bars, names, style, swept_axis
from gangway.drawing.results import Measured

_COLUMNS = 4           # of panels on a page
_BARS_ON_A_PAGE = 100  # beside each other; more are too thin for their hatches
_BARS_BESIDE = 12      # in one of several panels beside each other
_LOG_FROM = 25         # a ratio of largest to smallest value that a linear axis would flatten
_BAND = 0.22           # opacity


def draw(results):
    """The pages of the figure: without a second parameter all panels on one, else a column of panels for each
    combination of the others' values."""
    axis = swept_axis.choose(results)
    others = swept_axis.combinations(results, axis)
    metrics = metrics_of(results)
    if len(others) == 1:
        return [_draw_page(results, axis, metrics, others, _grid_of_metrics(results, axis, len(metrics)))]
    columns = _COLUMNS if axis.numeric else min(_COLUMNS, max(1, _BARS_ON_A_PAGE // _bars(results, axis)))
    return [_draw_page(results, axis, metrics, part, (len(metrics), len(part)))
            for part in swept_axis.pages(others, columns)]


def metrics_of(results):
    """What gets a panel: evictions only where they differ. Of a client alone the others follow from its NTT."""
    evictions = {row.evictions for row in results.summary if not math.isnan(row.evictions)}
    if results.chosen:
        return results.metrics()
    metrics = ['antt'] if results.alone() else results.metrics()
    return [*metrics, 'evictions'] if len(evictions) > 1 else metrics


def _bars(results, axis):
    return len(axis.places) * len({row.policy for row in results.summary})


def _grid_of_metrics(results, axis, count):
    if not axis.numeric and _bars(results, axis) > _BARS_BESIDE:
        return count, 1
    return (1, count) if count <= 3 else (2, math.ceil(count / 2))


def _draw_page(results, axis, metrics, columns, shape):
    together = _together(results, axis, metrics, columns)
    looks = {policy: look for policy, look in style.styles(row.policy for row in results.summary).items() if policy in together}
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
        for axes in grid.flat[len(metrics):]:
            axes.set_visible(False)
    cut = False
    for axes, metric, others in cells:
        _draw_panel(axes, results, axis, metric, others, looks)
        axis.label_ticks(axes, inches)
        scale_y(axes, _all_of(results, metric), _from_one(results, metric))
        cut = cut or any(measured_of(row, metric).leaves(axes) for row in results.summary if axis.others(row) == others)
    _label_panels(grid, results, axis, metrics, columns, inches)
    style.lay_out(figure, results.title, _handles(looks, together, results, axis, metrics, cut))
    return figure


def _together(results, axis, metrics, columns):
    """Policies whose lines lie on each other in all panels of a page, as alike.groups() gives them. Printed values have a policy's colour."""
    if not axis.numeric:
        return {row.policy: [row.policy] for row in results.summary}
    printed = {row.policy for row in results.published_metrics()}
    lines = {policy: [] for policy in names.in_order(row.policy for row in results.summary)}
    for row in results.summary:
        if axis.others(row) in columns and row.policy not in printed:
            lines[row.policy].append((row.point, [(measured_of(row, metric), row.bound(metric), row.starves(metric)) for metric in metrics]))
    return alike.groups(lines)


def _draw_panel(axes, results, axis, metric, others, looks):
    rows = [row for row in results.summary if axis.others(row) == others]
    places = {row.point: axis.place(row) for row in rows}
    measured = {policy: [(places[row.point], measured_of(row, metric)) for row in rows if row.policy == policy]
                for policy in looks}
    published = [row for row in results.published_metrics() if row.metric == metric and row.point in places]
    if axis.numeric:
        for policy, points in measured.items():
            draw_line(axes, points, style.line(looks[policy]))
            style.mark_bounds(axes, [(places[row.point], measured_of(row, metric).mean, row.bound(metric)) for row in rows
                                     if row.policy == policy], looks[policy].colour)
        for row in published:
            style.mark_published(axes, places[row.point], row, looks[row.policy].colour, points_right=6)
    else:
        base = 1 if _from_one(results, metric) else 0
        log = _is_log(_all_of(results, metric))
        bars.draw_groups(axes, len(axis.places), measured, looks, base, points=log)
        style.mark_bounds(axes, [(places[row.point] + bars.offset(list(looks).index(row.policy), len(looks)),
                                  measured_of(row, metric).mean, row.bound(metric)) for row in rows], shown_by='point' if log else 'bar')
        for row in published:
            beside = bars.offset(list(looks).index(row.policy), len(looks))
            style.mark_published(axes, places[row.point] + beside, row)
    for row in rows:
        if row.starves(metric) and row.policy in looks:
            beside = 0 if axis.numeric else bars.offset(list(looks).index(row.policy), len(looks))
            style.mark_starved(axes, places[row.point] + beside, looks[row.policy].colour)
    axes.grid(axis='both' if axis.numeric else 'y')
    if _from_one(results, metric):
        axes.axhline(1, zorder=1.5, **style.ALONE)


def _from_one(results, metric):
    """Whether values are slowdowns of a client that has the device to itself, which are near 1."""
    return metric == 'antt' and results.alone()


def measured_of(row, metric):
    return row.metrics[metric] if metric in row.metrics else Measured(row.evictions, math.nan)


def _all_of(results, metric):
    """All values of a metric that some panel shows."""
    return [measured_of(row, metric) for row in results.summary] + [
        Measured(row.published, math.nan) for row in results.published_metrics() if row.metric == metric]


def draw_line(axes, points, words, least=0, most=math.inf):
    """Points (x, Measured), in any order, as a line with a band for intervals, which ends where values cannot be and
    is not there between points of which one has none. words: what makes the line."""
    points = sorted(points, key=lambda point: point[0])
    places, means = [place for place, _ in points], [value.mean for _, value in points]
    axes.plot(places, means, **words)
    if any(value.half_width for _, value in points):
        low, high = ([end if math.isnan(end) else min(max(end, least), most) for end in ends]
                     for ends in zip(*(value.interval for _, value in points)))
        axes.fill_between(places, low, high, color=words['color'], alpha=_BAND, linewidth=0)


def _is_log(measured):
    tops = [value.top for value in measured if not math.isnan(value.mean)]
    means = [value.mean for value in measured if value.mean > 0]
    return bool(means) and min(tops) > 0 and max(tops) > _LOG_FROM * min(means)


def scale_y(axes, measured, from_one):
    """The same scale in every panel of a metric, from 0 (or 1) unless that would flatten the lines."""
    tops = [value.top for value in measured if not math.isnan(value.mean)]
    means = [value.mean for value in measured if value.mean > 0]
    if _is_log(measured):
        style.log_y(axes, 0.8 * min(means), 1.25 * max(tops))
    elif means and from_one:
        low, high = min(1, *means), max(1.001, *tops)
        axes.set_ylim(low - 0.05 * (high - low), high + 0.08 * (high - low))
    elif means:
        axes.set_ylim(0, 1.08 * max(tops))


def _label_panels(grid, results, axis, metrics, columns, inches):
    for axes in grid[-1]:
        axes.set_xlabel(swept_axis.wrapped(axis.label, inches))
    called = [names.metric('ntt' if _from_one(results, metric) else metric) for metric in metrics]
    if len(columns) == 1:
        for axes, name in zip(grid.flat, called):
            axes.set_ylabel(name)
        return
    for axes, title in zip(grid[0], swept_axis.titles(results, axis, columns, inches)):
        axes.set_title(title)
    for axes, name in zip(grid[:, 0], called):
        axes.set_ylabel(name.replace(' (', '\n('))
    for axes in grid[:, 1:].flat:
        axes.tick_params(labelleft=False)


def _handles(looks, together, results, axis, metrics, cut):
    published = style.published_handles([row for row in results.published_metrics() if row.metric in metrics])
    published += style.bound_handles(results.bounds(metrics))
    published += style.starved_handles(any(row.starves(metric) for row in results.summary for metric in metrics))
    alone = [Line2D([], [], label='as fast as alone', **style.ALONE)] if _from_one(results, metrics[0]) else []
    shown = [measured_of(row, metric) for row in results.summary for metric in metrics]
    if not axis.numeric:
        points = all(_is_log(_all_of(results, metric)) for metric in metrics)
        return [*bars.policy_handles(looks, points), *alone, *bars.interval_handles(results, shown, cut), *published]
    lines = alike.handles({policy: style.line(look) for policy, look in looks.items()}, together)
    return [*lines, *alone, *band_handles(results, shown, cut), *published]


def band_handles(results, shown, cut=False):
    """The legend entry for the bands of these values, if any were drawn. cut: whether a panel cuts some of them off."""
    label = results.interval_label(shown, cut)
    return [Patch(facecolor=style.GREY, alpha=2 * _BAND, label=label)] if label else []
