"""Fairness against throughput of every policy, a panel for each workload."""
import math

from matplotlib.lines import Line2D

from gangway.drawing import label_places, names, ranking, style

_LOOKS = {'ownership': (style.BLUE, 'o'), 'slicing': (style.GREEN, '^'), 'access': (style.VERMILLION, 's'),
          'native': (style.DARK, 'D'), 'other': (style.PURPLE, 'v')}
_KINDS = {'ownership': 'policy grants the GPU to one job', 'slicing': 'policy launches slices of kernels',
          'access': 'policy controls who may submit', 'native': 'no policy: the GPU arbitrates', 'other': 'other policy'}
_ONE_NAME = 3.2  # points: what is as near as that shares a name
_MARKED = (((-12, -3), (0, 3)), ((-6, 3), (6, 11)))  # points from a value to corners of the marks of bounds beside and above it
_STP, _DNTT = (next(metric for metric in ranking.METRICS if metric.name == name) for name in ('stp', 'dntt'))


def draw(workloads, title):
    columns = 2 if len(workloads) > 1 else 1
    rows = math.ceil(len(workloads) / columns)
    figure, grid = style.pyplot.subplots(rows, columns, squeeze=False, figsize=(style.WIDTH, 0.6 + 3.3 * rows))
    panels = list(zip(grid.flat, workloads))
    for number, (axes, workload) in enumerate(panels):
        _draw_points(axes, workload)
        _entitle(axes, workload, number >= columns)
    for axes in grid.flat[len(workloads):]:
        axes.set_axis_off()
    shown = {names.family(policy) for workload in workloads for policy in workload.policies}
    style.lay_out(figure, title, [
        Line2D([], [], label=_KINDS[family], color=colour, marker=marker, linestyle='none')
        for family, (colour, marker) in _LOOKS.items() if family in shown] + [
        Line2D([], [], label='95 % interval', color='black', marker='_', linestyle='none', markersize=9),
        *style.bound_handles({bound for workload in workloads for bound in _bounds(workload, _STP).values()}, shown_by='x'),
        *style.bound_handles({bound for workload in workloads for bound in _bounds(workload, _DNTT).values()})])
    figure.canvas.draw()
    for axes, workload in panels:
        _name_points(axes, workload)
    return figure


def _points(workload):
    """policy -> (STP, DNTT), of those under which nobody starves."""
    found = {}
    for policy in names.in_order(workload.policies):
        if not workload.starved(policy):
            found[policy] = workload.entry(_STP, policy).value, workload.entry(_DNTT, policy).value
    return found


def _bounds(workload, metric):
    """policy -> what its value is a bound of, of those that _points() has."""
    return {policy: workload.entry(metric, policy).bound for policy in _points(workload)}


def _draw_points(axes, workload):
    points = _points(workload)
    if not points:  # somebody starves under all of them, as the title says
        axes.set_axis_off()
        return
    for policy, (stp, dntt) in points.items():
        colour, marker = _LOOKS[names.family(policy)]
        axes.errorbar([stp.mean], [dntt.mean], xerr=[stp.half_width], yerr=[[_below(dntt)], [dntt.half_width]], color=colour,
                      marker=marker, markersize=4, elinewidth=0.7, capsize=1.5, capthick=0.7, markeredgecolor='white',
                      markeredgewidth=0.4, linestyle='none', zorder=3)
        place = stp.mean, dntt.mean
        style.mark_bounds(axes, [(*place, workload.entry(_STP, policy).bound)], colour, shown_by='x')
        style.mark_bounds(axes, [(*place, workload.entry(_DNTT, policy).bound)], colour)
    _scale_y(axes, [dntt.mean for _, dntt in points.values()])
    axes.invert_yaxis()
    throughputs = [stp.mean for stp, _ in points.values()]
    room = 0.12 * (max(throughputs) - min(throughputs) or 1)
    axes.set_xlim(min(throughputs) - room, max(throughputs) + room)
    axes.grid(True)
    axes.set_xlabel('STP (more throughput to the right)')
    axes.set_ylabel('DNTT (up is fairer)')


def _scale_y(axes, values):
    above_0 = [value for value in values if value > 0]
    if len(above_0) == len(values):
        style.log_y(axes, min(values) / 2, max(values) * 2)
    elif above_0:  # the best value is 0
        style.log_y_from_0(axes, min(above_0), max(above_0) * 2, low=-min(above_0) / 2)


def _entitle(axes, workload, below):
    starving = [policy for policy in names.in_order(workload.policies) if workload.starved(policy)]
    axes.set_title(('\n' if below else '') + workload.title
                   + (f'\nnot shown, as clients starve: {", ".join(starving)}' if starving else ''))


def _name_points(axes, workload):
    """Names, one below the other for points that lie on each other."""
    groups = {}
    nearest = _ONE_NAME * axes.figure.dpi / 72
    points = _points(workload)
    places = {policy: (stp.mean, dntt.mean) for policy, (stp, dntt) in points.items()}
    for policy, place in places.items():
        at = axes.transData.transform(place)
        known = next((other for other in groups if math.dist(at, axes.transData.transform(other)) < nearest), place)
        groups.setdefault(known, []).append(policy)
    label_places.write(axes, {place: '\n'.join(policies) for place, policies in groups.items()},
                       {place: _colour(policies) for place, policies in groups.items()}, places.values(),
                       [*(line for measured in points.values() for line in _bars(*measured)),
                        *(line for policy, bound in _bounds(workload, _STP).items() if bound for line in _marks(axes, places[policy]))])


def _colour(policies):
    families = {names.family(policy) for policy in policies}
    return _LOOKS[families.pop()][0] if len(families) == 1 else 'black'


def _bars(stp, dntt):
    """The lines of the intervals."""
    low = dntt.mean - _below(dntt)
    yield (stp.mean - stp.half_width, dntt.mean), (stp.mean + stp.half_width, dntt.mean)
    yield (stp.mean, low), (stp.mean, dntt.mean + dntt.half_width)


def _marks(axes, place):
    """Lines through the marks of a point's bounds."""
    x, y = axes.transData.transform(place)
    scale = axes.figure.dpi / 72
    for corners in _MARKED:
        yield tuple(tuple(axes.transData.inverted().transform((x + right * scale, y + up * scale))) for right, up in corners)


def _below(dntt):
    return min(dntt.half_width, 0.9 * dntt.mean)  # a log axis has no 0
