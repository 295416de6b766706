"""The default search: its steps against closed forms, its promises, and what it finds where the optimum is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_wine, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.methods.cell_values import Cells
from counterpoise.methods.points import Points, score_points
from counterpoise.methods.settings.finish import BatchSettings
from counterpoise.methods.settings.search_settings import SearchSettings
from counterpoise.methods.settings.smooth import SmoothSettings
from counterpoise.methods.settings.start_settings import StartSettings
from counterpoise.methods.settings.trees import TreeSettings
from counterpoise.methods.settings.trials import TrialSettings
from counterpoise.methods.slopes import score_and_gradient, score_and_gradient_by_differences
from counterpoise.methods.smooth.tangent import step_to_tangent_boundary
from counterpoise.methods.smooth.taylor_steps import descend
from counterpoise.methods.starts import jump_at_random, start_at_reference_rows
from counterpoise.methods.trials.sweep import sweep
from counterpoise.methods.trials.value_ladder import try_single_numbers
from counterpoise.models.trees.leaves import count_edges_below
from counterpoise.streams import Streams
from problems import limit_model_rows, problem_of


@pytest.fixture(scope="module")
def cancer() -> tuple[pd.DataFrame, np.ndarray]:
    table, target = load_breast_cancer(return_X_y=True, as_frame=True)
    return table, target.to_numpy()


@pytest.fixture(scope="module")
def logistic(cancer: tuple[pd.DataFrame, np.ndarray]) -> object:
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(*cancer)


@pytest.fixture(scope="module")
def forest(cancer: tuple[pd.DataFrame, np.ndarray]) -> RandomForestClassifier:
    return RandomForestClassifier(12, max_depth=4, random_state=0).fit(*cancer)


def slopes_of(logistic: object, table: pd.DataFrame) -> np.ndarray:
    """Weights of the logistic model in units of the features' standard deviations."""
    return logistic[1].coef_[0] / logistic[0].scale_ * table.to_numpy().std(axis=0)  # type: ignore[index]


@pytest.mark.parametrize(("distance", "dual"), [("l2", 2), ("l1", np.inf)])
def test_a_linear_model_is_solved_to_its_optimum(cancer, logistic, distance: str, dual: float) -> None:
    table, _ = cancer
    rows = table[:12]
    schema = cp.Schema.infer(table)
    schema = replace(schema, features=tuple(replace(feature, decimals=None) for feature in schema))
    found = cp.explain(
        logistic, rows, reference=table, schema=schema, bounds=None, distance=distance, lam=0, relations=None
    )
    optimum = np.abs(logistic.decision_function(rows)) / np.linalg.norm(slopes_of(logistic, table), dual)
    assert found.valid.all()
    np.testing.assert_allclose(found.energy["distance"], optimum, rtol=1e-3)


def test_the_box_is_filled_in_the_order_that_is_best_for_few_changes(cancer, logistic) -> None:
    """L0 within the observed range: the fewest features whose reach suffices."""
    table, _ = cancer
    rows = table[:12]
    found = cp.explain(logistic, rows, reference=table, distance="l0", relations=None)
    w = logistic[1].coef_[0] / logistic[0].scale_
    margin = logistic.decision_function(rows)
    up, down = table.to_numpy().max(axis=0) - rows.to_numpy(), rows.to_numpy() - table.to_numpy().min(axis=0)
    towards = -np.sign(margin)[:, None] * w
    reach = -np.sort(-np.where(towards > 0, up, down) * np.abs(w), axis=1)
    fewest = (np.cumsum(reach, axis=1) < np.abs(margin)[:, None]).sum(axis=1) + 1
    np.testing.assert_array_equal(found.changed, fewest)


