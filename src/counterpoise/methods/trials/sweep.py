"""Sweeps: every feature tried alone at a few values, then the most promising changes put together.

The margin is expanded to first order in single-feature changes, the Eq. (2) of models without a slope: what each
candidate value adds to the margin, and what to the effort. For every multiplier of a grid each feature takes the value
that is worth most, and the combinations are tried on the model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.categories import switchable_columns, values_like_reference
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.points import Points, join_points, score_points, stack_rows
from counterpoise.methods.settings.search import DEFAULTS, SearchSettings
from counterpoise.methods.slopes import lattice_unit
from counterpoise.methods.trials.prices import first_order_costs
from counterpoise.methods.trials.screening import list_as_mask, predict_gains, screen_changes
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask, split_rows


class SweepResult(NamedTuple):
    """What a sweep found: the best point around each ``(n, q, d)``, and how much each feature did ``(n, f)``.

    ``combinations`` ``(n, c, d)`` are the single changes put together, as they were tried.
    """

    points: Points
    effect: Array
    combinations: Array


def sweep(
    problem: Problem,
    cells: Cells | None,
    points: Points,
    reach: Array,
    width: int,
    only: Index | None = None,
    settings: SearchSettings = DEFAULTS,
    *,
    is_screened: bool = False,
) -> SweepResult:
    """The best that each of ``points`` ``(n, q, d)`` leads to: all single changes, then combinations of them.

    ``reach`` ``(n,)`` bounds how far from the row a value is worth trying; ``width`` is the number of values each way;
    ``only`` ``(n, g)`` numbers the features of each row to try. A point that nothing around it improves on stays.
    """
    n, q, d = points.x.shape
    tries = list_candidates(problem, cells, points.x, reach, width, settings=settings)
    if not len(tries.places_by_feature):
        return SweepResult(points, np.zeros((n, 0)), points.x[:, :0])
    per_point = tries.places_by_feature.size if only is None else only.shape[1] * tries.places_by_feature.shape[1]
    chunks = split_rows(n, settings.batches.cells, q * d * per_point)
    if len(chunks) > 1:  # rows know nothing of each other
        parts = [
            sweep(
                problem.take(rows),
                cells,
                points.at(rows),
                reach[rows],
                width,
                None if only is None else only[rows],
                settings=settings,
                is_screened=is_screened,
            )
            for rows in chunks
        ]
        effect, tried = (np.concatenate(arrays) for arrays in zip(*(part[1:] for part in parts), strict=True))
        return SweepResult(stack_rows(part.points for part in parts), effect, tried)
    chosen = (
        np.broadcast_to(np.arange(len(tries.places_by_feature)), (n, len(tries.places_by_feature)))
        if only is None
        else only
    )
    place = tries.places_by_feature[chosen]  # (n, g, w)
    g, w = place.shape[1:]
    column = tries.column[place].reshape(n, g * w)
    value = np.take_along_axis(tries.value, place.reshape(n, 1, g * w), axis=2)
    here = np.take_along_axis(points.x, column[:, None, :], axis=2)
    value = _place_values(problem, points.x, column[:, ::w], value.reshape(n, q, g, w)).reshape(n, q, g * w)
    spots, real = _find_distinct_changes(value, here, w)  # (n, q, t) places of changes that are changes, each once
    gain, held = np.zeros(value.shape), here.copy()
    predicted = predict_gains(problem, points, column, value, settings) if is_screened else None
    if predicted is not None:
        gain, held = predicted, np.where(list_as_mask(spots, real, value.shape), value, here)
        spots, real = screen_changes(problem, points, column, value, predicted, spots, real, settings)
    best, pieces = _group_by_point(points, q), -(-spots.size * d // settings.batches.cells)
    for some, told in zip(np.array_split(spots, pieces, axis=2), np.array_split(real, pieces, axis=2), strict=True):
        alone = score_points(problem, _apply_single_changes(points.x, column, value, some))
        t = some.shape[2]
        moved = np.take_along_axis(np.broadcast_to(column[:, None, :], value.shape), some, axis=2)
        rise = (
            to_additive_scale(problem, alone.margin).reshape(n, q, t)
            - to_additive_scale(problem, points.margin)[..., None]
        )
        put = np.take_along_axis(alone.x.reshape(n, q, t, d), moved[..., None], axis=3)[..., 0]
        # what only pads a point's list says nothing, so that no row depends on how long the lists of others are
        np.put_along_axis(gain, some, np.where(told, rise, 0.0), axis=2)
        np.put_along_axis(held, some, np.where(told, put, np.take_along_axis(here, some, axis=2)), axis=2)
        best = join_points(best, _group_by_point(alone, q)).best(1)
    cost = first_order_costs(problem, points.x, column, held)
    room = changes_left(problem, points.x)
    shape = (n, q, g, w)
    combos = combine_changes(
        points, column[:, ::w], held.reshape(shape), gain.reshape(shape), cost.reshape(shape), room, settings=settings
    )
    together = score_points(problem, combos.reshape(n, -1, d))
    best = join_points(best, _group_by_point(together, q)).best(1)
    best = Points(*(array.reshape(n, q, *array.shape[2:]) for array in best))
    effect = np.full((n, len(tries.places_by_feature)), -1.0)  # less than nothing where it was not tried
    np.put_along_axis(effect, chosen, np.abs(gain).reshape(n, q, g, w).max(axis=(1, 3)), axis=1)
    return SweepResult(best, effect, together.x)


def columns_without_relations(problem: Problem, settings: SearchSettings = DEFAULTS) -> Index:
    """The features, numbered as a sweep without cells does, that are worth trying alone beside Taylor steps in L2.

    A column that a relation binds is not, unless its values are far apart: mending takes it back, or moves others
    along, as the steps do.
    """
    bound = np.zeros(len(problem.numeric), dtype=bool)
    bound[list(problem.region.system.clause_set.clauses_by_column)] = True
    bound &= lattice_unit(problem) <= settings.trials.coarse_spacing_scales * problem.scales
    ladder = np.flatnonzero(problem.numeric)
    return np.concatenate([np.flatnonzero(~bound[ladder]), len(ladder) + np.arange(len(switchable_columns(problem)))])


def _place_values(problem: Problem, x: Array, column: Index, value: Array) -> Array:
    """Values ``(n, q, g, w)`` of columns ``(n, g)`` as the region places them around ``x`` ``(n, q, d)``, in order.

    Steps of less than a whole number end where larger ones do: placed before they are tried, each is tried once.
    """
    n, q, _, w = value.shape
    every = np.repeat(x[:, :, None, :], w, axis=2)  # one value of every column at a time: cells are placed one by one
    spot = np.broadcast_to(column[:, None, None, :], (n, q, w, column.shape[1]))
    np.put_along_axis(every, spot, value.swapaxes(2, 3), axis=3)
    placed = problem.region.reflect_onto_lattice(every.reshape(n, q * w, -1)).reshape(every.shape)
    movable = np.take_along_axis(problem.region.free, column, axis=1)[:, None, None, :]
    told = np.where(
        movable, np.take_along_axis(placed, spot, axis=3), np.take_along_axis(x[:, :, None, :], spot, axis=3)
    )
    return np.sort(told.swapaxes(2, 3), axis=-1)


def _find_distinct_changes(value: Array, here: Array, w: int) -> tuple[Index, Mask]:
    """Places ``(n, q, t)`` of values that differ from where the point is and from the one before in their group.

    Points have different numbers of them: beyond its own, a point's list is padded with places that are not real.
    """
    idle = (value == here) | (np.isnan(value) & np.isnan(here))
    grouped = value.reshape(*value.shape[:2], -1, w)
    idle.reshape(grouped.shape)[..., 1:] |= grouped[..., 1:] == grouped[..., :-1]
    count = int((~idle).sum(axis=-1).max(initial=1))
    spots = np.argsort(idle, axis=-1, kind="stable")[..., : max(count, 1)]
    return spots, ~np.take_along_axis(idle, spots, axis=2)


def _apply_single_changes(x: Array, column: Index, value: Array, spots: Index) -> Array:
    """Points ``(n, q * t, d)``: each of ``x`` ``(n, q, d)`` with one change."""
    n, q, t = spots.shape
    single = np.repeat(x[:, :, None, :], t, axis=2)
    at = np.take_along_axis(np.broadcast_to(column[:, None, :], value.shape), spots, axis=2)
    np.put_along_axis(single, at[..., None], np.take_along_axis(value, spots, axis=2)[..., None], axis=3)
    return single.reshape(n, q * t, x.shape[2])


def _group_by_point(points: Points, q: int) -> Points:
    """The points of n rows, in q groups each, as those of n x q rows."""
    return Points(*(array.reshape(len(array) * q, -1, *array.shape[2:]) for array in points))


class Candidates(NamedTuple):
    """Single changes to try: column ``(t,)`` and value ``(n, q, t)`` of each, and those of each feature ``(f, w)``.

    Features have different numbers of values: places beyond a feature's own repeat its last one.
    """

    column: Index
    value: Array
    places_by_feature: Index


def list_candidates(
    problem: Problem, cells: Cells | None, x: Array, reach: Array, width: int, settings: SearchSettings = DEFAULTS
) -> Candidates:
    """The changes worth trying around the points ``x`` ``(n, q, d)``."""
    parts: list[tuple[Index, Array]] = []  # columns (f,) and values (n, q, f, w)
    if cells is None:
        parts.append(_ladder_values(problem, x, reach, width, settings=settings))
    elif len(cells.columns):
        parts.append((cells.columns, _split_point_values(problem, cells, x, reach, width)))
    for column, values in switchable_columns(problem):
        few = values[
            np.linspace(0, len(values) - 1, min(len(values), settings.trials.max_levels_per_sweep)).astype(np.intp)
        ]
        own = np.broadcast_to(problem.x0[:, None, None, None, column], (*x.shape[:2], 1, 1))
        tried = np.broadcast_to(few, (*x.shape[:2], 1, len(few)))
        parts.append((np.array([column]), np.concatenate([tried, own], axis=-1)))
    widest = max((values.shape[-1] for _, values in parts), default=0)
    columns, flat, grouped, start = [np.empty(0, dtype=np.intp)], [np.empty((*x.shape[:2], 0))], [], 0
    for numbers, values in parts:
        f, w = values.shape[2:]
        columns.append(np.repeat(numbers, w))
        flat.append(values.reshape(*x.shape[:2], f * w))
        grouped.append(start + np.arange(f)[:, None] * w + np.minimum(np.arange(widest), w - 1))
        start += f * w
    places = np.concatenate(grouped) if grouped else np.empty((0, 1), dtype=np.intp)
    return Candidates(np.concatenate(columns), np.concatenate(flat, axis=2), places)


def _split_point_values(problem: Problem, cells: Cells, x: Array, reach: Array, width: int) -> Array:
    """Values at split points, near ones densely and far ones sparsely, on both sides; the row's own value last."""
    start, span = problem.x0[:, cells.columns], reach[:, None] * problem.scales[cells.columns]
    home = cells.locate_values(start)
    first = cells.locate_values(np.fmax(problem.region.lower[:, cells.columns], start - span))[:, None, :]
    last = cells.locate_values(np.fmin(problem.region.upper[:, cells.columns], start + span))[:, None, :]
    here = cells.locate_points(x)
    down, up = np.maximum(here - first, 0)[..., None], np.maximum(last - here, 0)[..., None]
    power = np.linspace(0, 1, width)
    below = here[..., None] - np.rint(np.maximum(down, 1) ** power) * (down > 0)
    above = here[..., None] + np.rint(np.maximum(up, 1) ** power) * (up > 0)
    own = np.broadcast_to(home[:, None, :, None], (*here.shape, 1))
    cell = np.concatenate([below, above, own], axis=-1).astype(np.intp)
    return np.moveaxis(cells.nearest_values(np.moveaxis(cell, -1, 2), home, start), 2, -1)


