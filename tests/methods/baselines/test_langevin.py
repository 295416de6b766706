"""Algorithm 1 with Langevin steps: the law at a constant beta, and answers while beta rises."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.methods.baselines.coordinates import CoordinateChart
from problems import problem_of


def two_blobs() -> tuple[pd.DataFrame, LogisticRegression]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    return table, LogisticRegression().fit(table, table["a"] + 0.3 * table["b"] > 0)


def test_at_a_constant_beta_walkers_follow_the_boltzmann_law_of_e() -> None:
    table, model = two_blobs()
    walkers, beta = 2000, 4.0
    row = pd.DataFrame({"a": [-1.0], "b": [0.0]})
    problem = problem_of(model, table, row, target=True, bounds=None, mu=0.5, lam=0).take([0] * walkers)
    method = cp.Algorithm1(langevin=True, sigma=0.0, beta=beta, alpha=0.05, epsilon=1e9, c2=np.inf)
    chart = CoordinateChart.of(problem)
    rng = np.random.default_rng(1)
    state = method.start(chart, np.zeros((walkers, 2, 2)), chart.origin_coordinates)
    moved = []
    for _ in range(500):
        state, info = method.langevin_step(
            chart, np.zeros((walkers, 2, 2)), state, rng.normal(size=(walkers, 2)), rng.random(walkers)
        )
        moved.append(info.is_accepted.mean())
    assert 0.3 < np.mean(moved) < 0.99, "acceptance decides"
    start = chart.origin_coordinates[0]
    axis = np.linspace(-5, 5, 161)
    grid = start + np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    one = CoordinateChart.of(problem.take([0]))
    energy, margin = (part[0] for part in one.energy_and_margin(grid[None]))
    law = np.exp(-beta * (energy - energy.min()))
    law /= law.sum()
    for column in range(2):
        known = law @ grid[:, column]
        spread = np.sqrt(law @ (grid[:, column] - known) ** 2)
        assert state.z[:, column].mean() == pytest.approx(known, abs=5 * spread / np.sqrt(walkers))
    assert (state.margin >= 0).mean() == pytest.approx(law[margin >= 0].sum(), abs=0.04)


def test_while_beta_rises_rows_reach_the_boundary_on_the_side_of_the_target() -> None:
    table, model = two_blobs()
    rows = table[model.predict(table) == 0][:20]
    found = cp.explain(model, rows, reference=table, method=cp.Algorithm1(langevin=True, iterations=300), lam=0)
    least = cp.explain(model, rows, reference=table, lam=0)
    assert found.valid.all()
    ratio = found.terms.distance / least.terms.distance
    assert np.median(ratio) < 1.5
    assert (ratio >= 1 - 1e-6).all()


def test_langevin_does_not_go_with_the_printed_flow() -> None:
    with pytest.raises(cp.InputError, match="langevin goes with the corrected flow"):
        cp.Algorithm1.literal(langevin=True)
