"""Reference rows with the model's outputs of them, and what is made of them once: indexes, noise, surrogates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from counterpoise.models.goals import Goal
from counterpoise.objective.calibration import Calibration
from counterpoise.objective.noise import RankNoise
from counterpoise.space.distance import Distance
from counterpoise.space.nearest_rows import NeighbourIndex, spread_places
from counterpoise.types import Array, Index

CachedValue = TypeVar("CachedValue")


@dataclass(frozen=True, eq=False)
class ReferenceRows:
    """Reference rows and the model's outputs of them: a search may start from these rows."""

    x: Array  # (r, d)
    outputs: Array  # (r, c)
    pool_cache: dict[bytes, NeighbourIndex] = field(default_factory=dict, repr=False)  # by goal and units of distance
    target_cache: dict[bytes, Index] = field(default_factory=dict, repr=False)  # by goal
    sample_cache: dict[bytes, tuple[Array, Array]] = field(default_factory=dict, repr=False)  # by goal and size
    surrogate_cache: dict[bytes, Any] = field(default_factory=dict, repr=False)  # by goal
    calibration_cache: dict[bytes, Calibration] = field(default_factory=dict, repr=False)  # by goal and question

    @cached_property
    def rank_noise(self) -> RankNoise:
        """Rank noise that knows the ranks of these rows; its level is to be set."""
        return RankNoise(0.0).fitted(self.x)

    def get_calibration(self, goal: Goal, key: str, make: Callable[[], Calibration]) -> Calibration:
        """The noise "auto" of a single row's ``goal``, made once for each ``key`` of seed, bounds and constraints."""
        return _get_or_make(self.calibration_cache, b"".join((goal.key, key.encode())), make, 256)

    def get_surrogate(self, goal: Goal, make: Callable[[], CachedValue]) -> CachedValue:
        """What stands for the model where rows ask for what a single row's ``goal`` does, made once."""
        found: CachedValue = _get_or_make(self.surrogate_cache, goal.take([0]).key, make)
        return found

    def find_target_rows(self, goal: Goal) -> Index:
        """The places of the rows that the model gives what a single row's ``goal`` asks for."""
        return _get_or_make(self.target_cache, goal.key, lambda: np.flatnonzero(goal.is_reached(self.outputs[None])[0]))

    def sample_target_rows(self, goal: Goal, count: int) -> tuple[Array, Array]:
        """At most ``count`` of these rows, spread evenly over the reference, ``(s, d)``, and their margins ``(s,)``."""

        def made() -> tuple[Array, Array]:
            reached = self.find_target_rows(goal)
            some = reached[spread_places(len(reached), count)]
            return self.x[some], goal.margin(self.outputs[None, some])[0]

        return _get_or_make(self.sample_cache, b"".join((goal.key, bytes(str(count), "ascii"))), made)

    def get_target_pool(self, goal: Goal, distance: Distance) -> NeighbourIndex:
        """An index of all target rows by ``distance``."""
        key = b"".join((goal.key, distance.unit.tobytes()))
        return _get_or_make(
            self.pool_cache, key, lambda: NeighbourIndex.of(self.x[self.find_target_rows(goal)], distance)
        )


def _get_or_make(
    ready: dict[bytes, CachedValue], key: bytes, make: Callable[[], CachedValue], max_entries: int = 8
) -> CachedValue:
    """The value kept under a key, made if there is none; the oldest goes where there are ``max_entries`` already."""
    if key not in ready:
        if len(ready) >= max_entries:
            ready.pop(next(iter(ready)))
        ready[key] = make()
    return ready[key]
