"""Models that do not fit the table, or are no models: one error in one grammar, or a note that says what was done."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp

RNG = np.random.default_rng(0)
TRAIN = pd.DataFrame(
    {
        "rate": RNG.normal(size=120),
        "load": RNG.normal(size=120),
        "proto": pd.Categorical(RNG.choice(["tcp", "udp", "icmp"], 120)),
    }
)
NUMBERS = TRAIN[["rate", "load"]]
SAYS = ((TRAIN["rate"] + (TRAIN["proto"] == "udp")) > 0.3).astype(int).to_numpy()
FEW = {"n_estimators": 5, "min_child_samples": 5, "min_data_per_group": 1, "verbose": -1, "n_jobs": 1}


def refused(kind, model, *parts, reference=NUMBERS):
    """The error of this kind that explaining the model ends in; its message has three parts, and these words."""
    with pytest.raises(kind) as caught:
        cp.explain(model, reference[:2], reference=reference)
    error = caught.value
    assert type(error) is kind
    assert all(isinstance(part, str) and part for part in (error.must, error.given, error.todo))
    for part in parts:
        assert part in str(error)


def test_a_model_fitted_on_other_names_says_which_are_missing():
    renamed = NUMBERS.rename(columns={"load": "bytes"})
    words = ("'bytes'", "it has 'rate', 'load'", "the model's own column names")
    refused(cp.InputError, LogisticRegression().fit(renamed, SAYS), *words)
    refused(cp.InputError, make_pipeline(StandardScaler(), LogisticRegression()).fit(renamed, SAYS), *words)
    refused(cp.InputError, lightgbm.LGBMClassifier(**FEW).fit(renamed, SAYS).booster_, *words)
    refused(cp.InputError, xgboost.XGBClassifier(n_estimators=3).fit(renamed, SAYS), *words)


def test_a_model_fitted_on_another_number_of_columns_says_so():
    model = LogisticRegression().fit(np.zeros((4, 5)) + np.arange(4)[:, None], [0, 0, 1, 1])
    refused(cp.InputError, model, "5 columns", "it has 2: 'rate', 'load'")


def test_the_order_of_columns_does_not_matter_to_a_model_that_knows_names():
    model = LogisticRegression().fit(NUMBERS[["load", "rate"]], SAYS)
    e = cp.explain(model, NUMBERS[:3], reference=NUMBERS)
    assert e.valid.all()
    assert (model.predict(e.frame[["load", "rate"]]) != model.predict(NUMBERS[:3][["load", "rate"]])).all()


def test_a_booster_fitted_on_other_categories_says_which_it_does_not_know():
    other = TRAIN.assign(proto=TRAIN["proto"].cat.rename_categories(["a", "b", "c"]))
    words = ("the categories of 'proto'", "it does not know 'icmp', 'tcp', 'udp'", "it knows 'a', 'b', 'c'")
    for model in (
        xgboost.XGBClassifier(n_estimators=3, enable_categorical=True).fit(other, SAYS),
        lightgbm.LGBMClassifier(**FEW).fit(other, SAYS),
        HistGradientBoostingClassifier(max_iter=3).fit(other, SAYS),
    ):
        refused(cp.InputError, model, *words, reference=TRAIN)


def test_a_category_that_is_read_as_missing_is_told():
    known = TRAIN[TRAIN["proto"] != "icmp"].assign(proto=lambda frame: frame["proto"].cat.remove_unused_categories())
    says = SAYS[TRAIN["proto"] != "icmp"]
    for model in (
        lightgbm.LGBMClassifier(**{**FEW, "n_estimators": 20}).fit(known, says),
        HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5).fit(known, says),
    ):
        e = cp.explain(model, known[:2], reference=TRAIN)
        assert [note for note in e.notes if "does not know 'icmp' of 'proto'" in note]
        assert e.valid.all()


def test_a_booster_given_words_where_it_was_fitted_on_categories_says_so():
    words = TRAIN.assign(proto=TRAIN["proto"].astype(object))
    model = lightgbm.LGBMClassifier(**FEW).fit(TRAIN, SAYS)
    told = ("columns of dtype 'category' as the model was fitted on: 1", "it has 0", "astype('category')")
    refused(cp.InputError, model, *told, reference=words)
    other = xgboost.XGBClassifier(n_estimators=3, enable_categorical=True).fit(TRAIN, SAYS)
    refused(cp.ModelError, other, "XGBClassifier raised ValueError", "proto", reference=words)


def test_an_object_that_is_no_model_is_told_what_is_and_what_would_work():
    class Network:
        def forward_pass(self, rows):
            return rows

    for thing in (Network(), {"weights": [1, 2]}, 7, None, "model.pkl"):
        refused(
            cp.CapabilityError,
            thing,
            "scikit-learn classifiers",
            "XGBoost",
            "LightGBM",
            "CatBoost",
            "PyTorch",
            "ONNX",
            "any callable",
            type(thing).__qualname__,
            "lambda rows:",
        )


def test_estimators_that_decide_nothing_or_too_much_say_so():
    refused(cp.CapabilityError, KMeans(2, n_init=1).fit(NUMBERS), "classifier, a regressor or an outlier detector")
    refused(cp.CapabilityError, StandardScaler().fit(NUMBERS), "StandardScaler")
    two = MultiOutputClassifier(LogisticRegression()).fit(NUMBERS, np.column_stack([SAYS, 1 - SAYS]))
    refused(cp.CapabilityError, two, "answers 2 at once", "[:, 0]")
    refused(cp.CapabilityError, LocalOutlierFactor().fit(NUMBERS), "novelty=True")
    refused(cp.InputError, make_pipeline(StandardScaler(), LogisticRegression()), "must be fitted")
