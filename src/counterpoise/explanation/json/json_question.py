"""The question as JSON data and back, and the question of a version-1 document as far as its settings tell it.

Constraints, noises, regularisers and targets of this project are packed from their dataclasses: name and fields. An
object of the user's own is packed as a `StoredObject`: name, repr and a hash of its settings.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation.json import json_values
from counterpoise.explanation.question import AnythingBut, Question
from counterpoise.explanation.stored_objects import StoredObject
from counterpoise.objective.noise import Gaussian, RankNoise
from counterpoise.objective.plausibility import LocalOutlier, Mahalanobis, NearTarget
from counterpoise.objective.regularizers import Sparsity
from counterpoise.space.constraints.packing import CONSTRAINT_CLASSES

_CLASSES: dict[str, type] = CONSTRAINT_CLASSES | {
    known.__name__: known
    for known in (AnythingBut, Gaussian, RankNoise, NearTarget, Mahalanobis, LocalOutlier, Sparsity)
}
_COLLECTIONS: dict[str, type] = {"list": list, "set": set, "frozenset": frozenset}
_PLAIN_FIELDS = ("threshold", "lam", "mu", "bounds", "keep", "temperature", "alternatives", "seed", "budget")
_ANYTHING_BUT_TEXT = "AnythingBut(labels="


def pack_question(question: Question) -> dict[str, Any]:
    """A question as JSON data."""
    return {
        **{name: json_values.pack_value(getattr(question, name)) for name in _PLAIN_FIELDS},
        "penalty": question.penalty,
        "target": _pack_part(question.target),
        "distance": _pack_part(question.distance),
        "weights": [[json_values.pack_value(name), weight] for name, weight in _finite_items(question.weights)],
        "regularizers": [_pack_part(part) for part in question.regularizers],
        "constraints": [_pack_part(part) for part in question.constraints],
        "relations": [_pack_part(part) for part in question.relations],
        "noise": _pack_part(question.noise),
        "method": None if question.method is None else _pack_object(question.method),
        "noise_levels": [[target, float(level)] for target, level in question.noise_levels.items()],
        "kept": question.kept,
        "proof": question.proof,
        "gap": question.gap,
        "model_rows": question.model_rows,
        "new_categories": question.new_categories,
        "is_complete": question.is_complete,
    }


def unpack_question(data: dict[str, Any]) -> Question:
    """The question that `pack_question` packed; objects of the user's own come back as `StoredObject`."""
    return Question(
        **{name: json_values.unpack_value(data[name]) for name in _PLAIN_FIELDS},
        penalty=data.get("penalty", "l1"),  # documents from before it could be chosen
        target=_unpack_part(data["target"]),
        distance=_unpack_part(data["distance"]),
        weights={json_values.unpack_value(name): float(weight) for name, weight in data["weights"]},
        regularizers=tuple(_unpack_part(part) for part in data["regularizers"]),
        constraints=tuple(_unpack_part(part) for part in data["constraints"]),
        relations=tuple(_unpack_part(part) for part in data.get("relations", ())),
        noise=_unpack_part(data["noise"]),
        noise_levels={str(target): float(level) for target, level in data.get("noise_levels", [])},
        kept="auto" if data.get("kept") == "auto" else bool(data.get("kept", False)),
        method=_unpack_part(data["method"]),
        proof=_proof_of(data.get("proof")),  # the first documents of version 2 had neither
        gap=float(data.get("gap", 0.0)),
        model_rows=None if data.get("model_rows") is None else int(data["model_rows"]),
        new_categories=bool(data["new_categories"]),
        is_complete=bool(data["is_complete"]),
    )


def _proof_of(stored: Any) -> Any:
    if stored not in (None, True, False, "auto"):
        raise InputError("proof must be 'auto', true or false", f"{stored!r}", "save the explanation again")
    return stored


