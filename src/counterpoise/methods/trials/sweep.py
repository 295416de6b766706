"""Sweeps: every feature tried alone at a few values, then the most promising changes put together.

The margin is expanded to first order in single-feature changes, the Eq. (2) of models without a slope: what each
candidate value adds to the margin, and what to the effort. For every multiplier of a grid each feature takes the value
that is worth most, and the combinations are tried on the model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.categories import switchable_columns
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.points import Points, join_points, score_points, stack_rows
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.slopes import lattice_unit
from counterpoise.methods.surrogate import to_fitted_scale
from counterpoise.methods.trials.candidates import Candidates, find_distinct_changes, list_candidates, place_values
from counterpoise.methods.trials.prices import first_order_costs
from counterpoise.methods.trials.remembered_gains import RememberedGains
from counterpoise.methods.trials.screening import CellChanges, predict_gains, screen_changes
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, split_rows


class SweepResult(NamedTuple):
    """What a sweep found: the best point around each ``(n, q, d)``, and how much each feature did ``(n, f)``.

    ``combinations`` ``(n, c, d)`` are the single changes put together, as they were tried.
    """

    points: Points
    effect: Array
    combinations: Array
    gains: RememberedGains


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
    remembered: RememberedGains | None = None,
) -> SweepResult:
    """The best that each of ``points`` ``(n, q, d)`` leads to: all single changes, then combinations of them.

    ``reach`` ``(n,)`` bounds how far from the row a value is worth trying; ``width`` is the number of values each way;
    ``only`` ``(n, g)`` numbers the features of each row to try. A point that nothing around it improves on stays.
    ``is_screened``: a surrogate says which changes to ask about; ``remembered``: an earlier sweep of these points says
    so, and which of them to combine.
    """
    n, q, d = points.x.shape
    tries = list_candidates(problem, cells, points.x, reach, width, settings=settings)
    if not len(tries.places_by_feature):
        none = RememberedGains(*(np.zeros((n, q, d, 1)),) * 2)
        return SweepResult(points, np.zeros((n, 0)), points.x[:, :0], none)
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
                remembered=None if remembered is None else remembered.at(rows),
            )
            for rows in chunks
        ]
        effect, tried = (np.concatenate(arrays) for arrays in zip(*(part[1:3] for part in parts), strict=True))
        gains = RememberedGains(
            *(np.concatenate(arrays) for arrays in zip(*(part.gains for part in parts), strict=True))
        )
        return SweepResult(stack_rows(part.points for part in parts), effect, tried, gains)
    return _sweep_chunk(problem, tries, points, only, settings, is_screened, remembered)


def _sweep_chunk(
    problem: Problem,
    tries: Candidates,
    points: Points,
    only: Index | None,
    settings: SearchSettings,
    is_screened: bool,
    remembered: RememberedGains | None,
) -> SweepResult:
    """The same for rows that fit into one batch, of these candidates."""
    n, q, d = points.x.shape
    features = len(tries.places_by_feature)
    chosen = np.broadcast_to(np.arange(features), (n, features)) if only is None else only
    place = tries.places_by_feature[chosen]  # (n, g, w)
    g, w = place.shape[1:]
    columns, every = tries.column[place][..., 0], tries.column[place].reshape(n, g * w)
    value = np.take_along_axis(tries.value, place.reshape(n, 1, g * w), axis=2)
    current = np.take_along_axis(points.x, every[:, None, :], axis=2)
    value = place_values(problem, points.x, columns, value.reshape(n, q, g, w)).reshape(n, q, g * w)
    spots, real = find_distinct_changes(value, current, w)  # (n, q, t) places of changes that are changes, each once
    changes = CellChanges(every, value, spots, real, np.zeros(value.shape), current.copy())
    if is_screened:
        predicted = predict_gains(problem, points, every, value, settings)
        if predicted is not None:
            count, now = settings.surrogate.count_asked(g * w, problem.model_rows_left), points.margin
            changes = screen_changes(
                problem, points, changes, predicted, to_fitted_scale(problem, now), count, settings
            )
    elif remembered is not None:
        predicted = remembered.predict(points.x, columns, value.reshape(n, q, g, w)).reshape(value.shape)
        count, now = settings.trials.count_asked_again(g * w), to_additive_scale(problem, points.margin)
        changes = screen_changes(problem, points, changes, predicted, now, count, settings)

    def combine(changes: CellChanges) -> Array:
        cost = first_order_costs(problem, points.x, every, changes.held)
        held, gain, price = (array.reshape(n, q, g, w) for array in (changes.held, changes.gain, cost))
        room = changes_left(problem, points.x)
        return combine_changes(points, columns, held, gain, price, room, settings=settings).reshape(n, -1, d)

    # what is remembered says at once what to combine: asked about together with the single changes, one call less
    combos = points.x[:, :0] if remembered is None or is_screened else combine(changes)
    together, best = ask_changes(problem, points, changes, combos, settings)
    if not combos.shape[1]:
        together = score_points(problem, combine(changes))
    best = join_points(best, _group_by_point(together, q)).best(1)
    best = Points(*(array.reshape(n, q, *array.shape[2:]) for array in best))
    gain = changes.gain.reshape(n, q, g, w)
    effect = np.full((n, features), -1.0)  # less than nothing where it was not tried
    np.put_along_axis(effect, chosen, np.abs(gain).max(axis=(1, 3)), axis=1)
    gains = RememberedGains.of_sweep(points.x, columns, value.reshape(n, q, g, w), gain)
    return SweepResult(best, effect, together.x, gains)


def ask_changes(
    problem: Problem, points: Points, changes: CellChanges, combos: Array, settings: SearchSettings
) -> tuple[Points, Points]:
    """The model's word on ``combos`` ``(n, c, d)`` and on single changes, whose gains are noted in ``changes``.

    Returns the combinations, and the best of each point and its changes as the points of ``n * q`` rows.
    """
    q, d = points.x.shape[1:]
    best, pieces = _group_by_point(points, q), max(1, -(-changes.spots.size * d // settings.batches.cells))
    together = points.first(0)
    for number, (some, real) in enumerate(
        zip(np.array_split(changes.spots, pieces, axis=2), np.array_split(changes.real, pieces, axis=2), strict=True)
    ):
        t = some.shape[2]
        single = _apply_single_changes(points.x, changes.column, changes.value, some)
        tried = score_points(problem, single if number else np.concatenate([single, combos], axis=1))
        alone = tried.first(q * t)
        if not number:
            together = Points(*(array[:, q * t :] for array in tried))
        changes.note(points.x, some, real, alone.x, _rises(problem, points, alone))
        best = join_points(best, _group_by_point(alone, q)).best(1)
    return together, best


def _rises(problem: Problem, points: Points, alone: Points) -> Array:
    """What changes ``(n, q * t)`` of points ``(n, q)`` add to the margin, ``(n, q, t)``."""
    there = to_additive_scale(problem, alone.margin).reshape(*points.margin.shape, -1)
    return there - to_additive_scale(problem, points.margin)[..., None]


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
    current = np.take_along_axis(points.x, spot, axis=2)
    worth = gain[:, :, None] - multipliers[..., None, None] * price[:, :, None]  # (n, q, m, g, w)
    best = worth.argmax(axis=-1)[..., None]
    most = np.take_along_axis(worth, best, axis=-1)[..., 0]
    chosen = most > 0
    if room is not None:  # the changes worth most, as many as are left
        rank = np.argsort(np.argsort(-most, axis=-1, kind="stable"), axis=-1, kind="stable")
        chosen &= rank < np.maximum(room, 1)[:, :, None]
    put = np.take_along_axis(np.broadcast_to(held[:, :, None], worth.shape), best, axis=-1)[..., 0]
    combos = np.repeat(points.x[:, :, None, :], settings.trials.sweep_multipliers, axis=2)
    np.put_along_axis(combos, spot[:, :, None], np.where(chosen, put, current[:, :, None]), axis=3)
    return combos


def max_useful_distance(problem: Problem, effort: Array, settings: SearchSettings = DEFAULTS) -> Array:
    """How far from the row a single change can be worth trying, ``(n,)``: no farther than the incumbent's effort."""
    reach = problem.energy.distance.reach(effort)
    return np.where(np.isfinite(reach), reach, settings.trials.max_change_distance)
