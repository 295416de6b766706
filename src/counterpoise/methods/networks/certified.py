"""Certified bounds of networks: the largest effort below which linear ceilings keep every point from the target.

In the ball of all points of effort ``radius`` or less, conditions on the outputs imply linear ones on the row. Their
least effort, or the radius, whichever is less, is a bound: the radius that makes it greatest is looked for by halving.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.linear.cases import Ways, cases_on_columns, find_ways, largest_values
from counterpoise.methods.linear.exact import bound_cases
from counterpoise.methods.linear.menus import Menus
from counterpoise.methods.networks.effort_ball import EffortBall
from counterpoise.methods.settings.networks import DEFAULT_NETWORKS, NetworkSettings
from counterpoise.methods.trees.exact.cell_costs import is_separable
from counterpoise.models.layers import LayerOutputs
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask, split_rows


class Lines(NamedTuple):
    """Lines below and above an activation, over the range of each unit: slopes and offsets, ``(n, q)`` each."""

    lower_slope: Array
    lower_offset: Array
    upper_slope: Array
    upper_offset: Array

    def at(self, rows: Index) -> Lines:
        """Those of some rows."""
        return Lines._make(part[rows] for part in self)


class Ceilings(NamedTuple):
    """What bounds the layers of a network over a ball."""

    lines: tuple[Lines, ...]  # of each hidden layer
    error: Array  # (n, c) of the model's own outputs, by rounding


def find_ceilings(
    layers: LayerOutputs, ball: EffortBall, x0: Array, largest: Array, max_numbers_together: int
) -> Ceilings:
    """The lines of all hidden layers over a ball around rows ``(n, d)``, whose cells are no larger than ``(n, d)``."""
    home, rounding = layers.first(x0), layers.first.rounding
    lines: list[Lines] = []
    error = layers.first.error(largest)
    for number, matrix in enumerate(layers.weights):
        width = len(matrix)
        if number == 0:
            high, low = (home + sign * _gains(layers, ball, sign, max_numbers_together) for sign in (1.0, -1.0))
        else:
            high, low = (
                sign * _through(layers, ball, lines, sign, home, max_numbers_together, width) for sign in (1.0, -1.0)
            )
        low, high = low - error, high + error
        lines.append(draw_lines(layers.activation, low, high))
        sizes = np.abs(layers.activate(np.maximum(np.abs(low), np.abs(high))))
        size = (sizes + error) @ np.abs(matrix) + np.abs(layers.biases[number])
        error = error @ np.abs(matrix) + 4 * (width + 4) * rounding * size
    return Ceilings(tuple(lines), error)


def draw_lines(activation: str, low: Array, high: Array) -> Lines:
    """The lines of an activation over ranges ``(n, q)``.

    >>> [float(part[0, 0]) for part in draw_lines("relu", np.array([[-1.0]]), np.array([[3.0]]))]
    [1.0, 0.0, 0.75, 0.75]
    """
    if activation == "relu":
        crosses = (low < 0) & (high > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(crosses, high / (high - low), (low >= 0).astype(np.float64))
        below = np.where(crosses, (high > -low).astype(np.float64), share)
        return Lines(below, np.zeros_like(low), share, np.where(crosses, -share * low, 0.0))
    if activation == "tanh":
        ends = np.tanh(low), np.tanh(high)
        slope = np.minimum(1 - ends[0] ** 2, 1 - ends[1] ** 2)
    else:
        ends = 0.5 + 0.5 * np.tanh(low / 2), 0.5 + 0.5 * np.tanh(high / 2)
        slope = np.minimum(ends[0] * (1 - ends[0]), ends[1] * (1 - ends[1]))
    # the slope is nowhere less in between, so that the activation without it rises from one end to the other
    return Lines(slope, ends[0] - slope * low, slope, ends[1] - slope * high)


def pull_back(
    layers: LayerOutputs, lines: tuple[Lines, ...] | list[Lines], direction: Array, rows: Index
) -> tuple[Array, Array]:
    """Ceilings of ``direction`` ``(r, a, q)`` times the values of the layer after the lines, in rows ``(r,)``.

    They are linear functions of the first layer's values: slopes ``(r, a, q0)`` and offsets ``(r, a)``.
    """
    offset = np.zeros(direction.shape[:2])
    for number in range(len(lines) - 1, -1, -1):
        offset += direction @ layers.biases[number]
        direction = direction @ layers.weights[number].T
        mine = lines[number].at(rows)
        up, down = np.maximum(direction, 0.0), np.minimum(direction, 0.0)
        offset += np.einsum("raq,rq->ra", up, mine.upper_offset) + np.einsum("raq,rq->ra", down, mine.lower_offset)
        direction = up * mine.upper_slope[:, None] + down * mine.lower_slope[:, None]
    return direction, offset


def level_gains(layers: LayerOutputs, x0: Array) -> Array:
    """What each level of each category adds to the first layer's values beyond the row's own, ``(n, q, t, l)``."""
    tables, q = layers.first.tables, len(layers.first.offset)
    out = np.zeros((len(x0), q, len(tables), max((len(table) - 1 for _, table in tables), default=0)))
    for place, (column, table) in enumerate(tables):
        codes = np.where(np.isnan(x0[:, column]), -1, x0[:, column]).astype(np.intp)
        beyond = table[None, :-1] - table[np.minimum(codes, len(table) - 1)][:, None]
        out[:, :, place, : len(table) - 1] = np.nan_to_num(beyond).transpose(0, 2, 1)
    return out


def _gains(layers: LayerOutputs, ball: EffortBall, sign: float, max_numbers_together: int) -> Array:
    """The most that each value of the first layer gains, upwards or downwards, ``(n, q)``."""
    q = len(layers.first.offset)
    every = np.broadcast_to(np.eye(q) * sign, (len(ball.left), q, q))
    return _gain_of(layers, ball, every, max_numbers_together)


def _gain_of(layers: LayerOutputs, ball: EffortBall, direction: Array, max_numbers_together: int) -> Array:
    """The most that ``direction`` ``(n, a, q)`` times the first layer's values gains in the ball, ``(n, a)``."""
    weights = layers.first.weights[:, ball.menus.numbers]
    n, a, q = direction.shape
    cells = a * (weights.shape[1] + ball.levels.shape[1] * ball.levels.shape[2] + q)
    out = np.empty((n, a))
    for rows in split_rows(n, max_numbers_together, max(1, cells)):
        gains = np.einsum("raq,rqtl->ratl", direction[rows], ball.level_values[rows])
        out[rows] = ball.most_gain(direction[rows] @ weights, gains, rows)
    return out


