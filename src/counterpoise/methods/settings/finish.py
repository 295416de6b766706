"""What follows a search: polish, firm answers, and how much is worked on at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from counterpoise.methods.settings.base import Settings
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
    """The search for answers of least free energy."""

    points: int = 5
    """Points of each row that are carried along."""
    sweeps: int = 4
    """Sweeps of each row at most; the first without a gain is the last."""
    swept_points: int = 2
    """Best points that are swept, beside the row itself."""
    sweep_width: int = 3
    """Values each way that such a sweep tries."""
    samples: int = 32
    """Noisy copies of a point that guide the search."""
    check_samples: int = 512
    """Other copies that choose among its answers."""
    stretch_factors: tuple[float, ...] = (1.0, 1.08, 1.2, 1.4, 1.7, 2.2, 3.0, 4.5)
    """Multiples of the change of the minimal answers that searches start from."""
    final_stretch_factors: tuple[float, ...] = (1.0, 1.02, 1.05, 1.09, 1.15, 1.25, 1.4, 1.7)
    """Multiples of the change of what was found that the other copies choose from."""
    blend_shares: tuple[float, ...] = (0.25, 0.5, 0.75)
    """Shares of the way from the minimal answer to reference rows that searches start from."""
    start_halvings: int = 5
    """Halvings of each start towards the minimal answer."""
    search_time_share: float = 0.5
    """Share of the time left that the search may take: checking on other copies takes time too."""
    far_starts: int = 64
    """Reference rows, and random points, tried where nothing nearer survives."""
    deep_reference_rows: int = 24
    """Reference rows tried where what was found does not survive on the other copies."""


@dataclass(frozen=True, repr=False)
class FirmShareSettings(Settings):
    """The search for answers of which a share of noisy copies keeps the target."""

    shares: tuple[float, ...] = (0.95, 0.9, 0.8, 0.5)
    """The grid of shares that is searched, whatever share is asked for."""
    points: int = 5
    """Reference rows that searches start from, and answers that are given at most for each one asked for."""
    start_candidates: int = 12
    """Starts, the firmest first, that are candidates as they are."""
    samples: int = 32
    """Noisy copies of a point that guide the search."""
    first_samples: int = 8
    """Of these, copies that points farther away must keep all to be counted further."""
    check_samples: int = 256
    """Other copies, on which candidates are counted."""
    first_check_samples: int = 32
    """Of these, copies that every candidate is counted on."""
    spare_deviations: float = 2.5
    """Standard deviations that the share counted must lie above the share asked for."""
    stretch_factors: tuple[float, ...] = (1.0, 1.08, 1.2, 1.4, 1.7, 2.2, 3.0, 4.5)
    """Multiples of the change of the minimal answers that searches start from."""
    final_stretch_factors: tuple[float, ...] = (1.0, 1.03, 1.08, 1.2, 1.5)
    """Multiples of the change of what was found for each share that are candidates."""
    blend_shares: tuple[float, ...] = (0.25, 0.5, 0.75)
    """Shares of the way from the minimal answer to reference rows that searches start from."""
    start_halvings: int = 5
    """Halvings of each start towards the minimal answer."""
    sweeps: int = 2
    """Sweeps for each share at most; the first without a gain is the last."""
    sweep_width: int = 3
    """Values each way that a sweep tries."""
    swept_features: int = 8
    """Features that a sweep tries: those that do most without noise."""
    min_gain_share: float = 0.01
    """Share of the effort that a sweep has to gain for another to follow."""
    far_starts: int = 64
    """Reference rows, and random points, tried where nothing nearer survives."""
    search_time_share: float = 0.5
    """Share of the time left that the search may take: counting candidates takes time too."""
