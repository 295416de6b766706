"""What single changes added in one sweep serves the next one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import counterpoise as cp
from counterpoise.methods.points import Points
from counterpoise.methods.settings.trials import TrialSettings
from counterpoise.methods.trials.remembered_gains import RememberedGains


@given(st.integers(0, 200))
def test_gains_of_an_additive_score_are_right_wherever_the_point_went(seed: int) -> None:
    """Each column adds a number of its own for each value: what a change adds does not depend on the other columns."""
    rng = np.random.default_rng(seed)
    n, q, d, w = 2, 3, 4, 5
    worth = rng.normal(size=(d, 7))
    column = np.stack([rng.permutation(d) for _ in range(n)])
    x = rng.integers(0, 7, (n, q, d)).astype(float)
    value = np.sort(rng.integers(0, 7, (n, q, d, w)), axis=-1).astype(float)

    def gain_at(points: np.ndarray) -> np.ndarray:
        out = np.empty(value.shape)
        for row, point, place in np.ndindex(n, q, d):
            own = worth[column[row, place]]
            now = own[int(points[row, point, column[row, place]])]
            out[row, point, place] = own[value[row, point, place].astype(int)] - now
        return out

    asked = gain_at(x)
    here = np.take_along_axis(x, np.broadcast_to(column[:, None], (n, q, d)), axis=2)[..., None]
    repeated = np.concatenate([np.zeros((n, q, d, 1), bool), value[..., 1:] == value[..., :-1]], axis=-1)
    asked[repeated | (value == here)] = 0.0  # a sweep asks about none of these
    known = RememberedGains.of_sweep(x, column, value, asked)
    moved = x.copy()  # some cells of the point took a value that was asked about
    for row, point, place in np.ndindex(n, q, d):
        if rng.random() < 0.5:
            moved[row, point, column[row, place]] = value[row, point, place, rng.integers(w)]
    np.testing.assert_allclose(known.predict(moved, column, value), gain_at(moved), atol=1e-12)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_repeated_points_come_last(values: list[int]) -> None:
    x = np.array(values, dtype=float)[None, :, None]
    points = Points(x, np.zeros(x.shape[:2]), np.zeros(x.shape[:2]))
    order = points.list_distinct()
    different = list(dict.fromkeys(values))
    assert points.pick(order).x[0, : len(different), 0].tolist() == different
    assert sorted(order[0].tolist()) == list(range(len(values)))


@pytest.mark.parametrize("distance", ["l2", "l1"])
def test_a_black_box_is_asked_less_than_half_as_much_and_answers_are_as_near(distance: str) -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(400, 12))
    label = np.sin(2 * table[:, 0]) + table[:, 1] * table[:, 2] + 0.5 * table[:, 3] ** 2 > 0.7
    forest = RandomForestClassifier(30, random_state=0).fit(table, label)

    def black_box(rows: np.ndarray) -> np.ndarray:
        return forest.predict_proba(rows)

    every = TrialSettings(sweeps_per_full_one=1, raced_share=1.0)
    asked = {"reference": table, "distance": distance, "lam": 0.0, "proof": False, "kept": False}
    lean = cp.explain(black_box, table[:40], **asked)
    whole = cp.explain(black_box, table[:40], method=cp.Polished(cp.Search(trials=every)), **asked)
    assert lean.valid.all()
    assert whole.valid.all()
    assert lean.model_rows < whole.model_rows / 2
    assert lean.terms.total.mean() < 1.1 * whole.terms.total.mean()
