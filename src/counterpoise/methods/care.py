"""Care: how thoroughly rows are searched, by the kind of model; docs/choices.md says how it was measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.methods.cells import Cells
from counterpoise.models.leaves import Leaves
from counterpoise.problem import Problem

FEW_CELLS = 600  # a model of fewer split points than this is swept longer,
MOST_THOROUGH = 4  # up to so many times as long
FEW_LEAVES = 400  # of all trees together
NARROW = 300  # columns: in wider tables trying each of them alone costs more than it finds


class Care(NamedTuple):
    """How thoroughly rows are searched: blind chains and their steps, then sweeps."""

    chains: int
    steps: int
    swept: int  # chains that are swept
    width: int  # values each way that a sweep tries
    screened: int  # features that later sweeps try
    patient: int  # sweeps without a gain after which a row is finished
    beam: tuple[int, ...]  # points surveyed in a round, where the leaves are known: in the second, in later ones
    dear: tuple[float, ...]  # what margin is taken to cost then, over what it has cost so far: by turns
    lasting: int  # rounds without a gain after which a row is finished, however much the next one promises
    worth: float  # share of the effort that a round has to gain


VOTES = Care(
    chains=48,
    steps=10,
    swept=6,
    width=5,
    screened=30,
    patient=3,
    beam=(8,),
    dear=(1.3, 1.6, 2.0),
    lasting=4,
    worth=1e-3,
)
SUMS = Care(
    chains=24,
    steps=5,
    swept=3,
    width=4,
    screened=14,
    patient=1,
    beam=(8, 3),
    dear=(2.0,),
    lasting=4,
    worth=0.1,
)
"""Single changes tell scores that add up, as of boosted trees, well; votes, as of forests, less so."""
SLOW_SUMS = SUMS._replace(beam=VOTES.beam, worth=VOTES.worth)
"""Where the way is not found so fast, or costs little."""


def care_of(problem: Problem) -> Care:
    """How thoroughly to search for a model of this kind."""
    if problem.votes:
        return VOTES
    return SUMS if straight(problem) and problem.region.max_changes is None else SLOW_SUMS


def straight(problem: Problem) -> bool:
    """Whether trees are many, and lead from the row itself to near answers in few rounds of surveys.

    Probabilities may stay as they are around the row, and Gower's distance makes many features cheap to change.
    """
    if problem.model.link == "log" or problem.energy.distance.weight("gower"):
        return False
    return not small(leaves_of(problem))


def small(leaves: Leaves | None) -> bool:
    """Whether there are so few leaves that surveying them all the more often costs next to nothing."""
    return leaves is not None and len(leaves.value) <= FEW_LEAVES


def thoroughness(cells: Cells | None) -> int:
    """How many times as long to sweep: a model of few cells answers fast, and its best combination can be had."""
    return 1 if cells is None else int(np.clip(FEW_CELLS / max(int(cells.count.sum()), 1), 1, MOST_THOROUGH))


def leaves_of(problem: Problem) -> Leaves | None:
    """The leaves of the model, where they are known and tell what the search is after."""
    return None if problem.cloud is not None else getattr(problem.model, "leaves", None)


def sparing(problem: Problem) -> bool:
    """Whether few features should change, of so few that each can be tried alone."""
    return problem.x0.shape[1] <= NARROW and problem.energy.distance.weight("l2") == 0


def counted(problem: Problem) -> bool:
    """Whether changes are counted beside their length, or few are allowed, where each feature can be tried alone."""
    distance = problem.energy.distance
    few = distance.weight("l0") > 0 or problem.region.max_changes is not None
    return few and distance.weight("l2") > 0 and problem.x0.shape[1] <= NARROW


def late(problem: Problem) -> bool:
    """Whether the row itself leads to answers of few changes as well as reference rows do.

    Then these are looked for where it leads nowhere. They say where a range of numbers is met, what is plausible and,
    for trees, what relations leave room for.
    """
    if problem.region.max_changes is not None or problem.cloud is not None or not problem.energy.additive:
        return False
    if problem.model.labels is None:
        return False
    if problem.differentiable:
        return sparing(problem)
    return leaves_of(problem) is not None and not len(problem.region.system) and straight(problem)
