"""What services are judged by: latency and attainment against load, and how latencies are distributed. A client that starved has no latency,
which is worse than any."""
import math

from matplotlib.lines import Line2D
from matplotlib.ticker import PercentFormatter

from gangway.drawing import alike, quantity, style, sweep, swept_axis

_COLUMNS = 4    # of panels on a page
_PAGES = 8      # of distributions
_LEAST_PLACES = 2  # on the axis, for a line
_PERCENTILES = ('p50', 'p99')  # against load
OBJECTIVE = {'color': 'black', 'linewidth': 0.8, 'linestyle': '--', 'zorder': 1.5}
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
    rows, clients = results.services, judged(results)
    word, factor = unit(row.latency[name].mean for row in rows if row.client in clients for name in _PERCENTILES)

    def draw_panel(axes, axis, client, name, found, looks):
        for policy, look in looks.items():
            mine = [row for row in found if row.policy == policy and row.client == client]
            sweep.draw_line(axes, [(axis.place(row), row.latency[name].scaled(factor / 1e6)) for row in mine], style.line(look))
            style.mark_bounds(axes, [(axis.place(row), row.latency[name].mean * factor / 1e6, row.bound(name)) for row in mine], look.colour)
        mark_starved(axes, [(axis.place(row), looks[row.policy].colour) for row in found
                            if row.starved_runs and row.client == client and row.policy in looks])
        _draw_objective(axes, [(axis.place(row), row.slo_ns * factor / 1e6) for row in found if row.client == client and row.slo_ns])
        axes.set_ylabel(f'{named(name)} ({word})')
        shown = [row.latency[percentile].scaled(factor / 1e6) for row in rows if row.client in clients for percentile in _PERCENTILES]
        scale_y(axes, [*(row.slo_ns * factor / 1e6 for row in rows if row.client in clients), *(value.mean for value in shown)], shown)
        return any(row.latency[name].scaled(factor / 1e6).leaves(axes) for row in found if row.client == client)

    yield from _pages(results, clients, _PERCENTILES, draw_panel)


def draw_attainment(results):
    """Pages: which share of its jobs each client with an objective finished in time, against load."""
    clients = [client for client in judged(results) if any(row.client == client and row.slo_ns for row in results.services)]

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
    axis, all_looks = swept_axis.choose(results), style.styles(row.policy for row in results.services)
    for others in swept_axis.combinations(results, axis):
        found = [row for row in results.services if axis.others(row) == others]
        setting = ', '.join(next(swept_axis.titles(results, axis, [others], 10 * style.WIDTH), '').split('\n')) if others else ''
        for part in swept_axis.pages(clients, _COLUMNS):
            together = alike.groups({policy: [_shown(axis, row, percentiles) for row in found if row.policy == policy and row.client in part]
                                     for policy in all_looks})
            looks = {policy: all_looks[policy] for policy in together}
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
                          [*_policies(looks, together), *_band_handles(results, shown, percentiles, cut), *_handles(shown, percentiles)])
            yield figure


def _shown(axis, row, percentiles):
    """All that a page draws of a row."""
    values = [row.attainment, row.bound('attainment')] if percentiles == (None,) else [
        (row.latency[name], row.bound(name)) for name in percentiles]
    return row.client, axis.place(row), values, bool(row.starved_runs)


