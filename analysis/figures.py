"""Draws every figure that applies to the given result folders, as PNG and PDF.

A folder with a swept parameter gets the sweep figure, one without gets the clients and metrics figures,
and one with traces a Gantt chart. A trace file by itself gets its Gantt chart.
"""
import sys
from pathlib import Path

import command

command.need_matplotlib()

import bars
import gantt
import results
import style
import sweep


def draw(source, out):
    """Draws the figures of a result folder or trace file into the folder `out`; yields the paths of the files."""
    style.prepare()
    for name, figure in _of_trace(source) if source.suffix == '.json' else _of_folder(results.read(source)):
        yield from style.save(figure, out, name)


def _of_trace(file):
    trace = gantt.read(file)
    yield file.stem, gantt.draw([trace], trace.experiment)


def _of_folder(found):
    if found.swept:
        for number, figure in enumerate(sweep.draw(found), 1):
            yield ('sweep' if number == 1 else f'sweep-{number}'), figure
    else:
        yield 'clients', bars.draw_clients(found)
        yield 'metrics', bars.draw_metrics(found)
    traces = gantt.read_first_of_each_policy((found.path / 'trace').glob('*.json'))
    if traces:
        yield 'gantt', gantt.draw(traces, found.title)


def _places(sources, out):
    """Where each source's figures go: beside what they show, into `out`, or for several into folders of their names
    there."""
    if not out:
        return [source.parent if source.suffix == '.json' else source for source in sources]
    if len(sources) == 1:
        return [out]
    places = [out / source.resolve().stem for source in sources]
    for place in places:
        if places.count(place) > 1:
            raise results.InputError(place, 'two sources of that name', 'different names with --out')
    return places


def _main(arguments):
    sources = [Path(source) for source in arguments.folders]
    for source, place in zip(sources, _places(sources, arguments.out)):
        for path in draw(source, place):
            print(path)


if __name__ == '__main__':
    _parser = command.parser(__doc__.splitlines()[0])
    _parser.add_argument('--out', type=Path, help='where the figures go (default: into each result folder)')
    sys.exit(command.run(_main, _parser.parse_args()))
