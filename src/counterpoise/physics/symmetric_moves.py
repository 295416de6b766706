"""Symmetric moves: from x to y as likely as from y to x, so that Metropolis chains keep the Boltzmann law.

Each is a pure function of points ``(n, k, d)`` of a region and of random numbers that the caller draws. What a move
proposes has the right box, lattice, categories and fixed cells; limits on changed features are left to the energy.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterpoise.physics.fields import append_axes
from counterpoise.space.region.region import Region
from counterpoise.types import Array, Index, Mask


def reflect_and_round(y: Array, region: Region, grid: Index) -> Array:
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


def move_numbers(x: Array, normals: Array, size: Array | float, region: Region, scales: Array, numeric: Mask) -> Array:
    """A normal step of all free numbers at once, reflected at the bounds; on a lattice, of whole counts.

    ``normals`` ``(n, k, d)``; ``size``, a scalar, ``(n,)`` or ``(n, k)``, is in feature scales. A zero among the
    normals leaves that cell where it is, so a step of some features is this one with the others' normals at zero.
    Numbers with listed values are for `redraw_listed_value`.

    >>> import pandas as pd
    >>> from counterpoise.space.schema.schema import Schema
    >>> schema = Schema.infer(pd.DataFrame({"a": [0.0, 1.00001], "b": [0, 9]}), scale="range")
    >>> region = Region.build(schema, np.array([[0.25, 8.0]]))
    >>> move_numbers(region.x0[:, None], np.array([[[-0.5, 0.3]]]), 1.0, region, schema.scales, schema.numeric)
    array([[[0.25, 8.  ]]])
    """
    moving = region.free & numeric
    moving[:, [column for column, _ in region.lattice.choices]] = False
    moves = moving[:, None, :] & (normals != 0) & ~np.isnan(x)
    y = x + np.where(moves, append_axes(size, 3) * scales * normals, 0.0)
    landing = reflect_and_round(y, region, np.arange(len(region.lattice.columns)))
    return region.system.compute_derived(np.where(moves, landing, x))


def find_listed_places(cells: Array, values: Array, span: Index) -> tuple[Index, Mask]:
    """The places of cells ``(n, ...)`` among sorted values, and which are among those that the row's box holds.

    ``span`` ``(n, 2)`` has the places of the first and the last that it holds.
    """
    place = np.searchsorted(values, cells)
    if not len(values):
        return place, np.zeros(cells.shape, dtype=bool)
    first, last = (span[:, end].reshape(-1, *(1,) * (cells.ndim - 1)) for end in (0, 1))
    known = values[np.minimum(place, len(values) - 1)] == cells
    return place, known & (place >= first) & (place <= last)


def redraw_listed_value(x: Array, uniforms: Array, region: Region) -> Array:
    """One category, or number with listed values, drawn anew: every value that the region allows is equally likely.

    ``uniforms`` ``(n, k, 2)`` pick the column, among those free in the row, and the value. The row's own value is one
    of the values even where the list lacks it, unless the column must be on the lattice; a missing cell stays missing.

    >>> import pandas as pd
    >>> from counterpoise.space.schema.schema import Schema
    >>> schema = Schema.infer(pd.DataFrame({"p": ["icmp", "tcp", "udp"]}))
    >>> redraw_listed_value(np.array([[[0.0]]]), np.array([[[0.5, 0.9]]]), Region.build(schema, np.array([[0.0]])))
    array([[[2.]]])
    """
    y = x.copy()
    choices, spans = region.lattice.choices, region.lattice.choice_spans
    columns = np.array([column for column, _ in choices], dtype=np.intp)
    free = region.free[:, columns]
    picked = np.floor(uniforms[..., 0] * free.sum(axis=1)[:, None])
    number = np.cumsum(free, axis=1) - 1  # of each free column among its row's
    for place, ((column, values), span) in enumerate(zip(choices, spans, strict=True)):
        own, first = region.x0[:, column], span[:, 0]
        width = np.maximum(span[:, 1] - first + 1, 0)
        more = ~find_listed_places(own, values, span)[1] & ~np.isnan(own) & ~region.lattice.binds_unchanged[column]
        at = np.floor(uniforms[..., 1] * (width + more)[:, None]).astype(np.intp)
        drawn = np.broadcast_to(own[:, None], at.shape)
        if len(values):
            drawn = np.where(at < width[:, None], values[np.clip(first[:, None] + at, 0, len(values) - 1)], drawn)
        chosen = free[:, None, place] & (picked == number[:, None, place]) & ~np.isnan(x[..., column])
        y[..., column] = np.where(chosen & (width + more > 0)[:, None], drawn, x[..., column])
    return region.system.compute_derived(y)
