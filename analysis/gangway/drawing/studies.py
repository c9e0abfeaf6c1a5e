"""Reads the result folder of a study: summary.csv, bounds.csv, tightness.csv and its configuration."""
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from gangway.drawing import names
from gangway.drawing.results import InputError, read_json, read_table, swept_paths

TIGHTEST = 'tightest'
BLOCKS = 'generator.params.most_threads'
_NAMES = {'owners.params.eviction': 'evictions of up to'}


@dataclass(frozen=True)
class Share:
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Summary:
    point: int
    order: str
    swept: tuple  # texts, in the order of Study.swept
    sets: int
    shares: dict  # proven, met, growing -> Share; without what was not simulated
    unknown: float


@dataclass(frozen=True)
class Bound:
    point: int
    order: str
    swept: tuple
    bound: str
    bounded: Share
    in_time: Share


@dataclass(frozen=True)
class Study:
    path: Path
    title: str
    configuration: dict
    swept: tuple
    summary: list
    bounds: list
    ratios: dict  # (order, bound) -> {(ratio_from, ratio_to): tasks}, over all points

    def orders(self):
        return list(dict.fromkeys(row.order for row in self.summary))

    def values(self, path):
        """What a swept parameter was, as texts, in the order of the points."""
        return list(dict.fromkeys(row.swept[self.swept.index(path)] for row in self.summary))

    def at(self, row, path):
        return row.swept[self.swept.index(path)]

    @property
    def utilisation(self):
        """The swept utilisation, a share of the device's threads; None where it is not swept."""
        return next((path for path in self.swept if path.endswith('.params.utilisation')), None)

    def utilisation_label(self):
        return 'utilisation U / m' if self.utilisation.startswith('generator.') else 'utilisation U'

    def name(self, path):
        if path == BLOCKS and self._threads():
            return 'largest block'
        return _NAMES.get(path) or names.parameter(path).removeprefix('generator ').removeprefix('owners ')

    def value(self, path, text):
        """A swept value as people read it: a block's threads as a share of the pool's, 'm/64'."""
        if path != BLOCKS or not self._threads():
            return text
        share = Fraction(text) / self._threads()
        return 'm' if share == 1 else f'{share.numerator if share.numerator > 1 else ""}m/{share.denominator}'

    def describe(self, values):
        """The values of the swept parameters other than utilisation, as a title."""
        paths = [path for path in self.swept if path != self.utilisation]
        return ', '.join(f'{self.name(path)} {self.value(path, text)}' for path, text in zip(paths, values))

    def _threads(self):
        """Of the generator's pool, if the file says."""
        generator = self.configuration.get('generator')
        parameters = generator.get('params', {}) if isinstance(generator, dict) else {}
        return Fraction(parameters['threads']) if 'threads' in parameters and 'sms' not in parameters else None


def is_study(path):
    """Whether a result folder is a study's."""
    manifest = Path(path) / 'manifest.json'
    if not manifest.exists():
        return False
    found = read_json(manifest)
    return isinstance(found, dict) and _configuration(found).get('kind') == 'study'


def _configuration(manifest):
    configuration = manifest.get('configuration')
    return configuration if isinstance(configuration, dict) else {}


def read(path):
    path = Path(path)
    configuration = _configuration(read_json(path / 'manifest.json'))
    swept, summary = _read_summary(path / 'summary.csv')
    return Study(path, str(configuration.get('title') or configuration.get('name') or path.name), configuration, swept,
                 summary, _read_bounds(path / 'bounds.csv', swept), _read_ratios(path / 'tightness.csv'))


def _share(row, name):
    return Share(row.number(name), row.number(name + '_low'), row.number(name + '_high'))


def _read_summary(file):
    names = ('proven', 'met', 'growing')
    columns, rows = read_table(file, ['point', 'order', 'sets', *(n + s for n in names for s in ('', '_low', '_high')), 'unknown'])
    if not rows:
        raise InputError(file, 'no rows', 'one for each point and order')
    swept = swept_paths(columns, 'order', 'sets')
    return swept, [Summary(row.index('point'), row.text('order'), tuple(row.text(path) for path in swept), row.index('sets'),
                           {name: _share(row, name) for name in names if row.text(name)}, row.number('unknown'))
                   for row in rows]


def _read_bounds(file, swept):
    _, rows = read_table(file, ['point', 'order', 'bound', 'bounded', 'bounded_low', 'bounded_high', 'in_time', 'in_time_low',
                                'in_time_high'])
    return [Bound(row.index('point'), row.text('order'), tuple(row.text(path) for path in swept), row.text('bound'),
                  _share(row, 'bounded'), _share(row, 'in_time')) for row in rows]


def _read_ratios(file):
    _, rows = read_table(file, ['point', 'order', 'bound', 'ratio_from', 'ratio_to', 'tasks'])
    ratios = {}
    for row in rows:
        bins = ratios.setdefault((row.text('order'), row.text('bound')), {})
        edges = row.number('ratio_from'), row.number('ratio_to')
        bins[edges] = bins.get(edges, 0) + row.index('tasks')
    return ratios
