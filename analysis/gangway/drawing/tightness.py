"""How near what is seen comes to each bound: which share of the tasks has at most so large a ratio."""
from matplotlib import pyplot
from matplotlib.lines import Line2D

from gangway.drawing import schedulability, studies, style


def applies(study):
    return bool(study.ratios)


def draw(study):
    """A panel for each order of the queue, a line for each bound."""
    orders = study.orders()
    figure, grid = pyplot.subplots(1, len(orders), sharey=True, squeeze=False, figsize=(style.WIDTH, 3.1))
    drawn = {}
    for axes, order in zip(grid[0], orders):
        for (of, bound), bins in study.ratios.items():
            if of == order and schedulability.known(bound):
                _line(axes, bound, bins, drawn)
        axes.axvline(1, color='black', linewidth=0.7)
        axes.set_xlim(0, 1.02)
        axes.set_ylim(0, 1.02)
        axes.set_title(order)
        axes.set_xlabel('largest response seen / bound')
        axes.grid(True)
    grid[0][0].set_ylabel('share of bounded tasks')
    style.lay_out(figure, study.title, [drawn[name] for name in sorted(drawn, key=schedulability.rank)])
    return figure


def _line(axes, bound, bins, drawn):
    """Steps, as between the ends of bins nothing is known, and bins without a task are not in the file."""
    colour, marker, dash = schedulability.look(bound)
    total, seen, x, y = sum(bins.values()), 0, [0], [0]
    for (_, to), tasks in sorted(bins.items()):
        seen += tasks
        x.append(to)
        y.append(seen / total)
    look = {'color': colour, 'marker': marker, 'markersize': 3.5, 'linestyle': dash,
            'linewidth': 1.8 if bound == studies.TIGHTEST else 1.1}
    axes.plot(x, y, drawstyle='steps-post', markevery=max(1, len(x) // 10), zorder=2 if bound == studies.TIGHTEST else 3, **look)
    name = 'tightest of each task' if bound == studies.TIGHTEST else schedulability.label(bound)
    drawn.setdefault(name, Line2D([], [], label=name, **look))
