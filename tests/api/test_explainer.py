"""explain() and Explainer: every form of a row, every form of a setting, and what comes back."""

import pickle

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from xgboost import XGBClassifier

import counterpoise as cp
from api.houses import CLASS, FAST, MODEL, PRICE, ROWS, TRAIN, explainer
from counterpoise.objective.regularizers import Sparsity

ASK = explainer()
WHOLE = ASK(ROWS, method=FAST)


def test_every_answer_is_what_it_says():
    assert WHOLE.valid.all()
    assert (MODEL.predict(WHOLE.frame) == "dear").all()
    assert WHOLE.scores["before"].tolist() == ["cheap"] * 6
    assert WHOLE.scores["after"].tolist() == ["dear"] * 6
    column = MODEL.classes_.tolist().index("dear")
    np.testing.assert_allclose(WHOLE.scores["probability_before"], MODEL.predict_proba(ROWS)[:, column])
    np.testing.assert_allclose(WHOLE.scores["probability_after"], MODEL.predict_proba(WHOLE.frame)[:, column])
    np.testing.assert_allclose(WHOLE.scores["margin_after"], MODEL.decision_function(WHOLE.frame))
    pd.testing.assert_index_equal(WHOLE.frame.index, ROWS.index)
    assert (WHOLE.frame.dtypes == ROWS.dtypes).all()
    assert set(WHOLE.status) == {"valid"}
    assert WHOLE.target.tolist() == ["dear"] * 6
    assert WHOLE.seconds > 0
    assert WHOLE.model_rows > 0
    assert WHOLE.versions["counterpoise"] == "0.1.0"
    assert set(WHOLE.quantiles) == {"dear", "cheap"}


def test_the_energy_is_the_sum_of_its_terms_computed_from_the_answer():
    scale = TRAIN[["area", "rooms"]].std(ddof=0)
    numbers = ((WHOLE.frame[["area", "rooms"]] - ROWS[["area", "rooms"]]) / scale).abs()
    labels = (WHOLE.frame[["heating", "garden"]] != ROWS[["heating", "garden"]]).astype(float)
    delta = pd.concat([numbers, labels], axis=1).to_numpy()
    np.testing.assert_allclose(WHOLE.energy["distance"], np.sqrt((delta**2).sum(axis=1)))
    np.testing.assert_allclose(WHOLE.energy["regularizer"], 0.1 * (delta > 0).sum(axis=1))
    l1 = ASK(ROWS, method=FAST, penalty="l1", lam=0.3)
    assert (l1.terms.regularizer >= 0.3 * l1.terms.distance * (1 - 1e-9)).all(), "L1 is never below L2"
    assert (WHOLE.energy["decision"] == 0).all()
    np.testing.assert_allclose(WHOLE.energy["total"], WHOLE.energy[["distance", "regularizer"]].sum(axis=1))
    assert (WHOLE.energy["mu"] > 0).all()


def test_a_miss_pays_for_its_decision():
    e = explainer(constraints=[cp.Mutable("garden")])(ROWS, method=FAST, mu=2.0)
    missed = e.status == "not_found"
    assert missed.any()
    np.testing.assert_allclose(e.energy["decision"][missed], -2.0 * e.scores["margin_after"][missed])
    assert (e.energy["mu"] == 2.0).all()


@pytest.mark.parametrize(
    "given",
    [
        ROWS.iloc[[2]],
        ROWS.iloc[2],
        ROWS.iloc[2].to_dict(),
        [ROWS.iloc[2].to_dict()],
        ROWS.iloc[2].to_numpy(),
        ROWS.iloc[[2]].to_numpy(),
        ROWS.iloc[[2], ::-1],
        ROWS.iloc[[2]].assign(extra=1),
    ],
    ids=["frame", "series", "dict", "dicts", "flat array", "array", "columns turned round", "extra column"],
)
def test_one_row_in_any_form_is_the_row_of_the_batch(given):
    e = ASK(given, method=FAST)
    np.testing.assert_array_equal(e.x[0], WHOLE.x[2])
    if isinstance(given, pd.DataFrame):
        assert list(e.frame.columns) == list(given.columns)
        assert (e.frame.dtypes == given.dtypes).all()


def test_arrays_in_arrays_out():
    reference = TRAIN[["area", "rooms"]].to_numpy()
    model = LogisticRegression().fit(reference, CLASS)
    rows = reference[model.predict(reference) == "cheap"][:3]
    e = cp.explain(model, rows, reference=reference, method=FAST)
    array = np.asarray(e.frame)
    assert array.shape == rows.shape
    assert (model.predict(array) == "dear").all()
    alone = cp.explain(model, rows[1], reference=reference, method=FAST)
    np.testing.assert_array_equal(np.asarray(alone.frame)[0], array[1])


