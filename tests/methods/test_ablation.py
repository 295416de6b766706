"""Every stage of the default search earns its place: switched off by its setting, answers get worse on average.

Each case is a small question on which the stage matters. The cost of a row without an answer is that of a point far
outside, so that a stage which only finds answers that others miss is seen too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise import telemetry
from counterpoise.methods.settings.finish import PolishSettings
from counterpoise.methods.settings.search_settings import DEFAULTS
from counterpoise.methods.settings.smooth import SmoothSettings
from counterpoise.methods.settings.start_settings import StartSettings
from counterpoise.methods.settings.surrogate_settings import SurrogateSettings
from counterpoise.methods.settings.trees import TreeSettings
from counterpoise.methods.settings.trials import TrialSettings

LOST = 100.0  # what a row without an answer counts as
Question = tuple[Any, pd.DataFrame | None, pd.DataFrame, dict[str, Any]]  # model, reference, rows, further words


@cache
def cancer() -> tuple[pd.DataFrame, pd.Series]:
    return load_breast_cancer(return_X_y=True, as_frame=True)


@cache
def noisy(columns: int = 6) -> tuple[pd.DataFrame, np.ndarray]:
    """A bent boundary between two classes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, columns)), columns=[f"x{i}" for i in range(columns)])
    return table, (np.sin(2 * table.x0) + table.x1 * table.x2 + 0.5 * table.x3**2 > 0.7).to_numpy()


def black_box(model: Any) -> Callable[[pd.DataFrame], np.ndarray]:
    return lambda rows: model.predict_proba(rows)


@cache
def network() -> Question:
    table, label = noisy()
    model = make_pipeline(StandardScaler(), MLPClassifier((16, 16), max_iter=60, tol=0.01, random_state=0))
    return model.fit(table, label), table, table[:16], {}


@cache
def bent() -> Question:
    """Quadratic discriminant on raw columns: slopes at the row mislead."""
    table, label = cancer()
    return QuadraticDiscriminantAnalysis(reg_param=1e-2).fit(table, label), table, table[::40], {}


@cache
def machine() -> Question:
    table, label = noisy()
    return make_pipeline(StandardScaler(), SVC(C=10.0)).fit(table, label), table, table[:16], {}


@cache
def island() -> Question:
    """The target is a small island; the score is level everywhere else."""
    rng = np.random.default_rng(0)
    far = rng.normal([8.0, -5.0], 0.1, (15, 2))
    table = pd.DataFrame(np.vstack([rng.uniform(-3, 3, (200, 2)), far]), columns=["a", "b"])
    model = SVC(gamma=30.0).fit(table, np.repeat(["near", "far"], [200, 15]))
    return model, table, table[:10], {}


@cache
def voting() -> Question:
    """A forest of which only the probabilities are known."""
    table, label = noisy()
    return black_box(RandomForestClassifier(15, random_state=0).fit(table, label)), table, table[:12], {}


@cache
def neighbours() -> Question:
    """Nearest rows that vote: only near the boundary do single changes tell anything."""
    table, label = cancer()
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(7)).fit(table, label)
    return black_box(model), table, table[::30], {"lam": 0.0}


@cache
def sparse_voting() -> Question:
    return *voting()[:3], {"distance": "l0", "lam": 0.01, "penalty": "l1"}


@cache
def forest() -> Question:
    table, label = noisy()
    return RandomForestClassifier(20, random_state=0).fit(table, label), table, table[:16], {}


@cache
def tree() -> Question:
    table, label = noisy()
    return DecisionTreeClassifier(random_state=0).fit(table, label), table, table[:30], {}


@cache
def parts_of_sums() -> Question:
    """Boosted trees of a table with sums, where many small changes may cost less than a few large ones."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 40, (400, 8)), columns=[f"p{number}" for number in range(8)])
    table["half"], table["rest"] = table.iloc[:, :4].sum(axis=1), table.iloc[:, 4:8].sum(axis=1)
    table["total"] = table.half + table.rest
    label = np.sin(table.total / 12) + table.half / 60 - table.p0 / 30 + (table.p1 - table.p5) / 25 > 1.0
    return HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(table, label), table, table[:40], {}


@cache
def categories() -> Question:
    """Four columns of six levels each decide as much as the numbers do."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(400, 6)), columns=list("abcdef"))
    worth = np.zeros(400)
    for name in "ghij":
        level = rng.integers(0, 6, 400)
        table[name] = pd.Categorical(np.array(list("uvwxyz"))[level])
        worth += rng.normal(0, 1.2, 6)[level]
    label = np.sin(2 * table.a) + table.b * table.c + worth > 0.5
    front = make_column_transformer((OneHotEncoder(), list("ghij")), remainder="passthrough")
    return make_pipeline(front, SVC()).fit(table, label), table, table[:20], {}


