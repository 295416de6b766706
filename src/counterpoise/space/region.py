"""The region: the set of rows a counterfactual may be, as arrays that every method reads.

Three promises. ``contains`` is the definition. ``settle`` maps any proposal to a point that has the right box, lattice,
categories and fixed cells, by reflection (a clipped proposal would pile up on the edge and falsify the entropy), and
says which points are then inside. ``project`` is the nearest such point, for starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from counterpoise.errors import ConstraintError, InputError
from counterpoise.space.constraints import Constraint, Draft
from counterpoise.space.features import Feature, Schema
from counterpoise.space.lattice import Lattice
from counterpoise.types import Array, Index, Mask

Bounds = Literal["observed"] | None


@dataclass(frozen=True, eq=False)
class Region:
    """Per-row box, lattice, categories and fixed cells, and how many features may change.

    ``home`` is the feasible point nearest to each row: the row itself unless a constraint forbids that.

    >>> import pandas as pd
    >>> from counterpoise.space.constraints import Range
    >>> schema = Schema.infer(pd.DataFrame({"a": [0, 4], "b": [0, 9]}))
    >>> region = Region.build(schema, np.array([[1.0, 2.0]]), [Range("a", 0, 3)])
    >>> region.contains(np.array([[[3.0, 9.0], [4.0, 2.0]]]))
    array([[ True, False]])
    """

    x0: Array  # (n, d)
    home: Array  # (n, d)
    lower: Array  # (n, d)
    upper: Array  # (n, d)
    free: Mask  # (n, d) cells that may change
    feasible: Mask  # (n,) rows for which the region is not empty
    lattice: Lattice
    max_changes: int | None
    words: tuple[tuple[str, ...], ...]  # per column, the constraints that touched it
    ceiling: str  # the constraint behind max_changes

    @classmethod
    def build(
        cls, schema: Schema, x0: Array, constraints: Sequence[Constraint] = (), bounds: Bounds = "observed"
    ) -> Region:
        """The region of the rows ``x0`` ``(n, d)`` under the user's words."""
        draft, lattice = _written(schema, x0, constraints, bounds)
        region = cls(
            x0,
            x0,
            draft.lower,
            draft.upper,
            draft.free & ~lattice.vacant(draft.lower, draft.upper),  # what has nowhere to go stays
            np.ones(len(x0), dtype=bool),
            lattice,
            draft.max_changes,
            tuple(map(tuple, draft.words)),
            draft.ceiling,
        )
        home = region.project(x0[:, None, :])
        return replace(region, home=home[:, 0, :], feasible=region.contains(home)[:, 0])

    def take(self, rows: Index | Sequence[int]) -> Region:
        """The region of some of the rows."""
        index = np.asarray(rows, dtype=np.intp)
        return replace(
            self,
            x0=self.x0[index],
            home=self.home[index],
            lower=self.lower[index],
            upper=self.upper[index],
            free=self.free[index],
            feasible=self.feasible[index],
            lattice=self.lattice.take(index),
        )

    def changed(self, x: Array) -> Mask:
        """Which cells of ``x`` ``(n, k, d)`` differ from the row, ``(n, k, d)``; missing equals missing."""
        start = self.x0[:, None, :]
        different: Mask = x != start
        if np.isnan(self.x0).any():
            different &= ~(np.isnan(x) & np.isnan(start))
        return different

    def contains(self, x: Array) -> Mask:
        """Which points of ``x`` ``(n, k, d)`` every constraint allows, ``(n, k)``."""
        return np.asarray(~self.broken(x).any(axis=-1)) & self.few(x)

    def broken(self, x: Array) -> Mask:
        """Which cells of ``x`` ``(n, k, d)`` break a constraint of their own column, ``(n, k, d)``."""
        changed = self.changed(x)
        missing = np.isnan(x)
        outside = (x < self.lower[:, None, :]) | (x > self.upper[:, None, :])
        return (changed & ~self.free[:, None, :]) | outside | (missing & changed) | self.lattice.misses(x, changed)

    def few(self, x: Array) -> Mask:
        """Which points change no more features than allowed, ``(n, k)``."""
        if self.max_changes is None:
            return np.ones(x.shape[:2], dtype=bool)
        return np.asarray(np.count_nonzero(self.changed(x), axis=-1) <= self.max_changes)

    def settle(self, x: Array) -> tuple[Array, Mask]:
        """Proposals ``(n, k, d)`` reflected into the box and set on the lattice, and which of them are inside.

        A cell set back to a value of the row that the region does not hold goes to the nearest one that it does.
        """
        start, home = self.x0[:, None, :], self.home[:, None, :]
        if not np.array_equal(self.x0, self.home, equal_nan=True):
            x = np.where(x == start, home, x)
        y = self._pin(self.lattice.round(self.reflect(x), self.x0, self.lower, self.upper))
        return y, self.few(y) & self.feasible[:, None]

    def reflect(self, x: Array) -> Array:
        """``x`` ``(n, k, d)`` mirrored at the edges of the box, as often as it takes."""
        low, high = self.lower[:, None, :], self.upper[:, None, :]
        below, above = x < low, x > high
        if not (below.any() or above.any()):
            return x
        y = np.where(below, 2 * low - x, np.where(above, 2 * high - x, x))
        again = (y < low) | (y > high)
        if again.any():  # farther out than the box is wide: fold
            low, high = np.broadcast_to(low, x.shape)[again], np.broadcast_to(high, x.shape)[again]
            width = np.maximum(high - low, 0.0)
            fold = np.mod(x[again] - low, np.where(width > 0, 2 * width, 1.0))
            y[again] = np.minimum(low + np.where(width > 0, np.minimum(fold, 2 * width - fold), 0.0), high)
        return y

    def project(self, x: Array) -> Array:
        """The nearest point of the box, lattice and fixed cells to each of ``x`` ``(n, k, d)``.

        The number of changes is not touched: which of them to drop is for the search to weigh.
        """
        inside = np.minimum(np.maximum(x, self.lower[:, None, :]), self.upper[:, None, :])
        return self._pin(self.lattice.round(inside, self.x0, self.lower, self.upper))

    def conflicts(self) -> list[tuple[str, ...]]:
        """For each row, the constraints that leave it no feasible point; empty where there is one."""
        stuck = self.broken(self.home[:, None, :])[:, 0, :]
        forced = self.changed(self.home[:, None, :])[:, 0, :]
        out: list[tuple[str, ...]] = []
        for row, feasible in enumerate(self.feasible.tolist()):
            columns = np.flatnonzero(stuck[row] if stuck[row].any() else forced[row])
            words = [word for column in columns for word in self.words[column]]
            ceiling = [] if stuck[row].any() else [self.ceiling]
            out.append(() if feasible else tuple(dict.fromkeys([*words, *ceiling])))
        return out

    def _pin(self, y: Array) -> Array:
        """Fixed cells keep the row's value; a missing cell of a proposal goes home."""
        keep = ~self.free[:, None, :] | np.isnan(y)
        return np.where(keep, self.home[:, None, :], y) if keep.any() else y


