"""Repeated sweeps: the best points of a row are swept again and again while it pays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from counterpoise.methods.cell_values import Cells
from counterpoise.methods.incumbents import Incumbents, has_improved
from counterpoise.methods.model_kinds import choose_thoroughness, is_black_box, sweep_factor
from counterpoise.methods.points import Points
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings
from counterpoise.methods.trials.remembered_gains import RememberedGains
from counterpoise.methods.trials.sweep import max_useful_distance, sweep
from counterpoise.problem import Problem
from counterpoise.types import Index


@dataclass(frozen=True)
class RepeatedSweeps:
    """Sweeps, as many and as long as the settings say; models of few cells are swept more often."""

    settings: SearchSettings = DEFAULTS

    def __call__(
        self,
        board: Incumbents,
        rows: Index,
        problem: Problem,
        cells: Cells | None,
        points: Points,
        features: Index | None = None,
        *,
        is_screened: bool = False,
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
        if is_screened:
            asked = self.settings.surrogate.count_asked(cost, problem.model_rows_left)
            cost = asked + self.settings.trials.sweep_multipliers
        least = self.settings.surrogate.min_sweeps if is_screened else self.settings.trials.min_sweeps_per_ration
        affordable = problem.model_rows_left / (least * cost)
        points = points.first(max(1, int(min(points.x.shape[1], affordable))))
        gains: RememberedGains | None = None
        patience = care.sweep_patience * longer
        min_gain = self.settings.trials.min_black_box_gain_share if is_black_box(problem) else None
        for number in range(self.settings.trials.sweeps * longer):
            if problem.has_expired or not len(active):
                break
            part = problem if len(active) == len(rows) else problem.take(active)
            before = board.points.at(rows[active]).lowest_effort
            found, effect, _, gains = sweep(
                part,
                cells,
                points,
                max_useful_distance(part, before, settings=self.settings),
                care.sweep_width,
                only,
                settings=self.settings,
                is_screened=is_screened,
                remembered=gains if number % self.settings.trials.sweeps_per_full_one else None,
            )
            board.enter(rows[active], found)
            after = board.points.at(rows[active]).lowest_effort
            # a point that is not valid yet follows the margin
            nearer = found.margin > points.margin
            better = has_improved(before, after, min_gain, settings=self.settings)
            better |= np.isinf(after) & nearer.any(axis=1)
            points = points.replace_where(found, (found.effort < points.effort) | (~points.valid & nearer))
            order = self._rank_promising(points, number)
            points, gains = points.pick(order), gains.pick(order)
            stale[active] = np.where(better, 0, stale[active] + 1)
            keep = np.flatnonzero(stale[active] < patience)
            active, points, gains = active[keep], points.at(keep), gains.at(keep)
            # later sweeps try only the features that did most in the first one
            if number == 0:
                most = care.screened_features if features is None else min(care.screened_features, len(features))
                only = np.argsort(-effect, axis=1, kind="stable")[:, :most]
            only = only[keep] if only is not None else None
            yield

    def _rank_promising(self, points: Points, number: int) -> Index:
        """The points ``(n, k)`` to sweep on with after sweep ``number``, counted from 0: the best, fewer each time."""
        trials = self.settings.trials
        kept = trials.raced_share ** max(0, number + 1 - trials.sweeps_before_race)
        order = points.rank()
        distinct = points.pick(order).list_distinct()
        return np.take_along_axis(order, distinct, axis=1)[:, : max(1, math.ceil(kept * order.shape[1]))]
