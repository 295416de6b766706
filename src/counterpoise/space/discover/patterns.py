"""Patterns in reference data: equal columns, sums, products, orders, dependence, and what never occurs together.

Sums, products and orders are looked for on a sample of rows, by trying every pair of features against every third; what
survives is counted on all rows. A relation must be seen at work, on rows where its parts are not zero, and must be
surprising: "a <= b" says nothing if it also holds between unrelated rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import nnls

from counterpoise.space.constraints.between_features import Lookup, Rule
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.rules.parse import backquote_name
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Mask

RelationSort = Literal["equal", "sum", "product", "order", "dependence", "apart"]


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
    """Share of unrelated pairs of rows that must break an order for it to be worth proposing."""
    min_order_share: float = 0.999
    """Share of rows that must obey an order: at less, chance makes too many of them."""
    min_dependence_gain: float = 0.2
    """By how much a deciding feature must predict another better than its most frequent value does."""
    max_deciding_values: int = 50
    """Distinct values up to which a feature can decide another."""


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
        self.duplicate_of: dict[int, int] = {}  # a column that repeats an earlier one -> that one
        self.sum_columns: set[int] = set()  # columns that are a sum

    @property
    def distinct_columns(self) -> list[int]:
        return [int(column) for column in self.columns if int(column) not in self.duplicate_of]

    def count_support(self, left: Array, right: Array, shown: Mask) -> tuple[float, float, int] | None:
        """The least tolerance at which enough rows obey ``left == right``, their share, and the rows that show it."""
        there = ~(np.isnan(left) | np.isnan(right))
        shown = shown & there
        if shown.sum() < min(self.settings.min_support_rows, max(len(left) // 2, 3)):
            return None
        gap, size = np.abs(left - right), np.maximum(np.maximum(np.abs(left), np.abs(right)), 1.0)
        for tolerance in self.settings.relative_tolerances:
            fits = gap <= tolerance * size
            if fits[there].mean() >= self.share and fits[shown].mean() >= self.share:
                return tolerance, float(fits[there].mean()), int(shown.sum())
        return None

    def state_rule(
        self, sort: RelationSort, text: str, seen: tuple[float, float, int] | None
    ) -> Iterator[FoundRelation]:
        if seen is not None:
            yield FoundRelation(sort, Rule(text, tolerance=seen[0], relax=True), seen[1], seen[2])

    def find_equal_columns(self) -> list[FoundRelation]:
        out: list[FoundRelation] = []
        for one, other in combinations(self.distinct_columns, 2):
            if other in self.duplicate_of or one in self.duplicate_of:
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
            found = list(self.state_rule("sum", text, self.count_support(self.x[:, c], one + other, shown)))
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
            weights, _ = nnls(there[:, parts], there[:, column])
            picked = [part for part, weight in zip(parts, weights, strict=True) if weight > 0.02]
            if not (3 <= len(picked) <= 10 and np.all(np.abs(weights[weights > 0.02] - 1) < 0.02)):
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
            seen = self.count_support(self.x[:, c], one * other, shown)
            out.extend(self.state_rule("product", f"{self.quoted_names[c]} == {product}", seen))
        return out

    def find_orders(self) -> list[FoundRelation]:
        columns = self.distinct_columns
        below: dict[int, set[int]] = {column: set() for column in columns}
        facts: dict[tuple[int, int], tuple[float, int]] = {}
        for a, b in [(a, b) for a in columns for b in columns if a != b]:
            one, other = self.probe[:, a], self.probe[:, b]
            if (one <= other).mean() < self.share or (
                one > np.roll(other, 1)
            ).mean() < self.settings.min_surprise_share:
                continue
            low, high = self.x[:, a], self.x[:, b]
            fits = float((low <= high + self.settings.relative_tolerances[0] * np.maximum(np.abs(high), 1.0)).mean())
            meets = (low == high) & (low != 0)  # a limit that nothing ever reaches is hardly one
            if (
                fits >= max(self.share, self.settings.min_order_share)
                and meets.mean() >= self.settings.min_surprise_share / 10
                and (low < high).mean() > self.settings.min_surprise_share
            ):
                below[a].add(b)
                facts[a, b] = fits, int(meets.sum())
        # an order that follows from two others is left out
        direct = {(a, b) for a in below for b in below[a] if not any(b in below[c] for c in below[a] if c != b)}
        out, used = [], set()
        for a, b in sorted(direct):
            after = [c for c in sorted(below[b]) if (b, c) in direct and (b, c) not in used]
            if (a, b) in used:
                continue
            chain = [a, b, *after[:1]]
            used |= set(pairwise(chain))
            seen = [facts[pair] for pair in pairwise(chain)]
            rule = Rule(" <= ".join(self.quoted_names[column] for column in chain), relax=True)
            out.append(FoundRelation("order", rule, min(s[0] for s in seen), min(s[1] for s in seen)))
        return out

    def find_dependence(self) -> list[FoundRelation]:
        """Features whose value another one decides."""
        out: list[FoundRelation] = []
        few: dict[int, Index] = {}
        for number, column in enumerate(self.x.T):
            values, codes = np.unique(column, return_inverse=True)
            if (
                1 < len(values) <= min(self.settings.max_deciding_values, len(column) // 5)
                and not np.isnan(values).any()
            ):
                few[number] = codes
        for of, name in [(of, name) for of in few for name in few if of != name and name not in self.duplicate_of]:
            counts = np.zeros((few[of].max() + 1, few[name].max() + 1))
            np.add.at(counts, (few[of], few[name]), 1)
            decided, usual = counts.max(axis=1).sum() / len(self.x), counts.sum(axis=0).max() / len(self.x)
            if decided < self.share or decided - usual < self.settings.min_dependence_gain or of in self.duplicate_of:
                continue
            keys, values = np.unique(self.x[:, of]), np.unique(self.x[:, name])[counts.argmax(axis=1)]
            table = {
                self._decode_value(of, key): self._decode_value(name, value)
                for key, value in zip(keys, values, strict=True)
            }
            lookup = Lookup(self.schema.names[name], self.schema.names[of], table, relax=True)
            out.append(FoundRelation("dependence", lookup, float(decided), len(self.x)))
        return out

    def _decode_value(self, column: int, code: float) -> Any:
        feature = self.schema.features[column]
        if not feature.is_numeric:
            return feature.categories[int(code)]
        return int(code) if feature.kind == "integer" else float(code)

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
