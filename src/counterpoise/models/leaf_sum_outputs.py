"""The last step from sums of leaves to outputs: whether it is affine or monotone."""

from __future__ import annotations

import numpy as np

from counterpoise.models.libraries.catboost import ScaledToOutputs
from counterpoise.models.links import (
    SoftmaxToOutputs,
    ToOutputs,
    exponential,
    keep_sums,
    logistic,
    two_outputs_zero_first,
    two_outputs_zero_second,
)
from counterpoise.models.sklearn.forest import DepthsToOutputs
from counterpoise.models.sklearn.meta.combine import MeanCombiner
from counterpoise.models.sklearn.meta.members import CombinedToOutputs
from counterpoise.models.trees.leaves import Leaves
from counterpoise.types import Array

RISING = (keep_sums, two_outputs_zero_first, two_outputs_zero_second, exponential, logistic)


def is_monotone(finish: ToOutputs) -> bool:
    """Whether outputs of a model with one sum are known to rise or fall with it throughout."""
    if isinstance(finish, SoftmaxToOutputs):
        return is_monotone(finish.to_outputs)
    if isinstance(finish, ScaledToOutputs):
        return is_monotone(finish.second)
    return finish in RISING or isinstance(finish, DepthsToOutputs)


def affine_outputs(leaves: Leaves) -> tuple[Array, Array] | None:
    """The matrix ``(c, s)`` and the offset ``(c,)`` that make outputs of sums, or None where they are not affine.

    A softmax of what is affine does not count as such, and is left out: it keeps the order of outputs.
    """
    finish = leaves.to_outputs.to_outputs if isinstance(leaves.to_outputs, SoftmaxToOutputs) else leaves.to_outputs
    if not _is_affine(finish):
        return None
    corners = finish(np.vstack([np.zeros(len(leaves.base)), np.eye(len(leaves.base))]))
    return (corners[1:] - corners[0]).T, corners[0]


def _is_affine(finish: ToOutputs) -> bool:
    if isinstance(finish, ScaledToOutputs):
        return finish.second is keep_sums
    if isinstance(finish, CombinedToOutputs):
        plain = isinstance(finish.combine, MeanCombiner) and all(
            member.to_outputs is keep_sums for member in finish.members
        )
        is_regression = not getattr(finish.combine, "is_classifier", True)
        return plain and (is_regression or all(member.link == "log" for member in finish.members))
    return finish is keep_sums