@given(seed=st.integers(0, 10_000), distance=st.sampled_from(["l2", "l1", "l0"]))
def test_a_taylor_step_reaches_what_it_aims_at_or_goes_as_far_as_the_box(seed: int, distance: str) -> None:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    table = pd.DataFrame(rng.normal(size=(30, d)) * rng.uniform(0.1, 9, d)).rename(columns=lambda j: f"c{j}")
    problem = problem_of(
        lambda rows: rows.to_numpy().sum(axis=1), table, table[:2], target=(1e6, None), distance=distance
    )
    x = table.to_numpy()[None, 3:5].repeat(len(problem), axis=0)
    margin, h = rng.normal(size=x.shape[:2]), rng.normal(size=x.shape)
    y = step_to_tangent_boundary(problem, x, margin, h)
    reached = margin + np.einsum("nkd,nkd->nk", h, y - x)
    low, high = problem.region.lower[:, None], problem.region.upper[:, None]
    assert ((y >= low - 1e-9) & (y <= high + 1e-9)).all()
    best = margin + np.einsum("nkd,nkd->nk", h, np.where(h > 0, high, low) - x)
    short = reached < -1e-7 * (1 + np.abs(margin))
    np.testing.assert_allclose(reached[short], best[short], rtol=1e-6, atol=1e-6)


def test_differences_agree_with_the_models_own_slope(cancer, logistic) -> None:
    table, _ = cancer
    schema = cp.Schema.infer(table)
    schema = replace(schema, features=tuple(replace(feature, decimals=None) for feature in schema))
    problem = problem_of(logistic, table, table[:3], schema=schema)
    _, own = score_and_gradient(problem, problem.x0[:, None])
    _, measured = score_and_gradient_by_differences(problem, problem.x0[:, None])
    np.testing.assert_allclose(measured * problem.scales, own * problem.scales, rtol=1e-5, atol=1e-7)


def test_a_point_moved_inside_its_cells_keeps_the_decision_and_gets_nearer(cancer, forest) -> None:
    table, _ = cancer
    problem = problem_of(forest, table, table[:20])
    cells = Cells.of(problem)
    assert cells is not None
    start = start_at_reference_rows(problem, 4)
    moved = cells.snap(problem, cells.locate_values(problem.x0[:, cells.columns]), start.x)
    assert (problem.score(moved).reached == problem.score(start.x).reached).all()
    assert (problem.energy.distance(moved, problem.x0) <= problem.energy.distance(start.x, problem.x0) + 1e-12).all()


def test_a_sweep_never_makes_a_point_worse(cancer, forest) -> None:
    table, _ = cancer
    problem = problem_of(forest, table, table[:10])
    start = start_at_reference_rows(problem, 2)
    found = sweep(problem, Cells.of(problem), start, start.lowest_effort, 4).points
    assert (found.effort <= start.effort).all()
    assert (found.effort < start.effort).any()
    again = score_points(problem, found.x)
    np.testing.assert_allclose(again.effort, found.effort)


def test_descent_lands_on_the_lattice(cancer, logistic) -> None:
    """Breast cancer has columns of two to four decimals: the answer has them too and costs next to nothing more."""
    table, _ = cancer
    problem = problem_of(logistic, table, table[:10], lam=0)
    found = descend(problem, start_at_reference_rows(problem, 3), 6)
    assert problem.region.contains(found.x)[found.valid].all()
    free = np.abs(logistic.decision_function(table[:10])) / np.linalg.norm(slopes_of(logistic, table))
    assert np.median(problem.energy.distance(found.best(1).x, problem.x0)[:, 0] / free) < 1.02


