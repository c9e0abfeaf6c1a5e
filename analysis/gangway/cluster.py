"""Sweeps on many machines, through Dask."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import uuid
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gangway import _core, policy
from gangway.errors import InputError, RunError
from gangway.experiment import Experiment
from gangway.progress import Progress
from gangway.result import Result, read

if TYPE_CHECKING:
    from distributed import Client

_CHUNK = 1.0          # seconds that a chunk is to take, and
_TASKS_A_SECOND = 200  # what a scheduler does easily: with more workers chunks are longer
_WAITING = 3          # chunks for each thread that are handed out ahead
_RETRIES = 5          # of a chunk whose worker was lost


def sweep(experiment: Experiment, client: Client | None = None, out: str | os.PathLike[str] = '', force: bool = False,
          progress: bool | None = None) -> Result:
    """Plays an experiment's points on the workers of a `distributed.Client`, in the simulator, and returns the Result of the folder `out`,
    which equals the one of Experiment.run(out=...) byte for byte, except for the manifest.

    client: of any cluster (LocalCluster, SSHCluster, dask_jobqueue's SLURMCluster); None: the current one, or processes of this machine.
    Workers need the same build of this package, data files at the same paths, and the modules that policies in Python use. Chunks take about a
    second; the chunks of a lost worker are played again. After an interruption finished chunks stay in `out`, and the same call continues.
    InputError as for Experiment.run, and if a policy is another version on a worker; RunError if results failed or a chunk was lost
    repeatedly."""
    from distributed import Client, get_client
    if not isinstance(experiment, Experiment):
        raise InputError(f"sweep: key 'experiment': found {type(experiment).__name__}, expected an Experiment", 'sweep', None, 'experiment',
                         type(experiment).__name__, 'an Experiment')
    policy.take_changes()
    core = experiment.read()  # before workers are asked for
    if not os.fspath(out):
        raise InputError("sweep: key 'out': found nothing, expected a folder", 'sweep', None, 'out', 'nothing', 'a folder')
    own = None
    if client is None:
        try:
            client = get_client()
        except ValueError:
            client = own = Client(processes=True, threads_per_worker=1, dashboard_address=None)
    elif not isinstance(client, Client):
        raise InputError(f"sweep: key 'client': found {type(client).__name__}, expected a distributed.Client", 'sweep', None, 'client',
                         type(client).__name__, 'a distributed.Client')
    try:
        return _sweep(core, client, Path(out).absolute(), force, progress)
    finally:
        if own is not None:
            own.close()


def _sweep(core: _core.Experiment, client: Client, out: Path, force: bool, progress: bool | None) -> Result:
    import cloudpickle
    from distributed import as_completed
    text = core.configuration
    # As they are before they have played anything. Dask must not unpickle them in this process, which would cut the
    # classes of a script off from its globals.
    classes = cloudpickle.dumps(policy.played(json.loads(text)))
    # The first point is played here: it tells what the others are held against, and about how long they take.
    part, seconds = _play(text, os.getcwd(), '0')
    joined = _core.Joined(part, os.fspath(out), force)
    if joined.complete:
        return read(out)
    with Progress(progress, core.name) as shown:
        joined.add(part, 'point 0')
        chunks = _Chunks(joined.missing(), seconds)
        total = left = chunks.left()
        here, sent = _process(), uuid.uuid4().hex
        everywhere = client.scatter(text, broadcast=True, hash=True)
        threads = max(1, sum(client.nthreads().values()))
        futures = as_completed()

        def hand_out() -> None:
            while futures.count() < _WAITING * threads and (points := chunks.next(threads)):
                # Each worker plays one chunk at a time on one thread of its own.
                futures.add(client.submit(_play_with, here, sent, classes, everywhere, os.getcwd(), points, pure=False, retries=_RETRIES))

        hand_out()
        try:
            for future in futures:
                try:
                    played = future.result()
                    if isinstance(played, InputError):
                        raise played
                except (InputError, KeyboardInterrupt):
                    raise
                except Exception as error:  # of Dask: the worker was lost too often
                    raise RunError(f'sweep: a chunk could not be played: {type(error).__name__}: {" ".join(str(error).split())}') from error
                part, seconds = played
                joined.add(part, f'the chunk of {future.key}')
                future.release()
                before, left = left, _points(joined.missing())
                chunks.took(before - left, seconds)
                shown.update({'runs': total, 'runs_done': total - left, 'jobs_per_second': None})
                threads = max(1, sum(client.nthreads().values())) if client.nthreads() else threads
                hand_out()
        except BaseException:
            del joined  # the folder's lock, which the error's traceback would keep
            raise
        finally:
            futures.clear()
    failed = joined.finish('gangway.sweep')
    result = read(out)
    if failed:
        failure = RunError(f'{failed} results failed; their errors are in the column `error` of the summary')
        failure.result = result
        raise failure
    return result


def _points(ranges: list[tuple[int, int]]) -> int:
    return sum(last - first + 1 for first, last in ranges)


class _Chunks:
    """Ranges of points, in order, each sized to take about the intended time."""

    def __init__(self, missing: list[tuple[int, int]], seconds: float) -> None:
        self._ranges = list(missing)
        self._seconds, self._points = max(seconds, 1e-4), 1  # of those played so far

    def took(self, points: int, seconds: float) -> None:
        self._points += points
        self._seconds += seconds

    def left(self) -> int:
        """The number of points that are in no chunk yet."""
        return _points(self._ranges)

    def next(self, threads: int) -> str:
        """The next range, in the notation of --points; empty when nothing is left."""
        if not self._ranges:
            return ''
        length = max(_CHUNK, threads / _TASKS_A_SECOND)
        wanted = max(1, int(length * self._points / self._seconds))
        wanted = min(wanted, max(1, self.left() // (2 * threads)))  # so that no thread waits for another one at the end
        first, last = self._ranges[0]
        end = min(last, first + wanted - 1)
        if end == last:
            self._ranges.pop(0)
        else:
            self._ranges[0] = (end + 1, last)
        return f'{first}-{end}' if end > first else str(first)


_playing = threading.Lock()  # a worker of several threads plays one chunk at a time

# On a worker, by name: the class defined last, its version, and the sweep. Each is checked once in a sweep, before it has played: policies may
# change variables of their modules.
_taken: dict[str, tuple[type, str, str]] = {}

_OWN = uuid.uuid4().hex


def _process() -> str:
    return f'{_OWN} {os.getpid()}'


def _play_with(sender: str, sweep: str, classes: bytes, text: str, folder: str, points: str) -> tuple[bytes, float] | InputError:
    """Plays a chunk on a worker, with the policies of the process that sent it. Returns a refusal: if raised, Dask would try again and log it
    each time."""
    with _playing:
        try:
            if sender != _process():
                _take(classes, sweep)
        except InputError as error:
            return error
        return _play(text, folder, points)


def _take(classes: bytes, sweep: str) -> None:
    import cloudpickle
    for name, (cls, ownership, version) in cloudpickle.loads(classes).items():
        if _taken.get(name) != (cls, version, sweep):
            policy.define_again(name, cls, ownership, version)
            _taken[name] = cls, version, sweep


def _play(text: str, folder: str, points: str) -> tuple[bytes, float]:
    """Plays a chunk in this process; returns the part's file and the seconds it took."""
    experiment = _experiment(text, folder, _core.definitions())
    with tempfile.TemporaryDirectory(prefix='gangway-') as scratch:
        return _core.play_part(experiment, points, os.path.join(scratch, 'part'))


@lru_cache(maxsize=4)
def _experiment(text: str, folder: str, definitions: int) -> _core.Experiment:
    return _core.read_text(text, 'experiment', folder, [])
