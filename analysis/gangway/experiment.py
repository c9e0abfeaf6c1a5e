"""Experiments as objects: loaded or built, changed, and run."""

import copy
import json
import os
import tempfile
from pathlib import Path

from gangway import _core
from gangway.errors import InputError, RunError
from gangway.progress import Progress
from gangway.result import Result


class Experiment:
    """An experiment file, one that comes with Gangway, the manifest of a result folder, or a mapping that says the same.

    Experiment('frs/fig4'), Experiment('my.yaml'), Experiment({'kind': 'experiment', ...}, folder='where its paths start').
    Nothing is checked before it is used. experiment['policies.rr.params.quantum'] = '2 ms' changes a value, as `--set` does."""

    def __init__(self, source, folder=None):
        if isinstance(source, dict):
            self._mapping, self._file = copy.deepcopy(source), None
        elif isinstance(source, (str, os.PathLike)):
            self._mapping, self._file = None, os.fspath(source)
        else:
            raise InputError(f"Experiment: found {type(source).__name__}, expected a path, a name or a mapping", 'Experiment', None, 'source',
                             type(source).__name__, 'a path, a name or a mapping')
        self._folder = os.fspath(folder) if folder is not None else os.getcwd()
        self._changes = {}
        self._read = None  # and the policies that were defined then

    def __setitem__(self, path, value):
        if not isinstance(path, str) or not path:
            raise InputError(f"Experiment: found {path!r}, expected a path, such as 'policies.rr.params.quantum'", 'Experiment', None,
                             str(path), repr(path), 'a path')
        try:
            text = json.dumps(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"Experiment: key '{path}': found {type(value).__name__}, expected numbers, texts, lists and mappings",
                             'Experiment', None, path, type(value).__name__, 'numbers, texts, lists and mappings') from error
        self._changes.pop(path, None)  # the latest change is the last
        self._changes[path] = text
        self._read = None

    def __getitem__(self, path):
        """The value as it is after all changes, names of files replaced by what they say."""
        value = self.configuration
        for name in path.split('.'):
            value = _below(value, name, path)
        return value

    def copy(self):
        """Another one, to be changed by itself."""
        other = copy.copy(self)
        other._changes = dict(self._changes)
        return other

    def read(self):
        """Reads and checks it, and returns what the compiled half makes of it. InputError."""
        if self._read is None or self._read[1] != _core.definitions():
            changes = list(self._changes.items())
            if self._file is not None:
                read = _core.read_file(self._file, changes)
            else:
                try:
                    text = json.dumps(self._mapping, indent=1)
                except (TypeError, ValueError) as error:
                    raise InputError(f'Experiment: {error}, expected numbers, texts, lists and mappings', 'Experiment', None, '',
                                     str(error), 'numbers, texts, lists and mappings') from error
                read = _core.read_text(text, 'experiment', self._folder, changes)
            self._read = (read, _core.definitions())
        return self._read[0]

    @property
    def configuration(self):
        """The experiment as a mapping, resolved: what a manifest keeps."""
        return json.loads(self.read().configuration)

    name = property(lambda self: self.read().name)
    title = property(lambda self: self.read().title)
    points = property(lambda self: self.read().points, doc='how many combinations of swept values there are')

    def policies(self, point=0):
        """The labels of the policies at a point."""
        return self.read().policies(_point(self, point))

    def clients(self, point=0):
        """The names of the clients at a point."""
        return self.read().clients(_point(self, point))

    def run(self, out=None, world='sim', jobs=None, force=False, trace=False, progress=None):
        """Plays all points, policies and replications; returns a Result.

        out: the result folder, as `gangway run --out` fills it, byte for byte; with None nothing is left on disk.
        world: of gangway.worlds(). jobs: threads (default: one for each core). force: replace other results in the folder.
        trace: keep timelines. progress: True, False, or None: where somebody looks.
        Ctrl-C keeps in the folder what is finished, as RunError does. InputError, RunError (what was played is its `result`)."""
        experiment = self.read()
        if jobs is not None and not (isinstance(jobs, int) and 1 <= jobs <= 1024):
            raise InputError(f"run: key 'jobs': found {jobs!r}, expected 1 to 1024", 'run', None, 'jobs', repr(jobs), '1 to 1024')
        if out is not None:
            return self._run(experiment, Path(out), world, jobs, force, trace, progress)
        with tempfile.TemporaryDirectory(prefix='gangway-') as folder:
            return self._run(experiment, Path(folder) / 'results', world, jobs, force, trace, progress)._without_folder()

    def _run(self, experiment, out, world, jobs, force, trace, progress):
        with Progress(progress, experiment.name) as shown:
            report, tables = _core.run(experiment, os.fspath(out), world, jobs or 0, force, trace, 'gangway.Experiment.run', shown.update,
                                       shown.say)
        if report['interrupted']:
            raise KeyboardInterrupt
        result = Result(out, experiment, world, None if report['was_complete'] else tables, report)
        if report['failed']:
            error = RunError(f"{report['failed']} of {report['groups']} results failed; the first: {report['failures'][0][2]}")
            error.result = result
            raise error
        return result

    def __repr__(self):
        return f'Experiment({self._file or self._mapping.get("name", "?")!r}{", changed" if self._changes else ""})'


def _below(value, name, path):
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list):
        for item in value:
            if item == name or isinstance(item, dict) and name in (item.get('label'), item.get('name')):
                return item
        if name.isdigit() and int(name) < len(value):
            return value[int(name)]
    raise KeyError(path)


def _point(experiment, point):
    if not isinstance(point, int) or not 0 <= point < experiment.points:
        raise InputError(f'Experiment: point {point!r}, of {experiment.points}', 'Experiment', None, 'point', repr(point),
                         f'0 to {experiment.points - 1}')
    return point
