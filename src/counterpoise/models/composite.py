"""Models made of models: voting, calibrated, stacked, one against the rest, with a threshold or a target of their own.

Where every member is made of trees, the trees of all of them are the trees of the whole: each member's leaves have sums
of their own, and what the whole makes of its members is the last step from sums to outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from counterpoise.errors import CounterpoiseError
from counterpoise.models.adapt import as_model
from counterpoise.models.links import Finish
from counterpoise.models.machine import two_columns
from counterpoise.models.trees import TreeEnsemble
from counterpoise.models.whitebox import MISREAD, TreeModel, gap
from counterpoise.space.features import Feature, Schema, array_names
from counterpoise.types import Array, Link, Model

THRESHOLDED = ("FixedThresholdClassifier", "TunedThresholdClassifierCV")
EXACT = 1e-12  # relative difference of what is added up in another order

Parts = list[tuple[Array, Link]]
"""The outputs ``(p, c)`` of each member, and what they are."""


def chances(outputs: Array, link: Link) -> Array:
    """Probabilities ``(p, c)`` from a member's outputs."""
    if link == "log":
        return outputs
    if outputs.shape[1] == 2:
        second = expit(outputs[:, 1] - outputs[:, 0])
        return np.stack([1.0 - second, second], axis=1)
    return np.asarray(softmax(outputs, axis=1))


def read(part: tuple[Array, Link], method: str) -> Array:
    """What one of a member's methods says: where there are two classes, the score of the second alone ``(p, 1)``."""
    outputs, link = part
    if method == "predict_proba":
        found = chances(outputs, link)
        return found[:, 1:] if found.shape[1] == 2 else found
    pair = method == "decision_function" and outputs.shape[1] == 2
    return outputs[:, 1:] - outputs[:, :1] if pair else outputs


def method_of(member: Any) -> str:
    """The method by which scikit-learn asks a classifier for its scores."""
    return "decision_function" if hasattr(member, "decision_function") else "predict_proba"


@dataclass(frozen=True, eq=False)
class Averaged:
    """The mean of probabilities, or of numbers."""

    weights: Array | None
    labelled: bool

    def __call__(self, parts: Parts) -> Array:
        said = [chances(*part) if self.labelled else part[0] for part in parts]
        return np.asarray(np.average(said, axis=0, weights=self.weights))


@dataclass(frozen=True, eq=False)
class Calibrated:
    """The mean of probabilities that calibrators make of scores, class by class."""

    calibrators: tuple[tuple[str, Any], ...]  # of each member, with the method that they were fitted on
    classes: int

    def __call__(self, parts: Parts) -> Array:
        return np.asarray(np.mean([self._one(*pair) for pair in zip(parts, self.calibrators, strict=True)], axis=0))

    def _one(self, part: tuple[Array, Link], fitted: tuple[str, Any]) -> Array:
        method, calibrators = fitted
        scores = read(part, method).T
        found = np.stack([each.predict(score) for each, score in zip(calibrators, scores, strict=True)], axis=1)
        if self.classes == 2:
            return np.hstack([1.0 - found, found])
        total = found.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(found, total, out=np.full_like(found, 1 / self.classes), where=total != 0))


@dataclass(frozen=True, eq=False)
class Stacked:
    """What a last model says of the members' answers."""

    last: Model
    methods: tuple[str, ...]

    def __call__(self, parts: Parts) -> Array:
        return np.asarray(self.last.outputs(beside(parts, self.methods)))


def beside(parts: Parts, methods: Sequence[str]) -> Array:
    """The members' answers ``(p, q)`` side by side."""
    return np.hstack([read(part, method) for part, method in zip(parts, methods, strict=True)])


