"""Models made of models: voting, calibrated, stacked, one against the rest, with a threshold or a target of their own.

Where every member is made of trees, the trees of all of them are the trees of the whole: each member's leaves have sums
of their own, and the whole combines them in the last step from sums to outputs. Where every member has a slope, so has
the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterpoise.errors import CounterpoiseError
from counterpoise.models.links import ToOutputs
from counterpoise.models.registry import as_model
from counterpoise.models.sklearn.meta.combine import (
    CalibratedMeanCombiner,
    InverseTransformCombiner,
    MeanCombiner,
    MemberOutputs,
    OneVsRestCombiner,
    StackingCombiner,
    ThresholdCombiner,
    score_method_of,
    stack_answers,
)
from counterpoise.models.sklearn.meta.gradients import CombinedMembers, DifferentiableMetaModel
from counterpoise.models.sklearn.outputs import find_deciding_estimator
from counterpoise.models.sklearn.thresholds import has_threshold, is_from_sklearn, read_threshold
from counterpoise.models.trees.ensemble import TreeEnsemble
from counterpoise.models.trees.opened import MAX_ROUNDING_DIFFERENCE, TreeModel, make_tree_model, relative_difference
from counterpoise.space.schema.schema import Schema, numeric_schema
from counterpoise.types import Array, Link, Model

Combiner = Callable[[MemberOutputs], Array]


class MemberSums(NamedTuple):
    """How a member turns its sums into outputs: after division by ``divisor``, by ``to_outputs``, with this link."""

    to_outputs: ToOutputs
    link: Link
    sum_count: int
    divisor: int


@dataclass(frozen=True, eq=False)
class CombinedToOutputs:
    """From the sums of all members ``(p, s)`` to the outputs of the whole."""

    members: tuple[MemberSums, ...]
    combine: Combiner

    def __call__(self, sums: Array) -> Array:
        parts, start = [], 0
        for finish, link, count, divisor in self.members:
            member_sums = sums[:, start : start + count]
            parts.append((finish(member_sums if divisor == 1 else member_sums / divisor), link))
            start += count
        return self.combine(parts)


def adapt_meta_estimator(
    model: Any,
    plain: Model,
    schema: Schema,
    probe: Array,
    *,
    max_members_difference: float = 1e-9,
    max_reordering_difference: float = 1e-12,
) -> Model | None:
    """The Model of an estimator whose members are all trees or all have slopes; None for any other.

    Both limits are relative differences on the probing rows: how closely members with slopes must repeat the whole, and
    how closely trees must, to answer in its place (they add up in another order).
    """
    inside = _members_of(model) if is_from_sklearn(model) else None
    read = None if inside is None else _read_members(model, inside, schema, probe)
    if read is None:
        return None
    members, combine = read
    trees = [member for member in members if isinstance(member, TreeModel)]
    if trees:
        return _open_merged_trees(model, plain, merge_trees(trees, combine), probe, max_reordering_difference)
    blend = DifferentiableMetaModel(plain, CombinedMembers(members, combine))
    away = relative_difference(blend.outputs, plain.outputs, probe)
    return blend if away <= max_members_difference and _has_slope(blend, probe) else None


def _read_members(
    model: Any, inside: Sequence[Any], schema: Schema, probe: Array
) -> tuple[tuple[Model, ...], Combiner] | None:
    """The members of an estimator as Models, all of trees or all with slopes, and how it combines them."""
    try:
        members = tuple(as_model(member, schema, probe) for member in map(_unfreeze, inside))
        if not all(isinstance(member, TreeModel) for member in members):
            sloped = all(member.gradient is not None for member in members)
            if not sloped or any(map(_is_voting_svm, inside)):
                return None
        combine = _make_combiner(model, [(member.outputs(probe), member.link) for member in members])
    except CounterpoiseError:
        return None  # fitted on something else than the columns, or on answers that do not follow from sums
    return None if combine is None else (members, combine)


def _open_merged_trees(
    model: Any, plain: Model, trees: TreeEnsemble, probe: Array, max_reordering_difference: float
) -> Model | None:
    """The Model of an estimator whose members' trees repeat it; they answer in its place where they do so exactly."""
    away = relative_difference(trees.outputs, plain.outputs, probe)
    if not away <= MAX_ROUNDING_DIFFERENCE:
        return None
    # shares of votes are often at a threshold to the last bit
    exact = away == 0 if has_threshold(model) else away <= max_reordering_difference
    return make_tree_model(plain, trees.outputs if exact else plain.outputs, trees, probe)


def _has_slope(blend: DifferentiableMetaModel, probe: Array) -> bool:
    """Whether the combined outputs have a slope to follow; isotonic calibration, for one, goes by steps."""
    combine = blend.fast_outputs.combine
    if isinstance(combine, CalibratedMeanCombiner):
        return not any(
            type(each).__name__ == "IsotonicRegression"
            for _, calibrators in combine.calibrators
            for each in calibrators
        )
    if isinstance(combine, StackingCombiner):
        return combine.final_model.gradient is not None
    if isinstance(combine, InverseTransformCombiner):
        return bool(blend.gradient(probe, np.ones((len(probe), 1))).any(axis=1).mean() > 0.5)  # most probing rows
    return True


