"""The steps of the firm search: each row is treated as it would be alone, and none goes beyond what may change."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from counterpoise.methods.firm.escapes import hold_change
from counterpoise.methods.firm.guided import FirmPoints, Race
from counterpoise.methods.firm.proposals import propose_nearer
from counterpoise.methods.settings.search_settings import FIRM_DEFAULTS
from counterpoise.objective.noise import Gaussian
from counterpoise.problem import Cloud
from problems import problem_of

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(300, 6))
MODEL = LogisticRegression().fit(TABLE, TABLE.sum(axis=1) > 1)
ROWS = TABLE[MODEL.predict(TABLE) == 0][:3]


def make_race(rows=ROWS, copies=40, share=0.8):
    problem = problem_of(MODEL, TABLE, rows, target=True, lam=0.1)
    draws = np.broadcast_to(np.random.default_rng(1).normal(size=(copies, 6)), (len(rows), copies, 6)).copy()
    cloud = Cloud((Gaussian(0.3),), np.zeros(len(rows), dtype=np.intp), draws, keep=share)
    return Race(replace(problem, cloud=cloud), share, FIRM_DEFAULTS)


def changed_points(problem):
    """Points that change 6, 1 and 3 features of their rows."""
    x = problem.x0 + 2.0
    x[1, 1:], x[2, 3:] = problem.x0[1, 1:], problem.x0[2, 3:]
    return x


@pytest.mark.parametrize("step", range(3))
def test_proposals_of_a_row_do_not_depend_on_how_much_others_change(step):
    problem = make_race().problem
    x = changed_points(problem)
    together = propose_nearer(problem, x, step, FIRM_DEFAULTS)
    for row in range(3):
        part = problem.take(np.array([row]))
        alone = propose_nearer(part, x[[row]], step, FIRM_DEFAULTS)[0]
        one, other = ({tuple(point) for point in points} | {tuple(x[row])} for points in (alone, together[row]))
        assert one == other


def test_a_row_with_a_firm_point_is_asked_about_as_if_the_others_had_one_too():
    race = make_race()
    n, m = race.draws.shape[:2]
    here = FirmPoints.unknown(race.problem.x0 + 3.0, m)
    here.margin[0] = np.random.default_rng(2).normal(size=m)
    x = race.problem.x0[:, None] + np.linspace(0.4, 3.0, 20)[None, :, None]
    limit = np.full(n, np.inf)
    together = race.run(x, limit, here)
    for row in range(n):
        rows = np.array([row])
        alone = replace(race, problem=race.problem.take(rows)).run(x[rows], limit[rows], here.at(rows))
        assert alone.effort[0] == together.effort[row]


@pytest.mark.parametrize("place", [0, 1, 5])
def test_a_held_change_is_one_of_the_largest_and_nothing_else_is_held(place):
    race = make_race()
    x = changed_points(race.problem)
    x[0] = race.problem.x0[0] + np.arange(1, 7)
    free = hold_change(race, x, place).problem.region.free
    held = [np.flatnonzero(~free[row]).tolist() for row in range(3)]
    assert held[0] == [5 - place]
    assert held[1] == ([0] if not place else [])
    assert set(held[2]) <= {0, 1, 2}
    assert len(held[2]) == (place < 3)
