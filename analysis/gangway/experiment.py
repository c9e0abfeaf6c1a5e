"""Experiments as objects: loaded or built, changed, and run."""

from __future__ import annotations

import copy
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from gangway import _core, policy
from gangway.document import document_of
from gangway.errors import InputError, RunError
from gangway.progress import Progress
from gangway.result import Result


class Experiment:
    """An experiment: a file, the name of one that comes with Gangway, a result folder's manifest, or a mapping with the same content.

    Experiment('frs/fig4'), Experiment('my.yaml'), Experiment({'kind': 'experiment', ...}, folder='where its paths start').
    Its files are read and checked whenever it is used. experiment['policies.rr.params.quantum'] = '2 ms' changes a value, as `--set` does."""

    def __init__(self, source: dict[str, Any] | str | os.PathLike[str], folder: str | os.PathLike[str] | None = None) -> None:
        self._mapping: dict[str, Any] | None = None
        self._file: str | None = None
        if isinstance(source, dict):
            self._mapping = copy.deepcopy(source)
        elif isinstance(source, (str, os.PathLike)):
            self._file = os.fspath(source)
        else:
            raise InputError(f"Experiment: found {type(source).__name__}, expected a path, a name or a mapping", 'Experiment', None, 'source',
                             type(source).__name__, 'a path, a name or a mapping')
        self._made_in = os.getcwd()
        self._folder = os.path.join(self._made_in, os.fspath(folder)) if folder is not None else self._made_in
        self._changes: dict[str, str] = {}

    def __setitem__(self, path: str, value: Any) -> None:
        if not isinstance(path, str) or not path:
            raise InputError(f"Experiment: found {path!r}, expected a path, such as 'policies.rr.params.quantum'", 'Experiment', None,
                             str(path), repr(path), 'a path')
        try:
            text = document_of(value, indent=None)
        except (TypeError, ValueError) as error:
            raise InputError(f"Experiment: key '{path}': found {type(value).__name__}, expected numbers, texts, lists and mappings",
                             'Experiment', None, path, type(value).__name__, 'numbers, texts, lists and mappings') from error
        # As elsewhere in Python, what is assigned replaces what was there and in it, and is the last change.
        self._changes = {other: kept for other, kept in self._changes.items() if other != path and not other.startswith(path + '.')}
        self._changes[path] = text

    def __getitem__(self, path: str) -> Any:
        """The value after all changes; names of files are replaced by the files' contents."""
        value, rest = self.configuration, path
        while not (isinstance(value, dict) and rest in value):  # a key may itself contain dots: the paths below `sweep` do
            name = _first_name(value, rest)
            value = _below(value, name, path)
            if name == rest:
                return value
            rest = rest[len(name) + 1:]
        return value[rest]

    def copy(self) -> Experiment:
        """A copy that can be changed independently."""
        other = copy.copy(self)
        other._changes = dict(self._changes)
        return other

    def read(self) -> _core.Experiment:
        """Reads and checks the experiment; returns the compiled module's object. InputError."""
        changes = list(self._changes.items())
        if self._file is not None:
            return _core.read_file(self._path(self._file), changes)
        try:
            text = document_of(self._mapping)
        except (TypeError, ValueError) as error:
            raise InputError(f'Experiment: {error}, expected numbers, texts, lists and mappings', 'Experiment', None, '',
                             str(error), 'numbers, texts, lists and mappings') from error
        return _core.read_text(text, 'experiment', self._folder, changes)

    def _path(self, file: str) -> str:
        """The file, also after the working directory has changed: a name only where it cannot be taken for another file there."""
        there = os.path.join(self._made_in, file)
        return there if os.getcwd() != self._made_in and (os.path.exists(there) or os.path.exists(file)) else file

    @property
    def configuration(self) -> dict[str, Any]:
        """The resolved experiment as a mapping, as manifests contain it."""
        return dict(json.loads(self.read().configuration))

    @property
    def name(self) -> str:
        return self.read().name

    @property
    def title(self) -> str:
        return self.read().title

    @property
    def points(self) -> int:
        """The number of combinations of swept values."""
        return self.read().points

    def policies(self, point: int = 0) -> list[str]:
        """The labels of the policies at a point."""
        experiment = self.read()
        return experiment.policies(_point(experiment, point))

    def clients(self, point: int = 0) -> list[str]:
        """The names of the clients at a point."""
        experiment = self.read()
        return experiment.clients(_point(experiment, point))

    def run(self, out: str | os.PathLike[str] | None = None, world: str = 'sim', jobs: int | None = None, force: bool = False,
            trace: bool = False, progress: bool | None = None) -> Result:
        """Plays all points, policies and replications; returns a Result.

        out: the result folder, as `gangway run --out` fills it, byte for byte; None leaves nothing on disk.
        world: of gangway.worlds(). jobs: threads (default: one for each core). force: replace other results in the folder.
        trace: keep timelines, in the result folder. progress: True, False, or None (on terminals and in notebooks).
        After Ctrl-C or a RunError, finished results stay in the folder, and the same call, without force, continues.
        InputError; RunError (its `result` has what was finished)."""
        policy.take_changes()
        experiment = self.read()
        if jobs is not None and not (isinstance(jobs, int) and 1 <= jobs <= 1024):
            raise InputError(f"run: key 'jobs': found {jobs!r}, expected 1 to 1024", 'run', None, 'jobs', repr(jobs), '1 to 1024')
        if not isinstance(world, str):
            raise InputError(f"run: key 'world': found {world!r}, expected a name", 'run', None, 'world', repr(world), 'a name')
        if out is not None and not os.fspath(out):
            raise InputError("run: key 'out': found nothing, expected a folder, or None", 'run', None, 'out', 'nothing', 'a folder, or None')
        if trace and out is None:
            raise InputError("run: key 'trace': found True without a folder, expected out=FOLDER, where timelines are kept", 'run', None, 'trace',
                             'True without a folder', 'out=FOLDER, where timelines are kept')
        if out is not None:
            return self._run(experiment, Path(out).absolute(), False, world, jobs, force, trace, progress)
        with tempfile.TemporaryDirectory(prefix='gangway-') as folder:
            return self._run(experiment, Path(folder) / 'results', True, world, jobs, force, trace, progress)

    def _run(self, experiment: _core.Experiment, out: Path, in_memory: bool, world: str, jobs: int | None, force: bool, trace: bool,
             progress: bool | None) -> Result:
        with Progress(progress, experiment.name) as shown:
            report, tables = _core.run(experiment, os.fspath(out), world, jobs or 0, force, trace, in_memory,
                                       'gangway.Experiment.run', shown.update, shown.say)
        if report['interrupted']:
            raise KeyboardInterrupt
        manifest = json.loads((out / 'manifest.json').read_text(encoding='utf-8'))
        result = Result(None if in_memory else out, experiment, world, None if report['was_complete'] else tables, report, manifest)
        if report['failed']:
            error = RunError(f"{report['failed']} of {report['groups']} results failed; the first: {report['failures'][0][2]}")
            error.result = result
            raise error
        return result

    def __repr__(self) -> str:
        return f'Experiment({self._file or (self._mapping or {}).get("name", "?")!r}{", changed" if self._changes else ""})'


def _item_name(item: Any) -> str:
    found = item.get('label', item.get('name')) if isinstance(item, dict) else item
    return found if isinstance(found, str) else ''


def _first_name(value: Any, path: str) -> str:
    """The name at the front of a path: an item's may contain dots, and the longest that fits is meant."""
    items = map(_item_name, value) if isinstance(value, list) else ()
    return max([path.partition('.')[0], *(name for name in items if name and f'{path}.'.startswith(f'{name}.'))], key=len)


def _below(value: Any, name: str, path: str) -> Any:
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list):
        for item in value:
            if _item_name(item) == name:
                return item
        if name.isascii() and name.isdigit() and int(name) < len(value):
            return value[int(name)]
    raise KeyError(path)


def _point(experiment: _core.Experiment, point: int) -> int:
    if not isinstance(point, int) or not 0 <= point < experiment.points:
        raise InputError(f'Experiment: point {point!r}, of {experiment.points}', 'Experiment', None, 'point', repr(point),
                         f'0 to {experiment.points - 1}')
    return point