def _is_voting_svm(member: Any) -> bool:
    """Whether an estimator is an SVM of three classes or more, whose scores are changed to settle equal votes."""
    return (
        type(find_deciding_estimator(member)).__name__ in ("SVC", "NuSVC") and len(getattr(member, "classes_", ())) > 2
    )


def _members_of(model: Any) -> Sequence[Any] | None:
    """The members of an estimator made of estimators."""
    name = type(model).__name__
    if name in ("VotingClassifier", "VotingRegressor", "StackingClassifier", "StackingRegressor"):
        plainly = getattr(model, "voting", "soft") == "soft" and not getattr(model, "passthrough", False)
        return list(model.estimators_) if plainly else None
    if name == "CalibratedClassifierCV":
        return [each.estimator for each in model.calibrated_classifiers_]
    if name == "OneVsRestClassifier":
        return None if model.multilabel_ else list(model.estimators_)
    if has_threshold(model):
        return [read_threshold(model)[0]]
    return [model.regressor_] if name == "TransformedTargetRegressor" else None


def _unfreeze(model: Any) -> Any:
    return model.estimator if type(model).__name__ == "FrozenEstimator" else model


def _make_combiner(model: Any, parts: MemberOutputs) -> Combiner | None:
    """How an estimator combines its members; ``parts`` are their outputs of the probing rows."""
    name = type(model).__name__
    if name.startswith("Voting"):
        pairs = zip(() if model.weights is None else model.weights, model.estimators, strict=False)
        weights = [weight for weight, (_, member) in pairs if not isinstance(member, str)]  # "drop" is none
        return MeanCombiner(np.asarray(weights, dtype=np.float64) if weights else None, name.endswith("Classifier"))
    if name == "CalibratedClassifierCV":
        if any(each.method not in ("sigmoid", "isotonic") for each in model.calibrated_classifiers_):
            return None
        fitted = [(score_method_of(each.estimator), tuple(each.calibrators)) for each in model.calibrated_classifiers_]
        return CalibratedMeanCombiner(tuple(fitted), len(model.classes_))
    if name.startswith("Stacking"):
        methods = tuple(model.stack_method_)
        if name.endswith("Classifier") and "predict" in methods:
            return None  # labels
        z = stack_answers(parts, methods)
        return StackingCombiner(as_model(model.final_estimator_, numeric_schema(z.shape[1]), z), methods)
    if has_threshold(model):
        return ThresholdCombiner(*read_threshold(model)[1:])
    return (
        OneVsRestCombiner(score_method_of(model))
        if name == "OneVsRestClassifier"
        else InverseTransformCombiner(model.transformer_)
    )


def merge_trees(members: Sequence[TreeModel], combine: Combiner) -> TreeEnsemble:
    """The trees of several models as those of one, each member with sums of its own."""
    every = [member.trees for member in members]
    counts = np.array([(len(trees.feature), len(trees.category_sets), len(trees.base)) for trees in every])
    widest = max(trees.value.shape[1] for trees in every)
    moved = [
        _renumber_trees(trees, before, widest)
        for trees, before in zip(every, (np.cumsum(counts, axis=0) - counts).tolist(), strict=True)
    ]
    arrays: dict[str, Any] = {name: np.concatenate([one[name] for one in moved]) for name in moved[0]}
    spill = np.zeros(widest - every[-1].value.shape[1])  # of the zeros that fill up the last lines
    return TreeEnsemble(
        **arrays | {"base": np.append(arrays["base"], spill)},
        category_sets=tuple(levels for trees in every for levels in trees.category_sets),
        compares_in_single=np.logical_and.reduce([trees.compares_in_single for trees in every]),
        width=every[0].width,
        to_outputs=CombinedToOutputs(tuple(map(_describe_sums, members)), combine),
    )


def _renumber_trees(trees: TreeEnsemble, before: Sequence[int], width: int) -> dict[str, Any]:
    """The arrays of an ensemble that so many nodes, sets of categories and sums come before, with leaves so wide."""
    first_node, first_set, first_sum = before
    leaf_values = trees.value if trees.averages_leaves else trees.scale * trees.value
    return {
        "feature": trees.feature,
        "threshold": trees.threshold,
        "left": np.where(trees.left < 0, -1, trees.left + first_node),
        "right": np.where(trees.right < 0, -1, trees.right + first_node),
        "missing_left": trees.missing_left,
        "category": np.where(trees.category < 0, -1, trees.category + first_set),
        "value": np.pad(leaf_values, ((0, 0), (0, width - leaf_values.shape[1]))),
        "roots": trees.roots + first_node,
        "first_sum": trees.first_sum + first_sum,
        "base": np.zeros(len(trees.base)) if trees.averages_leaves else trees.base,
    }


def _describe_sums(member: TreeModel) -> MemberSums:
    trees = member.trees
    return MemberSums(trees.to_outputs, member.link, len(trees.base), len(trees.roots) if trees.averages_leaves else 1)