def check(schema: Schema, constraints: Sequence[Constraint], bounds: Bounds = "observed") -> None:
    """An error that names the words, where they contradict each other whatever the row is.

    >>> import pandas as pd
    >>> from counterpoise.space.constraints import Range
    >>> check(Schema.infer(pd.DataFrame({"a": [0, 4]})), [Range("a", 0, 3), Range("a", 7, 9)])
    Traceback (most recent call last):
    counterpoise.errors.ConstraintError: constraints must leave each feature at least one value; ...
    """
    if bounds not in ("observed", None):
        raise InputError("bounds must be 'observed' or None", f"{bounds!r}", "give single ranges as Range constraints")
    draft, lattice = _written(schema, np.full((1, len(schema)), np.nan), constraints, bounds)
    for column in np.flatnonzero(lattice.vacant(draft.lower, draft.upper)[0]):
        feature = schema.features[column]
        if draft.choices[column] is not None or draft.ranged[:, column].any():
            raise ConstraintError(
                "constraints must leave each feature at least one value",
                f"{' and '.join(dict.fromkeys(draft.words[column]))} leave none for {feature.name!r}",
                "drop or widen one of them",
            )


def _written(schema: Schema, x0: Array, constraints: Sequence[Constraint], bounds: Bounds) -> tuple[Draft, Lattice]:
    """Every word, then the observed range and what the dtypes hold, written into one draft; and its lattice."""
    draft = Draft.blank(schema, x0)
    for word in constraints:
        if not isinstance(word, Constraint) or isinstance(word, type):
            raise ConstraintError(
                "constraints must be Counterpoise's words",
                f"{word!r}",
                "for instance cp.Immutable('age') or cp.Range('rate', 0, 100)",
            )
        word.apply(draft)
    _limit(draft, bounds)
    choices = [_choices(draft, number, feature, bounds) for number, feature in enumerate(schema)]
    return draft, Lattice.of(draft, choices)


def _limit(draft: Draft, bounds: Bounds) -> None:
    """Numbers stay within the reference's range, widened to the row itself, and in any case within their dtype."""
    own, lower, upper = draft.x0, draft.lower, draft.upper
    if bounds == "observed":
        ends = draft.schema.observed
        low = np.where(draft.schema.numeric, np.fmin(ends[0], own), -np.inf)
        high = np.where(draft.schema.numeric, np.fmax(ends[1], own), np.inf)
        listed = np.array([values is not None for values in draft.choices])
        # a range that the user gives takes the place of the observed one, also where the two do not meet
        low = np.where(draft.ranged[0] | listed | (upper < low), -np.inf, low)
        high = np.where(draft.ranged[1] | listed | (lower > high), np.inf, high)
        lower, upper = np.fmax(lower, low), np.fmin(upper, high)
    least, most = draft.schema.room
    numeric = draft.schema.numeric
    draft.lower = np.where(numeric, np.fmax(lower, np.fmin(least, own)), lower)
    draft.upper = np.where(numeric, np.fmin(upper, np.fmax(most, own)), upper)


def _choices(draft: Draft, number: int, feature: Feature, bounds: Bounds) -> Array | None:
    """The encoded values that a changed cell may take, sorted, or None where it may take any."""
    values = draft.choices[number]
    if feature.numeric:
        if values is None:
            return None
        if feature.kind == "integer" or draft.step[number]:
            values = values[values == np.rint(values)]
        storage = feature.storage
        return (
            values if storage is None or storage.kind != "f" else np.unique(values.astype(storage).astype(np.float64))
        )
    if values is None:
        hidden = set(feature.unseen) if bounds == "observed" else set()
        values = np.array([code for value, code in feature.codes.items() if value not in hidden], dtype=np.float64)
    return values
