"""A small mixed table with a model of it, fast enough to ask often."""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import counterpoise as cp

rng = np.random.default_rng(3)
TRAIN = pd.DataFrame(
    {
        "area": rng.normal(90, 30, 120).round(1),
        "rooms": rng.integers(1, 7, 120),
        "heating": rng.choice(["gas", "oil", "wood"], 120),
        "garden": rng.random(120) < 0.4,
    }
)
PRICE = TRAIN["area"] + 12 * TRAIN["rooms"] + 25 * (TRAIN["heating"] == "gas") + 20 * TRAIN["garden"]
CLASS = np.where(PRICE.median() < PRICE, "dear", "cheap")
MODEL = make_pipeline(
    make_column_transformer(
        (StandardScaler(), ["area", "rooms"]),
        (OneHotEncoder(), ["heating"]),
        remainder="passthrough",
    ),
    LogisticRegression(),
).fit(TRAIN, CLASS)
ROWS = TRAIN[MODEL.predict(TRAIN) == "cheap"][:6]
FAST = cp.Polished(cp.NearestNeighbour())


def explainer(**settings):
    return cp.Explainer(MODEL, **{"reference": TRAIN, **settings})
