"""Every scikit-learn estimator, fed what it was fitted on: outputs agree with its own predict, or a reason why not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import BaggingClassifier, IsolationForest, StackingClassifier, VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDOneClassSVM
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, LocalOutlierFactor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators

from counterpoise.errors import CapabilityError, InputError
from counterpoise.models.registry import as_model
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
ROWS = RNG.normal(size=(300, 4)) * 2
SCHEMA = Schema.infer(X)
BINARY = X[:, 0] + 0.3 * X[:, 1] > 0
THREE = np.array(["b", "a", "c"])[np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.3, 0.4])]

# Estimators that cannot be made or fitted on one plain table, each with the reason.
MADE_OF_OTHERS = {
    "ClassifierChain", "FixedThresholdClassifier", "MultiOutputClassifier", "MultiOutputRegressor",
    "OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier", "RegressorChain", "SelfTrainingClassifier",
    "StackingClassifier",
    "StackingRegressor", "TunedThresholdClassifierCV", "VotingClassifier", "VotingRegressor",
}  # fmt: skip
SEVERAL_TARGETS = {
    "CCA",
    "PLSCanonical",
    "MultiTaskElasticNet",
    "MultiTaskElasticNetCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
}
ONE_COLUMN = {"IsotonicRegression"}
COUNTS = {"CategoricalNB", "ComplementNB", "MultinomialNB"}  # read whole numbers that are not negative
NEAR_ONLY = {"RadiusNeighborsClassifier", "RadiusNeighborsRegressor", "LabelPropagation", "LabelSpreading"}
SMALLER = {"n_estimators": 5, "max_iter": 100, "cv": 2, "hidden_layer_sizes": (6,), "Cs": 2}


def fitted(model, x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that were not given the time to converge
        return model.fit(x, y)


def small(cls: type, x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of estimators on their way out
        known = cls().get_params()
        return cls(
            **{
                name: value
                for name, value in SMALLER.items()
                if known.get(name, "") not in ("", None) or (name == "cv" and name in known)
            }
        ).fit(x, y)


def agrees(model: Model, rows: Array) -> bool:
    labels = np.array(model.labels, dtype=object)
    return bool((labels[model.outputs(rows).argmax(1)] == model.predict(rows).astype(object)).all())


CLASSIFIERS = [pytest.param(cls, id=name) for name, cls in all_estimators("classifier") if name not in MADE_OF_OTHERS]
REGRESSORS = [
    pytest.param(cls, id=name)
    for name, cls in all_estimators("regressor")
    if name not in MADE_OF_OTHERS | SEVERAL_TARGETS | ONE_COLUMN
]


@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_every_classifier_is_understood(cls: type) -> None:
    x, rows = (np.abs(X).round(), np.minimum(np.abs(ROWS).round(), 1)) if cls.__name__ in COUNTS else (X, ROWS)
    rows = x[::-1] if cls.__name__ in NEAR_ONLY else rows
    for y in (BINARY, THREE):
        own = small(cls, x, y)
        model = as_model(own, SCHEMA, x)
        assert model.labels == tuple(np.unique(y).tolist())
        assert np.isfinite(model.outputs(rows)).all()
        assert np.array_equal(model.predict(rows), own.predict(rows))
        assert agrees(model, rows)
        likely = model.probabilities(rows)
        assert likely is None or np.array_equal(likely, own.predict_proba(rows))


@pytest.mark.parametrize("cls", REGRESSORS)
def test_every_regressor_is_understood(cls: type) -> None:
    rows = X[::-1] if cls.__name__ in NEAR_ONLY else ROWS
    own = small(cls, X, np.abs(X[:, 0]) + 0.1)
    model = as_model(own, SCHEMA, X)
    assert model.labels is None
    assert model.outputs(rows).shape == (len(rows), 1)
    assert np.allclose(model.outputs(rows)[:, 0], own.predict(rows).ravel(), rtol=1e-9, atol=1e-12)
    assert np.array_equal(model.predict(rows), own.predict(rows).ravel())


@pytest.mark.parametrize(
    "own",
    [
        IsolationForest(n_estimators=10, random_state=0, contamination=0.2),
        OneClassSVM(nu=0.2),
        LocalOutlierFactor(novelty=True),
        EllipticEnvelope(random_state=0),
        SGDOneClassSVM(nu=0.2),
    ],
    ids=lambda own: type(own).__name__,
)
def test_outlier_detectors_say_outlier_or_inlier(own) -> None:
    own.fit(X)
    rows = np.vstack([X, ROWS])
    for fitted_model in (own, make_pipeline(StandardScaler(), own).fit(X)):
        model = as_model(fitted_model, SCHEMA, X)
        assert model.labels == ("outlier", "inlier")
        assert agrees(model, rows)
        assert np.array_equal(model.predict(rows) == "inlier", fitted_model.predict(rows) == 1)
        assert {"outlier", "inlier"} == set(model.predict(rows))


@pytest.mark.parametrize("shape", ["ovo", "ovr"])
@pytest.mark.parametrize("own", [SVC(gamma=2.0), SVC(kernel="poly", degree=2), NuSVC(nu=0.1)], ids=str)
def test_votes_between_pairs_of_classes_decide_as_libsvm_does(own, shape: str) -> None:
    x = RNG.normal(size=(300, 2))
    y = RNG.integers(0, 5, 300)  # pure noise: many ties between votes
    own.set_params(decision_function_shape=shape)
    model = as_model(own.fit(x, y), Schema.infer(x), x[:5])
    assert agrees(model, RNG.normal(size=(5000, 2)) * 2)


@pytest.mark.parametrize(
    "own",
    [
        CalibratedClassifierCV(LinearSVC(), cv=2),
        VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())]),
        VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], voting="soft"),
        StackingClassifier([("a", LogisticRegression()), ("b", GaussianNB())], cv=2),
        BaggingClassifier(LinearSVC(), n_estimators=3, random_state=0),
        OneVsOneClassifier(GaussianNB()),
        FixedThresholdClassifier(DecisionTreeClassifier(max_depth=2), threshold=0.8),
        FixedThresholdClassifier(LogisticRegression(), threshold=0.2),
        make_pipeline(StandardScaler(), make_pipeline(PolynomialFeatures(2), LogisticRegression())),
    ],
    ids=lambda own: type(own).__name__,
)
def test_models_made_of_others_agree_with_their_own_predict(own) -> None:
    for y in (BINARY, THREE) if not isinstance(own, FixedThresholdClassifier) else (BINARY,):
        assert agrees(as_model(fitted(own, X, y), SCHEMA, X), np.vstack([X, ROWS]))


def test_a_model_with_names_is_fed_names_in_its_own_order() -> None:
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    own = MLPClassifier((4,), max_iter=5, random_state=0)
    fitted(own, table[["d", "a"]], THREE)
    model = as_model(own, Schema.infer(table), X)
    assert np.array_equal(model.predict(ROWS), own.predict(pd.DataFrame(ROWS[:, [3, 0]], columns=["d", "a"])))
    assert agrees(model, ROWS)
    with pytest.raises(InputError, match="it has no 'a'"):
        as_model(own, Schema.infer(table[["b", "d"]]), X[:, [1, 3]])


@pytest.mark.parametrize("columns", [["a", "b", "c", "d"], [0, 1, 2, 3]], ids=["words", "numbers"])
def test_a_model_without_names_reads_a_frame_without_warning(columns: list) -> None:
    table = pd.DataFrame(X, columns=columns)
    for own in (KNeighborsClassifier(), make_pipeline(StandardScaler(), KNeighborsClassifier())):
        model = as_model(own.fit(X, THREE), Schema.infer(table), X)
        assert np.array_equal(model.predict(ROWS), own.predict(ROWS))


def test_a_model_with_names_reads_an_array_without_warning() -> None:
    own = KNeighborsClassifier().fit(pd.DataFrame(X, columns=["a", "b", "c", "d"]), THREE)
    assert agrees(as_model(own, SCHEMA, X), ROWS)


def test_words_reach_an_encoder_that_was_fitted_without_names() -> None:
    table = pd.DataFrame({"proto": np.where(X[:, 1] > 0, "tcp", "udp"), "flag": np.where(X[:, 2] > 0, "s", "f")})
    for given in (table.to_numpy(dtype=object), table.set_axis([0, 1], axis=1)):
        own = make_pipeline(OneHotEncoder(), KNeighborsClassifier()).fit(given, THREE)
        schema = Schema.infer(table)
        model = as_model(own, schema, encode(schema, table))
        assert np.array_equal(model.predict(encode(schema, table)), own.predict(given))


def test_a_mixed_frame_goes_through_a_column_transformer() -> None:
    table = pd.DataFrame({"n": X[:, 0], "proto": np.where(X[:, 1] > 0, "tcp", "udp"), "ok": X[:, 2] > 0})
    steps = ColumnTransformer([("a", PolynomialFeatures(2), ["n"]), ("b", OneHotEncoder(), ["proto"])])
    own = make_pipeline(steps, KNeighborsClassifier()).fit(table, THREE)
    schema = Schema.infer(table)
    model = as_model(own, schema, encode(schema, table))
    assert np.array_equal(model.predict(encode(schema, table)), own.predict(table))


class ByName(ClassifierMixin, BaseEstimator):
    """A classifier of the user's own, which reads columns by name and remembers nothing of them."""

    def fit(self, table, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, table):
        return np.where(table["a"] > 0, self.classes_[1], self.classes_[0])


