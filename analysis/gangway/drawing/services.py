"""What services are judged by: latency and attainment against load, how latencies are distributed, and throughput against
tail latency. A client that starved has no latency, which is worse than any."""
import math
from collections import Counter

from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from gangway.drawing import quantity, style, sweep, swept_axis

_COLUMNS = 4    # of panels on a page
_PAGES = 8      # of distributions
_LEAST_PLACES = 2  # on the axis, for a line
_PERCENTILES = ('p50', 'p99')  # against load
_TAIL = 'p99'
_OBJECTIVE = {'color': 'black', 'linewidth': 0.8, 'linestyle': '--', 'zorder': 1.5}
_NONE_FINISHED = 2.6  # points of width: of the line of a client whose jobs are all still there
_LOG_FROM = 5   # a ratio of largest to smallest latency, below which a logarithmic axis has hardly a tick
_LEAST_SHARE = 0.1  # down to which the axis of a distribution goes, however few jobs there are
_BESIDE = 4     # points between crosses at one place


def against_load(results):
    """Whether something is swept that can be an axis of load."""
    axis = swept_axis.choose(results) if results.services and results.swept else None
    return axis is not None and axis.numeric and len(axis.places) >= _LEAST_PLACES


def draw_latency(results):
    """Pages: the median and the 99th percentile of each client that has an objective, against load."""
    rows, clients = results.services, _judged(results)
    unit, factor = _unit(row.latency[name].mean for row in rows if row.client in clients for name in _PERCENTILES)

    def draw_panel(axes, axis, client, name, found, looks):
        for policy, look in looks.items():
            mine = [row for row in found if row.policy == policy and row.client == client]
            sweep.draw_line(axes, [(axis.place(row), row.latency[name].scaled(factor / 1e6)) for row in mine], style.line(look))
            style.mark_bounds(axes, [(axis.place(row), row.latency[name].mean * factor / 1e6, row.bound(name)) for row in mine], look.colour)
        _mark_starved(axes, [row for row in found if row.client == client], looks, axis.place)
        _draw_objective(axes.axhline, found, client, factor)
        axes.set_ylabel(f'{_named(name)} ({unit})')
        shown = [row.latency[percentile].scaled(factor / 1e6) for row in rows if row.client in clients for percentile in _PERCENTILES]
        _scale_y(axes, [*(row.slo_ns * factor / 1e6 for row in rows if row.client in clients), *(value.mean for value in shown)], shown)
        return any(row.latency[name].scaled(factor / 1e6).leaves(axes) for row in found if row.client == client)

    yield from _pages(results, clients, _PERCENTILES, draw_panel)


def draw_attainment(results):
    """Pages: which share of its jobs each client with an objective finished in time, against load."""
    clients = [client for client in _judged(results) if any(row.client == client and row.slo_ns for row in results.services)]

    def draw_panel(axes, axis, client, _, found, looks):
        for policy, look in looks.items():
            mine = [row for row in found if row.policy == policy and row.client == client]
            sweep.draw_line(axes, [(axis.place(row), row.attainment) for row in mine], style.line(look), most=1)
            style.mark_bounds(axes, [(axis.place(row), row.attainment.mean, row.bound('attainment')) for row in mine], look.colour)
        axes.set_ylim(-0.02, 1.05)
        axes.set_ylabel('jobs within their objective')
        axes.yaxis.set_major_formatter(PercentFormatter(1))

    if clients:
        yield from _pages(results, clients, (None,), draw_panel)


def _pages(results, clients, percentiles, draw_panel):
    """A page for each combination of the other parameters and four clients: a column each, a row for each of `percentiles`."""
    axis, looks = swept_axis.choose(results), style.styles(row.policy for row in results.services)
    for others in swept_axis.combinations(results, axis):
        found = [row for row in results.services if axis.others(row) == others]
        setting = ', '.join(next(swept_axis.titles(results, axis, [others], 10 * style.WIDTH), '').split('\n')) if others else ''
        for part in swept_axis.pages(clients, _COLUMNS):
            inches, cut = style.WIDTH / len(part), False
            figure, grid = style.pyplot.subplots(len(percentiles), len(part), squeeze=False, sharex=True,
                                                 figsize=(style.WIDTH, 1.1 + 2.0 * len(percentiles)))
            for column, client in zip(grid.T, part):
                column[0].set_title(client, loc='left', fontweight='bold', pad=7)
                for axes, name in zip(column, percentiles):
                    cut = draw_panel(axes, axis, client, name, found, looks) or cut
                    axis.label_ticks(axes, inches)
                    axes.grid()
                column[-1].set_xlabel(swept_axis.wrapped(axis.label, inches))
            shown = [row for row in found if row.client in part]
            style.lay_out(figure, ': '.join(filter(None, [results.title, setting])),
                          [*_policies(looks), *_band_handles(results, shown, percentiles, cut), *_handles(shown, percentiles)])
            yield figure


