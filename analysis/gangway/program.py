"""The command line of an installed package: runs the program with the files that come with it."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Replaces this process by the program `gangway`."""
    here = Path(__file__).parent
    os.environ.setdefault('GANGWAY_DATA', str(here / 'data'))
    os.environ.setdefault('GANGWAY_PYTHON', sys.executable)  # which has what the package needs
    program = here / 'bin' / 'gangway'
    os.execv(program, ['gangway', *sys.argv[1:]])
