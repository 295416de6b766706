"""Callables and cp.Function: what they return is understood, and their derivatives arrive as given."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterpoise.errors import InputError, ModelError
from counterpoise.models.callables.function import Function
from counterpoise.models.registry import as_model
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array

X = np.random.default_rng(0).normal(size=(40, 2))
SCHEMA = Schema.infer(X)
TABLE = pd.DataFrame({"rate": X[:, 0], "proto": np.where(X[:, 1] > 0, "tcp", "udp")})
TABLE_SCHEMA = Schema.infer(TABLE)
CODES = np.column_stack([X[:, 0], (X[:, 1] <= 0).astype(float)])


def sigmoid(value: Array) -> Array:
    return 1 / (1 + np.exp(-value))


def test_probabilities_are_classes_by_number() -> None:
    model = as_model(lambda x: np.column_stack([1 - sigmoid(x[:, 0]), sigmoid(x[:, 0])]), SCHEMA, X)
    assert model.labels == (0, 1)
    assert model.link == "log"
    assert np.array_equal(model.predict(X), (X[:, 0] > 0).astype(int))
    found = model.probabilities(X)
    assert found is not None
    assert np.array_equal(found, model.outputs(X))


def test_decision_values_of_three_classes_are_not_taken_for_probabilities() -> None:
    model = as_model(lambda x: np.column_stack([x, x.sum(1)]), SCHEMA, X)
    assert (model.labels, model.link, model.probabilities(X)) == ((0, 1, 2), "identity", None)


def test_numbers_are_a_score_and_have_no_labels() -> None:
    model = as_model(lambda x: x[:, 0] * 2, SCHEMA, X)
    assert model.labels is None
    assert np.array_equal(model.outputs(X), 2 * X[:, :1])
    assert np.array_equal(model.predict(X), 2 * X[:, 0])


@pytest.mark.parametrize("column", [False, True], ids=["flat", "column"])
@pytest.mark.parametrize(
    ("said", "labels"),
    [
        (lambda x: np.where(x[:, 0] > 0, "b", "a"), ("a", "b")),
        (lambda x: x[:, 0] > 5, (False, True)),
        (lambda x: np.digitize(x[:, 0], [-0.5, 0.5]), (0, 1, 2)),
        (lambda x: np.array(["b" if v > 0 else "a" for v in x[:, 0]], dtype=object), ("a", "b")),
        (lambda x: np.array([7 if v > 0 else "other" for v in x[:, 0]], dtype=object), (7, "other")),
    ],
    ids=["words", "booleans", "integers", "objects", "two types"],
)
def test_labels_come_back_as_they_are(said, labels, column: bool) -> None:
    model = as_model((lambda x: said(x)[:, None]) if column else said, SCHEMA, X)
    assert model.labels == labels
    assert model.predict(X).tolist() == said(X).tolist()
    assert np.array_equal(np.array(labels, dtype=object)[model.outputs(X).argmax(1)], said(X).astype(object))


def test_labels_of_two_types_in_a_list_come_back_as_they_are() -> None:
    model = as_model(lambda x: [7 if v > 0 else "other" for v in x[:, 0]], SCHEMA, X)
    assert model.labels == (7, "other")
    assert model.predict(X).tolist() == [7 if v > 0 else "other" for v in X[:, 0]]


def test_a_frame_reaches_the_callable_as_the_reference_had_it() -> None:
    seen = []

    def score(rows: pd.DataFrame) -> Array:
        seen.append(rows)
        return rows["rate"].to_numpy()

    as_model(score, TABLE_SCHEMA, CODES).outputs(CODES[:3])
    assert isinstance(seen[-1], pd.DataFrame)
    pd.testing.assert_frame_equal(seen[-1], TABLE.iloc[:3])


def test_array_gives_codes_even_where_the_reference_is_a_frame() -> None:
    model = as_model(Function(lambda x: x[:, 1] + 0.5, array=True), TABLE_SCHEMA, CODES)
    assert np.array_equal(model.outputs(CODES)[:, 0], CODES[:, 1] + 0.5)


def test_a_callable_cannot_change_the_rows_it_is_given() -> None:
    def vandal(x: Array) -> Array:
        x[:] = 0
        return x[:, 0]

    rows = X.copy()
    as_model(Function(vandal, array=True), SCHEMA, rows).outputs(rows)
    as_model(vandal, SCHEMA, rows).outputs(rows)
    assert np.array_equal(rows, X)


@pytest.mark.parametrize(("link", "expected"), [(None, "log"), ("identity", "identity")])
def test_one_number_with_two_labels_is_a_chance_or_a_decision(link, expected: str) -> None:
    model = as_model(Function(lambda x: sigmoid(x[:, 0]), labels=["no", "yes"], link=link), SCHEMA, X)
    assert model.link == expected
    assert model.outputs(X).shape == (40, 2)
    if expected == "log":
        assert np.allclose(model.outputs(X).sum(1), 1)
        assert np.array_equal(model.predict(X) == "yes", X[:, 0] > 0)


@given(
    x=arrays(np.float64, (5, 2), elements=st.floats(-3, 3)),
    weights=arrays(np.float64, (5, 2), elements=st.floats(-2, 2)),
)
def test_the_gradient_given_is_that_of_the_outputs(x: Array, weights: Array) -> None:
    for labels in (None, ("no", "yes")):
        model = as_model(
            Function(
                lambda x: sigmoid(x @ [1.0, -2.0]),
                gradient=lambda x: (sigmoid(x @ [1.0, -2.0]) * (1 - sigmoid(x @ [1.0, -2.0])))[:, None] * [1.0, -2.0],
                labels=labels,
            ),
            SCHEMA,
            X,
        )
        assert model.gradient is not None
        w = weights[:, : model.outputs(x).shape[1]]
        step = 1e-6
        for j in range(2):
            move = step * np.eye(2)[j]
            slope = (w * (model.outputs(x + move) - model.outputs(x - move))).sum(1) / (2 * step)
            assert np.allclose(model.gradient(x, w)[:, j], slope, atol=1e-7)


def test_several_scores_have_a_gradient_and_a_curvature_each() -> None:
    def scores(x: Array) -> Array:
        return np.stack([x[:, 0] ** 2, x[:, 0] * x[:, 1], x[:, 1]], axis=1)

    def gradient(x: Array) -> Array:
        zero, one = np.zeros(len(x)), np.ones(len(x))
        return np.stack(
            [np.stack([2 * x[:, 0], zero], 1), np.stack([x[:, 1], x[:, 0]], 1), np.stack([zero, one], 1)], 1
        )

    def hvp(x: Array, v: Array) -> Array:
        return np.stack([np.stack([2 * v[:, 0], 0 * v[:, 0]], 1), v[:, ::-1], np.zeros_like(v)], 1)

    model = as_model(Function(scores, gradient=gradient, hvp=hvp), SCHEMA, X)
    assert model.hvp is not None
    weights, v = np.tile([1.0, 2.0, 3.0], (40, 1)), np.ones((40, 2))
    assert np.allclose(model.gradient(X, weights), np.stack([2 * X[:, 0] + 2 * X[:, 1], 2 * X[:, 0] + 3], 1))
    assert np.allclose(model.hvp(X, weights, v), [[4.0, 2.0]])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda x: np.zeros(3), "one answer for each of 40 rows"),
        (lambda x: np.zeros((40, 2, 2)), "one answer for each of 40 rows"),
        (lambda x: np.array([["a", "b"]] * 40), "numbers or one label a row"),
        (lambda x: None, "one answer for each of 40 rows"),
    ],
    ids=["too few", "too deep", "words in columns", "nothing"],
)
def test_an_answer_of_the_wrong_shape_is_refused(answer, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        as_model(answer, SCHEMA, X)


def test_an_answer_whose_shape_changes_later_is_refused() -> None:
    model = as_model(lambda x: np.ones((len(x), 2)) / 2 if len(x) == 40 else np.ones((len(x), 3)), SCHEMA, X)
    with pytest.raises(ModelError, match="2 columns"):
        model.outputs(X[:5])


def test_a_label_that_the_reference_did_not_show_is_refused_with_its_row() -> None:
    model = as_model(lambda x: np.where(x[:, 0] > 50, "c", np.where(x[:, 0] > 0, "b", "a")), SCHEMA, X)
    with pytest.raises(ModelError, match=r"'c'.*labels=") as caught:
        model.outputs(np.array([[0.0, 0.0], [99.0, 0.0]]))
    assert caught.value.row == 1


def test_labels_that_never_differ_must_be_listed() -> None:
    with pytest.raises(InputError, match="it returned only 'a'"):
        as_model(lambda x: np.full(len(x), "a"), SCHEMA, X)
    model = as_model(Function(lambda x: np.full(len(x), "a"), labels=["a", "b"]), SCHEMA, X)
    assert model.outputs(X[:1]).tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    "settings",
    [
        {"scores": 3},
        {"scores": len, "link": "logit"},
        {"scores": len, "hvp": len},
        {"scores": len, "labels": ["a"]},
        {"scores": len, "labels": ["a", "a"]},
    ],
    ids=["not callable", "unknown link", "curvature alone", "one label", "a label twice"],
)
def test_a_function_that_makes_no_sense_is_refused(settings) -> None:
    with pytest.raises(InputError):
        Function(**settings)


def test_derivatives_of_the_wrong_shape_are_refused() -> None:
    model = as_model(Function(lambda x: x[:, 0], gradient=lambda x: x[0]), SCHEMA, X)
    with pytest.raises(ModelError, match=r"shape \(40, 2\)"):
        model.gradient(X, np.ones((40, 1)))
    with pytest.raises(InputError, match="its answers are labels"):
        as_model(Function(lambda x: x[:, 0] > 0, gradient=lambda x: x), SCHEMA, X)
