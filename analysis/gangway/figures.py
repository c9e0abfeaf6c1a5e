"""Figures of results: one function for each kind takes a result and returns a matplotlib figure.

A result is a gangway.Result or a result folder. All take `page` (from 0, of figures of several pages), `width` in inches, `title=False` to
leave the title out, and `metrics`, columns of summary.csv to show in the place of ANTT, DNTT and STP. kinds(result) says which apply;
analysis/README.md says what each shows."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from gangway.result import Result

    AnyResult = str | os.PathLike[str] | Result

_USUAL_WIDTH = 7.2


def kinds(result: AnyResult) -> list[str]:
    """The names of the kinds that apply, the most informative first."""
    with _folder(result) as folder:
        return [name for name, _ in _commands('figures').kinds(folder)]


def draw(result: AnyResult, kind: str, page: int = 0, width: float = _USUAL_WIDTH, title: bool = True, metrics: Sequence[str] = ()) -> Figure:
    """The figure of that kind. InputError if the kind does not apply or has no such page.

    'heat-map', 'response-distribution' and 'latency-distribution' are drawn wherever possible: for any two swept quantities, for any client
    with three jobs."""
    with _folder(result) as folder, _looks(width, title):
        return _drawn(_commands('figures').kinds(folder, tuple(metrics), (kind,)), kind, page)


def clients(result: AnyResult, **looks: Any) -> Figure:
    """NTT of each client under each policy."""
    return draw(result, 'clients', **looks)


def metrics(result: AnyResult, **looks: Any) -> Figure:
    """ANTT, DNTT and STP of each policy, beside published values."""
    return draw(result, 'metrics', **looks)


def sweep(result: AnyResult, **looks: Any) -> Figure:
    """Metrics against a swept parameter."""
    return draw(result, 'sweep', **looks)


def heat_map(result: AnyResult, **looks: Any) -> Figure:
    """Metrics against two swept quantities, as colours."""
    return draw(result, 'heat-map', **looks)


def speedups(result: AnyResult, **looks: Any) -> Figure:
    """Speedup of each client on several GPUs."""
    return draw(result, 'speedups', **looks)


def clients_sweep(result: AnyResult, **looks: Any) -> Figure:
    """NTT of each client against a swept quantity."""
    return draw(result, 'clients-sweep', **looks)


def gantt(result: AnyResult, **looks: Any) -> Figure:
    """Waiting, running and evictions in the first run of each policy. Needs timelines."""
    return draw(result, 'gantt', **looks)


def blocks(result: AnyResult, **looks: Any) -> Figure:
    """Blocks on the device over time. Needs timelines of native clients."""
    return draw(result, 'blocks', **looks)


def queues(result: AnyResult, **looks: Any) -> Figure:
    """Lengths of the device's queues over time. Needs timelines of native clients."""
    return draw(result, 'queues', **looks)


def requests(result: AnyResult, **looks: Any) -> Figure:
    """Distributions of requests' lengths and of the intervals between them. Needs timelines."""
    return draw(result, 'requests', **looks)


def responses(result: AnyResult, **looks: Any) -> Figure:
    """Response time of each job of the first run."""
    return draw(result, 'responses', **looks)


def response_distribution(result: AnyResult, **looks: Any) -> Figure:
    """Cumulative distribution of each client's response times."""
    return draw(result, 'response-distribution', **looks)


def latency(result: AnyResult, **looks: Any) -> Figure:
    """Median and 99th percentile of services' latencies against load."""
    return draw(result, 'latency', **looks)


def attainment(result: AnyResult, **looks: Any) -> Figure:
    """Share of services' jobs that met their objective, against load."""
    return draw(result, 'attainment', **looks)


def latency_distribution(result: AnyResult, **looks: Any) -> Figure:
    """Share of each service's jobs that took longer than a time, on logarithmic axes."""
    return draw(result, 'latency-distribution', **looks)


def throughput_tail(result: AnyResult, **looks: Any) -> Figure:
    """99th percentile of services' latencies against the throughput of the other clients."""
    return draw(result, 'throughput-tail', **looks)


