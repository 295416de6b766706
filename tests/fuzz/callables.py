"""Random callables: honest functions of a frame, and those that look closely, change what they get, lie or raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import counterpoise as cp
from fuzz.subject import Subject, learnable_score
from fuzz.tables import Rng, Table

LABELS: tuple[tuple[Any, ...], ...] = (("no", "yes"), (0, 1), (False, True), (1.0, 2.0), ("=no", "yes\x1b[31m"))


def draw_callable(rng: Rng, table: Table) -> Subject:
    """A function of a frame, with one of the manners below."""
    score = learnable_score(rng, table)
    middle = float(np.median(score(table.reference)))
    labels = LABELS[int(rng.integers(len(LABELS)))]

    def centred(frame: pd.DataFrame) -> Any:
        return score(frame) - middle

    manner = str(rng.choice(list(MANNERS)))
    return MANNERS[manner](manner, centred, labels, rng)


Score = Callable[[pd.DataFrame], Any]


def _choose(labels: tuple[Any, ...], total: Any) -> Any:
    return np.array(labels)[(np.asarray(total) > 0).astype(int)]


def _odds(total: Any) -> Any:
    p = 1 / (1 + np.exp(-4 * np.asarray(total)))
    return np.column_stack([1 - p, p])


def _labels(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        return _choose(labels, score(frame))

    return Subject(name, cp.Function(says, labels=labels), says, labels)


def _bare_labels(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    labels = ("no", "yes")

    def says(frame: pd.DataFrame) -> Any:
        return _choose(labels, score(frame))

    return Subject(name, says, says, labels)


def _list_of_labels(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        return _choose(labels, score(frame)).tolist()

    return Subject(name, cp.Function(says, labels=labels), lambda frame: np.array(says(frame)), labels)


def _probabilities(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def odds(frame: pd.DataFrame) -> Any:
        return _odds(score(frame))

    def predict(frame: pd.DataFrame) -> Any:
        return np.array(labels)[odds(frame).argmax(axis=1)]

    return Subject(name, cp.Function(odds, labels=labels), predict, labels, odds)


def _steps(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    return _probabilities(name, lambda frame: np.floor(2 * score(frame)) / 2 + 0.25, labels, rng)


def _number(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    return Subject(name, score, score, None)


def _whole_number(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        return [float(value) for value in np.floor(3 * score(frame))]

    return Subject(name, cp.Function(says), lambda frame: np.array(says(frame)), None)


def _changes_its_input(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        total = score(frame)
        for place in range(frame.shape[1]):
            frame.isetitem(place, frame.iloc[::-1, place].array)
        return _choose(labels, total)

    return Subject(name, cp.Function(says, labels=labels), lambda frame: says(frame.copy()), labels)


def _looks_at_signs_of_zero(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        total = score(frame)
        for place in range(frame.shape[1]):
            if frame.dtypes.iloc[place] == np.float64:
                total = total + np.where(np.signbit(frame.iloc[:, place].to_numpy()), 0.7, -0.7)
        return _choose(labels, total)

    return Subject(name, cp.Function(says, labels=labels), says, labels)


def _looks_at_category_codes(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        total = score(frame)
        for place in range(frame.shape[1]):
            if isinstance(frame.dtypes.iloc[place], pd.CategoricalDtype):
                total = total + 0.8 * (frame.iloc[:, place].cat.codes.to_numpy() % 3 - 1)
        return _choose(labels, total)

    return Subject(name, cp.Function(says, labels=labels), says, labels)


def _looks_at_positions(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        first = [sum(str(cell).encode()) % 5 - 2 for cell in frame.iloc[:, 0].tolist()]
        return _choose(labels, score(frame) + 0.5 * np.array(first))

    return Subject(name, cp.Function(says, labels=labels), says, labels)


def _looks_at_marks_of_missing(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        total = score(frame)
        for place in range(frame.shape[1]):
            total = total + np.array([0.9 if cell is None else 0.0 for cell in frame.iloc[:, place].tolist()])
            total = total + (0.3 if pd.api.types.is_object_dtype(frame.dtypes.iloc[place]) else 0.0)
        return _choose(labels, total)

    return Subject(name, cp.Function(says, labels=labels), says, labels)


def _single_precision(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        return np.asarray(score(frame), dtype=np.float32)

    return Subject(name, cp.Function(says), says, None)


def _raises_now_and_then(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    limit = float(rng.normal())

    def says(frame: pd.DataFrame) -> Any:
        total = score(frame)
        if (np.abs(total - limit) < 0.02).any():
            raise RuntimeError("the model did not like this row")
        return _choose(labels, total)

    return Subject(name, cp.Function(says, labels=labels), says, labels, may_raise=True)


def _lies(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    """Says something else about a third of the rows each time it is asked."""
    moods = np.random.default_rng(int(rng.integers(2**31)))

    def says(frame: pd.DataFrame) -> Any:
        total = np.asarray(score(frame))
        return _choose(labels, np.where(moods.random(len(total)) < 0.3, -total, total))

    return Subject(name, cp.Function(says, labels=labels), says, labels, is_steady=False)


def _column(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        return np.asarray(score(frame)).reshape(-1, 1)

    return Subject(name, cp.Function(says), lambda frame: says(frame)[:, 0], None)


def _series(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        return pd.Series(_choose(labels, score(frame)), index=frame.index)

    return Subject(name, cp.Function(says, labels=labels), lambda frame: says(frame).to_numpy(), labels)


def _too_few(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        said = _choose(labels, score(frame))
        return said[:-1] if len(said) % 3 == 2 else said

    return Subject(
        name, cp.Function(says, labels=labels), lambda frame: _choose(labels, score(frame)), labels, may_raise=True
    )


def _nan_now_and_then(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    limit = float(rng.normal())

    def says(frame: pd.DataFrame) -> Any:
        total = np.asarray(score(frame))
        return np.where(np.abs(total - limit) < 0.02, np.nan, total)

    return Subject(name, cp.Function(says), says, None, may_raise=True)


MANNERS: dict[str, Callable[[str, Score, tuple[Any, ...], Rng], Subject]] = {
    "labels": _labels,
    "labels that are not listed": _bare_labels,
    "a list of labels": _list_of_labels,
    "probabilities": _probabilities,
    "steps": _steps,
    "number": _number,
    "whole numbers in a list": _whole_number,
    "changes its input": _changes_its_input,
    "looks at signs of zero": _looks_at_signs_of_zero,
    "looks at category codes": _looks_at_category_codes,
    "looks at positions": _looks_at_positions,
    "looks at marks of missing": _looks_at_marks_of_missing,
    "single precision": _single_precision,
    "raises now and then": _raises_now_and_then,
    "lies": _lies,
    "a column of numbers": _column,
    "a series of labels": _series,
    "too few labels": _too_few,
    "no number now and then": _nan_now_and_then,
}
