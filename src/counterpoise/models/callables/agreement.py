"""Several models that must agree: the answer holds for all of them, or for a share, so that it survives a retraining.

A class is decided where enough members say it. Its output is the margin, over its strongest rival, that this many
members reach; one more output, always 0, stands for "undecided". So the largest output is a class exactly where enough
members agree on it, and the margin of that class is the weakest one that counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from counterpoise.errors import InputError
from counterpoise.models.goals import MIN_PROBABILITY, apply_link
from counterpoise.models.registry import as_model
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Link, Model, ModelBase, OwnModel, Points

UNDECIDED_LABEL = "undecided"


@dataclass(frozen=True)
class Agreement:
    """Models that must agree: all of them, or at least a ``share``, which must be more than a half.

    models: fitted models of the same classes, each in any form that `explain` takes.
    share: of the models that must give the target, above 0.5 and at most 1 (the default: all of them).

    >>> Agreement([len, len, len], share=0.6).members_needed
    2
    """

    models: Sequence[Any]
    share: float = 1.0

    def __post_init__(self) -> None:
        if not len(self.models):
            raise InputError("an agreement must have at least one model", "it has none", "give the fitted models")
        if not 0.5 < self.share <= 1.0:
            raise InputError(
                "the share of models that must agree must be more than a half, at most 1",
                f"{self.share!r}",
                "give share=1.0 for all of them",
            )

    @property
    def members_needed(self) -> int:
        """How many models must agree."""
        return ceil(self.share * len(self.models) - 1e-9)


@dataclass(frozen=True, eq=False)
class _Agreement(ModelBase):
    """Several models as one; ``members_needed`` of them must give the target."""

    members: tuple[Model, ...] = field()
    members_needed: int = field()

    @property
    def own(self) -> OwnModel:
        """The same of members that are asked through their own methods alone."""
        members = tuple(cast(Model, member.own) for member in self.members)
        return cast(OwnModel, replace(self, members=members))

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how the members are asked."""
        return tuple(dict.fromkeys(note for member in self.members for note in member.notes))


@dataclass(frozen=True, eq=False)
class ClassAgreement(_Agreement):
    """Classifiers as one Model. ``labels`` end with "undecided"; ``members_needed`` must predict a class."""

    classes: tuple[Any, ...] = field()
    link: Link = "identity"

    @property
    def labels(self) -> tuple[Any, ...]:
        """The classes, then "undecided"."""
        return (*self.classes, self.abstention)

    @property
    def abstention(self) -> str:
        """The label for too few members agreeing; it cannot be a target."""
        word = UNDECIDED_LABEL
        while word in self.classes:  # a class of the members' own
            word = f"{word} (no agreement)"
        return word

    @property
    def requires_unanimity(self) -> bool:
        """Whether all members must agree."""
        return self.members_needed == len(self.members)

    def outputs(self, x: Array) -> Array:
        """``(p, c + 1)``: for each class the margin that ``members_needed`` members reach, and 0."""
        values = [self._linked_outputs(member, x) for member in self.members]
        margins = np.stack([_margins(value) for value in values])
        reached = np.sort(margins, axis=0)[len(self.members) - self.members_needed]
        # A member whose classes tie says the first of them: a margin of 0 counts for that one alone.
        agreed = sum((value.argmax(axis=1)[:, None] == np.arange(len(self.classes)) for value in values), start=0)
        least = np.finfo(np.float64).tiny
        reached = np.where(reached == 0.0, np.where(agreed >= self.members_needed, least, -least), reached)
        return np.hstack([reached, np.zeros((len(x), 1))])

    def predict(self, x: Points) -> NDArray[Any]:
        """The class that enough members' own ``predict`` says, or "undecided"."""
        votes = self._count_votes(x)
        places = np.where(votes.max(axis=1) >= self.members_needed, votes.argmax(axis=1), len(self.classes))
        return _pick_labels(self.labels, places)

    def majority(self, x: Points) -> NDArray[Any]:
        """The class that most members say, ``(p,)``; of equals, the one that the earliest member says."""
        votes = self._count_votes(x)
        first = self._predicted_places(self.members[0], x)
        for member in reversed(self.members):
            places = self._predicted_places(member, x)
            best = votes[np.arange(len(x)), places] == votes.max(axis=1)
            first = np.where(best, places, first)
        return _pick_labels(self.classes, first)

    def probabilities(self, x: Points) -> Array | None:
        """``(p, c + 1)``: for each class the probability that enough members give it at least, then what is left."""
        found = [member.probabilities(x) for member in self.members]
        if any(part is None for part in found):
            return None
        aligned = [
            part[:, self._places_of_classes(member)]
            for part, member in zip(cast("list[Array]", found), self.members, strict=True)
        ]
        sure = np.sort(np.stack(aligned), axis=0)[len(found) - self.members_needed]
        return np.hstack([sure, np.maximum(0.0, 1.0 - sure.sum(axis=1, keepdims=True))])

    def _places_of_classes(self, member: Model) -> list[int]:
        labels = list(member.labels or ())
        return [labels.index(label) for label in self.classes]

    def _predicted_places(self, member: Model, x: Points) -> Index:
        """The place of the class that a member's own ``predict`` says, ``(p,)``."""
        places = {label: place for place, label in enumerate(self.classes)}
        return np.array([places[label] for label in member.predict(x).tolist()], dtype=np.intp)

    def _count_votes(self, x: Points) -> Index:
        """How many members say each class, ``(p, c)``."""
        votes = np.zeros((len(x), len(self.classes)), dtype=np.intp)
        for member in self.members:
            votes[np.arange(len(x)), self._predicted_places(member, x)] += 1
        return votes

    def _linked_outputs(self, member: Model, x: Array) -> Array:
        return apply_link(member.outputs(x), member.link)[:, self._places_of_classes(member)]


