"""Repeated sweeps: the best points of a row are swept, later mixed with other good points, and swept again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise.methods.cell_values import Cells
from counterpoise.methods.incumbents import Incumbents, has_improved
from counterpoise.methods.model_kinds import choose_thoroughness, sweep_factor
from counterpoise.methods.points import Points, score_points
from counterpoise.methods.settings.search import DEFAULTS, SearchSettings
from counterpoise.methods.trials.sweep import max_useful_distance, sweep
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index


@dataclass(frozen=True)
class RepeatedSweeps:
    """Sweeps, as many and as long as the settings say; models of few cells are swept more often."""

    settings: SearchSettings = DEFAULTS

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
        """Sweep ``points`` ``(n, q, d)`` of some rows, and enter what is found.

        ``features`` ``(f,)`` are the numbers of the features to try; None: all.
        """
        if features is not None and not len(features):
            return
        active, stale = np.arange(len(rows)), np.zeros(len(rows), dtype=np.intp)
        only = None if features is None else np.broadcast_to(features, (len(rows), len(features)))
        care = choose_thoroughness(problem, settings=self.settings)
        longer = sweep_factor(cells, settings=self.settings)
        # model rows that do not last for a few sweeps of all points may last for those of the best
        cost = problem.x0.shape[1] * (2 * care.sweep_width + 1) + self.settings.trials.sweep_multipliers
        points = points.first(
            max(
                1,
                int(
                    min(
                        points.x.shape[1], problem.model_rows_left / (self.settings.trials.min_sweeps_per_ration * cost)
                    )
                ),
            )
        )
        patient, settled = care.sweep_patience * longer, max(2, self.settings.trials.sweeps_before_mixing // longer)
        for number in range(self.settings.trials.sweeps * longer):
            if problem.has_expired or not len(active):
                break
            part = problem if len(active) == len(rows) else problem.take(active)
            mine = streams if len(active) == len(rows) else streams.take(active)
            before = board.points.at(rows[active]).lowest_effort
            start = (
                points
                if number < settled
                else _mix_points(part, mine, points, board.points.x[rows[active]], settings=self.settings)
            )
            found, effect = sweep(
                part,
                cells,
                start,
                max_useful_distance(part, before, settings=self.settings),
                care.sweep_width,
                only,
                settings=self.settings,
            )
            taken = found.effort < points.effort
            # a point that is not valid yet follows the margin
            points = points.replace_where(found, taken | (~points.valid & (found.margin > points.margin)))
            board.enter(rows[active], found)
            after = board.points.at(rows[active]).lowest_effort
            better = has_improved(before, after, settings=self.settings) | (
                np.isinf(after) & (found.margin > start.margin).any(axis=1)
            )
            stale[active] = np.where(better, 0, stale[active] + 1)
            keep = np.flatnonzero(stale[active] < patient)
            active, points = active[keep], points.at(keep)
            # later sweeps try only the features that did most in the first one
            if number == 0:
                most = care.screened_features if features is None else min(care.screened_features, len(features))
                only = np.argsort(-effect, axis=1, kind="stable")[:, :most]
            only = only[keep] if only is not None else None
            yield


def _mix_points(
    problem: Problem, streams: Streams, points: Points, pool: Array, settings: SearchSettings = DEFAULTS
) -> Points:
    """Points mixed with other good ones of their row, ``pool`` ``(n, p, d)``, and partly set back to the row."""
    n, q, d = points.x.shape
    draws = streams.uniform((q, d + 2))
    other = (draws[..., 0] * pool.shape[1]).astype(np.intp)
    partner = pool[np.arange(n)[:, None], other]
    mixed = np.where(draws[..., 2:] < 0.6 * draws[..., 1, None], partner, points.x)
    changed = np.maximum(np.count_nonzero(mixed != problem.x0[:, None, :], axis=-1), 1.0)
    set_back = streams.uniform((q, d)) < settings.trials.resets_per_point / changed[..., None]
    return score_points(problem, np.where(set_back, problem.x0[:, None, :], mixed))
