"""What readers of a result folder must know besides its numbers."""

from __future__ import annotations

from pathlib import Path

from gangway.changed_tables import changed_tables, manifest_of, note_on

_MOST = 20  # the manifest has the rest


def notes_on(folder: Path) -> list[str]:
    """One line each: what the run said of its results, in notes and warnings, and which tables have changed since."""
    return [*_said(folder), *(note_on(folder / name) for name in changed_tables(folder))]


def _said(folder: Path) -> list[str]:
    manifest = manifest_of(folder)
    lists = [manifest.get(key) for key in ('notes', 'warnings')]
    said = [line.removeprefix('warning: ') for lines in lists if isinstance(lines, list) for line in lines if isinstance(line, str)]
    said = list(dict.fromkeys(said))  # runs of one experiment may say the same
    return said if len(said) <= _MOST else [*said[:_MOST], f'{len(said) - _MOST} more in manifest.json']
