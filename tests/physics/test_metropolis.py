"""The acceptance rule, and long runs that must follow the Boltzmann law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from counterpoise.physics import metropolis
from counterpoise.physics.boltzmann import weights


@given(st.floats(-1e300, 1e300), st.floats(0, 1e6), st.floats(0, 1, exclude_max=True))
def test_downhill_is_always_taken_and_uphill_never_at_zero(delta, T, u):
    delta, u = np.array([delta]), np.array([u])
    if delta[0] <= 0:
        assert metropolis.accept(delta, T, u)[0]
    else:
        assert not metropolis.accept(delta, 0.0, u)[0]


def test_uphill_is_taken_as_often_as_boltzmann_says():
    u = (np.arange(10_000) + 0.5) / 10_000
    for delta, T in [(0.5, 1.0), (2.0, 0.7)]:
        assert metropolis.accept(np.full(10_000, delta), T, u).mean() == pytest.approx(np.exp(-delta / T), abs=1e-4)


def test_each_row_has_its_own_temperature():
    taken = metropolis.accept(np.ones((2, 3)), np.array([0.0, 1e9]), np.full((2, 3), 0.5))
    np.testing.assert_array_equal(taken, [[False] * 3, [True] * 3])


def test_out_of_infinity_but_not_within():
    delta = np.array([np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(metropolis.accept(delta, 1.0, np.full(3, 0.0001)), [False, True, False])


def test_a_chain_at_infinite_energy_does_not_spoil_its_row():
    info = metropolis.summarise(np.zeros((1, 3), dtype=bool), np.array([[1.0, 3.0, np.inf]]))
    assert info.energy[0] == 2
    assert info.variance[0] == 1


def test_long_run_on_a_ring_of_cells_follows_the_boltzmann_law():
    rng, E, T = np.random.default_rng(0), np.array([0.0, 1.0, 0.3, 2.0, 0.7]), 0.6

    def energy(x):
        return E[x[..., 0].astype(int)]

    state = metropolis.init(rng.integers(0, 5, size=(1, 2000, 1)).astype(float), energy)
    for _ in range(200):
        proposal = (state.x + rng.choice([-1, 1], size=state.x.shape)) % 5
        state, _ = metropolis.step(state, proposal, energy, rng.random((1, 2000)), T)
    counts = np.bincount(state.x.ravel().astype(int), minlength=5)  # one snapshot: chains are independent
    assert chisquare(counts, 2000 * weights(E, T)).pvalue > 0.001


def test_long_run_on_the_line_follows_the_boltzmann_law_in_every_row():
    rng, T = np.random.default_rng(1), np.array([0.3, 1.0])

    def energy(x):
        return (x[..., 0] ** 2 - 1) ** 2

    state = metropolis.init(rng.normal(size=(2, 2000, 1)), energy)
    for _ in range(300):
        proposal = state.x + rng.normal(size=state.x.shape)
        state, info = metropolis.step(state, proposal, energy, rng.random((2, 2000)), T)
    grid = np.linspace(-4, 4, 4001)
    for row in range(2):
        law = np.cumsum(weights((grid**2 - 1) ** 2, T[row]))
        assert kstest(state.x[row, :, 0], lambda x, law=law: np.interp(x, grid, law)).pvalue > 0.001
    assert info.acceptance[0] < info.acceptance[1]
    np.testing.assert_allclose(state.energy, energy(state.x))
