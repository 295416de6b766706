"""Surrogates: the question that is asked of the trees is about the trees alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.methods.search import Search
from counterpoise.methods.settings.surrogate_settings import SurrogateSettings
from counterpoise.methods.surrogate import as_surrogate_problem, find_surrogate
from problems import problem_of

RNG = np.random.default_rng(4)
TABLE = pd.DataFrame({"load": RNG.normal(size=120).round(2), "rate": RNG.normal(size=120).round(2)})
SCORE = {
    "number": lambda frame: (frame["load"] + frame["rate"] ** 2).to_numpy(),
    "two labels": lambda frame: np.where(frame["load"] + frame["rate"] > 0, "high", "low"),
    "three labels": lambda frame: np.array(["a", "b", "c"])[np.digitize(frame["load"] + frame["rate"], [-0.5, 0.5])],
}
TARGET = {"number": (1.5, None), "two labels": "opposite", "three labels": "opposite"}


@pytest.mark.parametrize("kind", SCORE)
@settings(max_examples=5)
@given(row=st.integers(0, 119), margin=st.sampled_from([0.0, 0.3]))
def test_reference_rows_of_the_target_are_those_that_the_trees_put_there(kind, row, margin):
    assume(kind != "number" or SCORE[kind](TABLE)[row] < 1.5)
    problem = problem_of(SCORE[kind], TABLE, TABLE[row : row + 1], target=TARGET[kind])
    trees = find_surrogate(problem, SurrogateSettings())
    assert trees is not None
    asked = as_surrogate_problem(problem, trees.with_margin(margin))
    predicted = asked.model.predict(asked.reference_rows.x)
    assert np.array_equal(asked.reference_rows.find_target_rows(asked.goal), np.flatnonzero(predicted))


@pytest.mark.parametrize("kind", SCORE)
def test_a_search_of_the_trees_ends_whatever_the_model_gives(kind):
    rows = TABLE[SCORE["number"](TABLE) < 1.5][:6]
    problem = problem_of(SCORE[kind], TABLE, rows, target=TARGET[kind])
    for group in problem.goal.group_rows():
        part = problem.take(group)
        trees = find_surrogate(part, SurrogateSettings())
        assert trees is not None
        asked = as_surrogate_problem(part, trees)
        run = Search()(asked, asked.make_streams(0))
        assert np.isfinite(run.effort[:, 0]).all()
        answers = cp.explain(SCORE[kind], rows, reference=TABLE, target=TARGET[kind], model_rows=300)
        assert answers.valid.all()
