"""Any scikit-learn model on a real DataFrame: every answer verified, repeatable, and the same alone as in a batch.

The tables come from a folder that the environment variable COUNTERPOISE_DATA names, or from ../shared/data; where
there is none, simulated tables with the same kinds of columns stand in for them, so that everything is always tested.
"""

import os
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

import counterpoise as cp

DATA = Path(os.environ.get("COUNTERPOISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
TABLES = ["simulated", "breast_cancer", "adult", "unsw_nb15"]
MODELS = {
    "logistic": (LogisticRegression, {"max_iter": 500}),
    "forest": (RandomForestClassifier, {"n_estimators": 30, "random_state": 0}),
    "boosting": (HistGradientBoostingClassifier, {"max_iter": 40, "random_state": 0}),
    "svc": (SVC, {}),
    "network": (MLPClassifier, {"hidden_layer_sizes": (16,), "max_iter": 60, "random_state": 0}),
    "neighbours": (KNeighborsClassifier, {}),
}
BLAS = {"logistic", "svc", "network", "neighbours"}  # their scores depend, in the last bits, on the batch


@cache
def table(name):
    """Training rows, labels and the columns that may not change."""
    if name == "breast_cancer":
        x, y = load_breast_cancer(return_X_y=True, as_frame=True)
        return x, y.map({0: "malignant", 1: "benign"}), ["mean radius"]
    if name == "simulated":
        return simulated()
    file = DATA / f"{name}.csv.gz"
    if not file.exists():
        pytest.skip(f"{name} is not there: set COUNTERPOISE_DATA to the folder with {file.name}")
    read = pd.read_csv(file, keep_default_na=False).sample(1200, random_state=0)
    described = yaml.safe_load((DATA / f"{name}.yaml").read_text(encoding="utf-8"))["columns"]
    fixed = [column["name"] for column in described if column["immutable"]]
    return read.drop(columns=["label", "target"]), read["target"], fixed


def simulated():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 800),
            "hours": rng.normal(40, 12, 800).round(1),
            "gain": rng.exponential(500, 800).round(),
            "job": rng.choice(["office", "craft", "sales", "none"], 800),
            "proto": pd.Categorical(rng.choice(["tcp", "udp", "icmp"], 800)),
            "member": rng.random(800) < 0.5,
        }
    )
    score = x["age"] / 20 + x["hours"] / 12 + x["gain"] / 400 + (x["job"] == "office") + x["member"]
    return x, pd.Series(np.where(score + rng.normal(size=800) > score.median(), ">50K", "<=50K")), ["proto"]


@cache
def fitted(name, kind):
    x, y, _ = table(name)
    make, settings = MODELS[kind]
    texts = [column for column in x if not pd.api.types.is_numeric_dtype(x[column].dtype)]
    sparse = kind not in ("boosting", "network")
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=sparse)
    front = make_column_transformer((encoder, texts), remainder=StandardScaler())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a network that has not converged is a model too
        return make_pipeline(front, make(**settings)).fit(x, y)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("name", TABLES)
def test_any_model_on_a_real_table(name, kind):
    train, _, fixed = table(name)
    model, rows = fitted(name, kind), train[:8]
    explainer = cp.Explainer(model, reference=train, constraints=[cp.Immutable(fixed)])
    e = explainer(rows, target="opposite", seed=0)
    assert e.valid.all(), e.reason[~e.valid]
    assert (model.predict(e.frame) != model.predict(rows)).all()
    pd.testing.assert_frame_equal(e.frame[fixed], rows[fixed], check_exact=True)
    assert (e.frame.dtypes == rows.dtypes).all()
    pd.testing.assert_index_equal(e.frame.index, rows.index)
    again, alone = explainer(rows, target="opposite", seed=0), explainer(rows[7:8], target="opposite", seed=0)
    pd.testing.assert_frame_equal(again.frame, e.frame, check_exact=True)
    pd.testing.assert_frame_equal(alone.frame, e.frame[7:8], check_exact=kind not in BLAS, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", TABLES)
def test_the_one_call_of_the_readme(name):
    train, _, _ = table(name)
    model, rows = fitted(name, "forest"), train[:3]
    e = cp.explain(model, rows, reference=train, target="opposite", seed=0)
    assert e.valid.all()
    assert (model.predict(e.frame) != model.predict(rows)).all()
