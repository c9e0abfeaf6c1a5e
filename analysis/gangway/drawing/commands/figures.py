"""Draws every figure that applies to the given result folders, as PNG and PDF.

A folder with a swept parameter gets the sweep figure, and speedups if that is the number of GPUs; one without gets the
clients and metrics figures, and one with traces a Gantt chart; where these tell of blocks, also blocks and queues over
time. Where policies move memory there is what launches cost, or how clients share the time slices. Clients with several
jobs get their response times, and services what they are judged by. A study's folder gets the shares of its task sets, a
map, and how near responses come to bounds. A trace file by itself gets what comes from traces.
"""
from pathlib import Path

from gangway.drawing import command

command.need_matplotlib()

from gangway.drawing import (
    bars,
    blocks,
    client_sweep,
    device_run,
    family,
    gantt,
    heat_map,
    microkernels,
    priorities,
    queues,
    request_times,
    response_lines,
    responses,
    results,
    schedulability,
    services,
    speedups,
    studies,
    study_map,
    style,
    sweep,
    throughput_tail,
    tightness,
    timeline,
)


def draw(source, out, width=style.USUAL_WIDTH, titles=True, metrics=(), asked=()):
    """Draws the figures of a result folder or trace file into the folder `out`, of these names only where some are asked for; yields the
    paths of the files."""
    style.prepare(width, titles)
    known = []
    for name, pages in kinds(source, metrics, asked):
        known.append(name)
        if asked and name not in asked:
            continue
        for number, figure in enumerate(pages(), 1):
            yield from style.save(figure, out, name if number == 1 else f'{name}-{number}')
    for name in asked:
        if name not in known:
            raise results.InputError(source, f"'{name}' with --figure", f"one of {', '.join(known)}")


def kinds(source, metrics=(), asked=()):
    """The figures that apply to a result folder or trace file, in their order: of each its name, and what draws its pages. Those that are
    asked for by name apply wherever they can be drawn, also where others tell more."""
    if timeline.is_file(source):
        return _of_trace(source)
    return _of_study(studies.read(source)) if studies.is_study(source) else _of_folder(results.read(source, metrics), asked)


def _of_trace(file):
    trace = gantt.read(file)
    yield timeline.stem(file), lambda: [gantt.draw([trace], trace.experiment)]
    runs = device_run.read_first_runs([file])
    yield from _of_device(runs, trace.experiment, [''] * len(runs), f'{timeline.stem(file)}-')
    yield from _of_requests([file], trace.experiment, lambda point, policy: '', f'{timeline.stem(file)}-')


def _of_requests(files, title, label, prefix=''):
    """label: what tells the run of a point and policy from the others."""
    if request_times.applies(files):
        def pages():
            policy, found = request_times.read_first_runs(files)
            labels = {each.point: label(each.point, policy) for each in found}
            return request_times.draw(found, f'{title} ({policy})', labels)
        yield f'{prefix}requests', pages


def _of_device(runs, title, labels, prefix=''):
    if runs:
        yield f'{prefix}blocks', lambda: blocks.draw(runs, title, labels)
    if any(run.queues for run in runs):
        yield f'{prefix}queues', lambda: queues.draw(runs, title, labels)


def _of_folder(found, asked):
    if found.swept:
        if speedups.applies(found):
            yield 'speedups', lambda: [speedups.draw(found)]
        if 'heat-map' in asked and heat_map.is_possible(found):
            yield 'heat-map', lambda: heat_map.draw(found)
        if heat_map.applies(found):
            if 'heat-map' not in asked:
                yield 'heat-map', lambda: heat_map.draw(found)
        elif family.applies(found):
            yield 'sweep', lambda: [family.draw(found)]
        elif not (speedups.applies(found) and found.alone()):  # the same numbers
            yield 'sweep', lambda: sweep.draw(found)
        if client_sweep.applies(found):
            yield 'clients-sweep', lambda: client_sweep.draw(found)
    else:
        yield 'clients', lambda: [bars.draw_clients(found)]
        yield 'metrics', lambda: [bars.draw_metrics(found)]
    files = timeline.of_folder(found.path)
    traces = gantt.read_first_of_each_policy(files)
    if traces:
        yield 'gantt', lambda: [gantt.draw(traces, found.title)]
    runs = device_run.read_first_runs(files)
    yield from _of_device(runs, found.title, [found.label(run.run[0], run.policy) for run in runs])
    yield from _of_requests(files, found.title, found.setting)
    times = results.read_responses(found.path)
    if responses.applies(times):
        yield 'responses', lambda: _of_responses(found, times, found.title_of_first_runs(), responses.draw)
        if responses.is_distributed(times) or 'response-distribution' in asked:
            yield 'response-distribution', lambda: _of_responses(
                found, results.read_all_responses(found.path), found.title, responses.draw_distribution)
    if found.services:
        yield from _of_services(found, times, asked)
    if microkernels.applies(found):
        yield from microkernels.kinds(found, results.read_launches(found.path))
    evictions = results.read_evictions(found.path)
    if priorities.applies(evictions):
        yield 'priorities', lambda: priorities.draw(evictions, found.title, {run: found.label(*run) for run in evictions})


def _of_responses(found, times, title, draw):
    pages = response_lines.pages(found, times)
    more = f' (the first {responses.PAGES} of {len(pages)} points)' if len(pages) > responses.PAGES else ''
    for setting, runs, labels in pages[:responses.PAGES]:
        shown = ' – '.join(filter(None, [title, setting])) + more
        yield from draw(runs, shown, labels, times)


def _of_services(found, times, asked):
    if services.against_load(found):
        yield 'latency', lambda: services.draw_latency(found)
        if any(row.slo_ns for row in found.services):
            yield 'attainment', lambda: services.draw_attainment(found)
    if responses.is_distributed(times) or 'latency-distribution' in asked and times:
        yield 'latency-distribution', lambda: services.draw_distributions(found, results.read_all_responses(found.path))
    if throughput_tail.varies(found) or 'throughput-tail' in asked:
        yield 'throughput-tail', lambda: [throughput_tail.draw(found)]


def _of_study(study):
    if schedulability.applies(study):
        yield 'bounded', lambda: [schedulability.draw(study, 'bounded')]
        yield 'in-time', lambda: [schedulability.draw(study, 'in_time')]
    if study_map.applies(study):
        yield 'map', lambda: [study_map.draw(study)]
    if tightness.applies(study):
        yield 'tightness', lambda: [tightness.draw(study)]


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
    command.note_changes(source for source in sources if not timeline.is_file(source))
    for source, place in zip(sources, _places(sources, arguments.out)):
        for path in draw(source, place, arguments.width, not arguments.no_title, arguments.metric, arguments.figure):
            print(path)


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser(__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, help='where the figures go (default: into each result folder)')
    command.add_looks(parser)
    command.add_metric(parser)
    parser.add_argument('--figure', action='append', default=[], metavar='NAME',
                        help='only this figure, such as heat-map (may be given several times), wherever it can be drawn')
    return command.run(_main, parser.parse_args(arguments))
