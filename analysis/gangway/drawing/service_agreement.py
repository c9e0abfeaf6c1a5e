"""How well a prediction agrees with a measurement in what services are judged by: latency, attainment, throughput."""
import math
import statistics

from gangway.drawing import command

command.need_matplotlib()

from matplotlib.lines import Line2D

from gangway.drawing import agreement, names, quantity, style

_PERCENTILES = {'p50': 'o', 'p99': 's'}
_SMALL = 1e-12


def pairs(predicted, measured):
    """[(predicted, measured)] results.Service of a point, policy and client that both have; those measured that nobody predicts are
    left out."""
    known = {(row.point, row.policy, row.client): row for row in predicted.services}
    return [(known[key], row) for row in measured.services if (key := (row.point, row.policy, row.client)) in known]


def _figures_of(row):
    """name -> value, of what can be compared: no bounds."""
    found = {name: row.latency[name].mean for name in _PERCENTILES if name not in row.bounds}
    if not row.bound('throughput'):
        found['throughput'] = row.throughput.mean
    return {name: value for name, value in found.items() if not math.isnan(value)}


def _bounded(both, client, name):
    """Of how many policies a value of the client is a bound."""
    return sum(bool(first.bound(name) or second.bound(name)) for first, second in both if second.client == client)


def errors(both, client):
    """name -> signed errors in percent over policies, of one client."""
    found = {}
    for predicted, measured in both:
        if measured.client != client:
            continue
        first, second = _figures_of(predicted), _figures_of(measured)
        for name in first.keys() & second.keys():
            if second[name] > _SMALL:
                found.setdefault(name, []).append(100 * (first[name] / second[name] - 1))
    return found


def table(predicted, measured):
    """Lines of Markdown: each policy and client as measured and as predicted, and the errors over all policies."""
    both = pairs(predicted, measured)
    swept = list(map(names.parameter, measured.swept))
    head = [*swept, 'policy', 'client', 'median: measured, predicted', 'p99', 'within its objective', 'jobs a second']
    yield f'| {" | ".join(head)} |'
    yield '|' + '---|' * len(head)
    for first, second in sorted(both, key=lambda pair: (pair[1].client, pair[1].point, _worst_last(pair[1].latency['p99'].mean))):
        cells = [_times(first, second, name) for name in _PERCENTILES]
        cells.append(f'{_attained(second)}, {_attained(first)}' if second.slo_ns else '')
        cells.append(_throughputs(first, second))
        yield f'| {" | ".join([*second.swept, f"`{second.policy}`", second.client, *cells])} |'
    yield ''
    for found, side, other in ((predicted, *agreement.sides(predicted, measured)), (measured, *reversed(agreement.sides(predicted, measured)))):
        if len(found.services) > len(both):
            yield f'left out: {len(found.services) - len(both)} rows that are {side} and not {other}'
    for client in dict.fromkeys(row.client for _, row in both):
        own = sum(row.client == client for _, row in both)
        for name, found in sorted(errors(both, client).items()):
            sizes = sorted(abs(error) for error in found)
            bounded = _bounded(both, client, name)
            which = 'an upper' if name == 'throughput' else 'a lower'
            rest = f'; {bounded} left out, as unfinished or killed jobs make it {which} bound' if bounded else ''
            if own > len(sizes) + bounded:
                rest += f'; {own - len(sizes) - bounded} without a value to compare'
            yield (f'{client}, {name}: errors of {len(sizes)} predictions: median {statistics.median(sizes):.1f} %, '
                   f'largest {sizes[-1]:.1f} %{rest}')


def _times(predicted, measured, name):
    times = [row.latency[name].mean for row in (measured, predicted)]
    known = [time for time in times if not math.isnan(time)]
    unit, factor = quantity.unit_of_time(max(known, default=0) / 1e6)

    def shown(row, time):
        if math.isnan(time):
            return 'starved' if row.starved_runs else '-'
        return ('≥' if name in row.bounds else '') + _short(time * factor / 1e6)
    off = '' if len(known) < 2 or name in (*predicted.bounds, *measured.bounds) else f' ({_error(*reversed(times))})'
    return f'{shown(measured, times[0])}, {shown(predicted, times[1])}{f" {unit}" if known else ""}{off}'