@dataclass(frozen=True, eq=False)
class AgainstTheRest:
    """Each member's score of its own class; probabilities add up to 1."""

    method: str

    def __call__(self, parts: Parts) -> Array:
        found = beside(parts, [self.method] * len(parts))
        if self.method == "decision_function":
            return found if found.shape[1] > 1 else two_columns(found[:, 0])
        found = found if found.shape[1] > 1 else np.hstack([1.0 - found, found])
        return np.asarray(found / found.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Inverted:
    """A number brought back from the scale on which the member was fitted."""

    transformer: Any

    def __call__(self, parts: Parts) -> Array:
        return np.asarray(self.transformer.inverse_transform(parts[0][0]), dtype=np.float64).reshape(-1, 1)


@dataclass(frozen=True, eq=False)
class Thresholded:
    """How far the score of one class is beyond a threshold; at it, the class is said."""

    column: int  # of the class
    threshold: float
    likely: bool  # whether the score is a probability

    def __call__(self, parts: Parts) -> Array:
        outputs, link = parts[0]
        score = chances(outputs, link) if self.likely else outputs - outputs[:, ::-1]
        return beyond(score[:, self.column], self.threshold, self.column)


def beyond(score: Array, threshold: float, column: int) -> Array:
    """Outputs ``(p, 2)`` of the class in a column that is said where its score ``(p,)`` is at least a threshold.

    >>> beyond(np.array([0.2, 0.3]), 0.3, 1).argmax(axis=1)
    array([0, 1])
    """
    over = score - threshold
    over = np.where(over == 0, np.finfo(np.float64).tiny, over)
    return two_columns(over if column else -over)


def thresholded(model: Any) -> Callable[[Any], Array]:
    """From what an estimator with a threshold reads to how far it is beyond it, as outputs ``(p, 2)``."""
    scored, column, threshold, likely = deciding(model)

    def raw(rows: Any) -> Array:
        if likely:
            return beyond(np.asarray(scored.predict_proba(rows), dtype=np.float64)[:, column], threshold, column)
        score = np.asarray(scored.decision_function(rows), dtype=np.float64)
        return beyond(score if column else -score, threshold, column)

    return raw


@dataclass(frozen=True, eq=False)
class Whole:
    """From the sums of all members ``(p, s)`` to the outputs of the whole."""

    members: tuple[tuple[Finish, Link, int], ...]  # what each makes of its sums, what that is, and how many there are
    combine: Callable[[Parts], Array]

    def __call__(self, sums: Array) -> Array:
        parts, start = [], 0
        for finish, link, count in self.members:
            parts.append((finish(sums[:, start : start + count]), link))
            start += count
        return self.combine(parts)


def composite(model: Any, plain: Model, schema: Schema, probe: Array) -> TreeModel | None:
    """The Model of an estimator whose members are all trees, or None where it is something else."""
    inside = _inside(model)
    if inside is None:
        return None
    try:
        members = [as_model(member, schema, probe) for member in map(_thawed, inside)]
    except CounterpoiseError:
        return None  # fitted on something else than the columns
    if not all(isinstance(member, TreeModel) for member in members):
        return None
    found = [member for member in members if isinstance(member, TreeModel)]
    combine = _combined(model, [(member.outputs(probe), member.link) for member in found])
    if combine is None:
        return None
    trees = together(found, combine)
    away = gap(trees.outputs, plain.outputs, probe)
    if not away <= MISREAD:
        return None
    return TreeModel(plain, trees.outputs if away <= EXACT else plain.outputs, trees)


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
    if name in THRESHOLDED:
        return [deciding(model)[0]]
    return [model.regressor_] if name == "TransformedTargetRegressor" else None


def deciding(model: Any) -> tuple[Any, int, float, bool]:
    """Of an estimator with a threshold: who scores, the column of the class, the threshold, and of what it is one."""
    inner = getattr(model, "estimator_", model.estimator)
    method = model.response_method
    likely = hasattr(inner, "predict_proba") if method == "auto" else method == "predict_proba"
    tuned = hasattr(model, "best_threshold_")
    given = model.best_threshold_ if tuned else model.threshold
    scorer = getattr(model, "_curve_scorer", None)
    wanted = getattr(scorer, "_get_pos_label", lambda: None)() if tuned else model.pos_label
    column = 1 if wanted is None else int(np.flatnonzero(model.classes_ == wanted)[0])
    return inner, column, float((0.5 if likely else 0.0) if given == "auto" else given), likely


def _thawed(model: Any) -> Any:
    return model.estimator if type(model).__name__ == "FrozenEstimator" else model


def _combined(model: Any, parts: Parts) -> Callable[[Parts], Array] | None:
    """What an estimator makes of its members; ``parts`` are what they say of the probing rows."""
    name = type(model).__name__
    if name.startswith("Voting"):
        pairs = zip(model.weights or (), model.estimators, strict=False)
        weights = [weight for weight, (_, member) in pairs if not isinstance(member, str)]  # "drop" is none
        return Averaged(np.asarray(weights, dtype=np.float64) if weights else None, name.endswith("Classifier"))
    if name == "CalibratedClassifierCV":
        if any(each.method not in ("sigmoid", "isotonic") for each in model.calibrated_classifiers_):
            return None
        fitted = [(method_of(each.estimator), tuple(each.calibrators)) for each in model.calibrated_classifiers_]
        return Calibrated(tuple(fitted), len(model.classes_))
    if name.startswith("Stacking"):
        methods = tuple(method for method in model.stack_method_ if method is not None)
        z = beside(parts, methods)
        columns = Schema(tuple(Feature(each, "continuous") for each in array_names(z.shape[1])), frame=False)
        return Stacked(as_model(model.final_estimator_, columns, z), methods)
    if name in THRESHOLDED:
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
        own = trees.value / len(trees.roots) if trees.mean else trees.scale * trees.value
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
            tuple((trees.finish, member.link, len(trees.base)) for trees, member in zip(every, members, strict=True)),
            combine,
        ),
    )
