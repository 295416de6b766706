"""The baselines: each finds what its authors say it finds, and LIME's surrogate is LIME's own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import counterpoise as cp
from counterpoise.methods.baselines.lime import fit_surrogate, proximity

DATA = load_breast_cancer()
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression()).fit(DATA.data, DATA.target)
FOREST = RandomForestClassifier(25, random_state=0).fit(DATA.data, DATA.target)
ROWS = DATA.data[:10]
OPTIMAL = np.abs(LOGISTIC.decision_function(ROWS)) / np.linalg.norm(LOGISTIC[-1].coef_[0])
METHODS = [cp.GradientDescent(), cp.GrowingSpheres(), cp.Lime(), cp.RandomSearch()]


def ask(method, model=LOGISTIC, **settings):
    bare = {"bounds": None, "values": "any", "relations": None, "lam": 0.0}
    return cp.explain(model, ROWS, reference=DATA.data, method=method, **bare, **settings)


@pytest.mark.parametrize("phi", ["squared", "hinge"])
@pytest.mark.parametrize("rule", ["adam", "momentum"])
def test_descent_comes_near_the_optimum_of_a_linear_model(phi, rule):
    found = ask(cp.GradientDescent(phi=phi, rule=rule, restarts=1, noise=0.0))
    assert found.valid.all()
    ratio = found.energy["distance"].to_numpy() / OPTIMAL
    assert (ratio >= 1 - 1e-9).all()
    assert ratio.mean() < 1.1


def test_descent_follows_a_cloud_where_there_is_no_gradient():
    found = ask(cp.GradientDescent(), FOREST)
    assert found.valid.mean() >= 0.8


def test_chains_around_the_row_and_noise_make_the_descent_stochastic():
    same = [ask(cp.GradientDescent(restarts=1, noise=0.0), seed=seed).x for seed in (0, 1)]
    np.testing.assert_array_equal(*same)
    other = [ask(cp.GradientDescent(restarts=2, noise=0.2), seed=seed).x for seed in (0, 1)]
    assert np.abs(other[0] - other[1]).max() > 0


def test_one_step_of_eq_11_goes_down_the_slope_of_the_decision():
    """From the row the distance has no slope, so the first step is along the score's gradient alone."""
    rule = cp.GradientDescent(rule="momentum", restarts=1, noise=0.0, iterations=1, alpha=0.01)
    seen = []

    class Watched:
        def iterate(self, problem, streams):
            from counterpoise.methods.baselines.gradient import DescentState

            x = problem.region.nearest_feasible[:, None, :].copy()
            own = np.abs(problem.score(x).margin)
            state = DescentState(x, np.zeros_like(x), np.zeros_like(x), np.ones((len(x), 1)))
            after, _ = rule._step(problem, streams, state, own, 1)
            seen.append(((after.x - x)[:, 0] / problem.scales, problem.gradient(x)[1][:, 0] * problem.scales))
            yield cp.NearestNeighbour()(problem, streams)

    ask(Watched())
    step, slope = seen[0]
    cosine = (step * slope).sum(axis=1) / np.linalg.norm(step, axis=1) / np.linalg.norm(slope, axis=1)
    np.testing.assert_allclose(cosine, 1.0, atol=1e-6)


def test_the_surrogate_is_that_of_the_lime_package_on_the_same_perturbations():
    base = pytest.importorskip("lime.lime_base", reason="lime is not installed: it is the oracle of this test")
    rng = np.random.default_rng(0)
    z = np.concatenate([np.zeros((1, 6)), rng.normal(size=(300, 6))])
    p = 1 / (1 + np.exp(-(z @ rng.normal(size=6) + 0.3 * z[:, 0] ** 2)))
    width = 0.75 * np.sqrt(6)
    lime = base.LimeBase(lambda distance: np.sqrt(np.exp(-(distance**2) / width**2)), random_state=0)
    labels = np.column_stack([1 - p, p])
    height, told, _, _ = lime.explain_instance_with_data(
        z, labels, np.linalg.norm(z, axis=1), 1, num_features=6, feature_selection="none"
    )
    mine, weights = fit_surrogate(z, p, proximity(z, width))
    np.testing.assert_allclose(mine, height, rtol=1e-6)
    np.testing.assert_allclose(weights, [weight for _, weight in sorted(told)], rtol=1e-6)


def test_the_surrogate_is_a_weighted_ridge_for_each_row_of_a_batch():
    rng = np.random.default_rng(1)
    z, f, pi = rng.normal(size=(3, 40, 4)), rng.normal(size=(3, 40)), rng.uniform(size=(3, 40))
    height, weights = fit_surrogate(z, f, pi, ridge=2.5)
    for row in range(3):
        fitted = Ridge(2.5).fit(z[row], f[row], sample_weight=pi[row])
        np.testing.assert_allclose(height[row], fitted.intercept_, rtol=1e-9)
        np.testing.assert_allclose(weights[row], fitted.coef_, rtol=1e-9)


