"""Care: how thoroughly rows are searched, by the kind of model; docs/choices.md says how it was measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.cell_values import Cells
from counterpoise.models.trees.leaves import Leaves
from counterpoise.problem import Problem

MAX_CELLS_SWEPT_LONGER = 600  # a model of fewer split points than this is swept longer,
MAX_SWEEP_FACTOR = 4  # up to so many times as long
MAX_LEAVES_OF_SMALL_MODEL = 400  # of all trees together
MAX_COLUMNS_TRIED_ALONE = 300  # columns: in wider tables trying each of them alone costs more than it finds


class SearchSettings(NamedTuple):
    """How thoroughly rows are searched: starts, sweeps and surveys."""

    starts: int  # starts of a row whose model has neither slope nor known leaves
    swept_chains: int  # chains that are swept
    sweep_width: int  # values each way that a sweep tries
    screened_features: int  # features that later sweeps try
    sweep_patience: int  # sweeps without a gain after which a row is finished
    beam_widths: tuple[int, ...]  # points surveyed in a round, where the leaves are known: in the second, in later ones
    margin_price_factors: tuple[float, ...]  # what margin is taken to cost then, over what it has cost so far: by turns
    round_patience: int  # rounds without a gain after which a row is finished, however much the next one promises
    min_gain_share: float  # share of the effort that a round has to gain


VOTE_SETTINGS = SearchSettings(
    starts=48,
    swept_chains=6,
    sweep_width=5,
    screened_features=30,
    sweep_patience=3,
    beam_widths=(8,),
    margin_price_factors=(1.3, 1.6, 2.0),
    round_patience=4,
    min_gain_share=1e-3,
)
SUM_SETTINGS = SearchSettings(
    starts=24,
    swept_chains=3,
    sweep_width=4,
    screened_features=14,
    sweep_patience=1,
    beam_widths=(8, 3),
    margin_price_factors=(2.0,),
    round_patience=4,
    min_gain_share=0.1,
)
"""Single changes tell scores that add up, as of boosted trees, well; votes, as of forests, less so."""
SLOW_SUM_SETTINGS = SUM_SETTINGS._replace(
    beam_widths=VOTE_SETTINGS.beam_widths, min_gain_share=VOTE_SETTINGS.min_gain_share
)
"""Where the way is not found so fast, or costs little."""


def choose_settings(problem: Problem) -> SearchSettings:
    """How thoroughly to search for a model of this kind."""
    if problem.sums_probabilities:
        return VOTE_SETTINGS
    return SUM_SETTINGS if is_large_boosting(problem) and problem.region.max_changes is None else SLOW_SUM_SETTINGS


def is_large_boosting(problem: Problem) -> bool:
    """Whether trees are many, and lead from the row itself to near answers in few rounds of surveys.

    Probabilities may stay as they are around the row, and Gower's distance makes many features cheap to change.
    """
    if problem.model.link == "log" or problem.energy.distance.averages_features:
        return False
    return not has_few_leaves(leaves_of(problem))


def has_few_leaves(leaves: Leaves | None) -> bool:
    """Whether there are so few leaves that surveying them all the more often costs next to nothing."""
    return leaves is not None and len(leaves.value) <= MAX_LEAVES_OF_SMALL_MODEL


def sweep_factor(cells: Cells | None) -> int:
    """How many times as long to sweep: a model of few cells answers fast, and its best combination can be had."""
    return (
        1
        if cells is None
        else int(np.clip(MAX_CELLS_SWEPT_LONGER / max(int(cells.split_counts.sum()), 1), 1, MAX_SWEEP_FACTOR))
    )


def leaves_of(problem: Problem) -> Leaves | None:
    """The leaves of the model, where they are known and tell what the search is after."""
    return None if problem.cloud is not None else problem.model.leaves


def prefers_few_changes(problem: Problem) -> bool:
    """Whether few features should change, of so few that each can be tried alone."""
    return problem.x0.shape[1] <= MAX_COLUMNS_TRIED_ALONE and not problem.energy.distance.spreads_changes


def penalises_count(problem: Problem) -> bool:
    """Whether changes are counted beside their length, or few are allowed, where each feature can be tried alone."""
    distance = problem.energy.distance
    few = distance.change_price > 0 or problem.region.max_changes is not None
    return few and distance.spreads_changes and problem.x0.shape[1] <= MAX_COLUMNS_TRIED_ALONE


def starts_at_row(problem: Problem) -> bool:
    """Whether the row itself leads to answers of few changes as well as reference rows do.

    Then these are looked for where it leads nowhere. They say where a range of numbers is met, what is plausible and,
    for trees, what relations leave room for.
    """
    if problem.region.max_changes is not None or problem.cloud is not None or not problem.energy.is_norm_plus_l1:
        return False
    if problem.model.labels is None:
        return False
    if problem.has_gradient:
        return prefers_few_changes(problem)
    return leaves_of(problem) is not None and not len(problem.region.system) and is_large_boosting(problem)