def _through(
    layers: LayerOutputs,
    ball: EffortBall,
    lines: list[Lines],
    sign: float,
    home: Array,
    max_numbers_together: int,
    width: int,
) -> Array:
    """Ceilings over the ball of each value of the layer after the lines, times ``sign``, ``(n, width)``."""
    n = len(home)
    out = np.empty((n, width))
    for rows in split_rows(n, max_numbers_together, max(1, width * (width + home.shape[1]))):
        every = np.broadcast_to(np.eye(width) * sign, (len(rows), width, width))
        slope, offset = pull_back(layers, lines, every, rows)
        out[rows] = offset + np.einsum("raq,rq->ra", slope, home[rows])
        out[rows] += _gain_of(layers, ball.take(rows), slope, max_numbers_together)
    return out


class NetworkProof(NamedTuple):
    """What is certified of n rows; no answer costs less than ``bound``, NaN where nothing above 0 is known."""

    bound: Array  # (n,)
    is_infeasible: Mask  # (n,)


def prove_network(
    problem: Problem, incumbent: Array, settings: NetworkSettings = DEFAULT_NETWORKS
) -> NetworkProof | None:
    """Bounds of rows whose answers cost ``incumbent`` ``(n,)``, infinite where there is none.

    None where the layers are not known, or goal or effort not in terms of them.
    """
    layers: LayerOutputs | None = problem.model.layers
    if layers is None or not layers.weights or problem.cloud is not None or not is_separable(problem.energy):
        return None
    ways = find_ways(problem.goal, layers.weights[-1].shape[1], layers.link)
    if ways is None:
        return None
    menus = Menus.of(problem, layers.first)
    known = menus.settled & menus.can_stay.all(axis=1)
    best, low, high = np.zeros(len(problem)), np.zeros(len(problem)), incumbent.copy()
    radius, lost = settings.first_share * incumbent, np.zeros(len(problem), dtype=bool)
    going = known.copy()
    for _ in range(settings.halvings):
        rows = np.flatnonzero(going)
        if not len(rows) or problem.has_expired:
            break
        found = _bound_in_ball(problem, layers, menus, ways, rows, radius, settings)
        best[rows] = np.maximum(best[rows], np.minimum(found, radius[rows]))
        held = found >= radius[rows] * (1 - settings.tolerance)
        lost[rows] |= np.isinf(found) & np.isinf(radius[rows])
        low[rows], high[rows] = np.where(held, radius[rows], low[rows]), np.where(held, high[rows], radius[rows])
        low = np.maximum(low, best)
        radius = (low + high) / 2
        going = known & np.isfinite(high)  # without an answer, the whole region was looked at
        going[going] = high[going] - low[going] > settings.worth_halving * high[going]
    return NetworkProof(np.where((best > 0) & np.isfinite(best), best, np.nan), lost)


def _bound_in_ball(
    problem: Problem,
    layers: LayerOutputs,
    menus: Menus,
    ways: Ways,
    rows: Index,
    radius: Array,
    settings: NetworkSettings,
) -> Array:
    """Lower bounds ``(r,)`` of the effort of answers in each ball; at least the radius where a ball holds none."""
    part, part_menus = problem.take(rows), menus.take(rows)
    mine = np.flatnonzero(np.isin(ways.row, rows))
    place = np.searchsorted(rows, ways.row[mine])
    ball = EffortBall.of(part_menus, radius[rows], part.region.max_changes, level_gains(layers, part.x0))
    largest = largest_values(part)
    ceilings = find_ceilings(layers, ball, part.x0, largest, settings.max_numbers_together)
    direction = ways.direction[mine]
    slope, offset = pull_back(layers, ceilings.lines, direction, place)
    error = np.einsum("pmc,pc->pm", np.abs(direction), ceilings.error[place])
    margin_ways = Ways(place, slope, ways.least[mine] - offset - error)
    cases = cases_on_columns(part, layers.first, margin_ways, 0.0)
    return bound_cases(part, part_menus, cases, radius[rows], settings.linear)
