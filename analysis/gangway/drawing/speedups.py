"""How much faster clients are on several GPUs: bars for each client, where the number of GPUs is swept from 1 on."""
import math
from collections import Counter
from dataclasses import dataclass, replace

from matplotlib.lines import Line2D

from gangway.drawing import bars, names, quantity, style
from gangway.drawing.results import Measured

_MOST = 4       # numbers of GPUs, beside each other
_LOG_FROM = 10  # a ratio of largest to smallest speedup that hides the small bars on a linear axis
_LOOKS = [style.Style(style.GREY, 'o', '', '-'), style.Style(style.BLUE, 's', '//', '-'),
          style.Style(style.ORANGE, '^', '\\\\', '-'), style.Style(style.GREEN, 'D', 'xx', '-')]
_IN_PROPORTION = {'color': 'black', 'linewidth': 0.8, 'linestyle': ':'}
_BEHIND_NUMBERS = {'facecolor': 'white', 'edgecolor': 'none', 'pad': 0.4}  # so that no line runs through them
_PUBLISHED = {'color': style.VERMILLION, 'linewidth': 1.1, 'linestyle': '--'}
_ABOVE_MARK = 7  # points from the end of a bar to its number, so that the mark of a bound has room


@dataclass(frozen=True)
class _Speedup:
    value: float  # NaN where the client starved
    bound: str    # a key of results.SIGNS


def applies(results):
    """Whether every client has one value under each policy on each of a few numbers of GPUs, one of which is 1."""
    if names.GPUS not in results.swept:
        return False
    of_point = _gpus(results)
    found = Counter((row.policy, row.client, of_point[row.point]) for row in results.clients)
    counts, rows = set(of_point.values()), {(row.policy, row.client) for row in results.clients}
    return 1 in counts and 1 < len(counts) <= _MOST and len(found) == sum(found.values()) == len(rows) * len(counts)


def draw(results):
    """A panel for each policy. Of clients that are alone the speedup is over their standalone time, on one GPU too; of
    those that are together it is over their time on one GPU."""
    policies = names.in_order(row.policy for row in results.clients)
    clients = sorted({row.client for row in results.clients}, key=str.lower)
    found = {policy: _with_mean(_speedups(results, policy), results.alone()) for policy in policies}
    counts = list(found[policies[0]])
    figure, grid = style.pyplot.subplots(len(policies), 1, squeeze=False, sharex=True, sharey=True,
                                         figsize=(style.WIDTH, 0.9 + 2.1 * len(policies)))
    looks = {count: look for count, look in zip(sorted(set(_gpus(results).values())), _LOOKS) if count in counts}
    speedups = [each for of_policy in found.values() for of_count in of_policy.values() for each in of_count.values()]
    values = [each.value for each in speedups if not math.isnan(each.value)] or [1]  # each may have starved
    log, shown = max(values) > _LOG_FROM * min(values), []
    for axes, policy in zip(grid[:, 0], policies):
        _draw_bars(axes, [*clients, _MEAN], found[policy], looks, log)
        shown += _mark_published(axes, results, policy, clients, counts)
        axes.set_ylabel('speedup over ' + ('standalone\ntime on one GPU' if results.alone() else 'one GPU') +
                        (f'\n{policy}' if len(policies) > 1 else ''))
        axes.set_xticks(range(len(clients) + 1), [*clients, 'mean' if results.alone() else 'geometric\nmean'])
    if log:
        style.log_y(axes, 0.8 * min(1, *values), 1.5 * max(*counts, *values))
    else:
        axes.set_ylim(0, (1.18 if any(each.bound for each in speedups) else 1.12) * max(*counts, *values))
    unsure = [*style.bound_handles({each.bound for each in speedups}, 'bar'), *style.starved_handles(len(values) < len(speedups))]
    style.lay_out(figure, results.title, [*_handles(results, looks, shown), *unsure])
    return figure


_MEAN = object()  # beside the names of clients
_INVERSE = {'': '', 'at least': 'at most'}  # of a time's bound


def _gpus(results):
    """point -> number of GPUs"""
    index = results.swept.index(names.GPUS)
    return {row.point: round(quantity.parse(row.swept[index]).number) for row in results.summary}


def _speedups(results, policy):
    """number of GPUs -> client -> _Speedup; of those who had nothing to do, none."""
    of_point = _gpus(results)
    rows = {(of_point[row.point], row.client): row for row in results.clients if row.policy == policy}
    counts = [count for count in sorted(set(of_point.values())) if count > 1 or results.alone()]
    clients = [client for count, client in rows if count == 1]
    found = {count: {client: _speedup(rows[count, client], None if results.alone() else rows[1, client]) for client in clients}
             for count in counts}
    return {count: {client: each for client, each in of_count.items() if each} for count, of_count in found.items()}


def _speedup(row, base):
    """base: the same client on one GPU; None where it is alone, as its standalone time is known. A lower bound of that time makes a speedup
    a lower bound, too, one of `row` an upper bound, both something that could be more or less."""
    both = [row, base] if base else [row]
    if any(each.starved_runs for each in both):
        return _Speedup(math.nan, '')
    if not all(each.ntt.mean > 0 for each in both):
        return None
    return _Speedup((base.ntt.mean if base else 1) / row.ntt.mean, _together([_INVERSE[row.bound('ntt')], base.bound('ntt') if base else '']))


