"""The progress of a run, in a terminal or a notebook."""

from __future__ import annotations

import sys
from typing import Any


class Progress:
    """A progress bar. show: True, False, or None (on terminals and in notebooks)."""

    def __init__(self, show: bool | None, name: str) -> None:
        self._bar: Any = None
        if show is None:
            show = sys.stderr.isatty() or 'ipykernel' in sys.modules
        if show:
            from tqdm.auto import tqdm
            self._bar = tqdm(total=0, desc=name, unit='run', leave=False)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def update(self, told: dict[str, Any]) -> None:
        """Takes a run's progress: runs_done, runs, and jobs_per_second (None if jobs are not counted)."""
        if self._bar is None:
            return
        self._bar.total = told['runs']
        self._bar.n = told['runs_done']
        if told['jobs_per_second'] is not None:
            self._bar.set_postfix({'jobs/s': f"{told['jobs_per_second']:.0f}"}, refresh=False)
        self._bar.refresh()

    def say(self, line: str) -> None:
        """Prints a message beside the bar."""
        if self._bar is not None:
            self._bar.write(line, file=sys.stderr)
        else:
            print(line, file=sys.stderr)
