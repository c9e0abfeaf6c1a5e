"""Figures of results: one function for each kind, which takes a result and returns a matplotlib figure.

A result is a gangway.Result or a result folder. All take `page` (from 0, of figures of several pages), `width` in inches, `title=False` to
leave the title out, and `metrics`, columns of summary.csv to show in the place of ANTT, DNTT and STP. kinds(result) says which apply;
analysis/README.md says what each shows."""

import contextlib
import os
import tempfile
from pathlib import Path

_USUAL_WIDTH = 7.2


def kinds(result):
    """The names of the kinds that apply, in the order in which they tell most."""
    with _folder(result) as folder:
        return [name for name, _ in _commands('figures').kinds(folder)]


def draw(result, kind, page=0, width=_USUAL_WIDTH, title=True, metrics=()):
    """One of these, by its name. InputError where it does not apply, or has no such page."""
    with _folder(result) as folder, _looks(width, title):
        known = dict(_commands('figures').kinds(folder, tuple(metrics)))
        if kind not in known:
            _refuse('kind', kind, f"one of {', '.join(known)}")
        return _page(known[kind](), page)


def clients(result, **looks):
    """NTT of each client under each policy."""
    return draw(result, 'clients', **looks)


def metrics(result, **looks):
    """ANTT, DNTT and STP of each policy, beside what was published."""
    return draw(result, 'metrics', **looks)


def sweep(result, **looks):
    """Metrics against a swept parameter."""
    return draw(result, 'sweep', **looks)


def heat_map(result, **looks):
    """Metrics against two swept quantities, as colours."""
    return draw(result, 'heat-map', **looks)


def speedups(result, **looks):
    """By how much clients are faster on several GPUs."""
    return draw(result, 'speedups', **looks)


def clients_sweep(result, **looks):
    """NTT of each client against a swept quantity."""
    return draw(result, 'clients-sweep', **looks)


def gantt(result, **looks):
    """Who waited, ran and was evicted in the first run of each policy; of results with timelines."""
    return draw(result, 'gantt', **looks)


def blocks(result, **looks):
    """Blocks as they lay on the device; of results with timelines of native clients."""
    return draw(result, 'blocks', **looks)


def queues(result, **looks):
    """Lengths of the device's queues over time; likewise."""
    return draw(result, 'queues', **looks)


def requests(result, **looks):
    """How long requests took, and how soon they followed each other; of results with timelines."""
    return draw(result, 'requests', **looks)


def responses(result, **looks):
    """Response time of each job of the first run."""
    return draw(result, 'responses', **looks)


def response_distribution(result, **looks):
    """Which share of each client's jobs took at most so long."""
    return draw(result, 'response-distribution', **looks)


def latency(result, **looks):
    """Median and 99th percentile of services' latencies against load."""
    return draw(result, 'latency', **looks)


def attainment(result, **looks):
    """Which share of services' jobs met their objective, against load."""
    return draw(result, 'attainment', **looks)


def latency_distribution(result, **looks):
    """Which share of each service's jobs took longer, on logarithmic axes."""
    return draw(result, 'latency-distribution', **looks)


def throughput_tail(result, **looks):
    """The 99th percentile of services against how much all others do."""
    return draw(result, 'throughput-tail', **looks)


def overheads(result, **looks):
    """By how much clients exceed their standalone times, where a policy moves memory."""
    return draw(result, 'overheads', **looks)


def slices(result, **looks):
    """How clients share the time slices of such a policy."""
    return draw(result, 'slices', **looks)


def priorities(result, **looks):
    """Evictions by the priority of the job that was evicted."""
    return draw(result, 'priorities', **looks)


def bounded(result, **looks):
    """Which share of a study's task sets each theorem bounds, against utilisation."""
    return draw(result, 'bounded', **looks)


def in_time(result, **looks):
    """Which share each proves to meet their deadlines."""
    return draw(result, 'in-time', **looks)


def study_map(result, **looks):
    """Sets of a study that are proven bounded, seen growing, or neither."""
    return draw(result, 'map', **looks)


def tightness(result, **looks):
    """How near responses come to their bounds."""
    return draw(result, 'tightness', **looks)


def comparison_kinds(prediction, measurement):
    """The names of the figures that apply to two results of one experiment."""
    with _folder(prediction) as predicted, _folder(measurement) as measured, _looks(_USUAL_WIDTH, True):
        return [name for name, _ in _commands('compare').kinds(predicted, measured)]


def comparison(prediction, measurement, kind='compare-metrics', page=0, width=_USUAL_WIDTH, title=True):
    """One of these: predicted beside measured."""
    with _folder(prediction) as predicted, _folder(measurement) as measured, _looks(width, title):
        known = dict(_commands('compare').kinds(predicted, measured))
        if kind not in known:
            _refuse('kind', kind, f"one of {', '.join(known)}")
        return _page(known[kind](), page)


def _commands(name):
    from importlib import import_module
    return import_module(f'gangway.drawing.commands.{name}')


@contextlib.contextmanager
def _looks(width, title):
    """matplotlib's settings are the caller's own again afterwards."""
    if not isinstance(width, (int, float)) or not 2 <= width <= 40:
        _refuse('width', width, '2 to 40 inches')
    import matplotlib
    from gangway.drawing import style
    with matplotlib.rc_context():
        style.prepare(width, bool(title))
        yield


def _page(pages, page):
    from matplotlib import pyplot
    for figure in pages:  # they are the caller's now: nothing is to show them by itself
        pyplot.close(figure)
    if not isinstance(page, int) or not 0 <= page < len(pages):
        _refuse('page', page, f'0 to {len(pages) - 1}')
    return pages[page]


@contextlib.contextmanager
def _folder(result):
    """The folder of a result; what has none is written to one for as long as it is looked at."""
    from gangway.errors import InputError
    from gangway.drawing.results import InputError as WrongFolder
    try:
        if isinstance(result, (str, os.PathLike)):
            yield Path(result)
        elif result.path is not None:
            yield result.path
        else:
            with tempfile.TemporaryDirectory(prefix='gangway-') as folder:
                result.save_tables(folder)
                yield Path(folder)
    except WrongFolder as error:
        raise InputError(str(error)) from None


def _refuse(key, found, expected):
    from gangway.errors import InputError
    raise InputError(f'figures: key {key!r}: found {found!r}, expected {expected}', 'figures', None, key, repr(found), expected)
