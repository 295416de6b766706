"""Models made of models: voting, calibrated, stacked, one against the rest, with a threshold or a target of their own.

Where every member is made of trees, the trees of all of them are the trees of the whole: each member's leaves have sums
of their own, and what the whole makes of its members is the last step from sums to outputs. Where every member has a
slope, so has the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterpoise.errors import CounterpoiseError
from counterpoise.models.adapt import as_model
from counterpoise.models.blending import Blend, Joint
from counterpoise.models.combining import (
    AgainstTheRest,
    Averaged,
    Calibrated,
    Inverted,
    Parts,
    Stacked,
    Thresholded,
    beside,
    deciding,
    has_threshold,
    method_of,
    of_sklearn,
)
from counterpoise.models.links import Finish
from counterpoise.models.trees import TreeEnsemble
from counterpoise.models.ways import innermost
from counterpoise.models.whitebox import MISREAD, TreeModel, gap, opened
from counterpoise.space.features import Schema, numbers_of
from counterpoise.types import Array, Differentiable, Link, Model

EXACT = 1e-12  # relative difference of what is added up in another order
AGREEMENT = 1e-9  # how closely members with slopes must repeat the whole
STEEP = 0.5  # of the probing rows, which must have a slope


class Member(NamedTuple):
    """What a member makes of its sums, what that is, how many there are, and what they are divided by before."""

    finish: Finish
    link: Link
    sums: int
    divisor: int


@dataclass(frozen=True, eq=False)
class Whole:
    """From the sums of all members ``(p, s)`` to the outputs of the whole."""

    members: tuple[Member, ...]
    combine: Callable[[Parts], Array]

    def __call__(self, sums: Array) -> Array:
        parts, start = [], 0
        for finish, link, count, divisor in self.members:
            own = sums[:, start : start + count]
            parts.append((finish(own if divisor == 1 else own / divisor), link))
            start += count
        return self.combine(parts)


def composite(model: Any, plain: Model, schema: Schema, probe: Array) -> Model | None:
    """The Model of an estimator whose members are all trees, or all have slopes; None where it is something else."""
    inside = _inside(model) if of_sklearn(model) else None
    if inside is None:
        return None
    try:
        members = [as_model(member, schema, probe) for member in map(_thawed, inside)]
        sloped = tuple(member for member in members if isinstance(member, Differentiable))
        found = [member for member in members if isinstance(member, TreeModel)]
        if len(members) not in (len(found), len(sloped)):
            return None
        combine = _combined(model, [(member.outputs(probe), member.link) for member in members])
    except CounterpoiseError:
        return None  # fitted on something else than the columns, or on answers that cannot be told from sums
    if combine is None:
        return None
    if not found:
        blend = Blend(plain, Joint(sloped, combine))
        told = gap(blend.outputs, plain.outputs, probe) <= AGREEMENT and not any(map(_voting, inside))
        return blend if told and _sloped(blend, probe) else None
    trees = together(found, combine)
    away = gap(trees.outputs, plain.outputs, probe)
    if not away <= MISREAD:
        return None
    # shares of votes are often at a threshold to the last bit
    exact = away == 0 if has_threshold(model) else away <= EXACT
    return opened(plain, trees.outputs if exact else plain.outputs, trees, probe)


def _sloped(blend: Blend, probe: Array) -> bool:
    """Whether what is made of the members has a slope to follow: not where it goes by steps."""
    combine = blend.scores.combine
    if isinstance(combine, Calibrated):
        return not any(type(each).__name__ == "IsotonicRegression" for _, own in combine.calibrators for each in own)
    if isinstance(combine, Stacked):
        return isinstance(combine.last, Differentiable)
    if isinstance(combine, Inverted):
        return bool(blend.gradient(probe, np.ones((len(probe), 1))).any(axis=1).mean() > STEEP)
    return True


def _voting(member: Any) -> bool:
    """Whether an estimator's scores are read otherwise than it gives them: so that the first of equal votes wins."""
    return type(innermost(member)).__name__ in ("SVC", "NuSVC") and len(getattr(member, "classes_", ())) > 2


