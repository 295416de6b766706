"""mu: heavy enough that a minimum of the energy is valid, the same for a row alone as in a batch."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.api.problem_parts.mu import find_neighbours

rng = np.random.default_rng(0)
TRAIN = pd.DataFrame(rng.normal(size=(200, 3)) * [1.0, 5.0, 0.1], columns=["a", "b", "c"])
MODEL = LogisticRegression().fit(TRAIN, TRAIN["a"] + TRAIN["b"] / 5 > 0)
ROWS = TRAIN[:12]


class Catch:
    """A method that keeps the problem it was given."""

    def iterate(self, problem, streams):
        self.problem = problem
        yield cp.NearestNeighbour()(problem, streams)


@pytest.fixture(scope="module")
def asked():
    catch = Catch()
    e = cp.explain(MODEL, ROWS, reference=TRAIN, method=catch, lam=0)
    return catch.problem, e


def test_mu_outweighs_the_slope_of_the_effort(asked):
    problem, e = asked
    scale = TRAIN.std(ddof=0).to_numpy()
    steepest = np.linalg.norm(MODEL.coef_[0] * scale)  # in units of distance, as the dual of L2 has it
    assert (e.energy["mu"] * steepest > 1).all()
    # following the score from the row, energy falls until the decision turns
    direction = MODEL.coef_[0] * scale**2
    for row in range(len(problem)):
        part = problem.take([row])
        sign = 1.0 if part.goal.wanted_classes[0, 1] else -1.0
        margin = part.score(part.x0[:, None, :]).margin[0, 0]
        reach = -margin / (MODEL.coef_[0] @ direction)
        line = part.x0 + sign * np.linspace(0, reach, 9)[:, None] * direction
        energy = part.energy(line[None], part.x0, part.score(line[None]).margin)[0]
        assert (np.diff(energy) < 0).all()


def test_mu_of_a_row_does_not_depend_on_its_company(asked):
    _, e = asked
    alone = cp.explain(MODEL, ROWS[4:5], reference=TRAIN, method=cp.NearestNeighbour(), lam=0)
    np.testing.assert_allclose(alone.energy["mu"].iloc[0], e.energy["mu"].iloc[4], rtol=1e-9)


def test_mu_is_one_where_there_is_nothing_to_weigh():
    there = TRAIN[MODEL.predict(TRAIN)][:2]
    e = cp.explain(MODEL, there, reference=TRAIN, target=True, method=cp.NearestNeighbour())
    assert e.energy["mu"].tolist() == [1.0, 1.0]
    without = cp.explain(MODEL, ROWS[:1], schema=cp.Schema.infer(TRAIN), method=cp.NearestNeighbour())
    assert without.energy["mu"].tolist() == [1.0]


def test_neighbours_have_the_target_and_come_nearest_first(asked):
    problem, _ = asked
    near = find_neighbours(problem)
    assert near.x.shape == (12, 8, 3)
    assert near.is_present.all()
    assert (np.diff(near.effort, axis=1) >= 0).all()
    assert problem.score(near.x).reached.all()
    np.testing.assert_allclose(near.margin, problem.score(near.x).margin)
    np.testing.assert_allclose(near.effort, problem.energy.effort(near.x, problem.x0))


def test_neighbours_with_missing_cells_take_the_rows_own():
    holes = TRAIN.where(rng.random(TRAIN.shape) < 0.7)
    catch = Catch()
    cp.explain(lambda frame: frame["a"].fillna(0.0) > 0, holes[:3], reference=holes, method=catch)
    near = find_neighbours(catch.problem)
    gone = np.isnan(catch.problem.x0)
    assert not np.isnan(near.x[np.broadcast_to(~gone[:, None, :], near.x.shape)]).any()
    assert np.isfinite(near.effort).all()
