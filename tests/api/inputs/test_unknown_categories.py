"""Rows with categories that the reference does not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

import counterpoise as cp

KNOWN = ["dns", "http", "ssh"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "rate": rng.normal(size=200), "service": rng.choice(KNOWN, 200), "ports": rng.integers(0, 9, 200)
    })  # fmt: skip


@pytest.fixture(scope="module")
def rows(table: pd.DataFrame) -> pd.DataFrame:
    out = table[:8].copy()
    out.loc[1, "service"], out.loc[5, "service"] = "quic", "gopher"
    return out


def fitted(table: pd.DataFrame, last: Any, encoder: Any = None) -> Any:
    says = table["rate"] + (table["service"] == "ssh") + 0.2 * table["ports"] > 1
    encoder = OneHotEncoder(handle_unknown="ignore") if encoder is None else encoder
    return make_pipeline(make_column_transformer((encoder, ["service"]), remainder=StandardScaler()), last).fit(
        table, says
    )


MODELS = [LogisticRegression(), RandomForestClassifier(12, random_state=0)]


@pytest.mark.parametrize("bounds", ["observed", None])
@pytest.mark.parametrize("last", MODELS, ids=str)
@pytest.mark.parametrize(
    "encoder", [None, OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)], ids=str
)
def test_a_category_that_the_model_takes_is_explained_and_taken_by_no_answer(
    table: pd.DataFrame, rows: pd.DataFrame, last: Any, encoder: Any, bounds: Any
) -> None:
    model = fitted(table, last, encoder)
    found = cp.explain(model, rows, reference=table, bounds=bounds, new_categories=True, on_error="raise")
    assert found.valid.all()
    assert (model.predict(found.frame) != model.predict(rows)).all()
    assert (found.frame["service"].isin(KNOWN) | (found.frame["service"] == rows["service"])).all()
    assert "a category that no reference row has, and no answer takes: 'service' of row 1 and 1 more" in found.notes


@pytest.mark.parametrize("last", MODELS, ids=str)
def test_no_row_depends_on_what_is_strange_in_others(table: pd.DataFrame, rows: pd.DataFrame, last: Any) -> None:
    explainer = cp.Explainer(fitted(table, last), reference=table, new_categories=True)
    together, plain = explainer(rows).frame, explainer(table[:8]).frame
    pd.testing.assert_frame_equal(together.drop([1, 5]), plain.drop([1, 5]))
    for place in range(len(rows)):
        pd.testing.assert_frame_equal(explainer(rows[place : place + 1]).frame, together[place : place + 1])
    pd.testing.assert_frame_equal(explainer(rows[::-1]).frame, together[::-1])


def test_an_explanation_of_strange_rows_is_kept_and_checked_like_others(
    table: pd.DataFrame, rows: pd.DataFrame
) -> None:
    model = fitted(table, LogisticRegression())
    found = cp.explain(model, rows, reference=table, new_categories=True, on_error="raise")
    again = cp.Explanation.from_json(found.to_json())
    pd.testing.assert_frame_equal(again.frame, found.frame)
    assert again.schema["service"].strange == ("quic", "gopher")
    assert str(cp.stability(again, model)) == str(cp.stability(found, model))


def test_a_model_that_refuses_it_is_not_asked_to_explain_it(table: pd.DataFrame, rows: pd.DataFrame) -> None:
    model = fitted(table, LogisticRegression(), OneHotEncoder())
    with pytest.raises(cp.InputError, match=r"'quic' in row 1, 'gopher' in row 5.*encoder ignore"):
        cp.explain(model, rows, reference=table, new_categories=True, on_error="raise")


@pytest.mark.parametrize("column", [[1, 2, 3], [["ssh"], "dns", "ssh"]], ids=["numbers", "lists"])
def test_a_value_of_another_kind_is_no_new_category(table: pd.DataFrame, column: list[Any]) -> None:
    strange = table[:3].assign(service=pd.Series(column, dtype=object))
    with pytest.raises(cp.InputError, match="categories must be known"):
        cp.explain(fitted(table, LogisticRegression()), strange, reference=table, new_categories=True, on_error="raise")


def test_a_dtype_that_lists_its_categories_leaves_no_place_for_another(table: pd.DataFrame, rows: pd.DataFrame) -> None:
    listed = table.astype({"service": "category"})
    with pytest.raises(cp.InputError, match="categories must be known"):
        cp.explain(fitted(listed, LogisticRegression()), rows, reference=listed, new_categories=True, on_error="raise")


def test_without_being_allowed_it_is_an_error_that_says_how_to_allow_it(
    table: pd.DataFrame, rows: pd.DataFrame
) -> None:
    with pytest.raises(cp.InputError, match=r"'quic' in row 1, 'gopher' in row 5.*new_categories=True"):
        cp.explain(fitted(table, LogisticRegression()), rows, reference=table, on_error="raise")


def test_a_dtype_that_lists_its_categories_is_said_to_have_no_place_for_another(
    table: pd.DataFrame, rows: pd.DataFrame
) -> None:
    model = fitted(table, LogisticRegression())
    with pytest.raises(cp.InputError, match="a dtype that lists its categories"):
        cp.explain(model, rows, reference=table.astype({"service": "category"}), new_categories=True, on_error="raise")
