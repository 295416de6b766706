"""Places: what each free column of each row can be, as arrays, with the base measure of the ensemble.

Place 0 is the row's own value (unchanged, weight 1); places 1, 2, … are what the column can be changed to, together of
weight 1 as well, spread as the reference has its values. A place is one value (a category, a listed value, a whole
number, a cell between two split points of trees, which its value nearest to the row stands for) or an interval in which
the base measure is uniform. Columns that relations determine, or that are fixed, have place 0 alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from counterpoise.methods.cell_values import Cells
from counterpoise.methods.sampler.column_places import ColumnPlaces, list_lattice_values
from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.problem import Problem
from counterpoise.space.nearest_rows import spread_places
from counterpoise.space.region.determined import DeterminedColumns
from counterpoise.space.rules.relations import FunctionRelation
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class Places:
    """The places of n rows and d columns; m is the largest number of places of a column, 0 not counted."""

    near: Array  # (n, d, m + 1) nearer end of each place, the row's own value first
    far: Array  # (n, d, m + 1) the end farther from the row; equal to ``near`` for single values
    upper: Array  # (n, d, m) largest value that belongs to each place from 1 on; infinity in the empty ones
    log_weight: Array  # (n, d, m + 1) logarithm of the base measure; -inf where there is no such place
    count: Index  # (n, d) places from 1 on
    below: Index  # (n, d) how many of them lie below the row's own value
    unit: Array  # (n, d) distance of neighbouring values inside an interval; 0: any number
    is_nominal: Mask  # (d,) columns without an order
    determined: DeterminedColumns

    @cached_property
    def transfers(self) -> tuple[tuple[int, int], ...]:
        """Pairs of columns that one equation relates and that are not determined by it in every row."""
        open_columns = set(np.flatnonzero(self.is_open.any(axis=0)).tolist())
        pairs: set[tuple[int, int]] = set()
        for equation in self.determined.equations:
            pairs |= set(combinations(sorted(open_columns & equation.columns), 2))
        return tuple(sorted(pairs))

    def shift_position(self, rows: Index, columns: Index, place: Index, by: Index) -> Index:
        """The places so many steps on, the row's own value being a step too; -1: there is none. All shapes alike."""
        below, count = self.below[rows, columns], self.count[rows, columns]
        position = np.where(place == 0, below, np.where(place <= below, place - 1, place)) + by
        then = np.where(position == below, 0, np.where(position < below, position + 1, position))
        has_own = np.isfinite(self.log_weight[rows, columns, 0])
        return np.where((position < 0) | (position > count) | ((then == 0) & ~has_own), -1, then)

    @classmethod
    def of(cls, problem: Problem, lengths: Array, settings: SamplerSettings) -> Places:
        """The places of a problem's rows; ``lengths`` ``(n,)`` are those of their answers, in units of distance."""
        determined = DeterminedColumns.of(problem.region)
        builder = _Builder(problem, settings)
        n, d = problem.x0.shape
        open_cells = problem.region.free & ~determined.is_determined
        found = {
            (row, column): builder.build(row, column, lengths[row]) for row, column in np.argwhere(open_cells).tolist()
        }
        m = max((len(each.near) for each in found.values()), default=0)
        row_values = problem.x0[:, :, None]
        near, far = row_values.repeat(m + 1, axis=2), row_values.repeat(m + 1, axis=2)
        upper, log_weight = np.full((n, d, m), np.inf), np.full((n, d, m + 1), -np.inf)
        count, below, unit = np.zeros((n, d), dtype=np.intp), np.zeros((n, d), dtype=np.intp), np.zeros((n, d))
        broken = problem.region.is_broken(problem.x0[:, None, :])[:, 0]
        log_weight[..., 0] = np.where(broken & open_cells, -np.inf, 0.0)
        for (row, column), each in found.items():
            size = len(each.near)
            near[row, column, 1 : size + 1], far[row, column, 1 : size + 1] = each.near, each.far
            upper[row, column, :size], log_weight[row, column, 1 : size + 1] = each.upper, np.log(each.weight)
            count[row, column], unit[row, column] = size, each.unit
            below[row, column] = np.count_nonzero(each.near < problem.x0[row, column])
        nominal = problem.energy.distance.nominal
        return cls(near, far, upper, log_weight, count, below, unit, nominal, determined)

    def take(self, rows: Index) -> Places:
        """The places of some rows."""
        arrays = {
            name: getattr(self, name)[rows] for name in ("near", "far", "upper", "log_weight", "count", "below", "unit")
        }
        return replace(self, **arrays, determined=self.determined.take(rows))

    @property
    def is_open(self) -> Mask:
        """Columns that can be changed at all, ``(n, d)``."""
        return np.asarray(self.count > 0)

    @cached_property
    def is_listed(self) -> Mask:
        """Rows ``(n,)`` whose places are all single values, so that places alone make a point."""
        return np.asarray(
            ((self.near == self.far) | (self.log_weight == -np.inf) | np.isnan(self.near)).all(axis=(1, 2))
        )

    def locate(self, x: Array) -> Index:
        """The places ``(n, k, d)`` of points ``x`` ``(n, k, d)``; a column without places is in place 0."""
        start = self.near[:, None, :, 0]
        place = np.zeros(x.shape, dtype=np.intp)
        for row, column in np.argwhere(self.is_open).tolist():
            size = self.count[row, column]
            found = np.searchsorted(self.upper[row, column, :size], x[row, :, column])
            place[row, :, column] = np.minimum(found, size - 1) + 1
        unchanged = (x == start) | (np.isnan(x) & np.isnan(start)) | ~self.is_open[:, None, :]
        return np.where(unchanged, 0, place)

    def far_values(self, place: Index) -> Array:
        """The values ``(n, k, d)`` that stand for places ``(n, k, d)`` on the graph of neighbours: their far ends."""
        return np.take_along_axis(self.far[:, None], place[..., None], axis=3)[..., 0]

    def settle(self, x: Array) -> Array:
        """Points ``(n, k, d)`` with what relations determine computed."""
        return self.determined.compute(x) if len(self.determined.region.system) else x

    def draw_values(self, rows: Index, columns: Index, place: Index, u: Array) -> Array:
        """A value of each place of these rows and columns, drawn by uniform numbers ``u``; all shapes alike."""
        near, far = self.near[rows, columns, place], self.far[rows, columns, place]
        wide = np.nonzero((near != far) & (place > 0))
        if not len(wide[0]):
            return near
        owners, mine, start = np.broadcast_to(rows, u.shape)[wide], columns[wide], near[wide]
        width, unit, u = far[wide] - start, self.unit[owners, mine], u[wide]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = np.rint(np.abs(width) / unit) + 1
            steps = np.minimum(np.floor(u * values), values - 1) * unit
        drawn = np.where(unit > 0, start + np.sign(width) * np.where(unit > 0, steps, 0.0), start + width * (1 - u))
        near[wide] = self.determined.region.lattice.snap_cells(mine, drawn, owners)
        return near

    def is_inside(self, x: Array) -> Mask:
        """Which settled points ``(n, k, d)``, made of places, the region allows, ``(n, k)``."""
        region = self.determined.region
        inside: Mask = region.feasible[:, None].repeat(x.shape[1], axis=1)
        if region.max_changes is not None:
            inside &= region.has_few_changes(x)
        if len(region.system):
            inside &= region.contains(x)
        return inside


