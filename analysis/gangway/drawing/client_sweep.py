"""NTT of each client against a swept quantity: a column of panels per policy, a row per value of the other parameters."""

from matplotlib.lines import Line2D

from gangway.drawing import names, style, sweep, swept_axis

_MOST_CLIENTS = 4  # at a point: more lines in so small a panel nobody tells apart
_LEAST_PLACES = 3  # on the axis, for a line to show a course
_COLUMNS = 5       # of panels on a page
_ROWS = 4
_INCHES = 1.5      # of a panel, high
_LOG_FROM = 10     # a ratio of largest to smallest value, above which what is fair could not be seen on a linear axis
_FAIR = {'color': 'black', 'linewidth': 0.6, 'linestyle': (0, (1, 2))}
_COLOURS = [style.VERMILLION, style.BLUE, style.GREEN, style.ORANGE, style.PURPLE, style.SKY]
_MARKERS = 'os^Dvp<'  # of another length than the colours, so that both begin anew together late


def applies(results):
    """Whether a quantity is swept under several policies, and two clients or a few more share the device at each point."""
    if not results.swept or len({row.policy for row in results.clients}) < 2:
        return False
    axis, clients = swept_axis.choose(results), _clients(results)
    return axis.numeric and len(axis.places) >= _LEAST_PLACES and all(
        1 < len(of_point) <= _MOST_CLIENTS for of_point in clients.values())


def draw(results):
    """The pages of the figure."""
    axis = swept_axis.choose(results)
    rows = swept_axis.pages(swept_axis.combinations(results, axis), _ROWS)
    columns = swept_axis.pages(names.in_order(row.policy for row in results.clients), _COLUMNS)
    return [_draw_page(results, axis, policies, others) for others in rows for policies in columns]


def _clients(results):
    """point -> the clients that take part, as clients.csv lists them."""
    found = {}
    for row in results.clients:
        found.setdefault(row.point, {})[row.client] = None
    return {point: list(clients) for point, clients in found.items()}


def _looks(results):
    """client -> the words that make its line, the same on all pages. Who is at most points comes last, as a page's
    rows differ in the others."""
    clients = _clients(results).values()
    found = dict.fromkeys(client for of_point in clients for client in of_point)
    ordered = sorted(found, key=lambda client: sum(client in of_point for of_point in clients))
    return {client: style.line(style.Style(_COLOURS[place % len(_COLOURS)], _MARKERS[place % len(_MARKERS)], '',
                                           '-' if place % 2 == 0 else '--', hollow=place % 2 == 1))
            for place, client in enumerate(ordered)}


def _draw_page(results, axis, policies, rows):
    looks, clients = _looks(results), _clients(results)
    inches = style.WIDTH / len(policies)
    figure, grid = style.pyplot.subplots(len(rows), len(policies), squeeze=False, sharex=True, sharey=True,
                                         figsize=(style.WIDTH, 1.1 + _INCHES * len(rows)))
    shown = set()
    for line, others in zip(grid, rows):
        points = {row.point: axis.place(row) for row in results.summary if axis.others(row) == others}
        here = dict.fromkeys(client for point in points for client in clients[point])
        shown.update(here)
        for axes, policy in zip(line, policies):
            _draw_panel(axes, results, points, policy, {client: looks[client] for client in here})
            axis.label_ticks(axes, inches)
    _scale_y(grid[0, 0], results)
    _label_panels(grid, results, axis, policies, rows, inches)
    style.lay_out(figure, results.title, _handles(results, {client: looks[client] for client in looks if client in shown}))
    return figure


def _draw_panel(axes, results, points, policy, looks):
    for client, look in looks.items():
        rows = [row for row in results.clients if (row.policy, row.client) == (policy, client) and row.point in points]
        sweep.draw_line(axes, [(points[row.point], row.ntt) for row in rows], look)
        style.mark_bounds(axes, [(points[row.point], row.ntt.mean, row.bound('ntt')) for row in rows], look['color'])
    for row in results.clients:
        if row.starved_runs and row.policy == policy and row.point in points and row.client in looks:
            style.mark_starved(axes, points[row.point], looks[row.client]['color'])
    for row in results.published_ntts():
        places = [points[point] for point in _points(row) if point in points]
        if row.policy == policy and places and row.client in looks:
            style.mark_published(axes, places[len(places) // 2], row, looks[row.client]['color'], points_right=6)
            if row.over:
                axes.plot([min(places), max(places)], [row.published] * 2, **_span(looks[row.client]['color']))
    axes.axhline(1, zorder=1.5, **style.ALONE)
    if results.busy:
        axes.axhline(len(looks), zorder=1.5, **_FAIR)
    axes.grid()


def _points(row):
    """The points that a published value is of."""
    return range(row.point, (row.over.to if row.over else row.point) + 1)


def _span(colour):
    return {'color': colour, 'linewidth': 2.2, 'alpha': 0.35, 'zorder': 1.6, 'solid_capstyle': 'butt'}


def _span_handles(results):
    """The legend's entry for values of several points."""
    if not any(row.over for row in results.published_ntts()):
        return []
    return [Line2D([], [], label='printed for all these points: mean, least or largest', **_span('black'))]


def _scale_y(axes, results):
    """The same in all panels, on all pages."""
    values = [row.ntt for row in results.clients if row.ntt.mean > 0]
    means = [value.mean for value in values] + [row.published for row in results.published_ntts()]
    fair = max(map(len, _clients(results).values())) if results.busy else 1
    low, high = min(1, *means), max(fair, *means, *(value.top for value in values))
    if high > _LOG_FROM * low:
        style.log_y(axes, 0.85 * low, 1.25 * high)
    else:
        axes.set_ylim(0, 1.08 * high)


def _label_panels(grid, results, axis, policies, rows, inches):
    for axes, policy in zip(grid[0], policies):
        axes.set_title(swept_axis.wrapped(policy, inches), fontweight='bold')
    for axes in grid[-1]:
        axes.set_xlabel(swept_axis.wrapped(axis.label, inches))
    titles = swept_axis.titles(results, axis, rows, _INCHES + 0.4) if len(swept_axis.combinations(results, axis)) > 1 else ['']
    for axes, title in zip(grid[:, 0], titles):
        axes.set_ylabel(f'{title}\nNTT' if title else names.metric('ntt'))


def _fair_handles(results):
    """Who does not always have a job cannot be slowed down by others to its share of the device."""
    if not results.busy:
        return []
    count = {len(clients) for clients in _clients(results).values()}
    fair = f'{count.pop()} times as slow: fair' if len(count) == 1 else 'as many times as slow as there are clients: fair'
    return [Line2D([], [], label=fair, **_FAIR)]


def _handles(results, looks):
    lines = [Line2D([], [], label=client, **look) for client, look in looks.items()]
    return [*lines, Line2D([], [], label='as fast as alone', **style.ALONE), *_fair_handles(results),
            *sweep.band_handles(results, [row.ntt for row in results.clients]),
            *style.published_handles(results.published_ntts()), *_span_handles(results),
            *style.bound_handles({row.bound('ntt') for row in results.clients}),
            *style.starved_handles(any(row.starved_runs for row in results.clients))]
