"""Two results of one experiment: how far a prediction is from a measurement."""

from __future__ import annotations

import json
import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gangway import _core
from gangway.errors import InputError

if TYPE_CHECKING:
    from pandas import DataFrame

    from gangway.result import Result


def compare(prediction: str | os.PathLike[str] | Result, measurement: str | os.PathLike[str] | Result) -> Comparison:
    """Of two result folders, or two Results that have folders, of one experiment. InputError as `gangway compare`."""
    return Comparison(json.loads(_core.compare(_folder(prediction), _folder(measurement))))


def _folder(given: Any) -> str:
    path = getattr(given, 'path', given)
    if path is None:
        raise InputError("compare: key 'path': found a result without a folder, expected one that was run with out=FOLDER", 'compare', None,
                         'path', 'a result without a folder', 'one that was run with out=FOLDER')
    return os.fspath(path)


class Comparison:
    """Errors are (predicted - measured) / measured.

    groups: a table with a row for each point, policy and metric; clients: likewise, for each client; rankings: of policies by each metric at
    each point; jobs: the errors of all jobs' NTT; told: everything, as `gangway compare --json` has it."""

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

    @property
    def jobs(self) -> dict[str, Any]:
        """Errors of the NTT of single jobs: how many, p50, p90, max, bias."""
        return dict(self.told['ntt_error'])


def bound(taskset: dict[str, Any] | str | os.PathLike[str]) -> dict[str, Any]:
    """Response-time bounds of a task set: a file, or a mapping that says the same. A mapping as `gangway bound --json` prints it."""
    if isinstance(taskset, dict):
        return dict(json.loads(_core.bound(json.dumps(taskset, indent=1), 'taskset')))
    try:
        text = Path(taskset).read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{taskset}: key 'taskset': found {error}, expected a file that can be read", os.fspath(taskset), None, 'taskset',
                         str(error), 'a file that can be read') from None
    return dict(json.loads(_core.bound(text, os.fspath(taskset))))


__all__ = ['Comparison', 'bound', 'compare']
