"""The reference: which of its rows and columns count, and that the model is asked about them once."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from api.houses import CLASS, MODEL, ROWS, TRAIN
from counterpoise.api.inputs.reference import Reference
from counterpoise.models.registry import as_model
from counterpoise.space.schema.schema import Feature, Schema

NEAREST = cp.NearestNeighbour()


def test_the_model_is_asked_about_the_reference_once():
    asked = []

    def model(frame):
        asked.append(len(frame))
        return MODEL.predict_proba(frame)

    explainer = cp.Explainer(model, reference=TRAIN)
    first = explainer(ROWS, method=NEAREST)
    times = asked.count(len(TRAIN))
    second = explainer(ROWS, method=NEAREST)
    assert asked.count(len(TRAIN)) == times
    assert second.model_rows == first.model_rows  # the reference is not in it


def test_a_large_reference_is_sampled_the_same_way_every_time():
    first, second = (Reference(MODEL, TRAIN, None, max_rows=50) for _ in range(2))
    assert len(first.x) == 50
    np.testing.assert_array_equal(first.x, second.x)
    assert first.schema["area"].upper == TRAIN["area"].max()  # ranges come from all of it


def test_quantiles_are_kept_by_class():
    found = Reference(MODEL, TRAIN, None)
    model = as_model(MODEL, found.schema, found.x)
    quantiles = found.quantiles(model)
    dear = TRAIN[MODEL.predict(TRAIN) == "dear"]
    np.testing.assert_allclose(quantiles["dear"][5, 0], dear["area"].median())
    assert np.isnan(quantiles["dear"][:, 2]).all()


def test_an_array_takes_the_order_of_the_schema():
    numbers = TRAIN[["area", "rooms"]]
    schema = cp.Schema.infer(numbers)
    model = LogisticRegression().fit(numbers, CLASS)
    e = cp.explain(model, numbers[:2], reference=numbers.to_numpy(), schema=schema, method=NEAREST)
    np.testing.assert_array_equal(e.x, cp.explain(model, numbers[:2], reference=numbers, method=NEAREST).x)


def test_a_schema_asks_for_every_column():
    with pytest.raises(cp.InputError, match="it has no 'garden'"):
        Reference(MODEL, TRAIN.drop(columns="garden"), cp.Schema.infer(TRAIN))


def test_a_schema_written_by_hand_rules():
    schema = cp.Schema.infer(TRAIN).edit("area", lower=0.0, upper=1000.0, scale=1.0)
    e = cp.explain(MODEL, ROWS, reference=TRAIN, schema=schema, method=NEAREST)
    moved = (e.frame["area"] - ROWS["area"]).abs()
    assert (e.energy["distance"] >= moved - 1e-9).all()


def test_reference_rows_the_model_refuses_are_named():
    def picky(frame):
        if frame["area"].isna().any():
            raise ValueError("holes")
        return MODEL.predict(frame)

    holes = pd.concat([TRAIN, TRAIN[:1].assign(area=np.nan)], ignore_index=True)
    with pytest.raises(cp.ModelError, match="ValueError on reference row 120, counted from 0: holes"):
        cp.explain(picky, ROWS, reference=holes, method=NEAREST)


@pytest.mark.parametrize("listed", [("tcp", "udp", "icmp"), ("tcp", "udp")])
def test_a_schema_without_dtypes_has_the_categories_of_its_reference(listed):
    table = pd.DataFrame({"load": [0.1, 0.4, 0.7, 0.9] * 10, "proto": pd.Categorical(["tcp", "udp"] * 20)})
    boosters = pytest.importorskip("lightgbm")
    model = boosters.LGBMClassifier(n_estimators=5, verbose=-1).fit(table, [0, 0, 1, 1] * 10)
    schema = Schema((Feature("load", "continuous"), Feature("proto", "categorical", categories=listed)))
    e = cp.explain(model, table[:2], reference=table, schema=schema, target=1)
    assert isinstance(e.schema["proto"].dtype, pd.CategoricalDtype)
    assert e.valid.all()
    assert isinstance(e.frame["proto"].dtype, pd.CategoricalDtype)
