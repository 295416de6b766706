"""A saved explanation: one JSON document with a format name and a version, and nothing in it that is ever executed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterpoise import packing
from counterpoise.errors import InputError

FORMAT = "counterpoise.explanation"
VERSION = 1
MOST_PARTS = 1_000_000  # lists and objects; each takes up to 230 bytes of memory, however short it is in the file
PART_CHARACTERS = 25  # a longer document may have one for so many characters
OTHERS = {  # endings of what is not JSON, and what writes it
    **dict.fromkeys((".html", ".htm"), "for a page use cp.report(explanation, path), or end the path in .json"),
    ".csv": "for a table use explanation.alternatives.to_csv(path), or end the path in .json",
    ".parquet": "for a table use explanation.alternatives.to_parquet(path), or end the path in .json",
}

Fields = dict[str, Any]


def _pack_held(held: dict[Any, str]) -> list[Any]:
    return [[packing.pack_value(name), why] for name, why in held.items()]


def _unpack_held(data: list[Any]) -> dict[Any, str]:
    return {packing.unpack_value(name): why for name, why in data}


def _pack_quantiles(quantiles: dict[Any, Any]) -> list[Any]:
    return [{"label": packing.pack_value(label), **packing.pack_array(levels)} for label, levels in quantiles.items()]


def _unpack_quantiles(data: list[Any]) -> dict[Any, Any]:
    return {packing.unpack_value(item["label"]): packing.unpack_array(item) for item in data}


_ARRAYS = ("x0", "answers", "count", "valid", "status", "reason", "target")
_TABLES = ("scores", "energy", "firm")
_FORMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "schema": (packing.pack_schema, packing.unpack_schema),
    **dict.fromkeys(_ARRAYS, (packing.pack_array, packing.unpack_array)),
    "held": (_pack_held, _unpack_held),
    "quantiles": (_pack_quantiles, _unpack_quantiles),
    "seconds": (float, float),
    **dict.fromkeys(("model_rows", "seed"), (int, int)),
    **dict.fromkeys(("settings", "versions"), (dict, dict)),
    "notes": (list, tuple),
}


def write(fields: Fields) -> str:
    """The JSON document of an explanation's fields (``tipping`` as a dict of fields too)."""
    document = {"format": FORMAT, "version": VERSION, "explanation": _pack(fields)}
    return json.dumps(document, allow_nan=False)


def save(path: str | Path, text: str) -> None:
    """Write a document to a file; one whose ending promises something else is refused."""
    ending = Path(path).suffix.lower()
    if ending in OTHERS:
        raise InputError("what is saved is JSON", f"{str(path)!r} ends in {ending}", OTHERS[ending])
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError("the path must be writable", f"{path}: {error.strerror}", "give another path") from error


def read(text: str | bytes) -> Fields:
    """The fields of a document that `write` wrote; anything else is an error that says what it is.

    >>> read('{"format": "counterpoise.explanation", "version": 99}')
    Traceback (most recent call last):
    ...
    counterpoise.errors.InputError: a saved explanation must have format version 1; this one has 99; ...
    """
    must = "a saved explanation must be a JSON document written by Explanation.save"
    todo = "give a file that Explanation.save wrote"
    parts = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else text.count("[") + text.count("{")
    if parts > max(MOST_PARTS, len(text) // PART_CHARACTERS):
        raise InputError(must, "this has far more lists and objects than an explanation of its length", todo)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(must, f"this is not JSON ({error})", todo) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InputError(must, "this is some other JSON", todo)
    if document.get("version") != VERSION:
        raise InputError(
            f"a saved explanation must have format version {VERSION}",
            f"this one has {document.get('version')!r}",
            "load it with the version of Counterpoise that wrote it, or explain the rows again",
        )
    try:
        return _unpack(document["explanation"])
    except InputError:
        raise
    except Exception as error:  # whatever was done to the file by hand: any of a hundred ways to be wrong
        raise InputError(
            "a saved explanation must be whole, as Explanation.save wrote it",
            f"this one cannot be read ({type(error).__name__}: {error})",
            "save it again",
        ) from error


def _pack(fields: Fields) -> Fields:
    rows, tipping = fields["rows"], fields["tipping"]
    return {
        **{name: pack(fields[name]) for name, (pack, _) in _FORMS.items()},
        "rows": {"index": packing.pack_index(rows.index), **packing.pack_table(rows)},
        **{name: None if fields[name] is None else packing.pack_table(fields[name]) for name in _TABLES},
        "tipping": None if tipping is None else _pack(tipping),
        "evidence": None if fields["evidence"] is None else packing.pack_array(fields["evidence"]),
    }


def _unpack(data: Fields) -> Fields:
    index = packing.unpack_index(data["rows"]["index"])
    tipping, evidence = data["tipping"], data.get("evidence")  # the first documents had no evidence
    return {
        **{name: unpack(data[name]) for name, (_, unpack) in _FORMS.items()},
        "rows": packing.unpack_table(data["rows"], index),
        **{name: None if data[name] is None else packing.unpack_table(data[name], index) for name in _TABLES},
        "tipping": None if tipping is None else _unpack(tipping),
        "evidence": None if evidence is None else packing.unpack_array(evidence),
    }