def test_what_is_done_to_the_tables_of_an_explanation_shows_nowhere_else():
    reference = TRAIN[["area", "rooms"]].to_numpy()
    ask = cp.Explainer(LogisticRegression().fit(reference, CLASS), reference=reference)
    rows = reference[:1].copy()
    first = ask(rows, method=FAST)
    for table in (first.rows, first.scores, first.energy):
        table.columns.name = "renamed"
    first.rows.iloc[0, 0] = -1.0
    second = ask(rows, method=FAST)
    assert [table.columns.name for table in (second.rows, second.scores, second.energy)] == [None] * 3
    np.testing.assert_array_equal(second.rows, reference[:1])


def test_any_index_comes_back():
    for index in (
        pd.Index(["a", "a", "b", "b", "c", "c"]),
        pd.MultiIndex.from_product([["x", "y"], [1, 2, 3]], names=["site", "device"]),
        pd.date_range("2024-01-01", periods=6),
    ):
        e = ASK(ROWS.set_axis(index, axis=0), method=FAST)
        pd.testing.assert_index_equal(e.frame.index, index)
        np.testing.assert_array_equal(e.x, WHOLE.x)
        assert len(e.alternatives) == 6


def test_rows_with_other_dtypes_keep_them():
    rows = ROWS.astype({"area": "float32", "rooms": "Int64", "heating": "category", "garden": "boolean"})
    e = ASK(rows, method=FAST)
    assert e.valid.all()
    assert (e.frame["rooms"].dtype, e.frame["garden"].dtype) == ("Int64", "boolean")
    unchanged = e.changed == 0
    assert not unchanged.any()


def test_the_order_of_the_references_columns_does_not_matter_to_the_model():
    turned = cp.explain(MODEL, ROWS, reference=TRAIN.iloc[:, ::-1], method=cp.NearestNeighbour())
    assert (MODEL.predict(turned.frame) == "dear").all()
    assert list(turned.frame.columns) == list(ROWS.columns)


def test_a_label_left_in_the_reference_is_left_out_and_said():
    e = cp.explain(MODEL, ROWS, reference=TRAIN.assign(price=PRICE), method=FAST)
    assert e.notes == ("the model was not fitted on 'price': left out of the reference",)
    np.testing.assert_array_equal(e.x, WHOLE.x)


def test_immutable_features_are_equal_to_the_bit():
    e = explainer(constraints=[cp.Immutable("area", "heating")])(ROWS, method=FAST)
    pd.testing.assert_frame_equal(e.frame[["area", "heating"]], ROWS[["area", "heating"]], check_exact=True)
    assert e.held == {"area": "Immutable('area', 'heating')", "heating": "Immutable('area', 'heating')"}


def test_one_constraint_needs_no_list_and_an_infinite_weight_forbids():
    one = explainer(constraints=cp.Immutable("rooms"))(ROWS, method=FAST)
    weighed = explainer(weights={"rooms": np.inf, "area": 1.0})(ROWS, method=FAST)
    for e in (one, weighed):
        pd.testing.assert_series_equal(e.frame["rooms"], ROWS["rooms"])
    assert set(weighed.held) == {"rooms"}


def test_weights_say_what_the_regulariser_counts():
    counted = explainer(weights={"area": 3.0})(ROWS, method=FAST, lam=0.5)
    changed = (counted.frame != ROWS).to_numpy()
    np.testing.assert_allclose(counted.energy["regularizer"], 0.5 * (changed @ np.where(ROWS.columns == "area", 3, 1)))
    e = explainer(weights={"area": 2.0})(ROWS, method=FAST, lam=0.5, penalty="l1")
    delta = ((e.frame["area"] - ROWS["area"]) / TRAIN["area"].std(ddof=0)).abs()
    np.testing.assert_allclose(e.energy["regularizer"], 0.5 * 2.0 * delta)
    sparse = ASK(ROWS, method=FAST, lam=1.0, regularizers=[Sparsity()])
    assert (sparse.energy["regularizer"] >= sparse.changed).all()


def test_thresholds_are_kept():
    e = ASK(ROWS, target="dear", threshold=0.9, method=FAST)
    p = MODEL.predict_proba(e.frame)[:, MODEL.classes_.tolist().index("dear")]
    assert (p[e.valid] >= 0.9).all()
    assert e.valid.any()
    assert e.settings["threshold"] == "0.9"


def test_a_regression_is_brought_into_a_range():
    numbers = TRAIN[["area", "rooms"]]
    model = LinearRegression().fit(numbers, PRICE)
    e = cp.explain(model, numbers[:5], reference=numbers, target=(200, None), method=FAST)
    said = model.predict(e.frame)
    assert (said[e.valid] >= 200).all()
    assert e.valid.any()
    assert set(e.target) == {"at least 200"}
    assert np.isnan(e.scores["probability_after"]).all()