def test_a_forest_of_few_cells_is_solved_nearly_to_its_optimum() -> None:
    """Two features: the optimum is found by trying every pair of split points."""
    x, y = make_classification(300, 2, n_redundant=0, n_informative=2, random_state=3)
    model = RandomForestClassifier(8, max_depth=3, random_state=0).fit(x, y)
    explainer = cp.Explainer(model, reference=x)
    found = explainer(x[:12], lam=0)
    thresholds = explainer.model.thresholds  # type: ignore[attr-defined]
    scale = x.std(axis=0)
    for row in range(12):
        axes = []
        for column in range(2):
            inside = thresholds[column]
            values = np.concatenate([[x[row, column]], inside, np.nextafter(inside, np.inf)])
            axes.append(values[(values >= x[:, column].min()) & (values <= x[:, column].max())])
        grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
        flips = model.predict(grid) != model.predict(x[row : row + 1])
        optimum = np.sqrt((((grid[flips] - x[row]) / scale) ** 2).sum(axis=1)).min()
        assert optimum - 1e-9 <= found.energy["distance"].iloc[row] <= optimum * 1.05 + 1e-9


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_changes_are_searched_for_not_only_checked(cancer, logistic, forest, count: int) -> None:
    table, _ = cancer
    for model in (logistic, forest):
        free = cp.explain(model, table[:15], reference=table, distance="l0")
        bound = cp.explain(model, table[:15], reference=table, constraints=[cp.MaxChanges(count)])
        assert (bound.changed[bound.valid] <= count).all()
        # whatever the sparsest answers reach with so few changes is reached under the ceiling as well
        assert bound.valid[free.changed <= count].mean() >= 0.8


def test_a_search_without_reference_rows_starts_from_random_directions(cancer, logistic) -> None:
    table, _ = cancer
    found = cp.explain(logistic, table[:5], schema=cp.Schema.infer(table))
    assert found.valid.all()
    assert any("random directions" in note for note in found.notes)


def test_firm_answers_keep_the_share_on_noise_of_another_kind_of_draw(cancer, forest) -> None:
    table, _ = cancer
    explainer = cp.Explainer(forest, reference=table)
    found = explainer(table[:8], keep=0.9, noise=0.1)
    assert found.tipping is not None
    assert found.firm is not None
    rng = np.random.default_rng(5)
    low, high = table.to_numpy().min(axis=0), table.to_numpy().max(axis=0)
    claims = np.flatnonzero(found.firm["kept_low"] >= 0.9)
    assert len(claims) >= 6
    for row in claims:
        copies = found.x[row] + rng.normal(size=(600, 30)) * 0.1 * explainer.schema.scales
        copies = np.where(copies < low, 2 * low - copies, np.where(copies > high, 2 * high - copies, copies))
        same = forest.predict(pd.DataFrame(copies, columns=table.columns)) == found.scores["after"].iloc[row]
        assert same.mean() > 0.86
    assert (found.energy["distance"] >= found.tipping.energy["distance"] - 1e-9).all()


def test_a_higher_temperature_buys_firmness_with_distance(cancer, forest) -> None:
    table, _ = cancer
    explainer = cp.Explainer(forest, reference=table)
    cold = explainer(table[:10], temperature=0.1, noise=0.2)
    hot = explainer(table[:10], temperature=3.0, noise=0.2)
    assert cold.firm is not None
    assert hot.firm is not None
    assert hot.firm["kept"].mean() > cold.firm["kept"].mean() + 0.1
    assert hot.energy["distance"].mean() > cold.energy["distance"].mean()


def test_firm_words_are_checked(cancer, logistic) -> None:
    table, _ = cancer
    explainer = cp.Explainer(logistic, reference=table)
    for question in (
        {"keep": 1.5},
        {"temperature": -1.0},
        {"keep": 0.9, "temperature": 1.0},
        {"noise": 0.2, "kept": False},
    ):
        with pytest.raises(cp.InputError):
            explainer(table[:1], **question)
    with pytest.raises(cp.InputError, match="noise"):
        explainer(table[:1], keep=0.9, noise="loud")


