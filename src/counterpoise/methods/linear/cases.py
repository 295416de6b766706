"""What a goal asks of an affine model: linear conditions on columns, a case for each way that a row can meet it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.linear.relations import LinearRelations
from counterpoise.methods.trees.exact.conditions import Conditions, conditions_on_outputs
from counterpoise.models.affine import AffineLink, AffineOutputs
from counterpoise.models.goals import ClassGoal, Goal, RangeGoal, ThresholdGoal
from counterpoise.problem import Problem
from counterpoise.types import Array, Index


class Cases(NamedTuple):
    """p cases with m conditions each: ``slope @ (x - x0) + levels >= need``.

    The bound is over all points that reach ``need_least``, answers are looked for that reach ``need_most``: between
    the two lies what the model's rounding may decide.
    """

    row: Index  # (p,)
    slope: Array  # (p, m, d), later of the columns that matter alone
    need_least: Array  # (p, m)
    need_most: Array  # (p, m)
    level_gain: Array  # (p, m, t, l) what a level adds beyond the row's own

    def take(self, cases: Index) -> Cases:
        """Some of the cases."""
        return Cases._make(part[cases] for part in self)

    def on(self, columns: Index) -> Cases:
        """The cases on some of the columns ``(f,)``."""
        return self._replace(slope=np.ascontiguousarray(self.slope[:, :, columns]))

    def with_relations(self, relations: LinearRelations) -> Cases:
        """The same with the conditions that relations add."""
        rows, (p, _, t, levels) = self.row, self.level_gain.shape
        more = relations.slope.shape[1]
        if not more:
            return self
        return Cases(
            rows,
            np.concatenate([self.slope, relations.slope[rows]], axis=1),
            np.concatenate([self.need_least, relations.need_least[rows]], axis=1),
            np.concatenate([self.need_most, relations.need_most[rows]], axis=1),
            np.concatenate([self.level_gain, np.zeros((p, more, t, levels))], axis=1),
        )


class Ways(NamedTuple):
    """The ways in which rows can meet their goals: all of m conditions ``direction @ outputs >= least`` each."""

    row: Index  # (p,)
    direction: Array  # (p, m, c)
    least: Array  # (p, m)


def find_ways(goal: Goal, count: int, link: AffineLink) -> Ways | None:
    """The ways to meet a goal on so many outputs, before their link; None where it is not made of such conditions."""
    groups = goal.group_rows()
    asked = [_of_group(goal.take(group[:1]), count, link) for group in groups]
    if any(one is None for one in asked):
        return None
    most = max((len(one.least) for ways in asked for one in ways or ()), default=0)
    rows, directions, least = [], [], []
    for group, ways in zip(groups, asked, strict=True):
        for one in ways or ():
            spare = most - len(one.least)
            rows.append(group)
            padded = np.pad(one.directions, ((0, spare), (0, 0)))
            directions.append(np.broadcast_to(padded, (len(group), most, count)))
            least.append(np.broadcast_to(np.pad(one.least, (0, spare)), (len(group), most)))
    if not rows or not most:
        return None
    return Ways(np.concatenate(rows), np.concatenate(directions), np.concatenate(least))


def make_cases(problem: Problem, affine: AffineOutputs, slack: float) -> Cases | None:
    """The cases of all rows, or None where the goal is not one on affine outputs.

    ``slack`` is the share of a condition by which an answer goes beyond it.
    """
    ways = find_ways(problem.goal, len(affine.offset), affine.link)
    return None if ways is None else cases_on_columns(problem, affine, ways, slack)


def largest_values(problem: Problem) -> Array:
    """The largest absolute values ``(n, d)`` that cells can have."""
    ends = np.fmax(np.abs(problem.region.lower), np.abs(problem.region.upper))
    x0 = np.nan_to_num(np.abs(problem.x0))
    return np.where(np.isfinite(ends), np.fmax(ends, x0), 2 * x0 + 100 * problem.scales)


def cases_on_columns(problem: Problem, affine: AffineOutputs, ways: Ways, slack: float) -> Cases:
    """Conditions on outputs as conditions on columns."""
    x0, (row, direction, least) = problem.x0, ways
    row_output = np.vecdot(direction, affine(x0)[row][:, None, :])
    error = np.vecdot(np.abs(direction), affine.error(largest_values(problem))[row][:, None, :])
    error += 4 * affine.rounding * np.abs(least)
    if affine.link == "softmax":  # what rounding of a probability is worth in log-odds
        odds = problem.goal.min_probability if isinstance(problem.goal, ThresholdGoal) else np.full(len(x0), 0.5)
        error += (64 * affine.rounding / (odds * (1 - odds)))[row, None]
    need = least - row_output
    slope = direction @ affine.weights
    columns = [column for column, _ in affine.tables]
    levels = max((len(table) - 1 for _, table in affine.tables), default=0)
    gain = np.zeros((*direction.shape[:2], len(columns), levels))
    for place, (column, table) in enumerate(affine.tables):
        codes = np.where(np.isnan(x0[:, column]), -1, x0[:, column]).astype(np.intp)
        beyond = table[None, :-1, :] - table[codes][:, None, :]
        gain[:, :, place, : len(table) - 1] = np.einsum("pmc,plc->pml", direction, np.nan_to_num(beyond)[row])
    return Cases(row, slope, need - error, need + error + slack * np.abs(need), gain)


def _of_group(goal: Goal, count: int, link: AffineLink) -> tuple[Conditions, ...] | None:
    """The ways to meet the goal of one row, on what the link is given."""
    if link == "exp":
        if not isinstance(goal, RangeGoal) or count != 1 or goal.high[0] <= 0:
            return None
        low, high = (float(np.log(end)) if end > 0 else -np.inf for end in (goal.low[0], goal.high[0]))
        found = conditions_on_outputs(RangeGoal(np.array([low]), np.array([high])), 1, soft=False)
    elif isinstance(goal, ThresholdGoal):
        if link != "softmax" or not 0 < goal.min_probability[0] < 1:
            return None
        found = conditions_on_outputs(goal, count, soft=True)
    elif isinstance(goal, ClassGoal) or link == "identity":
        found = conditions_on_outputs(goal, count, soft=False)
    else:
        return None
    return None if found is None else found[0]
