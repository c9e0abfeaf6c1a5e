"""The program's two kinds of error: wrong input, and a run that failed."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gangway.result import Result


class GangwayError(Exception):
    """The base of this package's errors."""


class InputError(GangwayError, ValueError):
    """Wrong input. str() is one line: FILE:LINE: key 'KEY': found FOUND, expected EXPECTED.

    file, line (None if there is none), key, found and expected are its parts; a part that is not known is empty."""

    def __init__(self, text: str, file: str = '', line: int | None = None, key: str = '', found: str = '', expected: str = '') -> None:
        super().__init__(text)
        self.file, self.line, self.key, self.found, self.expected = file, line, key, found, expected


class RunError(GangwayError, RuntimeError):
    """A run that failed. str() may have several lines, with an event history.

    result: what was finished, or None."""

    result: Result | None = None


class NotReturned(BaseException):
    """Raised in a policy whose call has lasted too long. Not an Exception, which policies may catch."""


def describe(error: BaseException) -> str:
    """One line about an exception in a policy: type, text and place."""
    text = ' '.join(str(error).split())
    return f'{type(error).__name__}{": " if text else ""}{text}{place(error)}'


def place(error: BaseException) -> str:
    """' (FILE:LINE)' of an exception; empty if it has none."""
    frames = traceback.extract_tb(error.__traceback__)
    return f' ({frames[-1].filename}:{frames[-1].lineno})' if frames else ''
