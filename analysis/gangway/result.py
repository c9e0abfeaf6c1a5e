"""Results of experiments as pandas tables."""

from __future__ import annotations

import gzip
import json
import os
import tempfile
import warnings
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gangway import _core, policy
from gangway.changed_tables import is_changed, note_on
from gangway.document import document_of
from gangway.errors import InputError
from gangway.tables import from_columns, from_file, swept_paths, to_file

if TYPE_CHECKING:
    from pandas import DataFrame

TABLES = ('summary', 'clients', 'services', 'replications', 'service_replications', 'jobs', 'published')

_MOST = 1 << 30  # bytes of a timeline


def read(folder: str | os.PathLike[str]) -> Result:
    """The result that `gangway run` or Experiment.run left in a folder. InputError if there is none; a UserWarning tells of a table that is not
    as it was written, when it is read."""
    folder = Path(folder)
    manifest = folder / 'manifest.json'
    if not manifest.is_file():
        raise InputError(f"{folder}: key 'manifest.json': found nothing, expected a result folder", str(folder), None, 'manifest.json', 'nothing',
                         'a result folder')
    try:
        told = json.loads(manifest.read_text(encoding='utf-8'))
    except ValueError as error:
        raise InputError(f'{manifest}: found {error}, expected a manifest', str(manifest), None, '', str(error), 'a manifest') from error
    for key, expected, why in (('kind', 'result', '' if not isinstance(told, dict) or told.get('kind') != 'part' else ': gangway merge joins parts'),
                               ('version', 1, ': of this version of Gangway')):
        found = told.get(key) if isinstance(told, dict) else told
        if found != expected:
            raise InputError(f"{manifest}: key '{key}': found {found!r}, expected {expected!r}{why}", str(manifest), None, key, repr(found),
                             f'{expected!r}{why}')
    return Result(folder, None, told['world'], None, {}, told)


def _run_of(manifest: Any) -> Any:
    """What tells a run from all others, also from those of the same experiment; files can be added later."""
    return {key: value for key, value in manifest.items() if key != 'files'} if isinstance(manifest, dict) else None


