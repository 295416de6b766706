"""The estimators that are drawn, by what a failure calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.covariance import EllipticEnvelope
from sklearn.cross_decomposition import PLSRegression
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectFromModel, SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.impute import KNNImputer
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, LocalOutlierFactor, NearestCentroid
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


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


def _to_single(rows: Any) -> Any:
    return np.asarray(np.tanh(np.asarray(rows, dtype=float) / 5), dtype=np.float32)


FIRST_CLASSIFIERS: dict[str, Callable[[], Any]] = {
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
FIRST_REGRESSORS: dict[str, Callable[[], Any]] = {
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
LATER_CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "perceptron": lambda: make_pipeline(StandardScaler(), Perceptron(max_iter=20, tol=None, random_state=0)),
    "smooth stochastic gradient": lambda: make_pipeline(
        StandardScaler(), SGDClassifier("log_loss", max_iter=20, tol=None, random_state=0)
    ),
    "nearest centre": lambda: make_pipeline(StandardScaler(), NearestCentroid()),
    "Bernoulli Bayes": BernoulliNB,
    "shrunk discriminant": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.3),
    "projected discriminant": lambda: make_pipeline(LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1)),
    "robust scaling": lambda: make_pipeline(RobustScaler(), LogisticRegression()),
    "ranges": lambda: make_pipeline(MinMaxScaler(clip=True), LogisticRegression()),
    "quantiles": lambda: make_pipeline(QuantileTransformer(n_quantiles=10), LogisticRegression()),
    "powers": lambda: make_pipeline(PowerTransformer(), LogisticRegression()),
    "unit length": lambda: make_pipeline(Normalizer(), LogisticRegression()),
    "bins": lambda: make_pipeline(KBinsDiscretizer(3, encode="onehot-dense"), LogisticRegression()),
    "splines": lambda: make_pipeline(SplineTransformer(3), LogisticRegression()),
    "kernel map": lambda: make_pipeline(
        StandardScaler(), RBFSampler(n_components=8, random_state=0), LogisticRegression()
    ),
    "Nystroem": lambda: make_pipeline(
        StandardScaler(), Nystroem(n_components=5, random_state=0), LinearSVC(max_iter=100)
    ),
    "filled by neighbours": lambda: make_pipeline(KNNImputer(), StandardScaler(), LogisticRegression()),
    "two views": lambda: make_pipeline(
        FeatureUnion([("s", StandardScaler()), ("r", Binarizer())]), DecisionTreeClassifier(max_depth=3, random_state=0)
    ),
    "frames between": lambda: make_pipeline(StandardScaler(), LogisticRegression()).set_output(transform="pandas"),
    "probable vectors": lambda: make_pipeline(
        StandardScaler(), CalibratedClassifierCV(LinearSVC(max_iter=100), cv=2, ensemble=False)
    ),
    "stack of a network": lambda: StackingClassifier(
        [("a", make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=10, random_state=0))), ("b", GaussianNB())],
        cv=2,
        passthrough=True,
    ),
    "stack of discriminants": lambda: StackingClassifier(
        [("a", LinearDiscriminantAnalysis()), ("b", make_pipeline(StandardScaler(), LogisticRegression()))], cv=2
    ),
    "boosted lines": lambda: AdaBoostClassifier(LogisticRegression(max_iter=50), n_estimators=3, random_state=0),
    "chosen by another": lambda: make_pipeline(
        SelectFromModel(DecisionTreeClassifier(max_depth=2, random_state=0)), GaussianNB()
    ),
    "always the same": lambda: DummyClassifier(strategy="most_frequent"),
    "categories that a library knows": lambda: HistGradientBoostingClassifier(
        max_iter=6, min_samples_leaf=3, categorical_features="from_dtype", random_state=0
    ),
}
LATER_REGRESSORS: dict[str, Callable[[], Any]] = {
    "robust line": lambda: make_pipeline(StandardScaler(), HuberRegressor(max_iter=50)),
    "elastic": lambda: make_pipeline(StandardScaler(), ElasticNet(0.01)),
    "rates": lambda: make_pipeline(
        StandardScaler(), TransformedTargetRegressor(PoissonRegressor(), func=np.exp, inverse_func=np.log)
    ),
    "partial least squares": lambda: PLSRegression(n_components=1),
    "kernel ridge": lambda: make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", alpha=0.1)),
    "regression in single precision": lambda: make_pipeline(
        FunctionTransformer(_to_single), MLPRegressor((6,), max_iter=20, random_state=0)
    ),
}
CLASSIFIERS = FIRST_CLASSIFIERS | LATER_CLASSIFIERS
REGRESSORS = FIRST_REGRESSORS | LATER_REGRESSORS
DETECTORS: dict[str, Callable[[], Any]] = {
    "support of one class": lambda: make_pipeline(StandardScaler(), OneClassSVM(nu=0.3)),
    "ellipse": lambda: EllipticEnvelope(support_fraction=0.9, random_state=0),
    "local outliers": lambda: LocalOutlierFactor(n_neighbors=5, novelty=True),
}
