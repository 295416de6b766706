"""Sifting: the best chains of a row are swept, thrown together and swept again while it pays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise.methods.cell_values import Cells
from counterpoise.methods.incumbents import Incumbents, has_improved
from counterpoise.methods.points import Points, score_points
from counterpoise.methods.settings import choose_settings, sweep_factor
from counterpoise.methods.trials.sweep import SWEEP_MULTIPLIERS, max_useful_distance, sweep
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index

MIN_SWEEPS_PER_RATION = 3  # that a ration should last for
RESETS_PER_POINT = 1.2  # changes of a mixed point that are set back, on average
SWEEPS_BEFORE_MIXING = 5  # sweeps before chains are thrown together, where a model is not swept longer


@dataclass(frozen=True)
class RepeatedSweeps:
    """At most ``sweeps`` sweeps; models of few cells are swept up to four times as often."""

    sweeps: int

    def __call__(
        self,
        board: Incumbents,
        rows: Index,
        problem: Problem,
        streams: Streams,
        cells: Cells | None,
        points: Points,
        features: Index | None = None,
    ) -> Iterator[None]:
        """Sweep chains that start at ``points`` ``(n, q, d)`` of some rows, and enter what they find.

        ``features`` ``(f,)`` numbers those to try; None: all.
        """
        if features is not None and not len(features):
            return
        active, stale = np.arange(len(rows)), np.zeros(len(rows), dtype=np.intp)
        only = None if features is None else np.broadcast_to(features, (len(rows), len(features)))
        care = choose_settings(problem)
        longer = sweep_factor(cells)
        # a ration that does not last for a few sweeps of all chains may last for those of the best
        cost = problem.x0.shape[1] * (2 * care.sweep_width + 1) + SWEEP_MULTIPLIERS
        points = points.first(
            max(1, int(min(points.x.shape[1], problem.model_rows_left / (MIN_SWEEPS_PER_RATION * cost))))
        )
        patient, settled = care.sweep_patience * longer, max(2, SWEEPS_BEFORE_MIXING // longer)
        for number in range(self.sweeps * longer):
            if problem.has_expired or not len(active):
                break
            part = problem if len(active) == len(rows) else problem.take(active)
            mine = streams if len(active) == len(rows) else streams.take(active)
            before = board.points.at(rows[active]).lowest_effort
            start = points if number < settled else _mix_chains(part, mine, points, board.points.x[rows[active]])
            found, effect = sweep(part, cells, start, max_useful_distance(part, before), care.sweep_width, only)
            taken = found.effort < points.effort
            # a row that has no valid point yet follows the margin
            points = points.replace_where(found, taken | (~points.valid & (found.margin > points.margin)))
            board.enter(rows[active], found)
            after = board.points.at(rows[active]).lowest_effort
            better = has_improved(before, after) | (np.isinf(after) & (found.margin > start.margin).any(axis=1))
            stale[active] = np.where(better, 0, stale[active] + 1)
            keep = np.flatnonzero(stale[active] < patient)
            active, points = active[keep], points.at(keep)
            # later sweeps try only the features that did most in the first one
            if number == 0:
                most = care.screened_features if features is None else min(care.screened_features, len(features))
                only = np.argsort(-effect, axis=1, kind="stable")[:, :most]
            only = only[keep] if only is not None else None
            yield


def _mix_chains(problem: Problem, streams: Streams, points: Points, pool: Array) -> Points:
    """Chains mixed with other good points ``(n, p, d)`` of their row and partly set back: where a sweep starts."""
    n, q, d = points.x.shape
    draws = streams.uniform((q, d + 2))
    other = (draws[..., 0] * pool.shape[1]).astype(np.intp)
    partner = pool[np.arange(n)[:, None], other]
    mixed = np.where(draws[..., 2:] < 0.6 * draws[..., 1, None], partner, points.x)
    changed = np.maximum(np.count_nonzero(mixed != problem.x0[:, None, :], axis=-1), 1.0)
    set_back = streams.uniform((q, d)) < RESETS_PER_POINT / changed[..., None]
    return score_points(problem, np.where(set_back, problem.x0[:, None, :], mixed))