class _Builder:
    """Builds the places of one row and column at a time; what all rows share is made once."""

    def __init__(self, problem: Problem, settings: SamplerSettings) -> None:
        self.problem, self.settings, self.cells = problem, settings, Cells.of(problem)
        self.place_of_column = {} if self.cells is None else {c: p for p, c in enumerate(self.cells.columns.tolist())}
        self.has_splits = self.cells is not None
        lattice, system = problem.region.lattice, problem.region.system
        self.listed = {
            column: (values, span) for (column, values), span in zip(lattice.choices, lattice.choice_spans, strict=True)
        }
        self.related = set(system.clause_set.clauses_by_column)
        self.related |= {c for derivation in system.derivations for c in derivation.expression.columns}
        if any(isinstance(relation, FunctionRelation) for relation in system.relations):
            self.related |= set(range(problem.x0.shape[1]))
        rows = problem.reference_rows.x
        self.reference = rows[spread_places(len(rows), settings.reference_rows)] if len(rows) else rows
        self._reference_columns: dict[int, Array] = {}

    def reference_column(self, column: int) -> Array:
        """The reference's values of a column, sorted, without missing ones."""
        if column not in self._reference_columns:
            values = self.reference[:, column] if len(self.reference) else np.empty(0)
            self._reference_columns[column] = np.sort(values[~np.isnan(values)])
        return self._reference_columns[column]

    def build(self, row: int, column: int, length: float) -> ColumnPlaces:
        """The places of a free column of a row."""
        region, row_value = self.problem.region, self.problem.x0[row, column]
        low, high = region.lower[row, column], region.upper[row, column]
        reference = self.reference_column(column)
        if column in self.listed:
            listed, span = self.listed[column]
            mine = listed[span[row, 0] : span[row, 1] + 1]
            return ColumnPlaces.of_values(mine[mine != row_value], reference)
        place = region.lattice.place_by_column[column]
        origin = float(region.lattice.origin[row, place]) if place >= 0 else 0.0
        if self.has_splits and column not in self.related and not origin and not np.isnan(row_value):
            return self._build_split_cells(column, row_value, low, high, reference)
        unit = region.lattice.spacing(column)
        values = self._list_values(row, column, unit, origin) if unit else None
        if values is not None:
            return ColumnPlaces.of_values(values[values != row_value], reference)
        return self._build_intervals(row, column, length, unit, origin)

    def _list_values(self, row: int, column: int, unit: float, origin: float) -> Array | None:
        """The values of a column on a lattice of that unit; None where they are too many for a place each."""
        lattice, most = self.problem.region.lattice, self.settings.max_listed_values
        place = lattice.place_by_column[column]
        first, last = lattice.first_count[row, place], lattice.last_count[row, place]
        values = list_lattice_values(first, last, unit, origin, most)
        return None if values is None else lattice.snap(column, values, np.full(len(values), row))

    def _build_intervals(self, row: int, column: int, length: float, unit: float, origin: float) -> ColumnPlaces:
        """Intervals from the row's own value to both ends of its box, their width a share of ``length``."""
        reference, lattice = self.reference_column(column), self.problem.region.lattice
        scale = self.problem.energy.distance.unit[column]
        start, (low, high) = self._start_and_ends(row, column, scale)
        if np.isnan(self.problem.x0[row, column]):  # where intervals begin is a value that the cell can have
            start -= unit / 2
        elif not low <= start <= high:  # a row outside its box: the values begin at the end of the box
            start = low - unit if start < low else high + unit
        width = self.settings.resolution * scale * (length if np.isfinite(length) and length > 0 else 1.0)
        made = ColumnPlaces.of_intervals(start, (low, high), max(width, unit), reference, self.settings, unit, origin)
        owners = np.full(len(made.near), row)
        near, far = (lattice.snap(column, ends, owners) for ends in (made.near, made.far))
        return replace(made, near=near, far=far, upper=np.maximum(near, far) if unit else made.upper)

    def _start_and_ends(self, row: int, column: int, scale: float) -> tuple[float, tuple[float, float]]:
        """Where intervals begin (the row's value, else the reference's median), and the finite ends of its box."""
        region, row_value = self.problem.region, self.problem.x0[row, column]
        reference = self.reference_column(column)
        start = row_value if not np.isnan(row_value) else float(np.median(reference)) if len(reference) else 0.0
        least, most = (reference.min(), reference.max()) if len(reference) else (start, start)
        low, high = region.lower[row, column], region.upper[row, column]
        low = low if np.isfinite(low) else min(least, start) - 3 * scale
        high = high if np.isfinite(high) else max(most, start) + 3 * scale
        return start, (low, high)

    def _build_split_cells(
        self, column: int, row_value: float, low: float, high: float, reference: Array
    ) -> ColumnPlaces:
        """One place for each cell between split points that holds an allowed value; the row's own cell has none."""
        if column not in self.place_of_column:
            return ColumnPlaces.of_values(np.empty(0), reference)
        assert self.cells is not None
        at = self.place_of_column[column]
        size = self.cells.split_counts[at]
        edges = self.cells.edges[at, :size]
        home = int(np.searchsorted(edges, row_value))
        below = np.minimum(self.cells.values_below[at, :home], high)  # of cells 0 … home - 1
        above = np.maximum(self.cells.values_above[at, home:size], low)  # of cells home + 1 … size
        lows = np.concatenate([[-np.inf], edges])
        values = np.concatenate([below, above])
        cell = np.concatenate([np.arange(home), np.arange(home + 1, size + 1)])
        ends = np.append(edges, np.inf)[cell]
        # the row is outside its own box: the nearest value may lie inside a cell
        if low > row_value or high < row_value:
            values = np.clip(values, low, high)
        held = (values >= low) & (values <= high) & (values > lows[cell]) & (values <= ends) & (values != row_value)
        return ColumnPlaces.of_values(values[held], reference, (lows[cell][held], ends[held]))
