"""Heights of a landscape: the energy that a search minimised, met again, and the free energy of clouds in it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.judge.decisions import Decision
from counterpoise.objective.energy import Energy
from counterpoise.objective.regularizers import Regularizer, WeightedL1
from counterpoise.physics.boltzmann import log_partition
from counterpoise.physics.cloud import draw_antithetic
from counterpoise.space.constraints.between_features import ConstraintOrFunction, as_constraints
from counterpoise.space.constraints.relative_to_row import prices_of_changes
from counterpoise.space.distance import Distance
from counterpoise.types import Array

CLOUD_SAMPLES = 64  # of a cloud
CELLS_PER_BATCH = 4_000_000  # numbers in one batch of clouds
ENERGY_TOLERANCE = 1e-6  # relative: how well the energy at the answer must be met


def recall_energy(
    explanation: Explanation,
    weights: Mapping[Hashable, float] | None,
    regularizers: Sequence[Regularizer],
    constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction = (),
) -> Energy:
    """The energy that the search minimised, rebuilt from what the explanation says of it."""
    schema = explanation.schema
    costs = prices_of_changes(schema, as_constraints(constraints))
    distance = Distance.of(schema, _parse_distance(explanation.settings.get("distance", "l2")), costs)
    given = weights or {}
    column = np.array([given.get(name, 0.0 if given else 1.0) for name in schema.names], dtype=np.float64)
    column[np.isinf(column)] = 0.0
    penalty = WeightedL1(column, np.where(distance.nominal, 0.0, distance.unit))
    terms = explanation.energy.iloc[0]
    return Energy(distance, float(terms["lam"]), (penalty, *regularizers), np.array([float(terms["mu"])]))


def cloud_energy(
    explanation: Explanation, decision: Decision, energy: Energy, points: Array, T: float, sigma: float
) -> Array:
    """``-T ln <exp(-E / T)>`` over a cloud around each of the points ``(p, d)``: ``(p,)``."""
    schema, x0 = explanation.schema, explanation.x0
    free = schema.numeric & np.array([name not in explanation.held for name in schema.names])
    noise = (
        draw_antithetic(np.random.default_rng(explanation.seed), CLOUD_SAMPLES, len(schema))
        * free
        * schema.scales
        * sigma
    )
    out, width = np.empty(len(points)), max(1, CELLS_PER_BATCH // (CLOUD_SAMPLES * len(schema)))
    for start in range(0, len(points), width):
        copies = points[start : start + width, None, :] + noise
        flat = copies.reshape(-1, len(schema))
        values = energy(flat[None], x0, decision.margins(flat)[None])[0].reshape(copies.shape[:2])
        out[start : start + width] = -T * log_partition(values, T)
    return out


def check_recalled_energy(explanation: Explanation, decision: Decision, energy: Energy) -> None:
    """An error where model and energy do not give the answer the margin and the energy that the explanation tells."""
    x0, x = explanation.x0, explanation.x
    margin = decision.margins(x)
    found = {"margin": margin[0], "energy": energy(x[:, None, :], x0, margin[:, None])[0, 0]}
    told = {"margin": explanation.scores["margin_after"].iloc[0], "energy": explanation.energy["total"].iloc[0]}
    for name, number in told.items():
        if abs(found[name] - number) > ENERGY_TOLERANCE * max(1.0, abs(number)):
            raise InputError(
                "the model, the weights and the regularizers, and any Cost, must be those of the explanation",
                f"the answer's {name} is {number:.6g}, with these it is {found[name]:.6g}",
                "give the ones that it was made with",
            )


def _parse_distance(name: str) -> str | dict[str, float]:
    """A distance by its name: "l2", or "0.5 l1 + 0.5 l2"."""
    parts = [part.split() for part in name.split(" + ")]
    return name if parts == [[name]] else {norm: float(weight) for weight, norm in parts}