def draw_distributions(results, times):
    """Pages, one for each point: which share of the jobs of each client took longer, on logarithmic axes. times: as
    results.read_all_responses() has them. Jobs that did not finish took longer than all others."""
    looks, clients = style.styles(row.policy for row in results.services), _judged(results)
    points = list(dict.fromkeys(point for point, _ in times))
    more = f' (the first {_PAGES} of {len(points)} points)' if len(points) > _PAGES else ''
    for point in points[:_PAGES]:
        for part in swept_axis.pages(clients, _COLUMNS):
            figure, grid = style.pyplot.subplots(1, len(part), squeeze=False, figsize=(style.WIDTH, 3.2))
            found = [row for row in results.services if row.point == point]
            for axes, client in zip(grid[0], part):
                _draw_distribution(axes, client, {policy: times.get((point, policy), {}).get(client, {}) for policy in looks}, looks)
                _draw_objective(axes.axvline, found, client, axes.unit_factor)
                axes.set_title(client, loc='left', fontweight='bold', pad=7)
                axes.grid()
            grid[0][0].set_ylabel('share of jobs that took longer')
            setting = results.setting(point, found[0].policy)
            shown = [row for row in found if row.client in part]
            style.lay_out(figure, ': '.join(filter(None, [results.title, setting])) + more, [*_policies(looks, marker=None), *_handles(shown, ()),
                                                                                     *_none_finished(point, part, times)])
            yield figure


def _draw_distribution(axes, client, jobs_of, looks):
    unit, factor = quantity.unit_of_times([time for jobs in jobs_of.values() for time in jobs.values()], log=True)
    axes.unit_factor = factor
    fewest = 1
    for policy, jobs in jobs_of.items():
        times = sorted(time * factor for time in jobs.values() if not math.isnan(time))
        if times:
            shares = [1 - number / len(jobs) for number in range(1, len(times) + 1)]
            fewest = min(fewest, 1 / len(jobs))
            axes.plot([times[0], *times], [1, *(share or math.nan for share in shares)], drawstyle='steps-post',
                      **{**style.line(looks[policy]), 'marker': None, 'clip_on': True})
        elif jobs:
            axes.axhline(1, color=looks[policy].colour, linestyle=looks[policy].dash, linewidth=_NONE_FINISHED)
    axes.set_xlabel(f'latency ({unit})')
    style.log_x(axes)
    style.log_y(axes, min(0.7 * fewest, _LEAST_SHARE), 1.4)
    axes.yaxis.set_major_formatter(lambda share, _: f'{100 * share:g} %' if share < 1.01 else '')
    if not any(jobs_of.values()):
        axes.text(0.5, 0.5, 'no job was released', transform=axes.transAxes, ha='center', va='center')


def draw_throughput_and_tail(results):
    """The tail latency of each client that has an objective against what the others get done, a line for each policy
    through the loads: the best corner is the lower right one. The others are those without an objective, if there are
    any: what a service gets done is its load. Of several, jobs count with their standalone time."""
    looks, clients = style.styles(row.policy for row in results.services), _judged(results)[:_COLUMNS]
    figure, grid = style.pyplot.subplots(1, len(clients), squeeze=False, figsize=(style.WIDTH, 3.4))
    order, bounds = _order_of_points(results), set()
    for axes, client in zip(grid[0], clients):
        mine = sorted((row for row in results.services if row.client == client), key=lambda row: order[row.point])
        others = _others(results, client) or mine
        several = len({row.client for row in others}) > 1
        alone = {(row.point, row.policy, row.client): row.standalone_ns / 1e9 for row in results.clients}
        done, at_most = Counter(), {(row.point, row.policy) for row in others if row.bound('throughput')}  # nothing where it is alone
        bounds |= {'at most'} if at_most else set()
        for row in others:
            done[row.point, row.policy] += row.throughput.mean * (alone[row.point, row.policy, row.client] if several else 1)
        unit, factor = _unit(row.latency[_TAIL].mean for row in mine)
        for policy, look in looks.items():
            rows = [row for row in mine if row.policy == policy]
            axes.plot([done[row.point, policy] for row in rows], [row.latency[_TAIL].mean * factor / 1e6 for row in rows],
                      **style.line(look))
            style.mark_bounds(axes, [(done[row.point, policy], row.latency[_TAIL].mean * factor / 1e6, row.bound(_TAIL)) for row in rows],
                              look.colour)
            style.mark_bounds(axes, [(done[row.point, policy], row.latency[_TAIL].mean * factor / 1e6, 'at most') for row in rows
                                     if (row.point, policy) in at_most], look.colour, shown_by='x')
        _mark_starved(axes, mine, looks, lambda row: done[row.point, row.policy])
        _draw_objective(axes.axhline, mine, client, factor)
        _scale_y(axes, [factor / 1e6 * value for row in mine for value in (row.latency[_TAIL].mean, row.slo_ns)])
        axes.set_xlim(0, 1.05 * max(done[row.point, row.policy] for row in mine) or 1)
        who = sorted({row.client for row in others})
        what = 'standalone time of jobs of the others finished (s/s)' if several else f'jobs of {who[0]} finished (1/s)'
        axes.set_xlabel(swept_axis.wrapped(what, style.WIDTH / len(clients)))
        axes.set_ylabel(f'{_named(_TAIL)} ({unit})')
        axes.set_title(client, loc='left', fontweight='bold', pad=7)
        axes.grid()
    shown = [row for row in results.services if row.client in clients]
    points = {'linestyle': 'none'} if len(set(order)) == 1 else {}
    style.lay_out(figure, results.title, [*_policies(looks, **points), *_handles(shown, (_TAIL,), bounds)])
    return figure


