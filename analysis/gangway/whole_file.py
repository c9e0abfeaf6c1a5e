"""Files that are there whole or not at all."""
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Gives the path to write to; takes the name `path` at the end. OSError, with that name, where it cannot be written: then
    nothing is left."""
    part = path.with_name(path.name + '.part')
    try:
        yield part
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None


def write_whole(path: Path, text: str) -> None:
    """Likewise, a file of this text."""
    with whole_file(path) as part:
        part.write_text(text, encoding='utf-8')
