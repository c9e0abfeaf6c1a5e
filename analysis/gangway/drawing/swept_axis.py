"""The x axis of a sweep: one of the swept parameters, as numbers or as categories; the others tell panels apart."""
import math
import textwrap
from dataclasses import dataclass

from gangway.drawing import names, quantity, style

_INCHES_BETWEEN_TICKS = 0.18  # between their numbers


@dataclass(frozen=True)
class Axis:
    """The swept parameter along x: where each of its texts stands."""
    index: int
    label: str
    places: dict
    numeric: bool

    @property
    def log(self):
        return self.numeric and quantity.is_geometric(self.places.values())

    def place(self, row):
        return self.places[row.swept[self.index]]

    def others(self, row):
        """What the other parameters are at a row of summary.csv."""
        return row.swept[:self.index] + row.swept[self.index + 1:]

    def label_ticks(self, axes, inches):
        """Ticks and numbers or names for a panel so wide."""
        points = sorted(set(self.places.values()))
        if not self.numeric:
            style.name_ticks(axes, list(self.places), inches)
        elif self.log:
            axes.set_xscale('log')
            chosen = _room_for(points, 0.8 * inches)
            axes.set_xticks(chosen, [f'{point:g}' for point in chosen])
            axes.set_xticks(points, [''] * len(points), minor=True)
        elif _even(points) and len(points) * (_INCHES_BETWEEN_TICKS + _widest(points)) < inches:
            axes.set_xticks(points, [f'{point:g}' for point in points])


def choose(results):
    """Of the swept parameters that are quantities of several values that of most, the first of several; if there is
    none, the first parameter, as categories."""
    axes = [_axis(results, index) for index in range(len(results.swept))]
    return max((axis for axis in axes if axis.numeric and len(axis.places) > 1), key=lambda axis: len(axis.places),
               default=axes[0])


def combinations(results, axis):
    """What the other parameters are together, in the order of the points."""
    return _distinct(axis.others(row) for row in results.summary)


def wrapped(text, inches):
    """In lines that are no longer than so many inches; names that are too long by themselves are parted at their hyphens."""
    letters = int(inches / style.INCHES_PER_LETTER)
    if any(len(word) > letters for word in text.split()):
        return '\n'.join(textwrap.wrap(text, letters))
    return '\n'.join(style.balanced(text, letters))


def pages(panels, most):
    """Parts of nearly the same size, so that none has a single column."""
    count = math.ceil(len(panels) / most)
    return [panels[page * len(panels) // count:(page + 1) * len(panels) // count] for page in range(count)]


def titles(results, axis, others, inches):
    """What tells each of `others` from the rest, in lines that are no longer than so many inches."""
    varying = [index for index in range(len(results.swept))
               if index != axis.index and len({row.swept[index] for row in results.summary}) > 1]
    for values in others:
        swept = [*values[:axis.index], '', *values[axis.index:]]
        yield '\n'.join(wrapped(names.setting(results.swept[index], swept[index]), inches) for index in varying)


def _axis(results, index):
    texts = _distinct(row.swept[index] for row in results.summary)
    name = names.parameter(results.swept[index])
    common = quantity.in_common_unit(texts)
    if common is None:
        return Axis(index, name, {text: place for place, text in enumerate(texts)}, False)
    numbers, unit = common
    return Axis(index, f'{name} ({quantity.shown(unit)})' if unit else name, dict(zip(texts, numbers)), True)


def _distinct(values):
    return list(dict.fromkeys(values))


def _room_for(points, inches):
    """The points of a log axis whose numbers fit beside each other: of two that do not, the rounder one."""
    span = math.log(points[-1] / points[0])
    chosen = {}
    for point in sorted(points, key=_roundness):
        place, width = math.log(point / points[0]) / span * inches, len(f'{point:g}') * style.INCHES_PER_LETTER
        if all(abs(place - other) > (width + space) / 2 for other, space in chosen.values()):
            chosen[point] = place, width
    return sorted(chosen)


def _widest(points):
    return max(len(f'{point:g}') for point in points) * style.INCHES_PER_LETTER


def _roundness(point):
    """Sorts short numbers first, and among them those that begin like powers of 10 and 2."""
    text = f'{point:g}'
    return len(text), '12584'.find(text.lstrip('0.')[0]) % 6, point


def _even(points):
    gaps = [after - before for before, after in zip(points, points[1:])]
    return not gaps or max(gaps) < 1.01 * min(gaps)
