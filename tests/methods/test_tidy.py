"""What relations move by less than a column shows stays as the row has it."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.methods.base import Run
from counterpoise.methods.points import make_points
from counterpoise.methods.tidy import tidy_run
from counterpoise.problem import Problem
from problems import problem_of


def make_problem() -> Problem:
    """Rates computed from counts and times, written with six digits, and a flag that the model reads."""
    random = np.random.default_rng(1)
    sent, time = random.integers(1, 400, 600).astype(float), random.integers(1, 2000, 600) / 997.0
    table = pd.DataFrame({"sent": sent, "time": time, "rate": sent / time, "flag": random.integers(0, 2, 600)})
    model = LogisticRegression().fit(table[["sent", "time", "rate", "flag"]] / 100, table["flag"])
    rule = cp.Rule("rate == sent / time", tolerance=1e-4)
    return problem_of(model, table, table[:8], constraints=[rule], values="auto")


def test_a_change_below_the_step_is_set_back_and_a_real_one_is_not():
    problem = make_problem()
    steps = problem.region.own_steps
    assert steps[2] > 0
    x = problem.x0[:, None, :].copy()
    x[..., 3] = 1 - x[..., 3]  # what reaches the target
    x[..., 2] += 0.3 * steps[2]  # what an exact repair leaves
    points = make_points(problem, x, problem.score(x), np.ones(x.shape[:2], dtype=bool))
    run = Run(*points, np.ones(len(x), dtype=bool), 1)
    reached = run.valid[:, 0]
    assert reached.any()
    tidied = tidy_run(problem, run)
    np.testing.assert_array_equal(tidied.x[reached, 0, 2], problem.x0[reached, 2])
    np.testing.assert_array_equal(tidied.x[..., 3], x[..., 3])
    assert problem.region.contains(tidied.x)[reached].all()
    np.testing.assert_array_equal(tidied.x[~reached], run.x[~reached])