def draw_distributions(results, times):
    """Pages, one for each point: which share of the jobs of each client took longer, on logarithmic axes. times: as
    results.read_all_responses() has them. Jobs that did not finish took longer than all others."""
    all_looks, clients = style.styles(row.policy for row in results.services), judged(results)
    points = list(dict.fromkeys(point for point, _ in times))
    more = f' (the first {_PAGES} of {len(points)} points)' if len(points) > _PAGES else ''
    for point in points[:_PAGES]:
        for part in swept_axis.pages(clients, _COLUMNS):
            figure, grid = style.pyplot.subplots(1, len(part), squeeze=False, figsize=(style.WIDTH, 3.2))
            found = [row for row in results.services if row.point == point]
            jobs = {policy: times.get((point, policy), {}) for policy in all_looks}
            together = alike.groups({policy: [sorted(of_client[client].values()) for client in part if client in of_client]
                                     for policy, of_client in jobs.items()})
            looks = {policy: all_looks[policy] for policy in together}
            for axes, client in zip(grid[0], part):
                _draw_distribution(axes, client, {policy: jobs[policy].get(client, {}) for policy in looks}, looks)
                for slo_ns in {row.slo_ns for row in found if row.client == client and row.slo_ns}:
                    axes.axvline(slo_ns / 1e6 * axes.unit_factor, **OBJECTIVE)
                axes.set_title(client, loc='left', fontweight='bold', pad=7)
                axes.grid()
            grid[0][0].set_ylabel('share of jobs that took longer')
            setting = results.setting(point, found[0].policy)
            shown = [row for row in found if row.client in part]
            style.lay_out(figure, ': '.join(filter(None, [results.title, setting])) + more, [
                *_policies(looks, together, marker=None), *_handles(shown, ()), *_none_finished(point, part, times)])
            yield figure


def _draw_distribution(axes, client, jobs_of, looks):
    word, factor = quantity.unit_of_times([time for jobs in jobs_of.values() for time in jobs.values()], log=True)
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
    axes.set_xlabel(f'latency ({word})')
    style.log_x(axes)
    style.log_y(axes, min(0.7 * fewest, _LEAST_SHARE), 1.4)
    axes.yaxis.set_major_formatter(lambda share, _: f'{100 * share:g} %' if share < 1.01 else '')
    if not any(jobs_of.values()):
        axes.text(0.5, 0.5, 'no job was released', transform=axes.transAxes, ha='center', va='center')


def judged(results):
    """The clients that have an objective; if none has one, all."""
    clients = list(dict.fromkeys(row.client for row in results.services))
    return [client for client in clients if any(row.client == client and row.slo_ns for row in results.services)] or clients


def named(percentile):
    return {'p50': 'median latency', 'p99': '99th percentile of latency'}[percentile]


def _draw_objective(axes, points):
    """points: (x, objective). A line across the panel; where the objective differs, a step at each x."""
    places, objectives = zip(*sorted(set(points))) if points else ((), ())
    if len(set(objectives)) == 1:
        axes.axhline(objectives[0], **OBJECTIVE)
    elif points:
        axes.plot(places, objectives, drawstyle='steps-mid', **OBJECTIVE)


def mark_starved(axes, starved):
    """starved: (x, colour). Crosses at the top of the panel, where the longest latencies are; those at one place side by side."""
    at_place = {}
    for place, colour in starved:
        at_place.setdefault(place, {})[colour] = None
    for at, colours in at_place.items():
        for number, colour in enumerate(colours):
            style.mark_starved(axes, at, colour, height=1.0, points_right=_BESIDE * number)


def unit(nanoseconds):
    """(unit, how many of it a ms is) for an axis of such latencies."""
    return quantity.unit_of_times([time / 1e6 for time in nanoseconds], log=True)


def scale_y(axes, values, measured=()):
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


def _policies(looks, together, **other):
    return alike.handles({policy: {**style.line(look), **other} for policy, look in looks.items()}, together)


def _handles(rows, percentiles):
    handles = []
    if percentiles != (None,) and any(row.slo_ns for row in rows):
        handles.append(Line2D([], [], label='objective', **OBJECTIVE))
    handles += style.bound_handles({row.bound(name or 'attainment') for row in rows for name in percentiles})
    return handles + style.starved_handles(any(percentiles) and any(row.starved_runs for row in rows))


def _none_finished(point, clients, times):
    """The legend entry for lines of those that finished nothing."""
    jobs = [of_client.get(client, {}) for (at, _), of_client in times.items() if at == point for client in clients]
    if not any(own and all(map(math.isnan, own.values())) for own in jobs):
        return []
    return [Line2D([], [], label='along the top: no job finished', color='black', linewidth=_NONE_FINISHED)]
