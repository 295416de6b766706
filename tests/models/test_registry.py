"""as_model finds the right adapter, and says what it can take where it finds none."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV

import counterpoise as cp
from counterpoise.errors import CapabilityError, InputError, ModelError
from counterpoise.models.probability import as_probability_model
from counterpoise.models.registry import ADAPTERS, as_model
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import Array, Model, ModelBase

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.where(X[:, 0] + X[:, 1] > 0, "attack", "benign")
SCHEMA = Schema.infer(X)


def test_a_model_comes_back_as_it_is() -> None:
    model = as_model(LogisticRegression().fit(X, Y), SCHEMA, X)
    assert as_model(model, SCHEMA, X) is model


def test_an_unsupported_object_is_told_what_is_supported_and_what_would_work() -> None:
    with pytest.raises(CapabilityError) as caught:
        as_model({"weights": [1, 2, 3]}, SCHEMA, X)
    said = str(caught.value)
    assert all(adapter.kind in said for adapter in ADAPTERS)
    assert "builtins.dict" in said
    assert "lambda rows:" in caught.value.todo


def test_a_class_is_not_a_fitted_model() -> None:
    with pytest.raises(InputError, match=r"LogisticRegression\(…\)\.fit"):
        as_model(LogisticRegression, SCHEMA, X)


def test_what_a_model_raises_on_the_reference_is_passed_on() -> None:
    def broken(rows: np.ndarray) -> np.ndarray:
        raise KeyError("no such column")

    with pytest.raises(ModelError, match="KeyError: 'no such column'") as caught:
        as_model(broken, SCHEMA, X)
    assert isinstance(caught.value.__cause__, KeyError)


def test_capabilities_are_those_of_the_model() -> None:
    smooth = as_model(LogisticRegression().fit(X, Y), SCHEMA, X)
    boxes = as_model(RandomForestClassifier(3, random_state=0).fit(X, Y), SCHEMA, X)
    plain = as_model(lambda rows: rows[:, 0], SCHEMA, X)
    assert smooth.hvp is not None
    assert boxes.thresholds is not None
    assert boxes.gradient is None
    assert isinstance(plain, ModelBase)
    assert plain.gradient is None
    assert plain.thresholds is None


def test_every_model_declares_every_capability() -> None:
    declared = [name for name in vars(Model) if not name.startswith("_")]
    assert {"gradient", "leaves", "notes"} < set(declared)
    for own in (
        LogisticRegression().fit(X, Y),
        RandomForestClassifier(3, random_state=0).fit(X, Y),
        [RandomForestClassifier(3, random_state=seed).fit(X, Y) for seed in (0, 1)],
        lambda rows: rows[:, 0],
        Slope(),
    ):
        model = as_model(own, SCHEMA, X)
        for each in (model, as_probability_model(model)):
            assert [name for name in declared if not hasattr(each, name)] == []


class Slope:
    """The least that an object of a user's own needs to be a model: no class of this package behind it."""

    labels = ("low", "high")
    link = "identity"

    def outputs(self, x: Array) -> Array:
        return np.stack([np.zeros(len(x)), x[:, 0] - 0.25], axis=1)

    def predict(self, x: Array) -> np.ndarray:
        return np.array(self.labels)[self.outputs(x).argmax(axis=1)]

    def probabilities(self, x: Array) -> None:
        return None


class SlopeWithGradient(Slope):
    notes = ("made by hand",)

    def gradient(self, x: Array, weights: Array) -> Array:
        return weights[:, 1:] * np.eye(x.shape[1])[0]


@pytest.mark.parametrize("own", [Slope(), SlopeWithGradient()])
def test_an_object_with_the_members_of_a_model_is_one(own: Slope) -> None:
    model = as_model(own, SCHEMA, X)
    assert (model.gradient is not None) == hasattr(own, "gradient")
    assert model.thresholds is None
    assert model.members_needed == 1
    assert pickle.loads(pickle.dumps(model)).labels == own.labels
    found = cp.explain(own, X[:5], reference=X)
    assert found.valid.all()
    assert (own.predict(found.frame.to_numpy()) != own.predict(X[:5])).all()
    assert set(model.notes) <= set(found.notes)


@pytest.mark.parametrize("kind", [RandomForestClassifier, HistGradientBoostingClassifier])
def test_the_trees_behind_a_method_are_opened(kind: type) -> None:
    forest = kind(random_state=0).fit(X, Y)
    named, numbered = as_model(forest.predict, SCHEMA, X), as_model(forest.predict_proba, SCHEMA, X)
    assert named.thresholds is not None
    assert numbered.thresholds is not None
    assert named.labels == ("attack", "benign")
    assert numbered.labels == as_model(lambda rows: forest.predict_proba(rows), SCHEMA, X).labels == (0, 1)
    assert numbered.predict(X).tolist() == forest.predict_proba(X).argmax(axis=1).tolist()
    assert np.array_equal(numbered.probabilities(X), forest.predict_proba(X))
    assert np.array_equal(numbered.outputs(X), named.outputs(X))
    assert np.array_equal(numbered.own_model.outputs(X[:5]), named.own_model.outputs(X[:5]))
    found = cp.explain(forest.predict_proba, X[:3], reference=X, target=1)
    assert forest.predict(found.frame.to_numpy()).tolist() == ["benign"] * 3


def test_methods_of_other_models_are_callables() -> None:
    for method in (
        LogisticRegression().fit(X, Y).predict_proba,
        IsolationForest(n_estimators=5, random_state=0).fit(X).predict,  # -1 and 1, not "outlier" and "inlier"
        FixedThresholdClassifier(RandomForestClassifier(5, random_state=0), threshold=0.2).fit(X, Y).predict_proba,
    ):
        found = as_model(method, SCHEMA, X)
        assert found.gradient is None
        assert found.thresholds is None
        if method.__name__ == "predict_proba":
            assert np.array_equal(found.predict(X), method(X).argmax(axis=1))


def test_a_parameter_search_stands_for_its_best_estimator() -> None:
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    model = as_model(search, SCHEMA, X)
    assert model.hvp is not None
    assert np.array_equal(model.predict(X), search.predict(X))


def test_without_reference_rows_the_schema_stands_in() -> None:
    schema = Schema(
        (Feature("rate", "continuous", lower=0.0, upper=2.0), Feature("kind", "categorical", categories=("a", "b")))
    )
    model = as_model(lambda rows: np.where(rows["rate"] > 1, "fast", "slow"), schema)
    assert model.labels == ("fast", "slow")


def test_a_missing_cell_in_the_reference_does_not_upset_a_model_that_refuses_it() -> None:
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LogisticRegression().fit(table, Y)
    rows = X.copy()
    rows[0, 1] = np.nan
    assert as_model(model, Schema.infer(table), rows).labels == ("attack", "benign")


def test_no_library_is_loaded_that_the_model_is_not_from() -> None:
    code = (
        "import sys, numpy as np\n"
        "from counterpoise.models.registry import as_model\n"
        "from counterpoise.space.schema.schema import Schema\n"
        "x = np.array([[0.0], [1.0]])\n"
        "as_model(lambda rows: rows[:, 0], Schema.infer(x), x)\n"
        "print([name for name in ('torch', 'onnxruntime', 'xgboost', 'lightgbm', 'catboost') if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert run.stdout.strip() == "[]", run.stderr
