"""Random callables: honest functions of a frame, and those that look closely, change what they get, lie or raise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import counterpoise as cp
from fuzz.subject import Subject, learnable_score
from fuzz.tables import LATEST, Rng, Table, names_of_edition

LABELS: tuple[tuple[Any, ...], ...] = (("no", "yes"), (0, 1), (False, True), (1.0, 2.0), ("=no", "yes\x1b[31m"))


def draw_callable(rng: Rng, table: Table, edition: int = LATEST) -> Subject:
    """A function of a frame, with one of the manners below."""
    score = learnable_score(rng, table)
    middle = float(np.median(score(table.reference)))
    labels = LABELS[int(rng.integers(len(LABELS)))]

    def centred(frame: pd.DataFrame) -> Any:
        return score(frame) - middle

    manner = str(rng.choice(names_of_edition(edition, FIRST_MANNERS, LATER_MANNERS)))
    return MANNERS[manner](manner, centred, labels, rng)


Score = Callable[[pd.DataFrame], Any]
Manner = Callable[[str, Score, tuple[Any, ...], Rng], Subject]


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


def _looks_at_dtypes(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        tilt = sum(sum(str(dtype).encode()) % 5 - 2 for dtype in frame.dtypes)
        return _choose(labels, score(frame) + 0.2 * tilt)

    return Subject(name, cp.Function(says, labels=labels), says, labels)


def _looks_at_column_order(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        tilt = sum(place * (sum(str(each).encode()) % 3 - 1) for place, each in enumerate(frame.columns))
        return _choose(labels, score(frame) + 0.2 * tilt)

    return Subject(name, cp.Function(says, labels=labels), says, labels)


def _looks_at_last_bits(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        total = np.asarray(score(frame), dtype=float)
        for place in range(frame.shape[1]):
            if frame.dtypes.iloc[place] == np.float64:
                bits = np.ascontiguousarray(frame.iloc[:, place].to_numpy()).view(np.int64) & 7
                total = total + 0.1 * (bits - 3)
        return _choose(labels, total)

    return Subject(name, cp.Function(says, labels=labels), says, labels)


def _looks_at_types_of_cells(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        total = np.asarray(score(frame), dtype=float)
        for place in range(frame.shape[1]):
            kinds = [type(cell).__name__ for cell in frame.iloc[:, place].array]
            total = total + 0.3 * np.array([sum(kind.encode()) % 3 - 1 for kind in kinds])
        return _choose(labels, total)

    return Subject(name, cp.Function(says, labels=labels), says, labels)


def _sums_in_company(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    """Single precision, summed in another order for each size of a call, as fast libraries do."""

    def says(frame: pd.DataFrame) -> Any:
        total = np.asarray(score(frame), dtype=np.float32)
        return total + np.float32(1e-7 * (len(frame) % 7 - 3)) * np.abs(total)

    return Subject(name, cp.Function(says), says, None)


def _categorical_labels(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    labels = ("no", "yes")

    def says(frame: pd.DataFrame) -> Any:
        return pd.Categorical(_choose(labels, score(frame)), categories=["yes", "no"])

    return Subject(name, cp.Function(says, labels=labels), lambda frame: np.asarray(says(frame)), labels)


def _mixed_labels(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    labels = (7, "other")

    def says(frame: pd.DataFrame) -> Any:
        return np.array([labels[int(each)] for each in np.asarray(score(frame)) > 0], dtype=object)

    return Subject(name, cp.Function(says, labels=labels), says, labels)


def _odds_that_tie(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    """Probabilities in quarters, so that both classes often have a half; its predict takes the first then."""

    def odds(frame: pd.DataFrame) -> Any:
        p = np.round(4 / (1 + np.exp(-np.asarray(score(frame))))) / 4
        return np.column_stack([1 - p, p])

    def predict(frame: pd.DataFrame) -> Any:
        return np.array(labels)[odds(frame).argmax(axis=1)]

    return Subject(name, cp.Function(odds, labels=labels), predict, labels, odds)


def _widest_numbers(name: str, score: Score, labels: tuple[Any, ...], rng: Rng) -> Subject:
    def says(frame: pd.DataFrame) -> Any:
        return np.asarray(score(frame)) * 1e300

    return Subject(name, cp.Function(says), says, None)


FIRST_MANNERS: dict[str, Manner] = {
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
LATER_MANNERS: dict[str, Manner] = {
    "looks at dtypes": _looks_at_dtypes,
    "looks at the order of columns": _looks_at_column_order,
    "looks at last bits": _looks_at_last_bits,
    "looks at types of cells": _looks_at_types_of_cells,
    "sums in company": _sums_in_company,
    "labels of a category": _categorical_labels,
    "labels of two types": _mixed_labels,
    "probabilities that tie": _odds_that_tie,
    "numbers near the end": _widest_numbers,
}
MANNERS = FIRST_MANNERS | LATER_MANNERS
