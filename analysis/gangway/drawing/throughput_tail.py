"""The tail latency of services against what the other clients get done, a line for each policy through the loads."""
from collections import Counter
from dataclasses import dataclass, replace

from matplotlib.lines import Line2D

from gangway.drawing import alike, label_places, services, style, swept_axis
from gangway.drawing.results import TIE

_COLUMNS = 4      # panels
_MOST_NAMES = 18  # of points, in all panels
_NEAR = 7         # points: what is as near as that shares a name
_MARGIN = 0.15    # of the span of the x axis, where that does not begin at 0
_TAIL = 'p99'
_OBJECTIVE = {'marker': '_', 'markersize': 16, 'markeredgewidth': 0.9, 'linestyle': 'none', 'color': 'black', 'zorder': 1.5}  # of a point


@dataclass(frozen=True)
class _Point:
    """All that is drawn of one client at one point of the sweep."""
    client: str
    place: float  # on the axis of loads, or the number of the point
    name: str     # what is swept there
    x: float
    at_most: bool  # whether x is
    tail: float   # in ns
    bound: str    # of the tail, as results.SIGNS has it
    slo_ns: float
    starved: bool


def varies(results):
    """Whether the others get more done under some policy or at some point than at others: else all points lie above one another."""
    return any(max(done.values()) - min(done.values()) > TIE * max(done.values())
               for done in (_done(results, client)[0] for client in services.judged(results)[:_COLUMNS]))


def draw(results):
    """The best corner is the lower right one. The others are the clients without an objective, if there are any: what a service gets done is
    its load. Of several, jobs count with their standalone time. Each line is of one value of a second parameter; those that lie on each
    other are one."""
    looks, clients = style.styles(row.policy for row in results.services), services.judged(results)[:_COLUMNS]
    axis = swept_axis.choose(results) if services.against_load(results) else None
    done = {client: _done(results, client) for client in clients}
    lines = {policy: _lines(results, axis, policy, done) for policy in looks}
    together = alike.groups({policy: list(own.values()) for policy, own in lines.items()})
    drawn = []  # (label, what makes the line, points)
    for policy, own in together.items():
        for (setting, points), colour in zip(lines[policy].items(), style.shades(looks[policy].colour, len(lines[policy]))):
            label = setting if setting.startswith(f'{policy} ') else ', '.join(filter(None, [' = '.join(own), setting]))
            words = style.line(replace(looks[policy], colour=colour))
            drawn.append((label, words if axis else {**words, 'linestyle': 'none'}, points))
    figure, grid = style.pyplot.subplots(1, len(clients), squeeze=False, figsize=(style.WIDTH, 3.4))
    for axes, client in zip(grid[0], clients):
        _draw_panel(axes, [(words, [point for point in points if point.client == client]) for _, words, points in drawn], done[client][1])
        axes.set_xlabel('\n'.join(swept_axis.wrapped(text, style.WIDTH / len(clients)) for text in (done[client][2], *_along_a_line(axis))))
        axes.set_title(client, loc='left', fontweight='bold', pad=7)
        axes.grid()
    points = [point for _, _, own in drawn for point in own]
    style.lay_out(figure, results.title, [*(Line2D([], [], label=label, **words) for label, words, _ in drawn), *_handles(points)])
    figure.canvas.draw()
    _name_points(grid[0], clients, drawn)
    return figure


def _done(results, client):
    """(point, policy) -> what the others get done while this client is there, nothing where it is alone; of which this is at most; what
    that is called."""
    mine = [row for row in results.services if row.client == client]
    others = [row for row in results.services if row.client != client]
    judged = {row.client for row in others if row.slo_ns}
    others = [row for row in others if row.client not in judged] or others or mine
    alone = {(row.point, row.policy, row.client): row.standalone_ns / 1e9 for row in results.clients}
    who = sorted({row.client for row in others})
    found = Counter({(row.point, row.policy): 0 for row in mine})
    for row in others:
        if (row.point, row.policy) in found:
            found[row.point, row.policy] += row.throughput.mean * (alone[row.point, row.policy, row.client] if len(who) > 1 else 1)
    what = 'work that the others finish per second (s of standalone time)' if len(who) > 1 else f'jobs of {who[0]} finished (1/s)'
    return found, {(row.point, row.policy) for row in others if row.bound('throughput')}, what


def _lines(results, axis, policy, done):
    """What tells a line of the policy from its others, empty if there is one -> its points, in the order of the loads."""
    of_others = {}
    for row in results.services:
        if row.policy == policy and row.client in done:
            found, at_most, _ = done[row.client]
            at = row.point, row.policy
            place, name = (axis.place(row), f'{axis.place(row):g}') if axis else (row.point, results.setting(*at))
            of_others.setdefault(axis.others(row) if axis else (), []).append(_Point(
                row.client, place, name, found[at], at in at_most, row.latency[_TAIL].mean, row.bound(_TAIL), row.slo_ns, bool(row.starved_runs)))
    together = alike.groups({others: sorted(points, key=lambda point: (point.client, point.place)) for others, points in of_others.items()})
    if len(together) < 2:
        return {'': sorted(next(iter(of_others.values())), key=lambda point: point.place)} if of_others else {}
    title = {others: ', '.join(next(swept_axis.titles(results, axis, [others], 10 * style.WIDTH)).split('\n')) for others in of_others}
    return {' = '.join(title[others] for others in own): sorted(of_others[first], key=lambda point: point.place) for first, own in together.items()}


