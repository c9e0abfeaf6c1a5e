"""How every figure looks: one colour, marker, hatch and dash per policy, page layout, files that do not vary."""
import math
import textwrap
import zlib
from dataclasses import dataclass, replace

import matplotlib
from matplotlib import colors, pyplot
from matplotlib.lines import Line2D
from matplotlib.markers import CARETDOWNBASE, CARETUPBASE
from matplotlib.path import Path
from matplotlib.patheffects import withStroke
from matplotlib.ticker import LogLocator, NullLocator, SymmetricalLogLocator
from matplotlib.transforms import ScaledTranslation

from gangway.drawing import names
from gangway.whole_file import whole_file

USUAL_WIDTH = 7.2  # inches: two columns of a paper
WIDTH = USUAL_WIDTH  # of the figures that are being drawn; prepare() sets it
_titled = True
_INCHES_OF_TITLE = 0.15  # per line
_LETTERS_OF_TITLE = 100
_MARGIN = 0.03  # inches, left of all
_LEAST_FOR_SLANTED = 0.19  # inches from name to name; closer ones stand upright
_DARKEST, _LIGHTEST = 0.7, 0.7  # of shades: what is left of a colour, and of its distance from white
NUMBERS = 0.45  # inches, left of a panel
INCHES_PER_LETTER = 0.075  # of a small label, with its share of the space around

# Okabe and Ito's palette without yellow, which is too faint for a line on white; then colours that differ from these and from each other
# for most who are colour-blind, too.
_COLOURS = ORANGE, SKY, GREEN, BLUE, VERMILLION, PURPLE = (
    '#E69F00', '#56B4E9', '#009E73', '#0072B2', '#D55E00', '#CC79A7')
_MORE_COLOURS = INDIGO, BROWN, OLIVE, WINE = '#332288', '#6B3A0F', '#999933', '#882255'
GREY = '#999999'
DARK = '#4D4D4D'
ALONE = {'color': 'black', 'linewidth': 0.8, 'linestyle': '--'}  # the line of a client as fast as alone


@dataclass(frozen=True)
class Style:
    colour: str
    marker: str
    hatch: str
    dash: object
    hollow: bool = False  # the marker, so that of two equal lines both show


_STARVED = {'marker': 'x', 'markersize': 5, 'markeredgewidth': 1.2, 'linestyle': 'none', 'color': 'black'}
_POLICIES = {
    'passthrough': Style(DARK, '*', '', (0, (1, 1))),
    'fcfs': Style(GREY, 'X', '---', (0, (4, 1, 1, 1, 1, 1)), hollow=True),
    'sjf': Style(BLUE, 'o', '', '-'),
    'srt': Style(SKY, 's', '////', '--', hollow=True),
    'rr': Style(ORANGE, '^', '\\\\\\\\', '-.'),
    'cfs': Style(PURPLE, 'v', '....', ':', hollow=True),
    'frs': Style(VERMILLION, 'D', 'xxxx', '-'),
    'edf': Style(INDIGO, 'p', '\\\\////', '-'),
    'stride': Style(BROWN, 'd', '-\\', (0, (3, 1, 1, 1)), hollow=True),
    'piv': Style(GREEN, 'P', '||||', '-'),
    'dprr': Style(OLIVE, 'h', 'oo', '--', hollow=True),
    'pkm': Style(GREEN, '<', '++', ':', hollow=True),
    'trap-per-request': Style(PURPLE, 'X', '--', (0, (4, 1, 1, 1)), hollow=True),
    'timeslice': Style(VERMILLION, 's', '////', '--', hollow=True),
    'disengaged-timeslice': Style(ORANGE, '^', '\\\\\\\\', '-.'),
    'stride-timeslice': Style(BROWN, 'd', '-\\\\', (0, (3, 1, 1, 1)), hollow=True),
    'disengaged-fair-queueing': Style(BLUE, 'o', '....', '-'),
    'microkernel-rr': Style(BLUE, 'p', '//', '-'),
}
_SHAPES = [('>', '//////', '--'), ('<', '\\\\\\\\\\\\', '-.'), ('p', 'oo', ':', True), ('h', '++++', '-'),
           ('8', '|||||', (0, (4, 1, 1, 1)), True), ('*', '-----', (0, (2, 1)))]
_SPARE = [Style(colour, *shape) for colour in _COLOURS for shape in _SHAPES]
_MORE = [Style(colour, *shape) for colour in _MORE_COLOURS for shape in _SHAPES]  # where all others have been given away


