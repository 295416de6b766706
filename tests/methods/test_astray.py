"""Where the row itself misleads a search: reference rows, missing cells, rounding, and trees so small that it shows."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

import counterpoise as cp
from counterpoise import telemetry
from counterpoise.methods.model_kinds import leaves_of, starts_at_row
from counterpoise.methods.points import score_points
from counterpoise.methods.settings.start_settings import StartSettings
from counterpoise.methods.slopes import has_slope
from counterpoise.methods.smooth.taylor_steps import descend_from_switches
from counterpoise.methods.trees import beam as beams
from counterpoise.methods.trees.cell_menu import CellValues
from counterpoise.methods.trees.survey import SurveyResult, survey_changes
from counterpoise.models.trees.leaves import Leaves
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from problems import problem_of


def bumps(seed: int, rows: int = 1200, columns: int = 8) -> tuple[pd.DataFrame, np.ndarray]:
    """Classes that change at many places, and seldom for one feature alone."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.exponential(size=(rows, columns)), columns=list("abcdefgh")[:columns])
    x = table.to_numpy()
    return table, ((np.sin(3 * x[:, 0]) * x[:, 1] + x[:, 2] * x[:, 3] - x[:, 4]) > 0.9).astype(int)


def test_rows_that_lead_nowhere_themselves_are_surveyed_from_reference_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    table, label = bumps(0)
    model = HistGradientBoostingClassifier(max_iter=80, random_state=0).fit(table, label)
    surveyed: list[np.ndarray] = []

    def watched(
        problem: Problem, leaves: Leaves, menu: CellValues, x: np.ndarray, *rest: object, **more: object
    ) -> SurveyResult:
        surveyed.append(np.abs(x - problem.region.nearest_feasible[:, None, :]).max(axis=2) > 0)
        return survey_changes(problem, leaves, menu, x, *rest, **more)

    monkeypatch.setattr(beams, "survey_changes", watched)
    held = [cp.Immutable("a", "c", "e", "g")]
    problem = problem_of(model, table, table[:40], constraints=held, target=1 - model.predict(table[:40]))
    assert starts_at_row(problem), "the row itself comes first"
    run = cp.Search()(problem, Streams.of(problem.x0, 0))
    lost = int((~run.valid.any(axis=1)).sum())
    assert lost, "some rows lead nowhere"
    assert not surveyed[0].any(), "first from the rows themselves,"
    assert any(len(away) >= lost and away[:, 1:].any(axis=1).all() and not away[:, 0].any() for away in surveyed[1:])


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["l2", "l1", "gower"]), st.booleans())
def test_no_answer_is_farther_than_a_reference_row_that_would_do(seed: int, distance: str, votes: bool) -> None:
    table, label = bumps(seed)
    kind = RandomForestClassifier(30, random_state=0) if votes else HistGradientBoostingClassifier(random_state=0)
    model = kind.fit(table, label)
    rows = table[:20]
    problem = problem_of(model, table, rows, distance=distance, target=1 - model.predict(rows))
    found = cp.explain(model, rows, reference=table, distance=distance)
    others = score_points(problem, np.broadcast_to(table.to_numpy(), (len(rows), *table.shape)))
    effort = problem.energy.effort(found.x[:, None, :], found.x0)[:, 0]
    assert (effort <= others.lowest_effort * (1 + 1e-12)).all()


def holes(seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(800, 5)), columns=list("abcde"))
    label = (table @ [3, 2, 1, -1, -2.0] > 1).astype(int).to_numpy()
    return table.where(rng.random(table.shape) > 0.15), label


@pytest.mark.parametrize("distance", ["l2", "l1", "l0"])
@pytest.mark.parametrize("kind", ["linear", "network", "blind"])
def test_a_missing_cell_is_given_a_value_where_that_alone_is_nearest(kind: str, distance: str) -> None:
    """Whatever the value, giving one costs 1."""
    table, label = holes()
    last = (
        MLPClassifier((4,), solver="lbfgs", max_iter=5000, alpha=1.0, random_state=0)
        if kind == "network"
        else LogisticRegression()
    )
    fitted = make_pipeline(SimpleImputer(), last).fit(table, label)
    model = (lambda rows: fitted.predict_proba(rows)) if kind == "blind" else fitted
    rows = table[(fitted.predict(table) == 0) & table["a"].isna()][:25]
    enough = fitted.predict(rows.assign(a=table["a"].max())) == 1
    assert enough.sum() > 10, "the case is worth asking about"
    found = cp.explain(model, rows, reference=table, target=1, distance=distance)
    assert (found.terms.distance[enough] <= 1 + 1e-9).all()
    assert found.valid.all()


def test_a_row_with_a_missing_cell_is_answered_alike_alone_and_beside_others() -> None:
    table, label = holes(1)
    fitted = make_pipeline(SimpleImputer(), LogisticRegression()).fit(table, label)
    explainer = cp.Explainer(lambda rows: np.round(fitted.predict_proba(rows), 3), reference=table)
    rows = table[table.isna().any(axis=1)][:8]
    together = explainer(rows).x
    for row in range(len(rows)):
        np.testing.assert_array_equal(explainer(rows.iloc[[row]]).x[0], together[row])


