"""Noisy copies made into rows that could be: inside the bounds, on the lattice, with derived features computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from counterpoise.space.region.region import Region
from counterpoise.types import Array, Index, Mask


def find_noisy_cells(x: Array, region: Region, numeric: Mask) -> Mask:
    """Which cells of ``x`` ``(n, k, d)`` are numbers that noise may move."""
    return region.free[:, None, :] & numeric & ~np.isnan(x)


def finish_copies(y: Array, x: Array, draws: Array, region: Region, numeric: Mask, flips: float = 0.0) -> Array:
    """Moved copies ``y`` ``(n, k, m, d)`` of ``x`` ``(n, k, d)``, brought back to rows that could be.

    Numbers are reflected at the region's bounds and rounded, categories change with the chance ``flips``, cells that
    are fixed or missing stay as they are in ``x``, and derived features are computed.
    """
    n, k, m, d = y.shape
    lattice, noisy = region.lattice, find_noisy_cells(x, region, numeric)
    # decimals are how a number is written, not what it can be: whole numbers alone are rounded
    whole = np.flatnonzero(lattice.binds_unchanged[lattice.columns])
    y = _reflect_and_round(y.reshape(n, k * m, d), region, whole).reshape(n, k, m, d)
    for (column, values), span in zip(lattice.choices, lattice.choice_spans, strict=True):
        if noisy[..., column].any():
            y[..., column] = _snap_to_listed(values, y[..., column], span)
    if not noisy.all():
        np.copyto(y, x[:, :, None, :], where=~noisy[:, :, None, :])
        if flips > 0:
            _flip_categories(y, x, draws, region, noisy, flips)
    return region.system.compute_derived(y.reshape(n, k * m, d)).reshape(n, k, m, d)


def _reflect_and_round(y: Array, region: Region, grid: Index) -> Array:
    """Points ``(n, p, d)`` reflected at the box and rounded on ``grid``, places in the columns of the lattice.

    A value of a lattice stands for half a step on either side of it, so there the mirror is half a step outside: the
    reflection of a symmetric law is then as symmetric on the lattice as it is on the line.
    """
    lattice = region.lattice
    columns, unit = lattice.columns[grid], lattice.step[grid] / lattice.divisor[grid]
    first, last = lattice.first_count[:, grid], lattice.last_count[:, grid]
    there = first <= last
    if len(columns):
        lower, upper = region.lower.copy(), region.upper.copy()
        lower[:, columns] = np.where(there, (first - 0.5) * unit, lower[:, columns])
        upper[:, columns] = np.where(there, (last + 0.5) * unit, upper[:, columns])
        region = replace(region, lower=lower, upper=upper)
    y = region.reflect(y)
    if len(columns):
        count = np.rint(y[..., columns] / unit)
        held = np.minimum(np.maximum(count, first[:, None]), last[:, None])
        count = np.where(there[:, None], held, count)
        y[..., columns] = count * lattice.step[grid] / lattice.divisor[grid]
    return y


def _snap_to_listed(values: Array, cells: Array, span: Index) -> Array:
    """The nearest of the listed values that each row's box holds, for cells ``(n, k, m)``."""
    middles = (values[1:] + values[:-1]) / 2
    place = np.searchsorted(middles, cells)
    held = np.clip(place, span[:, 0, None, None], np.maximum(span[:, 0], span[:, 1])[:, None, None])
    return np.asarray(values[np.minimum(held, len(values) - 1)])


def _flip_categories(y: Array, x: Array, draws: Array, region: Region, noisy: Mask, flips: float) -> None:
    """Categories become another that the region allows, each of them equally likely, with the given chance."""
    for (column, values), span in zip(region.lattice.choices, region.lattice.choice_spans, strict=True):
        cells = x[..., column]
        may = region.free[:, None, column] & ~np.isnan(cells) & ~noisy[..., column]
        first, last = span[:, 0, None], span[:, 1, None]
        present, listed = _find_listed_places(cells, values, span)
        other_count = np.maximum(last - first + 1 - listed, 0)
        u = ndtr(draws[:, None, :, column]) / flips
        place = first[..., None] + np.floor(u * other_count[..., None]).astype(np.intp)
        place += listed[..., None] & (place >= present[..., None])  # its own place is passed over
        hit = (u < 1) & (other_count > 0)[..., None] & may[..., None]
        if hit.any():
            np.copyto(y[..., column], values[np.where(hit, place, 0)], where=hit)


def _find_listed_places(cells: Array, values: Array, span: Index) -> tuple[Index, Mask]:
    """The places of cells ``(n, ...)`` among sorted values, and which are among those that the row's box holds.

    ``span`` ``(n, 2)`` has the places of the first and the last that it holds.
    """
    place = np.searchsorted(values, cells)
    if not len(values):
        return place, np.zeros(cells.shape, dtype=bool)
    first, last = (span[:, end].reshape(-1, *(1,) * (cells.ndim - 1)) for end in (0, 1))
    known = values[np.minimum(place, len(values) - 1)] == cells
    return place, known & (place >= first) & (place <= last)