@cache
def gaps() -> Question:
    """A network behind an imputer; every row misses a cell."""
    table, label = noisy()
    table = table.mask(np.random.default_rng(6).random(table.shape) < 0.15)
    network = MLPClassifier((16,), max_iter=60, tol=0.01, random_state=0)
    model = make_pipeline(SimpleImputer(), StandardScaler(), network).fit(table, label)
    return model, table, table[table.isna().any(axis=1)][:20], {}


@cache
def counted() -> Question:
    """Changes are counted beside their length, and no slope is known but by differences."""
    model, table, rows, _ = network()
    return black_box(model), table, rows, {"distance": {"l2": 1.0, "l0": 0.1}}


@cache
def whole_numbers() -> Question:
    """One column holds few whole numbers, which decide as much as the others."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"count": rng.integers(0, 4, 300), "a": rng.normal(size=300), "b": rng.normal(size=300)})
    label = 0.9 * table["count"] + table["a"] + 0.5 * table["b"] > 1.6
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table, label)
    return model, table, table[:40], {}


@cache
def bowl() -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(250, 4)), columns=list("abcd"))
    return table, 3 * table.a + table.b**2 - table.c * table.d


@cache
def narrow() -> Question:
    """A range that no reference row is in, and that steps overshoot."""
    table, number = bowl()
    model = make_pipeline(StandardScaler(), SVR(C=50.0)).fit(table, number)
    return model, table, table[::25], {"target": (4.0, 4.0001)}


@cache
def narrow_trees() -> Question:
    """A range that few leaves reach together."""
    table, number = bowl()
    return RandomForestRegressor(5, random_state=0).fit(table, number), table, table[::25], {"target": (7.0, 7.005)}


@cache
def bent_sparse() -> Question:
    return *bent()[:3], {"distance": "l1"}


@cache
def few_changes() -> Question:
    """Two features at most may change, and sums of single changes tell little."""
    return *voting()[:3], {"constraints": [cp.MaxChanges(2)]}


@cache
def sparse() -> Question:
    return *machine()[:3], {"distance": "l1"}


@cache
def rationed() -> Question:
    """A black box that may be asked about few rows."""
    return *voting()[:3], {"model_rows": 300}


@cache
def narrow_sparse() -> Question:
    """A range that is met by few changes."""
    return *narrow()[:3], {"target": (4.0, 4.0001), "distance": "l1"}


@cache
def little_room(distance: str = "l2") -> Question:
    """A linear model between two relations that leave a narrow wedge, without a grid or a range to hold on to."""
    table = pd.DataFrame(np.random.default_rng(5658).normal(size=(200, 3)), columns=list("abc"))
    model = LogisticRegression().fit(table, table.to_numpy() @ [2, -2, -1] > 0)
    words = [cp.Rule("2*a + b - c <= 1"), cp.Rule("-2*a + b + c <= -0.5")]
    return model, table, table[:12], {"constraints": words, "bounds": None, "values": "any", "distance": distance}


@cache
def little_room_l1() -> Question:
    return little_room("l1")


@cache
def summed_few() -> Question:
    """Three features at most may change, and sums move along with their parts."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 5)).round(2), columns=list("abcde"))
    table["s"], table["u"] = (table.a + table.b).round(2), (table.c + table.d).round(2)
    label = np.sin(2 * table.a) + table.s * table.e + 0.5 * table.u**2 > 0.7
    model = make_pipeline(StandardScaler(), MLPClassifier((16, 16), max_iter=60, tol=0.01, random_state=0))
    return model.fit(table, label), table, table[:16], {"constraints": [cp.MaxChanges(3)]}


@cache
def island_sparse() -> Question:
    return *island()[:3], {"distance": "l1"}


@cache
def held_votes() -> Question:
    """Reference rows owe the target to features that may not change."""
    model, table, _, _ = voting()
    return model, table, table[:30], {"constraints": [cp.Immutable("x0", "x1")]}


