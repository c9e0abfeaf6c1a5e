"""Tables of results, equal whether read from memory or from files."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gangway import metrics
from gangway.drawing import together

if TYPE_CHECKING:
    from pandas import DataFrame

    from gangway import _core

# Columns that are texts; where a text is missing it is empty. Others are numbers where all are; where one is missing it is NaN.
_TEXTS = {'policy', 'client', 'error', 'figure', 'metric', 'relation', 'class', 'group', 'verdict', 'note', 'printed', 'as', 'take',
          *(metric.name for metric in metrics.ALL if metric.kind == 'text')}
_WHOLE = {'point', 'replication', 'permutation', 'job'}
_WHOLE_OF_JOBS = {metric.name for metric in metrics.of('job') if metric.kind == 'whole'}


def swept_paths(configuration: dict[str, Any]) -> set[str]:
    """The paths that an experiment or study sweeps; these columns keep the values as written in its file."""
    alone = (path for path in configuration.get('sweep', {}) if path != 'together')
    return {*alone, *(path for group in together.groups(configuration) for path in group)}


def from_columns(name: str, told: Any, experiment: _core.Experiment, swept: set[str]) -> DataFrame | None:
    """A table collected by the compiled module; None if it has no rows. swept: as from swept_paths()."""
    import pandas
    if name == 'published':
        return _finished(name, pandas.DataFrame({column: _values(values) for column, values in told}), swept) if told else None
    if name == 'jobs':
        columns = {column: _values(values) for column, values in told.items()}
        size = len(columns['point'])
    else:
        size = len(told['point'])
        columns = {'point': told['point'], 'policy': _values(told['policy'])}
        if name not in ('summary', 'replications'):
            columns['client'] = _values(told['client'])
        columns.update((column, _values(values)) for column, values in told['cells'])
        if name == 'summary':
            columns['error'] = columns.pop('error', [''] * size)
    if size == 0:
        return None
    table = pandas.DataFrame(columns)
    cells = {point: _fields(experiment.swept_cells(int(point))) for point in table['point'].unique()}
    for place, column in enumerate(_fields(experiment.swept_columns)):
        values = {point: of_point[place] for point, of_point in cells.items()}
        table.insert(2 + place, column, table['point'].map(values))
    return _finished(name, table, swept)


def from_file(name: str, file: Path, swept: set[str]) -> DataFrame | None:
    """A table of a result folder; None if it has no rows. swept: as from swept_paths()."""
    import pandas
    table = pandas.read_csv(file, keep_default_na=False, dtype=str, low_memory=False)
    return _finished(name, table, swept) if len(table) else None


def to_file(table: DataFrame, file: Path) -> None:
    """Writes a table in the format of result folders."""
    with open(file, 'w', newline='', encoding='utf-8') as stream:
        lines = csv.writer(stream, lineterminator='\n')
        lines.writerow(table.columns)
        lines.writerows(zip(*(map(_shown, table[column].tolist()) for column in table.columns)))


def _shown(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    if value != value:  # NaN
        return ''
    return int(value) if value.is_integer() and abs(value) < 2 ** 53 else repr(value)


def _finished(name: str, table: DataFrame, swept: set[str]) -> DataFrame:
    """Gives each column its type, whatever its source."""
    import pandas
    for column in table.columns:
        numbers = table[column]
        is_text = column in _TEXTS or column in swept
        if not is_text and not pandas.api.types.is_numeric_dtype(numbers):  # of texts, whatever pandas calls their type
            try:  # exactly: pandas.to_numeric is an ulp off now and then
                numbers = pandas.Series([text or 'nan' for text in numbers], table.index, dtype='float64')
            except ValueError:  # a column that only some worlds have
                is_text = True
        if is_text:
            table[column] = table[column].fillna('').astype(object).map(str)
            continue
        whole = column in _WHOLE or name == 'jobs' and column in _WHOLE_OF_JOBS
        table[column] = numbers.astype('int64' if whole else 'float64')
    return table


def _values(told: Any) -> Any:
    """A column: numbers, or codes and the texts that they stand for."""
    if isinstance(told, tuple):
        import numpy
        codes, names = told
        return numpy.array([*names], dtype=object)[codes] if names else numpy.empty(0, dtype=object)
    return told


def _fields(line: str) -> list[str]:
    """Reads part of a CSV line that has a comma before each field."""
    return next(csv.reader([line]))[1:] if line else []
