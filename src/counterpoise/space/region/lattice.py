"""The lattice: the values a cell can hold at all (whole numbers, steps, decimals, a narrow dtype, listed values)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from counterpoise.space.constraints.draft import Draft
from counterpoise.space.region.draft_lattice import column_steps, count_from_rows, has_lattice, listed_span
from counterpoise.space.region.rounding import CodeColumns, nearest_listed, round_to_dtype
from counterpoise.space.rules.relations import equation_columns
from counterpoise.types import Array, Index, Mask

MAX_EXACT_COUNT = 2.0**52  # beyond this many counts a double has no digits left to round


@dataclass(frozen=True, eq=False)
class Lattice:
    """How cells are rounded, column by column, inside the box of each row.

    A step (whole numbers) and values that the user lists bind every answer. Decimals, the dtype, and the numbers and
    categories that were seen are about how a new value is written: a cell that keeps the row's value keeps its bits.
    """

    columns: Index  # (g,) columns on a grid: values are origin + count * step / parts
    place_by_column: Index  # (d,) where a column stands among these; -1: nowhere
    step: Array  # (g,)
    divisor: Array  # (g,)
    origin: Array  # (n, g) 0, or the row's own value where steps count from there
    first_count: Array  # (n, g) the least and the greatest count that the box holds; first > last: none
    last_count: Array  # (n, g)
    row_cells: Array  # (n, g) the row's own values
    row_count: Array  # (n, g) the count that is written as the row's own value is, and is not quite it; NaN: none
    binds_unchanged: Mask  # (d,) columns where an unchanged cell must be on the lattice too
    narrow_floats: tuple[tuple[int, np.dtype[Any]], ...]  # columns of a float dtype below double precision
    choices: tuple[tuple[int, Array], ...]  # columns with listed values, sorted
    choice_spans: tuple[Index, ...]  # for each of them the places (n, 2) of the first and last value that the box holds

    @cached_property
    def cache_key(self) -> bytes:
        """A key of everything that limits the values of columns in all rows."""
        listed, values = zip(*self.choices, strict=True) if self.choices else ((), ())
        arrays = self.columns, self.step, self.divisor, *values
        return b"|".join([repr((self.narrow_floats, listed)).encode(), *(array.tobytes() for array in arrays)])

    @classmethod
    def of(cls, draft: Draft, choices: list[Array | None], is_derived: Mask) -> Lattice:
        """The lattice of a draft whose box is complete: the user's steps, ``choices`` by column, decimals, dtypes.

        A column that ``is_derived`` ``(d,)`` is what its expression says, whatever the decimals of the others.
        """
        schema, d = draft.schema, len(draft.schema)
        if not has_lattice(draft):
            nothing = np.empty((len(draft.x0), 0))
            spots = np.arange(0), np.full(d, -1), np.empty(0), np.empty(0)
            counts = nothing, nothing, nothing, nothing, nothing
            return cls(*spots, *counts, np.zeros(d, dtype=bool), (), (), ())
        step = column_steps(draft)
        listed = np.array([values is not None for values in choices], dtype=bool)
        divisors = np.where(is_derived, 0.0, schema.decimal_divisors)
        loose = (divisors == 0) & ~np.isin(np.arange(d), list(equation_columns(draft.relations)))
        divisors[loose] = schema.resolution_divisors[loose]
        columns = np.flatnonzero(((step > 0) | (divisors > 0)) & ~listed)
        picked = tuple((number, values) for number, values in enumerate(choices) if values is not None)
        by_user = np.array([values is not None for values in draft.choices])
        empty = np.zeros((len(draft.x0), len(columns)))
        places = np.full(d, -1)
        places[columns] = np.arange(len(columns))
        origin = count_from_rows(draft, places, empty.copy())
        on_step = step[columns] > 0
        lattice = cls(
            columns,
            places,
            np.where(on_step, step[columns], 1.0),
            np.where(on_step, 1.0, divisors[columns]),
            origin,
            empty,
            empty,
            draft.x0[:, columns],
            np.full(empty.shape, np.nan),
            np.array(by_user | ((step > 0) & ~(listed & (draft.step == 0)))).reshape(d),
            schema.narrow_floats,
            picked,
            tuple(listed_span(draft, number, values) for number, values in picked),
        )
        if not len(columns):
            return lattice
        first, last = lattice._count_range(draft.lower[:, columns], draft.upper[:, columns])
        row_values = lattice.row_cells
        count = lattice._nearest_counts(row_values, origin)
        is_beside = (lattice._values_at(count, origin) != row_values) & ~lattice.binds_unchanged[columns]
        is_beside &= (row_values >= draft.lower[:, columns]) & (row_values <= draft.upper[:, columns])
        count = np.where(is_beside, count, np.nan)
        return replace(lattice, first_count=first, last_count=last, row_count=count)

    @property
    def choices_to_draw(self) -> tuple[tuple[int, Array], ...]:
        """Columns with at least one listed value; a column that is missing everywhere has no values."""
        return tuple((column, values) for column, values in self.choices if len(values))

    @property
    def is_unrestricted(self) -> bool:
        """Whether a cell can hold any number."""
        return not (len(self.columns) or self.narrow_floats or self.choices)

    @cached_property
    def has_exact_counts(self) -> bool:
        """Whether every box holds a count, and none that a double has no digits left for."""
        ends = max(np.abs(self.first_count).max(initial=0.0), np.abs(self.last_count).max(initial=0.0))
        return bool((self.first_count <= self.last_count).all() and ends < MAX_EXACT_COUNT)

    @cached_property
    def counts_from_zero(self) -> bool:
        """Whether every column counts from 0."""
        return not self.origin.any()

    @cached_property
    def has_rows_beside(self) -> bool:
        """Whether a row has digits beyond its column's decimals: the value without them is no change to be told."""
        return bool((~np.isnan(self.row_count)).any())

    @cached_property
    def code_columns(self) -> CodeColumns:
        """The columns whose listed values are 0, 1, 2, …, as the codes of categories are: rounded all at once."""
        return CodeColumns.of(self.choices, self.choice_spans)

    def take(self, rows: Index) -> Lattice:
        """The lattice of some of the rows."""
        spans = tuple(span[rows] for span in self.choice_spans)
        return replace(
            self,
            origin=self.origin[rows],
            first_count=self.first_count[rows],
            last_count=self.last_count[rows],
            row_cells=self.row_cells[rows],
            row_count=self.row_count[rows],
            choice_spans=spans,
        )

    def round(self, x: Array, x0: Array, lower: Array, upper: Array) -> Array:
        """``x`` ``(n, k, d)``, which lies in the box ``(n, d)``, on the lattice; still in the box where it has a point.

        Cells that equal the row's ``x0`` ``(n, d)`` stay as they are, except where the lattice binds every answer.
        """
        if self.is_unrestricted:
            return x
        y, start = x.copy(), x0[:, None, :]
        same = x == start
        moved = (~same.all(axis=(0, 1)) | self.binds_unchanged).tolist()
        for column, dtype in self.narrow_floats:
            y[..., column] = round_to_dtype(x[..., column], dtype, lower[:, None, column], upper[:, None, column])
        if len(self.columns):
            origin = self.origin[:, None, :]
            count = self._nearest_counts(x[..., self.columns], origin)
            np.maximum(count, self.first_count[:, None, :], out=count)
            np.minimum(count, self.last_count[:, None, :], out=count)
            value = self._values_at(count, origin)
            if not self.has_exact_counts:
                rounded = (self.first_count <= self.last_count)[:, None, :] & (np.abs(count) < MAX_EXACT_COUNT)
                value = np.where(rounded, value, y[..., self.columns])
            if self.has_rows_beside:
                value = np.where(count == self.row_count[:, None, :], self.row_cells[:, None, :], value)
            y[..., self.columns] = value
        codes = self.code_columns
        if len(codes.columns):
            y[..., codes.columns] = codes.round(x[..., codes.columns])
        for number in codes.other_choices:
            (column, values), span = self.choices[number], self.choice_spans[number]
            if moved[column]:
                y[..., column] = nearest_listed(values, x[..., column], span[:, None, 0], span[:, None, 1])
        if self.binds_unchanged.all():
            return y
        return np.where(same & ~self.binds_unchanged, start, y)

    def is_off_lattice(self, x: Array, changed: Mask) -> Mask:
        """Which cells of ``x`` ``(n, k, d)`` are off the lattice; ``changed`` says which differ from the row."""
        off = np.zeros(x.shape, dtype=bool)
        if self.is_unrestricted:
            return off
        for column, dtype in self.narrow_floats:
            with np.errstate(over="ignore"):
                off[..., column] = x[..., column].astype(dtype) != x[..., column]
        if len(self.columns):
            cells = x[..., self.columns]
            origin = self.origin[:, None, :]
            count = self._nearest_counts(cells, origin)
            written = (self._values_at(count, origin) != cells) & (np.abs(count) < MAX_EXACT_COUNT)
            off[..., self.columns] |= written & (
                (self.first_count <= self.last_count)[:, None, :] | self.binds_unchanged[self.columns]
            )
            if self.has_rows_beside:
                off[..., self.columns] |= count == self.row_count[:, None, :]
        codes = self.code_columns
        if len(codes.columns):
            cells = x[..., codes.columns]
            off[..., codes.columns] = (cells < 0) | (cells > codes.greatest_code) | (cells != np.rint(cells))
        for number in codes.other_choices:
            column, values = self.choices[number]
            if len(values):  # they are sorted
                at = np.minimum(values.searchsorted(x[..., column]), len(values) - 1)
                off[..., column] = values[at] != x[..., column]
            else:
                off[..., column] = True
        return off & ~np.isnan(x) & (changed | self.binds_unchanged)

    def is_empty(self, lower: Array, upper: Array) -> Mask:
        """Which boxes ``(n, d)`` hold no value at all that a changed cell could take."""
        none = lower > upper
        if len(self.columns):
            bound = self.binds_unchanged[self.columns]
            none[:, self.columns[bound]] |= (self.first_count > self.last_count)[:, bound]
        for (column, _), span in zip(self.choices, self.choice_spans, strict=True):
            none[:, column] |= span[:, 0] > span[:, 1]
        return none

    def snap(self, column: int, values: Array, rows: Index) -> Array:
        """Values ``(p,)`` of one column, in the boxes of these rows ``(p,)``, on the lattice."""
        choice, dtype = self._choices_and_dtypes[column]
        if choice is not None:
            span = self.choice_spans[choice][rows]
            return nearest_listed(self.choices[choice][1], values, span[:, 0], span[:, 1])
        place = int(self.place_by_column[column])
        out = self._on_grid(values, rows, place) if place >= 0 else values.copy()
        return out if dtype is None else out.astype(dtype).astype(np.float64)

    def snap_cells(self, columns: Index, values: Array, rows: Index) -> Array:
        """Values ``(p,)`` of these columns ``(p,)``, in the boxes of these rows ``(p,)``, on the lattice."""
        out = values.copy()
        gridded = np.flatnonzero(self.place_by_column[columns] >= 0)
        out[gridded] = self._on_grid(values[gridded], rows[gridded], self.place_by_column[columns[gridded]])
        for column in dict.fromkeys([column for column, _ in (*self.narrow_floats, *self.choices)]):
            mine = np.flatnonzero(columns == column)
            if len(mine):
                out[mine] = self.snap(column, values[mine], rows[mine])
        return out

    def _on_grid(self, values: Array, rows: Index, place: int | Index) -> Array:
        """Values ``(p,)`` of columns that have these places on the grid; as they are where the box has no count."""
        step, parts, origin = self.step[place], self.divisor[place], self.origin[rows, place]
        first, last = self.first_count[rows, place], self.last_count[rows, place]
        count = np.minimum(np.maximum(np.rint((values - origin) * parts / step), first), last)
        made = origin + count * step / parts
        if self.has_rows_beside:
            made = np.where(count == self.row_count[rows, place], self.row_cells[rows, place], made)
        return np.where((first <= last) & (np.abs(count) < MAX_EXACT_COUNT), made, values)

    @cached_property
    def _choices_and_dtypes(self) -> list[tuple[int | None, np.dtype[Any] | None]]:
        """For each column: its place among the choices, and its narrow dtype or None."""
        places, dtypes = {column: place for place, (column, _) in enumerate(self.choices)}, dict(self.narrow_floats)
        return [(places.get(column), dtypes.get(column)) for column in range(len(self.place_by_column))]

    def spacing(self, column: int) -> float:
        """The distance between neighbouring values of a column; 0 where it has no lattice."""
        for listed, values in self.choices:
            if listed == column:
                return float(np.diff(values).min()) if len(values) > 1 else 1.0
        place = self.place_by_column[column]
        return float(self.step[place] / self.divisor[place]) if place >= 0 else 0.0

    @cached_property
    def units(self) -> Array:
        """The distance between neighbouring values of each column, ``(d,)``, of a list in the mean; 0: no lattice."""
        unit = np.zeros(len(self.place_by_column))
        unit[self.columns] = self.step / self.divisor
        for column, values in self.choices:
            unit[column] = np.ptp(values) / (len(values) - 1) if len(values) > 1 else 0.0
        return unit

    def neighbours(self, x: Array, upwards: Array) -> Array:
        """The values next to those of ``x`` ``(n, k, d)``, where ``upwards`` is above 0 on the side of larger ones."""
        y = x + np.sign(upwards) * self.units
        for column, values in self.choices:
            if not len(values):  # no value was ever seen: there is none to go to
                y[..., column] = x[..., column]
                continue
            cells, up = x[..., column], upwards[..., column]
            above = np.minimum(np.searchsorted(values, cells, side="right"), len(values) - 1)
            below = np.maximum(np.searchsorted(values, cells, side="left") - 1, 0)
            y[..., column] = np.where(up > 0, values[above], np.where(up < 0, values[below], cells))
        return y

    def _nearest_counts(self, cells: Array, origin: Array) -> Array:
        with np.errstate(over="ignore"):
            count: Array = (cells if self.counts_from_zero else cells - origin) * self.divisor
            count /= self.step
            return np.rint(count, out=count)

    def _values_at(self, count: Array, origin: Array) -> Array:
        """The numbers at these counts, ``(..., g)``, as the columns' dtypes hold them."""
        value: Array = count * self.step
        value /= self.divisor
        if not self.counts_from_zero:
            value += origin
        places = {column: place for place, column in enumerate(self.columns.tolist())} if self.narrow_floats else {}
        for column, dtype in self.narrow_floats:
            if column in places:
                with np.errstate(over="ignore"):
                    value[..., places[column]] = value[..., places[column]].astype(dtype)
        return value

    def _count_range(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """The least and the greatest count whose value lies in ``[lower, upper]``, each ``(n, g)``."""
        origin = self.origin
        first, last = self._nearest_counts(lower, origin), self._nearest_counts(upper, origin)
        for _ in range(2):  # a count is at most one off by rounding, two in a dtype that rounds again
            first = np.where(self._values_at(first - 1.0, origin) >= lower, first - 1.0, first)
            last = np.where(self._values_at(last + 1.0, origin) <= upper, last + 1.0, last)
        for _ in range(3):
            first = np.where(self._values_at(first, origin) < lower, first + 1.0, first)
            last = np.where(self._values_at(last, origin) > upper, last - 1.0, last)
        held = (self._values_at(first, origin) >= lower) & (self._values_at(last, origin) <= upper)
        return np.where(held, first, 1.0), np.where(held, last, 0.0)