def _inside(model: Any) -> Sequence[Any] | None:
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
        return [deciding(model)[0]]
    return [model.regressor_] if name == "TransformedTargetRegressor" else None


def _thawed(model: Any) -> Any:
    return model.estimator if type(model).__name__ == "FrozenEstimator" else model


def _combined(model: Any, parts: Parts) -> Callable[[Parts], Array] | None:
    """What an estimator makes of its members; ``parts`` are what they say of the probing rows."""
    name = type(model).__name__
    if name.startswith("Voting"):
        pairs = zip(() if model.weights is None else model.weights, model.estimators, strict=False)
        weights = [weight for weight, (_, member) in pairs if not isinstance(member, str)]  # "drop" is none
        return Averaged(np.asarray(weights, dtype=np.float64) if weights else None, name.endswith("Classifier"))
    if name == "CalibratedClassifierCV":
        if any(each.method not in ("sigmoid", "isotonic") for each in model.calibrated_classifiers_):
            return None
        fitted = [(method_of(each.estimator), tuple(each.calibrators)) for each in model.calibrated_classifiers_]
        return Calibrated(tuple(fitted), len(model.classes_))
    if name.startswith("Stacking"):
        methods = tuple(model.stack_method_)
        if name.endswith("Classifier") and "predict" in methods:
            return None  # labels
        z = beside(parts, methods)
        return Stacked(as_model(model.final_estimator_, numbers_of(z.shape[1]), z), methods)
    if has_threshold(model):
        return Thresholded(*deciding(model)[1:])
    return AgainstTheRest(method_of(model)) if name == "OneVsRestClassifier" else Inverted(model.transformer_)


def together(members: Sequence[TreeModel], combine: Callable[[Parts], Array]) -> TreeEnsemble:
    """The trees of several models as those of one, each member with sums of its own."""
    every = [member.trees for member in members]
    sets = np.cumsum([0, *(len(trees.sets) for trees in every)])
    shifts = np.cumsum([0, *(len(trees.feature) for trees in every)])
    starts = np.cumsum([0, *(len(trees.base) for trees in every)])
    value = np.zeros((shifts[-1], max(trees.value.shape[1] for trees in every)))
    for trees, shift in zip(every, shifts, strict=False):
        own = trees.value if trees.mean else trees.scale * trees.value
        value[shift : shift + len(own), : own.shape[1]] = own
    spill = np.zeros(value.shape[1] - every[-1].value.shape[1])  # of the zeros that fill up the last lines
    base = [np.zeros(len(trees.base)) if trees.mean else trees.base for trees in every]
    places = list(zip(every, shifts.tolist(), sets.tolist(), strict=False))
    return TreeEnsemble(
        feature=np.concatenate([trees.feature for trees in every]),
        threshold=np.concatenate([trees.threshold for trees in every]),
        left=np.concatenate([np.where(trees.left < 0, -1, trees.left + shift) for trees, shift, _ in places]),
        right=np.concatenate([np.where(trees.right < 0, -1, trees.right + shift) for trees, shift, _ in places]),
        missing_left=np.concatenate([trees.missing_left for trees in every]),
        category=np.concatenate([np.where(trees.category < 0, -1, trees.category + k) for trees, _, k in places]),
        sets=tuple(levels for trees in every for levels in trees.sets),
        value=value,
        roots=np.concatenate([trees.roots + shift for trees, shift, _ in places]),
        column=np.concatenate([trees.column + start for trees, start in zip(every, starts, strict=False)]),
        base=np.concatenate([*base, spill]),
        single=np.logical_and.reduce([trees.single for trees in every]),
        width=every[0].width,
        finish=Whole(
            tuple(
                Member(trees.finish, member.link, len(trees.base), len(trees.roots) if trees.mean else 1)
                for trees, member in zip(every, members, strict=True)
            ),
            combine,
        ),
    )