def styles(labels):
    """label -> Style: fixed for known policies, else chosen by the label, so that it is the same in every figure. Policies of several
    families have fixed ones with the same colour or marker: where they meet, the first keeps it. Two have one colour only where there are
    more than colours, or where one is a variant of the other."""
    ordered = names.in_order(labels)
    looks = {}
    for name_of in (lambda label: label, names.policy):
        for label in ordered:
            known = _POLICIES.get(name_of(label))
            if label not in looks and known and not any(known.colour == look.colour or known.marker == look.marker for look in looks.values()):
                looks[label] = known
    for label in ordered:
        if label not in looks:
            looks[label] = _spare(label, looks)
    return {label: looks[label] for label in ordered}


def _spare(label, looks):
    taken, start = looks.values(), zlib.crc32(label.encode()) % len(_SPARE)
    candidates = [*_SPARE[start:], *_SPARE[:start], *_MORE]
    if label in _POLICIES:  # its own shape, if it can have that
        candidates = [replace(_POLICIES[label], colour=candidate.colour) for candidate in candidates] + candidates
    elif names.policy(label) is None and names.base(label):
        colour = (looks.get(names.base(label)) or _POLICIES[names.base(label)]).colour
        candidates = [replace(candidate, colour=colour) for candidate in candidates]
    colours, markers = [style.colour for style in taken], [style.marker for style in taken]
    lines = [(style.colour, style.dash) for style in taken]  # some figures have lines without markers
    return min(candidates, key=lambda style: (colours.count(style.colour), lines.count((style.colour, style.dash)), markers.count(style.marker)))


def shades(colour, count):
    """So many shades of a colour, from dark to light; one is the colour itself."""
    if count == 1:
        return [colour]
    ends = [[_DARKEST * part for part in colors.to_rgb(colour)], [1 - _LIGHTEST * (1 - part) for part in colors.to_rgb(colour)]]
    return [colors.to_hex([dark + (light - dark) * place / (count - 1) for dark, light in zip(*ends)]) for place in range(count)]


def prepare(width=USUAL_WIDTH, titles=True):
    """Fonts and lines as a two-column page needs them. From now on figures are so many inches wide, with their titles or without."""
    global WIDTH, _titled
    WIDTH, _titled = width, titles
    pyplot.rcParams.update(matplotlib.rcParamsDefault)
    pyplot.rcParams.update({
        'font.family': 'DejaVu Sans', 'font.size': 8, 'axes.titlesize': 8, 'axes.labelsize': 8,
        'xtick.labelsize': 7.5, 'ytick.labelsize': 7.5, 'legend.fontsize': 7.5, 'legend.frameon': False,
        'axes.spines.top': False, 'axes.spines.right': False, 'axes.axisbelow': True, 'axes.linewidth': 0.7,
        'lines.linewidth': 1.3, 'lines.markersize': 4.5, 'hatch.linewidth': 0.5, 'patch.linewidth': 0.6,
        'grid.color': '#DDDDDD', 'grid.linewidth': 0.5, 'pdf.fonttype': 42,
        'text.parse_math': False})


def line(look):
    """The words that make a line of a policy."""
    ring = {'markerfacecolor': 'none', 'markersize': 6.5, 'markeredgewidth': 0.9}
    disc = {'markeredgecolor': 'white', 'markersize': 8 if look.marker == '*' else 4.5, 'markeredgewidth': 0.4}
    return {'color': look.colour, 'marker': look.marker, 'linestyle': look.dash, 'clip_on': False,
            **(ring if look.hollow else disc)}


_PUBLISHED_BOUNDS = {'>': (CARETUPBASE, 5), '<': (CARETDOWNBASE, -5)}  # the arrow, and how many points above the diamond


def mark_published(axes, x, row, colour='black', points_right=0):
    """A diamond at a published value: solid where it should be met, hollow where only the order should hold. At a bound
    an arrow points to where the values lie: up from a lower bound, down from an upper one."""
    beside = ScaledTranslation(points_right / 72, 0, axes.figure.dpi_scale_trans)
    axes.plot([x], [row.published], transform=axes.transData + beside,
              **_diamond(row.kind in ('tight', 'moderate'), colour))
    if row.relation in _PUBLISHED_BOUNDS:
        arrow, points_up = _PUBLISHED_BOUNDS[row.relation]
        above = ScaledTranslation(points_right / 72, points_up / 72, axes.figure.dpi_scale_trans)
        axes.plot([x], [row.published], transform=axes.transData + above, **_arrow(arrow, colour))
    axes.update_datalim([(x, row.published)])  # a shifted marker does not count otherwise
    axes.autoscale_view()


