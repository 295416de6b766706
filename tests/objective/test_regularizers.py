"""Regularisers: what they count, and that their gradients are their slopes."""

import numpy as np
import pytest

from counterpoise.objective.regularizers import Regularizer, Sparsity, WeightedL1

X0 = np.array([[1.0, 2.0, 0.0, np.nan]])
X = np.array([[[3.0, 2.0, 1.0, 5.0], [1.0, -2.0, 0.0, np.nan]]])
DELTA = np.array([[[4.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 0.0]]])
WEIGHTED = WeightedL1(np.array([1.0, 10.0, 5.0, 2.0]), np.array([0.5, 4.0, 0.0, 1.0]))


def test_weighted_sum_and_count():
    np.testing.assert_array_equal(WEIGHTED(X, X0, DELTA), [[11.0, 10.0]])
    np.testing.assert_array_equal(Sparsity()(X, X0, DELTA), [[3.0, 1.0]])


def test_gradients_are_in_raw_units_and_zero_where_there_is_no_slope():
    np.testing.assert_array_equal(WEIGHTED.gradient(X, X0, DELTA), [[[2.0, 0.0, 0.0, 0.0], [0.0, -2.5, 0.0, 0.0]]])
    assert (Sparsity().gradient(X, X0, DELTA) == 0).all()


@pytest.mark.parametrize("regularizer", [WEIGHTED, Sparsity()])
def test_they_are_regularizers(regularizer):
    assert isinstance(regularizer, Regularizer)
    assert not isinstance(len, Regularizer)
