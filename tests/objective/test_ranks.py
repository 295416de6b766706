"""Quantile ranks: a value's rank leads back to the value, whatever the reference."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from counterpoise.objective.ranks import Ranks
from counterpoise.types import Array

COLUMN = np.array([0])
references = arrays(np.float64, st.tuples(st.integers(2, 40), st.just(1)), elements=st.integers(-20, 20).map(float))


def values_at(ranks: Ranks, at: Array) -> Array:
    """The values at ranks ``at`` in [0, 1] of the one column."""
    return ranks.values_at_knots(at * (ranks.table.shape[1] - 1.0), COLUMN)


@given(references)
def test_both_ends_of_the_rank_interval_of_a_reference_value_have_that_value(reference):
    ranks = Ranks.of(reference)
    first, last = ranks.rank_interval(reference, COLUMN)
    assert (first <= last).all()
    np.testing.assert_allclose(values_at(ranks, first), reference, atol=1e-9)
    np.testing.assert_allclose(values_at(ranks, last), reference, atol=1e-9)


@given(references, st.floats(0, 1), st.floats(0, 1))
def test_a_higher_rank_never_has_a_smaller_value(reference, one, other):
    low, high = values_at(Ranks.of(reference), np.array([[min(one, other)], [max(one, other)]]))[:, 0]
    assert low <= high


@given(references)
def test_the_order_of_rows_and_missing_cells_do_not_matter(reference):
    ranks = np.linspace(0, 1, 7)[:, None]
    expected = values_at(Ranks.of(reference), ranks)
    padded = np.concatenate([[[np.nan]], reference[::-1]])
    np.testing.assert_allclose(values_at(Ranks.of(padded, max_knots=len(reference)), ranks), expected, atol=1e-9)


def test_values_outside_the_reference_are_that_far_outside():
    ranks = Ranks.of(np.array([[1.0], [4.0]]))
    np.testing.assert_allclose(ranks.distance_outside_range(np.array([[-1.0], [2.0], [9.0]]), COLUMN)[:, 0], [-2, 0, 5])
