"""Firm answers where firm points are far: wide noise asks for places deep inside the target."""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp


def test_wide_noise_is_withstood_where_the_target_is_wide_enough():
    """Between the row and the wide part of the target lies a narrow strip of it, where the minimal answer is."""
    rng = np.random.default_rng(0)
    table = rng.uniform(0, 10, size=(3000, 2))
    inside = (np.abs(table[:, 0] - 2.0) < 0.1) | (table[:, 0] > 6.0)
    model = DecisionTreeClassifier(random_state=0).fit(table, np.where(inside, "ok", "bad"))
    row = np.array([[1.0, 5.0]])
    minimal = cp.explain(model, row, reference=table, target="ok")
    assert minimal.x[0, 0] < 2.2
    firm = cp.explain(model, row, reference=table, target="ok", keep=0.9, noise=0.3)
    assert firm.firm is not None
    assert firm.firm["kept"].iloc[0] > 0.9
    assert 6.0 < firm.x[0, 0] < 8.5
