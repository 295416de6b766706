"""Certified bounds of networks: no point of less effort reaches the target, wherever it is looked for."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.compose import make_column_transformer
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.methods.linear.test_exact import VALUES, least_effort, small_table
from tests.problems import problem_of

import counterpoise as cp
from counterpoise.methods.networks.certified import prove_network
from counterpoise.methods.settings.networks import NetworkSettings


def fitted(table: pd.DataFrame, classes: int, activation: str, hidden: tuple[int, ...] = (6,)) -> object:
    score = np.abs(table["packets"] - 3) + table["rate"] + (table["protocol"] == "tcp") - table["flags"] / 2
    columns = make_column_transformer((StandardScaler(), ["packets", "rate", "flags"]), (OneHotEncoder(), ["protocol"]))
    words = {"hidden_layer_sizes": hidden, "activation": activation, "max_iter": 300, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if classes == 1:
            return make_pipeline(columns, MLPRegressor(**words)).fit(table, score)
        return make_pipeline(columns, MLPClassifier(**words)).fit(table, pd.qcut(score, classes, labels=False))


@pytest.mark.parametrize(
    ("classes", "activation", "distance"),
    [
        (1, "relu", "l2"),
        (2, "relu", "l2"),
        (3, "relu", "l1"),
        (2, "relu", "l0"),
        (2, "relu", "gower"),
        (1, "tanh", "l1"),
        (2, "tanh", "l2"),
        (3, "logistic", "l2"),
    ],
)
def test_no_bound_above_the_least_of_all_points(classes, activation, distance):
    table = small_table(5)
    model = fitted(table, classes, activation, (5, 4) if activation == "relu" else (6,))
    target = {"target": (2.0, 3.0)} if classes == 1 else {}
    for lam in (0.0, 0.1):
        words = [cp.MaxChanges(2)] if lam else [cp.Increasing("packets")]
        problem = problem_of(model, table, table[:3], distance=distance, lam=lam, constraints=words, **target)
        best = least_effort(problem, VALUES)
        proof = prove_network(problem, best, NetworkSettings.thorough())
        known = ~np.isnan(proof.bound)
        assert known.any()
        assert (proof.bound[known] <= best[known] * (1 + 1e-9)).all()
        assert not (proof.is_infeasible & np.isfinite(best)).any()


def least_l1_of_network(weights, biases, x0, scale, low, high) -> float:
    """The least L1 at which a network of one hidden layer is above 0, as a mixed-integer program with big M."""
    (first, last), (shift, offset) = weights, biases
    d, q = first.shape
    # x (d), its two-sided differences (d), activations (q), whether they are on (q)
    inside = np.maximum(first.T, 0), np.minimum(first.T, 0)
    most, least = inside[0] @ high + inside[1] @ low + shift, inside[0] @ low + inside[1] @ high + shift
    eye, zero = np.eye(q), np.zeros((q, d))
    rows = [
        np.hstack([np.diag(1 / scale), -np.eye(d), np.zeros((d, 2 * q))]),
        np.hstack([-np.diag(1 / scale), -np.eye(d), np.zeros((d, 2 * q))]),
        np.hstack([first.T, zero, -eye, np.zeros((q, q))]),
        np.hstack([-first.T, zero, eye, -np.diag(least)]),
        np.hstack([zero, zero, eye, -np.diag(most)]),
        np.hstack([np.zeros((1, 2 * d)), -last.T, np.zeros((1, q))]),
    ]
    ends = [x0 / scale, -x0 / scale, -shift, shift - least, np.zeros(q), offset]
    bounds = Bounds(
        np.concatenate([low, np.zeros(d), np.zeros(q), np.zeros(q)]),
        np.concatenate([high, np.full(d, np.inf), np.maximum(most, 0), np.ones(q)]),
    )
    cost = np.concatenate([np.zeros(d), np.ones(d), np.zeros(2 * q)])
    whole = np.concatenate([np.zeros(2 * d + q), np.ones(q)])
    limits = LinearConstraint(np.vstack(rows), ub=np.concatenate(ends))
    found = milp(cost, integrality=whole, bounds=bounds, constraints=limits)
    assert found.status == 0
    return float(found.mip_dual_bound)


def test_no_bound_above_a_mixed_integer_program():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((8,), random_state=1, max_iter=400).fit(table, np.abs(table["a"]) + table["b"] > 0.8)
    rows = table[model.predict(table) == 0][:8]
    problem = problem_of(model, table, rows, distance="l1", lam=0)
    region, unit = problem.region, problem.energy.distance.unit
    exact = np.array(
        [
            least_l1_of_network(model.coefs_, model.intercepts_, x0, unit, low, high)
            for x0, low, high in zip(problem.x0, region.lower, region.upper, strict=True)
        ]
    )
    proof = prove_network(problem, exact, NetworkSettings.thorough())
    assert (proof.bound > 0).all()
    assert (proof.bound <= exact * (1 + 1e-6)).all()
    assert np.median(proof.bound / exact) > 0.5


def test_random_points_below_the_bound_never_reach_the_target():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(150, 5)), columns=list("abcde"))
    model = fitted_on_numbers(table)
    problem = problem_of(model, table, table[:10])
    effort = cp.Search()(problem, problem.make_streams(0)).effort.min(axis=1)
    proof = prove_network(problem, effort, NetworkSettings.thorough())
    x = problem.x0[:, None, :] + rng.normal(size=(10, 4000, 5)) * rng.uniform(0, 1, (10, 4000, 1))
    x = np.where(rng.random(x.shape) < 0.5, x, problem.x0[:, None, :])
    x, inside = problem.region.bring_inside(x)
    below = problem.energy.effort(x, problem.x0) < proof.bound[:, None]
    assert below.any()
    assert not (problem.score(x).reached & inside & below).any()


def fitted_on_numbers(table: pd.DataFrame) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        target = (table["a"] * table["b"] + table["c"] > 0).to_numpy()
        return MLPClassifier((16,), random_state=0, max_iter=300).fit(table, target)


def test_modules_of_torch_are_known_by_their_layers():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    table = pd.DataFrame(np.random.default_rng(1).normal(size=(80, 3)), columns=list("abc"))
    net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(8, 1))
    found = cp.explain(net.eval(), table[:6], reference=table)
    known = found.status[found.valid]
    assert set(known) <= {"bounded", "optimal"}
    # single precision leaves more open than an answer called optimal may
    modules = linear_module(torch), linear_module(torch).double()
    single, double = (cp.explain(module, table[:6], reference=table, values="any") for module in modules)
    assert (single.gap[single.valid] < 1e-3).all()
    assert (double.status[double.valid] == "optimal").all()


def linear_module(torch):
    torch.manual_seed(0)
    return torch.nn.Linear(3, 2)