def test_seeds_of_any_whole_kind_are_the_same_seed():
    method = cp.Annealing(steps=4)
    first = ASK(ROWS[:2], method=method, seed=7)
    np.testing.assert_array_equal(ASK(ROWS[:2], method=method, seed=np.int64(7)).x, first.x)
    assert ASK(ROWS[:1], method=FAST, seed=-(10**90)).valid.all()
    assert first.seed == 7


def test_alternatives_change_different_features():
    e = ASK(ROWS, method=cp.NearestNeighbour(), alternatives=3)
    assert e.count.max() > 1
    changes = e.changes.groupby(["row", "alternative"])["feature"].agg(frozenset)
    for _, sets in changes.groupby("row"):
        assert sets.is_unique
    assert (MODEL.predict(e.alternatives) == "dear").all()
    efforts = [np.nan_to_num(row, nan=np.inf) for row in e.answers[:, :, 0]]
    assert len(efforts) == 6
    np.testing.assert_array_equal(e.x, ASK(ROWS, method=cp.NearestNeighbour()).x)


@pytest.mark.parametrize("budget", [0, 0.0, 1e-9])
def test_a_budget_of_nothing_still_ends_in_an_answer(budget):
    e = ASK(ROWS, budget=budget)
    assert len(e) == 6
    assert set(e.status) <= {"optimal", "bounded", "valid", "not_found"}
    assert all("before the time was up" in reason for reason in e.reason[~e.valid])
    assert (MODEL.predict(e.frame)[e.valid] == "dear").all()


def test_settings_tell_how_to_repeat_it():
    assert WHOLE.settings["target"] == "opposite"
    assert WHOLE.settings["method"] == repr(FAST)
    assert WHOLE.settings["constraints"] == "none"
    per_row = ASK(ROWS, target=np.array(["dear"] * 6), method=FAST, distance={"l1": 1, "l0": 0.5})
    assert per_row.settings["target"] == "one per row"
    assert per_row.settings["distance"] == "1 l1 + 0.5 l0"


def test_the_explanation_survives_a_round_trip():
    again = cp.Explanation.from_json(WHOLE.to_json())
    pd.testing.assert_frame_equal(again.frame, WHOLE.frame)
    assert again.schema == WHOLE.schema


def test_a_schema_without_a_reference_is_enough():
    e = cp.explain(MODEL, ROWS[:2], schema=ASK.schema, method=cp.Polished(cp.Search()))
    assert e.valid.all()
    assert e.notes == ("there are no reference rows: the search starts from random directions",)


def test_whole_numbers_beyond_double_precision_come_back_to_the_bit():
    train = TRAIN[["area", "rooms"]].assign(ident=2**60 + np.arange(len(TRAIN)))
    rows = train[:4]
    e = cp.explain(lambda frame: frame["area"] > 90, rows, reference=train, method=FAST)
    assert e.frame["ident"].dtype == np.int64
    kept = e.x[:, 2] == e.x0[:, 2]
    assert kept.any()
    assert (e.frame["ident"] == rows["ident"])[kept].all()


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), SVC()),
        RandomForestClassifier(5, random_state=0),
        HistGradientBoostingClassifier(max_iter=5),
        XGBClassifier(n_estimators=5, n_jobs=1),
        LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_explainer_can_be_kept_and_sent(model):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=["rate", "load", "size"])
    model.fit(table, (table["rate"] + table["load"] > 0).astype(int))
    fresh = cp.Explainer(model, reference=table, constraints=[cp.Immutable("size")])
    before = len(pickle.dumps(fresh))
    found = fresh(table[:4])
    kept = pickle.dumps(fresh)
    assert len(kept) < 1.1 * before + 1000, "what was worked out on the way stays behind"
    again = pickle.loads(kept)(table[:4])
    assert np.array_equal(found.x, again.x)
    assert found.versions == again.versions


@pytest.mark.parametrize("method", [cp.GrowingSpheres, "annealing", 3])
def test_what_is_no_method_is_refused(method):
    with pytest.raises(cp.InputError, match="method must be a method"):
        ASK(ROWS[:1], method=method)


@pytest.mark.parametrize("framed", [False, True], ids=["array", "frame over an array"])
def test_what_becomes_of_the_rows_afterwards_does_not_change_the_explanation(framed: bool) -> None:
    x = np.random.default_rng(0).normal(size=(60, 3))
    names = list("abc")
    model = LogisticRegression().fit(pd.DataFrame(x, columns=names), x.sum(axis=1) > 0)
    given = x[:4].copy()
    rows = pd.DataFrame(given, columns=names, copy=False) if framed else given
    explanation = cp.explain(model, rows, reference=pd.DataFrame(x, columns=names))
    before, answers = explanation.rows.copy(), explanation.frame
    given[:] = 0.0
    pd.testing.assert_frame_equal(explanation.rows, before)
    pd.testing.assert_frame_equal(explanation.frame, answers)