@pytest.mark.parametrize("kind", ["linear", "network", "blind"])
@pytest.mark.parametrize("distance", ["l2", "l1"])
def test_a_whole_row_does_not_depend_on_what_others_miss(kind: str, distance: str) -> None:
    table, label = holes(2)
    last = LogisticRegression() if kind == "linear" else MLPClassifier((4,), solver="lbfgs", max_iter=5000, alpha=1.0)
    fitted = make_pipeline(SimpleImputer(), last).fit(table, label)
    model = (lambda rows: fitted.predict_proba(rows)) if kind == "blind" else fitted
    explainer = cp.Explainer(model, reference=table)
    whole = table.dropna()[:10]
    beside = explainer(pd.concat([whole, table[table.isna().sum(axis=1) > 1][:5]]), distance=distance)
    # sums over a network's weights depend on the batch in the last digit
    np.testing.assert_allclose(beside.terms.total[:10], explainer(whole, distance=distance).terms.total, rtol=1e-6)


def test_values_for_missing_cells_are_no_points_of_rows_that_miss_none() -> None:
    table, label = holes(3)
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(table, label)
    rows = pd.concat([table.dropna()[:3], table[table.isna().sum(axis=1) > 1][:3]])
    found = descend_from_switches(problem_of(model, table, rows, target=1 - model.predict(rows)))
    assert not found.at(np.arange(3)).has_been_scored
    assert not found.at(np.arange(3)).valid.any()
    assert found.at(np.arange(3, 6)).valid.any(axis=1).all()


def test_an_alert_that_leads_far_itself_is_searched_from_reference_rows_too() -> None:
    train, label, _ = telemetry.simulate(seed=0)
    model = HistGradientBoostingClassifier(random_state=0).fit(train, label)
    near = cp.explain(model, telemetry.PAPER_ALERT, reference=train, target="benign", lam=0)
    never = cp.Polished(cp.Search(starts=StartSettings(far_effort_share=np.inf)))
    far = cp.explain(model, telemetry.PAPER_ALERT, reference=train, target="benign", lam=0, method=never)
    assert near.terms.total[0] < far.terms.total[0]


@pytest.mark.parametrize(("noise", "steep"), [(1e-14, False), (1e-3, True)])
def test_what_rounding_moves_is_no_slope(noise: float, steep: bool) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))

    def model(rows: pd.DataFrame) -> np.ndarray:
        x = rows.to_numpy()
        score = np.floor(x).sum(axis=1) + noise * np.sin(1e3 * x).sum(axis=1)
        second = 1 / (1 + np.exp(-score))
        return np.column_stack([1 - second, second])

    problem = problem_of(model, table, table[:10])
    assert (has_slope(problem, score_points(problem, problem.x0[:, None, :])) == steep).all()


@pytest.mark.parametrize("steep", [False, True])
def test_steps_between_whole_numbers_are_a_slope_only_where_the_next_step_goes_on(steep: bool) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 40, (200, 4)), columns=list("abcd"))
    jumps = rng.normal(size=41).cumsum()  # what trees may say of a whole number: each step is one of its own

    def model(rows: pd.DataFrame) -> np.ndarray:
        x = rows.to_numpy().astype(int)
        score = (x - 20).sum(axis=1) / 40 if steep else np.where(x % 3 == 0, jumps[x], jumps[x] / 9).sum(axis=1)
        second = 1 / (1 + np.exp(-score))
        return np.column_stack([1 - second, second])

    problem = problem_of(model, table, table[:20])
    found = has_slope(problem, score_points(problem, problem.x0[:, None, :]))
    assert found.all() if steep else found.mean() < 0.3


@pytest.mark.parametrize("distance", ["l2", "l1"])
def test_few_boosted_leaves_are_searched_nearly_to_the_optimum(distance: str) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 3))
    label = (x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) > 0.4).astype(int)
    model = GradientBoostingClassifier(n_estimators=25, max_depth=2, random_state=0).fit(x, label)
    problem = problem_of(model, x, x[:40], distance=distance, lam=0.0, target=1 - model.predict(x[:40]))
    leaves = leaves_of(problem)
    assert leaves is not None
    assert not starts_at_row(problem)
    found = cp.explain(model, x[:40], reference=x, distance=distance, lam=0.0).terms.distance
    best = []
    for row in range(40):
        ends = []
        for column in range(3):
            edge = model_edges(model, column)
            near = [np.nextafter(edge, np.float32(end)) for end in (-np.inf, np.inf)]
            ends.append(np.unique(np.concatenate([x[row, column, None], edge, *near])))
        every = np.array(list(product(*ends)))
        every = every[(every >= x.min(axis=0)).all(axis=1) & (every <= x.max(axis=0)).all(axis=1)]
        turned = every[model.predict(every) != model.predict(x[row : row + 1])]
        delta = np.abs(turned - x[row]) / problem.scales
        best.append(np.sqrt((delta**2).sum(axis=1)).min() if distance == "l2" else delta.sum(axis=1).min())
    ratio = found / np.array(best)
    assert ratio.min() > 1 - 1e-4, "the optimum is one, but for single precision"
    assert ratio.mean() < 1.005
    assert ratio.max() < 1.05


def model_edges(model: GradientBoostingClassifier, column: int) -> np.ndarray:
    """The split points of one column, in the single precision in which trees compare."""
    trees = [tree.tree_ for tree in model.estimators_[:, 0]]
    return np.unique(np.concatenate([tree.threshold[tree.feature == column] for tree in trees])).astype(np.float32)