class ByNumber(ByName):
    def predict(self, table):
        return np.where(table[:, 0] > 0, self.classes_[1], self.classes_[0])


@pytest.mark.parametrize("cls", [ByName, ByNumber])
def test_a_class_of_the_users_own_is_given_what_it_can_read(cls: type) -> None:
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = as_model(cls().fit(table, BINARY), Schema.infer(table), X)
    assert model.labels == (False, True)
    assert np.array_equal(model.predict(X), X[:, 0] > 0)
    assert agrees(model, ROWS)


def test_labels_keep_their_kind() -> None:
    for y in (np.where(BINARY, 2.0, 1.0), BINARY, np.where(BINARY, "é", "e"), BINARY.astype(np.int8) + 3):
        own = GaussianNB().fit(X, y)
        model = as_model(own, SCHEMA, X)
        assert model.labels == tuple(np.unique(y).tolist())
        assert model.predict(X).dtype == y.dtype


@pytest.mark.parametrize(
    "own", [SVC(), make_pipeline(StandardScaler(), SVC()), LinearRegression()], ids=lambda own: type(own).__name__
)
def test_a_model_that_was_not_fitted_is_refused(own) -> None:
    with pytest.raises(InputError, match=r"must be fitted; this \w+ is not fitted; call \w+.fit first"):
        as_model(own, SCHEMA, X)


