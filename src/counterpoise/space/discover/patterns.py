"""Patterns in reference data: equal columns, sums, products, orders, dependence, and what never occurs together.

Sums, products and orders are looked for on a sample of rows, by trying every pair of features against every third; what
survives is counted on all rows. A relation must be seen at work, on rows where its parts are not zero, and must be
surprising: "a <= b" says nothing if it also holds between unrelated rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import nnls

from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.rules.parse import backquote_name
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Mask

RelationSort = Literal["equal", "sum", "product", "rounded", "order", "dependence", "one-hot", "apart"]


@dataclass(frozen=True)
class DiscoverySettings:
    """How much evidence a relation must have to be proposed, and how many rows are looked at."""

    max_rows_counted: int = 20_000
    """Reference rows on which relations are counted; of more, a random sample."""
    probe_rows: int = 200
    """Rows on which every triple of columns is tried."""
    probe_block_rows: int = 20
    """Rows of the probe that are tried at a time: most triples are out after the first block."""
    relative_tolerances: tuple[float, ...] = (1e-6, 1e-4, 1e-3)
    """Tolerances of an equation, relative to its sides; the least that fits is proposed."""
    min_support_rows: int = 20
    """Rows that must show a relation at work, with parts that are not zero; half of the rows in a very small table."""
    min_surprise_share: float = 0.05
    """Share of rows that must break an order, a sum or a product when one of its columns is shuffled."""
    min_order_share: float = 0.999
    """Share of rows that must obey an order: at less, chance makes too many of them."""
    joins_orders: bool = True
    """Whether a <= b and b <= c are said as a <= b <= c; by themselves, each lets off the rows that break it alone."""
    min_dependence_gain: float = 0.01
    """By how much a deciding feature must predict another better than its most frequent value does."""
    max_deciding_values: int = 200
    """Distinct values up to which a feature can decide another."""
    min_rows_per_value: int = 5
    """Rows that every value of a deciding feature must have: an id decides nothing."""
    min_quotient_units: float = 5.0
    """How many units of its last decimal a rounded quotient must be to count as support."""
    min_size_over_slack: float = 10.0
    """How many times the tolerance the parts of a sum must be to count as support: rounding explains the rest."""


DEFAULT_SETTINGS = DiscoverySettings()


class FoundRelation(NamedTuple):
    """A relation of the reference: the constraint that states it, the share of rows that obey it, rows that show it."""

    sort: RelationSort
    constraint: Constraint
    holds: float
    support: int


class PatternSearch:
    """What the parts of a discovery share: the columns looked at, their values, and a probe of the rows."""

    def __init__(self, schema: Schema, x: Array, share: float, settings: DiscoverySettings = DEFAULT_SETTINGS) -> None:
        self.schema, self.x, self.share, self.settings = schema, x, share, settings
        self.quoted_names = [backquote_name(name) for name in schema.names]
        exact = np.array([not f.has_large_integers for f in schema])
        counts = exact & np.array([f.is_numeric or tuple(f.categories) in ((0, 1), (False, True)) for f in schema])
        varies = np.array([len(np.unique(column[~np.isnan(column)])) > 1 for column in x.T])
        self.columns: Index = np.flatnonzero(counts & varies)
        rng = np.random.default_rng(0)
        self.probe = x[np.sort(rng.choice(len(x), min(self.settings.probe_rows, len(x)), replace=False))]
        self.shuffle = rng.permutation(len(x))
        self.duplicate_of: dict[int, int] = {}  # a column that repeats an earlier one -> that one
        self.sum_columns: set[int] = set()  # columns that are a sum
        self.exact_products: set[frozenset[int]] = set()  # columns of which one is the very product of the others

    @property
    def distinct_columns(self) -> list[int]:
        return [int(column) for column in self.columns if int(column) not in self.duplicate_of]

    def count_support(
        self, left: Array, right: Array, shown: Mask, smallest: Array | None = None, shuffled: Array | None = None
    ) -> tuple[float, float, int] | None:
        """The least tolerance at which enough rows obey ``left == right``, their share, and the rows that show it.

        ``smallest`` ``(r,)`` is the size of the least part, which has to stand out from the tolerance, and ``shuffled``
        what the right side is with a part of other rows, which has to break it.
        """
        there = ~(np.isnan(left) | np.isnan(right))
        shown = shown & there
        if shown.sum() < min(self.settings.min_support_rows, max(len(left) // 2, 3)):
            return None
        gap, size = np.abs(left - right), np.maximum(np.maximum(np.abs(left), np.abs(right)), 1.0)
        least = min(self.settings.min_support_rows, max(len(left) // 2, 3))
        for tolerance in self.settings.relative_tolerances:
            fits, slack = gap <= tolerance * size, tolerance * size
            showing = shown if smallest is None else shown & (smallest > self.settings.min_size_over_slack * slack)
            if showing.sum() < least or fits[there].mean() < self.share or fits[showing].mean() < self.share:
                continue
            if shuffled is not None and (np.abs(left - shuffled) > slack).mean() < self.settings.min_surprise_share:
                continue
            return tolerance, float(fits[there].mean()), int(showing.sum())
        return None

    def state_rule(
        self, sort: RelationSort, text: str, seen: tuple[float, float, int] | None
    ) -> Iterator[FoundRelation]:
        if seen is not None:
            yield FoundRelation(sort, Rule(text, tolerance=seen[0], relax=True), seen[1], seen[2])

    def find_equal_columns(self) -> list[FoundRelation]:
        out: list[FoundRelation] = []
        for one, other in combinations(self.distinct_columns, 2):
            if other in self.duplicate_of or one in self.duplicate_of or not self._is_likely_equal(one, other):
                continue
            a, b = self.x[:, one], self.x[:, other]
            found = list(
                self.state_rule(
                    "equal", f"{self.quoted_names[other]} == {self.quoted_names[one]}", self.count_support(b, a, a != 0)
                )
            )
            if found:
                self.duplicate_of[other] = one
                out.extend(found)
        return out

    def _is_likely_equal(self, one: int, other: int) -> bool:
        """Whether two columns are as good as equal on the probe's rows."""
        a, b = self.probe[:, one], self.probe[:, other]
        far = np.abs(a - b) > self.settings.relative_tolerances[-1] * np.maximum(np.maximum(np.abs(a), np.abs(b)), 1.0)
        return bool(far.sum() <= (1.05 - self.share) * len(self.probe))

    def _find_triples(
        self, values: Array, columns: list[int], slack: float, *, twice: bool
    ) -> Iterator[tuple[int, int, int]]:
        """Columns (c, a, b) with c = a + b on most of the probe's ``values`` ``(p, d)``; NaN is left out."""
        pairs = np.array([(a, b) for a, b in combinations(columns, 2)] + [(a, a) for a in columns if twice])
        if not len(pairs):
            return
        sums = values[:, pairs[:, 0]] + values[:, pairs[:, 1]]
        allowed, block = (1.05 - self.share) * len(values), self.settings.probe_block_rows
        for column in columns:
            alive, misses, seen = np.arange(len(pairs)), np.zeros(len(pairs)), np.zeros(len(pairs))
            for start in range(0, len(values), block):  # most pairs are out after a few rows
                part, target = sums[start : start + block, alive], values[start : start + block, [column]]
                with np.errstate(invalid="ignore"):
                    far = np.abs(part - target) > slack * np.maximum(np.maximum(np.abs(part), np.abs(target)), 1.0)
                seen[alive] += (~np.isnan(part - target)).sum(axis=0)
                misses[alive] += far.sum(axis=0)
                alive = alive[misses[alive] <= allowed]
            shown = (seen[alive] >= block / 4) & (misses[alive] <= (1.05 - self.share) * seen[alive])
            for a, b in pairs[alive[shown]]:
                if column not in (a, b):
                    yield column, int(a), int(b)

    def find_sums(self) -> list[FoundRelation]:
        out: list[FoundRelation] = []
        for c, a, b in self._find_triples(
            self.probe, self.distinct_columns, self.settings.relative_tolerances[-1], twice=False
        ):
            one, other = self.x[:, a], self.x[:, b]
            shown = (one != 0) & (other != 0)
            text = f"{self.quoted_names[c]} == {self.quoted_names[a]} + {self.quoted_names[b]}"
            least, mixed = np.minimum(np.abs(one), np.abs(other)), one + other[self.shuffle]
            seen = self.count_support(self.x[:, c], one + other, shown, least, mixed)
            found = list(self.state_rule("sum", text, seen))
            out.extend(found)
            self.sum_columns.update([c] if found else [])
        return out + self._find_longer_sums()

    def _find_longer_sums(self) -> list[FoundRelation]:
        """Sums of more than two parts, among columns that are never negative."""
        out: list[FoundRelation] = []
        there = self.probe[~np.isnan(self.probe).any(axis=1)]
        able = [column for column in self.distinct_columns if (there[:, column] >= 0).all() and there[:, column].any()]
        for column in able if len(there) > len(able) else []:
            below = (there <= there[:, [column]] * (1 + 1e-6) + 1e-6).mean(axis=0) >= self.share
            parts = [each for each in able if each != column and below[each]]
            if column in self.sum_columns or len(parts) < 3:
                continue
            picked = _parts_of_sum(there, column, parts)
            if not picked:
                continue
            shown = (self.x[:, picked] != 0).sum(axis=1) > 1
            text = f"{self.quoted_names[column]} == {' + '.join(self.quoted_names[part] for part in picked)}"
            out.extend(
                self.state_rule(
                    "sum", text, self.count_support(self.x[:, column], self.x[:, picked].sum(axis=1), shown)
                )
            )
        return out

    def find_products(self) -> list[FoundRelation]:
        """Products, and with them quotients: ``rate == bytes / duration`` is said as ``bytes == rate * duration``."""
        out: list[FoundRelation] = []
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(self.probe))
        logs[~np.isfinite(logs)] = np.nan
        for c, a, b in self._find_triples(
            logs, self.distinct_columns, 2 * self.settings.relative_tolerances[-1], twice=True
        ):
            one, other = self.x[:, a], self.x[:, b]
            shown = (one != 0) & (other != 0) & (np.abs(one) != 1) & (np.abs(other) != 1)
            product = f"{self.quoted_names[a]} ** 2" if a == b else f"{self.quoted_names[a]} * {self.quoted_names[b]}"
            mixed = one * other[self.shuffle]
            seen = self.count_support(self.x[:, c], one * other, shown, np.abs(self.x[:, c]), mixed)
            out.extend(self.state_rule("product", f"{self.quoted_names[c]} == {product}", seen))
            if seen is not None and seen[0] == self.settings.relative_tolerances[0]:
                self.exact_products.add(frozenset((a, b, c)))
        return out

    def find_exclusions(self) -> list[FoundRelation]:
        """What never occurs together: two features that are not zero, or a category and a feature that is not zero."""
        out: list[FoundRelation] = []
        n = len(self.x)
        cases: list[tuple[str, str, Mask]] = []  # text of the case, text of its absence, rows where it occurs
        for column in self.distinct_columns:
            there = (self.x[:, column] != 0) & ~np.isnan(self.x[:, column])
            cases.append((f"{self.quoted_names[column]} != 0", f"{self.quoted_names[column]} == 0", there))
        numbers = len(cases)
        for column in range(len(self.schema)):
            feature = self.schema.features[column]
            if not feature.is_numeric and tuple(feature.categories) not in ((0, 1), (False, True)):
                for code, value in enumerate(feature.categories):
                    if isinstance(value, str) and "'" not in value:
                        cases.append((f"{self.quoted_names[column]} == '{value}'", "", self.x[:, column] == code))
        there = np.array([case[2] for case in cases], dtype=np.float64)
        both, alone = there @ there[:numbers].T, there.sum(axis=1)
        expected = np.outer(alone, alone[:numbers]) / n
        for a, b in zip(
            *np.nonzero((expected >= self.settings.min_support_rows) & (both <= (1 - self.share) * expected)),
            strict=True,
        ):
            if a < numbers and a >= b:
                continue
            text = f"{cases[a][1]} or {cases[b][1]}" if a < numbers else f"{cases[a][0]} implies {cases[b][1]}"
            out.append(FoundRelation("apart", Rule(text, relax=True), 1 - float(both[a, b]) / n, int(expected[a, b])))
        return out


def _parts_of_sum(x: Array, column: int, parts: list[int]) -> list[int]:
    """Which of the ``parts`` a column ``(n, d)`` is the plain sum of, three to ten of them; empty where it is none."""
    weights, _ = nnls(x[:, parts], x[:, column])
    counts = weights > 0.02
    if not (3 <= counts.sum() <= 10 and np.all(np.abs(weights[counts] - 1) < 0.02)):
        return []
    return [part for part, is_part in zip(parts, counts, strict=True) if is_part]
