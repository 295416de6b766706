"""Random models: what the user's own code would be, and how the user asks it.

A `Subject` has the object that is given to the library, and the user's own way to ask it about a frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    IsolationForest,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fuzz.callables import draw_callable
from fuzz.elsewhere import draw_agreement, draw_onnx, draw_remote
from fuzz.estimators import (
    CLASSIFIERS,
    DETECTORS,
    FIRST_CLASSIFIERS,
    FIRST_REGRESSORS,
    LATER_CLASSIFIERS,
    LATER_REGRESSORS,
    REGRESSORS,
)
from fuzz.libraries import draw_library_model
from fuzz.subject import Subject, learnable_score
from fuzz.tables import LATEST, Rng, Table, names_of_edition

LABELS: tuple[tuple[Any, ...], ...] = (("no", "yes"), (0, 1), (False, True), (1.0, 2.0), ("a", "b", "c"), (3, 5, 9))


@dataclass
class _Asked:
    """Asks a fitted model as the user does: with frames, or with the arrays that it was fitted on."""

    model: Any
    as_array: bool = False
    names: dict[Any, Any] = field(default_factory=dict)

    def _give(self, frame: pd.DataFrame) -> Any:
        return frame.to_numpy() if self.as_array else frame

    def predict(self, frame: pd.DataFrame) -> Any:
        said = np.asarray(self.model.predict(self._give(frame)))
        said = said[:, 0] if said.ndim == 2 else said  # CatBoost with three classes says columns
        return np.array([self.names.get(each, each) for each in said.tolist()], dtype=object) if self.names else said

    def probabilities(self, frame: pd.DataFrame) -> Any:
        return np.asarray(self.model.predict_proba(self._give(frame)))


def draw_subject(rng: Rng, table: Table, edition: int = LATEST) -> Subject:
    """A model of the table; a callable where the drawn one cannot be fitted on it."""
    is_plain = all(table.kind(name).is_plain for name in table.kinds)
    sort = rng.random()
    if sort < 0.3 or len(table.reference) < 12:
        return draw_callable(rng, table, edition)
    try:
        if edition > 1 and rng.random() < 0.08:
            return draw_library_model(rng, table)
        if sort < 0.36 and is_plain:
            return _draw_torch(rng, table)
        if sort < 0.38 and is_plain:
            return draw_onnx(rng, table)
        if sort < 0.39 and is_plain:
            return draw_remote(rng, table)
        if sort < 0.4:
            return draw_agreement(rng, table)
        if sort < 0.42 and is_plain:
            return _draw_detector(rng, table, edition)
        if sort < 0.55:
            return _draw_regressor(rng, table, edition, is_plain=is_plain)
        return _draw_classifier(rng, table, edition, is_plain=is_plain)
    except Exception:  # each library has its own word for a table that it does not take
        return draw_callable(rng, table, edition)


def _front(table: Table) -> Any:
    """What makes numbers of a mixed table."""
    numbers = table.names_where(lambda kind: kind.is_number)
    others = [name for name in table.kinds if name not in numbers]
    return make_column_transformer(
        (make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()), numbers),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), others),
    )


def _fit(rng: Rng, table: Table, model: Any, wanted: Any, *, is_plain: bool) -> tuple[Any, bool]:
    """The fitted model, and whether it was fitted on an array."""
    if not is_plain:
        model = make_pipeline(_front(table), model)
    as_array = is_plain and bool(rng.random() < 0.3)
    model.fit(table.reference.to_numpy() if as_array else table.reference, wanted)
    return model, as_array


def _draw_classifier(rng: Rng, table: Table, edition: int, *, is_plain: bool) -> Subject:
    name = str(rng.choice(names_of_edition(edition, FIRST_CLASSIFIERS, LATER_CLASSIFIERS)))
    labels = LABELS[int(rng.integers(len(LABELS)))]
    score = learnable_score(rng, table)(table.reference)
    edges = np.quantile(score, np.linspace(0, 1, len(labels) + 1)[1:-1])
    codes = np.digitize(score, edges)
    wanted = codes if name == "xgboost" else np.array(labels)[codes]
    if name == "xgboost":
        labels = tuple(range(len(labels)))
    model, as_array = _fit(rng, table, CLASSIFIERS[name](), wanted, is_plain=is_plain)
    asked = _Asked(model, as_array)
    has_odds = hasattr(model, "predict_proba") and np.array_equal(
        asked.predict(table.reference), _likeliest(asked, table)
    )
    classes = tuple(np.asarray(model.classes_).tolist())
    by_place = as_array or _reads_by_place(name, model)
    odds = asked.probabilities if has_odds else None
    # on numbers near the ends of their type these make NaN or infinity, which what comes after them refuses
    raises = name in ("stack of a network", "stack of discriminants", "quantiles", "unit length")
    return Subject(name, model, asked.predict, classes, odds, reads_arrays=by_place, may_raise=raises)


def _reads_by_place(name: str, model: Any) -> bool:
    """Whether it reads columns by their place: LightGBM whatever their names, scikit-learn if not all are texts."""
    return name.startswith("lightgbm") or not hasattr(model, "feature_names_in_")


def _likeliest(asked: _Asked, table: Table) -> Any:
    return np.asarray(asked.model.classes_)[asked.probabilities(table.reference).argmax(axis=1)]


def _draw_regressor(rng: Rng, table: Table, edition: int, *, is_plain: bool) -> Subject:
    name = str(rng.choice(names_of_edition(edition, FIRST_REGRESSORS, LATER_REGRESSORS)))
    score = learnable_score(rng, table)(table.reference)
    model, as_array = _fit(rng, table, REGRESSORS[name](), score, is_plain=is_plain)
    by_place = as_array or _reads_by_place(name, model)
    return Subject(name, model, _Asked(model, as_array).predict, None, reads_arrays=by_place)


def _draw_detector(rng: Rng, table: Table, edition: int) -> Subject:
    model = IsolationForest(8, random_state=0)
    if edition > 1 and rng.random() < 0.7:
        model = DETECTORS[str(rng.choice(list(DETECTORS)))]()
    model.fit(table.reference)
    asked = _Asked(model, names={1: "inlier", -1: "outlier"})
    return Subject("outlier detector", model, asked.predict, ("inlier", "outlier"))


def _draw_torch(rng: Rng, table: Table) -> Subject:
    import torch

    torch.manual_seed(int(rng.integers(2**31)))
    width, dtype = table.reference.shape[1], [torch.float32, torch.float64][int(rng.integers(2))]
    module = torch.nn.Sequential(torch.nn.Linear(width, 6), torch.nn.ReLU(), torch.nn.Linear(6, 2)).to(dtype)
    with torch.no_grad():  # inputs of any scale are brought near 1, as a user would have fitted it
        scale = table.reference.to_numpy(dtype=float).std(axis=0)
        module[0].weight /= torch.tensor(np.where(scale > 0, scale, 1.0), dtype=dtype)
        given = torch.tensor(table.reference.to_numpy(dtype=float), dtype=dtype)
        module[2].bias -= module(given).median(dim=0).values

    def predict(frame: pd.DataFrame) -> Any:
        with torch.no_grad():
            return module(torch.tensor(frame.to_numpy(dtype=float), dtype=dtype)).argmax(dim=1).numpy()

    return Subject("torch", module, predict, (0, 1), reads_arrays=True)
