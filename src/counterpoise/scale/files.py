"""Files that are whole or not there: written to a temporary name beside them, synced, renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def replace_file(path: str | Path) -> Iterator[Path]:
    """A temporary path to write to, which takes the place of ``path`` when the block ends without an error.

    What is at ``path`` stays as it is until then. A device or a pipe is written to as it is.
    """
    place = Path(path)
    if place.exists() and not place.is_file():
        yield place
        return
    place = Path(os.path.realpath(place))  # a link stays a link
    temporary = place.with_name(f".partial-{os.getpid()}-{place.name}")  # the ending tells the format
    try:
        yield temporary
        sync(temporary)
        if place.exists():
            with suppress(OSError):
                os.chmod(temporary, place.stat().st_mode)
        os.replace(temporary, place)
        sync(place.parent)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def sync(path: Path) -> None:
    """Have a file, or the entries of a folder, written to the disk itself."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:  # a folder cannot be opened everywhere
        return
    try:
        os.fsync(handle)
    except OSError:
        if path.is_file():
            raise
    finally:
        os.close(handle)
