"""What the commands of this folder share: arguments, one-line errors, exit codes."""
import argparse
import importlib.util
import os
import sys
from pathlib import Path

from gangway.changed_tables import changed_tables, note_on
from gangway.drawing.results import InputError


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f'error: {message}', file=sys.stderr)
        sys.exit(2)


def need_matplotlib():
    """To be called before what imports it, so that its lack is told in one line."""
    if importlib.util.find_spec('matplotlib') is None:
        sys.exit(f'error: {sys.executable} has no matplotlib: try /usr/bin/python3 with the package python3-matplotlib')


def parser_of_nothing(description):
    """A parser that takes no arguments yet."""
    return _Parser(description=description)


def parser(description):
    """A parser for commands that take result folders."""
    made = _Parser(description=description)
    made.add_argument('folders', metavar='DIR', nargs='+', help='a result folder of `gangway run`')
    return made


def parser_of_two(description):
    """A parser for commands that compare a prediction with a measurement."""
    made = _Parser(description=description)
    made.add_argument('predicted', metavar='DIR_A', help='the result folder that predicts (of `--world sim`, say)')
    made.add_argument('measured', metavar='DIR_B', help='a result folder of the same experiment that was measured')
    return made


def parser_of_calibration(description):
    """A parser for commands that take the folder of a calibration."""
    made = _Parser(description=description)
    made.add_argument('folder', metavar='DIR', help='a folder of `gangway calibrate`')
    return made


def add_looks(parser):
    """Options on how figures look."""
    parser.add_argument('--width', type=_inches, default=7.2, help='of the figures, in inches (default 7.2: two columns of a paper)')
    parser.add_argument('--no-title', action='store_true', help='omit the titles')


def add_metric(parser):
    """The option that says which metrics are shown."""
    parser.add_argument('--metric', action='append', default=[], metavar='COLUMN',
                        help='show this column of summary.csv (may be given several times) in the place of ANTT, DNTT and STP')


def note_changes(folders):
    """Tells of tables that are not as they were written, as `gangway compare` does."""
    for folder in dict.fromkeys(map(Path, folders)):
        for name in changed_tables(folder):
            print(f'note: {note_on(folder / name)}', file=sys.stderr)


def _inches(text):
    width = float(text)
    if not 2 <= width <= 40:
        raise argparse.ArgumentTypeError('expected 2 to 40 inches')
    return width


def run(command, arguments):
    """Runs command(arguments); exit code 0 done, 1 failed, 2 wrong input, 130 interrupted."""
    if 'matplotlib' in sys.modules:  # no windows; in a notebook the figures are the notebook's
        sys.modules['matplotlib'].use('Agg')
    try:
        command(arguments)
    except InputError as error:
        return _fail(error, 2)
    except BrokenPipeError:  # whoever reads has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _fail(f'{error.filename}: {error.strerror}', 1)
    except KeyboardInterrupt:
        return 130
    return 0


def _fail(message, code):
    print(f'error: {message}', file=sys.stderr)
    return code
