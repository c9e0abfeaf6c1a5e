"""Draws how far a prediction is from a measurement of the same experiment, as PNG and PDF.

Jobs, errors, metrics and clients of both folders, metrics beside what a paper prints, latencies of services, and one run of each
policy as Gantt charts above each other where both folders have its trace. `gangway compare` prints the same as numbers.
"""
from pathlib import Path

from gangway.drawing import command

command.need_matplotlib()

from gangway.drawing import agreement, gantt, printed_bars, service_agreement, style, timeline


def draw(predicted, measured, out, width=style.USUAL_WIDTH, titles=True):
    """Draws the figures that apply to two result folders into the folder `out`; yields the paths of the files."""
    style.prepare(width, titles)
    for name, pages in kinds(predicted, measured):
        for number, figure in enumerate(pages(), 1):
            yield from style.save(figure, out, name if number == 1 else f'{name}-{number}')


def kinds(predicted, measured):
    """The figures that apply to two result folders: of each its name, and what draws its pages."""
    pair = agreement.read_pair(predicted, measured)
    if pair.jobs:
        yield 'compare-jobs', lambda: [agreement.draw_jobs(pair)]
        yield 'compare-errors', lambda: [agreement.draw_errors(pair)]
    yield 'compare-metrics', lambda: list(agreement.draw_metrics(pair))
    of_worlds = agreement.sides(pair.predicted, pair.measured) != ('A', 'B')
    if of_worlds and pair.measured.published_metrics():
        yield 'compare-printed', lambda: [printed_bars.draw_metrics(pair)]
    if of_worlds and not pair.measured.swept and pair.predicted.clients and not pair.measured.alone():
        yield 'compare-clients', lambda: [printed_bars.draw_clients(pair)]
    if pair.predicted.services and pair.measured.services:
        for point in dict.fromkeys(row.point for row in service_agreement.judged(pair.predicted, pair.measured)):
            yield f'compare-services-{point}', lambda point=point: [service_agreement.draw(pair.predicted, pair.measured, point)]
    traces = [timeline.of_folder(found.path) for found in (pair.predicted, pair.measured)]
    for both in gantt.read_pairs(*traces):
        title = f'{pair.title} – {both[0].policy}'
        yield f'compare-gantt-{both[0].policy}', lambda both=both, title=title: [gantt.draw(both, title, pair.labels)]


def _main(arguments):
    out = arguments.out or Path(arguments.predicted)
    command.note_changes([arguments.predicted, arguments.measured])
    for path in draw(Path(arguments.predicted), Path(arguments.measured), out, arguments.width, not arguments.no_title):
        print(path)


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser_of_two(__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, help='where the figures go (default: into DIR_A)')
    command.add_looks(parser)
    return command.run(_main, parser.parse_args(arguments))
