"""Dates and identifiers: carried, held fixed, and shown to the model as they are."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import counterpoise as cp


def make_table(zone: str | None = None, count: int = 200) -> pd.DataFrame:
    random = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "when": pd.date_range("2024-01-01", periods=count, freq="h", tz=zone),
            "customer": [f"c{number:04d}" for number in range(count)],
            "day": [datetime.date(2024, 1, 1) + datetime.timedelta(days=number // 24) for number in range(count)],
            "load": random.normal(size=count).round(2),
            "rate": random.normal(size=count).round(2),
        }
    )
    table.loc[3, "when"] = pd.NaT
    return table


def hours_and_numbers(table: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"hour": table["when"].dt.hour.fillna(0), "load": table["load"], "rate": table["rate"]})


def fit(table: pd.DataFrame) -> Any:
    wanted = table["load"] + table["rate"] + 0.05 * table["when"].dt.hour.fillna(0) > 0.5
    return make_pipeline(FunctionTransformer(hours_and_numbers), LogisticRegression()).fit(table, wanted)


@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_a_pipeline_that_makes_features_of_a_date_is_explained_with_the_date_held_fixed(zone, tmp_path):
    table = make_table(zone)
    model, rows = fit(table[:150]), table[150:156]
    found = cp.explain(model, rows, reference=table[:150], constraints=[cp.Immutable("customer")])
    assert found.valid.all()
    for name in ("when", "customer", "day"):
        assert found.frame[name].tolist() == rows[name].tolist()
        assert found.frame[name].dtype == rows[name].dtype
    assert (model.predict(found.frame) != model.predict(rows)).all()
    found.save(tmp_path / "answers.json")
    assert cp.Explanation.load(tmp_path / "answers.json").frame.equals(found.frame)


def test_new_identifiers_are_refused_by_name_until_they_are_held_fixed():
    table = make_table()
    with pytest.raises(cp.InputError, match=r"'customer' has values .* cp\.Immutable\('customer'\)"):
        cp.explain(fit(table[:150]), table[150:152], reference=table[:150])


def test_a_missing_date_stays_missing():
    table = make_table()
    found = cp.explain(fit(table), table[3:4], reference=table, constraints=[cp.Immutable("customer")])
    assert found.valid.all()
    assert found.frame["when"].isna().all()
