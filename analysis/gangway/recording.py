"""Recordings of programs; models/recording/README.md describes their content."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gangway import _core

if TYPE_CHECKING:
    from pandas import DataFrame


class Recording:
    """A recording, plain or gzipped. The first use raises InputError if the file is none."""

    def __init__(self, file: str | os.PathLike[str]) -> None:
        self.path = os.path.abspath(file)

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Jobs, kernels, copies and GPUs, as the mapping that `gangway list FILE --json` prints."""
        return dict(json.loads(_core.recording_summary(self.path)))

    @cached_property
    def _database(self) -> sqlite3.Connection:
        _core.recording_summary(self.path)  # refuses what is none
        with open(self.path, 'rb') as file:
            compressed = file.read(2) == b'\x1f\x8b'
        if not compressed:
            return sqlite3.connect(f'{Path(self.path).resolve().as_uri()}?mode=ro', uri=True)
        database = sqlite3.connect(':memory:')
        with gzip.open(self.path) as file:
            database.deserialize(file.read())
        return database

    def query(self, sql: str, parameters: tuple[Any, ...] = ()) -> DataFrame:
        """The result of an SQL query, as a table."""
        import pandas
        return pandas.read_sql_query(sql, self._database, params=parameters)

    @property
    def jobs(self) -> DataFrame:
        """The table of jobs."""
        return self.query('SELECT * FROM jobs ORDER BY id')

    @property
    def submissions(self) -> DataFrame:
        """The GPU's operations, with names and times."""
        return self.query('SELECT * FROM submissions')

    @property
    def calls(self) -> DataFrame:
        """The host's calls, with begin and end."""
        return self.query('SELECT * FROM call_times')

    def __repr__(self) -> str:
        return f'Recording({self.path!r})'
