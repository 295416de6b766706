"""Orders between columns: ``a <= b`` in every row, where unrelated rows would break it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.discover.patterns import FoundRelation, PatternSearch
from counterpoise.types import Index

Pairs = dict[tuple[int, int], tuple[float, int]]  # columns (a, b) with a <= b: the share of rows that obey, the support


def find_orders(seen: PatternSearch) -> list[FoundRelation]:
    """Chains of orders; what follows from two others is left out."""
    facts = _find_pairs(seen)
    below: dict[int, set[int]] = {}
    for a, b in facts:
        below.setdefault(a, set()).add(b)
    direct = [(a, b) for a, b in sorted(facts) if not any(b in below.get(between, ()) for between in below[a] - {b})]
    out: list[FoundRelation] = []
    for chain in _join_chains(direct) if seen.settings.joins_orders else map(list, direct):
        parts = [facts[pair] for pair in pairwise(chain)]
        rule = Rule(" <= ".join(seen.quoted_names[column] for column in chain), relax=True)
        out.append(FoundRelation("order", rule, min(part[0] for part in parts), min(part[1] for part in parts)))
    return out


def _find_pairs(seen: PatternSearch) -> Pairs:
    """Pairs that enough rows obey, and that shuffled columns break; the support are the rows that shuffling breaks."""
    columns: Index = np.array(seen.distinct_columns, dtype=np.intp)
    found: Pairs = {}
    if len(columns) < 2:
        return found
    order = np.random.default_rng(0).permutation(len(seen.x))
    x, shuffled = seen.x[:, columns], seen.x[order][:, columns]
    needed = max(seen.share, seen.settings.min_order_share)
    slack = seen.settings.relative_tolerances[0]
    probe = seen.probe[:, columns]
    for place, a in enumerate(columns.tolist()):
        with np.errstate(invalid="ignore"):
            likely = np.flatnonzero((probe[:, [place]] > probe).mean(axis=0) <= 1 - seen.share)
        for other in likely[likely != place].tolist():
            low, high = x[:, place], x[:, other]
            broken = low > shuffled[:, other]
            if broken.mean() < seen.settings.min_surprise_share:
                continue
            fits = float((low <= high + slack * np.maximum(np.abs(high), 1.0)).mean())
            if fits >= needed and (low < high).mean() > seen.settings.min_surprise_share:
                found[a, int(columns[other])] = fits, int(broken.sum())
    return found


def _join_chains(pairs: list[tuple[int, int]]) -> list[list[int]]:
    """Chains of pairs: a <= b and b <= c become a <= b <= c; each pair is used once."""
    used: set[tuple[int, int]] = set()
    chains: list[list[int]] = []
    for a, b in pairs:
        if (a, b) in used:
            continue
        after = [pair[1] for pair in pairs if pair[0] == b and pair not in used]
        chain = [a, b, *after[:1]]
        used |= set(pairwise(chain))
        chains.append(chain)
    return chains