def _together(bounds):
    """What a product or mean of such values is."""
    found = set(bounds) - {''}
    return found.pop() if len(found) == 1 else 'rough' if found else ''


def _with_mean(speedups, alone):
    """Of clients that are alone the mean, as throughputs are averaged; of ratios to another run the geometric one. None where a client
    starved."""
    def mean(found):
        values = [each.value for each in found]
        value = sum(values) / len(values) if alone else math.exp(sum(map(math.log, values)) / len(values))
        return _Speedup(value, _together(each.bound for each in found))

    return {count: {**of_count, **({_MEAN: mean(of_count.values())} if of_count else {})}
            for count, of_count in speedups.items()}


def _draw_bars(axes, places, speedups, looks, log):
    known = {count: [(places.index(client), each) for client, each in of_count.items() if not math.isnan(each.value)]
             for count, of_count in speedups.items()}
    measured = {count: [(place, Measured(each.value, math.nan)) for place, each in found] for count, found in known.items()}
    base = 1 if log else 0
    bars.draw_groups(axes, len(places), measured, looks, base)
    for index, (count, found) in enumerate(known.items()):
        right = bars.offset(index, len(known))
        for text, (_, each) in zip(axes.bar_label(axes.containers[index], fmt='%.2f', fontsize=7, padding=1.5, bbox=_BEHIND_NUMBERS), found):
            if each.bound and each.value >= base:
                text.xyann = (0, _ABOVE_MARK)
        style.mark_bounds(axes, [(place + right, max(each.value, base), each.bound) for place, each in found], shown_by='bar')
        for client, each in speedups[count].items():
            if math.isnan(each.value):
                style.mark_starved(axes, places.index(client) + right)
    axes.axvline(len(places) - 1.5, color=style.GREY, linewidth=0.6)
    axes.axhline(1, zorder=1.5, **style.ALONE)
    for count in speedups:
        if count > 1:
            axes.axhline(count, zorder=1.5, **_IN_PROPORTION)
    axes.grid(axis='y')


def _mark_published(axes, results, policy, clients, counts):
    """Diamonds beside the bars that values were published of, and lines where one was published of all clients; the
    legend's entries for them."""
    handles = []
    for index, count in enumerate(counts):
        right = bars.offset(index + 0.5, len(counts)) + 0.1  # of the bar
        for row in _published_means(results, policy, count):
            style.mark_published(axes, len(clients) + right, row)
            handles += style.published_handles([row])
        rows = _published_ratios(results, policy, count)
        of_all = all(row.of_several_clients() for row in rows) or {row.client for row in rows} == set(clients)
        if rows and of_all and len({row.published for row in rows}) == 1:
            axes.axhline(rows[0].published, zorder=1.6, **_PUBLISHED)
            handles.append(Line2D([], [], label=style.published_handles(rows)[0].get_label(), **_PUBLISHED))
        else:
            rows = [row for row in rows if not row.of_several_clients()]
            for row in rows:
                style.mark_published(axes, clients.index(row.client) + right, row)
            handles += style.published_handles(rows)
    return handles


def _published_means(results, policy, count):
    """Of clients that are alone: mean throughputs over all points with so many GPUs."""
    of_point = _gpus(results)
    points = [point for point in sorted(of_point) if of_point[point] == count]
    return [row for row in results.published if results.alone() and row.over and row.over.take == 'mean' and
            (row.policy, row.metric, row.relation, row.relative_to) == (policy, 'stp', '=', '') and
            [point for point in of_point if row.point <= point <= row.over.to] == points]


def _published_ratios(results, policy, count):
    """Of clients that are together: NTTs as parts of those on one GPU, as speedups."""
    of_point = _gpus(results)
    single = [f'point {point}' for point in of_point if of_point[point] == 1]
    return [row if row.change else replace(row, published=1 / row.published) for row in results.published
            if not results.alone() and not row.over and row.client and row.relative_to in single and row.published > 0 and
            row.change in ('', 'speedup') and
            (row.policy, row.metric, row.relation, of_point.get(row.point)) == (policy, 'ntt', '=', count)]


def _handles(results, looks, published):
    one = 'as fast as standalone' if results.alone() else 'as fast as on one GPU'
    several = [count for count in looks if count > 1]
    what = 'ideal' if results.alone() else 'in proportion'  # clients together also wait less for each other
    ideal = f'{several[0]} times as fast: {what}' if len(several) == 1 else f'as many times as fast as there are GPUs: {what}'
    once = {handle.get_label(): handle for handle in published}
    bar_handles = bars.policy_handles({f'{count} GPU' + ('s' if count > 1 else ''): look for count, look in looks.items()})
    return [*bar_handles, Line2D([], [], label=one, **style.ALONE), Line2D([], [], label=ideal, **_IN_PROPORTION), *once.values()]
