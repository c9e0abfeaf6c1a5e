"""The two ways to fail, as the program has them: wrong input, and a run that could not be carried out."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gangway.result import Result


class GangwayError(Exception):
    """What this package raises by itself."""


class InputError(GangwayError, ValueError):
    """Wrong input. str() is one line: FILE:LINE: key 'KEY': found FOUND, expected EXPECTED.

    file, line (None: no line), key, found, expected: its parts; empty where only the line is known."""

    def __init__(self, text: str, file: str = '', line: int | None = None, key: str = '', found: str = '', expected: str = '') -> None:
        super().__init__(text)
        self.file, self.line, self.key, self.found, self.expected = file, line, key, found, expected


class RunError(GangwayError, RuntimeError):
    """A run that could not be carried out. str() may have more lines: an event history.

    result: what was played all the same, or None."""

    result: Result | None = None


def describe(error: BaseException) -> str:
    """One line for an exception of a policy: its type, its text, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f' ({frames[-1].filename}:{frames[-1].lineno})' if frames else ''
    text = ' '.join(str(error).split())
    return f'{type(error).__name__}{": " if text else ""}{text}{where}'
