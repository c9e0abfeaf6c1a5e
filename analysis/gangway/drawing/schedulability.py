"""Shares of task sets against utilisation: bounded, or proven and seen to meet deadlines, a line for each theorem."""
from matplotlib import pyplot
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MultipleLocator

from gangway.drawing import studies, style

_WHAT = {'bounded': 'share of sets with all tasks bounded', 'in_time': 'share of sets with all deadlines met'}
# Of the closed forms only T3's applies where what it is a closed form of does not: there are too many sets of pending tasks.
_LOOKS = {
    'T1': (style.BLUE, 'o', '-'), 'T1b': (style.SKY, 's', '--'), 'T2': (style.GREEN, '^', '-'),
    'T3': (style.ORANGE, 'v', '-'), 'T3-closed': (style.ORANGE, '<', ':'), 'T4': (style.PURPLE, 'D', '-'), 'T5': (style.VERMILLION, 'x', '--'),
    'T5-with-T1': (style.GREY, '+', ':'), 'T7': (style.BLUE, 'o', '-'), 'T8': (style.GREEN, '^', '-'),
}
_SAYS = {  # what each is about, as models/bounds/README.md has it
    'T1': 'one job', 'T1b': 'one job, any order', 'T2': 'windows of several jobs', 'T3': 'release order, one block each',
    'T3-closed': 'closed form of T3', 'T4': 'release order, any grid',
    'T5': 'slack', 'T5-with-T1': 'slack and one job', 'T7': 'fixed priorities', 'T8': 'round robin'}
_ANY = 'any theorem'


def look(bound):
    """colour, marker and dash of a bound's line, in every figure of studies."""
    return ('black', '', '-') if bound == studies.TIGHTEST else _LOOKS[bound]


def known(bound):
    return bound == studies.TIGHTEST or bound in _LOOKS


def label(bound):
    return _ANY if bound == studies.TIGHTEST else f'{bound}: {_SAYS[bound]}'


def rank(name):
    """Its place in a legend."""
    return list(_LOOKS).index(bound) if (bound := name.split(':')[0]) in _LOOKS else len(_LOOKS)


def applies(study):
    return study.utilisation is not None and len(study.values(study.utilisation)) > 1 and len(_columns(study)) <= 4


def _columns(study):
    """The values of the other swept parameters, a panel each."""
    return list(dict.fromkeys(_column(study, row) for row in study.summary))


def _column(study, row):
    return tuple(value for path, value in zip(study.swept, row.swept) if path != study.utilisation)


def draw(study, what):
    """One page for `what`, 'bounded' or 'in_time': a row of panels for each order of the queue, a column for each value of
    the other swept parameter."""
    orders, columns = study.orders(), _columns(study)
    figure, grid = pyplot.subplots(len(orders), len(columns), sharex=True, sharey=True, squeeze=False,
                                   figsize=(style.WIDTH, 1.0 + 1.75 * len(orders)))
    drawn = {}
    for axes_of_row, order in zip(grid, orders):
        for axes, column in zip(axes_of_row, columns):
            _panel(axes, study, order, column, what, drawn)
        axes_of_row[0].set_ylabel(order if len(orders) > 1 else _WHAT[what].replace(' with ', '\nwith '))
    for axes, column in zip(grid[0], columns):
        axes.set_title(study.describe(column) + (f'\n{orders[0]}' if len(orders) == 1 and orders[0] else ''))
    for axes in grid[-1]:
        axes.set_xlabel(study.utilisation_label())
        axes.xaxis.set_major_locator(MultipleLocator(0.2))
    if len(orders) > 1:
        figure.supylabel(_WHAT[what], fontsize=8, x=0.005)
    style.lay_out(figure, study.title, [*(drawn[name] for name in sorted(drawn, key=lambda name: (rank(name), name))),
                                        Patch(facecolor=style.GREY, alpha=0.36, label='95 % interval')])
    return figure


def _panel(axes, study, order, column, what, drawn):
    lines = {}
    for row in study.bounds:
        if row.order == order and _column(study, row) == column and known(row.bound):
            lines.setdefault(row.bound, []).append((float(study.at(row, study.utilisation)), getattr(row, what)))
    for bound, points in lines.items():
        if any(share.mean > 0 for _, share in points):
            _line(axes, points, label(bound), look(bound), drawn)
    met = [(float(study.at(row, study.utilisation)), row.shares['met']) for row in study.summary
           if row.order == order and _column(study, row) == column and 'met' in row.shares]
    if what == 'in_time' and met:
        _line(axes, met, 'met in a long run', (style.DARK, '*', (0, (1, 1))), drawn)
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_locator(MultipleLocator(0.2))
    axes.grid(True)


def _line(axes, points, name, looks, drawn):
    colour, marker, dash = looks
    x, shares = [place for place, _ in points], [share for _, share in points]
    axes.fill_between(x, [share.low for share in shares], [share.high for share in shares], color=colour, alpha=0.18, linewidth=0)
    axes.plot(x, [share.mean for share in shares], color=colour, marker=marker, linestyle=dash, markersize=3.5,
              linewidth=1.8 if name == _ANY else 1.1, zorder=2 if name == _ANY else 3)
    drawn[name] = Line2D([], [], label=name, color=colour, marker=marker, linestyle=dash, markersize=3.5,
                         linewidth=1.8 if name == _ANY else 1.1)
