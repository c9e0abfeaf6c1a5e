"""CSV files as Gangway writes them, read strictly: errors name the file, the line and the column."""
import contextlib
import csv
import math
from dataclasses import dataclass


class InputError(Exception):
    """Wrong input, told in one line: FILE:LINE: key 'x': found ..., expected ..."""

    def __init__(self, file, found, expected, line=None, key=None):
        place = f'{file}:{line}' if line else str(file)
        about = f"key '{key}': " if key else ''
        super().__init__(f'{place}: {about}found {found}, expected {expected}')


@dataclass(frozen=True)
class Measured:
    """A mean and the half-width of its 95% interval; NaN where the run could not tell."""
    mean: float
    ci95: float
    # Of the interval, where `mean` is a value of all jobs and the interval is of the mean over replications; NaN where that is not known.
    centre: object = None

    def scaled(self, factor):
        return Measured(self.mean * factor, self.ci95 * factor, None if self.centre is None else self.centre * factor)

    @property
    def middle(self):
        """Of the interval."""
        return self.mean if self.centre is None else self.centre

    @property
    def interval(self):
        """Its ends; NaN where there is none."""
        return self.middle - self.ci95, self.middle + self.ci95

    @property
    def below(self):
        """How far the interval that can be drawn reaches below its middle: to 0, below which no metric has a value."""
        return min(self.half_width, max(0, self.middle)) if self.half_width else 0

    @property
    def half_width(self):
        """Of what can be drawn: 0 where there is no interval."""
        return 0 if math.isnan(self.middle + self.ci95) else self.ci95

    def leaves(self, axes):
        """Whether the interval is cut off by the y axis of a panel."""
        low, high = axes.get_ylim()
        return self.half_width > 0 and not (low <= self.middle - self.below and self.interval[1] <= high)

    @property
    def top(self):
        """The highest of what can be drawn."""
        return max(self.mean, self.interval[1]) if self.half_width else self.mean


class Row:
    """One line of a CSV file, which knows where it stands."""

    def __init__(self, file, line, cells):
        self.file, self.line, self.cells = file, line, cells

    def text(self, key):
        return self.cells.get(key, '')

    def number(self, key):
        """A number; NaN for an empty cell, which says that there was nothing to measure."""
        text = self.text(key)
        if not text:
            return math.nan
        try:
            number = float(text)
        except ValueError:
            self.refuse(key, 'a number')
        return number if math.isfinite(number) else math.nan

    def index(self, key):
        """A count from 0; an empty cell is 0."""
        text = self.text(key)
        if text and not (text.isascii() and text.isdigit()):
            self.refuse(key, 'a whole number from 0')
        return int(text or 0)

    def measured(self, key):
        return Measured(self.number(key), self.number(key + '_ci95'))

    def choice(self, key, choices):
        if self.text(key) not in choices:
            self.refuse(key, 'one of ' + ', '.join(choices))
        return self.text(key)

    def refuse(self, key, expected):
        raise InputError(self.file, f"'{self.text(key)}'", expected, self.line, key)


@contextlib.contextmanager
def lines(file, required, folder='a result folder'):
    """The columns, which have the required ones, and an iterator over (line, cells). `folder`: what the file belongs to."""
    if not file.is_file():
        raise InputError(file, 'no such file', f'{folder} that has one')
    try:
        with open(file, newline='', encoding='utf-8') as stream:
            reader = csv.reader(stream, strict=True)
            found = next(reader, [])
            for name in required:
                if name not in found:
                    raise InputError(file, 'no such column', 'one of that name', 1, name)
            yield found, _cells(file, reader, len(found))
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(file, str(error), 'a CSV file') from None


def _cells(file, reader, count):
    for cells in reader:
        if len(cells) != count:
            raise InputError(file, f'{len(cells)} cells', f'{count} as in the first line', reader.line_num)
        yield reader.line_num, cells


def columns(file):
    """Those of a file; none where there is no such file."""
    if not file.is_file():
        return []
    with lines(file, []) as (found, _):
        return found


def read_table(file, required, folder='a result folder'):
    """The columns and rows of a file that has at least the required columns; as lines()."""
    with lines(file, required, folder) as (found, rows):
        return found, [Row(file, line, dict(zip(found, cells))) for line, cells in rows]
