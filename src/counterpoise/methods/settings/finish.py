"""What follows a search: polish, firm answers, and how much is worked on at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.methods.settings.checked import Settings
from counterpoise.types import Index


@dataclass(frozen=True, repr=False)
class BatchSettings(Settings):
    """Sizes of the arrays that a search holds at once; they change speed and memory, never answers."""

    cells: int = 500_000
    """Numbers in the points that lines and sweeps try at once: more do not stay near the processor."""
    difference_cells: int = 4_000_000
    """Numbers in one batch of points shifted for differences."""
    survey_numbers: int = 1_000_000
    """Numbers that surveys of leaves hold at once."""
    pieces_per_tree: int = 32
    """Single changes that each tree is taken to add to those of a point."""
    listed_cells: int = 1_000_000
    """Nearest values of cells that are listed; beyond it they are looked up when needed."""
    near_cells: int = 200_000
    """Numbers in the nearest reference rows looked at together."""
    crossing_cells: int = 4_000_000
    """Numbers in the reference rows across a range looked at together."""


@dataclass(frozen=True, repr=False)
class PolishSettings(Settings):
    """The last stage: changes set back or shortened one by one while the row stays valid."""

    share_of_model_rows: float = 0.1
    """Share of a limited number of model rows that is kept back for it."""
    max_columns: int = 64
    """Changed columns of an answer that are tried one by one."""
    halvings: int = 8
    """Halvings of each change towards the row's own value."""
    passes: int = 4
    """Passes over all changes at most; 0: changes are only set back."""
    reset_groups: int = 60
    """Sizes of groups of smallest changes that are set back at once, from 2 to a million."""
    slack_probe_share: float = 0.01
    """An answer still valid this share nearer to the row is not on the boundary and is shortened."""
    coarse_spacing_scales: float = 1e-3
    """Columns whose values are farther apart than this, in feature scales, are always tried."""
    min_gain_share: float = 1e-3
    """A pass that gains less than this share of the effort is the last."""

    @cached_property
    def reset_group_sizes(self) -> Index:
        """Sizes of groups of smallest changes that are set back at once."""
        return np.unique(np.geomspace(2, 1e6, self.reset_groups).astype(np.intp))


@dataclass(frozen=True, repr=False)
class FirmSettings(Settings):
    """The search for answers that withstand noise."""

    shares: tuple[float, ...] = (0.95, 0.9, 0.8, 0.5)
    """The grid of shares that is searched from the top, whatever share is asked for."""
    stages: tuple[int, ...] = (2, 2, 1, 0)
    """Sweeps for each of these shares; before and after each, points are brought nearer to the row."""
    rounds: int = 2
    """Rounds of proposals nearer to the row each time."""
    points: int = 5
    """Reference rows that searches start from, and answers that are given at most for each one asked for."""
    samples: int = 64
    """Noisy copies of a point that guide the search."""
    deciding_copies: int = 6
    """Of these, copies around the share asked for that a proposal is tried on first."""
    first_counted: int = 20
    """Of these, copies that a point is counted on before the others."""
    first_copies: int = 8
    """Of these, copies that every start is tried on."""
    second_lost: int = 2
    """Starts that lose no more of these are counted on further copies,"""
    second_copies: int = 24
    """so many."""
    counted_starts: int = 4
    """Starts of each share, the nearest first, that are counted on all of these copies."""
    counted_proposals: int = 2
    """Proposals of a round, the nearest first, that are counted on all of these copies."""
    sweep_width: int = 2
    """Values each way that a sweep tries."""
    swept_features: int = 10
    """Features that a sweep tries: those that do most to the score, and those that noise works through most."""
    noisiest_features: int = 4
    """How many of these are the latter."""
    jump_samples: int = 8
    """Of these, copies that random points must all keep."""
    check_stages: tuple[int, ...] = (8, 32, 96, 256)
    """Other copies that choose among what was found, counted in stages: what has lost is not counted further."""
    spare_deviations: float = 2.5
    """Standard deviations that the share counted must lie above the share asked for."""
    race_deviations: float = 2.5
    """Standard deviations by which a candidate must have lost before a stage to be left alone."""
    stretch_factors: tuple[float, ...] = (1.0, 1.08, 1.2, 1.4, 1.7, 2.2, 3.0, 4.5)
    """Multiples of the change of the minimal answers that searches start from."""
    blended_starts: int = 6
    """Starts that may be firm, the nearest first, on the ways to which firm points are looked for."""
    blend_shares: tuple[float, ...] = (0.15, 0.3, 0.45, 0.6, 0.75, 0.9)
    """Shares of the way from the minimal answer to a firm point that are tried."""
    shortened_features: int = 8
    """Changed features, the largest first, that are set back or shortened one by one."""
    share_cycle: int = 3
    """Rounds after which the shares that follow are the same again: a round tries every third of them."""
    shortened_shares: tuple[float, ...] = (0.5, 0.7, 0.6, 0.8, 0.9, 0.95)
    """Shares of a single change that are left."""
    scaled_shares: tuple[float, ...] = (0.5, 0.65, 0.7, 0.75, 0.85, 0.93, 0.9, 0.95, 0.98)
    """Shares of the whole change that are left."""
    traded_share: float = 0.3
    """Share by which one change is stretched and the others are shortened."""
    min_gain_share: float = 0.003
    """Share of the effort that a proposal has to gain."""
    final_stretch_factors: tuple[float, ...] = (1.03, 1.08, 1.2)
    """Multiples of the change of what was found for each share that are candidates as well."""
    candidate_starts: int = 3
    """Starts of each share, the nearest that may be firm, that are candidates as they are."""
    deep_rows: int = 10
    """Reference rows that searches start from, each deeper inside the target than every nearer one."""
    deep_rows_from: int = 2000
    """Reference rows of the target that these are taken from."""
    single_changes: int = 24
    """Changes of one feature, the nearest that reach the target, that searches start from,"""
    single_values: int = 16
    """of so many values that reference rows of the target have."""
    climbed_levels: tuple[int, ...] = (0, 1)
    """Places of the shares for which a row without a firm start is searched from its firmest one."""
    climbing_sweeps: int = 3
    """Sweeps of such a row at most."""
    climbing_factors: tuple[float, ...] = (1.0, 1.1, 1.25, 1.5)
    """Multiples of the change of what such a sweep led to that are tried."""
    escape_levels: tuple[int, ...] = (0, 1)
    """Places of the shares for which points without their largest change are looked for as well,"""
    escape_stage: int = 1
    """before this sweep."""
    jumps: int = 24
    """Random points tried where nothing survives."""
    search_time_share: float = 0.5
    """Share of the time left that the search may take: counting candidates takes time too."""

    @property
    def check_samples(self) -> int:
        """Copies that choose among what was found."""
        return self.check_stages[-1]
