"""Quotients that a column holds rounded, such as ``mean == round(bytes / packets)``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.discover.patterns import FoundRelation, PatternSearch
from counterpoise.types import Array, Index, Mask

Triple = tuple[int, int, int]  # columns: the quotient, what is divided, and by what


def find_rounded_quotients(seen: PatternSearch) -> list[FoundRelation]:
    """Columns that are the quotient of two others, rounded to the decimals that they are written with.

    Plain quotients are found as products, and left out. Of three columns, one is said to be rounded.
    """
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(len(seen.x))
    out: dict[frozenset[int], tuple[float, FoundRelation]] = {}  # by the three columns: the one that allows least
    for column, divided, divisor in _find_likely_triples(seen):
        columns = frozenset((column, divided, divisor))
        if columns in seen.exact_products:
            continue
        decimals = _count_decimals(seen, column)
        written, top, bottom = seen.x[:, column], seen.x[:, divided], seen.x[:, divisor]
        there = ~np.isnan(written * top * bottom)
        fits = _is_rounded(written, top, bottom, decimals)
        # small quotients are near a whole number by chance, and with a divisor of 1 the two are merely equal
        shown = there & (np.abs(written) >= seen.settings.min_quotient_units * 10.0**-decimals)
        shown &= (bottom != 0) & (np.abs(bottom) != 1)
        mixed = there & ~_is_rounded(written, top[shuffled], bottom, decimals)
        least = min(seen.settings.min_support_rows, max(len(written) // 2, 3))
        if (
            shown.sum() < least
            or fits[there].mean() < seen.share
            or mixed[there].mean() < seen.settings.min_surprise_share
        ):
            continue
        names = (seen.quoted_names[divided], seen.quoted_names[divisor])
        digits = f", {decimals}" if decimals else ""
        text = f"{seen.quoted_names[column]} == round({names[0]} / {names[1]}{digits})"
        room = float(np.abs(bottom[there]).mean()) * 10.0**-decimals
        if columns not in out or room < out[columns][0]:
            rule = Rule(text, relax=True)
            out[columns] = room, FoundRelation("rounded", rule, float(fits[there].mean()), int(shown.sum()))
    return [found for _, found in out.values()]


def _find_likely_triples(seen: PatternSearch) -> Iterator[Triple]:
    """Triples of columns that the rows of the probe speak for; most are out after a few rows."""
    columns: Index = np.array(seen.distinct_columns, dtype=np.intp)
    pairs = np.array([(a, b) for a in columns for b in columns if a != b], dtype=np.intp).reshape(-1, 2)
    for column in columns.tolist():
        decimals = _count_decimals(seen, column)
        large = np.abs(seen.probe[:, column]) >= seen.settings.min_quotient_units * 10.0**-decimals
        if decimals < 0 or not large.any():
            continue
        rows = seen.probe[np.argsort(~large, kind="stable")]  # those that say most come first
        alive = pairs[(pairs != column).all(axis=1)]
        misses = np.zeros(len(alive))
        for start in range(0, len(rows), seen.settings.probe_block_rows):
            part = rows[start : start + seen.settings.probe_block_rows]
            fits = _is_rounded(part[:, [column]], part[:, alive[:, 0]], part[:, alive[:, 1]], decimals)
            misses += (~fits & ~np.isnan(part[:, [column]] * part[:, alive[:, 0]] * part[:, alive[:, 1]])).sum(axis=0)
            likely = misses <= (1.05 - seen.share) * len(rows)
            alive, misses = alive[likely], misses[likely]
        yield from ((column, int(divided), int(divisor)) for divided, divisor in alive)


def _count_decimals(seen: PatternSearch, column: int) -> int:
    """The decimals that a column is written with; -1 where it is not rounded."""
    feature = seen.schema.features[column]
    if feature.kind == "integer":
        return 0
    is_double = feature.storage_dtype in (None, np.dtype(np.float64))
    return feature.decimals if feature.decimals is not None and is_double else -1


def _is_rounded(written: Array, divided: Array, divisor: Array, decimals: int) -> Mask:
    """Where the quotient is at most half a unit of the last decimal away, ``(...)``."""
    unit = 10.0**-decimals
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.abs(written * divisor - divided) <= (0.5 + 1e-7) * unit * np.abs(divisor))
