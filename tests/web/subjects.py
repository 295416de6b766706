"""A detector of simulated devices with a few alerts, as a workbench shows them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import counterpoise as cp
from counterpoise import telemetry
from counterpoise.web.session import Session, SessionSettings

TRICK = "<img src=x onerror=alert(1)>"


@cache
def detector() -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    train, label, _ = telemetry.simulate(seed=0)
    train["maker"] = np.where(np.arange(len(train)) % 3 == 0, TRICK, "acme")
    model = HistGradientBoostingClassifier(random_state=0, max_iter=40, categorical_features=["maker"])
    train["maker"] = train["maker"].astype("category")
    model.fit(train, label)
    alerts = train[np.asarray(label) != "benign"].head(12).copy()
    alerts["device"] = [f"{TRICK} dev{number}" for number in range(len(alerts))]
    return model, train, alerts


def explainer(**given: Any) -> cp.Explainer:
    model, train, _ = detector()
    return cp.Explainer(model, reference=train, **given)


def make_session(**settings: Any) -> Session:
    return Session(explainer(), detector()[2], target="benign", settings=SessionSettings(**settings))
