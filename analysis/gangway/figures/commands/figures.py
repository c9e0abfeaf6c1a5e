"""Draws every figure that applies to the given result folders, as PNG and PDF.

A folder with a swept parameter gets the sweep figure, and speedups if that is the number of GPUs; one without gets the
clients and metrics figures, and one with traces a Gantt chart; where these tell of blocks, also blocks and queues over
time. Where policies move memory there is what launches cost, or how clients share the time slices. Clients with several
jobs get their response times, and services what they are judged by. A study's folder gets the shares of its task sets, a map, and how near responses come to
bounds. A trace file by itself gets what comes from traces.
"""
from pathlib import Path

from gangway.figures import command

command.need_matplotlib()

from gangway.figures import bars
from gangway.figures import blocks
from gangway.figures import client_sweep
from gangway.figures import device_run
from gangway.figures import family
from gangway.figures import gantt
from gangway.figures import heat_map
from gangway.figures import microkernels
from gangway.figures import priorities
from gangway.figures import queues
from gangway.figures import request_times
from gangway.figures import responses
from gangway.figures import results
from gangway.figures import schedulability
from gangway.figures import services
from gangway.figures import speedups
from gangway.figures import studies
from gangway.figures import study_map
from gangway.figures import style
from gangway.figures import sweep
from gangway.figures import tightness
from gangway.figures import timeline


def draw(source, out):
    """Draws the figures of a result folder or trace file into the folder `out`; yields the paths of the files."""
    style.prepare()
    for name, figure in _figures_of(source):
        yield from style.save(figure, out, name)


def _figures_of(source):
    if timeline.is_file(source):
        return _of_trace(source)
    return _of_study(studies.read(source)) if studies.is_study(source) else _of_folder(results.read(source))


def _of_trace(file):
    trace = gantt.read(file)
    yield timeline.stem(file), gantt.draw([trace], trace.experiment)
    runs = device_run.read_first_runs([file])
    yield from _of_device(runs, trace.experiment, [''] * len(runs), f'{timeline.stem(file)}-')
    yield from _of_requests([file], trace.experiment, lambda point, policy: '', f'{timeline.stem(file)}-')


def _of_requests(files, title, label, prefix=''):
    """label: what tells the run of a point and policy from the others."""
    if request_times.applies(files):
        policy, found = request_times.read_first_runs(files)
        labels = {each.point: label(each.point, policy) for each in found}
        yield from _pages(f'{prefix}requests', request_times.draw(found, f'{title} ({policy})', labels))


def _of_device(runs, title, labels, prefix=''):
    if runs:
        yield from _pages(f'{prefix}blocks', blocks.draw(runs, title, labels))
    if any(run.queues for run in runs):
        yield from _pages(f'{prefix}queues', queues.draw(runs, title, labels))


def _pages(name, figures):
    for number, figure in enumerate(figures, 1):
        yield (name if number == 1 else f'{name}-{number}'), figure


def _of_folder(found):
    if found.swept:
        if speedups.applies(found):
            yield 'speedups', speedups.draw(found)
        if heat_map.applies(found):
            yield from _pages('heat-map', heat_map.draw(found))
        elif family.applies(found):
            yield 'sweep', family.draw(found)
        elif not (speedups.applies(found) and found.alone()):  # the same numbers
            yield from _pages('sweep', sweep.draw(found))
        if client_sweep.applies(found):
            yield from _pages('clients-sweep', client_sweep.draw(found))
    else:
        yield 'clients', bars.draw_clients(found)
        yield 'metrics', bars.draw_metrics(found)
    files = timeline.of_folder(found.path)
    traces = gantt.read_first_of_each_policy(files)
    if traces:
        yield 'gantt', gantt.draw(traces, found.title)
    runs = device_run.read_first_runs(files)
    yield from _of_device(runs, found.title, [found.label(run.run[0], run.policy) for run in runs])
    yield from _of_requests(files, found.title, found.setting)
    times = results.read_responses(found.path)
    if responses.applies(times):
        labels = {run: found.label(*run) for run in times}
        yield from _pages('responses', responses.draw(times, found.title, labels))
        if responses.is_distributed(times):
            yield from _pages('response-distribution', responses.draw_distribution(times, found.title, labels))
    if found.services:
        yield from _of_services(found, times)
    if microkernels.applies(found):
        yield from microkernels.draw(found, results.read_launches(found.path))
    evictions = results.read_evictions(found.path)
    if priorities.applies(evictions):
        yield from _pages('priorities',
                          priorities.draw(evictions, found.title, {run: found.label(*run) for run in evictions}))


def _of_services(found, times):
    if services.against_load(found):
        yield from _pages('latency', services.draw_latency(found))
        yield from _pages('attainment', services.draw_attainment(found))
    if responses.is_distributed(times):
        yield from _pages('latency-distribution', services.draw_distributions(found, times))
    yield 'throughput-tail', services.draw_throughput_and_tail(found)


def _of_study(study):
    if schedulability.applies(study):
        yield 'bounded', schedulability.draw(study, 'bounded')
        yield 'in-time', schedulability.draw(study, 'in_time')
    if study_map.applies(study):
        yield 'map', study_map.draw(study)
    if tightness.applies(study):
        yield 'tightness', tightness.draw(study)


def _places(sources, out):
    """Where each source's figures go: beside what they show, into `out`, or for several into folders of their names
    there."""
    if not out:
        return [source.parent if timeline.is_file(source) else source for source in sources]
    if len(sources) == 1:
        return [out]
    places = [out / timeline.stem(source.resolve()) for source in sources]
    for place in places:
        if places.count(place) > 1:
            raise results.InputError(place, 'two sources of that name', 'different names with --out')
    return places


def _main(arguments):
    sources = [Path(source) for source in arguments.folders]
    for source, place in zip(sources, _places(sources, arguments.out)):
        for path in draw(source, place):
            print(path)


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser(__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, help='where the figures go (default: into each result folder)')
    return command.run(_main, parser.parse_args(arguments))
