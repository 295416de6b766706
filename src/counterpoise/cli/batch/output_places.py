"""Where answers go: whether a file or a folder can be written there, asked before the work and not after it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from counterpoise.errors import InputError, MissingExtra


def check_writable(path: str, what: str = "--out") -> None:
    """Raise an error if no file can be written there: a user should learn this before the work, not after it."""
    place = Path(path)
    folder = place.parent
    problem = ""
    if place.is_dir():
        problem = "it is a folder"
    elif not folder.is_dir():
        problem = f"there is no folder {str(folder)!r}"
    elif not os.access(place if place.exists() else folder, os.W_OK):
        problem = "it may not be written"
    if Path(path).suffix == ".parquet" and find_spec("pyarrow") is None:
        raise MissingExtra("parquet")
    if problem:
        raise InputError(f"{what} must name a file that can be written", f"{path!r}: {problem}", "choose another place")


def is_folder(out: str | None) -> bool:
    """Whether --out names a folder of parts: it ends in a slash, or a folder is there.

    >>> is_folder("answers/"), is_folder("answers.csv"), is_folder(None)
    (True, False, False)
    """
    return out is not None and out != "-" and (out.endswith(("/", os.sep)) or Path(out).is_dir())


def check_folder(path: str) -> None:
    """Raise an error if no folder can be written there."""
    place = Path(path)
    parent = next(each for each in (place, *place.absolute().parents) if each.exists())
    problem = "it is a file" if not parent.is_dir() else "" if os.access(parent, os.W_OK) else "it may not be written"
    if find_spec("pyarrow") is None:
        raise MissingExtra("parquet")
    if problem:
        raise InputError("--out must name a folder that can be written", f"{path!r}: {problem}", "choose another place")


def make_folder(path: str) -> Path:
    """Make the folder if it is not there; raise an error if it cannot be made or written to."""
    place = Path(path)
    try:
        place.mkdir(parents=True, exist_ok=True)
        problem = "" if os.access(place, os.W_OK) else "it may not be written"
    except OSError as error:
        problem = "it is a file" if place.is_file() else error.strerror or str(error)
    if problem:
        raise InputError("--out must name a folder that can be written", f"{path!r}: {problem}", "choose another place")
    return place


def check_files_differ(outputs: Mapping[str, str | None], inputs: Mapping[str, str | None]) -> None:
    """Raise an error if an output would overwrite an input or another output; both map options to paths."""
    seen: dict[Path, str] = {}
    for option, path in [*inputs.items(), *outputs.items()]:
        if path is None or path == "-":
            continue
        place = Path(path).resolve()
        if option in outputs and place in seen:
            raise InputError(
                f"{option} must be another file than {seen[place]}", f"{path!r} for both", "choose another name"
            )
        seen.setdefault(place, option)
