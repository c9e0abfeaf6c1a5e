"""Bars for a folder without a sweep: NTT per client, and ANTT, DNTT and STP per policy."""
import math

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

import names
import style
from results import METRICS

_PANEL = style.WIDTH / len(METRICS)  # inches
_BARS_IN_A_ROW = 60  # more are too thin for their hatches
_WIDEST = 0.4        # of the space of a client
_FEWEST = 4          # places in a panel
_LOG_FROM = 25       # a ratio of largest to smallest NTT that hides the small bars on a linear axis
_ERROR = {'ecolor': 'black', 'elinewidth': 0.8, 'capsize': 1.6, 'capthick': 0.8}
_ALONE = Line2D([], [], color='black', linewidth=0.8, linestyle='--', label='as fast as alone')


def draw_clients(results):
    """NTT of each client under each policy; the longest client first."""
    policies = names.in_order(row.policy for row in results.clients)
    looks = style.styles(policies)
    clients = _by_length(results.clients)
    in_a_row = max(3, _BARS_IN_A_ROW // len(policies))
    rows = [clients[start:start + in_a_row] for start in range(0, len(clients), in_a_row)]
    figure, grid = style.pyplot.subplots(len(rows), 1, squeeze=False, sharey=True,
                                         figsize=(style.WIDTH, 0.9 + 2.0 * len(rows)))
    measured = {(row.policy, row.client): row.ntt for row in results.clients}
    for axes, part in zip(grid[:, 0], rows):
        for index, policy in enumerate(policies):
            _draw_group(axes, part, [measured.get((policy, client.client)) for client in part],
                        looks[policy], index, len(policies))
        _label_clients(axes, part, in_a_row if len(rows) > 1 else len(part))
    _scale_ntt(grid[0, 0], [row.ntt.mean for row in results.clients])
    grid[-1, 0].set_xlabel('client (standalone time)')
    style.lay_out(figure, results.title, [*_policy_handles(looks), _ALONE, *_interval_handles(results)])
    return figure


def draw_metrics(results):
    """ANTT, DNTT and STP of each policy, beside what was published."""
    policies = names.in_order(row.policy for row in results.summary)
    looks = style.styles(policies)
    height = 2.6 + style.rotated_inches(policies, _PANEL)
    figure, grid = style.pyplot.subplots(1, len(METRICS), figsize=(style.WIDTH, height))
    published = results.published_metrics()
    for axes, metric in zip(grid, METRICS):
        for row in results.summary:
            _draw_bars(axes, [policies.index(row.policy)], [row.metrics[metric]], 0.55, looks[row.policy])
        for row in published:
            if row.metric == metric:
                style.mark_published(axes, policies.index(row.policy) + 0.46, row)
        _label_policies(axes, policies)
        axes.set_ylabel(names.metric(metric))
    style.lay_out(figure, results.title, [*_interval_handles(results), *style.published_handles(published)])
    return figure


def _by_length(clients):
    """One row per client, by decreasing standalone time; equals by name."""
    first = {}
    for row in clients:
        first.setdefault(row.client, row)
    return sorted(first.values(), key=lambda row: (
        0 if math.isnan(row.standalone_ns) else -row.standalone_ns, row.client))


def _draw_group(axes, clients, measured, look, index, count):
    width = min(0.84 / count, _WIDEST)
    shown = [(place, value) for place, value in enumerate(measured) if value]
    _draw_bars(axes, [place + (index - (count - 1) / 2) * width for place, _ in shown],
               [value for _, value in shown], width, look)


def _draw_bars(axes, places, measured, width, look):
    intervals = [value.half_width for value in measured]
    axes.bar(places, [value.mean for value in measured], width, color=look.colour, hatch=look.hatch,
             edgecolor='black', linewidth=0.5, yerr=intervals if any(intervals) else None, error_kw=_ERROR)


def _label_clients(axes, clients, places):
    axes.set_xticks(range(len(clients)), [f'{row.client}\n{_milliseconds(row.standalone_ns)}' for row in clients])
    _pad(axes, -0.6, places - 0.4)
    axes.tick_params(axis='x', length=0)
    axes.set_ylabel(names.metric('ntt'))
    axes.grid(axis='y')
    axes.axhline(1, color='black', linewidth=0.8, linestyle='--', zorder=5)


def _label_policies(axes, policies):
    style.name_ticks(axes, policies, _PANEL)
    _pad(axes, -0.6, len(policies) - 0.2)
    axes.set_ylim(bottom=0)
    axes.tick_params(axis='x', length=0)
    axes.grid(axis='y')


def _pad(axes, left, right):
    """Limits that leave room beside few bars instead of making them fat."""
    margin = max(0, _FEWEST - (right - left)) / 2
    axes.set_xlim(left - margin, right + margin)


def _scale_ntt(axes, numbers):
    numbers = [number for number in numbers if number > 0]
    if numbers and max(numbers) > _LOG_FROM * min(numbers):
        style.log_y(axes, min(0.8, 0.9 * min(numbers)), 1.3 * max(numbers))


def _milliseconds(nanoseconds):
    return '' if math.isnan(nanoseconds) else f'{nanoseconds / 1e6:.3g} ms'


def _policy_handles(looks):
    return [Patch(facecolor=look.colour, hatch=look.hatch, edgecolor='black', linewidth=0.5, label=policy)
            for policy, look in looks.items()]


def _interval_handles(results):
    if not results.has_intervals():
        return []
    beam = [(-1, -2), (1, -2), (0, -2), (0, 2), (-1, 2), (1, 2)]
    return [Line2D([], [], marker=beam, linestyle='none', markersize=9, markerfacecolor='none',
                   markeredgecolor='black', markeredgewidth=0.8, label=names.interval(results.replications))]