def _draw_panel(axes, lines, at_most):
    points = [point for _, own in lines for point in own]
    unit, factor = services.unit([point.tail for point in points])
    axes.factor = factor / 1e6
    for words, own in lines:
        axes.plot([point.x for point in own], [point.tail * axes.factor for point in own], **words)
        style.mark_bounds(axes, [(point.x, point.tail * axes.factor, point.bound) for point in own], words['color'])
        style.mark_bounds(axes, [(point.x, point.tail * axes.factor, 'at most') for point in own if point.at_most], words['color'], shown_by='x')
    services.mark_starved(axes, [(point.x, words['color']) for words, own in lines for point in own if point.starved])
    objectives = {point.slo_ns for point in points if point.slo_ns}
    if len(objectives) == 1:
        axes.axhline(objectives.pop() * axes.factor, **services.OBJECTIVE)
    elif objectives:
        axes.plot(*zip(*sorted({(point.x, point.slo_ns * axes.factor) for point in points if point.slo_ns})), **_OBJECTIVE)
    services.scale_y(axes, [axes.factor * value for point in points for value in (point.tail, point.slo_ns)])
    _scale_x(axes, [point.x for point in points])
    axes.set_ylabel(f'{services.named(_TAIL)} ({unit})')


def _scale_x(axes, values):
    """From 0, unless that would leave half of the panel empty."""
    least, most = min(values), max(values)
    if least > 0.5 * most and most - least > TIE * most:
        axes.set_xlim(least - _MARGIN * (most - least), most + _MARGIN * (most - least))
    else:
        axes.set_xlim(0, 1.05 * most or 1)


def _along_a_line(axis):
    """What changes from point to point of a line."""
    return [f'along a line: {axis.label} from {min(axis.places.values()):g} to {max(axis.places.values()):g}'] if axis else []


def _handles(points):
    objectives = {client: {point.slo_ns for point in points if point.client == client and point.slo_ns} for client in
                  {point.client for point in points}}
    handles = []
    if any(len(own) == 1 for own in objectives.values()):
        handles.append(Line2D([], [], label='objective', **services.OBJECTIVE))
    if any(len(own) > 1 for own in objectives.values()):
        handles.append(Line2D([], [], label='objective of the point above or below', **_OBJECTIVE))
    bounds = {'at most'} if any(point.at_most for point in points) else set()
    handles += style.bound_handles({*bounds, *(point.bound for point in points)})
    return handles + style.starved_handles(any(point.starved for point in points))


def _name_points(grid, clients, drawn):
    """Names of all points, or of the ends of lines, if there is room."""
    found = [[(words['color'], _named(axes, [point for point in points if point.client == client])) for _, words, points in drawn]
             for axes, client in zip(grid, clients)]
    for chosen in (lambda own: own, lambda own: own[:1] + own[1:][-1:]):
        if sum(len(chosen(own)) for panel in found for _, own in panel) <= _MOST_NAMES:
            for axes, panel in zip(grid, found):
                labels, colours = {}, {}
                for colour, own in panel:
                    labels.update((place, name) for place, name in chosen(own) if name)
                    colours.update((place, colour) for place, _ in chosen(own))
                label_places.write(axes, labels, colours, avoid=[place for _, own in panel for place in _along(axes, own)])
            return


def _along(axes, named):
    """Places along the line through these points, so near that no name fits between them."""
    ends = [axes.transData.transform(place) for place, _ in named]
    for begin, end in zip(ends, [*ends[1:], *ends[-1:]]):
        steps = int(max(abs(end - begin)) / (_NEAR * axes.figure.dpi / 72)) + 1
        yield from (tuple(axes.transData.inverted().transform(begin + (end - begin) * step / steps)) for step in range(steps))


def _named(axes, points):
    """[(place, name)] of the points of a line; those that nearly lie on each other share a name."""
    groups = []
    to_pixels, near = axes.transData.transform, _NEAR * axes.figure.dpi / 72
    for point in points:
        place = point.x, point.tail * axes.factor
        if point.tail == point.tail:  # not NaN
            at = to_pixels(place)
            if groups and abs(groups[-1][0] - at).max() < near:
                groups[-1][2].append(point.name)
            else:
                groups.append((at, place, [point.name]))
    return [(place, ', '.join(dict.fromkeys(own)) if len(own) < 3 else f'{own[0]} … {own[-1]}') for _, place, own in groups]