def published_handles(rows):
    """Legend entries for the kinds of published value that were drawn."""
    kinds = {row.kind in ('tight', 'moderate') for row in rows}
    labels = {True: 'printed value', False: 'printed value: order only or not determined'}
    relations = {row.relation for row in rows}
    bounds = {'>': 'printed as a lower bound', '<': 'printed as an upper bound'}
    return [*(Line2D([], [], label=labels[solid], **_diamond(solid, 'black')) for solid in (True, False) if solid in kinds),
            *(Line2D([], [], label=label, **_arrow(_PUBLISHED_BOUNDS[relation][0], 'black'))
              for relation, label in bounds.items() if relation in relations)]


def _arrow(arrow, colour):
    return {'marker': arrow, 'markersize': 5, 'linestyle': 'none', 'zorder': 6, 'clip_on': False, 'color': colour}


def _diamond(solid, colour):
    return {'marker': 'd', 'markersize': 6.5, 'linestyle': 'none', 'zorder': 6, 'markeredgewidth': 0.9, 'clip_on': False,
            'markerfacecolor': colour if solid else 'white', 'markeredgecolor': 'black' if solid else colour}


def mark_starved(axes, x, colour='black', height=0.03, points_right=0):
    """A cross on the axis where there is no value, because a client finished no job; or at another height of the panel."""
    beside = ScaledTranslation(points_right / 72, 0, axes.figure.dpi_scale_trans)
    axes.plot([x], [height], transform=axes.get_xaxis_transform() + beside, zorder=6, clip_on=False,
              **{**_STARVED, 'color': colour})


def mark_starved_row(axes, y, colour='black'):
    """Likewise where the values of a row lie along the x axis: at its end, as no value is worse."""
    axes.plot([1], [y], transform=axes.get_yaxis_transform(), zorder=6, clip_on=False, **{**_STARVED, 'color': colour})


def starved_handles(drawn):
    """The legend entry for these crosses, if any were drawn."""
    return [Line2D([], [], label='starved: a client finished no job', **_STARVED)] if drawn else []


_STEM = [Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO, Path.LINETO]
# Arrows with a stem: no policy has such a marker.
UP, DOWN = (Path([(0, -up), (0, up), (-0.5, 0.3 * up), (0, up), (0.5, 0.3 * up)], _STEM) for up in (1, -1))
RIGHT, LEFT = (Path(arrow.vertices[:, ::-1], _STEM) for arrow in (UP, DOWN))
_WAVE = Path([(step / 8, -0.4 * math.sin(math.pi * step / 8)) for step in range(-8, 9)])
_MARKS = {  # of bounds, by what shows the value: bound -> marker, points right of the value, points above it
    'point': {'at least': (UP, 0, 8), 'at most': (DOWN, 0, -8), 'rough': (_WAVE, 0, 7)},
    'bar': {'at least': (UP, 0, 5), 'at most': (DOWN, 0, 5), 'rough': (_WAVE, 0, 4)},  # above, as hatches would hide them
    'cell': {'at least': (UP, 0, 0), 'at most': (DOWN, 0, 0), 'rough': (_WAVE, 0, 0)},
    'x': {'at least': (RIGHT, 8, 0), 'at most': (LEFT, -8, 0), 'rough': (_WAVE, 7, 0)}}
_WORDS_OF_BOUNDS = {'at least': 'at least: unfinished jobs', 'at most': 'at most: unfinished jobs',
                    'rough': 'could be more or less: unfinished jobs'}


def mark_bounds(axes, points, colour='black', shown_by='point', size=4):
    """points: (x, y, bound), whose bound is a key of results.SIGNS. An arrow points to where the real value lies; a wave stands at a
    rough value. shown_by: a key of _MARKS; 'x' is of a point whose x is the value."""
    for bound, (marker, right, up) in _MARKS[shown_by].items():
        found = [(x, y) for x, y, each in points if each == bound and not math.isnan(x + y)]
        if found:
            beside = ScaledTranslation(right / 72, up / 72, axes.figure.dpi_scale_trans)
            mark = Line2D(*zip(*found), transform=axes.transData + beside, **_bound_mark(marker, colour, size))
            if shown_by == 'cell':
                mark.set_path_effects([withStroke(linewidth=3, foreground='white')])
            axes.add_artist(mark)  # plot() would change the limits


def bound_handles(bounds, shown_by='point'):
    """Legend entries for those that were drawn."""
    return [Line2D([], [], label=_WORDS_OF_BOUNDS[bound], **_bound_mark(marker, 'black'))
            for bound, (marker, _, _) in _MARKS[shown_by].items() if bound in bounds]