@pytest.mark.parametrize(
    ("own", "error", "message"),
    [
        (KMeans(2, n_init=1).fit(X), CapabilityError, r"KMeans is a clusterer.*lambda rows"),
        (StandardScaler().fit(X), CapabilityError, "must be a classifier"),
        (LocalOutlierFactor().fit(X), CapabilityError, "novelty=True"),
        (LinearRegression().fit(X, X[:, :2]), Exception, "1 column"),
        (KNeighborsClassifier().fit(X, np.column_stack([BINARY, BINARY])), CapabilityError, "answers 2 at once"),
        (
            LogisticRegression().fit(X[:, :2], BINARY),
            InputError,
            "the 2 columns that the model was fitted on; it has 4",
        ),
    ],
    ids=["clusters", "no predict", "not novelty", "two targets", "two questions", "other columns"],
)
def test_what_cannot_be_explained_is_refused_with_a_reason(own, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        as_model(own, SCHEMA, X)


@pytest.mark.parametrize("fits", [True, False])
def test_a_class_that_only_looks_like_an_estimator_is_taken_at_its_word(fits: bool) -> None:
    class Plain:
        def __init__(self) -> None:
            self.inner = LogisticRegression().fit(X, BINARY)
            self.classes_ = self.inner.classes_

        def predict(self, rows: Array) -> Array:
            return self.inner.predict(rows)

        def predict_proba(self, rows: Array) -> Array:
            return self.inner.predict_proba(rows)

    if fits:
        Plain.fit = lambda self, x, y: self  # type: ignore[attr-defined]
    model = as_model(Plain(), SCHEMA, X)
    assert model.labels == (False, True)
    assert (model.predict(ROWS) == Plain().predict(ROWS)).all()
