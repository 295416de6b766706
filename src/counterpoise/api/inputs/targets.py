"""Targets: from the user's words for what the decision should become to a goal for each row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import InputError
from counterpoise.explanation.question import AnythingBut
from counterpoise.models.goals import ClassGoal, Goal, RangeGoal, ThresholdGoal
from counterpoise.space.schema.tables_in import quote_names, take_points
from counterpoise.types import Index, Mask, Model, Points, is_number


def as_target(target: Any) -> Any:
    """A target as a question holds it: labels given row by row become an array; mutable ones are copied.

    >>> as_target(pd.Series(["benign", "alert"]))
    array(['benign', 'alert'], dtype=object)
    """
    if isinstance(target, np.ndarray) and target.ndim == 0:
        return target.item()
    if isinstance(target, (pd.Series, pd.Index)):
        labels = np.empty(len(target), dtype=object)
        labels[:] = target.tolist()
        return labels
    return target.copy() if isinstance(target, (np.ndarray, list, set)) else target


@dataclass(frozen=True, eq=False)
class RowTargets:
    """What is asked of each row: its goal, the target in words, and how a sentence about it ends."""

    goal: Goal
    target: NDArray[np.object_]  # (n,) the label, or "anything but dog", or "[10, 20]"
    phrases: tuple[str, ...]  # (n,) "that the model calls benign"

    def take(self, rows: Index) -> RowTargets:
        """The targets of some of the rows."""
        return RowTargets(self.goal.take(rows), self.target[rows], tuple(self.phrases[row] for row in rows.tolist()))


def current_decisions(model: Model, rows: Points, predicted: NDArray[Any]) -> NDArray[Any]:
    """What ``rows`` ``(n, d)`` are to the model now: ``predicted``; where it abstains, what most members say."""
    now = predicted.copy()
    if model.majority is not None:
        undecided = np.flatnonzero([label == model.abstention for label in predicted.tolist()])
        if len(undecided):
            now[undecided] = model.majority(take_points(rows, undecided))
    return now


def resolve_target(model: Model, target: Any, threshold: float | None, predicted: NDArray[Any]) -> RowTargets:
    """The targets of rows that the model now gives ``predicted`` ``(n,)``."""
    if model.labels is None:
        if threshold is not None:
            raise InputError(
                "threshold must go with a class",
                "the model gives numbers, not classes",
                "give the target as a range, for instance (0.9, None)",
            )
        return _range_targets(target, len(predicted), model.members_needed)
    several = model.abstention is not None
    classes = model.labels[:-1] if several else model.labels  # the abstention label cannot be a target
    wanted = _wanted_classes(classes, target, predicted)
    if several:
        wanted = np.pad(wanted, ((0, 0), (0, 1)))
    goal: Goal = ClassGoal(wanted, model.link)
    sure = ""
    if threshold is not None:
        if not (is_number(threshold) and 0 < threshold < 1):
            raise InputError("threshold must be a probability between 0 and 1", f"{threshold!r}", "for instance 0.8")
        if several and not model.requires_unanimity and wanted.sum(axis=1).max() > 1:
            raise InputError(
                "a threshold that a share of several models must reach needs one class for each row",
                f"{target!r} stands for several",
                "name one class, or ask all models to agree",
            )
        goal = ThresholdGoal(wanted, np.full(len(wanted), float(threshold)))
        sure = f" with a probability of at least {threshold:g}"
    targets, words = np.empty(len(wanted), dtype=object), [""] * len(wanted)
    for rows in goal.group_rows():
        label = _describe_target(
            classes, wanted[rows[0], : len(classes)], listed=isinstance(target, (list, set, frozenset))
        )
        for row in rows.tolist():
            targets[row], words[row] = label, f"that the model calls {label}{sure}"
    return RowTargets(goal, targets, tuple(words))


def _range_targets(target: Any, n: int, needed: int) -> RowTargets:
    if not (isinstance(target, (tuple, list)) and len(target) == 2):
        raise InputError(
            "the target of a model that gives numbers must be a range (low, high)",
            f"{target!r}",
            "for instance (0.9, None): at least 0.9",
        )
    low, high = (np.inf * sign if end is None else end for sign, end in zip((-1, 1), target, strict=True))
    numbers = all(is_number(end) and not np.isnan(float(end)) for end in (low, high))
    if not numbers or low > high or not (np.isfinite(low) or np.isfinite(high)):
        raise InputError(
            "the ends of a target range must be numbers, low before high, at most one of them None",
            f"{target!r}",
            "for instance (10, 20) or (None, 5)",
        )
    range_words = (
        f"at least {low:g}" if high == np.inf else f"at most {high:g}" if low == -np.inf else f"[{low:g}, {high:g}]"
    )
    lies = f"in {range_words}" if range_words.startswith("[") else range_words
    targets = np.full(n, range_words, dtype=object)
    words = (f"for which the model's number is {lies}",) * n
    return RowTargets(RangeGoal(np.full(n, float(low)), np.full(n, float(high)), needed), targets, words)


def _wanted_classes(labels: tuple[Any, ...], target: Any, predicted: NDArray[Any]) -> Mask:
    n, c = len(predicted), len(labels)
    if isinstance(target, np.ndarray) and target.ndim == 0:
        target = target.item()
    if isinstance(target, str) and target == "opposite" and "opposite" not in labels:
        wanted = np.ones((n, c), dtype=bool)
        wanted[np.arange(n), _label_positions(labels, predicted.tolist())] = False
        return wanted
    if isinstance(target, (np.ndarray, pd.Series, pd.Index)):  # one label per row
        if np.shape(target) != (n,):
            raise InputError(
                "targets given row by row must be as many as the rows",
                f"an array of shape {np.shape(target)} for {n} rows",
                "give one per row, or a list for 'any of these'",
            )
        wanted = np.zeros((n, c), dtype=bool)
        wanted[np.arange(n), _label_positions(labels, target.tolist())] = True
        return wanted
    if isinstance(target, tuple) and target not in labels:
        raise InputError(
            "the target of a classifier must be a label, a list of labels, or AnythingBut",
            f"{target!r}, a range",
            "ranges are for models that give numbers",
        )
    if isinstance(target, AnythingBut):
        wanted = np.ones((n, c), dtype=bool)
        wanted[:, _label_positions(labels, target.labels)] = False
    else:
        wanted = np.zeros((n, c), dtype=bool)
        wanted[:, _label_positions(labels, target if isinstance(target, (list, set, frozenset)) else [target])] = True
    if not wanted.any() or wanted.all():
        raise InputError(
            "a target must name at least one class and leave out at least one",
            f"{target!r} {'leaves out none' if wanted.all() else 'leaves none'} of {len(labels)}",
            "name other classes",
        )
    return wanted


def _label_positions(labels: Sequence[Any], wanted: Iterable[Any]) -> list[int]:
    """The position of each wanted label among the model's labels."""
    known: dict[Any, int] = {}
    out = []
    for label in wanted:
        key = (type(label), label) if isinstance(label, Hashable) else None
        if key is None or key not in known:
            known[key] = _label_position(labels, label)
        out.append(known[key])
    return out


def _label_position(labels: Sequence[Any], label: Any) -> int:
    """The position of one label; True and 1 are different labels where the model has both."""
    flag = isinstance(label, (bool, np.bool_))
    equal = [place for place, known in enumerate(labels) if isinstance(label, Hashable) and known == label]
    for place in sorted(equal, key=lambda place: isinstance(labels[place], (bool, np.bool_)) != flag):
        return place
    if (
        tuple(labels) == ("outlier", "inlier") and not flag and label in (-1, 1)
    ):  # what a detector's own predict returns
        return int(label == 1)
    raise InputError(
        "the target must be a class that the model knows",
        f"{label!r}; it knows {quote_names(labels, 12)}",
        "choose one",
    )


def _describe_target(labels: tuple[Any, ...], wanted: Mask, *, listed: bool) -> Any:
    """The wanted label, or words for several: "a or b" where the user ``listed`` them, else "anything but c"."""
    named = [label for label, want in zip(labels, wanted, strict=True) if want]
    rest = [label for label, want in zip(labels, wanted, strict=True) if not want]
    if len(named) == 1:
        return named[0]
    if len(rest) <= len(named) and not listed:
        return f"anything but {' or '.join(map(str, rest))}"
    return " or ".join(map(str, named))
