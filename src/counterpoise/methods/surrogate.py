"""Surrogate: boosted trees fitted to the outputs of a black box on the reference, searched by their leaves.

What a search of these trees finds costs no model row: the model is asked about the answers alone, and decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.settings.surrogate_settings import SurrogateSettings
from counterpoise.model_calls import Tally
from counterpoise.models.goals import ClassGoal
from counterpoise.models.links import two_outputs_zero_first
from counterpoise.models.sklearn.hist_boosting import read_regression_trees
from counterpoise.models.trees.columns import ColumnReading, translate_trees
from counterpoise.models.trees.ensemble import TreeEnsemble
from counterpoise.models.trees.leaves import Leaves
from counterpoise.problem import Problem
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.nearest_rows import spread_places
from counterpoise.types import Array, Link, ModelBase, Points


@dataclass(frozen=True, eq=False)
class SurrogateTrees(ModelBase):
    """Trees that stand for the margin of a black box, as a Model of two classes: short of the target, and in it."""

    trees: TreeEnsemble = field()
    usual_margin: float = field()  # the median of the points it was fitted to that are in the target
    reference_margins: Array = field()  # (r,) what the trees say of the reference rows
    labels: tuple[Any, ...] = (False, True)
    link: Link = "identity"

    @property
    def thresholds(self) -> tuple[Array, ...]:
        """Split points of each column, sorted."""
        return self.trees.thresholds

    @property
    def leaves(self) -> Leaves | None:
        """The leaves of all trees, or None where nothing is split."""
        return self.trees.leaves

    @property
    def is_additive(self) -> bool:
        """True: leaves add up."""
        return True

    def outputs(self, x: Array) -> Array:
        """0 and the margin of the encoded rows, ``(p, 2)``."""
        return self.trees.outputs(x)

    def predict(self, x: Points) -> NDArray[Any]:
        """Whether the margin is above 0, ``(p,)``."""
        return np.asarray(self.outputs(np.asarray(x))[:, 1] > 0)

    def probabilities(self, x: Points) -> Array | None:
        """None: margins are no probabilities."""
        return None

    def with_margin(self, margin: float) -> SurrogateTrees:
        """The same trees, that put a point into the target from this margin on."""
        trees = replace(self.trees, base=self.trees.base - margin)
        return replace(self, trees=trees, reference_margins=self.reference_margins - margin)


def find_surrogate(problem: Problem, settings: SurrogateSettings) -> SurrogateTrees | None:
    """The surrogate of rows that ask for the same, fitted once for each reference and goal; None: there is none."""
    reference = problem.reference_rows
    if not settings.trees or len(reference.x) < settings.min_rows:
        return None
    return reference.get_surrogate(problem.goal, lambda: _fit(problem, settings))


def _fit(problem: Problem, settings: SurrogateSettings) -> SurrogateTrees | None:
    reference = problem.reference_rows
    chosen = spread_places(len(reference.x), settings.max_rows)
    margin = to_fitted_scale(problem.take([0]), problem.goal.take([0]).margin(reference.outputs[None, chosen])[0])
    return fit_trees(problem, reference.x[chosen], margin, settings) if np.ptp(margin) > 0 else None


def to_fitted_scale(problem: Problem, margin: Array) -> Array:
    """Margins as the trees repeat them: between -1 and 1 for probabilities, decision values as they are."""
    return np.tanh(margin / 2) if problem.model.link == "log" else margin


def fit_trees(problem: Problem, x: Array, y: Array, settings: SurrogateSettings) -> SurrogateTrees | None:
    """Trees fitted to numbers ``(r,)`` at points ``(r, d)``; None where these say nothing of any column."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    nominal, d = ~problem.numeric, x.shape[1]
    coded = np.flatnonzero(nominal)
    fitted = HistGradientBoostingRegressor(
        max_iter=settings.trees,
        learning_rate=settings.learning_rate,
        max_leaf_nodes=settings.leaves_per_tree,
        min_samples_leaf=settings.min_rows_per_leaf,
        categorical_features=nominal if len(coded) else None,
        early_stopping=False,
        random_state=0,
    ).fit(x, y)
    tables = {}
    for place, column in enumerate(coded.tolist()):
        known = np.unique(x[:, column][~np.isnan(x[:, column])]).astype(np.intp)
        counts = problem.first_unknown_codes
        numbers = np.full(1 + (int(known.max(initial=-1)) + 1 if counts is None else int(counts[column])), np.nan)
        numbers[known] = np.arange(len(known))
        tables[place] = numbers
    reading = ColumnReading(np.concatenate([coded, np.flatnonzero(~nominal)]), tables, d, {})
    trees = translate_trees(read_regression_trees(fitted, two_outputs_zero_first), reading)
    if trees is None or trees.leaves is None:
        return None
    usual_margin = float(np.median(y[y > 0])) if (y > 0).any() else 1.0
    return SurrogateTrees(trees, usual_margin, trees.outputs(problem.reference_rows.x)[:, 1])


def predict_margins(problem: Problem, x: Array, settings: SurrogateSettings) -> Array | None:
    """What the surrogates say of points ``x`` ``(n, k, d)``, on the scale they are fitted on; None without them."""
    out = np.empty(x.shape[:2])
    for group in problem.goal.group_rows():
        trees = find_surrogate(problem.take(group), settings)
        if trees is None:
            return None
        out[group] = trees.outputs(x[group].reshape(-1, x.shape[2]))[:, 1].reshape(len(group), -1)
    return out


def propose_answers(
    problem: Problem, search: Any, margins: Sequence[float], count: int, settings: SurrogateSettings
) -> Array:
    """The best ``count`` answers of each row that a ``search`` of its surrogate finds for each of these margins.

    ``(n, m, d)``; the row itself where there are fewer.
    """
    home = problem.region.nearest_feasible
    out = np.repeat(home[:, None, :], len(margins) * count, axis=1)
    for group in problem.goal.group_rows():
        part = problem.take(group)
        trees = find_surrogate(part, settings)
        if trees is None:
            continue
        for number, margin in enumerate(margins):
            asked = as_surrogate_problem(part, trees.with_margin(margin * trees.usual_margin))
            found = search(asked, asked.make_streams(0))
            x = np.where(np.isfinite(found.effort[..., None]), found.x, home[group][:, None, :])[:, :count]
            out[group, number * count : number * count + x.shape[1]] = x
    return out


def as_surrogate_problem(problem: Problem, trees: SurrogateTrees) -> Problem:
    """The same question, asked of the trees in place of the model; no model row is spent on it."""
    goal = ClassGoal(np.broadcast_to(np.array([False, True]), (len(problem), 2)), "identity")
    margins = trees.reference_margins
    rows = ReferenceRows(problem.reference_rows.x, np.column_stack([np.zeros_like(margins), margins]))
    return replace(problem, model=trees, goal=goal, tally=Tally(), hints=None, reference_rows=rows)
