"""The laws of the physics, on spaces as users make them: bounds, whole numbers, decimals, categories.

What holds of one estimator or one formula is checked in tests/physics beside it; here the parts work together.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from counterpoise.models.goals import ClassGoal
from counterpoise.objective.energy import Energy
from counterpoise.objective.regularizers import Sparsity, WeightedL1
from counterpoise.physics import metropolis, symmetric_moves, taylor
from counterpoise.physics.boltzmann import log_density, weights
from counterpoise.physics.entropy import diagonal_entropy, gaussian_entropy, grid_entropy
from counterpoise.physics.estimators.monte_carlo import MonteCarlo
from counterpoise.space.constraints.words import Constraint, Immutable, MaxChanges, OneOf, Range
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array

TABLE = pd.DataFrame(
    {
        "load": np.linspace(0.0, 2.00001, 11),  # continuous
        "packets": [0, 1, 2, 3, 4, 5, 5, 5, 5, 5, 6],  # whole
        "ratio": [0.0, 0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.4, 0.4, 0.4, 0.5],  # one decimal
        "port": [22.0, 80.0, 443.0, 22.0, 80.0, 443.0, 22.0, 80.0, 443.0, 22.0, 80.0],
        "protocol": ["tcp", "udp", "icmp", "tcp", "udp", "icmp", "tcp", "udp", "icmp", "tcp", "udp"],
    }
)
SCHEMA = Schema.infer(TABLE)
WORDS: tuple[Constraint, ...] = (OneOf("port", [22, 80, 443]),)
X0 = np.array([[0.5, 2.0, 0.2, 80.0, 1.0]])


def propose(rng: np.random.Generator, x: Array, region: Region, size: float = 0.8) -> Array:
    """Either move, by a coin that does not look at the state."""
    step = symmetric_moves.move_numbers(x, rng.standard_normal(x.shape), size, region, SCHEMA.scales, SCHEMA.numeric)
    drawn = symmetric_moves.redraw_listed_value(x, rng.random((*x.shape[:2], 2)), region)
    return np.where(rng.random((*x.shape[:2], 1)) < 0.5, step, drawn)


def run(
    energy: Callable[[Array], Array],
    region: Region,
    T: Array | float,
    chains: int = 4000,
    steps: int = 120,
    seed: int = 0,
) -> Array:
    """One snapshot ``(chains, d)`` of independent chains after many steps at one temperature, from the row itself."""
    rng = np.random.default_rng(seed)
    state = metropolis.init(np.repeat(region.nearest_feasible[:, None], chains, axis=1), energy)
    for _ in range(steps):
        proposal = propose(rng, state.x, region)
        state, _ = metropolis.step(state, proposal, energy, rng.random(state.energy.shape), T)
    assert not region.is_broken(state.x).any()
    return state.x[0]


def frequencies(values: Array, among: Array) -> Array:
    return np.array([np.isclose(values, value).sum() for value in among])


@pytest.mark.parametrize("T", [0.3, 2.0])
def test_long_runs_follow_the_boltzmann_law_on_every_kind_of_feature(T: float) -> None:
    region = Region.build(SCHEMA, X0, (*WORDS, Range("load", 0.2, 1.7)))
    tilt = {"port": np.array([0.0, 0.7, 0.2]), "protocol": np.array([0.3, 0.0, 0.9])}
    ports = np.array([22.0, 80.0, 443.0])

    def by_load(load: Array) -> Array:
        return 2.0 * (load - 0.4) * (load - 1.6)

    def energy(x: Array) -> Array:
        category = x[..., 4].astype(int)
        port = np.searchsorted(ports, x[..., 3])
        return (
            by_load(x[..., 0])
            + 0.3 * np.abs(x[..., 1] - 2)
            + 4 * x[..., 2]
            + tilt["port"][port]
            + tilt["protocol"][category]
        )

    found = run(energy, region, T)
    grid = np.linspace(0.2, 1.7, 3001)
    law = np.cumsum(weights(by_load(grid), T))
    assert kstest(found[:, 0], lambda v: np.interp(v, grid, law)).pvalue > 1e-3
    whole, tenths = np.arange(7.0), np.arange(6) / 10
    for column, among, levels in (
        (1, whole, 0.3 * np.abs(whole - 2)),
        (2, tenths, 4 * tenths),
        (3, ports, tilt["port"]),
        (4, np.arange(3.0), tilt["protocol"]),
    ):
        counts = frequencies(found[:, column], among)
        assert counts.sum() == len(found)
        assert chisquare(counts, len(found) * weights(levels, T)).pvalue > 1e-3


def test_the_law_of_an_energy_with_a_decision_in_it() -> None:
    """The energy of Eq. (3) itself, of a linear score, with a ceiling on the number of changes."""
    region = Region.build(SCHEMA, X0, (*WORDS, Immutable("ratio", "port"), MaxChanges(2)))
    distance = Distance.of(SCHEMA, "l1")
    energy = Energy(distance, 0.5, (Sparsity(),), np.array([1.5]))
    T = 0.6

    def field(x: Array) -> Array:
        margin = x[..., 0] + 0.5 * x[..., 1] - x[..., 4] - 2
        return np.where(region.has_few_changes(x), energy(x, X0, margin), np.inf)

    found = run(field, region, T, steps=200, seed=1)
    # a continuous feature is changed almost surely, so that one more change is all that the ceiling allows
    load = np.linspace(0, 2.00001, 801)
    cells = np.stack(np.meshgrid(load, np.arange(7.0), np.arange(3.0), indexing="ij"), axis=-1).reshape(-1, 3)
    points = np.column_stack([cells[:, :2], np.full(len(cells), 0.2), np.full(len(cells), 80.0), cells[:, 2]])
    p = weights(field(points[None])[0], T).reshape(801, 7, 3)
    counts = np.array([[((found[:, 1] == a) & (found[:, 4] == b)).sum() for b in range(3)] for a in range(7)])
    likely = p.sum(axis=0) > 0
    assert counts[~likely].sum() == 0
    assert chisquare(counts[likely], len(found) * p.sum(axis=0)[likely]).pvalue > 1e-3
    assert kstest(found[:, 0], lambda v: np.interp(v, load, np.cumsum(p.sum(axis=(1, 2))))).pvalue > 1e-3


@pytest.mark.parametrize("move", ["stride", "redraw"])
def test_every_move_is_as_likely_forth_as_back(move: str) -> None:
    """Detailed balance: from an even spread over the region, each pair of states is left as often as it is entered."""
    region = Region.build(SCHEMA, X0, WORDS)
    rng, k = np.random.default_rng(2), 60_000
    ports = np.array([22.0, 80.0, 443.0])
    x = np.column_stack(
        [
            rng.uniform(0, 2.00001, k),
            rng.integers(0, 7, k),
            rng.integers(0, 6, k) / 10,
            rng.choice(ports, k),
            rng.integers(0, 3, k),
        ]
    )[None]
    if move == "stride":
        y = symmetric_moves.move_numbers(x, rng.standard_normal(x.shape), 1.5, region, SCHEMA.scales, SCHEMA.numeric)
    else:
        y = symmetric_moves.redraw_listed_value(x, rng.random((1, k, 2)), region)
    bins: list[Callable[[Array], Array]] = [
        lambda v: np.minimum(v / 2.00001 * 8, 7).astype(int),
        lambda v: v.astype(int),
        lambda v: np.rint(v * 10).astype(int),
        lambda v: np.searchsorted(ports, v),
        lambda v: v.astype(int),
    ]
    moved = 0
    for column, binned in enumerate(bins):
        a, b = binned(x[0, :, column]), binned(y[0, :, column])
        moved += int((x[0, :, column] != y[0, :, column]).sum())
        flow = np.zeros((8, 8))
        np.add.at(flow, (a, b), 1)
        upper = np.triu_indices(8, 1)
        forth, back = flow[upper], flow.T[upper]
        busy = forth + back > 20
        if busy.any():
            square = ((forth - back) ** 2 / np.maximum(forth + back, 1))[busy].sum()
            assert square < busy.sum() + 5 * np.sqrt(2 * busy.sum())  # a chi-square with as many degrees of freedom
    assert moved > k / 3
    assert not region.is_broken(y).any()


@settings(max_examples=30)
@given(seed=st.integers(0, 9999), size=st.floats(0.01, 50.0))
def test_moves_stay_in_the_region_and_leave_fixed_and_missing_cells_alone(seed: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    x0 = np.array([[0.5, 2.0, 0.2, 80.0, 1.0], [1.5, np.nan, 0.1, 22.0, np.nan]])
    region = Region.build(SCHEMA, x0, (*WORDS, Immutable("ratio"), Range("packets", 1, 4)))
    x = np.repeat(region.nearest_feasible[:, None], 5, axis=1)
    for _ in range(4):
        x = propose(rng, x, region, size)
    assert not region.is_broken(np.where(np.isnan(x0[:, None]), x0[:, None], x)).any()
    np.testing.assert_array_equal(x[..., 2], np.broadcast_to(x0[:, None, 2], x.shape[:2]))


def test_a_category_of_the_row_that_nobody_else_has_can_be_left_and_found_again() -> None:
    schema = SCHEMA.edit("protocol", categories=("icmp", "tcp", "udp", "gre"), unseen=("gre",))
    x0 = np.array([[0.5, 2.0, 0.2, 80.0, 3.0]])
    region = Region.build(schema, x0, [Immutable("port")])
    rng, x = np.random.default_rng(3), np.repeat(x0[:, None], 4000, axis=1)
    for _ in range(3):
        x = symmetric_moves.redraw_listed_value(x, rng.random((1, 4000, 2)), region)
    assert chisquare(frequencies(x[0, :, 4], np.arange(4.0))).pvalue > 1e-3


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
