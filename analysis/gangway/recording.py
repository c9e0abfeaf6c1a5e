"""Recordings of programs: models/recording/README.md says what is in them."""

import gzip
import json
import os
import sqlite3
from functools import cached_property

from gangway import _core


class Recording:
    """A recording, compressed with gzip or not. InputError where the file is none, when it is first looked at."""

    def __init__(self, file):
        self.path = os.fspath(file)

    @cached_property
    def summary(self):
        """A mapping: jobs, kernels, copies, GPUs, as `gangway list FILE --json` prints it."""
        return json.loads(_core.recording_summary(self.path))

    @cached_property
    def _database(self):
        _core.check(self.path)
        with open(self.path, 'rb') as file:
            compressed = file.read(2) == b'\x1f\x8b'
        if not compressed:
            return sqlite3.connect(f'file:{self.path}?mode=ro', uri=True)
        database = sqlite3.connect(':memory:')
        with gzip.open(self.path) as file:
            database.deserialize(file.read())
        return database

    def query(self, sql, parameters=()):
        """What a query of the database comes to, as a table."""
        import pandas
        return pandas.read_sql_query(sql, self._database, params=parameters)

    jobs = property(lambda self: self.query('SELECT * FROM jobs ORDER BY id'), doc='The table of jobs.')
    submissions = property(lambda self: self.query('SELECT * FROM submissions'), doc='What the GPU did, with names and times.')
    calls = property(lambda self: self.query('SELECT * FROM call_times'), doc='What the host called, with begins and ends.')

    def __repr__(self):
        return f'Recording({self.path!r})'
