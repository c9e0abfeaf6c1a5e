"""Bars for a folder without a sweep: NTT per client, and metrics per policy. Groups of bars for categories."""
import math

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from gangway.drawing import names, quantity, style

_BARS_IN_A_ROW = 60  # more are too thin for their hatches
_WIDEST = 0.4        # of the space of a client
_FEWEST = 4          # places in a panel
_LOG_FROM = 25       # a ratio of largest to smallest value that hides the small bars on a linear axis
_ERROR = {'ecolor': 'black', 'elinewidth': 0.8, 'capsize': 1.6, 'capthick': 0.8}
ALONE = Line2D([], [], label='as fast as alone', **style.ALONE)


def draw_clients(results):
    """NTT of each client under each policy; the longest client first."""
    policies = names.in_order(row.policy for row in results.clients)
    looks = style.styles(policies)
    clients = by_length(results.clients)
    in_a_row = max(3, _BARS_IN_A_ROW // len(policies))
    rows = [clients[start:start + in_a_row] for start in range(0, len(clients), in_a_row)]
    figure, grid = style.pyplot.subplots(len(rows), 1, squeeze=False, sharey=True,
                                         figsize=(style.WIDTH, 0.9 + 2.0 * len(rows)))
    measured = {(row.policy, row.client): row.ntt for row in results.clients}
    log = is_log(measured.values())
    for axes, part in zip(grid[:, 0], rows):
        draw_groups(axes, in_a_row if len(rows) > 1 else len(part), {
            policy: [(place, measured[policy, client.client]) for place, client in enumerate(part)
                     if (policy, client.client) in measured] for policy in policies}, looks, points=log)
        _mark_bounds(axes, results, policies, part, log)
        _mark_starved_clients(axes, results, policies, part)
        _pad(axes)
        _label_clients(axes, part)
    if log:
        scale_log(grid[0, 0], measured.values())
    grid[-1, 0].set_xlabel('client (standalone time)')
    bounds = style.bound_handles({row.bound('ntt') for row in results.clients})
    starved = style.starved_handles(any(row.starved_runs for row in results.clients))
    intervals = interval_handles(results, measured.values(), any(value.leaves(grid[0, 0]) for value in measured.values()))
    style.lay_out(figure, results.title, [*policy_handles(looks, points=log), ALONE, *intervals, *bounds, *starved])
    return figure


def draw_metrics(results):
    """The metrics of each policy, beside what was published."""
    policies, metrics = names.in_order(row.policy for row in results.summary), results.metrics()
    looks = style.styles(policies)
    panel = style.WIDTH / len(metrics)
    room = _room(len(policies), panel)
    height = 2.6 + style.rotated_inches(policies, room)
    figure, grid = style.pyplot.subplots(1, len(metrics), squeeze=False, figsize=(style.WIDTH, height))
    published = results.published_metrics()
    for axes, metric in zip(grid[0], metrics):
        log = is_log([row.metrics[metric] for row in results.summary])
        for row in results.summary:
            draw = draw_points if log else _draw_bars
            draw(axes, [policies.index(row.policy)], [row.metrics[metric]], looks[row.policy], 0.55)
        for row in published:
            if row.metric == metric:
                style.mark_published(axes, policies.index(row.policy) + 0.46, row)
        style.mark_bounds(axes, [(policies.index(row.policy), row.metrics[metric].mean, row.bound(metric)) for row in results.summary],
                          shown_by='point' if log else 'bar')
        for row in results.summary:
            if row.starves(metric):
                style.mark_starved(axes, policies.index(row.policy))
        _label_policies(axes, policies, room)
        if log:
            scale_log(axes, [row.metrics[metric] for row in results.summary])
        axes.set_ylabel(names.metric(metric))
    starved = style.starved_handles(any(row.starves(metric) for row in results.summary for metric in metrics))
    shown = [row.metrics[metric] for row in results.summary for metric in metrics]
    cut = any(row.metrics[metric].leaves(axes) for axes, metric in zip(grid[0], metrics) for row in results.summary)
    style.lay_out(figure, results.title, [*interval_handles(results, shown, cut), *style.published_handles(published),
                                          *style.bound_handles(results.bounds(metrics)), *starved])
    return figure


def _mark_bounds(axes, results, policies, part, log):
    places = {client.client: place for place, client in enumerate(part)}
    style.mark_bounds(axes, [(places[row.client] + offset(policies.index(row.policy), len(policies)), row.ntt.mean, row.bound('ntt'))
                             for row in results.clients if row.client in places], shown_by='point' if log else 'bar')


def _mark_starved_clients(axes, results, policies, part):
    places = {client.client: place for place, client in enumerate(part)}
    for row in results.clients:
        if row.starved_runs and row.client in places:
            style.mark_starved(axes, places[row.client] + offset(policies.index(row.policy), len(policies)))


def by_length(clients):
    """One row per client, by decreasing standalone time; equals by name."""
    first = {}
    for row in clients:
        first.setdefault(row.client, row)
    return sorted(first.values(), key=lambda row: (
        0 if math.isnan(row.standalone_ns) else -row.standalone_ns, row.client))


def is_log(measured):
    """Whether values differ so much that small ones could not be seen on a linear axis. On the logarithmic one they are
    points, as the length of a bar would mean nothing."""
    means = [value.mean for value in measured if value.mean > 0]
    return bool(means) and max(means) > _LOG_FROM * min(means)


def scale_log(axes, measured):
    measured = list(measured)
    means = [value.mean for value in measured if value.mean > 0]
    if any(value.mean == 0 for value in measured):
        style.log_y_from_0(axes, min(means), 1.5 * max(means))
    else:
        style.log_y(axes, 0.7 * min(means), 1.5 * max(means))


def draw_groups(axes, places, measured, looks, base=0, points=False):
    """Bars that stand on `base`, or points, beside each other at each of the places 0, 1, ...: label -> [(place, Measured)]."""
    for index, (label, values) in enumerate(measured.items()):
        xs = [place + offset(index, len(measured)) for place, _ in values]
        if points:
            draw_points(axes, xs, [value for _, value in values], looks[label])
        else:
            _draw_bars(axes, xs, [value for _, value in values], looks[label], _width(len(measured)), base)
    axes.set_xlim(-0.6, places - 0.4)
    axes.tick_params(axis='x', length=0)


def offset(index, count):
    """How far right of its place the bar with this index among so many stands."""
    return (index - (count - 1) / 2) * _width(count)


def _width(count):
    return min(0.84 / count, _WIDEST)


def _draw_bars(axes, places, measured, look, width, base=0):
    axes.bar(places, [value.mean - base for value in measured], width, base, color=look.colour, hatch=look.hatch,
             edgecolor='black', linewidth=0.5)
    draw_intervals(axes, places, measured)


def draw_points(axes, places, measured, look, *_):
    """Points where bars would end. Their intervals end at the panel, and points without one have no dash in its place."""
    axes.plot(places, [value.mean for value in measured], zorder=3, **{**style.line(look), 'linestyle': 'none'})
    draw_intervals(axes, places, measured)


def draw_intervals(axes, places, measured):
    """Where they belong, which need not be around the value, and none below 0."""
    with_interval = [(place, value) for place, value in zip(places, measured) if value.half_width]
    if with_interval:
        places, values = zip(*with_interval)
        axes.errorbar(places, [value.middle for value in values], fmt='none', zorder=3,
                      yerr=[[value.below for value in values], [value.half_width for value in values]], **_ERROR)


def _label_clients(axes, clients):
    axes.set_xticks(range(len(clients)), [f'{row.client}\n{_time(row.standalone_ns)}' for row in clients])
    axes.set_ylabel(names.metric('ntt'))
    axes.grid(axis='y')
    axes.axhline(1, zorder=5, **style.ALONE)


def _room(count, panel):
    """How wide a panel that is full of so many places would be, with these as far apart as in one of the given width, which may not be full."""
    return style.NUMBERS + (panel - style.NUMBERS) * count / max(count, _FEWEST)


def _label_policies(axes, policies, room):
    style.name_ticks(axes, policies, room)
    axes.set_xlim(-0.6, len(policies) - 0.2)
    _pad(axes)
    axes.set_ylim(bottom=0)
    axes.tick_params(axis='x', length=0)
    axes.grid(axis='y')


def _pad(axes):
    """Leaves room beside few bars instead of making them fat."""
    left, right = axes.get_xlim()
    margin = max(0, _FEWEST - (right - left)) / 2
    axes.set_xlim(left - margin, right + margin)


def _time(nanoseconds):
    """In the unit that suits it, with three digits."""
    if math.isnan(nanoseconds):
        return ''
    unit, factor = quantity.unit_of_time(nanoseconds / 1e6)
    number = nanoseconds / 1e6 * factor
    return (f'{number:.3g}' if number < 999.5 else f'{number:.0f}') + f' {unit}'


def policy_handles(looks, points=False):
    if points:
        return [Line2D([], [], label=policy, **{**style.line(look), 'linestyle': 'none'}) for policy, look in looks.items()]
    return [Patch(facecolor=look.colour, hatch=look.hatch, edgecolor='black', linewidth=0.5, label=policy)
            for policy, look in looks.items()]


def interval_handles(results, shown, cut=False):
    """The legend entry for the intervals of these values, if any were drawn. cut: whether a panel cuts some of them off."""
    return interval_handle(results.interval_label(shown, cut))


def interval_handle(label):
    """Likewise with that label; none without one."""
    if not label:
        return []
    beam = [(-1, -2), (1, -2), (0, -2), (0, 2), (-1, 2), (1, 2)]
    return [Line2D([], [], marker=beam, linestyle='none', markersize=9, markerfacecolor='none',
                   markeredgecolor='black', markeredgewidth=0.8, label=label)]
