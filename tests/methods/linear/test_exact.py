"""Proofs of linear models against all points of small tables: no bound above the least effort, no false optimum."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from tests.problems import problem_of

import counterpoise as cp
from counterpoise.methods.linear.exact import prove_linear
from counterpoise.methods.settings.linear import LinearSettings
from counterpoise.problem import Problem

MODELS = {
    "logistic": LogisticRegression(),
    "sgd": SGDClassifier(random_state=0),
    "svc": SVC(kernel="linear"),
    "linear svc": LinearSVC(),
    "lda": LinearDiscriminantAnalysis(),
}


def small_table(seed: int, rows: int = 60) -> pd.DataFrame:
    """Whole numbers, decimals and categories with few values each, so that all points can be tried."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "packets": rng.integers(0, 7, rows),
            "rate": rng.integers(0, 21, rows) / 10,
            "protocol": rng.choice(["tcp", "udp", "icmp"], rows),
            "flags": rng.integers(0, 4, rows),
        }
    )


def fitted(table: pd.DataFrame, model: object, classes: int, seed: int, encoder: object) -> object:
    rng = np.random.default_rng(seed + 1)
    score = table["packets"] * rng.normal() + table["rate"] * rng.normal() + (table["protocol"] == "tcp") * rng.normal()
    score += table["flags"] * rng.normal() + rng.normal(size=len(table)) * 0.5
    columns = make_column_transformer((StandardScaler(), ["packets", "rate", "flags"]), (encoder, ["protocol"]))
    target = score if classes == 1 else pd.qcut(score, classes, labels=False)
    return make_pipeline(columns, model).fit(table, target)


def least_effort(problem: Problem, values: list[np.ndarray]) -> np.ndarray:
    """The least effort of all legal points that the model accepts, by trying all of them."""
    every = np.array(list(product(*values)), dtype=np.float64)
    out = np.full(len(problem), np.inf)
    for row in range(len(problem)):
        part = problem.take([row])
        cells = [np.unique(np.append(column, own)) for column, own in zip(values, part.x0[0], strict=True)]
        points = (
            np.array(list(product(*cells)))[None]
            if any(len(c) != len(v) for c, v in zip(cells, values, strict=True))
            else every[None]
        )
        good = part.score(points).reached & part.region.contains(points)
        effort = np.where(good, part.energy.effort(points, part.x0), np.inf)
        out[row] = effort.min()
    return out


def check(problem: Problem, values: list[np.ndarray], boxes: int = 5_000) -> float:
    """Hold a proof against all points; the share of rows that were proven."""
    proof = prove_linear(problem, np.full(len(problem), np.inf), settings=LinearSettings(boxes=boxes))
    assert proof is not None
    best = least_effort(problem, values)
    known = ~np.isnan(proof.bound)
    assert (proof.bound[known] <= best[known] * (1 + 1e-9)).all()
    assert not (proof.is_infeasible & np.isfinite(best)).any()
    proven = known & (proof.effort <= proof.bound * (1 + 1e-6))
    assert (proof.effort[proven] <= best[proven] * (1 + 1e-6)).all()
    assert (np.isinf(proof.effort) | (proof.effort >= best * (1 - 1e-9))).all()
    assert (proof.is_infeasible | np.isfinite(best) | ~known).all()
    some = np.isfinite(best)
    return float(np.mean(proven[some])) if some.any() else 1.0


VALUES = [np.arange(7.0), np.arange(21) / 10, np.arange(3.0), np.arange(4.0)]


@pytest.mark.parametrize("distance", ["l2", "l1", "l0", "gower", "mad"])
@pytest.mark.parametrize("lam", [0.0, 0.1])
@pytest.mark.parametrize("name", MODELS)
def test_least_of_all_points(name, lam, distance):
    table = small_table(3)
    model = fitted(table, MODELS[name], 2, 3, OneHotEncoder())
    problem = problem_of(model, table, table[:6], distance=distance, lam=lam)
    assert check(problem, VALUES) == 1.0


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 10_000),
    classes=st.sampled_from([1, 2, 3, 4]),
    distance=st.sampled_from(["l2", "l1", "l0", "gower", "mad"]),
    lam=st.sampled_from([0.0, 0.1, 0.5]),
    ordinal=st.booleans(),
    weights=st.sampled_from([None, {"packets": 2.0, "protocol": 0.5}]),
    constraints=st.lists(
        st.sampled_from(
            [
                cp.MaxChanges(2),
                cp.Increasing("packets"),
                cp.Immutable("protocol"),
                cp.Range("rate", 0.5, 1.7),
                cp.Cost("packets", up=3.0, down=0.5),
                cp.Cost("flags", up=0.0),
            ]
        ),
        max_size=3,
        unique_by=repr,
    ),
)
@example(seed=629, classes=1, distance="l2", lam=0.0, ordinal=False, weights=None, constraints=[])
def test_random_questions(seed, classes, distance, lam, ordinal, weights, constraints):
    table = small_table(seed)
    encoder = OrdinalEncoder() if ordinal else OneHotEncoder()
    model = fitted(table, Ridge() if classes == 1 else LogisticRegression(), classes, seed, encoder)
    target = {}
    if classes == 1:
        middle = float(np.median(model.predict(table)))
        target = {"target": (middle, middle + 0.5)}
    problem = problem_of(
        model, table, table[:3], distance=distance, lam=lam, weights=weights, constraints=constraints, **target
    )
    has_free_changes = any(isinstance(word, cp.Cost) and word.up == 0 for word in constraints)
    assert check(problem, VALUES) == 1.0 or has_free_changes  # of which the bound does not count how many there are