def test_lime_turns_a_linear_model_and_repeats_until_it_does():
    once, often = ask(cp.Lime(rounds=1)), ask(cp.Lime(rounds=10))
    assert often.valid.all()
    assert once.valid.mean() < 1
    assert (often.energy["distance"] < 5 * OPTIMAL).all()


def test_spheres_shrink_to_the_boundary_and_undo_what_is_needless():
    found = ask(cp.GrowingSpheres(samples=200))
    assert found.valid.all()
    assert found.changed.mean() < 0.8 * DATA.data.shape[1]  # a point of a sphere changes all of them


def test_more_random_points_are_never_worse():
    few, many = ask(cp.RandomSearch(rounds=2), FOREST), ask(cp.RandomSearch(rounds=10), FOREST)
    both = few.valid & many.valid
    assert both.any()
    assert (many.energy["distance"][both] <= few.energy["distance"][both]).all()


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_a_ration_of_model_rows_is_kept(method):
    whole, rationed = ask(method, FOREST), ask(method, FOREST, model_rows=200)
    assert rationed.model_rows <= min(200 * len(ROWS), whole.model_rows)
    np.testing.assert_array_equal(ask(method, FOREST, model_rows=10**6).answers, whole.answers)


def test_a_ration_also_ends_the_default_search_early():
    fine = cp.Polished(cp.Search())
    assert ask(fine, FOREST, model_rows=100).model_rows < ask(fine, FOREST).model_rows


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: cp.GradientDescent(phi="cubic"),
        lambda: cp.GradientDescent(rule="newton"),
        lambda: cp.GradientDescent(alpha=0.0),
        lambda: cp.GradientDescent(samples=3),
        lambda: cp.GradientDescent(rounds=0),
        lambda: cp.Lime(samples=1),
        lambda: cp.GrowingSpheres(radius=0.0),
        lambda: cp.RandomSearch(rounds=0),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(cp.InputError):
        wrong()


MIXED = pd.DataFrame(
    {"a": np.random.default_rng(0).normal(size=200), "b": np.random.default_rng(1).choice(["u", "v", "w"], 200)}
)


BOTH = make_pipeline(
    make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(), ["b"])), LogisticRegression(C=100.0)
).fit(MIXED, np.where((MIXED["b"] == "v") & (MIXED["a"] > 0.5), "yes", "no"))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_every_baseline_may_switch_a_category_and_none_that_is_held(method):
    rows = MIXED[(MIXED["b"] == "u") & (MIXED["a"] < 0)][:3]

    def only_b(frame):
        return np.where(frame["b"] == "v", "yes", "no")

    for model in (only_b, BOTH):
        found = cp.explain(model, rows, reference=MIXED, method=method)
        assert found.valid.any()
        assert (found.frame["b"][found.valid] == "v").all()
    held = cp.explain(only_b, rows, reference=MIXED, method=method, constraints=[cp.Immutable("b")])
    assert not held.valid.any()
    assert (held.frame["b"] == "u").all()


def test_spheres_count_a_switched_category_as_a_distance_of_one():
    """A shell of radius below 1 has no room for one; every point lies in its shell."""
    seen = {}

    class Watched:
        def iterate(self, problem, streams):
            n = len(problem)
            for inner in (0.5, 2.0):
                shell = cp.GrowingSpheres(samples=50)._draw_from_shell(
                    problem, streams, np.full(n, inner), np.full(n, 0.4)
                )
                delta = problem.energy.distance.differences(shell, problem.x0)
                seen[inner] = np.sqrt((delta**2).sum(axis=-1)), (delta[..., ~problem.numeric] > 0).any()
            yield cp.NearestNeighbour()(problem, streams)

    cp.explain(BOTH, MIXED[:3], reference=MIXED, method=Watched(), target="yes")
    for inner, (far, switched) in seen.items():
        assert ((far >= inner - 1e-9) & (far <= inner + 0.4 + 1e-9)).all()
        assert switched == (inner > 1)


def test_rows_that_a_descent_leaves_start_over_while_there_are_rounds():
    """A step that is flat around the rows: only a chain that starts farther out can see it."""
    table = pd.DataFrame({"a": np.linspace(-3, 3, 200), "b": np.linspace(-1, 1, 200)})

    def step(frame):
        return np.where(frame["a"] > 2, "yes", "no")

    rows = table[:5]
    few = cp.explain(step, rows, reference=table, method=cp.GradientDescent())
    many = cp.explain(step, rows, reference=table, method=cp.GradientDescent(rounds=8))
    assert many.valid.sum() > few.valid.sum()
