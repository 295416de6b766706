"""Surrogates of black boxes."""

from __future__ import annotations

from dataclasses import dataclass

from counterpoise.methods.settings.checked import Settings


@dataclass(frozen=True, repr=False)
class SurrogateSettings(Settings):
    """Boosted trees fitted to the outputs of a black box on the reference, and how the search uses them."""

    trees: int = 60
    """Trees of a surrogate; 0: searches of black boxes have none."""
    learning_rate: float = 0.2
    """Of boosting."""
    leaves_per_tree: int = 31
    """Leaves of each tree at most."""
    min_rows_per_leaf: int = 5
    """Reference rows that a leaf holds at least."""
    min_rows: int = 50
    """Reference rows below which there is no surrogate."""
    max_rows: int = 4000
    """Reference rows, evenly spread, that it is fitted to at most."""
    margins: tuple[float, ...] = (0.0, 0.3, 0.6)
    """Margins that its answers have, in units of the median one of reference rows of the target."""
    finished_points: int = 2
    """Best points of a row that are swept once more in the end, every change asked of the model; 0: none."""
    model_rows_per_column_for_slopes: int = 60
    """Model rows for each column from which on a search of few model rows follows slopes, where there are any."""
    least_starts: int = 3
    """Points, of its answers and of reference rows, that a search of few model rows starts from at least."""
    answers: int = 4
    """Answers of the surrogate that the model is asked about for each margin."""
    asked_share: float = 0.2
    """Share of the single changes of a sweep that the model is asked about, those that the surrogate thinks best of."""
    min_asked: int = 24
    """Single changes that it is asked about at least,"""
    asked_share_of_budget: float = 0.14
    """but no larger share of all its model rows than this."""
    min_sweeps: int = 8
    """Screened sweeps that a limited number of model rows should last for; then more points are swept."""

    def count_asked(self, changes: int, model_rows: float) -> int:
        """How many of the single changes of a point the model is asked about in a sweep."""
        wanted = max(self.min_asked, int(self.asked_share * changes))
        return max(1, int(min(wanted, self.asked_share_of_budget * model_rows)))
