"""What a paper prints, what was predicted and what was measured, as three bars; and each client's NTT, predicted and measured."""
import math

from gangway.drawing import bars, names, style
from gangway.drawing.results import METRICS, Measured

_LOOKS = {'printed': style.Style('white', 'D', '', '-'), 'predicted': style.Style(style.SKY, 'o', '//////', '-'),
          'measured': style.Style(style.BLUE, 's', '', '-')}
_COLUMNS = 2  # of panels of clients
_ROOM_FOR_MARKS = 0.15  # of the axis, above the largest value


def values(pair, metric):
    """printed, predicted and measured -> {policy: Measured}, at the first point; NaN where a client starved."""
    sides = {'printed': {row.policy: Measured(row.published, math.nan) for row in pair.measured.published_metrics()
                         if row.metric == metric and row.point == 0}}
    for place, side in enumerate(('predicted', 'measured')):
        sides[side] = {both[place].policy: both[place].metrics[metric] for both in pair.rows if both[place].point == 0}
    return sides


def draw_metrics(pair):
    """ANTT, DNTT and STP of each policy: a panel below the other, as there may be many policies."""
    policies = names.in_order(row.policy for row, _ in pair.rows if row.point == 0)
    figure, grid = style.pyplot.subplots(len(METRICS), 1, squeeze=False, figsize=(style.WIDTH, 1 + 1.7 * len(METRICS)))
    of_metric = {metric: values(pair, metric) for metric in METRICS}
    points = any(_is_log(sides) for sides in of_metric.values())
    shown = {metric: _bounds_of_metric(pair, metric) for metric in METRICS}
    for axes, (metric, sides) in zip(grid[:, 0], of_metric.items()):
        _draw(axes, policies, sides, shown[metric], style.WIDTH, points)
        axes.set_ylabel(names.metric(metric))
    style.lay_out(figure, pair.title, [*bars.policy_handles(_LOOKS, points), *_interval_handles(pair, of_metric.values()),
                                        *_handles(of_metric.values(), shown.values())])
    return figure


def draw_clients(pair):
    """NTT of each client, the longest first: a panel for each policy."""
    measured = [row for row in pair.measured.clients if row.point == 0]
    policies = names.in_order(row.policy for row, _ in pair.rows if row.point == 0)
    clients = [row.client for row in bars.by_length(measured)]
    rows = math.ceil(len(policies) / _COLUMNS)
    figure, grid = style.pyplot.subplots(rows, _COLUMNS, squeeze=False, figsize=(style.WIDTH, 0.9 + 1.5 * rows))
    of_policy = {policy: {side: [row for row in found.clients if (row.point, row.policy) == (0, policy)]
                          for side, found in (('predicted', pair.predicted), ('measured', pair.measured))} for policy in policies}
    ntts = {policy: {side: {row.client: row.ntt for row in own} for side, own in sides.items()} for policy, sides in of_policy.items()}
    shown = {policy: {side: {row.client: row.bound('ntt') for row in own} for side, own in sides.items()} for policy, sides in of_policy.items()}
    points = any(map(_is_log, ntts.values()))
    for axes, policy in zip(grid.flat, policies):
        _draw(axes, clients, ntts[policy], shown[policy], style.WIDTH / _COLUMNS, points)
        axes.set_title(policy, fontweight='bold', pad=3)
        axes.axhline(1, zorder=5, **style.ALONE)
        axes.set_ylabel('NTT')
        if points:  # one scale for all panels
            bars.scale_log(axes, [value for sides in ntts.values() for found in sides.values() for value in found.values()])
    for axes in grid.flat[len(policies):]:
        axes.set_visible(False)
    looks = {side: look for side, look in _LOOKS.items() if side != 'printed'}
    style.lay_out(figure, pair.title, [*bars.policy_handles(looks, points), bars.ALONE, *_interval_handles(pair, ntts.values()),
                                        *_handles(ntts.values(), shown.values())])
    return figure


def _bounds_of_metric(pair, metric):
    return {side: {both[place].policy: both[place].bound(metric) for both in pair.rows if both[place].point == 0}
            for place, side in enumerate(('predicted', 'measured'))}


def _interval_handles(pair, panels):
    return pair.interval_handles([[value for sides in panels for value in sides[side].values()] for side in ('predicted', 'measured')])


def _handles(panels, bounds):
    starved = any(math.isnan(value.mean) for sides in panels for found in sides.values() for value in found.values())
    return [*style.bound_handles({bound for sides in bounds for found in sides.values() for bound in found.values()}),
            *style.starved_handles(starved)]


def _is_log(sides):
    return bars.is_log([value for found in sides.values() for value in found.values()])


def _mark(axes, values, points):
    """values: (x, y, bound), whose y is NaN where a client starved."""
    style.mark_bounds(axes, values, shown_by='point' if points else 'bar')
    for x, y, _ in values:
        if math.isnan(y):
            style.mark_starved(axes, x)


def _draw(axes, places, sides, bounds, width, points):
    """sides: side -> {name: Measured}; bounds likewise, of the keys of results.SIGNS."""
    shown = {side: [(places.index(name), value) for name, value in found.items() if name in places] for side, found in sides.items() if found}
    bars.draw_groups(axes, len(places), shown, _LOOKS, points=points)
    for index, (side, found) in enumerate(shown.items()):
        _mark(axes, [(place + bars.offset(index, len(shown)), value.mean, bounds.get(side, {}).get(places[place], ''))
                     for place, value in found], points)
    if _is_log(sides):
        bars.scale_log(axes, [value for found in sides.values() for value in found.values()])
    else:
        bounded = any(bound for found in bounds.values() for bound in found.values())
        axes.set_ylim(0, (1 + _ROOM_FOR_MARKS * bounded) * axes.get_ylim()[1])
    style.name_ticks(axes, places, width)
    axes.grid(axis='y')
