"""The numbers that steer the sampler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SamplerSettings:
    """How many chains, temperatures and steps, and how fine the values of a column are told apart.

    >>> SamplerSettings(temperatures=4).chains
    40
    """

    ladders: int = 10
    """Independent copies of the whole ladder of temperatures; their agreement is what R-hat measures."""
    temperatures: int = 6
    """Temperatures of a ladder, the lowest being the one that is asked for."""
    hottest: float = 3.0
    """The highest temperature of a ladder, as a multiple of the lowest, before the swap rates adapt it."""
    adaptation_sweeps: int = 30
    """Sweeps of each of the rounds in which ladder and proposals adapt; their points are thrown away."""
    adaptation_rounds: int = 3
    """Rounds of adaptation."""
    relearning_sweeps: tuple[int, ...] = (150, 400)
    """Sweeps of both rounds in which a row whose chains are far apart adapts again, the first and the second time."""
    far_r_hat: float = 1.04
    """R-hat, at the second look at the diagnostics, of chains that are far apart."""
    block_sweeps: int = 50
    """Sweeps between two looks at the diagnostics."""
    max_sweeps: int = 9000
    """Sweeps after which the sampler stops, converged or not."""
    max_r_hat: float = 1.01
    """R-hat that counts as converged."""
    min_swap_rate: float = 0.2
    """Least rate of swaps between neighbouring temperatures; the ladder is drawn together until it is reached."""
    max_listed_values: int = 64
    """Whole numbers, decimals and steps of a column that are told apart one by one; more are put into intervals."""
    resolution: float = 0.05
    """Width of the intervals next to the row's own value, as a share of the length of its answer."""
    linear_intervals: int = 20
    """Intervals of that width on either side; farther out each is wider than the one before."""
    widening: float = 1.15
    """How much wider."""
    reference_rows: int = 5000
    """Reference rows, evenly spread, that the weights of values are counted on."""
    max_known_points: int = 500_000
    """Points of single values that are remembered, so that the model is not asked about them again."""
    slab_share: float = 0.2
    """Share of proposed values that come from the base measure itself."""

    @property
    def chains(self) -> int:
        """Chains of a row: ladders times temperatures."""
        return self.ladders * self.temperatures