def _bound_mark(marker, colour, size=4):
    return {'marker': marker, 'linestyle': 'none', 'clip_on': False, 'color': colour, 'zorder': 6, 'markersize': 1.5 * size, 'markeredgewidth': 1.1,
            'markerfacecolor': 'none'}


def rotated_inches(labels, panel):
    """The height that names need which do not fit side by side under a panel so wide; 0 where they do."""
    widths, room = [len(label) * INCHES_PER_LETTER for label in labels], panel - NUMBERS
    fits = sum(widths) < room and all(one + other < 2 * room / len(widths) for one, other in zip(widths, widths[1:]))
    return 0 if fits else (0.07 if room / len(labels) < _LEAST_FOR_SLANTED else 0.04) * max(map(len, labels))


def name_ticks(axes, labels, panel):
    """Names for the places 0, 1, ... on the x axis of a panel so wide."""
    if not rotated_inches(labels, panel):
        axes.set_xticks(range(len(labels)), labels)
    elif (panel - NUMBERS) / len(labels) < _LEAST_FOR_SLANTED:
        axes.set_xticks(range(len(labels)), labels, rotation=90, fontsize=6.5)
    else:
        axes.set_xticks(range(len(labels)), labels, rotation=35, ha='right', rotation_mode='anchor')


def log_y(axes, low, high):
    """A log axis with enough ticks that even a single decade has some."""
    axes.set_yscale('log')
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter('{x:g}')


def log_y_from_0(axes, least, high, low=0):
    """A log axis of values of which some are 0: linear below the least of the others."""
    axes.set_yscale('symlog', linthresh=least, linscale=0.3)
    axes.set_ylim(low, high)
    axes.yaxis.set_major_locator(SymmetricalLogLocator(linthresh=least, base=10, subs=(1, 2, 5) if high < 1000 * least else (1,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter('{x:g}')


def log_x(axes):
    """As log_y(), of what has been drawn."""
    axes.set_xscale('log')
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=20))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter('{x:,g}')


def balanced(text, letters):
    """The lines of a text, as few as `letters` to a line allow and of nearly one length, so that no word is left alone."""
    fewest = textwrap.wrap(text, letters, break_on_hyphens=False)
    shortest = max(letters // 2, 1) if len(fewest) > 1 else letters
    return next((lines for width in range(shortest, letters)
                 if len(lines := textwrap.wrap(text, width, break_on_hyphens=False)) == len(fewest)
                 and max(map(len, lines)) <= letters), fewest)


def lay_out(figure, title, handles):
    """Puts the title and, under it, the legend above the panels, in as few lines as fit."""
    height = figure.get_figheight()
    lines = balanced(title, max(10, int(_LETTERS_OF_TITLE * WIDTH / USUAL_WIDTH))) if _titled else []
    figure.text(0.5, 1 - 0.06 / height, '\n'.join(lines), fontsize=9, ha='center', va='top')
    top = height - (0.12 if lines else 0.03) - _INCHES_OF_TITLE * len(lines)
    if handles:
        legend = _widest_legend(figure, handles, top / height)
        top -= _extent(figure, legend).height / figure.dpi
    figure.tight_layout(rect=(0, 0, 1, top / height), pad=0.5, w_pad=1.2)
    drawn = figure.get_tightbbox(figure.canvas.get_renderer())
    if drawn.x0 < _MARGIN or drawn.x1 > figure.get_figwidth():  # numbers beside panels of another size may be wider
        figure.tight_layout(rect=(0, 0, 1, top / height), pad=0.5, w_pad=1.2)


def _widest_legend(figure, handles, top):
    for lines in range(1, len(handles) + 1):
        legend = figure.legend(handles, [_in_legend(handle.get_label()) for handle in handles], loc='upper center', bbox_to_anchor=(0.5, top),
                               borderaxespad=0, ncol=math.ceil(len(handles) / lines), columnspacing=1.4, handlelength=2.4)
        if lines == len(handles) or _extent(figure, legend).width < figure.get_figwidth() * figure.dpi:
            return legend
        legend.remove()


def _in_legend(label):
    """matplotlib leaves out what begins with an underscore."""
    return f' {label}' if label.startswith('_') else label


def _extent(figure, artist):
    return artist.get_window_extent(figure.canvas.get_renderer())


def save(figure, folder, name):
    """Writes NAME.png and NAME.pdf, without a date and never half; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    metadata = {'png': {'Software': None}, 'pdf': {'CreationDate': None}}
    paths = [folder / f'{name}.{suffix}' for suffix in metadata]
    for path, (suffix, keys) in zip(paths, metadata.items()):
        with whole_file(path) as part:
            figure.savefig(part, format=suffix, dpi=200, metadata=keys)
    pyplot.close(figure)
    return paths
