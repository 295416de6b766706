"""Columns that others decide: lookups from one column to another, and one-hot groups that a user made."""

from __future__ import annotations

from typing import Any

import numpy as np

from counterpoise.space.constraints.between_features import Lookup, OneHot
from counterpoise.space.discover.patterns import FoundRelation, PatternSearch
from counterpoise.types import Array, Index


def find_dependence(seen: PatternSearch) -> list[FoundRelation]:
    """Features whose value another feature determines; values seen in fewer than five rows do not count."""
    out: list[FoundRelation] = []
    coded = {number: codes for number, codes in enumerate(map(_code, seen.x.T)) if codes is not None}
    keys = {number: codes for number, codes in coded.items() if _can_decide(seen, codes)}
    done: set[tuple[int, int]] = set()
    for of, name in [(of, name) for of in keys for name in coded if of != name]:
        if name in seen.duplicate_of or of in seen.duplicate_of or (name, of) in done:
            continue
        width = coded[name].max() + 1
        counts = np.bincount(coded[of] * width + coded[name], minlength=(coded[of].max() + 1) * width).reshape(
            -1, width
        )
        decided, usual = counts.max(axis=1).sum() / len(seen.x), counts.sum(axis=0).max() / len(seen.x)
        if decided < seen.share or decided - usual < seen.settings.min_dependence_gain:
            continue
        values = np.unique(seen.x[:, name])[counts.argmax(axis=1)]
        table = {
            _decode(seen, of, key): _decode(seen, name, value)
            for key, value in zip(np.unique(seen.x[:, of]), values, strict=True)
        }
        lookup = Lookup(seen.schema.names[name], seen.schema.names[of], table, relax=True)
        out.append(FoundRelation("dependence", lookup, float(decided), round((1 - usual) * len(seen.x))))
        done.add((of, name))
    return out


def find_one_hot_groups(seen: PatternSearch) -> list[FoundRelation]:
    """Groups of 0/1 columns in which every row has exactly one 1."""
    least = seen.settings.min_rows_per_value
    able = [
        number
        for number, column in enumerate(seen.x.T)
        if np.isin(column, (0.0, 1.0)).all() and least <= column.sum() <= len(column) - least
    ]
    ones = seen.x[:, able] == 1
    together = ones.T.astype(np.float64) @ ones
    free, out = list(range(len(able))), []
    while len(free) > 1:
        first = free.pop(0)
        group, covered = [first], ones[:, first].copy()
        for place in sorted(free, key=lambda each: (-_shared_letters(seen, able, first, each), each)):
            if not together[place, group].any():
                group.append(place)
                covered |= ones[:, place]
            if covered.all():
                break
        if covered.all() and len(group) > 1:
            free = [place for place in free if place not in group]
            names = [seen.schema.names[able[place]] for place in sorted(group)]
            out.append(FoundRelation("one-hot", OneHot(*names, relax=True), 1.0, len(seen.x)))
    return out


def _shared_letters(seen: PatternSearch, able: list[int], one: int, other: int) -> int:
    """How many letters two names begin with in common: columns of one feature are named alike."""
    names = str(seen.schema.names[able[one]]), str(seen.schema.names[able[other]])
    return next((k for k, pair in enumerate(zip(*names, strict=False)) if pair[0] != pair[1]), min(map(len, names)))


def _code(column: Array) -> Index | None:
    values, codes = np.unique(column, return_inverse=True)
    return None if np.isnan(values).any() or not 1 < len(values) <= len(column) // 5 else codes


def _can_decide(seen: PatternSearch, codes: Index) -> bool:
    counts = np.bincount(codes)
    return len(counts) <= seen.settings.max_deciding_values and counts.min() >= seen.settings.min_rows_per_value


def _decode(seen: PatternSearch, column: int, code: float) -> Any:
    feature = seen.schema.features[column]
    if not feature.is_numeric:
        return feature.categories[int(code)]
    return int(code) if feature.kind == "integer" else float(code)
