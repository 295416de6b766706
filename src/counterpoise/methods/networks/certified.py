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
from counterpoise.methods.networks.ceilings import find_ceilings, level_gains, pull_back
from counterpoise.methods.networks.effort_ball import EffortBall
from counterpoise.methods.settings.networks import DEFAULT_NETWORKS, NetworkSettings
from counterpoise.methods.trees.exact.cell_costs import is_separable
from counterpoise.models.layers import LayerOutputs
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


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