def _others(results, client):
    others = [row for row in results.services if row.client != client]
    services = {row.client for row in others if row.slo_ns}
    return [row for row in others if row.client not in services] or others


def _order_of_points(results):
    """point -> its place among the loads, where these are numbers."""
    axis = swept_axis.choose(results) if against_load(results) else None
    return {row.point: (axis.place(row) if axis else row.point) for row in results.services}


def _judged(results):
    """The clients that have an objective; if none has one, all."""
    clients = list(dict.fromkeys(row.client for row in results.services))
    return [client for client in clients if any(row.client == client and row.slo_ns for row in results.services)] or clients


def _named(percentile):
    return {'p50': 'median latency', 'p99': '99th percentile of latency'}[percentile]


def _draw_objective(draw, rows, client, factor):
    for slo_ns in {row.slo_ns for row in rows if row.client == client and row.slo_ns}:
        draw(slo_ns / 1e6 * factor, **_OBJECTIVE)


def _mark_starved(axes, rows, looks, place):
    """Crosses at the top of the panel, where the longest latencies are; those of policies at one place side by side."""
    at_place = {}
    for row in rows:
        if row.starved_runs:
            at_place.setdefault(place(row), {})[row.policy] = None
    for at, policies in at_place.items():
        for number, policy in enumerate(policies):
            style.mark_starved(axes, at, looks[policy].colour, height=1.0, points_right=_BESIDE * number)


def _unit(nanoseconds):
    """(unit, how many of it a ms is) for an axis of such latencies."""
    return quantity.unit_of_times([time / 1e6 for time in nanoseconds], log=True)


def _scale_y(axes, values, measured=()):
    """Logarithmic where values differ enough for such an axis to have ticks. measured: of which intervals are drawn; one that comes near 0
    does not make the axis much longer."""
    known = [value for value in values if value > 0]
    if not known:
        return
    tops = [value.interval[1] for value in measured if value.half_width]
    ends = [value.middle - value.below for value in measured if value.half_width]
    if max(known) > _LOG_FROM * min(known):
        low = min([*known, *(end for end in ends if end > min(known) / _LOG_FROM)])
        style.log_y(axes, 0.8 * low, max(1.5 * max(known), *tops, 0))
    else:
        axes.set_ylim(0, max(1.2 * max(known), *tops, 0))


def _band_handles(results, rows, shown, cut):
    values = [value for row in rows for value in ([row.attainment] if shown == (None,) else [row.latency[name] for name in shown])]
    return sweep.band_handles(results, values, cut)


def _policies(looks, **other):
    return [Line2D([], [], label=policy, **{**style.line(look), **other}) for policy, look in looks.items()]


def _handles(rows, percentiles, more_bounds=()):
    handles = []
    if percentiles != (None,) and any(row.slo_ns for row in rows):
        handles.append(Line2D([], [], label='objective', **_OBJECTIVE))
    handles += style.bound_handles({*more_bounds, *(row.bound(name or 'attainment') for row in rows for name in percentiles)})
    return handles + style.starved_handles(any(percentiles) and any(row.starved_runs for row in rows))


def _none_finished(point, clients, times):
    """The legend entry for lines of those that finished nothing."""
    jobs = [of_client.get(client, {}) for (at, _), of_client in times.items() if at == point for client in clients]
    if not any(own and all(map(math.isnan, own.values())) for own in jobs):
        return []
    return [Line2D([], [], label='along the top: no job finished', color='black', linewidth=_NONE_FINISHED)]