def _ladder_values(
    problem: Problem, x: Array, reach: Array, width: int, settings: SearchSettings = DEFAULTS
) -> tuple[Index, Array]:
    """Steps that grow geometrically on both sides, and shares of the way back to the row; what missing cells may be."""
    columns = np.flatnonzero(problem.numeric)
    here = x[..., columns][..., None]
    start = problem.x0[:, None, columns, None]
    start = np.where(np.isnan(start), here, start)
    step = (reach[:, None, None] * problem.scales[columns])[..., None] * np.geomspace(1e-3, 1.0, width)
    back = start + (here - start) * np.linspace(0, 1, width, endpoint=False)[::-1]
    values = np.concatenate([here - step[:, None, 0], here + step[:, None, 0], back], axis=-1)
    gone = np.isnan(problem.x0[:, columns])
    some = np.flatnonzero(gone.any(axis=0))
    if len(some):
        given = values_like_reference(problem, columns[some], 3 * width - 1, settings=settings)
        given = np.concatenate([given, np.full_like(given[..., :1], np.nan)], axis=2)[:, None]  # or as the row has it
        values[:, :, some] = np.where(gone[:, None, some, None], given, values[:, :, some])
    return columns, values


def to_additive_scale(problem: Problem, margin: Array) -> Array:
    """The margin on the scale where votes add up: probabilities for a forest, decision values otherwise."""
    return np.tanh(margin / 2) if problem.sums_probabilities else margin


