"""Distances: norms of scaled differences, against sums written out by hand, and their gradients against differences."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.space.distance import NORMS, Distance
from counterpoise.space.schema.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature("a", "continuous", scale=2.0, lower=0.0, upper=10.0, mad=1.0),
        Feature("n", "integer", scale=4.0, lower=0.0, upper=8.0, mad=5.0),
        Feature("c", "categorical", categories=("x", "y", "z")),
        Feature("o", "ordinal", categories=("low", "mid", "high")),
        Feature("b", "boolean"),
    )
)
X0 = np.array([[1.0, 2.0, 0.0, 0.0, 1.0]])
X = np.array([[[5.0, 2.0, 2.0, 1.0, 1.0]]])  # scaled: 2, 0, 1, 1/2, 0


@pytest.mark.parametrize(
    ("norm", "expected"),
    [
        ("l2", np.sqrt(4 + 1 + 0.25)),
        ("l1", 3.5),
        ("l0", 3.0),
        ("gower", (0.4 + 1 + 0.5) / 5),
        ("mad", 4 + 1 + 0.5),
        ({"l1": 2.0, "l0": 0.1}, 7.3),
    ],
)
def test_each_norm_by_hand(norm, expected):
    assert Distance.of(SCHEMA, norm)(X, X0)[0, 0] == pytest.approx(expected)


def test_a_missing_cell_given_a_value_is_one_away_under_every_norm():
    x0, filled = X0.copy(), X0.copy()[:, None, :]
    x0[0, 0] = np.nan
    filled[0, 0, 0] = 7.0
    for norm in ("l2", "l1", "l0", "mad"):
        assert Distance.of(SCHEMA, norm)(filled, x0)[0, 0] == 1.0
    assert Distance.of(SCHEMA, "gower")(filled, x0)[0, 0] == pytest.approx(1 / 5)
    assert Distance.of(SCHEMA, "l2")(x0[:, None, :], x0)[0, 0] == 0.0


cells = st.tuples(st.floats(-20, 20), st.integers(-9, 9), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)).map(
    lambda cell: np.array([cell], dtype=float)
)


@given(cells, cells, cells, st.sampled_from([*NORMS, {"l2": 1.0, "l0": 0.2}]))
def test_distances_are_metrics(x, y, z, norm):
    d = Distance.of(SCHEMA, norm)

    def between(u, v):
        return d(u[:, None, :], v)[0, 0]

    assert between(x, x) == 0
    assert between(x, y) == pytest.approx(between(y, x))
    assert between(x, z) <= between(x, y) + between(y, z) + 1e-9
    assert (between(x, y) > 0) == bool((x != y).any())


@given(st.floats(-20, 20), st.floats(-20, 20), st.sampled_from(["l2", "l1", "gower", {"l2": 1.0, "l1": 0.5}]))
def test_the_gradient_is_the_slope(a, b, norm):
    d, step = Distance.of(SCHEMA, norm), 1e-6
    x = np.array([[[1.0 + (a or 1.0), 2.0 + (b or 1.0), 1.0, 0.0, 1.0]]])
    if min(abs(x[0, 0, :2] - X0[0, :2])) < 1e-3:
        return  # a kink of L1
    gradient = d.gradient(x, X0)[0, 0]
    for column in range(2):
        up, down = x.copy(), x.copy()
        up[..., column] += step
        down[..., column] -= step
        slope = (d(up, X0) - d(down, X0))[0, 0] / (2 * step)
        assert gradient[column] == pytest.approx(slope, abs=1e-5)
    np.testing.assert_array_equal(gradient[[2, 4]], 0.0)
    assert np.all(d.gradient(X0[:, None, :], X0) == 0)


def test_names_for_people():
    assert Distance.of(SCHEMA, "l1").name == "l1"
    assert Distance.of(SCHEMA, {"l0": 0.5, "l2": 1}).name == "1 l2 + 0.5 l0"
    assert Distance.of(SCHEMA, {"l0": 0.5, "l2": 1}).change_price == 0.5


@pytest.mark.parametrize("spec", ["euclid", {}, {"l2": -1.0}, {"l2": 0.0}, {"l2": np.nan}, {"cosine": 1.0}])
def test_other_distances_are_refused(spec):
    with pytest.raises(InputError, match="distance must be one of l2, l1, l0, gower"):
        Distance.of(SCHEMA, spec)


def test_scales_come_from_the_schema():
    table = pd.DataFrame({"a": [0.0, 4.0]})
    assert Distance.of(Schema.infer(table), "l2")(np.array([[[6.0]]]), np.array([[0.0]]))[0, 0] == 3.0


@given(st.floats(0.01, 9), st.sampled_from([*NORMS, {"l2": 0.5, "l1": 2.0}]), st.integers(0, 1))
def test_a_larger_single_difference_than_the_reach_costs_more(effort, norm, column):
    distance = Distance.of(SCHEMA, norm)
    reach = distance.reach(np.array([effort]))[0]
    if np.isfinite(reach):
        delta = np.zeros((1, 1, 5))
        delta[..., column] = reach * (1 + 1e-9)
        assert distance.norm(delta, X0)[0, 0] >= effort
    else:
        assert norm in ("l0", "gower")  # L0 asks the same for any difference, Gower a share of 1/d


def test_what_costs_nothing_has_no_slope():
    free_downwards = np.stack([np.zeros(5), np.ones(5)])
    distance = Distance.of(SCHEMA, "l2", free_downwards)
    x = X0[:, None, :] + np.array([[[-1.0, 2.0, 0.0, 0.0, 0.0]]])
    assert distance.gradient(x, X0)[0, 0, :2] == pytest.approx([0.0, 1 / 4])


def test_a_class_of_ones_own_is_made_in_the_units_of_the_schema():
    class Largest(Distance):
        def norm(self, delta, x0):
            return delta.max(axis=-1)

        def slopes(self, delta, x0):
            return (delta == delta.max(axis=-1, keepdims=True)) * 1.0

    distance = Distance.of(SCHEMA, Largest)
    assert distance.name == "Largest"
    assert distance(X, X0)[0, 0] == 2.0
    assert distance.gradient(X, X0)[0, 0].tolist() == [0.5, 0, 0, 0, 0]
    with pytest.raises(InputError, match="subclass of Distance"):
        Distance.of(SCHEMA, Distance)


def test_mad_needs_deviations_that_a_reference_shows():
    shown = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0, 1000.0]})
    schema = Schema.infer(shown)
    assert schema.features[0].mad == pytest.approx(1.4826)
    assert Distance.of(schema, "mad")(np.array([[[3.4826]]]), np.array([[2.0]]))[0, 0] == pytest.approx(1.0)
    with pytest.raises(InputError, match=r"needs the median absolute deviation.*'a'.*mad:"):
        Distance.of(Schema((Feature("a", "continuous", scale=2.0),)), "mad")
    with pytest.raises(InputError, match="mad must be a positive number"):
        Feature("a", "continuous", mad=0.0)
