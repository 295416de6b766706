"""Search by trials: single changes and sweeps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.methods.settings.checked import Settings
from counterpoise.types import Array


@dataclass(frozen=True, repr=False)
class TrialSettings(Settings):
    """Models with neither slope nor known leaves, and few changes on any model: single changes, then combined."""

    sweeps: int = 14
    """Sweeps of a row at most: each tries every feature alone, then the best changes together."""
    sweeps_before_race: int = 2
    """Sweeps of all points of a row; after each later one, and after the last of these,"""
    raced_share: float = 0.7
    """only this share of them is swept on, those of least effort."""
    sweeps_per_full_one: int = 3
    """Of so many sweeps the first asks about every single change, others about those that it speaks for; 1: all do."""
    asked_again_share: float = 0.2
    """Share of all single changes that these other sweeps ask about,"""
    min_asked_again: int = 32
    """but at least so many."""
    prediction_error_share: float = 0.3
    """Error that predicted gains are taken to have, as a share of the margin of the point that is swept."""
    max_columns_tried_alone: int = 300
    """Columns up to which each is tried alone; in wider tables that costs more than it finds."""
    single_changes_per_row: int = 3
    """Best single changes of a row that sweeps go on from."""
    values_tried_per_number: int = 12
    """Values tried alone of each number of a black box: half evenly within reach, half as the reference has them."""
    max_splits_tried_alone: int = 200
    """Split points up to which all of them are tried alone."""
    max_splits_tried_alone_for_l0: int = 2000
    """The same where the number of changes is penalised."""
    max_cells_swept_longer: int = 600
    """A model of fewer split points than this is swept more often, since it answers fast."""
    max_sweep_factor: int = 4
    """How many times as often at most."""
    source_sweep_points: int = 2
    """Answers of a row that are swept over columns which others are computed from; 0: only the row itself."""
    sweep_multipliers: int = 16
    """Prices of margin at which a sweep combines single changes: one combination each."""
    max_levels_per_sweep: int = 24
    """Levels of a category tried in one sweep."""
    max_change_distance: float = 30.0
    """How far a single change is tried where nothing bounds it, in units of distance."""
    min_sweeps_per_ration: int = 3
    """Sweeps that a limited number of model rows should last for."""
    ladder_rungs: int = 8
    """Points tried on the way of one feature to either edge of its range."""
    ladder_first_share: float = 0.004
    """Share of that way at which the first of them is."""
    ladder_subdivisions: int = 8
    """Parts into which the way between the last miss and the first hit is divided."""
    line_refinements: int = 2
    """Times that it is divided again where relations move other cells along."""
    range_halvings: int = 24
    """Halvings of a line that crosses a two-sided range."""
    max_line_switches: int = 256
    """Single switches of categories tried beside the lines."""
    coarse_spacing_scales: float = 0.02
    """Columns whose values are farther apart than this, in feature scales, are not rounded but tried."""
    min_gain_share: float = 1e-3
    """A fall of the effort by less than this share of it is no gain."""
    min_gain_scales: float = 5e-4
    """Neither is one by less than this, in units of distance."""
    min_black_box_gain_share: float = 0.005
    """The same share for sweeps of a model of which nothing is known, where each sweep costs calls of it."""

    def count_asked_again(self, changes: int) -> int:
        """How many of the single changes of a point a sweep asks about that remembers an earlier one."""
        return max(self.min_asked_again, int(self.asked_again_share * changes))

    @cached_property
    def ladder_shares(self) -> Array:
        """Shares of the way to the edge at which a feature is tried, ``(ladder_rungs,)``."""
        return np.geomspace(self.ladder_first_share, 1.0, self.ladder_rungs)

    @cached_property
    def subdivision_shares(self) -> Array:
        """Shares of the way between the last miss and the first hit."""
        return np.arange(1, self.ladder_subdivisions) / self.ladder_subdivisions
