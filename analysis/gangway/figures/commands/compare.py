"""Draws how far a prediction is from a measurement of the same experiment, as PNG and PDF.

Jobs, errors and metrics of both folders, latencies of services, and one run of each policy as Gantt charts above each other where both
folders have its trace. `gangway compare` prints the same as numbers.
"""
from pathlib import Path

from gangway.figures import command

command.need_matplotlib()

from gangway.figures import agreement
from gangway.figures import gantt
from gangway.figures import service_agreement
from gangway.figures import style
from gangway.figures import timeline


def draw(predicted, measured, out):
    """Draws the figures that apply to two result folders into the folder `out`; yields the paths of the files."""
    style.prepare()
    for name, figure in _figures(agreement.read_pair(predicted, measured)):
        yield from style.save(figure, out, name)


def _figures(pair):
    if pair.jobs:
        yield 'compare-jobs', agreement.draw_jobs(pair)
        yield 'compare-errors', agreement.draw_errors(pair)
    for number, figure in enumerate(agreement.draw_metrics(pair), 1):
        yield ('compare-metrics' if number == 1 else f'compare-metrics-{number}'), figure
    if pair.predicted.services and pair.measured.services:
        for point in dict.fromkeys(row.point for row in pair.measured.services):
            figure = service_agreement.draw(pair.predicted, pair.measured, point)
            if figure is not None:
                yield f'compare-services-{point}', figure
    traces = [timeline.of_folder(found.path) for found in (pair.predicted, pair.measured)]
    for both in gantt.read_pairs(*traces):
        title = f'{pair.title} – {both[0].policy}'
        yield f'compare-gantt-{both[0].policy}', gantt.draw(both, title, pair.labels)


def _main(arguments):
    out = arguments.out or Path(arguments.predicted)
    for path in draw(Path(arguments.predicted), Path(arguments.measured), out):
        print(path)


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser_of_two(__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, help='where the figures go (default: into DIR_A)')
    return command.run(_main, parser.parse_args(arguments))
