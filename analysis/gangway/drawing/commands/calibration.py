"""Draws what a calibration measured, as PNG and PDF: eviction delays, kernels, copies, polls, idle times.

`gangway calibrate` prints the same as numbers.
"""
from pathlib import Path

from gangway.drawing import command

command.need_matplotlib()

from gangway.drawing import costs, readings, style


def draw(folder, out):
    """Draws the figures that apply to a calibration's folder into the folder `out`; yields the paths of the files."""
    style.prepare()
    found = readings.read(folder)
    for name, figure in _figures(found):
        yield from style.save(figure, out, name)


def _figures(found):
    if found.lengths():
        yield 'eviction-delay', costs.draw_evictions(found)
    if found.kernels():
        yield 'kernels', costs.draw_kernels(found)
    if found.directions():
        yield 'copies', costs.draw_copies(found)
    if found.polls():
        yield 'polls', costs.draw_polls(found)
    if found.after_idle():
        yield 'idle', costs.draw_idle(found)


def _main(arguments):
    folder = Path(arguments.folder)
    for path in draw(folder, arguments.out or folder):
        print(path)


def cli(arguments=None):
    """The command line: the exit code."""
    parser = command.parser_of_calibration(__doc__.splitlines()[0])
    parser.add_argument('--out', type=Path, help='where the figures go (default: into DIR)')
    return command.run(_main, parser.parse_args(arguments))