def question_of_version_1(settings: Mapping[str, str], seed: int, lam: float, targets: Any) -> Question:
    """The question behind the settings of a version-1 document, which are texts: what they do not tell stays open.

    ``lam`` is that of the document's energies and ``targets`` ``(n,)`` what each row asked for. Weights were not
    written down; constraints, regularisers, noise and method are known by their texts alone.
    """

    def stored(name: str, absent: str) -> tuple[Any, ...]:
        text = settings.get(name, absent)
        return () if text == absent else (StoredObject(name, text, ""),)

    mu, noise, method = (settings.get(name) for name in ("mu", "noise", "method"))
    threshold, keep = (float(settings[name]) if name in settings else None for name in ("threshold", "keep"))
    return Question(
        target=_target_of_version_1(settings.get("target", "opposite"), targets),
        threshold=threshold,
        keep=keep,
        distance=_distance_of_version_1(settings.get("distance", "l2")),
        lam=lam,
        penalty="l1",
        mu=None if mu in (None, "auto") else float(mu),
        regularizers=stored("regularizers", "none"),
        constraints=stored("constraints", "none"),
        bounds=None if settings.get("bounds") == "None" else "observed",
        temperature=float(settings.get("temperature", "0")),
        noise=None if noise in (None, "auto") else StoredObject("noise", noise, ""),  # type: ignore[arg-type]
        alternatives=int(settings.get("alternatives", "1")),
        seed=seed,
        method=None if method is None else StoredObject("method", method, ""),
        proof={"auto": "auto", "True": True, "False": False}.get(settings.get("proof", "")),  # type: ignore[arg-type]
        gap=float(settings.get("gap", "0")),
        budget=float(settings["budget"].removesuffix(" s")) if "budget" in settings else None,
        is_complete=False,
    )


def _finite_items(weights: Mapping[Any, float]) -> list[tuple[Any, Any]]:
    return [(name, weight if np.isfinite(weight) else repr(weight)) for name, weight in weights.items()]


def _pack_part(value: Any) -> Any:
    """A value, a collection of values, or an object with its fields; an object of the user's own by name and hash."""
    try:
        return _pack_known(value)
    except InputError:
        return _pack_object(value)


def _pack_known(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"array": json_values.pack_array(value)}
    if isinstance(value, Mapping):
        return {"map": [[json_values.pack_value(key), json_values.pack_value(part)] for key, part in value.items()]}
    if type(value) in _COLLECTIONS.values():
        ordered = value if isinstance(value, list) else sorted(value, key=repr)
        return {type(value).__name__: [_pack_known(part) for part in ordered]}
    if type(value) in _CLASSES.values() and is_dataclass(value):
        packed = {item.name: _pack_known(getattr(value, item.name)) for item in fields(value) if item.compare}
        return {"class": type(value).__name__, "fields": packed}
    return json_values.pack_value(value)


def _pack_object(value: object) -> dict[str, str]:
    record = StoredObject.of(value)
    return {"object": record.name, "repr": record.text, "settings": record.settings_hash}


def _unpack_part(data: Any) -> Any:
    match data:
        case {"array": array}:
            return json_values.unpack_array(array)
        case {"map": items}:
            return {json_values.unpack_value(key): json_values.unpack_value(part) for key, part in items}
        case {"class": name, "fields": packed}:
            return _make(_CLASSES[name], {field: _unpack_part(part) for field, part in packed.items()})
        case {"object": name, "repr": text, "settings": settings_hash}:
            return StoredObject(str(name), str(text), str(settings_hash))
        case dict() if len(data) == 1 and next(iter(data)) in _COLLECTIONS:
            ((name, parts),) = data.items()
            return _COLLECTIONS[name](_unpack_part(part) for part in parts)
    return json_values.unpack_value(data)


def _make(known: type, values: dict[str, Any]) -> Any:
    """An object of a class with these fields, checked as the class checks them; its ``__init__`` may take others."""
    made: Any = object.__new__(known)
    for item in fields(known):
        object.__setattr__(made, item.name, values[item.name] if item.compare else item.default)
    if hasattr(made, "__post_init__"):
        made.__post_init__()
    return made


def _target_of_version_1(text: str, targets: Any) -> Any:
    """A target from its text; if that is not enough, one label per row as listed in the document."""
    if text == "opposite":
        return text
    found = [target for target in targets if str(target) == text]
    if found:
        return found[0]
    inner = text.removeprefix(_ANYTHING_BUT_TEXT)
    try:
        if inner != text:
            return AnythingBut(*literal_eval(inner.removesuffix(")")))
        return targets if text == "one per row" else literal_eval(text)
    except (ValueError, SyntaxError, TypeError):
        return StoredObject("target", text, "")


def _distance_of_version_1(name: str) -> str | dict[str, float]:
    """A distance as its name says it: "l2", or "0.5 l1 + 0.5 l2"."""
    parts = [part.split() for part in name.split(" + ")]
    return name if len(parts[0]) == 1 else {norm: float(weight) for weight, norm in parts}
