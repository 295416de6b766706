"""Models whose trees stand behind other steps, or are those of several models: proven against brute force too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from counterpoise.methods.settings.proof import ProofSettings
from methods.trees.exact.oracle import flows, labels
from methods.trees.exact.test_exact import ENOUGH, check
from problems import problem_of

NUMBERS, EVERY = ["rate", "packets"], ["rate", "packets", "gap", "state"]


def boosted() -> GradientBoostingClassifier:
    return GradientBoostingClassifier(n_estimators=5, random_state=0)


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(4, max_depth=3, random_state=0)


def catboost() -> Any:
    library = pytest.importorskip("catboost")
    return library.CatBoostClassifier(iterations=5, depth=3, verbose=0, allow_writing_files=False)


def encoded(model: Any, encoder: Any, *more: Any) -> Any:
    return make_pipeline(make_column_transformer((encoder, ["state"]), *more, remainder="passthrough"), model)


MODELS: dict[str, tuple[Any, list[str]]] = {
    "scaled": (lambda: make_pipeline(StandardScaler(), boosted()), NUMBERS),
    "one-hot": (
        lambda: encoded(HistGradientBoostingClassifier(max_iter=4, max_depth=3), OneHotEncoder(sparse_output=False)),
        EVERY,
    ),
    "ordinal": (lambda: encoded(forest(), OrdinalEncoder(), (SimpleImputer(), ["gap"])), EVERY),
    "catboost": (catboost, NUMBERS),
    "bagged": (lambda: BaggingClassifier(DecisionTreeClassifier(max_depth=3), 4, random_state=0), NUMBERS),
    "voting": (
        lambda: VotingClassifier(
            [("extra", ExtraTreesClassifier(3, max_depth=3, random_state=0)), ("forest", forest())], voting="soft"
        ),
        NUMBERS,
    ),
    "voting numbers": (
        lambda: VotingRegressor(
            [
                ("tree", DecisionTreeRegressor(max_depth=3)),
                ("forest", RandomForestRegressor(3, max_depth=3, random_state=0)),
            ]
        ),
        NUMBERS,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_least_effort_is_found_and_proven(name: str) -> None:
    make, columns = MODELS[name]
    table = flows(1, 200)[columns]
    model = make().fit(table, labels(flows(1, 200)[EVERY], 1))
    target = {"target": (0.6, np.inf)} if "numbers" in name else {}
    problem = problem_of(model, table, table[:3], **target)
    assert check(problem, np.inf, ProofSettings(nodes=ENOUGH)).exhausted.all()
