"""What kind of model and question a search has, and how thoroughly to search it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from counterpoise.methods.cell_values import Cells
from counterpoise.methods.settings.search_settings import DEFAULTS, SearchSettings, Thoroughness
from counterpoise.models.trees.leaves import Leaves
from counterpoise.problem import Problem


def choose_thoroughness(problem: Problem, settings: SearchSettings = DEFAULTS) -> Thoroughness:
    """How thoroughly to search for a model of this kind."""
    votes, sums = settings.votes, settings.sums
    if problem.sums_probabilities:
        return votes
    if is_large_boosting(problem, settings=settings) and problem.region.max_changes is None:
        return sums
    return replace(sums, beam_widths=votes.beam_widths, min_gain_share=votes.min_gain_share)


def is_large_boosting(problem: Problem, settings: SearchSettings = DEFAULTS) -> bool:
    """True for boosted trees with more leaves than a small model has, where few rounds of surveys suffice.

    False where the model gives probabilities, which may be level around the row, and for Gower's distance, which makes
    many features cheap to change.
    """
    if problem.model.link == "log" or problem.energy.distance.averages_features:
        return False
    return not has_few_leaves(leaves_of(problem), settings=settings)


def has_few_leaves(leaves: Leaves | None, settings: SearchSettings = DEFAULTS) -> bool:
    """True if there are so few leaves that surveying them to the end costs next to nothing."""
    return leaves is not None and len(leaves.value) <= settings.trees.max_leaves_of_small_model


def sweep_factor(cells: Cells | None, settings: SearchSettings = DEFAULTS) -> int:
    """How many times as often to sweep: a model of few cells answers fast."""
    return (
        1
        if cells is None
        else int(
            np.clip(
                settings.trials.max_cells_swept_longer / max(int(cells.split_counts.sum()), 1),
                1,
                settings.trials.max_sweep_factor,
            )
        )
    )


def is_black_box(problem: Problem) -> bool:
    """Whether nothing is known of the model but what it answers."""
    return not problem.has_gradient and problem.model.leaves is None and problem.model.thresholds is None


def leaves_of(problem: Problem) -> Leaves | None:
    """The leaves of the model; None where they are not known, or where noisy copies decide."""
    return None if problem.cloud is not None else problem.model.leaves


def prefers_few_changes(problem: Problem, settings: SearchSettings = DEFAULTS) -> bool:
    """True if the distance prefers few changes (no L2 in it) and there are few enough columns to try each alone."""
    return (
        problem.x0.shape[1] <= settings.trials.max_columns_tried_alone and not problem.energy.distance.spreads_changes
    )


def penalises_count(problem: Problem, settings: SearchSettings = DEFAULTS) -> bool:
    """True if the number of changes is penalised beside L2, or capped, and columns are few enough to try each alone."""
    counts_changes = problem.energy.counts_changes or problem.region.max_changes is not None
    narrow = problem.x0.shape[1] <= settings.trials.max_columns_tried_alone
    return counts_changes and narrow and problem.energy.distance.spreads_changes


def starts_at_row(problem: Problem, settings: SearchSettings = DEFAULTS) -> bool:
    """True if the search starts at the row and fetches reference rows only if that fails.

    False for ranges of numbers, capped changes, noise and plausibility, and for trees under relations: there reference
    rows say where an answer can be.
    """
    if problem.region.max_changes is not None or problem.cloud is not None or not problem.energy.is_norm_plus_prices:
        return False
    if problem.model.labels is None:
        return False
    if problem.has_gradient:
        return prefers_few_changes(problem, settings=settings)
    return (
        leaves_of(problem) is not None
        and not len(problem.region.system)
        and is_large_boosting(problem, settings=settings)
    )
