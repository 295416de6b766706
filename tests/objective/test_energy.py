"""The energy, Eq. (3) and Eq. (9): its terms add up, and its gradient is its slope."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.objective.energy import Energy, phi, phi_slope
from counterpoise.objective.regularizers import ChangeCount, Sparsity, WeightedL1
from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Feature, Schema

EVERY = np.ones(3, dtype=bool)
SCHEMA = Schema(
    (Feature("a", "continuous", scale=2.0), Feature("b", "continuous"), Feature("c", "categorical", categories="xy"))
)
X0 = np.array([[0.0, 1.0, 0.0], [2.0, -1.0, 1.0]])


def energy(lam=0.5, norm="l2", two_sided=False):
    distance = Distance.of(SCHEMA, norm)
    penalty = WeightedL1(np.array([1.0, 3.0, 2.0]), np.where(distance.nominal, 0.0, distance.unit))
    return Energy(distance, lam, (penalty, Sparsity()), np.array([2.0, 5.0]), two_sided)


@pytest.mark.parametrize("two_sided", [False, True])
def test_terms_by_hand(two_sided):
    x = X0[:, None, :] + np.array([[[2.0, 0.0, 0.0]], [[0.0, 2.0, -1.0]]])
    margin = np.array([[-3.0], [4.0]])
    terms = energy(two_sided=two_sided).terms(x, X0, margin)
    np.testing.assert_allclose(terms.distance[:, 0], [1.0, np.sqrt(5.0)])
    np.testing.assert_allclose(terms.regularizer[:, 0], [0.5 * (1 + 1), 0.5 * (6 + 2 + 2)])
    np.testing.assert_allclose(terms.decision[:, 0], [6.0, 20.0 if two_sided else 0.0])
    np.testing.assert_allclose(terms.total, energy(two_sided=two_sided)(x, X0, margin))
    np.testing.assert_allclose(energy().effort(x, X0), terms.distance + terms.regularizer)


def test_without_lam_the_effort_is_the_distance():
    x = X0[:, None, :] + 1.0
    e = energy(lam=0.0)
    np.testing.assert_array_equal(e.effort(x, X0), e.distance(x, X0))
    assert (e.terms(x, X0, np.zeros((2, 1))).regularizer == 0).all()


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=2), st.floats(0, 3), st.sampled_from([0, 1]))
def test_a_settled_answer_is_beaten_by_no_point_that_changes_two_features(both, alone, column):
    e = energy(norm={"l0": 1.0, "l2": 0.2})
    one, two = X0[:1, None, :].copy(), X0[:1, None, :].copy()
    one[..., column] += alone
    two[..., :2] += both
    effort = e.effort(one, X0[:1])
    if e.beats_any_two_changes(effort, EVERY).all() and np.count_nonzero(two[0, 0] != X0[0]) == 2:
        assert (e.effort(two, X0[:1]) > effort).all()


def test_nothing_is_settled_where_changes_are_not_counted_or_may_be_free():
    assert not energy(0.0, norm="l2").beats_any_two_changes(np.zeros(1), EVERY).any()
    free = Distance.of(SCHEMA, "l0", np.zeros((2, 3)))
    assert not Energy(free, 0.0, (), np.ones(1)).beats_any_two_changes(np.zeros(1), EVERY).any()
    counted = Energy(Distance.of(SCHEMA, {"l0": 0.5}), 0.0, (), np.ones(1))
    assert counted.beats_any_two_changes(np.array([0.5, 0.99, 1.0, 1.2]), EVERY).tolist() == [True, True, False, False]
    weighed = Energy(Distance.of(SCHEMA, "l2"), 0.5, (ChangeCount(np.array([0.0, 1.0, 3.0])),), np.ones(1))
    assert not weighed.beats_any_two_changes(np.array([0.6]), EVERY).any()
    assert weighed.beats_any_two_changes(np.array([0.6, 2.1]), np.array([False, True, True])).tolist() == [True, False]


def test_part_of_the_rows_has_their_mu():
    assert energy().take([1]).mu.tolist() == [5.0]


def test_phi_is_the_distance_to_the_decision_on_one_side_or_both():
    margin = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_array_equal(phi(margin), [2.0, 0.0, 0.0])
    np.testing.assert_array_equal(phi(margin, two_sided=True), [2.0, 0.0, 3.0])
    np.testing.assert_array_equal(phi_slope(margin), [-1.0, 0.0, 0.0])
    np.testing.assert_array_equal(phi_slope(margin, two_sided=True), [-1.0, 0.0, 1.0])


steps = st.floats(-5, 5).filter(lambda value: abs(value) > 0.01)


@given(steps, steps, st.sampled_from(["l2", "l1"]), st.booleans())
def test_the_gradient_is_the_slope(da, db, norm, two_sided):
    e, h, w = energy(norm=norm, two_sided=two_sided), 1e-6, np.array([0.7, -0.4, 0.0])

    def margin(x):  # a plane that no drawn point lies on
        return x @ w + 0.123456

    x = X0[:, None, :] + np.array([da, db, 0.0])
    gradient = e.gradient(x, X0, margin(x), np.broadcast_to(w, x.shape))
    if np.abs(margin(x)).min() < 1e-4:
        return
    for column in range(2):
        up, down = x.copy(), x.copy()
        up[..., column] += h
        down[..., column] -= h
        slope = (e(up, X0, margin(up)) - e(down, X0, margin(down))) / (2 * h)
        np.testing.assert_allclose(gradient[..., column], slope, atol=1e-4)
    assert (gradient[..., 2] == 0).all()
