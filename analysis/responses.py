"""Response time by job number, so that growth shows: a panel per client, a line per point and policy."""
import math

from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

import quantity
import style

_LEAST_JOBS = 3  # of a client, to speak of growth
_LINES = 6       # in a panel
_PANELS = 6      # on a page
_DASHES = ['-', (0, (5, 2)), (0, (1.5, 1.5)), '-.', (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (3, 3))]
_COLOURS = [style.VERMILLION, style.BLUE, style.GREEN, style.ORANGE, style.PURPLE, style.SKY]
_FEW = 60        # jobs, which get a mark each


def applies(responses):
    return any(len(jobs) >= _LEAST_JOBS for clients in responses.values() for jobs in clients.values())


def draw(responses, title, labels):
    """The pages of the figure. responses: (point, policy) -> client -> {job: ms, or NaN where it did not finish};
    labels: what tells each (point, policy) from the others, or ''."""
    runs = list(responses)
    return [page for start in range(0, len(runs), _LINES)
            for page in _draw_runs({run: responses[run] for run in runs[start:start + _LINES]}, title, labels)]


def _draw_runs(responses, title, labels):
    looks = {run: (_COLOURS[place], _DASHES[place]) for place, run in enumerate(responses)}
    panels = sorted(_alike(responses).values(), key=lambda clients: -_growth(clients[0], responses))
    longest = max(time for clients in responses.values() for jobs in clients.values() for time in jobs.values()
                  if not math.isnan(time))
    scale = quantity.unit_of_time(longest)
    for start in range(0, len(panels), _PANELS):
        yield _draw_page(panels[start:start + _PANELS], responses, looks, scale, title, labels)


def _alike(responses):
    """Clients by what their lines are: one panel for those that do the same."""
    groups = {}
    for client in dict.fromkeys(client for clients in responses.values() for client in clients):
        lines = tuple(tuple(clients.get(client, {}).items()) for clients in responses.values())
        if any(len(line) >= _LEAST_JOBS for line in lines):
            groups.setdefault(repr(lines), []).append(client)  # as text: a NaN equals nothing
    return groups


def _growth(client, responses):
    """The longest response time over the shortest, in the line where that is most."""
    lines = [[time for time in clients.get(client, {}).values() if time > 0] for clients in responses.values()]
    return max((max(line) / min(line) for line in lines if line), default=0)


def _draw_page(panels, responses, looks, scale, title, labels):
    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure, grid = style.pyplot.subplots(rows, columns, squeeze=False,
                                         figsize=(style.WIDTH, 0.7 + 0.16 * len(responses) + 1.75 * rows))
    for axes, clients in zip(grid.flat, panels):
        _draw_panel(axes, clients[0], responses, looks, scale)
        axes.set_title(_named(clients), loc='left', fontweight='bold', pad=3)
    for axes in grid.flat[len(panels):]:
        axes.set_visible(False)
    handles = [Line2D([], [], color=colour, linestyle=dash, label=labels[run])
               for run, (colour, dash) in looks.items() if labels[run]]
    style.lay_out(figure, title, handles)
    return figure


def _named(clients):
    return ', '.join(clients) if len(clients) < 4 else f'{clients[0]} … {clients[-1]} ({len(clients)} alike)'


def _draw_panel(axes, client, responses, looks, scale):
    unit, factor = scale
    ends = {}
    for run, (colour, dash) in looks.items():
        points = sorted(responses[run].get(client, {}).items())
        if not points:
            continue
        jobs, times = [job for job, _ in points], [time * factor for _, time in points]
        axes.plot(jobs, times, color=colour, linestyle=dash, marker='o' if len(jobs) <= _FEW else None, markersize=2.5,
                  clip_on=False, zorder=3)
        if not math.isnan(times[-1]):
            ends.setdefault(float(f'{times[-1]:.4g}'), (jobs[-1], colour))
    axes.set_ylim(0, 1.05 * max(axes.get_ylim()[1], 1e-9))
    _name_ends(axes, ends)
    axes.set_xlim(0, None)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.set_xlabel('job')
    axes.set_ylabel(f'response time ({unit})')
    axes.grid()


def _name_ends(axes, ends):
    """The last value of each line beside it, where it is not upon another's."""
    last, room = -math.inf, 0.09 * axes.get_ylim()[1]
    for value, (job, colour) in sorted(ends.items()):
        if value - last >= room:
            axes.annotate(f'{value:,g}', (job, value), xytext=(3, 0), textcoords='offset points', va='center', fontsize=7,
                          color=colour)
            last = value
