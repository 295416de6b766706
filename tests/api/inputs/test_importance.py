"""Weights from the model: what matters more weighs more, and nothing else."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from counterpoise.api.inputs.importance import importance_weights
from counterpoise.errors import InputError, MissingExtra
from counterpoise.models.registry import as_model
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema


@pytest.fixture(params=["permutation", "shap"])
def way(request: pytest.FixtureRequest) -> str:
    if request.param == "shap" and find_spec("shap") is None:
        pytest.skip("the extra 'shap' is not installed")
    return str(request.param)


def linear(weights: list[float]) -> tuple[object, np.ndarray]:
    x = np.random.default_rng(0).normal(size=(300, len(weights)))
    model = LogisticRegression(C=1e6).fit(x, x @ np.array(weights) > 0.2 * np.random.default_rng(1).normal(size=300))
    return as_model(model, Schema.infer(x), x), x


def test_the_weights_of_a_linear_model_are_its_coefficients(way: str) -> None:
    model, x = linear([1.0, -2.0, 0.0, 5.0])
    found = importance_weights(way, model, x)
    assert found.mean() == pytest.approx(1.0)
    coefficients = np.abs(model.gradient(x[:1], np.array([[0.0, 1.0]]))[0])
    np.testing.assert_allclose(found, coefficients * 4 / coefficients.sum(), atol=0.25)
    assert found[2] < 0.1 < found[0] < found[1] < found[3]


def test_categories_missing_cells_and_several_classes_are_no_obstacle(way: str) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"p": rng.choice(["a", "b", "c"], 200), "x": rng.normal(size=200), "idle": rng.normal(size=200)}
    )
    y = table["p"].map({"a": 0, "b": 1, "c": 2})
    table.loc[::9, "x"] = np.nan
    front = make_column_transformer((OneHotEncoder(), ["p"]), remainder="passthrough")
    model = make_pipeline(front, RandomForestClassifier(10, random_state=0)).fit(table, y)
    schema = Schema.infer(table)
    x = encode(schema, table)
    found = importance_weights(way, as_model(model, schema, x), x)
    assert found[0] > 2.0
    assert found[0] + found[1] + found[2] == pytest.approx(3.0)


def test_the_same_weights_every_time(way: str) -> None:
    model, x = linear([1.0, -2.0, 0.0, 5.0])
    np.random.seed(7)  # noqa: NPY002
    first = importance_weights(way, model, x)
    drawn = np.random.random()  # noqa: NPY002
    np.testing.assert_array_equal(importance_weights(way, model, x), first)
    np.random.seed(7)  # noqa: NPY002
    assert drawn == np.random.random()  # noqa: NPY002 - the global stream is left as it was


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    model, x = linear([1.0, 2.0])
    with pytest.raises(MissingExtra, match=r"counterpoise\[shap\]"):
        importance_weights("shap", model, x)


def test_wrong_questions() -> None:
    model, x = linear([1.0, 2.0])
    with pytest.raises(InputError, match="'permutation' or 'shap'"):
        importance_weights("lime", model, x)
    with pytest.raises(InputError, match="needs reference rows"):
        importance_weights("permutation", model, x[:0])
