"""What the commands of this folder share: arguments, one-line errors, exit codes."""
import argparse
import sys

from results import InputError


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f'error: {message}', file=sys.stderr)
        sys.exit(2)


def parser(description):
    """A parser for commands that take result folders."""
    made = _Parser(description=description)
    made.add_argument('folders', metavar='DIR', nargs='+', help='a result folder of `gangway run`')
    return made


def run(command, arguments):
    """Runs command(arguments); exit code 0 done, 1 failed, 2 wrong input, 130 interrupted."""
    try:
        command(arguments)
    except InputError as error:
        return _fail(error, 2)
    except OSError as error:
        return _fail(f'{error.filename}: {error.strerror}', 1)
    except KeyboardInterrupt:
        return 130
    return 0


def _fail(message, code):
    print(f'error: {message}', file=sys.stderr)
    return code