@cache
def mixed(seed: int) -> Question:
    """A network on five numbers and two categories; every feature counts by its share of the range."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(400, 5)), columns=[f"x{i}" for i in range(5)])
    worth = np.zeros(400)
    for name in ("k0", "k1"):
        level = rng.integers(0, 5, 400)
        table[name] = pd.Categorical(np.array(list("uvwxy"))[level])
        worth += rng.normal(0, 1.2, 5)[level]
    label = np.sin(2 * table.x0) + table.x1 * table.x2 + 0.5 * table.x3**2 + worth > 0.7
    front = make_column_transformer((OneHotEncoder(), ["k0", "k1"]), remainder=StandardScaler())
    model = make_pipeline(front, MLPClassifier((16, 16), max_iter=60, tol=0.01, random_state=0)).fit(table, label)
    return model, table, table[:12], {"distance": "gower"}


def lines_of_numbers() -> Question:
    return mixed(1)


@cache
def lines_of_categories() -> Question:
    model, *others = mixed(2)
    return black_box(model), *others


@cache
def computed(seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """A column is computed from two others, and the class depends on it."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.gamma(2, 10, size=(400, 4)).round(2), columns=list("abcd"))
    table["s"], table["r"] = (table.a + table.b).round(2), table.c / (table.d + 1)
    return table, table.s / 20 + np.sin(table.r) + table.a * table.d / 200 > 3


DERIVED = [cp.Derived("r", "c / (d + 1)")]


