"""Two results of one experiment: how far a prediction is from a measurement."""

from __future__ import annotations

import json
import os
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gangway import _core
from gangway.changed_tables import changed_tables, note_on
from gangway.document import document_of
from gangway.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pandas import DataFrame

    from gangway.result import Result


_OTHER_THAN_NUMBERS = ('point', 'policy', 'client', 'metric', 'a_is', 'b_is', 'at_least', 'finding', 'words')


def compare(prediction: str | os.PathLike[str] | Result, measurement: str | os.PathLike[str] | Result,
            metrics: Sequence[str] = ()) -> Comparison:
    """Compares two result folders, or two Results that have folders, of one experiment. InputError and notes (as UserWarnings) as for
    `gangway compare`.

    metrics: columns of replications.csv and service_replications.csv whose differences are tested; the usual ones if not given."""
    return Comparison(json.loads(_core.compare(_folder(prediction), _folder(measurement), [*metrics])))


def compare_policies(result: str | os.PathLike[str] | Result, baseline: str, metrics: Sequence[str] = ()) -> Differences:
    """Whether the other policies of a result folder differ from `baseline` by more than chance, at each point. metrics: as for compare()."""
    return Differences(json.loads(_core.compare_policies(_folder(result), baseline, [*metrics])))


def _folder(given: Any) -> str:
    from gangway.result import Result
    if isinstance(given, Result) and given.path is None:
        raise InputError("compare: key 'path': found a result without a folder, expected one that was run with out=FOLDER", 'compare', None,
                         'path', 'a result without a folder', 'one that was run with out=FOLDER')
    folder = given._folder() if isinstance(given, Result) else Path(given)
    for name in changed_tables(folder):
        warnings.warn(note_on(folder / name), stacklevel=3)
    return os.fspath(folder)


class Comparison:
    """The difference between a prediction and a measurement. Errors are (predicted - measured) / measured.

    groups: a table with a row for each point, policy and metric; clients: likewise, for each client; rankings: of policies by each metric at
    each point; jobs: the errors of all jobs' NTT; differences: of two results of one world, whether they differ by more than chance, else
    None; told: everything, as `gangway compare --json` prints it."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told

    @cached_property
    def groups(self) -> DataFrame:
        import pandas
        rows = [{'point': group['point'], 'policy': group['policy'], 'metric': name, **metric} for group in self.told['groups']
                for name, metric in group.items() if isinstance(metric, dict) and 'relative_error' in metric]
        return pandas.DataFrame(rows)

    @cached_property
    def clients(self) -> DataFrame:
        import pandas
        return pandas.json_normalize(self.told['clients'], sep='_')

    @cached_property
    def rankings(self) -> DataFrame:
        import pandas
        return pandas.DataFrame(self.told['rankings'])

    @cached_property
    def differences(self) -> Differences | None:
        return Differences(self.told['differences']) if self.told['differences'] else None

    @property
    def jobs(self) -> dict[str, Any]:
        """Errors of the NTT of single jobs: number, p50, p90, max, bias."""
        return dict(self.told['ntt_error'])


class Differences:
    """Differences between two results of one world (b minus a), or between a policy and a baseline; the sample is the replications.

    rows: a table with a row for each point, policy, client (empty: the whole point) and metric, as experiments/README.md explains it under
    "Comparing two folders": a_mean, a_is, a_ci95, a_replications, likewise of b, difference, relative, low, high, t, degrees, p, p_holm,
    at_least, finding, words (as `gangway compare` prints them); significant: the differences that chance does not explain; conclusions:
    sentences; told: everything, as `gangway compare --json` prints it."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told

    @cached_property
    def rows(self) -> DataFrame:
        import pandas
        table = pandas.json_normalize(self.told['rows'], sep='_')
        if len(table):
            table['client'] = table['client'].fillna('')
            numbers = [column for column in table.columns if column not in _OTHER_THAN_NUMBERS]
            table = table.astype({column: 'float64' for column in numbers})
            first = ['point', 'policy', 'client', 'metric', *(f'{side}_{what}' for side in 'ab' for what in ('mean', 'is', 'ci95', 'replications'))]
            table = table[[*first, *(column for column in table.columns if column not in first)]]
        return table

    @property
    def significant(self) -> DataFrame:
        return self.rows[self.rows.finding == 'significant'] if len(self.rows) else self.rows

    @property
    def conclusions(self) -> list[str]:
        return list(self.told['conclusions'])


def bound(taskset: dict[str, Any] | str | os.PathLike[str]) -> dict[str, Any]:
    """Response-time bounds of a task set (a file, or a mapping with the same content), as the mapping that `gangway bound --json` prints."""
    if isinstance(taskset, dict):
        try:
            document = document_of(taskset)
        except (TypeError, ValueError) as error:
            raise InputError(f'bound: {error}, expected numbers, texts, lists and mappings', 'taskset', None, '', str(error),
                             'numbers, texts, lists and mappings') from error
        return dict(json.loads(_core.bound(document, 'taskset')))
    try:
        text = Path(taskset).read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{taskset}: key 'taskset': found {error}, expected a file that can be read", os.fspath(taskset), None, 'taskset',
                         str(error), 'a file that can be read') from None
    return dict(json.loads(_core.bound(text, os.fspath(taskset))))


__all__ = ['Comparison', 'Differences', 'bound', 'compare', 'compare_policies']