@dataclass(frozen=True, eq=False)
class DifferentiableClassAgreement(ClassAgreement):
    """Agreeing classifiers that all have gradients."""

    def gradient(self, x: Array, weights: Array) -> Array:
        """Gradient ``(p, d)``: of each class's margin in the member that decides about it."""
        outputs = [member.outputs(x) for member in self.members]
        orders = [self._places_of_classes(member) for member in self.members]
        values = [
            apply_link(out, member.link)[:, order]
            for out, member, order in zip(outputs, self.members, orders, strict=True)
        ]
        margins = np.stack([_margins(value) for value in values])
        deciding = np.argsort(margins, axis=0, kind="stable")[len(self.members) - self.members_needed]  # (p, c)
        total = np.zeros_like(x)
        for number, (member, out, order) in enumerate(zip(self.members, outputs, orders, strict=True)):
            mine = np.where(deciding == number, weights[:, :-1], 0.0)
            pull = np.zeros_like(out)
            np.add.at(pull, (np.arange(len(x))[:, None], np.array(order)[None, :]), mine)
            np.add.at(pull, (np.arange(len(x))[:, None], np.array(order)[_strongest_rivals(values[number])]), -mine)
            if member.link == "log":
                pull /= np.maximum(out, MIN_PROBABILITY)
            assert member.gradient is not None
            total += member.gradient(x, pull)
        return total


@dataclass(frozen=True, eq=False)
class PartitionedClassAgreement(ClassAgreement):
    """Agreeing classifiers that are all constant on boxes."""

    @property
    def thresholds(self) -> tuple[Array, ...]:
        """Split points of every member."""
        return _merge_thresholds(self.members)


@dataclass(frozen=True, eq=False)
class NumberAgreement(_Agreement):
    """Regressions or scores as one Model: a column for each; ``members_needed`` of them must lie in the range."""

    labels: None = None
    link: Link = "identity"

    def outputs(self, x: Array) -> Array:
        """``(p, members)``: each member's number."""
        return np.hstack([member.outputs(x) for member in self.members])

    def predict_each(self, x: Points) -> Array:
        """``(p, members)``: what each member's own ``predict`` says."""
        return np.stack([np.asarray(member.predict(x), dtype=np.float64) for member in self.members], axis=1)

    def predict(self, x: Points) -> NDArray[Any]:
        """The middle one of the members' predictions; where enough of them lie in a range, so does it."""
        return np.asarray(np.median(self.predict_each(x), axis=1))

    def probabilities(self, x: Points) -> Array | None:
        """None: numbers have no classes."""
        return None


@dataclass(frozen=True, eq=False)
class DifferentiableNumberAgreement(NumberAgreement):
    """Numbers of members that all have gradients."""

    def gradient(self, x: Array, weights: Array) -> Array:
        """Gradient ``(p, d)`` of the members' numbers summed with ``weights`` ``(p, members)``."""
        total = np.zeros_like(x)
        for place, member in enumerate(self.members):
            assert member.gradient is not None
            total += member.gradient(x, weights[:, place, None])
        return total


@dataclass(frozen=True, eq=False)
class PartitionedNumberAgreement(NumberAgreement):
    """Numbers of members that are all constant on boxes."""

    @property
    def thresholds(self) -> tuple[Array, ...]:
        """Split points of every member."""
        return _merge_thresholds(self.members)


def adapt(model: Any, schema: Schema, probe: Array) -> Model:
    """The Model of several models."""
    agreement = model if isinstance(model, Agreement) else Agreement(tuple(model))
    members = tuple(as_model(member, schema, probe) for member in agreement.models)
    if len(members) == 1:
        return members[0]
    labels = members[0].labels
    if not all(_has_same_labels(member, members[0]) for member in members):
        shown = "; ".join(str(member.labels) if member.labels else "a number" for member in members)
        raise InputError(
            "models that must agree must answer the same question", f"they give {shown}", "fit them on the same labels"
        )
    sloped = all(member.gradient is not None for member in members)
    split = all(member.thresholds is not None for member in members)
    if labels is None:
        return (DifferentiableNumberAgreement if sloped else PartitionedNumberAgreement if split else NumberAgreement)(
            members, agreement.members_needed
        )
    return (DifferentiableClassAgreement if sloped else PartitionedClassAgreement if split else ClassAgreement)(
        members, agreement.members_needed, labels
    )


def _has_same_labels(one: Model, other: Model) -> bool:
    """Whether two models decide between the same classes, or both say numbers."""
    if one.labels is None or other.labels is None:
        return one.labels is other.labels
    return set(one.labels) == set(other.labels)


def _merge_thresholds(members: Sequence[Model]) -> tuple[Array, ...]:
    each = [member.thresholds for member in members if member.thresholds is not None]
    return tuple(np.unique(np.concatenate(column)) for column in zip(*each, strict=True))


def _pick_labels(labels: Sequence[Any], places: Index) -> NDArray[Any]:
    """The labels at these places, as they are."""
    out = np.empty(len(places), dtype=object)
    out[:] = [labels[place] for place in places.tolist()]
    return out


def _strongest_rivals(values: Array) -> Index:
    """For each class the strongest other one, ``(p, c)``."""
    order = np.argsort(-values, axis=1, kind="stable")
    best, second = order[:, :1], order[:, 1:2]
    return np.where(np.arange(values.shape[1]) == best, second, best)


def _margins(values: Array) -> Array:
    """Each class's value less that of its strongest rival, ``(p, c)``."""
    return values - np.take_along_axis(values, _strongest_rivals(values), axis=1)