def test_points_take_what_is_better() -> None:
    a = Points(np.zeros((1, 2, 1)), np.zeros((1, 2)), np.array([[1.0, np.inf]]))
    b = Points(np.ones((1, 2, 1)), np.ones((1, 2)), np.array([[2.0, 3.0]]))
    mixed = a.replace_where(b, np.array([[False, True]]))
    np.testing.assert_array_equal(mixed.effort, [[1.0, 3.0]])
    np.testing.assert_array_equal(mixed.best(1).x, [[[0.0]]])


@pytest.mark.parametrize("ration", [1, 60, 700])
def test_a_ration_of_model_rows_is_never_overdrawn(cancer, logistic, forest, ration: int) -> None:
    table, _ = cancer
    for model in (logistic, forest):
        problem = limit_model_rows(problem_of(model, table, table[:4]), ration)
        run = cp.Polished(cp.Search())(problem, Streams.of(problem.x0, 0))
        assert problem.tally.rows <= ration * len(problem)
        assert run.done.all()
        assert problem.region.contains(run.x).all()


@pytest.mark.parametrize("ration", [1000, 2000])
def test_a_ration_is_made_the_most_of(cancer, forest, ration: int) -> None:
    """Sweeps that do not fit would leave the chains where ten steps took them."""
    table, _ = cancer
    problem = problem_of(forest, table, table[:6])
    found = cp.Polished(cp.Search())(limit_model_rows(problem, ration), Streams.of(problem.x0, 0))
    blind = cp.RandomSearch(rounds=1000)(limit_model_rows(problem, ration), Streams.of(problem.x0, 0))
    assert found.effort[:, 0].mean() < 0.8 * blind.effort[:, 0].mean()
    free = cp.Polished(cp.Search())(problem, Streams.of(problem.x0, 0))
    assert found.effort[:, 0].mean() < 1.5 * free.effort[:, 0].mean()


def test_one_change_is_found_wherever_one_suffices() -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({name: rng.integers(0, 12, 500) for name in "abk"})
    score = (table.a - 5) * (table.b - 5) * 0.3 + table.k * 0.4 + rng.normal(size=500) * 0.5
    model = HistGradientBoostingClassifier(max_iter=40, random_state=0).fit(table, score > 5)
    rows = table[~model.predict(table)][:30]
    explanation = cp.explain(model, rows, reference=table, distance="l0")
    for place, (_, row) in enumerate(rows.iterrows()):
        alone = pd.DataFrame([{**row, name: value} for name in table for value in range(12)])
        if model.predict(alone).any():
            assert explanation.changed[place] == 1


@pytest.mark.parametrize("blind", [False, True])
def test_a_network_that_one_change_turns_is_turned_by_one(blind: bool) -> None:
    X, y = make_classification(600, 8, n_informative=6, n_redundant=0, random_state=3)
    table = pd.DataFrame(X, columns=[f"f{place}" for place in range(8)])
    layers = MLPClassifier((16,), tol=1e-3, max_iter=2000, random_state=0)
    network = make_pipeline(StandardScaler(), layers).fit(table, y)
    rows = table[:25]
    before = network.predict(rows)
    easy = np.zeros(len(rows), dtype=bool)  # some feature turns the row at many places of its range
    for name in table:
        turns = np.zeros(len(rows))
        for value in np.linspace(table[name].min(), table[name].max(), 30):
            turns += network.predict(rows.assign(**{name: value})) != before
        easy |= turns >= 5
    assert easy.sum() > 10
    found = cp.explain(network.predict_proba if blind else network, rows, reference=table, distance="l0")
    assert (found.changed[easy] == 1).all()


@pytest.mark.parametrize(
    ("family", "wrong"),
    [
        (TrialSettings, {"sweeps": -1}),
        (TrialSettings, {"sweeps": True}),
        (SmoothSettings, {"walkers": 2.5}),
        (SmoothSettings, {"walkers": "4"}),
        (TreeSettings, {"always_tried_grid_places": (0, -1)}),
        (StartSettings, {"far_effort_share": np.nan}),
        (cp.Search, {"trees": 3}),
        (cp.Search, {"smooth": TreeSettings()}),
    ],
)
def test_settings_that_make_no_sense_are_named(family: type, wrong: dict[str, object]) -> None:
    with pytest.raises(cp.InputError, match=next(iter(wrong))):
        family(**wrong)


