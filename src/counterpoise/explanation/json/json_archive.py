"""A saved explanation: one JSON document with a format name and a version; reading it runs nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation.fields import AnswerMeasures
from counterpoise.explanation.json import json_question, json_tables, json_values
from counterpoise.explanation.json.json_checks import check_fields
from counterpoise.explanation.question import Question

FORMAT_NAME = "counterpoise.explanation"
FORMAT_VERSION = 2
READABLE_VERSIONS = (1, 2)
WRITER_HINTS = {  # file endings of other formats, and what writes those
    **dict.fromkeys((".html", ".htm"), "for a page use cp.report(explanation, path), or end the path in .json"),
    ".csv": "for a table use explanation.alternatives.to_csv(path), or end the path in .json",
    ".parquet": "for a table use explanation.alternatives.to_parquet(path), or end the path in .json",
}

Fields = dict[str, Any]


def _pack_held(held: dict[Any, str]) -> list[Any]:
    return [[json_values.pack_value(name), why] for name, why in held.items()]


def _unpack_held(data: list[Any]) -> dict[Any, str]:
    return {json_values.unpack_value(name): why for name, why in data}


def _pack_quantiles(quantiles: dict[Any, Any]) -> list[Any]:
    return [
        {"label": json_values.pack_value(label), **json_values.pack_array(levels)}
        for label, levels in quantiles.items()
    ]


def _unpack_quantiles(data: list[Any]) -> dict[Any, Any]:
    return {json_values.unpack_value(item["label"]): json_values.unpack_array(item) for item in data}


_ARRAY_FIELDS = ("x0", "answers", "count", "valid", "status", "reason", "target")
_TABLE_FIELDS = ("scores", "energy", "firm")
_PACKERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "schema": (json_tables.pack_schema, json_tables.unpack_schema),
    **dict.fromkeys(_ARRAY_FIELDS, (json_values.pack_array, json_values.unpack_array)),
    "held": (_pack_held, _unpack_held),
    "quantiles": (_pack_quantiles, _unpack_quantiles),
    "seconds": (float, float),
    "model_rows": (int, int),
    "versions": (dict, dict),
    "notes": (list, tuple),
}


def dump_document(fields: Fields) -> str:
    """The JSON document of an explanation's fields (``tipping`` as a dict of fields too)."""
    document = {"format": FORMAT_NAME, "version": FORMAT_VERSION, "explanation": _pack_fields(fields)}
    return json.dumps(document, allow_nan=False)


def save_document(path: str | Path, text: str) -> None:
    """Write a document to a file; a path that ends in .html, .csv or .parquet is refused."""
    ending = Path(path).suffix.lower()
    if ending in WRITER_HINTS:
        raise InputError("what is saved is JSON", f"{str(path)!r} ends in {ending}", WRITER_HINTS[ending])
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError("the path must be writable", f"{path}: {error.strerror}", "give another path") from error


def load_document(text: str | bytes, max_parts: int = 1_000_000, letters_per_part: int = 25) -> Fields:
    """The fields of a document that `dump_document` wrote; an error says what any other text is.

    It may have ``max_parts`` lists and objects, each of which takes up to 230 bytes of memory, however short it is in
    the file; a longer one may have one for every ``letters_per_part``.

    >>> load_document('{"format": "counterpoise.explanation", "version": 99}')
    Traceback (most recent call last):
    ...
    counterpoise.errors.InputError: a saved explanation must have format version 1 or 2; this one has 99; ...
    """
    must = "a saved explanation must be a JSON document written by Explanation.save"
    todo = "give a file that Explanation.save wrote"
    parts = text.count(b"[") + text.count(b"{") if isinstance(text, bytes) else text.count("[") + text.count("{")
    if parts > max(max_parts, len(text) // letters_per_part):
        raise InputError(must, "this has far more lists and objects than an explanation of its length", todo)
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(must, f"this is not JSON ({error})", todo) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT_NAME:
        raise InputError(must, "this is some other JSON", todo)
    if document.get("version") not in READABLE_VERSIONS:
        raise InputError(
            f"a saved explanation must have format version {' or '.join(map(str, READABLE_VERSIONS))}",
            f"this one has {document.get('version')!r}",
            "load it with the version of Counterpoise that wrote it, or explain the rows again",
        )
    try:
        return _unpack_fields(document["explanation"])
    except InputError:
        raise
    except Exception as error:  # a file that was changed by hand can be wrong in any way
        raise InputError(
            "a saved explanation must be whole, as Explanation.save wrote it",
            f"this one cannot be read ({type(error).__name__}: {error})",
            "save it again",
        ) from error


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is no JSON")  # which Python reads all the same


def _pack_fields(fields: Fields) -> Fields:
    rows, tipping = fields["rows"], fields["tipping"]
    return {
        **{name: pack(fields[name]) for name, (pack, _) in _PACKERS.items()},
        "rows": {"index": json_tables.pack_index(rows.index), **json_tables.pack_table(rows)},
        **{name: None if fields[name] is None else json_tables.pack_table(fields[name]) for name in _TABLE_FIELDS},
        "tipping": None if tipping is None else _pack_fields(tipping),
        "evidence": None if fields["evidence"] is None else json_values.pack_array(fields["evidence"]),
        "measures": {name: json_values.pack_array(part) for name, part in vars(fields["measures"]).items()},
        "bound": json_values.pack_array(fields["bound"]),
        "question": json_question.pack_question(fields["question"]),
        "settings": fields["question"].settings,  # for people: a reader takes the question
    }


def _unpack_fields(data: Fields) -> Fields:
    index = json_tables.unpack_index(data["rows"]["index"])
    # the first documents had neither evidence nor bounds
    tipping, evidence, bound = data["tipping"], data.get("evidence"), data.get("bound")
    found = {
        **{name: unpack(data[name]) for name, (_, unpack) in _PACKERS.items()},
        "rows": json_tables.unpack_table(data["rows"], index),
        **{name: None if data[name] is None else json_tables.unpack_table(data[name], index) for name in _TABLE_FIELDS},
        "tipping": None if tipping is None else _unpack_fields(tipping),
        "evidence": None if evidence is None else json_values.unpack_array(evidence),
        "bound": np.full(len(index), np.nan) if bound is None else json_values.unpack_array(bound),
    }
    parts = {name: json_values.unpack_array(part) for name, part in data.get("measures", {}).items()}
    if parts:  # the first documents with measures had fewer of them
        for name in ("bound", "agree", "agree_of"):
            parts.setdefault(name, np.full(parts["effort"].shape, np.nan))
    found["measures"] = AnswerMeasures(**parts) if parts else None
    found["question"] = _unpack_question(data, found)
    check_fields(found)
    return found


def _unpack_question(data: Fields, found: Fields) -> Question:
    """The question of a document; of version 1, which has none, as far as its settings tell it."""
    if "question" in data:
        return json_question.unpack_question(data["question"])
    lam = found["energy"]["lam"]
    number = float(lam.iloc[0]) if len(lam) else 0.0
    return json_question.question_of_version_1(data["settings"], int(data["seed"]), number, found["target"])
