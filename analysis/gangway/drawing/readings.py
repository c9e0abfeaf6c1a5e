"""Reads a calibration's folder: every reading from samples.csv, the fitted lines from calibration.json."""
import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from gangway.drawing.percentiles import nearest_rank
from gangway.drawing.results import InputError, read_json, read_table

_FOLDER = "a calibration's folder"
_DIRECTIONS = {'copy h2d': 'host to device', 'copy d2h': 'device to host'}


@dataclass(frozen=True)
class Line:
    """value in ns = intercept + slope * x, fitted to so many readings."""
    intercept: float
    slope: float
    points: int

    def at(self, x):
        return self.intercept + self.slope * x


class Range:
    """Where readings lie: median, 1st and 99th percentile (nearest rank), of (value - less) / unit."""

    def __init__(self, values, unit=1, less=0):
        self.ordered = sorted((value - less) / unit for value in values)
        self.median = statistics.median(self.ordered)
        self.low, self.high = self.percentile(0.01), self.percentile(0.99)

    def percentile(self, share):
        return nearest_rank(self.ordered, share)


@dataclass(frozen=True)
class Readings:
    title: str
    values: dict  # (quantity, mechanism, kernel, parameter) -> readings in ns, in the order of the file
    lines: dict   # name -> Line

    def mechanisms(self):
        """The one that the files describe first."""
        return list(dict.fromkeys(mechanism for _, mechanism, _, _ in self.values))

    def of_length(self, quantity, mechanism):
        """length of the block-tasks aimed at (ns) -> readings, the shortest first"""
        found = {parameter: values for (what, how, _, parameter), values in self.values.items()
                 if (what, how) == (quantity, mechanism) and parameter > 0}
        return dict(sorted(found.items()))

    def lengths(self):
        """mechanism -> {length aimed at: the longest block-task measured}, where evictions were measured too; ns"""
        found = {}
        for mechanism in self.mechanisms():
            evictions = self.of_length('eviction', mechanism)
            for length, values in self.of_length('longest block-task', mechanism).items():
                if length in evictions:
                    found.setdefault(mechanism, {})[length] = statistics.median(values)
        return found

    def kernels(self):
        """The kernels that were measured in both forms, the longest first."""
        found = {kernel: self.of_kernel('original', kernel) for what, _, kernel, _ in self.values
                 if what == 'original' and self.of_kernel('transformed', kernel)}
        return sorted(found, key=lambda kernel: (-statistics.median(found[kernel]), kernel))

    def of_kernel(self, quantity, kernel):
        """Readings of a kernel; none where that was not measured."""
        return next((values for (what, _, whose, parameter), values in self.values.items()
                     if (what, whose, parameter) == (quantity, kernel, 0)), [])

    def directions(self):
        """quantity -> what it is called, of the directions in which copies were measured"""
        measured = {quantity for quantity, _, _, _ in self.values}
        return {quantity: name for quantity, name in _DIRECTIONS.items() if quantity in measured}

    def polls(self):
        """Whether polls of both kinds of memory were measured."""
        return {'host poll', self.looks()} <= {quantity for quantity, _, _, _ in self.values}

    def looks(self):
        """Readings of what looks at device memory add to work. Older calibrations took claims for looks."""
        new = 'looks beside claims'
        return new if any(quantity == new for quantity, _, _, _ in self.values) else 'polls beside work'

    def after_idle(self):
        """Of launches after idle times: the mechanism, {idle time: readings}, readings one after the other; none where
        these were not measured."""
        after = self.by_parameter('launch after idle')
        for mechanism in self.mechanisms():
            others = [value for (what, how, _, _), values in self.values.items() if (what, how) == ('launch', mechanism)
                      for value in values]
            if others and any((what, how) == ('launch after idle', mechanism) for what, how, _, _ in self.values):
                return mechanism, after, others
        return None

    def by_parameter(self, quantity):
        """what was varied (a copy's bytes, blocks that poll) -> readings, the smallest first"""
        return dict(sorted((parameter, values) for (what, _, _, parameter), values in self.values.items()
                           if what == quantity))


def read(folder):
    """The calibration in the folder."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(folder, 'a file' if folder.exists() else 'nothing', _FOLDER)
    file = folder / 'calibration.json'
    if not file.is_file():
        raise InputError(file, 'no such file', f'{_FOLDER} that has one')
    about = read_json(file)
    if not isinstance(about, dict) or about.get('kind') != 'calibration':
        raise InputError(file, 'no calibration', 'kind calibration', key='kind')
    title = str(about.get('gpu') or about.get('device') or folder.resolve().name)
    return Readings(title, _read_samples(folder / 'samples.csv'), _read_lines(file, about))


def _read_samples(file):
    _, rows = read_table(file, ['quantity', 'mechanism', 'kernel', 'parameter', 'value_ns'], _FOLDER)
    if not rows:
        raise InputError(file, 'no rows', 'one for each reading', 1)
    values = {}
    for row in rows:
        value = row.number('value_ns')
        if math.isnan(value):
            row.refuse('value_ns', 'a number')
        key = (row.text('quantity'), row.text('mechanism'), row.text('kernel'), row.index('parameter'))
        values.setdefault(key, []).append(value)
    return values


def _read_lines(file, about):
    try:
        return {fit['name']: Line(float(fit['intercept']['value']), float(fit['slope']['value']), int(fit['points']))
                for fit in about.get('fits') or []}
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(file, f'{type(error).__name__} {error}', 'name, intercept, slope and points of each fit',
                         key='fits') from None
