"""Scoring: the metrics of any answers to the rows of one question, computed in the same way for every method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.asking.confirm import meets_goal
from counterpoise.api.explainer import Explainer
from counterpoise.api.inputs.targets import RowTargets, resolve_target
from counterpoise.judge import metrics
from counterpoise.model_calls import Tally
from counterpoise.models.probability import ProbabilityModel
from counterpoise.objective.noise import Gaussian
from counterpoise.objective.plausibility import Coordinates
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Region
from counterpoise.space.schema.encode import encode
from counterpoise.streams import StreamKey, Streams
from counterpoise.types import Array, Mask, Model


@dataclass(frozen=True, eq=False)
class AnswerScorer:
    """The rows of one question, its model, target, region and distances, and the reference to compare with."""

    explainer: Explainer
    rows: pd.DataFrame
    x0: Array  # (n, d)
    model: Model
    row_targets: RowTargets
    region: Region
    distance: Distance
    noise: float
    noisy_copies: int = 100  # of each answer
    max_reference_rows: int = 4000  # among which neighbours are looked for

    @classmethod
    def of(
        cls, explainer: Explainer, rows: pd.DataFrame, target: Any, threshold: float | None, noise: float
    ) -> AnswerScorer:
        """The scorer of a question; ``noise`` is that of `metrics.robustness`, in standard deviations."""
        x0 = encode(explainer.schema, rows)
        model = (
            explainer.model
            if threshold is None or explainer.model.labels is None
            else ProbabilityModel(explainer.model)
        )
        region = Region.build(explainer.schema, x0, explainer.constraints, explainer.bounds)
        goals = resolve_target(model, target, threshold, np.asarray(model.predict(x0)))
        return cls(explainer, rows, x0, model, goals, region, Distance.of(explainer.schema), noise)

    def reaches_target(self, points: Array) -> Mask:
        """Whether the model's own prediction for points ``(n, k, d)`` is the target of their row, ``(n, k)``."""
        n, k, d = points.shape
        flat, owners = points.reshape(-1, d), np.arange(n).repeat(k)
        predicted = np.asarray(self.model.predict(flat))
        goal = self.row_targets.goal.take(owners)
        return meets_goal(self.model, goal, flat, predicted, owners, Tally()).reshape(n, k)

    def measure(self, x: Array) -> pd.DataFrame:
        """The metrics of the answers ``x`` ``(n, d)``, a line for each row; a row of NaN has no answer.

        Answers that miss the target or break a constraint have only ``valid``, ``feasible`` and ``violations``.
        """
        found = np.asarray(~(np.isnan(x) & ~np.isnan(self.x0)).any(axis=1))
        x = np.where(found[:, None], x, self.x0)
        valid = found & self.reaches_target(x[:, None, :])[:, 0]
        feasible = found & metrics.feasibility(self.region, x)
        delta = self.distance.differences(x[:, None, :], self.x0)[:, 0]
        unit = self.distance.unit
        crowd, agrees = self._reference_rows()
        space = _euclidean_coordinates(self.explainer)
        table = pd.DataFrame(
            {
                "l0": metrics.l0_distance(delta),
                "l1": metrics.l1_distance(delta),
                "l2": metrics.l2_distance(delta),
                "linf": metrics.linf_distance(delta),
                "gower": metrics.gower_distance(delta, unit, self.distance.span),
                "mad": metrics.mad_distance(delta, unit, self._median_deviations()),
                "cost": metrics.cost(x, self.x0, delta, self.explainer.reference.x, self.explainer.schema.numeric),
                "sparsity": metrics.sparsity(delta),
                "redundancy": metrics.redundancy(x, self.x0, self.reaches_target),
                "robustness": metrics.robustness(self._noisy_copies(x), self.reaches_target),
                "ynn": metrics.ynn(space.embed(x), space.embed(crowd), agrees) if len(crowd) else np.nan,
                "knln": self._metric_by_target(metrics.knln_distance, x, space, 1),
                "outlier": self._metric_by_target(metrics.local_outlier, x, space, 3),
            },
            index=self.rows.index,
        )
        table.loc[~(valid & feasible)] = np.nan
        table.insert(0, "valid", valid)
        table.insert(1, "feasible", feasible)
        table.insert(2, "violations", np.where(found, metrics.constraint_violation(self.region, x), np.nan))
        return table

    def _noisy_copies(self, x: Array) -> Array:
        """Noisy copies of the answers, ``(n, noisy_copies, d)``, with the same draws for every method."""
        draws = Streams.of(self.x0, StreamKey.METRICS).normal((self.noisy_copies, x.shape[1]))
        schema = self.explainer.schema
        made = Gaussian(self.noise).copies(x[:, None, :], draws, self.region, schema.scales, schema.numeric)
        return np.asarray(made[:, 0])

    def _reference_rows(self) -> tuple[Array, Mask]:
        """Reference rows ``(r, d)`` and which of them have each row's target, ``(n, r)``."""
        donors = self.explainer.reference.donors(self.model)
        some = np.linspace(0, len(donors.x) - 1, min(len(donors.x), self.max_reference_rows)).astype(np.intp)
        outputs = donors.outputs[some]
        lines = [self.row_targets.goal.take([row]).is_reached(outputs[None])[0] for row in range(len(self.x0))]
        return donors.x[some], np.array(lines, dtype=bool).reshape(len(self.x0), len(some))

    def _metric_by_target(self, metric: Any, x: Array, space: Coordinates, least: int) -> Array:
        """A metric among reference rows of the target, group by group; NaN where there are fewer than ``least``."""
        crowd, agrees = self._reference_rows()
        out = np.full(len(x), np.nan)
        for group in self.row_targets.goal.group_rows():
            rows = crowd[agrees[group[0]]]
            if len(rows) >= least:
                out[group] = metric(space.embed(x[group]), space.embed(rows))
        return out

    def _median_deviations(self) -> Array:
        """Median absolute deviations ``(d,)``; the unit of the distance where one is 0, or the column is no number."""
        rows, numeric = self.explainer.reference.x, self.explainer.schema.numeric
        if not len(rows):
            return self.distance.unit
        middle = np.nanmedian(np.where(numeric, rows, 0.0), axis=0)
        mad = np.nanmedian(np.abs(np.where(numeric, rows, 0.0) - middle), axis=0)
        return np.where(numeric & (mad > 0), mad, self.distance.unit)


def _euclidean_coordinates(explainer: Explainer) -> Coordinates:
    """Coordinates in which distances are Euclidean: numbers in standard deviations, categories one apart."""
    schema = explainer.schema
    distance = Distance.of(schema)
    levels = np.array([len(f.categories) if f.kind in ("categorical", "boolean") else 0 for f in schema], dtype=np.intp)
    rows = explainer.reference.x
    fill = np.nan_to_num(np.nanmedian(rows, axis=0)) if len(rows) else np.zeros(len(schema))
    return Coordinates(distance.unit, levels, np.where(levels > 0, -1.0, fill))
