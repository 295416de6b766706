"""Curves: firmness has its distance, weights do what they say, and every point is a search that can be had alone."""

from functools import cache

import numpy as np
import pytest

import counterpoise as cp
from alerts import alerts, detector, training


@cache
def explainer() -> cp.Explainer:
    return cp.Explainer(detector(), reference=training()[0])


def test_firmness_takes_distance() -> None:
    found = cp.frontier(explainer(), alerts()[:3], keep=[0.7, 0.95], noise=0.3, target="benign")
    assert found.table["asked"].tolist() == ["tipping point", "keep 0.7", "keep 0.95"]
    assert found.table["distance"].is_monotonic_increasing
    assert found.table["effort"].is_monotonic_increasing
    assert found.table["kept"].is_monotonic_increasing
    assert found.table["kept"].iloc[2] >= 0.94
    assert found.rows == 3


def test_a_point_of_the_frontier_is_the_answer_of_a_call() -> None:
    alone = explainer()(alerts()[:2], keep=0.9, noise=0.3, target="benign")
    found = cp.frontier(explainer(), alerts()[:2], keep=[0.9], noise=0.3, target="benign").table.iloc[1]
    assert found["distance"] == alone.energy["distance"].mean()
    assert alone.firm is not None
    assert found["kept"] == alone.firm["kept"].mean()


def test_automatic_noise_is_said() -> None:
    found = cp.frontier(explainer(), alerts()[:1], keep=(), temperature=[0.5], target="benign")
    assert "rank noise" in found.noise
    assert found.table["asked"].tolist() == ["tipping point", "T 0.5"]


def test_a_frontier_needs_firmness_and_one_target() -> None:
    with pytest.raises(cp.InputError, match="a frontier needs firmness to ask for"):
        cp.frontier(explainer(), alerts(), keep=())
    both = training()[0].iloc[:8]
    assert len(set(detector().predict(both))) == 2
    with pytest.raises(cp.InputError, match="noise='auto' is calibrated on one target"):
        cp.frontier(explainer(), both)


def test_a_heavier_regulariser_changes_fewer_features() -> None:
    found = cp.sensitivity(explainer(), alerts()[:3], lam=[0.0, 3.0], target="benign").table
    assert found["changed"].is_monotonic_decreasing
    assert found["distance"].is_monotonic_increasing
    assert (found["valid"] == 1).all()


def test_pairs_without_an_answer_have_no_distance() -> None:
    found = cp.sensitivity(
        explainer(), alerts()[:2], lam=[0.1], mu=[1e-4, "auto"], method=cp.Algorithm1(iterations=80), target="benign"
    ).table
    assert found["mu"].tolist() == [1e-4, "auto"]
    assert found["valid"].iloc[0] == 0
    assert np.isnan(found["distance"].iloc[0])
    with pytest.raises(cp.InputError, match="lam and mu must have values"):
        cp.sensitivity(explainer(), alerts(), lam=())


def test_curves_are_read_at_a_glance() -> None:
    far = cp.frontier(explainer(), alerts()[:2], keep=[0.9], noise=0.3, target="benign")
    weights = cp.sensitivity(explainer(), alerts()[:1], lam=[0, 1], target="benign")
    first, *lines = repr(far).splitlines()
    assert first.startswith("Distance against firmness, means over 2 rows")
    assert [line.split("  ")[0] for line in lines] == ["asked", "tipping point", "keep 0.9"]
    assert "of one row" in repr(weights)
    for found in (far, weights):
        assert "DataFrame" not in repr(found)
        assert len(repr(found).splitlines()) == 2 + len(found.table)
        assert found._repr_html_().count("<tr>") == 1 + len(found.table)
