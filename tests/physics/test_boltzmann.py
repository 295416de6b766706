"""The Boltzmann law is a law: normalised, ordered by energy, right in its ratios and integrals."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad

from counterpoise.errors import InputError
from counterpoise.physics import boltzmann

energies = arrays(np.float64, (3, 5), elements=st.one_of(st.floats(-1e6, 1e6), st.just(np.inf)))
temperatures = arrays(np.float64, (3,), elements=st.floats(0, 1e6))


@given(energies, temperatures)
def test_weights_are_a_law_that_prefers_low_energies(E, T):
    w = boltzmann.weights(E, T)
    assert np.all(w >= 0)
    np.testing.assert_allclose(w.sum(axis=-1), 1)
    order = np.argsort(E, axis=-1)
    assert np.all(np.diff(np.take_along_axis(w, order, axis=-1), axis=-1) <= 1e-12)


@given(energies, temperatures)
def test_each_row_has_its_own_temperature(E, T):
    together = boltzmann.weights(E, T)
    alone = np.stack([boltzmann.weights(E[i], float(T[i])) for i in range(3)])
    np.testing.assert_array_equal(together, alone)


def test_ratio_of_weights_is_the_boltzmann_factor():
    w = boltzmann.weights(np.array([1.0, 3.0]), 0.5)
    assert w[1] / w[0] == pytest.approx(np.exp(-4))


def test_zero_temperature_shares_among_the_lowest():
    np.testing.assert_array_equal(boltzmann.weights(np.array([2.0, 1.0, 1.0, np.inf]), 0.0), [0, 0.5, 0.5, 0])


def test_no_way_down_from_infinity_everywhere():
    np.testing.assert_array_equal(boltzmann.weights(np.full((1, 4), np.inf), 1.0), np.full((1, 4), 0.25))


@pytest.mark.parametrize("T", [0.1, 1.0, 20.0])
def test_partition_function_of_a_grid_is_the_integral(T):
    def energy(x):
        return np.abs(x) + np.cos(3 * x)

    cells = np.linspace(-60 * T**0.5 - 20, 60 * T**0.5 + 20, 200_001)
    volume = cells[1] - cells[0]
    exact = quad(lambda x: np.exp(-energy(x) / T), cells[0], 0, limit=2000)[0] * 2
    assert boltzmann.log_partition(energy(cells), T, volume) == pytest.approx(np.log(exact), abs=1e-6)
    assert (np.exp(boltzmann.log_density(energy(cells), T, volume)) * volume).sum() == pytest.approx(1)


@given(energies.filter(lambda E: np.isfinite(E).any(axis=-1).all()), st.floats(-1e3, 1e3))
def test_a_constant_moves_the_free_energy_by_itself(E, constant):
    moved = -boltzmann.log_partition(E + constant, 1.0)
    np.testing.assert_allclose(moved, -boltzmann.log_partition(E, 1.0) + constant, atol=1e-6)


def test_no_partition_function_at_zero_temperature():
    with pytest.raises(InputError, match="must be positive"):
        boltzmann.log_partition(np.zeros(3), 0.0)
