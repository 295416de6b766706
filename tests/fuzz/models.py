"""Random models: what the user's own code would be, and how the user asks it.

A `Subject` has the object that is given to the library, and the user's own way to ask it about a frame.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fuzz.callables import draw_callable
from fuzz.elsewhere import draw_agreement, draw_onnx, draw_remote
from fuzz.subject import Subject, learnable_score
from fuzz.tables import Rng, Table


def _boosted(name: str) -> Any:
    if name == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1)
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=8, num_leaves=6, min_child_samples=3, n_jobs=1, verbose=-1)
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=8, depth=3, verbose=False, allow_writing_files=False, thread_count=1, random_seed=0
    )


def _boosted_regressor(name: str) -> Any:
    if name == "xgboost":
        from xgboost import XGBRegressor

        return XGBRegressor(n_estimators=6, max_depth=3, n_jobs=1)
    if name == "lightgbm":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(n_estimators=6, num_leaves=6, min_child_samples=3, n_jobs=1, verbose=-1)
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        iterations=6, depth=3, verbose=False, allow_writing_files=False, thread_count=1, random_seed=0
    )


CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticRegression(max_iter=50),
    "scaled logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "ridge classifier": RidgeClassifier,
    "stochastic gradient": lambda: SGDClassifier(max_iter=20, tol=None, random_state=0),
    "naive Bayes": GaussianNB,
    "linear discriminant": LinearDiscriminantAnalysis,
    "quadratic discriminant": lambda: QuadraticDiscriminantAnalysis(reg_param=0.1),
    "neighbours": lambda: KNeighborsClassifier(1),
    "three neighbours": lambda: make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
    "support vectors": lambda: make_pipeline(StandardScaler(), SVC()),
    "linear support vectors": lambda: make_pipeline(StandardScaler(), LinearSVC(max_iter=100)),
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=20, random_state=0)),
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": lambda: RandomForestClassifier(8, max_depth=5, random_state=0),
    "extra trees": lambda: ExtraTreesClassifier(8, max_depth=5, random_state=0),
    "gradient boosting": lambda: GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=6, min_samples_leaf=3, random_state=0),
    "weights boosting": lambda: AdaBoostClassifier(n_estimators=5, random_state=0),
    "bagging": lambda: BaggingClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=4, random_state=0),
    "soft vote": lambda: VotingClassifier(
        [("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=3, random_state=0))], voting="soft"
    ),
    "hard vote": lambda: VotingClassifier(
        [("a", GaussianNB()), ("b", DecisionTreeClassifier(max_depth=3, random_state=0)), ("c", RidgeClassifier())]
    ),
    "stack": lambda: StackingClassifier(
        [("a", DecisionTreeClassifier(max_depth=2, random_state=0)), ("b", GaussianNB())], cv=2
    ),
    "calibrated": lambda: CalibratedClassifierCV(DecisionTreeClassifier(max_depth=3, random_state=0), cv=2),
    "calibrated logistic": lambda: CalibratedClassifierCV(
        make_pipeline(StandardScaler(), LogisticRegression()), cv=2, method="isotonic"
    ),
    "one against the rest": lambda: OneVsRestClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
    "own threshold": lambda: FixedThresholdClassifier(GaussianNB(), threshold=0.3),
    "Gaussian process": lambda: make_pipeline(StandardScaler(), GaussianProcessClassifier(optimizer=None)),
    "one against one": lambda: OneVsOneClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
    "tuned threshold": lambda: TunedThresholdClassifierCV(GaussianNB(), cv=2),
    "best of a grid": lambda: GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [2, 3]}, cv=2),
    "bagging of lines": lambda: BaggingClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), n_estimators=3, random_state=0
    ),
    "components": lambda: make_pipeline(StandardScaler(), PCA(), LogisticRegression()),
    "squares": lambda: make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression(max_iter=200)),
    "chosen columns": lambda: make_pipeline(SelectKBest(k=1), DecisionTreeClassifier(max_depth=3, random_state=0)),
    "stretched": lambda: make_pipeline(FunctionTransformer(np.arcsinh), StandardScaler(), LogisticRegression()),
    "xgboost": lambda: _boosted("xgboost"),
    "lightgbm": lambda: _boosted("lightgbm"),
    "catboost": lambda: _boosted("catboost"),
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "line": LinearRegression,
    "ridge": Ridge,
    "regression tree": lambda: DecisionTreeRegressor(max_depth=4, random_state=0),
    "regression forest": lambda: RandomForestRegressor(6, max_depth=4, random_state=0),
    "histogram regression": lambda: HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=3, random_state=0),
    "lasso": lambda: make_pipeline(StandardScaler(), Lasso(0.01)),
    "network regression": lambda: make_pipeline(StandardScaler(), MLPRegressor((6,), max_iter=20, random_state=0)),
    "support vector regression": lambda: make_pipeline(StandardScaler(), SVR()),
    "process regression": lambda: make_pipeline(StandardScaler(), GaussianProcessRegressor(optimizer=None, alpha=0.1)),
    "gradient regression": lambda: GradientBoostingRegressor(n_estimators=6, random_state=0),
    "bagged regression": lambda: BaggingRegressor(n_estimators=3, random_state=0),
    "mean of votes": lambda: VotingRegressor(
        [("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=3, random_state=0))]
    ),
    "stacked regression": lambda: StackingRegressor(
        [("a", Ridge()), ("b", DecisionTreeRegressor(max_depth=2, random_state=0))], cv=2
    ),
    "xgboost regression": lambda: _boosted_regressor("xgboost"),
    "lightgbm regression": lambda: _boosted_regressor("lightgbm"),
    "catboost regression": lambda: _boosted_regressor("catboost"),
    "neighbours' mean": lambda: KNeighborsRegressor(1),
    "transformed target": lambda: TransformedTargetRegressor(
        make_pipeline(StandardScaler(), Ridge()), func=np.arcsinh, inverse_func=np.sinh
    ),
}
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


def draw_subject(rng: Rng, table: Table) -> Subject:
    """A model of the table; a callable where the drawn one cannot be fitted on it."""
    is_plain = all(table.kind(name).is_plain for name in table.kinds)
    sort = rng.random()
    if sort < 0.3 or len(table.reference) < 12:
        return draw_callable(rng, table)
    try:
        if sort < 0.36 and is_plain:
            return _draw_torch(rng, table)
        if sort < 0.38 and is_plain:
            return draw_onnx(rng, table)
        if sort < 0.39 and is_plain:
            return draw_remote(rng, table)
        if sort < 0.4:
            return draw_agreement(rng, table)
        if sort < 0.42 and is_plain:
            return _draw_detector(rng, table)
        if sort < 0.55:
            return _draw_regressor(rng, table, is_plain=is_plain)
        return _draw_classifier(rng, table, is_plain=is_plain)
    except Exception:  # each library has its own word for a table that it does not take
        return draw_callable(rng, table)


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


def _draw_classifier(rng: Rng, table: Table, *, is_plain: bool) -> Subject:
    name = str(rng.choice(list(CLASSIFIERS)))
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
    return Subject(
        name, model, asked.predict, classes, asked.probabilities if has_odds else None, reads_arrays=by_place
    )


def _reads_by_place(name: str, model: Any) -> bool:
    """Whether it reads columns by their place: LightGBM whatever their names, scikit-learn if not all are texts."""
    return name.startswith("lightgbm") or not hasattr(model, "feature_names_in_")


def _likeliest(asked: _Asked, table: Table) -> Any:
    return np.asarray(asked.model.classes_)[asked.probabilities(table.reference).argmax(axis=1)]


def _draw_regressor(rng: Rng, table: Table, *, is_plain: bool) -> Subject:
    name = str(rng.choice(list(REGRESSORS)))
    score = learnable_score(rng, table)(table.reference)
    model, as_array = _fit(rng, table, REGRESSORS[name](), score, is_plain=is_plain)
    by_place = as_array or _reads_by_place(name, model)
    return Subject(name, model, _Asked(model, as_array).predict, None, reads_arrays=by_place)


def _draw_detector(rng: Rng, table: Table) -> Subject:
    model = IsolationForest(8, random_state=0).fit(table.reference)
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
