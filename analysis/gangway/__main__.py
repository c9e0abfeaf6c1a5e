"""python3 -m gangway COMMAND: what the package adds to the program `gangway`."""

import sys
from importlib import import_module

_DRAWING = ('figures', 'compare', 'calibration', 'rankings', 'rules', 'printed', 'metrics')
_COMMANDS = {'report': 'gangway.page', **{name: f'gangway.drawing.commands.{name}' for name in _DRAWING},
             'text': 'gangway.drawing.commands.report', 'services': 'gangway.drawing.service_agreement'}


def main() -> int:
    """Runs the command and returns the exit code."""
    if len(sys.argv) < 2 or sys.argv[1] not in _COMMANDS:
        print(f'error: python3 -m gangway: found {sys.argv[1] if len(sys.argv) > 1 else "nothing"}, expected one of {", ".join(_COMMANDS)}',
              file=sys.stderr)
        return 2
    sys.argv[0] = f'gangway {sys.argv[1]}'
    return int(import_module(_COMMANDS[sys.argv[1]]).cli(sys.argv[2:]))


if __name__ == '__main__':
    sys.exit(main())
