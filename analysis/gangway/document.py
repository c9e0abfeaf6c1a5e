"""Values as documents that the compiled module reads as YAML."""

import json
from typing import Any


def document_of(value: Any, indent: int | None = 1) -> str:
    """TypeError or ValueError for what has no such form."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)  # YAML does not know JSON's escapes of characters beyond U+FFFF
    text.encode('utf-8')  # ValueError for half of one
    return text
