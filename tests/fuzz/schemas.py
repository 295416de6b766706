"""Schema files that say another kind than the data show, as people write them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import yaml

import counterpoise as cp
from fuzz.tables import Rng, Table
from fuzz.word import Cells, Word, is_missing, is_same


def draw_schema(rng: Rng, table: Table) -> tuple[Any, list[Word]]:
    """A schema read from a file, with the file's constraints; None where the file or the reference is refused."""
    entries, words = [], []
    for name in table.kinds:
        entry, more = _draw_entry(rng, table, name)
        entries.append(entry)
        words += more
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "schema.yaml")
            path.write_text(yaml.safe_dump({"columns": entries}, allow_unicode=True), encoding="utf-8")
            file = cp.load_schema(path, table.reference)
    except (cp.CounterpoiseError, yaml.YAMLError):
        return None, []
    given = [Word(each, lambda old, new: True) for each in file.constraints]
    return file.schema, [*words, *given]


def _judged(is_obeyed: Callable[[Cells, Cells], bool]) -> Word:
    """What the file itself asks for, beside the constraints that it makes."""
    return Word(None, is_obeyed)


def _draw_entry(rng: Rng, table: Table, name: Hashable) -> tuple[dict[str, Any], list[Word]]:
    kind, words = table.kind(name), []
    seen = list(dict.fromkeys(cell for cell in table.reference[name].tolist() if not is_missing(cell)))
    entry: dict[str, Any] = {"name": name}
    if kind.is_number:
        entry["kind"] = str(rng.choice(["continuous", "integer", "categorical"], p=[0.45, 0.4, 0.15]))
    elif seen and isinstance(seen[0], bool):
        entry["kind"] = str(rng.choice(["boolean", "categorical"]))
    else:
        entry["kind"] = "ordinal" if len(seen) > 1 and rng.random() < 0.3 else "categorical"
    if entry["kind"] == "ordinal":
        entry["order"] = [seen[place] for place in rng.permutation(len(seen))]
    if rng.random() < 0.1:
        entry["immutable"] = True
        words.append(_judged(lambda old, new: is_same(old[name], new[name])))
    if entry["kind"] == "integer":
        words.append(
            _judged(
                lambda old, new: is_same(old[name], new[name]) or is_missing(new[name]) or float(new[name]).is_integer()
            )
        )
    return entry, words


def _is_whole(cell: Any) -> bool:
    return is_missing(cell) or float(cell).is_integer()
