"""Streams: a row draws the same numbers alone and in any company, and other numbers than every other row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.streams import Streams, row_key

rows = st.lists(st.lists(st.floats(allow_infinity=False), min_size=3, max_size=3), min_size=1, max_size=5).map(np.array)


@given(rows, st.integers())
def test_a_row_alone_draws_what_it_draws_in_a_batch(x0, seed):
    for draw in ("uniform", "normal"):
        batch = getattr(Streams.of(x0, seed), draw)((2, 2))
        for row in range(len(x0)):
            np.testing.assert_array_equal(getattr(Streams.of(x0[row : row + 1], seed), draw)((2, 2))[0], batch[row])


def test_other_rows_and_other_seeds_draw_other_numbers():
    x0 = np.array([[1.0, 2.0], [1.0, 2.5]])
    first, second = Streams.of(x0, 0).uniform((4,))
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, Streams.of(x0, 1).uniform((4,))[0])


def test_zero_has_no_sign_and_missing_no_bits():
    assert row_key(np.array([0.0, 1.0]), 0) == row_key(np.array([-0.0, 1.0]), 0)
    other = np.array([np.nan]).view(np.int64) + 1
    assert row_key(np.array([np.nan]), 0) == row_key(other.view(np.float64), 0)
    assert row_key(np.array([np.nan]), 0) != row_key(np.array([0.0]), 0)


@pytest.mark.parametrize("seed", [0, -1, 2**64, -(10**90), np.int64(5)])
def test_any_whole_number_is_a_seed(seed):
    assert Streams.of(np.zeros((1, 1)), seed).uniform((1,)).shape == (1, 1)
    assert row_key(np.zeros(1), seed) == row_key(np.zeros(1), int(seed))


def test_some_rows_share_their_generators_with_all_rows():
    x0 = np.arange(3.0)[:, None]
    streams, alone = Streams.of(x0, 0), Streams.of(x0[2:], 0)
    np.testing.assert_array_equal(streams.take([2]).uniform((3,)), alone.uniform((3,)))
    np.testing.assert_array_equal(streams.uniform((3,))[2], alone.uniform((3,))[0])
    assert len(streams.take([0, 2])) == 2


def test_shapes_and_ranges():
    streams = Streams.of(np.arange(4.0)[:, None], 0)
    uniform, whole = streams.uniform((5, 6)), streams.integers(3, (7,))
    assert uniform.shape == (4, 5, 6)
    assert ((uniform >= 0) & (uniform < 1)).all()
    assert whole.shape == (4, 7)
    assert set(np.unique(whole)) <= {0, 1, 2}
    normal = streams.normal((5000,))
    np.testing.assert_allclose([normal.mean(), normal.std()], [0.0, 1.0], atol=0.05)
