"""The laws of the physics where several parts work together; those of one formula are in tests/physics beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.models.goals import ClassGoal
from counterpoise.objective.energy import Energy
from counterpoise.objective.regularizers import WeightedL1
from counterpoise.physics import taylor
from counterpoise.physics.boltzmann import log_density
from counterpoise.physics.entropy import diagonal_entropy, gaussian_entropy, grid_entropy
from counterpoise.physics.estimators.monte_carlo import MonteCarlo
from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array


def test_entropies_of_known_laws() -> None:
    """A parabola's Boltzmann law is normal: grid, closed form and the diagonal of a full matrix agree."""
    T, stiffness = 0.7, 3.0
    grid = np.linspace(-8, 8, 4001)
    width = grid[1] - grid[0]
    law = log_density(0.5 * stiffness * grid**2, T, width)
    s = np.sqrt(T / stiffness)
    closed = 0.5 * np.log(2 * np.pi * np.e * s**2)
    np.testing.assert_allclose(grid_entropy(law, width), closed, rtol=1e-6)
    np.testing.assert_allclose(diagonal_entropy(np.array([s])), closed, rtol=1e-12)
    np.testing.assert_allclose(gaussian_entropy(np.array([[s**2]])), closed, rtol=1e-12)


def test_at_the_row_itself_the_least_subgradient_of_the_distance_is_taken() -> None:
    schema = Schema.infer(pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, 4.0]}))
    x0 = np.array([[0.3, 1.0]])
    for norm in ("l2", "l1", "gower", "l0", "mad"):
        assert (Distance.of(schema, norm).gradient(x0[:, None], x0) == 0).all()


def test_of_a_goal_between_two_classes_the_energy_falls_to_the_boundary_only_where_mu_outweighs_the_way() -> None:
    """A minimum of E is valid only if mu |grad f| > 1: the remark at Eq. (3)."""
    schema = Schema.infer(pd.DataFrame({"a": [-1.0, 1.0]}), scale="range")
    goal, x0 = ClassGoal(np.array([[False, True]]), "identity"), np.array([[-1.0]])
    line = np.linspace(-1, 1, 401)[None, :, None]
    margin = goal.margin(np.concatenate([-line, line], axis=-1))
    slope = 2 * schema.scales[0]  # of the margin, in feature scales
    for mu, valid in ((0.9 / slope, False), (1.1 / slope, True)):
        energy = Energy(Distance.of(schema, "l2"), 0.0, (), np.array([mu]))
        lowest = energy(line, x0, margin).argmin()
        assert (margin[0, lowest] >= -1e-9) == valid


@settings(max_examples=20)
@given(seed=st.integers(0, 9999))
def test_the_gradient_of_the_free_energy_of_a_real_energy_is_its_derivative(seed: int) -> None:
    """F of the energy of Eq. (3), with a distance, a weighted penalty and a curved score, over a cloud held fixed."""
    schema = Schema.infer(pd.DataFrame({"a": [0.0, 1.0], "b": [0.0, 2.0]}))
    rng = np.random.default_rng(seed)
    x0 = rng.normal(size=(1, 2))
    distance = Distance.of(schema, "l2")
    energy = Energy(distance, 0.3, (WeightedL1(np.ones(2), distance.unit),), np.array([2.0]), True)
    estimator, noise = MonteCarlo(samples=64), rng.standard_normal((64, 2))

    def margin(x: Array) -> Array:
        return np.asarray(np.sin(x).sum(axis=-1) - 0.4)

    def field(x: Array) -> Array:
        flat = x.reshape(1, -1, 2)
        return energy(flat, x0, margin(flat)).reshape(x.shape[:-1])

    def slope(x: Array) -> Array:
        flat = x.reshape(1, -1, 2)
        return energy.gradient(flat, x0, margin(flat), np.cos(flat)).reshape(x.shape)

    x = x0 + rng.normal(size=(1, 2))
    found = estimator.full_form(field, x, 0.5, 0.3, noise=noise, gradient=slope)
    wanted = taylor.gradient(lambda y: estimator.full_form(field, y, 0.5, 0.3, noise=noise).value, x, 1e-6)
    np.testing.assert_allclose(found.gradient, wanted, atol=1e-4)
    np.testing.assert_allclose(found.value, found.energy - 0.3 * found.entropy, atol=1e-9)
