"""The steps of the firm search: each row is treated as it would be alone, and none goes beyond what may change."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from counterpoise.methods.firm.deep_rows import find_single_changes
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
    return Race(replace(problem, cloud=cloud), np.full(len(rows), share), FIRM_DEFAULTS)


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
        alone = race.take(rows).run(x[rows], limit[rows], here.at(rows))
        assert alone.effort[0] == together.effort[row]


def test_lanes_that_escape_hold_their_largest_change_and_no_other_lane_holds_any():
    race = make_race()
    x = changed_points(race.problem)
    x[0] = race.problem.x0[0] + np.arange(1, 7)
    free = hold_change(race, x, np.array([True, True, False])).problem.region.free
    held = [np.flatnonzero(~free[row]).tolist() for row in range(3)]
    assert held == [[5], [0], []]


def test_a_row_is_found_the_same_point_for_a_share_whatever_shares_it_is_searched_for_beside_it():
    """So `keep=0.9`, which searches fewer shares than `keep=0.5`, finds nothing that `keep=0.5` does not."""
    race = make_race(rows=np.repeat(ROWS[:1], 3, axis=0))
    race = replace(race, share=np.array([0.95, 0.8, 0.5]))
    m = race.draws.shape[1]
    x = race.problem.x0[:, None] + np.linspace(0.2, 3.0, 30)[None, :, None]
    together = race.run(x, np.full(3, np.inf), FirmPoints.unknown(race.problem.x0, m))
    assert together.effort[0] >= together.effort[1] >= together.effort[2]
    assert together.effort[0] > together.effort[2]
    for lane in range(3):
        lanes = np.array([lane])
        alone = race.take(lanes).run(x[lanes], np.full(1, np.inf), FirmPoints.unknown(race.problem.x0[lanes], m))
        assert alone.effort[0] == together.effort[lane]


def test_a_change_of_one_feature_that_many_real_rows_share_is_where_a_search_starts():
    """The nearest value that reaches the target is lost under noise; the one that others there have is not."""
    rng = np.random.default_rng(3)
    a = np.concatenate([np.full(200, 62.0), rng.choice([29.0, 31.0], 200), rng.uniform(55, 61, 20)])
    table = np.stack([a, rng.normal(size=420)], axis=1)
    tree = DecisionTreeClassifier(random_state=0).fit(table, a < 61.5)
    problem = problem_of(tree, table, np.array([[62.0, 0.0]]), target=True, lam=0.1)
    found = find_single_changes(problem, problem.x0[:, None], 8, 16)[0]
    assert {29.0, 31.0} <= set(found[:, 0].tolist())
    assert set(found[:, 1].tolist()) == {0.0}
