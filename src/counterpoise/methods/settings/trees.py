"""Search of trees by their leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.methods.settings.checked import Settings
from counterpoise.types import Array


@dataclass(frozen=True, repr=False)
class TreeSettings(Settings):
    """Trees whose leaves are known: surveys of single changes, their combinations, jumps into leaves."""

    rounds: int = 14
    """Rounds of surveys of a row at most."""
    points_per_row: int = 12
    """Best points of each row that are kept, each with another set of changed features."""
    rounds_per_update: int = 8
    """Rounds whose points enter the best ones together."""
    max_leaves_of_small_model: int = 400
    """A model of at most so many leaves is surveyed to the end, and jumped into."""
    min_rounds_per_ration: int = 6
    """Rounds that a limited number of model rows should last for."""
    min_lacking_margin: float = 1e-6
    """Least margin that a row is taken to lack."""
    grid_size: int = 8
    """Prices of margin at which combinations are weighed first."""
    always_tried_grid_places: tuple[int, ...] = (0, 2, 4, 7)
    """Places of that grid that are tried whatever they gain."""
    target_gain_count: int = 8
    """Combinations that are to gain a set share of the missing margin,"""
    target_gain_least: float = 0.8
    """from this share"""
    target_gain_most: float = 2.0
    """to this one."""
    target_loss_most: float = 1.2
    """Points with margin to spare are to lose up to this share of it,"""
    target_loss_gain: float = 0.2
    """or to gain up to this share."""
    single_changes_tried: int = 3
    """Cheapest sufficient single changes of a point that are tried by themselves."""
    worst_loss_factor: float = 10.0
    """A change that loses more than this many times the missing margin is as bad as any other."""
    gain_tolerance: float = 1e-9
    """A gain below this share of the largest is none."""
    margin_price_factor_of_lost_rows: float = 1000.0
    """What missing margin is taken to cost where nothing else has led to an answer: the way there hardly counts."""
    dear_changes: float = 10.0
    """Under relations, rows whose answer costs more than so many changes are searched at the bare distance too."""
    starts_of_lost_rows: int = 8
    """Reference rows with the nearest scores that such a search starts from; 0: no such search."""
    beam_width_of_lost_rows: int = 16
    """Points that each of its rounds surveys."""
    leaf_jumps_per_point: int = 16
    """Leaves that a point is moved into, on models of few trees or leaves."""
    sufficient_jumps_per_point: int = 4
    """Of them, the nearest that reach the target by themselves."""
    min_jump_rounds: int = 2
    """Rounds with jumps at least,"""
    max_jump_rounds: int = 8
    """and at most; 0 for both: no jumps."""
    jump_wall_budget: int = 20_000
    """Sides of leaf boxes that all rounds with jumps may look at."""

    @cached_property
    def grid_shares(self) -> Array:
        """Exponents of the ranks of the grid's prices, from the dearest to the cheapest."""
        return np.linspace(0, 1, self.grid_size)

    @cached_property
    def target_gain_shares(self) -> Array:
        """Shares of the missing margin that combinations are to gain."""
        return np.geomspace(self.target_gain_least, self.target_gain_most, self.target_gain_count)

    @cached_property
    def target_loss_shares(self) -> Array:
        """Shares of spare margin that combinations are to gain; those below 0 are lost."""
        return np.linspace(-self.target_loss_most, self.target_loss_gain, self.target_gain_count)

    @property
    def combinations(self) -> int:
        """Combinations of single changes that a survey tries of each point."""
        return len(self.always_tried_grid_places) + self.target_gain_count
