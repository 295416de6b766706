"""Plausibility regularisers against sums written out, and their gradients against differences."""

import numpy as np
import pytest
from sklearn.neighbors import LocalOutlierFactor

from counterpoise.objective.plausibility import Coordinates, LocalOutlier, Mahalanobis, NearTarget

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 3)) * [1.0, 5.0, 0.2]
SPACE = Coordinates(np.array([1.0, 5.0, 0.2]), np.zeros(3, dtype=np.intp), np.zeros(3))
POINTS = RNG.normal(size=(4, 2, 3)) * [2.0, 8.0, 0.5]
X0 = np.zeros((4, 3))


def test_near_target_is_the_mean_distance_to_the_nearest_rows():
    found = NearTarget(neighbours=3).fit_to(ROWS, SPACE)(POINTS, X0, POINTS)
    scaled = np.linalg.norm((POINTS[:, :, None] - ROWS) / SPACE.unit, axis=-1)
    np.testing.assert_allclose(found, np.sort(scaled, axis=-1)[..., :3].mean(axis=-1))


def test_the_centre_of_the_rows_has_no_mahalanobis_distance():
    penalty = Mahalanobis().fit_to(ROWS, SPACE)
    centre = ROWS.mean(axis=0)[None, None]
    assert penalty(centre, X0[:1], centre)[0, 0] == pytest.approx(0, abs=1e-6)
    assert (penalty(POINTS, X0, POINTS) > 0).all()


def test_the_local_outlier_factor_is_that_of_scikit_learn():
    found = LocalOutlier(neighbours=5).fit_to(ROWS, SPACE)(POINTS, X0, POINTS)
    theirs = LocalOutlierFactor(n_neighbors=5, novelty=True).fit(ROWS / SPACE.unit)
    expected = -theirs.score_samples((POINTS / SPACE.unit).reshape(-1, 3)).reshape(4, 2) - 1
    np.testing.assert_allclose(found, np.maximum(expected, 0), atol=1e-6)


@pytest.mark.parametrize("setting", [NearTarget(neighbours=3), Mahalanobis()], ids=repr)
def test_gradients_are_slopes(setting):
    penalty = setting.fit_to(ROWS, SPACE)
    slopes = penalty.gradient(POINTS, X0, POINTS)
    for column in range(3):
        step = np.zeros(3)
        step[column] = 1e-6 * SPACE.unit[column]
        rise = penalty(POINTS + step, X0, POINTS) - penalty(POINTS - step, X0, POINTS)
        np.testing.assert_allclose(slopes[..., column], rise / (2 * step[column]), rtol=1e-4, atol=1e-5)