def changes_left(problem: Problem, x: Array) -> Array | None:
    """How many more features of points ``x`` ``(n, q, d)`` may change, ``(n, q, 1)``; None where nothing says."""
    if problem.region.max_changes is None:
        return None
    return np.asarray(problem.region.max_changes - np.count_nonzero(problem.region.is_changed(x), axis=-1))[..., None]


def combine_changes(
    points: Points,
    column: Index,
    held: Array,
    gain: Array,
    price: Array,
    room: Array | None,
    settings: SearchSettings = DEFAULTS,
) -> Array:
    """Combinations ``(n, q, m, d)``, one per multiplier: each feature ``(n, g)`` takes the change worth most."""
    n, q = points.margin.shape
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = gain / price
    ratio = np.where(np.isfinite(ratio) & (ratio > 0), ratio, 0.0).reshape(n, q, -1)
    ratio.sort(axis=-1)
    useful = np.maximum(np.count_nonzero(ratio, axis=-1), 1)[..., None]
    rank = np.minimum(np.rint(useful ** np.linspace(0, 1, settings.trials.sweep_multipliers)), useful).astype(np.intp)
    multipliers = np.take_along_axis(ratio, ratio.shape[-1] - rank, axis=-1) * (1 - 1e-9)
    spot = np.broadcast_to(column[:, None, :], (n, q, column.shape[1]))
    here = np.take_along_axis(points.x, spot, axis=2)
    worth = gain[:, :, None] - multipliers[..., None, None] * price[:, :, None]  # (n, q, m, g, w)
    best = worth.argmax(axis=-1)[..., None]
    most = np.take_along_axis(worth, best, axis=-1)[..., 0]
    chosen = most > 0
    if room is not None:  # the changes worth most, as many as are left
        rank = np.argsort(np.argsort(-most, axis=-1, kind="stable"), axis=-1, kind="stable")
        chosen &= rank < np.maximum(room, 1)[:, :, None]
    put = np.take_along_axis(np.broadcast_to(held[:, :, None], worth.shape), best, axis=-1)[..., 0]
    combos = np.repeat(points.x[:, :, None, :], settings.trials.sweep_multipliers, axis=2)
    np.put_along_axis(combos, spot[:, :, None], np.where(chosen, put, here[:, :, None]), axis=3)
    return combos


def max_useful_distance(problem: Problem, effort: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """How far from the row a single change can be worth trying, ``(n,)``: no farther than the incumbent's effort."""
    reach = problem.energy.distance.reach(effort)
    return np.where(np.isfinite(reach), reach, settings.trials.max_change_distance)