@given(st.integers(0, 1000))
def test_a_place_among_cells_is_found_alike_by_either_way(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = np.full((3, 5), np.inf)
    count = np.array([5, 0, 2])
    for feature, many in enumerate(count):
        edges[feature, :many] = np.unique(rng.integers(0, 50, 50))[:many]
    cells = Cells(np.arange(3), edges, count, edges, edges)
    values = rng.integers(-1, 52, (4, 6, 3)).astype(float)
    values[rng.random(values.shape) < 0.1] = np.nan
    by_search = np.minimum(count_edges_below(edges, values, max_comparisons=0), count)
    np.testing.assert_array_equal(cells.locate_values(values), by_search)


def test_trees_that_split_no_number_are_searched_too() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: pd.Categorical(rng.choice(list("uvwx"), 200)) for name in ("a", "b")})
    wanted = (table["a"] == "u") | (table["b"] == "w")
    model = HistGradientBoostingClassifier(categorical_features="from_dtype").fit(table, wanted)
    for distance in ("l2", "l0"):
        assert (cp.explain(model, table[:8], reference=table, distance=distance).changed >= 1).all()


def test_all_single_changes_are_tried_in_pieces_that_fit(cancer, forest) -> None:
    table, _ = cancer
    problem = problem_of(forest, table, table[:5])
    cells = Cells.of(problem)
    assert cells is not None
    whole, home = try_single_numbers(problem, cells, np.full(len(problem), np.inf), 3)
    tiny = SearchSettings(batches=BatchSettings(cells=1))
    parts, _ = try_single_numbers(problem, cells, np.full(len(problem), np.inf), 3, tiny)
    np.testing.assert_array_equal(home.x[:, 0], problem.region.nearest_feasible)
    np.testing.assert_array_equal(whole.x, parts.x)
    np.testing.assert_array_equal(whole.effort, parts.effort)
    tried = cells.change_one_feature(problem)
    assert ((tried != problem.region.nearest_feasible[:, None, :]).sum(axis=2) <= 1).all()
    assert tried.shape[1] == cells.split_counts.sum() + len(cells.columns)


def test_a_black_box_that_one_change_turns_is_turned_by_one() -> None:
    """Found wherever a grid over what the reference has finds one."""
    table, label = load_wine(return_X_y=True, as_frame=True)
    members = [
        ("forest", RandomForestClassifier(10, random_state=0)),
        ("tree", DecisionTreeClassifier(random_state=0)),
        ("linear", make_pipeline(StandardScaler(), LogisticRegression())),
    ]
    model = VotingClassifier(members, voting="hard").fit(table, label)
    rows = table[model.predict(table) != 2][::2]
    one = np.zeros(len(rows), dtype=bool)
    for name in table:
        for value in np.quantile(table[name], np.linspace(0, 1, 8)).round(2):
            one |= model.predict(rows.assign(**{name: value})) == 2
    assert one.sum() > 5, "the case is worth asking about"
    found = cp.explain(model, rows[one], reference=table, target=2, distance="l0")
    assert (found.changed == 1).all()


def test_random_starts_stay_near_the_row_where_only_a_dtype_bounds_a_column() -> None:
    table = pd.DataFrame(np.random.default_rng(0).integers(0, 50, (60, 2)), columns=["a", "b"])
    problem = problem_of(lambda rows: np.tile([1.0, 0.0], (len(rows), 1)), table, table[:5], bounds=None)
    assert (problem.region.upper > 1e9).all()
    found = jump_at_random(problem, Streams.of(problem.x0, 0), 8).x
    assert (np.abs(found - problem.x0[:, None]) < 1000 * problem.scales).all()
