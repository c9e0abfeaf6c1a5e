"""Tables of a result folder that somebody has changed since."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def changed_tables(folder: Path) -> list[str]:
    """Those that are not as the folder's manifest lists them, by name; none without a list, as of older folders."""
    return [name for name, facts in sorted(_listed(folder).items()) if name.endswith('.csv') and not _is(folder / name, facts)]


def is_changed(file: Path) -> bool:
    """Whether that table is one of them."""
    facts = _listed(file.parent).get(file.name)
    return facts is not None and not _is(file, facts)


def note_on(file: Path) -> str:
    """What to say of one, as `gangway compare` does."""
    return f'{file} is not as it was written (manifest.json)'


def manifest_of(folder: Path) -> dict[str, Any]:
    """The folder's manifest.json; empty if there is none that can be read."""
    try:
        manifest = json.loads((folder / 'manifest.json').read_text(encoding='utf-8'))
    except (OSError, ValueError):
        return {}
    return manifest if isinstance(manifest, dict) else {}


def _listed(folder: Path) -> dict[str, Any]:
    files = manifest_of(folder).get('files')
    return files if isinstance(files, dict) else {}


def _is(file: Path, facts: Any) -> bool:
    if not isinstance(facts, dict) or not file.is_file() or file.stat().st_size != facts.get('bytes'):
        return False
    with open(file, 'rb') as stream:
        return hashlib.file_digest(stream, 'sha256').hexdigest() == facts.get('sha256')
