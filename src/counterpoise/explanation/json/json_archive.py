"""A saved explanation: one JSON document with a format name and a version; reading it runs nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.explanation.fields import ENERGY_COLUMNS, SCORE_COLUMNS, AnswerMeasures
from counterpoise.explanation.json import json_question, json_tables, json_values
from counterpoise.explanation.question import Question
from counterpoise.explanation.stored_objects import StoredObject
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import Array, is_number

_TEXT_FIELDS = ("fixed", "unit", "label", "description")
_NUMBER_FIELDS = (
    "threshold",
    "lam",
    "mu",
    "keep",
    "temperature",
    "alternatives",
    "seed",
    "budget",
    "gap",
    "model_rows",
)


def check_fields(fields: dict[str, Any], max_decimals: int = 400, rounding: float = 1e-5) -> None:
    """A ValueError where fields of an explanation do not belong together; ``max_decimals`` of a double are enough.

    Probabilities are the model's own, which may be above 1 by its ``rounding``.
    """
    schema: Schema = fields["schema"]
    columns = fields["rows"].columns
    absent = [name for name in schema.names if name not in columns]
    if absent or not columns.is_unique:
        raise ValueError(f"the rows have no column for each of {list(schema.names)[:4]}")
    for feature in schema:
        _check_feature(feature, max_decimals)
    for cells in (fields["x0"], fields["answers"], *(() if fields["evidence"] is None else (fields["evidence"],))):
        _check_codes(schema, cells)
    _check_counts(fields)
    if not all(isinstance(text, str) for name in ("status", "reason") for text in fields[name].tolist()):
        raise ValueError("a status or a reason is no text")
    _check_numbers(fields, rounding)
    _check_answered(fields)
    _check_question(fields["question"])
    if not all(isinstance(text, str) for text in fields["versions"].values()):
        raise ValueError("a version is no text")


def _check_counts(fields: dict[str, Any]) -> None:
    """Check how many answers each row has, and that validities are truth values."""
    if fields["count"].dtype.kind not in "iu" or fields["valid"].dtype != np.bool_:
        raise ValueError("the numbers of answers are not whole, or the validities no truth values")
    most = fields["answers"].shape[1]
    if not ((fields["count"] >= 0) & (fields["count"] <= most)).all():
        raise ValueError(f"a row has a number of answers that is not from 0 to {most}")


def _check_feature(feature: Feature, max_decimals: int) -> None:
    if not all(isinstance(getattr(feature, name), str) for name in _TEXT_FIELDS):
        raise ValueError(f"a text of {feature.name!r} is none")
    if not all(is_number(end) for end in (feature.lower, feature.upper, feature.scale)):
        raise ValueError(f"an end of {feature.name!r} is no number")
    for places in (feature.decimals, feature.resolution):
        if places is not None and not (type(places) is int and 0 <= places <= max_decimals):
            raise ValueError(f"{feature.name!r} has {places!r} decimals")
    if isinstance(feature.dtype, pd.CategoricalDtype) and feature.dtype.categories is None:
        raise ValueError(f"the dtype of {feature.name!r} lists no categories")
    if not all(type(each) is bool for each in (feature.missing, feature.assumed)):
        raise ValueError(f"missing or assumed of {feature.name!r} is no truth value")


def _check_codes(schema: Schema, cells: Array) -> None:
    """Check that cells ``(..., d)`` of categories are valid codes or missing."""
    if cells.ndim < 2 or cells.shape[-1] != len(schema) or cells.dtype.kind != "f" or np.isinf(cells).any():
        raise ValueError(f"cells of shape {cells.shape} and {cells.dtype} for {len(schema)} features, or infinite ones")
    for number, feature in enumerate(schema):
        if not feature.is_numeric:
            codes = cells[..., number][~np.isnan(cells[..., number])]
            if not np.isin(codes, np.arange(len(feature.categories))).all():
                raise ValueError(f"{feature.name!r} has codes that stand for no category")


def _check_numbers(fields: dict[str, Any], rounding: float) -> None:
    """What was measured is numbers, and shares are between 0 and 1 or unknown."""
    measures = {} if fields["measures"] is None else vars(fields["measures"])
    numbers = {name: part for name, part in measures.items() if name != "noise"} | {"bound": fields["bound"]}
    for table, names in (("scores", SCORE_COLUMNS[2:]), ("energy", ENERGY_COLUMNS)):
        given = {} if fields[table] is None else fields[table]  # a column that is not there is missed by its reader
        numbers |= {name: given[name].to_numpy() for name in names if name in given}
    for name, part in numbers.items():
        if part.dtype.kind != "f":
            raise ValueError(f"{name} has {part.dtype} values")
        if name == "agree_of" and not (np.isnan(part) | ((part >= 1) & np.isfinite(part))).all():
            raise ValueError("agree_of has values that are no numbers of models")
        is_share = name.startswith(("kept", "probability")) or name == "agree"
        if is_share and not _are_shares(part, rounding):
            raise ValueError(f"{name} has values that are no shares")


def _check_answered(fields: dict[str, Any]) -> None:
    """An answer has every cell that its row has, and a distance; what it is compared with is finite numbers."""
    answers, x0 = fields["answers"], fields["x0"]
    listed = np.arange(answers.shape[1]) < fields["count"][:, None]
    if (np.isnan(answers) & ~np.isnan(x0)[:, None, :] & listed[..., None]).any():
        raise ValueError("an answer lacks a cell that its row has")
    if fields["energy"] is not None and fields["energy"]["distance"][fields["valid"]].isna().any():
        raise ValueError("a valid answer has no distance")
    for feature in fields["schema"]:
        cells = fields["rows"][feature.name].to_numpy()
        if feature.is_numeric and cells.dtype.kind == "f" and np.isinf(cells).any():
            raise ValueError(f"{feature.name!r} has infinite cells")
    for levels in fields["quantiles"].values():
        if levels.dtype.kind != "f" or np.isinf(levels).any():
            raise ValueError("quantiles are no numbers, or infinite")


def _are_shares(numbers: Array, rounding: float) -> bool:
    return bool((np.isnan(numbers) | ((numbers >= 0) & (numbers <= 1 + rounding))).all())


def _check_question(question: Question) -> None:
    for name in _NUMBER_FIELDS:
        value = getattr(question, name)
        if value is not None and value != "auto" and not is_number(value):
            raise ValueError(f"{name} of the question is {value!r}")
    for part in question.regularizers:
        if not (callable(part) or hasattr(part, "fit_to") or isinstance(part, StoredObject)):
            raise ValueError(f"a regularizer of the question is {part!r}")


FORMAT_NAME = "counterpoise.explanation"
FORMAT_VERSION = 2
READABLE_VERSIONS = (1, 2)
WRITER_HINTS = {  # file endings of other formats, and what writes those
    **dict.fromkeys((".html", ".htm"), "for a page use cp.report(explanation, path), or end the path in .json"),
    ".csv": "for a table use explanation.alternatives.to_csv(path), or end the path in .json",
    ".parquet": "for a table use explanation.alternatives.to_parquet(path), or end the path in .json",
    ".xlsx": "for a workbook use explanation.to_excel(path), or end the path in .json",
    ".md": "for a table use explanation.to_markdown(), or end the path in .json",
    ".txt": "for sentences use explanation.text(), or end the path in .json",
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
    """Write a document to a file; a path that ends as those of other formats do is refused."""
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
        json.dumps(document, ensure_ascii=False).encode()  # half characters, which JSON can name, no page can hold
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
