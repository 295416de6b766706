"""Models of other libraries in the forms that their users have: boosters as such, and columns of categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

from fuzz.subject import Subject, learnable_score
from fuzz.tables import Rng, Table


def draw_library_model(rng: Rng, table: Table) -> Subject:
    """A booster without a scikit-learn face where all columns are numbers, or one that knows categories itself."""
    score = learnable_score(rng, table)(table.reference)
    if all(table.kind(name).is_plain for name in table.kinds) and rng.random() < 0.6:
        return [_xgboost_booster, _lightgbm_booster][int(rng.integers(2))](rng, table, score)
    name = str(rng.choice(["histogram", "lightgbm", "xgboost", "catboost"]))
    return _with_categories(name, table, np.digitize(score, np.quantile(score, [0.5])))


def _xgboost_booster(rng: Rng, table: Table, score: Any) -> Subject:
    import xgboost

    is_regression = bool(rng.random() < 0.5)
    wanted = score if is_regression else (score > np.median(score)).astype(int)
    objective = "reg:squarederror" if is_regression else "binary:logistic"
    settings = {"objective": objective, "max_depth": 3, "nthread": 1, "verbosity": 0}
    model = xgboost.train(settings, xgboost.DMatrix(table.reference, wanted), num_boost_round=6)

    def answer(frame: pd.DataFrame) -> Any:
        return np.asarray(model.predict(xgboost.DMatrix(frame)))

    if is_regression:
        return Subject("xgboost's Booster", model, answer, None, reads_arrays=True)
    return Subject(
        "xgboost's Booster", model, lambda frame: (answer(frame) > 0.5).astype(int), (0, 1), reads_arrays=True
    )


def _lightgbm_booster(rng: Rng, table: Table, score: Any) -> Subject:
    import lightgbm

    is_regression = bool(rng.random() < 0.5)
    wanted = score if is_regression else (score > np.median(score)).astype(int)
    settings = {"objective": "regression" if is_regression else "binary", "num_leaves": 6, "min_data_in_leaf": 3}
    data = lightgbm.Dataset(table.reference, wanted)
    model = lightgbm.train({**settings, "num_threads": 1, "verbose": -1}, data, num_boost_round=6)

    def answer(frame: pd.DataFrame) -> Any:
        return np.asarray(model.predict(frame))

    if is_regression:
        return Subject("lightgbm's Booster", model, answer, None, reads_arrays=True)
    return Subject(
        "lightgbm's Booster", model, lambda frame: (answer(frame) > 0.5).astype(int), (0, 1), reads_arrays=True
    )


def _subject(name: str, model: Any, answer: Callable[[pd.DataFrame], Any], *, is_regression: bool) -> Subject:
    """A booster that answers with a number, or with the probability of the second of two classes."""
    if is_regression:
        return Subject(name, model, answer, None, reads_arrays=True)

    def predict(frame: pd.DataFrame) -> Any:
        return (answer(frame) > 0.5).astype(int)

    return Subject(name, model, predict, (0, 1), reads_arrays=True)


def _with_categories(name: str, table: Table, codes: Any) -> Subject:
    """A model that takes the table's categories as they are; fitting raises where a column is not to its taste."""
    texts = [each for each in table.kinds if not table.kind(each).is_number]
    if name == "histogram":
        model: Any = HistGradientBoostingClassifier(
            max_iter=6, min_samples_leaf=3, categorical_features="from_dtype", random_state=0
        )
    elif name == "lightgbm":
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_estimators=6, num_leaves=6, min_child_samples=3, n_jobs=1, verbose=-1)
    elif name == "xgboost":
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1, enable_categorical=True)
    else:
        from catboost import CatBoostClassifier

        model = CatBoostClassifier(
            iterations=6,
            depth=3,
            cat_features=texts,
            verbose=False,
            allow_writing_files=False,
            thread_count=1,
            random_seed=0,
        )
    model.fit(table.reference, codes)

    def predict(frame: pd.DataFrame) -> Any:
        said = np.asarray(model.predict(frame))
        return said[:, 0] if said.ndim == 2 else said

    classes = tuple(np.asarray(model.classes_).tolist())
    return Subject(
        f"{name} with categories", model, predict, classes, model.predict_proba, reads_arrays=name != "histogram"
    )