def overheads(result: AnyResult, **looks: Any) -> Figure:
    """Overhead of each client over its standalone time, for policies that move memory."""
    return draw(result, 'overheads', **looks)


def slices(result: AnyResult, **looks: Any) -> Figure:
    """Clients' shares of the time slices of such a policy."""
    return draw(result, 'slices', **looks)


def priorities(result: AnyResult, **looks: Any) -> Figure:
    """Evictions by the priority of the job that was evicted."""
    return draw(result, 'priorities', **looks)


def bounded(result: AnyResult, **looks: Any) -> Figure:
    """Share of a study's task sets that each theorem bounds, against utilisation."""
    return draw(result, 'bounded', **looks)


def in_time(result: AnyResult, **looks: Any) -> Figure:
    """Share of task sets that each theorem proves to meet all deadlines, against utilisation."""
    return draw(result, 'in-time', **looks)


def study_map(result: AnyResult, **looks: Any) -> Figure:
    """Task sets of a study that are proven bounded, grow in simulation, or neither."""
    return draw(result, 'map', **looks)


def tightness(result: AnyResult, **looks: Any) -> Figure:
    """Largest observed responses as shares of their bounds."""
    return draw(result, 'tightness', **looks)


def comparison_kinds(prediction: AnyResult, measurement: AnyResult) -> list[str]:
    """The names of the figures that apply to two results of one experiment."""
    with _folder(prediction) as predicted, _folder(measurement) as measured, _looks(_USUAL_WIDTH, True):
        return [name for name, _ in _commands('compare').kinds(predicted, measured)]


def comparison(prediction: AnyResult, measurement: AnyResult, kind: str = 'compare-metrics', page: int = 0, width: float = _USUAL_WIDTH,
               title: bool = True) -> Figure:
    """The figure of that name, predicted beside measured."""
    with _folder(prediction) as predicted, _folder(measurement) as measured, _looks(width, title):
        return _drawn(_commands('compare').kinds(predicted, measured), kind, page)


def _commands(name: str) -> Any:
    from importlib import import_module
    return import_module(f'gangway.drawing.commands.{name}')


@contextlib.contextmanager
def _looks(width: float, title: bool) -> Iterator[None]:
    """Draws with Gangway's settings and restores the caller's matplotlib settings."""
    if not isinstance(width, (int, float)) or not 2 <= width <= 40:
        _refuse('width', width, '2 to 40 inches')
    import matplotlib

    from gangway.drawing import style
    with matplotlib.rc_context():
        style.prepare(width, bool(title))
        yield


def _drawn(known: Iterator[tuple[str, Any]], kind: str, page: int) -> Any:
    """The first that applies; later ones are not looked for, because that may require reading all jobs."""
    others = []
    for name, pages in known:
        if name == kind:
            return _page(pages(), page)
        others.append(name)
    _refuse('kind', kind, f"one of {', '.join(others)}")


def _page(drawn: Iterable[Any], page: int) -> Any:
    from matplotlib import pyplot
    pages = list(drawn)
    for figure in pages:  # they are the caller's now: nothing is to show them by itself
        pyplot.close(figure)
    if not isinstance(page, int) or not 0 <= page < len(pages):
        _refuse('page', page, f'0 to {len(pages) - 1}')
    return pages[page]


@contextlib.contextmanager
def _folder(result: Any) -> Iterator[Path]:
    """The folder of a result; a result without one is written to a temporary folder."""
    from gangway.drawing.results import InputError as WrongFolder
    from gangway.errors import InputError
    try:
        if isinstance(result, (str, os.PathLike)):
            yield Path(result)
        elif result.path is not None:
            yield result._folder()
        else:
            with tempfile.TemporaryDirectory(prefix='gangway-') as folder:
                result.save_tables(folder)
                yield Path(folder)
    except WrongFolder as error:
        raise InputError(str(error)) from None


def _refuse(key: str, found: object, expected: str) -> NoReturn:
    from gangway.errors import InputError
    raise InputError(f'figures: key {key!r}: found {found!r}, expected {expected}', 'figures', None, key, repr(found), expected)
