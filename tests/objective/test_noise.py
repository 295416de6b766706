"""Noise: what copies may look like, whatever the row, and what becomes of a population that is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from counterpoise.errors import InputError
from counterpoise.objective.calibration import CalibrationSettings, calibrate
from counterpoise.objective.noise import Gaussian, Noise, RankNoise
from counterpoise.space.constraints.between_features import Derived
from counterpoise.space.constraints.words import Immutable, OneOf, Range
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array

REFERENCE = pd.DataFrame(
    {
        "rate": np.exp(np.random.default_rng(0).normal(0, 3, 400)),
        "idle": np.where(np.arange(400) % 5 < 3, 0.0, np.arange(400) / 7),
        "packets": np.random.default_rng(1).integers(0, 9, 400),
        "port": np.random.default_rng(2).choice([22.0, 80.0, 443.0], 400),
        "protocol": np.random.default_rng(3).choice(["tcp", "udp", "icmp"], 400),
    }
)
SCHEMA = Schema.infer(REFERENCE)
X = np.column_stack(
    [*(REFERENCE[c] for c in REFERENCE.columns[:4]), REFERENCE["protocol"].map({"icmp": 0, "tcp": 1, "udp": 2})]
)
NOISES = [Gaussian(0.5), Gaussian(4.0, flips=0.3), RankNoise(0.05).fitted(X), RankNoise(0.7, flips=0.3).fitted(X)]


def copies(noise: Noise, x: Array, m: int, region: Region, schema: Schema = SCHEMA, seed: int = 0) -> Array:
    draws = np.random.default_rng(seed).standard_normal((len(x), m, x.shape[-1]))
    return noise.copies(x, draws, region, schema.scales, schema.numeric)


@pytest.mark.parametrize("noise", NOISES, ids=repr)
@settings(max_examples=25)
@given(rows=st.lists(st.integers(0, 399), min_size=1, max_size=4), seed=st.integers(0, 999), gone=st.integers(0, 3))
def test_copies_stay_in_the_region_and_leave_fixed_and_missing_cells_alone(
    noise: Noise, rows: list[int], seed: int, gone: int
) -> None:
    x0 = X[rows].copy()
    x0[0, gone] = np.nan
    words = [Range("rate", 0.01, 30.0), OneOf("port", [22, 80, 443]), Immutable("idle")]
    region = Region.build(SCHEMA, x0, words)
    x = np.repeat(region.nearest_feasible[:, None], 2, axis=1)
    y = copies(noise, x, 9, region, seed=seed)
    assert y.shape == (len(rows), 2, 9, 5)
    # the lattice's decimals do not bind noise, so cells are judged by what each of them may be
    whole, listed, codes = y[..., 2], y[..., 3], y[..., 4]
    assert np.isnan(y[0, ..., gone]).all()
    np.testing.assert_array_equal(y[..., 1], np.broadcast_to(x[:, :, None, 1], y.shape[:3]))
    seen = ~np.isnan(y)
    assert ((y >= region.lower[:, None, None]) & (y <= region.upper[:, None, None]) | ~seen).all()
    assert (np.rint(whole) == whole)[seen[..., 2]].all()
    assert np.isin(listed[seen[..., 3]], [22.0, 80.0, 443.0]).all()
    assert np.isin(codes, [0.0, 1.0, 2.0]).all()
    if not noise.flips:
        np.testing.assert_array_equal(codes, np.broadcast_to(x[:, :, None, 4], codes.shape))


@pytest.mark.parametrize("noise", NOISES, ids=repr)
def test_a_row_alone_has_the_same_copies_as_in_a_batch(noise: Noise) -> None:
    region = Region.build(SCHEMA, X[:6])
    draws = np.random.default_rng(0).standard_normal((6, 8, 5))
    x = np.stack([X[:6], X[10:16]], axis=1)
    together = noise.copies(x, draws, region, SCHEMA.scales, SCHEMA.numeric)
    for row in range(6):
        one = region.take([row])
        alone = noise.copies(x[row : row + 1], draws[row : row + 1], one, SCHEMA.scales, SCHEMA.numeric)
        np.testing.assert_array_equal(alone[0], together[row])


def test_reflected_noise_keeps_a_uniform_population_uniform_and_piles_nothing_on_the_edges() -> None:
    schema = Schema.infer(pd.DataFrame({"a": [0.0, 1.00001], "b": [0, 7]}))
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(0, 1.00001, 4000), rng.integers(0, 8, 4000)])
    y = copies(Gaussian(0.6), x[:, None], 4, Region.build(schema, x), schema).reshape(-1, 2)
    assert kstest(y[:, 0], "uniform").pvalue > 1e-3
    assert not np.isin(y[:, 0], [0.0, 1.00001]).any()
    counts = np.bincount(y[:, 1].astype(int), minlength=8)
    np.testing.assert_allclose(counts / counts.sum(), 1 / 8, atol=0.012)
    assert (y[:, 1] != np.repeat(x[:, 1], 4)).mean() > 0.4


@pytest.mark.parametrize("level", [0.02, 0.3])
def test_rank_noise_leaves_each_feature_distributed_as_it_was(level: float) -> None:
    noise = RankNoise(level).fitted(X)
    y = copies(noise, X[:, None], 10, Region.build(SCHEMA, X)).reshape(-1, 5)
    ranks = np.searchsorted(np.sort(X[:, 0]), y[:, 0]) / len(X)
    assert kstest(ranks, "uniform").statistic < 0.02
    idle = (y[:, 1] == 0).mean()
    assert abs(idle - (X[:, 1] == 0).mean()) < 0.02
    moved = (y[:, 1] == 0) != np.repeat(X[:, 1] == 0, 10)
    assert moved.any()  # also what most rows share gives way, now and then
    for column in (2, 3):
        values = np.unique(X[:, column])
        near = values[np.abs(y[:, column, None] - values).argmin(axis=1)]
        np.testing.assert_allclose(
            [(near == v).mean() for v in values], [(X[:, column] == v).mean() for v in values], atol=0.03
        )


def test_rank_noise_is_as_large_as_the_reference_is_spread_there() -> None:
    noise, region = RankNoise(0.02).fitted(X), Region.build(SCHEMA, X)
    y = copies(noise, X[:, None], 50, region)[:, 0, :, 0]
    spread = y.std(axis=1)
    low, high = np.quantile(X[:, 0], [0.25, 0.95])
    assert spread[X[:, 0] > high].min() > 20 * np.median(spread[X[:, 0] < low])
    quantiles = np.quantile(X[:, 0], np.clip((X[:, :1] < X[:, 0]).mean(axis=0)[:, None] + [-0.02, 0.02], 0, 1))
    inner = (X[:, 0] > np.quantile(X[:, 0], 0.1)) & (X[:, 0] < np.quantile(X[:, 0], 0.9))
    assert 0.5 < np.median(np.diff(quantiles, axis=1)[inner, 0] / 2 / spread[inner]) < 2


def test_beyond_the_reference_rank_noise_keeps_the_distance() -> None:
    x = np.array([[X[:, 0].max() + 1e6, 0.0, 3.0, 80.0, 1.0]])
    y = copies(RankNoise(0.05).fitted(X), x[:, None], 200, Region.build(SCHEMA, x))[0, 0, :, 0]
    inside = y - 1e6
    assert (inside <= X[:, 0].max() + 1e-6).all()
    assert (inside >= np.quantile(X[:, 0], 0.75)).all()
    assert np.ptp(y) > 0


def test_no_noise_is_no_change() -> None:
    region = Region.build(SCHEMA, X)
    for noise in (Gaussian(0.0), RankNoise(0.0).fitted(X)):
        y = copies(noise, X[:, None], 3, region)
        np.testing.assert_allclose(y, np.broadcast_to(X[:, None, None], y.shape), rtol=1e-12)


def test_categories_flip_as_often_as_asked_and_evenly() -> None:
    x = np.tile([1.0, 0.0, 3.0, 80.0, 1.0], (2000, 1))
    y = copies(Gaussian(0.0, flips=0.3), x[:, None], 5, Region.build(SCHEMA, x))[..., 4].ravel()
    shares = np.bincount(y.astype(int), minlength=3) / len(y)
    np.testing.assert_allclose(shares, [0.15, 0.7, 0.15], atol=0.015)
    two = copies(Gaussian(0.0, flips=1.0), x[:, None], 1, Region.build(SCHEMA, x, [OneOf("protocol", ["tcp", "udp"])]))
    assert (two[..., 4] == 2.0).all()  # with one other category allowed, a sure flip goes there


def test_derived_features_follow_what_they_are_made_of() -> None:
    table = pd.DataFrame({"bytes": [1.5, 80.25, 400.125], "seconds": [1.0, 2.5, 4.0]})
    table["rate"] = table["bytes"] / table["seconds"]
    schema, x = Schema.infer(table), table.to_numpy()
    region = Region.build(schema, x, [Derived("rate", "bytes / seconds")])
    for noise in (Gaussian(0.2), RankNoise(0.2).fitted(x)):
        y = copies(noise, x[:, None], 20, region, schema)
        assert (y[..., 0] != x[:, None, None, 0]).any()
        np.testing.assert_allclose(y[..., 2], y[..., 0] / y[..., 1], rtol=1e-4)


def test_calibration_takes_the_largest_level_that_rows_of_the_target_withstand() -> None:
    noise, x = RankNoise(0.5).fitted(X), X[:60]
    region = Region.build(SCHEMA, x)
    draws = np.random.default_rng(0).standard_normal((60, 20, 5))
    levels = CalibrationSettings().levels
    asked: list[Array] = []

    def calibrated(first_lost: int) -> Any:
        """The calibration where levels from this place on lose too many copies."""
        asked.clear()
        made = [
            noise.scaled(level).copies(x[:, None], draws, region, SCHEMA.scales, SCHEMA.numeric) for level in levels
        ]

        def keeps(y: Array) -> Array:
            asked.append(y)
            place = next(place for place, copies in enumerate(made) if np.array_equal(copies[:, 0], y, equal_nan=True))
            return np.arange(1200).reshape(60, 20) < 1200 * (0.97 if place < first_lost else 0.9)

        return calibrate(noise, x, draws, keeps, region, SCHEMA.numeric)

    for place in range(1, len(levels)):
        found = calibrated(place)
        assert found.noise.level == levels[place - 1]
        assert len(asked) <= 4
        assert "97.0%" in found.sentence
    assert asked[0].shape == (60, 20, 5)
    floor = calibrated(0)
    assert floor.noise.level == levels[0] == 0.001
    assert "even at this smallest level" in floor.sentence
    cap = calibrated(len(levels))
    assert cap.noise.level == levels[-1] == 0.2
    assert "no larger level is tried" in cap.sentence


@pytest.mark.parametrize("make", [lambda: Gaussian(-1), lambda: RankNoise(3), lambda: Gaussian(1, flips=2)])
def test_senseless_noise_is_refused(make: object) -> None:
    with pytest.raises(InputError):
        make()  # type: ignore[operator]


def test_rank_noise_must_be_fitted() -> None:
    with pytest.raises(InputError, match="fitted"):
        copies(RankNoise(0.1), X[:1, None], 1, Region.build(SCHEMA, X[:1]))


def test_another_level_of_a_noise_is_the_noise_of_that_level() -> None:
    region = Region.build(SCHEMA, X[:20])
    for noise, other in ((Gaussian(0.2, flips=0.1), Gaussian(0.5, flips=0.1)), (RankNoise(0.1), RankNoise(0.3))):
        fitted = noise.fitted(X)
        assert fitted.is_fitted
        assert fitted.level == noise.level
        again = copies(fitted.scaled(other.level), X[:20, None], 10, region)
        np.testing.assert_array_equal(again, copies(other.fitted(X), X[:20, None], 10, region))
    assert not RankNoise(0.1).is_fitted
    with pytest.raises(InputError, match="needs reference rows"):
        RankNoise(0.1).fitted(X[:0])
