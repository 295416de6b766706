"""Algorithm 1: each line of the listing does what it says, and each correction what it is for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.api.explainer import Explainer
from counterpoise.errors import CapabilityError, InputError
from counterpoise.methods.baselines.algorithm1 import Algorithm1, State
from counterpoise.methods.baselines.coordinates import CoordinateChart
from counterpoise.models.goals import ClassGoal
from counterpoise.models.registry import as_model
from counterpoise.objective.energy import Energy
from counterpoise.problem import Problem
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.constraints.words import Immutable, Range
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema
from counterpoise.streams import Streams
from counterpoise.types import Array

DATA = load_breast_cancer()
LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression()).fit(DATA.data, DATA.target)
ROWS = DATA.data[:12]
WEIGHTS = LOGISTIC[-1].coef_[0]
OPTIMAL = np.abs(LOGISTIC.decision_function(ROWS)) / np.linalg.norm(WEIGHTS)


def explain(method: Algorithm1, **settings: Any) -> Any:
    bare = Explainer(LOGISTIC, reference=DATA.data, bounds=None, values="any", relations=None)
    return bare(ROWS, lam=0.0, method=method, **settings)


def problem(mu: float = 1.0, rows: Array = ROWS, words: tuple[Any, ...] = ()) -> Problem:
    schema = Schema.infer(DATA.data)
    model = as_model(LOGISTIC, schema, DATA.data)
    now = LOGISTIC.predict(np.nan_to_num(rows))
    wanted = np.stack([now == 1, now == 0], axis=1)
    region = Region.build(schema, rows, words, None)
    energy = Energy(Distance.of(schema), 0.0, (), np.full(len(rows), mu))
    nobody = ReferenceRows(np.empty((0, rows.shape[1])), np.empty((0, 2)))
    goal = ClassGoal(wanted, model.link)
    return Problem(rows, model, goal, region, energy, schema.scales, schema.numeric, nobody, np.arange(len(rows)))


def states(method: Algorithm1, **settings: Any) -> list[State]:
    asked = problem(**settings)
    return [state for state, _, _ in method.trace(asked, Streams.of(asked.x0, 0))]


def test_the_corrected_form_reaches_the_optimum_of_a_linear_model() -> None:
    found = explain(Algorithm1(), mu=1.0)
    assert found.valid.all()
    ratio = found.energy["distance"].to_numpy() / OPTIMAL
    assert (ratio >= 1 - 1e-9).all()
    assert ratio.mean() < 1.01


def test_as_printed_nothing_flips_because_a_probability_has_no_slope_far_from_the_boundary() -> None:
    found = explain(Algorithm1.literal(c2=np.inf), mu=1.0)
    assert found.valid.mean() < 0.1
    assert found.energy["distance"].max() < 0.2  # it hardly leaves the row


def test_as_printed_the_curvature_check_deadlocks_at_the_row_itself() -> None:
    """The distance has a kink at the row: no curvature bound holds there, and a refusal leaves the row where it is."""
    asked = problem()
    told = list(Algorithm1.literal(probability=False, iterations=20).trace(asked, Streams.of(asked.x0, 0)))
    assert all(info.is_refused.all() for _, info, _ in told[1:])
    np.testing.assert_array_equal(told[-1][0].z, told[0][0].z)
    free = list(
        Algorithm1.literal(probability=False, printed=False, iterations=20).trace(asked, Streams.of(asked.x0, 0))
    )
    assert (free[-1][0].z != free[0][0].z).any()


def test_in_log_odds_the_printed_form_ends_at_the_boundary_on_either_side() -> None:
    found = explain(Algorithm1.literal(probability=False, c2=np.inf, alpha=0.002, iterations=3000), mu=1.0)
    margins = found.scores["margin_after"].to_numpy()
    assert (np.abs(margins) < 0.02).all()
    assert 0 < found.valid.sum() < len(ROWS)


def test_too_small_a_mu_never_leaves_the_row_and_a_larger_one_does() -> None:
    """A minimum of E is valid only where mu times the slope of f exceeds 1."""
    slope = np.linalg.norm(WEIGHTS)
    for mu, leaves in ((0.5 / slope, False), (1.5 / slope, True)):
        found = explain(Algorithm1(sigma=0.0, beta=1e6, c2=np.inf), mu=mu)
        assert found.valid.all() == leaves


def test_a_candidate_steeper_than_c1_halves_alpha() -> None:
    norm = np.linalg.norm(WEIGHTS)  # of f; that of E is below 1 + norm
    one = problem()
    chart = CoordinateChart.of(one)
    noise = np.zeros((len(one), 2, one.x0.shape[1]))
    for c1, halved in ((norm - 2, True), (norm + 2, False)):
        method = Algorithm1(sigma=0.0, c1=c1, c2=np.inf, alpha=0.01)
        start = method.start(chart, noise, chart.origin_coordinates)
        after, info = method.step(chart, noise, start, np.zeros(len(one)))
        assert (info.is_alpha_halved == halved).all()
        way = np.linalg.norm(after.z - start.z, axis=1)
        np.testing.assert_allclose(way, (0.005 if halved else 0.01) * np.linalg.norm(start.gradient, axis=1))


def test_alpha_recovers_only_in_the_corrected_form() -> None:
    for printed in (True, False):
        method = Algorithm1(sigma=0.0, c2=np.inf, alpha=0.01, printed=printed)
        chart = CoordinateChart.of(problem())
        noise = np.zeros((len(ROWS), 2, ROWS.shape[1]))
        low = method.start(chart, noise, chart.origin_coordinates)._replace(alpha=np.full(len(ROWS), 0.0025))
        after, _ = method.step(chart, noise, low, np.zeros(len(ROWS)))
        assert (after.alpha == (0.0025 if printed else 0.005)).all()


def test_uphill_candidates_are_taken_as_often_as_metropolis_says() -> None:
    method = Algorithm1(sigma=0.0, beta=2.0, c2=np.inf, c1=1e9, alpha=5.0, printed=True, two_sided=True)
    one = problem(rows=np.repeat(ROWS[:1], 4000, axis=0))
    chart = CoordinateChart.of(one)
    noise = np.zeros((4000, 2, ROWS.shape[1]))
    at = chart.origin_coordinates + 0.3  # somewhere off the kink; a step this long overshoots
    start = method.start(chart, noise, at)
    trial = method._evaluate_state(chart, noise, at - 5.0 * start.gradient, start.alpha)
    rise = float(trial.value[0] - start.value[0])
    start = start._replace(value=trial.value - 0.7)  # as if it were a rise of 0.7
    assert rise != 0.7
    _, info = method.step(chart, noise, start, np.random.default_rng(0).random(4000))
    assert info.is_accepted.mean() == pytest.approx(np.exp(-1.4), abs=0.03)


def test_an_answer_that_must_survive_lies_deeper_by_just_that_much() -> None:
    plain, firm = explain(Algorithm1(), mu=1.0), explain(Algorithm1(xi=0.2), mu=1.0)
    assert firm.valid.all()
    worst = firm.scores["margin_after"].to_numpy() - 0.2 * np.linalg.norm(WEIGHTS)
    assert (worst > -0.02).all()
    more = firm.energy["distance"].to_numpy() - plain.energy["distance"].to_numpy()
    np.testing.assert_allclose(more, 0.2, atol=0.05)


def test_the_trace_shows_every_iteration_and_rows_that_ended_stay_where_they_are() -> None:
    asked = problem()
    told = list(Algorithm1(iterations=200).trace(asked, Streams.of(asked.x0, 0)))
    finished = np.argmax([done for _, _, done in told], axis=0)
    for row, when in enumerate(finished):
        assert when > 0
        assert all((state.z[row] == told[when][0].z[row]).all() for state, _, _ in told[when:])
    assert told[0][0].z is not told[-1][0].z


def test_a_row_alone_gets_what_it_gets_in_a_batch() -> None:
    """But for the last digits: a product of matrices rounds by the size of a call, on some processors."""
    explainer = Explainer(LOGISTIC, reference=DATA.data)
    together = explainer(ROWS[:5], method=Algorithm1())
    for row in (0, 3):
        alone = explainer(ROWS[row : row + 1], method=Algorithm1()).x[0]
        np.testing.assert_allclose(alone, together.x[row], rtol=1e-12)


def test_constraints_bind_the_answer() -> None:
    names = [f"f{place}" for place in range(30)]
    table = pd.DataFrame(DATA.data, columns=names)
    words = [Immutable("f0", "f7"), Range("f22", 60.0, 120.0)]
    found = Explainer(LOGISTIC, reference=table.to_numpy(), constraints=words)(ROWS, method=Algorithm1())
    assert found.valid.any()
    np.testing.assert_array_equal(found.x[:, [0, 7]], ROWS[:, [0, 7]])
    assert ((found.x[:, 22] >= 60) & (found.x[:, 22] <= 120))[found.valid].all()


def test_the_cloud_shows_the_way_where_the_model_has_no_gradient() -> None:
    forest = RandomForestClassifier(30, max_depth=4, random_state=0).fit(DATA.data[:, :4], DATA.target)
    explainer = Explainer(forest, reference=DATA.data[:, :4])
    method = Algorithm1(sigma=0.5, alpha=0.05, samples=64, beta=3.0, iterations=150)
    assert explainer(ROWS[:6, :4], method=method, mu=2.0).valid.mean() > 0.5
    with pytest.raises(CapabilityError, match="sigma"):
        explainer(ROWS[:1, :4], method=Algorithm1.literal())


def test_it_follows_a_curved_score() -> None:
    network = make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=2000, random_state=0)).fit(
        DATA.data, DATA.target
    )
    found = Explainer(network, reference=DATA.data)(ROWS, method=Algorithm1())
    assert found.valid.mean() > 0.8


@pytest.mark.parametrize("settings", [{"alpha": 0}, {"beta": -1}, {"samples": 3}, {"xi": -1}, {"iterations": 0}])
def test_senseless_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Algorithm1(**settings)


def test_charts_keep_what_has_no_coordinate_and_map_there_and_back() -> None:
    rows = ROWS[:3].copy()
    rows[1, 4] = np.nan
    chart = CoordinateChart.of(problem(rows=rows, words=(Immutable("f2"),)))
    z = chart.origin_coordinates + np.random.default_rng(0).normal(size=rows.shape)
    x = chart.to_rows(z)
    np.testing.assert_array_equal(x[:, 2], rows[:, 2])
    assert np.isnan(x[1, 4])
    np.testing.assert_array_equal(chart.to_rows(chart.origin_coordinates), rows)
    np.testing.assert_allclose(chart.to_coordinates(x)[chart.is_movable], z[chart.is_movable])
    full = CoordinateChart.of(problem(rows=ROWS[:3]))
    here = full.origin_coordinates + 0.5
    margin, slope = full.margin_and_gradient(here)
    step = 1e-5 * np.eye(30)
    differences = (full.margin(here[:, None] + step) - full.margin(here[:, None] - step)) / 2e-5
    np.testing.assert_allclose(slope, differences, atol=1e-5)
    odds = CoordinateChart.of(full.problem, probability=True)
    differences = (odds.margin(here[:, None] + step) - odds.margin(here[:, None] - step)) / 2e-5
    np.testing.assert_allclose(odds.margin_and_gradient(here)[1], differences, atol=1e-6)
    np.testing.assert_allclose(odds.margin(here), 1 / (1 + np.exp(-margin)) - 0.5)