@cache
def computed_lines(seed: int = 1, distance: str = "gower") -> Question:
    table, label = computed(seed)
    model = make_pipeline(StandardScaler(), MLPClassifier((16,), max_iter=100, tol=0.0, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(table, label)
    return black_box(model), table, table[:12], {"distance": distance, "constraints": DERIVED}


def computed_l1() -> Question:
    return computed_lines(0, "l1")


@cache
def computed_trees() -> Question:
    table, label = computed(0)
    model = HistGradientBoostingClassifier(max_iter=40, random_state=0).fit(table, label)
    return model, table, table[:20], {"constraints": DERIVED}


@cache
def nowhere_near() -> Question:
    """No reference, no range, and a boundary far away that only labels show."""
    table, _ = noisy(4)

    def model(rows: np.ndarray) -> np.ndarray:
        return np.where(np.asarray(rows)[:, 0] + np.asarray(rows)[:, 1] > 40, "b", "a")

    schema = cp.Schema.infer(table)
    return cp.Function(scores=model, labels=["a", "b"]), None, table[:10], {"schema": schema, "bounds": None}


@cache
def alert() -> Question:
    """A single alert that leads far itself."""
    train, label, _ = telemetry.simulate(seed=0)
    model = HistGradientBoostingClassifier(random_state=0).fit(train, label)
    return model, train, pd.DataFrame([telemetry.PAPER_ALERT]), {"target": "benign", "lam": 0}


class WithoutReferenceRetry(cp.Search):
    def _retry_from_reference(self, *_: Any) -> Iterator[Any]:
        return iter(())


class WithoutL2Retry(cp.Search):
    def _retry_in_l2(self, *_: Any) -> Iterator[Any]:
        return iter(())


class WithoutSparseAnswers(cp.Search):
    def _enter_sparse_answers(self, *_: Any) -> None:
        pass


def off(**families: Any) -> cp.Search:
    return cp.Search(**families)


CASES: dict[str, tuple[Callable[[], Question], cp.Search]] = {
    "reference rows as starts": (island, off(starts=StartSettings(reference_rows_tried_first=0))),
    "starts brought nearer": (neighbours, off(starts=StartSettings(start_sections=0))),
    "walks on spheres": (network, off(smooth=SmoothSettings(walk_steps=0))),
    "reference rows beyond the nearest": (held_votes, off(starts=StartSettings(reference_rows_tried_next=0))),
    "far answers again from reference rows": (alert, off(starts=StartSettings(far_effort_share=np.inf))),
    "lost rows again from reference rows": (island_sparse, WithoutReferenceRetry()),
    "lost rows again in L2": (little_room_l1, WithoutL2Retry()),
    "answers without the ceiling on changes": (summed_few, WithoutSparseAnswers()),
    "which relations bind, asked again": (little_room_l1, off(smooth=SmoothSettings(active_set_rounds=1))),
    "Hildreth's method under relations": (little_room, off(smooth=SmoothSettings(hildreth_rounds=0))),
    "several prices of a change": (machine, off(smooth=SmoothSettings(change_price_factors=(1.0,)))),
    "steps along single features": (network, off(smooth=SmoothSettings(columns_stepped_alone=0))),
    "changes left out": (bent, off(smooth=SmoothSettings(max_left_out_rounds=0))),
    "columns held at the edge of the box": (bent, off(smooth=SmoothSettings(edge_rounds=0))),
    "lines halved into a narrow range": (narrow_sparse, off(trials=TrialSettings(range_halvings=0))),
    "sufficient single changes of trees": (forest, off(trees=TreeSettings(single_changes_tried=0))),
    "surrogates under a limit of model rows": (rationed, off(surrogate=SurrogateSettings(trees=0))),
    "sweeps without a surrogate at the end": (rationed, off(surrogate=SurrogateSettings(finished_points=0))),
    "random starts ever farther out": (nowhere_near, off(starts=StartSettings(length_doublings=0))),
    "lines taken together": (lines_of_numbers, off(smooth=SmoothSettings(joint_starts_per_row=0))),
    "switches of categories beside lines": (lines_of_categories, off(trials=TrialSettings(max_line_switches=0))),
    "lines divided again under relations": (computed_lines, off(trials=TrialSettings(line_refinements=0))),
    "sweeps of what others are computed from": (computed_trees, off(trials=TrialSettings(source_sweep_points=0))),
    "changes weighted anew in L1 under relations": (computed_l1, off(smooth=SmoothSettings(reweighting_rounds=0))),
    "Taylor steps": (sparse, off(smooth=SmoothSettings(taylor_steps=1, taylor_steps_after_sweeps=1))),
    "second-order steps": (bent, off(smooth=SmoothSettings(max_hessian_columns=0))),
    "answers elsewhere than the slope promised": (
        bent_sparse,
        off(smooth=SmoothSettings(min_promised_distance_ratio=0.0, max_promised_distance_ratio=np.inf)),
    ),
    "features of reference rows taken one by one": (few_changes, off(starts=StartSettings(lending_reference_rows=0))),
    "lines along single features": (sparse, off(trials=TrialSettings(max_columns_tried_alone=0))),
    "single changes of black boxes": (sparse_voting, off(trials=TrialSettings(single_changes_per_row=0))),
    "sweeps": (voting, off(trials=TrialSettings(sweeps=0))),
    "sweeps after Taylor steps": (counted, off(trials=TrialSettings(sweeps=0))),
    "later surveys": (forest, off(trees=TreeSettings(rounds=1))),
    "several points a survey": (forest, off(votes=replace(DEFAULTS.votes, beam_widths=(1,)))),
    "jumps into leaves": (tree, off(trees=TreeSettings(min_jump_rounds=0, max_jump_rounds=0))),
    "a search at the bare distance": (parts_of_sums, off(trees=TreeSettings(dear_changes=np.inf))),
    "switches of categories": (categories, off(smooth=SmoothSettings(max_descent_switches=0))),
    "whole numbers up and down": (whole_numbers, off(smooth=SmoothSettings(max_branch_rounds=0))),
    "restart from nearest misses": (narrow_trees, off(starts=StartSettings(nearest_miss_starts=0))),
    "points brought to the boundary": (island, off(starts=StartSettings(section_rounds=0))),
    "values for missing cells": (gaps, off(starts=StartSettings(max_filled_cells=0))),
    "crossings of a narrow range": (narrow, off(starts=StartSettings(max_crossings=0))),
}


def costs(question: Question, method: Any) -> np.ndarray:
    """The effort of each row's answer, ``(n,)``."""
    model, table, rows, words = question
    found = cp.explain(model, rows, reference=table, method=method, **words)
    return np.where(found.valid, found.terms.total, LOST)


@cache
def usual(question: Callable[[], Question]) -> np.ndarray:
    """What the search costs with every stage on."""
    return costs(question(), cp.Search())


@pytest.mark.parametrize("stage", CASES)
def test_without_a_stage_answers_get_worse(stage: str) -> None:
    question, without = CASES[stage]
    assert costs(question(), without).mean() > usual(question).mean() * (1 + 1e-3)


@pytest.mark.parametrize("settings", [None, PolishSettings(passes=0), PolishSettings(reset_groups=0, max_columns=0)])
def test_without_polish_answers_of_a_plain_method_get_worse(settings: PolishSettings | None) -> None:
    plain = cp.Annealing(chains=3, steps=30)
    without = plain if settings is None else cp.Polished(plain, settings=settings)
    assert costs(forest(), without).mean() > costs(forest(), cp.Polished(plain)).mean() * (1 + 1e-3)
