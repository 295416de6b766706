"""Pools: the nearest rows, whatever is missing or held, and whoever else is asked about."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.space.known_distances import NormMixture
from counterpoise.space.nearest_rows import NeighbourIndex

NOMINAL = np.array([False, False, True, False])
UNIT = np.array([2.0, 0.5, 1.0, 1e4])
MEASURE = NormMixture(UNIT, UNIT, NOMINAL)


def squares(x: np.ndarray, x0: np.ndarray, free: np.ndarray) -> np.ndarray:
    """By the definition: a cell that only one of two rows has counts 1, one that may not change nothing."""
    gone, lost = np.isnan(x), np.isnan(x0)
    plain = np.where(NOMINAL, x != x0, (x - x0) / UNIT)
    return (np.where(gone | lost, gone != lost, plain) ** 2 * free).sum(axis=1)


@given(st.integers(0, 10_000), st.integers(1, 12), st.booleans(), st.booleans(), st.sampled_from((40, 41, 700)))
@settings(max_examples=80, deadline=None)
def test_the_nearest_are_among_those_found_and_no_row_depends_on_another(seed, count, holes, held, size):
    rng = np.random.default_rng(seed)
    x, x0 = (rng.integers(0, 4, (rows, 4)) * np.array([1.0, 0.5, 1.0, 3e3]) + [0, 0, 0, 1e7] for rows in (size, 5))
    if holes:
        x[rng.random(x.shape) < 0.2] = np.nan
        x0[rng.random(x0.shape) < 0.2] = np.nan
    free = rng.random(x0.shape) < 0.7 if held else np.ones(x0.shape, dtype=bool)
    pool = NeighbourIndex.of(x, MEASURE)
    found = pool.find_nearest(x0, count, free)
    for row, near in enumerate(found):
        exact = squares(x, x0[row], free[row])
        assert len(near) >= count
        assert np.sort(exact[near])[count - 1] <= np.sort(exact)[count - 1] + 1e-5
        np.testing.assert_array_equal(near, pool.find_nearest(x0[[row]], count, free[[row]])[0])


def test_a_pool_smaller_than_what_is_asked_for_is_given_whole():
    pool = NeighbourIndex.of(np.zeros((3, 4)), MEASURE)
    assert [near.tolist() for near in pool.find_nearest(np.ones((2, 4)), 9)] == [[0, 1, 2]] * 2


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 30), st.booleans()), min_size=1, max_size=8))
def test_what_was_asked_before_does_not_change_what_is_nearest(questions):
    rng = np.random.default_rng(0)
    x, x0 = rng.normal(size=(40, 4)) * UNIT, rng.normal(size=(3, 4)) * UNIT
    x[:, 2], x0[:, 2] = 0.0, 0.0
    pool = NeighbourIndex.of(x, MEASURE)
    for row, count, held in questions:
        free = np.array([[True, not held, True, True]])
        near = pool.find_nearest(x0[[row]], count, free)[0]
        exact = squares(x, x0[row], free[0])
        assert set(np.argsort(exact)[:count]) <= set(near.tolist())


def test_what_is_found_does_not_depend_on_what_was_asked_before() -> None:
    rng = np.random.default_rng(0)
    rows, x0 = rng.normal(size=(300, 3)), rng.normal(size=(4, 3))
    measure = NormMixture(np.ones(3), np.ones(3), np.zeros(3, dtype=bool))
    fresh = NeighbourIndex.of(rows, measure).find_nearest(x0, 5)
    asked = NeighbourIndex.of(rows, measure)
    asked.find_nearest(x0, 40)
    for one, other in zip(asked.find_nearest(x0, 5), fresh, strict=True):
        np.testing.assert_array_equal(one, other)
    asked.find_nearest(x0, 40)
    for one, other in zip(asked.find_nearest(x0, 5, may_give_more=True), fresh, strict=True):
        assert set(other) <= set(one)
