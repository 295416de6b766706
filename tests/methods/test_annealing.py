"""Annealing: the Metropolis rule decides, the temperature falls to 0, and hot chains leave the wrong basin."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import counterpoise as cp
from counterpoise.methods.annealing import Annealing
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.points import score_points
from counterpoise.methods.sampler.sample import Sampler, list_sweep, prepare_chains
from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from problems import problem_of


def wanted(rows: object) -> np.ndarray:
    """1 outside a curve around the origin that is 1.0 away to the right, 1.6 to the left and 2.0 above and below."""
    a, b = np.asarray(rows, dtype=float).T
    angle = np.arctan2(b, a)
    edge = 1.65 - 0.3 * np.cos(angle) - 0.35 * np.cos(2 * angle)
    inside = np.hypot(a, b) < edge
    return np.column_stack([inside, ~inside]).astype(float)


@cache
def two_basins(rows: int = 30) -> Problem:
    """Rows near the origin; every reference row of the target is in the basin that is farther away."""
    rng = np.random.default_rng(0)
    near = rng.normal(0, 0.03, (rows, 2))
    left = np.column_stack([rng.uniform(-1.9, -1.65, 200), rng.normal(0, 0.1, 200)])
    table = pd.DataFrame(np.concatenate([left, rng.normal(0, 0.1, (200, 2))]), columns=["a", "b"])
    schema = cp.Schema([cp.Feature(name, "continuous", scale=1.0, lower=-3.0, upper=3.0) for name in table])
    return problem_of(wanted, table, pd.DataFrame(near, columns=["a", "b"]), schema=schema)


def test_the_colder_the_fewer_uphill_moves_and_none_at_0() -> None:
    problem, settings = two_basins(), SamplerSettings(ladders=8, temperatures=1)
    starts = problem.x0[:, None, :] + np.array([-1.8, 0.0]) * np.ones((1, 8, 1))
    rises = {}
    for T in (0.3, 0.03, 0.0):
        prepared = prepare_chains(problem, Streams.of(problem.x0, 1), starts, settings)
        assert prepared is not None
        chains = prepared[1]
        sampler = Sampler(chains, np.full(len(chains.x), max(T, 1e-9)), settings)
        moves, rises[T] = list_sweep(chains.places), 0
        for step in range(60):
            before = chains.effort.copy()
            heat = np.full(chains.effort.shape, T)
            chains.step(moves[step % len(moves)], sampler.tables, heat, chains.streams.uniform((8, 9)))
            rises[T] += int((chains.effort > before).sum())
        assert chains.problem.score(chains.x).reached.all(), "chains stay among valid points"
    assert rises[0.3] > rises[0.03] > rises[0.0] == 0


def test_cooled_chains_end_lower_than_greedy_ones_where_there_are_two_basins() -> None:
    problem = two_basins()
    found = {
        start: Annealing(chains=6, steps=600, start=start)(problem, Streams.of(problem.x0, 0)) for start in (0.5, 0.0)
    }
    cooled, greedy = (run.effort[:, 0] for run in found.values())
    assert np.isfinite([cooled, greedy]).all()
    assert cooled.mean() < 0.9 * greedy.mean()
    assert (found[0.5].x[:, 0, 0] > 0).mean() > 0.5, "most rows end in the nearer basin"


def test_the_temperature_falls_to_0() -> None:
    seen = []

    def watch(step, T, info):  # type: ignore[no-untyped-def]
        seen.append(T)
        return method.schedule(step, T, info)

    method = Annealing(chains=2, steps=20)
    Annealing(chains=2, steps=20, cooling=watch)(two_basins(), Streams.of(two_basins().x0, 0))
    shares = np.array(seen) / seen[0]
    assert (np.diff(shares, axis=0) < 0).all()
    assert shares[-1] == pytest.approx(1 / 20), "the next temperature is 0"


def test_a_constant_temperature_leaves_chains_farther_out_than_cooling_does() -> None:
    ends = []
    for cooling in (None, lambda step, T, info: T):
        seen: list[float] = []

        def watch(step, T, info, cooling=cooling, seen=seen):  # type: ignore[no-untyped-def]
            seen.append(float(info.energy.mean()))
            return Annealing(steps=200, cooling=cooling).schedule(step, T, info)

        Annealing(chains=6, steps=200, start=0.3, cooling=watch)(two_basins(), Streams.of(two_basins().x0, 0))
        ends.append(seen[-1])
    assert ends[0] < ends[1]


@pytest.mark.parametrize(
    "wrong",
    [{"chains": 2.5}, {"steps": 0}, {"start": -1.0}, {"start": np.nan}, {"cooling": 3}],
)
def test_settings_that_make_no_sense_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(cp.InputError, match=next(iter(wrong))):
        cp.Annealing(**wrong)  # type: ignore[arg-type]


def test_chains_on_trees_stay_on_the_values_nearest_to_the_row_of_each_cell() -> None:
    """Any other value of a cell costs more and decides nothing."""
    table = pd.DataFrame(np.random.default_rng(3).normal(size=(200, 3)), columns=list("abc"))
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(table, table.a + table.b > 0)
    problem = problem_of(model, table, table[:6])
    cells = Cells.of(problem)
    assert cells is not None
    found = Annealing(chains=3, steps=40)(problem, Streams.of(problem.x0, 0))
    again = score_points(problem, found.x)
    np.testing.assert_allclose(again.effort, found.effort)
    home = cells.locate_values(problem.x0[:, cells.columns])
    nearer = score_points(problem, cells.snap(problem, home, found.x[:, :1]))
    assert (nearer.effort[:, 0] >= found.effort[:, 0] * (1 - 1e-9)).all()
