"""Other categories, and values for missing cells, for methods that otherwise move numbers alone."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.problem import Problem
from counterpoise.space.nearest_rows import spread_places
from counterpoise.types import Array, Index, Mask, has_no_missing


def switchable_columns(problem: Problem) -> list[tuple[int, Array]]:
    """The columns of categories that have a choice of values, and these; which of its cells may change, a row says."""
    return [
        (column, values)
        for column, values in problem.region.lattice.choices_to_draw
        if not problem.numeric[column] and len(values) > 1
    ]


def redraw_categories(problem: Problem, x: Array, draws: Array, taken: Mask) -> Array:
    """Points ``x`` ``(n, k, d)`` whose ``taken`` categories have a random allowed value, by uniform ``draws``.

    A cell that may not change, or is missing, stays as it is; ``draws`` and ``taken`` are ``(n, k, d)``.
    """
    y = np.array(np.broadcast_to(x, draws.shape))
    for column, values in switchable_columns(problem):
        cells = y[..., column]
        open_cells = taken[..., column] & problem.region.free[:, None, column] & ~np.isnan(cells)
        y[..., column] = np.where(open_cells, values[(draws[..., column] * len(values)).astype(np.intp)], cells)
    return y


def switch_single_categories(problem: Problem, x: Array) -> Array:
    """Points ``x`` ``(n, d)`` with one category switched, every allowed value of every column, ``(n, s, d)``."""
    n, d = x.shape
    parts = [np.empty((n, 0, d))]
    for column, values in switchable_columns(problem):
        tried = np.repeat(x[:, None, :], len(values), axis=1)
        may = problem.region.free[:, column] & ~np.isnan(x[:, column])
        tried[..., column] = np.where(may[:, None], values, x[:, None, column])
        parts.append(tried)
    return np.concatenate(parts, axis=1)


def values_like_reference(problem: Problem, columns: Index, count: int, settings: SearchSettings = DEFAULTS) -> Array:
    """``count`` numbers that the rows' cells of some columns ``(f,)`` can hold, ``(n, f, count)``.

    They are spread as those of the reference are, from one end of what is allowed to the other. What a missing cell is
    given costs the same whatever it is, so the best value may be far from all others.
    """
    low, high = problem.region.lower[:, columns, None], problem.region.upper[:, columns, None]
    known = problem.reference_rows.x[
        spread_places(len(problem.reference_rows.x), settings.starts.filling_reference_rows)
    ][:, columns]
    share, scale = np.linspace(0, 1, count), problem.scales[columns]
    levels = np.linspace(-2, 2, count) * scale[:, None]
    if len(known) and has_no_missing(known):
        levels = np.quantile(known, share, axis=0).T
    else:
        for place in np.flatnonzero(~np.isnan(known).all(axis=0)) if len(known) else ():
            levels[place] = np.nanquantile(known[:, place], share)
    found = np.minimum(np.maximum(levels, low), high)
    for end, value in ((0, low[..., 0]), (-1, high[..., 0])):  # where only a dtype bounds a column there is no end
        near = np.abs(value - levels[:, end]) <= settings.starts.unbounded_scales * scale
        found[..., end] = np.where(near, value, found[..., end])
    return found


def fill_missing_cells(problem: Problem, x: Array, settings: SearchSettings = DEFAULTS) -> tuple[Array, Mask]:
    """Points ``x`` ``(n, d)`` with one missing number given a value, ``(n, s, d)``, and which of them are real.

    Only the first ``max_filled_cells`` missing cells of a row are given one. Rows with fewer of them than others are
    repeated as they are: those points must not count, or a row would depend on the others.
    """
    n, d = x.shape
    gone = np.isnan(x) & problem.region.free & problem.numeric
    count = int(min(gone.sum(axis=1).max(initial=0), settings.starts.max_filled_cells))
    columns = np.argsort(~gone, axis=1, kind="stable")[:, :count]
    rows, slots = np.arange(n)[:, None], np.arange(count)
    real = gone[rows, columns]
    tried = np.repeat(x, count * settings.starts.fillings_per_cell, axis=0).reshape(
        n, count, settings.starts.fillings_per_cell, d
    )
    if count:
        used = np.unique(columns)
        value = values_like_reference(problem, used, settings.starts.fillings_per_cell, settings=settings)[
            rows, np.searchsorted(used, columns)
        ]  # (n, c, FILLED)
        tried[rows, slots, :, columns] = np.where(real[..., None], value, tried[rows, slots, :, columns])
    return tried.reshape(n, count * settings.starts.fillings_per_cell, d), real.repeat(
        settings.starts.fillings_per_cell, axis=1
    )
