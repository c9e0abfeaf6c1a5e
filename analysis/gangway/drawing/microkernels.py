"""What taking turns for a microkernel each costs and how clients share it: for folders whose policies move memory."""
import math

from matplotlib.lines import Line2D

from gangway.drawing import bars, names, style, swept_axis
from gangway.drawing.results import Measured

_FEW = 4      # points that are shown as bars
_BESIDE = 0.3  # of a bar's width
_LARGE = 100  # percent or ms, from which small bars may need a log axis to be seen


def applies(results):
    """Whether the folder tells of clients' shares of the time slices."""
    return any(row.slices for row in results.clients)


def kinds(results, launches):
    """The figures that apply: of each its name, and what draws its pages. launches: as results.read_launches() gives them, empty without
    jobs.csv."""
    if launches and not results.swept:
        yield 'overheads', lambda: [_draw_overheads(results, launches)]
    elif _share_slices(results):
        yield 'slices', lambda: [_draw_slices(results)]


def _share_slices(results):
    """Whether one parameter is swept, and the same clients share the slices at each of its values, under one policy. On
    several GPUs slices are not one after the other."""
    of_point = {}
    for row in results.clients:
        if row.slices and not math.isnan(row.slices.share):
            of_point.setdefault((row.point, row.policy), set()).add(row.client)
    clients, policies = {row.client for row in results.clients}, {row.policy for row in results.summary}
    return (len(results.swept) == len(policies) == 1 < len(clients) and names.GPUS not in results.swept
            and len(of_point) == len(results.summary) and all(found == clients for found in of_point.values()))


# ---- one program after the other, or all together ------------------------------------------------------------

def _draw_overheads(results, launches):
    """Bars: how much longer each client takes; marks on a second axis: that time for each launch. A cross stands for both where a client
    starved."""
    policies = names.in_order(row.policy for row in results.clients)
    clients = sorted({row.client for row in results.clients}, key=str.lower)
    looks = style.styles(policies)
    figure, axes = style.pyplot.subplots(figsize=(style.WIDTH, 3.2))
    second = axes.twinx()
    second.spines['right'].set_visible(True)
    overheads, per_launch, measured = [], [], {}
    for index, policy in enumerate(policies):
        places = [place + bars.offset(index, len(policies)) for place in range(len(clients))]
        of_client = {row.client: row for row in results.clients if row.policy == policy}
        rows = [of_client[client] for client in clients]
        overhead = [100 * (row.ntt.mean - 1) for row in rows]  # NaN where it starved; then no launches may have ended
        each = [math.nan if row.starved_runs else launches.get((policy, row.client), math.nan) for row in rows]
        measured[policy] = [(place, Measured(value, math.nan)) for place, value in enumerate(overhead)]
        second.plot(places, each, linestyle='none', marker=looks[policy].marker, color='white', markeredgecolor='black',
                    markersize=6, clip_on=False, zorder=5)
        overheads += overhead
        per_launch += each
        for place, row in zip(places, rows):
            if row.starved_runs:
                style.mark_starved(axes, place)
    overheads, per_launch = ([value for value in values if not math.isnan(value)] or [0] for values in (overheads, per_launch))
    log = _is_log(overheads)
    bounds = _mark_bounds(axes, results, policies, clients, log)
    bars.draw_groups(axes, len(clients), measured, looks, points=log)
    axes.set_xticks(range(len(clients)), clients)
    axes.grid(axis='y')
    for side, values, label in ((axes, overheads, f'overhead (% of standalone time; {"coloured marks" if log else "bars"})'),
                                (second, per_launch, 'overhead of each launch (ms; white marks)')):
        side.set_ylabel(label)
        if _is_log(values):
            style.log_y(side, 0.5 * min(values), 1.5 * max(values))
        else:
            side.set_ylim(bottom=0, top=1.15 * max(values) or 1)
    style.lay_out(figure, results.title, [*bars.policy_handles(looks, log), *_marks_of(looks, results), *bounds,
                                          *style.starved_handles(any(row.starved_runs for row in results.clients))])
    return figure


def _is_log(values):
    return min(values) > 0 and max(values) > max(25 * min(values), _LARGE)


def _mark_bounds(axes, results, policies, clients, log):
    """The legend's entries, too. Above a bar beside its middle, where the white mark may be."""
    shown_by, left = ('point', 0) if log else ('bar', _BESIDE)
    style.mark_bounds(axes, [(clients.index(row.client) + bars.offset(policies.index(row.policy) - left, len(policies)), 100 * (row.ntt.mean - 1),
                              row.bound('ntt')) for row in results.clients], shown_by=shown_by)
    return style.bound_handles({row.bound('ntt') for row in results.clients}, shown_by)


def _marks_of(looks, results):
    each = 'each launch of finished jobs' if any(row.unfinished for row in results.clients) else 'each launch'
    return [Line2D([], [], linestyle='none', marker=look.marker, color='white', markeredgecolor='black', markersize=6,
                   label=f'{policy}, {each}') for policy, look in looks.items()]


# ---- shares of the time slices -------------------------------------------------------------------------------

def _draw_slices(results):
    """Each client's share of the time slices, and how many it has in a row, by the swept parameter."""
    axis = swept_axis.choose(results)
    where = {row.point: axis.places[row.swept[axis.index]] for row in results.summary}
    clients = sorted({row.client for row in results.clients}, key=str.lower)
    looks = style.styles(clients)
    figure, (left, right) = style.pyplot.subplots(1, 2, figsize=(style.WIDTH, 2.7))
    few = len(set(where.values())) <= _FEW
    for panel, value, label in ((left, lambda slices: 100 * slices.share, 'share of the time slices (%)'),
                                (right, lambda slices: slices.in_a_row, 'time slices in a row')):
        if few:
            _draw_bars(panel, results, axis, clients, looks, value)
        else:
            _lines(panel, results, where, clients, looks, value)
        panel.set_xlabel(names.parameter(results.swept[axis.index]) if few else axis.label)
        panel.set_ylabel(label)
        panel.grid(axis='y' if few else 'both')
        panel.set_ylim(bottom=0)
    right.set_ylim(top=1.1 * right.get_ylim()[1])  # room for the numbers on the bars
    left.set_ylim(0, 100)
    handles = bars.policy_handles(looks) if few else [Line2D([], [], label=client, **style.line(look)) for client, look in looks.items()]
    style.lay_out(figure, results.title, handles)
    return figure


def _draw_bars(panel, results, axis, clients, looks, value):
    texts = list(axis.places)
    width = 0.8 / len(clients)
    for index, client in enumerate(clients):
        rows = {row.point: value(row.slices) for row in results.clients if row.client == client}
        places = [texts.index(row.swept[axis.index]) + (index - (len(clients) - 1) / 2) * width for row in results.summary]
        drawn = panel.bar(places, [rows[row.point] for row in results.summary], width, color=looks[client].colour,
                         hatch=looks[client].hatch, edgecolor='black', linewidth=0.5)
        panel.bar_label(drawn, fmt='%.3g', fontsize=7, padding=1)
    panel.set_xticks(range(len(texts)), texts)
    panel.tick_params(axis='x', length=0)


def _lines(panel, results, where, clients, looks, value):
    for client in clients:
        points = sorted((where[row.point], value(row.slices)) for row in results.clients if row.client == client)
        panel.plot(*zip(*points), **style.line(looks[client]))