def _worst_last(time):
    """Sorts times: who starved has none."""
    return math.inf if math.isnan(time) else time


def _attained(row):
    if math.isnan(row.attainment.mean):
        return '-'
    return ('≤' if row.bound('attainment') else '') + f'{100 * row.attainment.mean:.0f} %'


def _throughputs(predicted, measured):
    bounds = [row.bound('throughput') for row in (measured, predicted)]
    shown = [('≤' if bound else '') + _short(row.throughput.mean) for bound, row in zip(bounds, (measured, predicted))]
    off = '' if any(bounds) else f' ({_error(predicted.throughput.mean, measured.throughput.mean)})'
    return f'{", ".join(shown)}{off}'


def _short(number):
    return f'{number:.0f}' if number >= 100 else f'{number:.3g}'


def _error(predicted, measured):
    return f'{100 * (predicted / measured - 1):+.0f} %' if measured > _SMALL else 'none measured'


def judged(predicted, measured):
    """The measured ones of those pairs that have an objective."""
    return [row for _, row in pairs(predicted, measured) if row.slo_ns]


def draw(predicted, measured, point):
    """Median and 99th percentile of each client that has an objective, at least one: a row for each policy, measured above predicted."""
    both = [pair for pair in pairs(predicted, measured) if pair[1].point == point and pair[1].slo_ns]
    clients = list(dict.fromkeys(row.client for _, row in both))
    policies = sorted({row.policy for _, row in both},
                      key=lambda policy: -max(_worst_last(row.latency['p99'].mean) for _, row in both if row.policy == policy))
    unit, factor = quantity.unit_of_time(min(_worst_last(row.latency['p50'].mean) for pair in both for row in pair) / 1e6)
    figure, grid = style.pyplot.subplots(1, len(clients), squeeze=False, sharey=True,
                                         figsize=(style.WIDTH, 1.1 + 0.24 * len(policies)))
    for axes, client in zip(grid.flat, clients):
        for objective in {row.slo_ns for _, row in both if row.client == client}:
            axes.axvline(objective * factor / 1e6, color='black', linewidth=0.8, linestyle='--', zorder=1)
        for first, second in both:
            if second.client != client:
                continue
            place = policies.index(second.policy)
            for row, colour, shift in ((second, 'black', 0.13), (first, style.VERMILLION, -0.13)):
                times = [row.latency[name].mean * factor / 1e6 for name in _PERCENTILES]
                axes.plot(times, [place + shift] * 2, color=colour, linewidth=0.8, zorder=2)
                style.mark_bounds(axes, [(time, place + shift, row.bound(name)) for time, name in zip(times, _PERCENTILES)], colour, shown_by='x')
                if row.starved_runs:
                    style.mark_starved_row(axes, place + shift, colour)
                for time, marker in zip(times, _PERCENTILES.values()):
                    axes.plot([time], [place + shift], marker=marker, color=colour, markersize=4, markeredgecolor='white',
                              markeredgewidth=0.4, linestyle='none', zorder=3)
        style.log_x(axes)
        axes.set(yticks=range(len(policies)), yticklabels=policies, xlabel=f'latency of {client} ({unit})')
        axes.grid(axis='x')
    one, other = agreement.sides(predicted, measured)
    handles = [Line2D([], [], color='black', linewidth=1.2, label=other),
               Line2D([], [], color=style.VERMILLION, linewidth=1.2, label=one),
               *(Line2D([], [], color=style.GREY, marker=marker, markersize=4, linestyle='none',
                        label='median' if name == 'p50' else name) for name, marker in _PERCENTILES.items()),
               Line2D([], [], color='black', linewidth=0.8, linestyle='--', label='objective'),
               *style.bound_handles({row.bound(name) for pair in both for row in pair for name in _PERCENTILES}, shown_by='x'),
               *style.starved_handles(any(row.starved_runs for pair in both for row in pair))]
    style.lay_out(figure, f'{measured.title} – latency, {other} and {one}', handles)
    return figure


def _main(arguments):
    predicted, measured, _ = agreement.read_both(arguments.predicted, arguments.measured)
    command.note_changes([arguments.predicted, arguments.measured])
    print('\n'.join(table(predicted, measured)))


def cli(arguments=None):
    """The command line: the exit code."""
    return command.run(_main, command.parser_of_two(__doc__).parse_args(arguments))