class Result:
    """The result of a run. summary, clients, services, replications, service_replications, jobs, published: pandas tables with the columns of
    the result folder's files (experiments/README.md); None if the run has none. Times are in ns.

    path: the folder, or None if nothing is on disk; report: facts about the run (seconds, events, jobs, threads, failures, notes);
    manifest: the content of manifest.json. Tables are read when they are asked for: InputError once the folder holds another run."""

    def __init__(self, path: Path | None, experiment: _core.Experiment | None, world: str, tables: dict[str, Any] | None,
                 report: dict[str, Any], manifest: dict[str, Any]) -> None:
        self.path = None if path is None else path.absolute()
        self.world, self.report, self.manifest = world, report, manifest
        self._experiment, self._tables = experiment, tables

    def _folder(self) -> Path:
        """The folder. InputError if it holds another run by now."""
        assert self.path is not None
        file = self.path / 'manifest.json'
        try:
            held = json.loads(file.read_text(encoding='utf-8'))
        except (OSError, ValueError):
            held = None
        if _run_of(held) != _run_of(self.manifest):
            found = 'another run' if held is not None else 'no finished run'
            expected = f"the one of {self.manifest.get('start')}, which this Result is of; gangway.read(folder) reads what is there"
            raise InputError(f"{file}: key 'start': found {found}, expected {expected}", str(file), None, 'start', found, expected)
        return self.path

    @property
    def name(self) -> str:
        return str(self.manifest['experiment'])

    def _table(self, name: str) -> DataFrame | None:
        swept = swept_paths(self.manifest['configuration'])
        if self._tables is not None and self._experiment is not None and (name != 'jobs' or self.path is None):
            return from_columns(name, self._tables[name], self._experiment, swept)
        file = self._folder() / f'{name}.csv'
        if is_changed(file):
            warnings.warn(note_on(file), stacklevel=4)  # where the property is used
        table = from_file(name, file, swept) if file.is_file() else None
        self._folder()  # another run may have begun meanwhile
        return table

    def _played_again(self) -> _core.Experiment:
        """The experiment, with policies in Python as they are now. InputError if they are not those of the run."""
        policy.take_changes()
        configuration = self.manifest['configuration']
        experiment = _core.read_text(document_of(configuration), 'experiment', os.getcwd(), [])
        own = ', '.join(sorted(policy.played(configuration)))
        if own and experiment.identity != self.manifest.get('identity'):
            found, expected = f'another version of {own} than the one that was run', 'the same one, or a new run'
            raise InputError(f"timeline: key 'policies': found {found}, expected {expected}", 'timeline', None, 'policies', found, expected)
        return experiment

    @cached_property
    def summary(self) -> DataFrame:
        table = self._table('summary')
        assert table is not None
        return table

    @cached_property
    def clients(self) -> DataFrame | None:
        return self._table('clients')

    @cached_property
    def services(self) -> DataFrame | None:
        return self._table('services')

    @cached_property
    def replications(self) -> DataFrame | None:
        """The values of each replication, or None for a single replication."""
        return self._table('replications')

    @cached_property
    def service_replications(self) -> DataFrame | None:
        return self._table('service_replications')

    @cached_property
    def jobs(self) -> DataFrame | None:
        return self._table('jobs')

    @cached_property
    def published(self) -> DataFrame | None:
        return self._table('published')

    def save_tables(self, folder: str | os.PathLike[str]) -> None:
        """Writes the tables and the manifest into a folder, as figures and reports read them. `run(out=...)` leaves the same as files."""
        for name in TABLES:
            table = getattr(self, name)
            if table is not None:
                to_file(table, Path(folder) / f'{name}.csv')
        (Path(folder) / 'manifest.json').write_text(document_of(self.manifest), encoding='utf-8')

    def timeline(self, point: int = 0, policy: str | None = None, replication: int = 0, permutation: int = 0) -> DataFrame:
        """The timeline of one run, which is played again: a row for each span and instant, with `track`, `name`, `begin_ns`, `length_ns` (NaN: an
        instant) and `details`, as in Perfetto. InputError for measured runs, which cannot be played again."""
        import pandas
        events = self._trace_events(point, policy, replication, permutation)
        tracks = {(e['pid'], e.get('tid')): e['args']['name'] for e in events if e['ph'] == 'M' and e['name'] == 'thread_name'}
        groups = {e['pid']: e['args']['name'] for e in events if e['ph'] == 'M' and e['name'] == 'process_name'}
        rows = [(groups.get(e['pid'], ''), tracks.get((e['pid'], e.get('tid')), ''), e['name'], round(1000 * e['ts']),
                 round(1000 * e['dur']) if 'dur' in e else float('nan'), e.get('args', {}))
                for e in events if e['ph'] in 'XiC']
        return pandas.DataFrame(rows, columns=['group', 'track', 'name', 'begin_ns', 'length_ns', 'details']).sort_values(
            'begin_ns', kind='stable', ignore_index=True)

    def write_timeline(self, file: str | os.PathLike[str], point: int = 0, policy: str | None = None, replication: int = 0,
                       permutation: int = 0, most: int = _MOST) -> None:
        """Writes the timeline of one run for ui.perfetto.dev, gzipped if the name ends in .gz. most: bytes that it may have; a UserWarning tells
        when it ends before the run because of that, InputError that there is no room for a beginning."""
        full_at = self._write_timeline(file, point, policy, replication, permutation, most)
        if full_at is not None:
            warnings.warn(f'{os.fspath(file)}: ends at {full_at} ns, because the limit of {most} bytes is reached', stacklevel=2)

    def _write_timeline(self, file: str | os.PathLike[str], point: int, policy: str | None, replication: int, permutation: int,
                        most: int) -> int | None:
        """Returns the time in ns after which the limit leaves nothing, if there is one."""
        experiment = self._played_again()
        labels = experiment.policies(point)
        if policy is None:
            policy = labels[0]
        if policy not in labels:
            raise InputError(f"timeline: key 'policy': found {policy!r}, expected one of {', '.join(labels)}", 'timeline', None, 'policy',
                             repr(policy), f"one of {', '.join(labels)}")
        if self.world not in ('sim',):
            raise InputError(f"timeline: key 'world': found {self.world!r}, expected sim: other runs cannot be played again", 'timeline', None,
                             'world', repr(self.world), 'sim')
        written, full_at = _core.trace(experiment, self.world, point, labels.index(policy), replication, permutation, os.fspath(file), most)
        if not written:
            expected = 'at least room for the names of all clients'
            raise InputError(f"timeline: key 'most': found {most}, expected {expected}", 'timeline', None, 'most', str(most), expected)
        return full_at

    def _trace_events(self, point: int, policy: str | None, replication: int, permutation: int) -> list[dict[str, Any]]:
        with tempfile.TemporaryDirectory(prefix='gangway-') as folder:
            file = Path(folder) / 'trace.json.gz'
            full_at = self._write_timeline(file, point, policy, replication, permutation, _MOST)
            if full_at is not None:
                warnings.warn(f'timeline: ends at {full_at} ns, because its file would have more than {_MOST} bytes', stacklevel=3)
            with gzip.open(file, 'rt', encoding='utf-8') as trace:
                told = json.load(trace)
        return list(told['traceEvents'] if isinstance(told, dict) else told)

    def __repr__(self) -> str:
        try:
            size = f'{len(self.summary)} rows of the summary'
        except InputError:
            size = 'replaced by another run'
        return f'Result({self.name!r}, {size}{f", {self.path}" if self.path else ""})'
