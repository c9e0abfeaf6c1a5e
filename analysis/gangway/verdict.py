"""What is to be said of one difference."""

from __future__ import annotations

from typing import Any


def verdict(row: dict[str, Any]) -> str:
    """Of a row of `gangway compare --json`, as `gangway compare` prints it: no direction where there may be no difference."""
    words = str(row['words'])
    return {'not significant': 'may be chance', 'exact': f'{words}, in every replication', 'equal': 'equal in every replication',
            'untested': f'not tested: {words}'}.get(row['finding'], words)
