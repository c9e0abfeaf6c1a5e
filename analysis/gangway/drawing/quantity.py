"""Numbers with units as they stand in swept columns: '0.25 ms', '4 us', '64 KiB', '5 %', '0.5'."""
import math
import re
import statistics
from collections import Counter
from dataclasses import dataclass

_SIZES = {'B': 1, 'KB': 1e3, 'MB': 1e6, 'GB': 1e9, 'TB': 1e12,
          'KiB': 2**10, 'MiB': 2**20, 'GiB': 2**30, 'TiB': 2**40}
_DIMENSIONS = {
    'time': {'ns': 1, 'us': 1e3, 'ms': 1e6, 's': 1e9},
    'size': _SIZES,
    'bandwidth': {unit + '/s': factor for unit, factor in _SIZES.items()},
    'rate': {'/s': 1, '/min': 1 / 60, '/h': 1 / 3600, '/ms': 1e3, '/us': 1e6},
    'number': {'': 1, '%': 0.01},
}
_UNITS = {unit: (dimension, factor)
          for dimension, units in _DIMENSIONS.items() for unit, factor in units.items()}
_PATTERN = re.compile(r'([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S*)')


@dataclass(frozen=True)
class Quantity:
    number: float
    unit: str

    @property
    def dimension(self):
        return _UNITS[self.unit][0]

    def number_in(self, unit):
        if unit == self.unit:
            return self.number  # a conversion could cost the last digit
        return self.number * _UNITS[self.unit][1] / _UNITS[unit][1]


def parse(text):
    """The quantity a text stands for, or None: a word, or a unit nobody knows."""
    match = _PATTERN.fullmatch(text.strip())
    if not match or match[2] not in _UNITS:
        return None
    return Quantity(float(match[1]), match[2])


def in_common_unit(texts):
    """(numbers, unit) in the unit used most; None where the texts are not all quantities of one dimension."""
    quantities = [parse(text) for text in texts]
    if None in quantities or len({quantity.dimension for quantity in quantities}) != 1:
        return None
    unit = Counter(quantity.unit for quantity in quantities).most_common(1)[0][0]
    return [quantity.number_in(unit) for quantity in quantities], unit


def unit_of_time(milliseconds):
    """(unit as printed, how many of it a ms is) for an axis that long."""
    if milliseconds >= 2_000:
        return 's', 1e-3
    return ('ms', 1) if milliseconds >= 1 else ('µs', 1e3)


def unit_of_times(milliseconds, log=False):
    """Likewise for an axis of such times: that of the longest, on a logarithmic axis of the one in the middle."""
    known = [time for time in milliseconds if time > 0]
    return unit_of_time(statistics.median(known) if log and known else max(known, default=1))


def shown(unit):
    """A unit as printed on an axis."""
    return ('1' if unit.startswith('/') else '') + unit.replace('us', 'µs')


def is_geometric(numbers):
    """Whether a log axis spreads the points more evenly than a linear one (so 1, 2, 5, 10 counts)."""
    points = sorted(set(numbers))
    if len(points) < 3 or points[0] <= 0:
        return False
    return _unevenness([math.log(point) for point in points]) < _unevenness(points)


def _unevenness(points):
    gaps = [after - before for before, after in zip(points, points[1:])]
    mean = sum(gaps) / len(gaps)
    spread = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) / mean
    return round(spread, 9)
