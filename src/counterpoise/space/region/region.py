"""The region: the set of rows a counterfactual may be, as arrays that every method reads.

``contains`` defines it. ``bring_inside`` maps any proposal to a point with the right box, lattice, categories and fixed
cells, by reflection (clipped proposals would pile up on the edge and falsify the entropy), and says which points are
then inside. ``project`` gives the nearest such point, for starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.errors import ConstraintError, InputError
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.region.compile import Bounds, compile_draft
from counterpoise.space.region.contradictions import find_contradiction
from counterpoise.space.region.lattice import Lattice
from counterpoise.space.rules.system import RelationSystem
from counterpoise.space.rules.tangent_planes import project_gradient_on_relations
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Mask, has_no_missing

__all__ = ["Bounds", "Region", "check_constraints"]


@dataclass(frozen=True, eq=False)
class Region:
    """Per-row box, lattice, categories and fixed cells, and how many features may change.

    ``nearest_feasible`` is the feasible point nearest to each row: the row itself unless a constraint forbids that.

    >>> import pandas as pd
    >>> from counterpoise.space.constraints.words import Range
    >>> schema = Schema.infer(pd.DataFrame({"a": [0, 4], "b": [0, 9]}))
    >>> region = Region.build(schema, np.array([[1.0, 2.0]]), [Range("a", 0, 3)])
    >>> region.contains(np.array([[[3.0, 9.0], [4.0, 2.0]]]))
    array([[ True, False]])
    """

    x0: Array  # (n, d)
    row_in_box: Array  # (n, d) the row in its box and on its lattice, cell by cell
    nearest_feasible: Array  # (n, d)
    lower: Array  # (n, d)
    upper: Array  # (n, d)
    free: Mask  # (n, d) cells that may be moved
    fixed: Mask  # (n, d) cells that keep the row's value; the rest are free, or computed from others
    feasible: Mask  # (n,) rows for which the region is not empty
    lattice: Lattice
    system: RelationSystem  # the relations between features
    max_changes: int | None
    constraint_texts: tuple[tuple[str, ...], ...]  # per column, the constraints that touched it
    max_changes_text: str  # the constraint behind max_changes
    infeasibility_causes: NDArray[Any]  # (n,) the constraints that leave a row no point; None where there is one
    own_steps: Array  # (d,) the finest step that the reference shows of computed numbers; 0: none

    @classmethod
    def build(
        cls, schema: Schema, x0: Array, constraints: Sequence[Constraint] = (), bounds: Bounds = "observed"
    ) -> Region:
        """The region of the rows ``x0`` ``(n, d)`` under the constraints."""
        draft, lattice, system = compile_draft(schema, x0, constraints, bounds)
        free = draft.free & ~lattice.is_empty(draft.lower, draft.upper)  # what has nowhere to go stays
        region = cls(
            x0,
            x0,
            x0,
            draft.lower,
            draft.upper,
            free & ~system.is_derived,
            ~free,
            np.ones(len(x0), dtype=bool),
            lattice,
            system,
            draft.max_changes,
            tuple(map(tuple, draft.constraint_texts)),
            draft.max_changes_text,
            np.full(len(x0), None, dtype=object),
            np.divide(1.0, schema.resolution_divisors, out=np.zeros(len(schema)), where=schema.resolution_divisors > 0),
        )
        alone = replace(region, system=system.without_relations()) if len(system) else region
        boxed = alone.project(x0[:, None, :])
        feasible = alone.contains(boxed)[:, 0]
        region = replace(region, row_in_box=boxed[:, 0, :], nearest_feasible=boxed[:, 0, :], feasible=feasible)
        if not len(system):
            return region
        home = region.project(boxed)
        for row in np.flatnonzero(feasible & ~region.contains(home)[:, 0]):
            # no feasible point is at hand: either there is none, and that can be proved, or the search must find one
            region.infeasibility_causes[row] = find_contradiction(schema, x0[[row]], constraints, bounds)
            feasible[row] = not region.infeasibility_causes[row]
        return replace(region, nearest_feasible=home[:, 0, :], feasible=feasible)

    def take(self, rows: Index | Sequence[int]) -> Region:
        """The region of some of the rows."""
        index = np.asarray(rows, dtype=np.intp)
        return replace(
            self,
            x0=self.x0[index],
            row_in_box=self.row_in_box[index],
            nearest_feasible=self.nearest_feasible[index],
            lower=self.lower[index],
            upper=self.upper[index],
            free=self.free[index],
            fixed=self.fixed[index],
            feasible=self.feasible[index],
            lattice=self.lattice.take(index),
            system=self.system.take(index),
            infeasibility_causes=self.infeasibility_causes[index],
        )

    def is_changed(self, x: Array) -> Mask:
        """Which cells of ``x`` ``(n, k, d)`` differ from the row, ``(n, k, d)``; missing equals missing."""
        start = self.x0[:, None, :]
        different: Mask = x != start
        if not self.has_no_missing:
            different &= ~(np.isnan(x) & np.isnan(start))
        return different

    def contains(self, x: Array) -> Mask:
        """Which points of ``x`` ``(n, k, d)`` every constraint allows, ``(n, k)``."""
        inside: Mask = np.asarray(~self.is_broken(x).any(axis=-1))
        if self.max_changes is not None:
            inside &= self.has_few_changes(x)
        return inside & self.system.holds(x) if len(self.system) else inside

    def is_broken(self, x: Array) -> Mask:
        """Which cells of ``x`` ``(n, k, d)`` break a constraint of their own column, ``(n, k, d)``."""
        changed = self.is_changed(x)
        missing = np.isnan(x)
        outside = (x < self.lower[:, None, :]) | (x > self.upper[:, None, :])
        return (
            (changed & self.fixed[:, None, :]) | outside | (missing & changed) | self.lattice.is_off_lattice(x, changed)
        )

    def has_few_changes(self, x: Array) -> Mask:
        """Which points change no more features than allowed, ``(n, k)``."""
        if self.max_changes is None:
            return np.ones(x.shape[:2], dtype=bool)
        return np.asarray(np.count_nonzero(self.is_changed(x), axis=-1) <= self.max_changes)

    def violations(self, x: Array) -> list[tuple[str, ...]]:
        """For one point of each row, ``x`` ``(n, d)``: the constraints it breaks, and by how much relations fail."""
        points = x[:, None, :]
        cells, keeps_ceiling = self.is_broken(points)[:, 0, :], self.has_few_changes(points)[:, 0]
        out: list[tuple[str, ...]] = []
        for row, related in enumerate(self.system.violations(x)):
            words = [
                word for column in np.flatnonzero(cells[row]) for word in self.constraint_texts[column] or ("its kind",)
            ]
            ceiling = [] if keeps_ceiling[row] else [self.max_changes_text]
            out.append(tuple(dict.fromkeys([*words, *ceiling, *related])))
        return out

    def bring_inside(self, x: Array) -> tuple[Array, Mask]:
        """Proposals ``(n, k, d)`` reflected into the box and set on the lattice, and which of them are inside.

        If the row's own value is not allowed, a reset cell takes the nearest allowed value.
        """
        return self._repair_relations(self.reflect_onto_lattice(x))

    def reflect_onto_lattice(self, x: Array) -> Array:
        """Proposals ``(n, k, d)`` reflected into the box and set on the lattice, each cell by itself."""
        if self.has_row_outside:
            x = np.where(x == self.x0[:, None, :], self.row_in_box[:, None, :], x)
        return self._restore_fixed_cells(self.lattice.round(self.reflect(x), self.x0, self.lower, self.upper))

    @cached_property
    def has_no_missing(self) -> bool:
        """Whether no cell of the rows is missing."""
        return has_no_missing(self.x0)

    @cached_property
    def has_row_outside(self) -> bool:
        """Whether some row is not where the region allows it."""
        return not np.array_equal(self.x0, self.row_in_box, equal_nan=True)

    def project_gradient(self, x: Array, gradient: Array) -> Array:
        """A gradient ``(n, k, d)`` at ``x`` ``(n, k, d)`` as it is for points of the region; 0 where nothing may move.

        What a derived feature contributes goes to what it is made of; what would break an equation is taken out.
        """
        gradient = project_gradient_on_relations(self.system, x, gradient, self.free) if len(self.system) else gradient
        return gradient if self.is_all_free else np.where(self.free[:, None, :], gradient, 0.0)

    @cached_property
    def is_all_free(self) -> bool:
        """Whether every cell may be moved."""
        return bool(self.free.all())

    def reflect(self, x: Array) -> Array:
        """``x`` ``(n, k, d)`` mirrored at the edges of the box, as often as it takes."""
        outside = x < self.lower[:, None, :]
        outside |= x > self.upper[:, None, :]
        if not outside.any():
            return x
        at = np.flatnonzero(outside)  # few of many, as a rule
        _, k, d = x.shape
        cell = at // (k * d) * d + at % d
        value, low, high = x.take(at), self.lower.take(cell), self.upper.take(cell)
        mirrored = np.where(value < low, 2 * low - value, 2 * high - value)
        again = np.flatnonzero((mirrored < low) | (mirrored > high))
        if len(again):  # farther out than the box is wide: fold
            low, high = low[again], high[again]
            width = np.maximum(high - low, 0.0)
            fold = np.mod(value[again] - low, np.where(width > 0, 2 * width, 1.0))
            mirrored[again] = np.minimum(low + np.where(width > 0, np.minimum(fold, 2 * width - fold), 0.0), high)
        y = x.copy()
        y.reshape(-1)[at] = mirrored
        return y

    def project(self, x: Array) -> Array:
        """The nearest point of the box, lattice and fixed cells to each of ``x`` ``(n, k, d)``.

        The number of changes is not touched: which of them to drop is for the search to weigh.
        """
        inside = np.minimum(np.maximum(x, self.lower[:, None, :]), self.upper[:, None, :])
        y = self._restore_fixed_cells(self.lattice.round(inside, self.x0, self.lower, self.upper))
        return self.system.repair(y, self.lower, self.upper, self.free, self.lattice) if len(self.system) else y

    def conflicts(self) -> list[tuple[str, ...]]:
        """For each row, the constraints that leave it no feasible point; empty where there is one."""
        stuck = self.is_broken(self.row_in_box[:, None, :])[:, 0, :]
        forced = self.is_changed(self.row_in_box[:, None, :])[:, 0, :]
        out: list[tuple[str, ...]] = []
        for row, feasible in enumerate(self.feasible.tolist()):
            columns = np.flatnonzero(stuck[row] if stuck[row].any() else forced[row])
            words = [word for column in columns for word in self.constraint_texts[column]]
            ceiling = [] if stuck[row].any() else [self.max_changes_text]
            out.append(() if feasible else self.infeasibility_causes[row] or tuple(dict.fromkeys([*words, *ceiling])))
        return out

    def _restore_fixed_cells(self, y: Array) -> Array:
        """Fixed cells keep the row's value; a missing cell of a proposal goes back to the row's."""
        keep = self.fixed[:, None, :] | np.isnan(y)
        return np.where(keep, self.row_in_box[:, None, :], y) if keep.any() else y

    def _repair_relations(self, y: Array) -> tuple[Array, Mask]:
        """Points in box and lattice brought to where the relations hold, and which of them are inside the region."""
        inside: Mask = self.feasible[:, None].repeat(y.shape[1], axis=1)
        if len(self.system):
            y, held = self.system.repair_and_check(y, self.lower, self.upper, self.free, self.lattice)
            inside &= held
            if self.has_row_outside:  # what a relation sets back to the row's value may leave its box
                inside &= ~((y < self.lower[:, None, :]) | (y > self.upper[:, None, :])).any(axis=-1)
            if self.system.is_derived.any():
                inside &= ~self.is_broken(y)[..., self.system.is_derived].any(axis=-1)
        if self.max_changes is not None:
            inside &= self.has_few_changes(y)
        return y, inside


def check_constraints(schema: Schema, constraints: Sequence[Constraint], bounds: Bounds = "observed") -> None:
    """Raise an error that names the constraints, where they contradict each other whatever the row is.

    >>> import pandas as pd
    >>> from counterpoise.space.constraints.words import Range
    >>> check_constraints(Schema.infer(pd.DataFrame({"a": [0, 4]})), [Range("a", 0, 3), Range("a", 7, 9)])
    Traceback (most recent call last):
    counterpoise.errors.ConstraintError: constraints must leave each feature at least one value; ...
    """
    if bounds not in ("observed", None):
        raise InputError("bounds must be 'observed' or None", f"{bounds!r}", "give single ranges as Range constraints")
    nowhere = np.full((1, len(schema)), np.nan)
    draft, lattice, _ = compile_draft(schema, nowhere, constraints, bounds)
    for column in np.flatnonzero(lattice.is_empty(draft.lower, draft.upper)[0]):
        feature = schema.features[column]
        if draft.choices[column] is not None or draft.is_range_given[:, column].any():
            raise ConstraintError(
                "constraints must leave each feature at least one value",
                f"{' and '.join(dict.fromkeys(draft.constraint_texts[column]))} leave none for {feature.name!r}",
                "drop or widen one of them",
            )
    words = find_contradiction(schema, nowhere, constraints, None)  # the observed range is widened to each row
    if words:
        raise ConstraintError(
            "constraints must leave at least one row",
            f"no row satisfies {' and '.join(words)}",
            "drop or widen one of them",
            words=words,
        )
