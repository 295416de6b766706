"""The answers to some rows, as arrays, and the numbers that follow from them: what every view of them reads."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import InputError
from counterpoise.explanation import tables
from counterpoise.explanation.fields import (
    ONE_RUN_HINT,
    AnswerEnergies,
    AnswerMeasures,
    ModelScores,
    check_columns,
    gap_to_bound,
)
from counterpoise.explanation.odd_marks import OddMarks, find_odd_marks
from counterpoise.explanation.question import Question
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Mask

RowSelection = slice | Sequence[int] | Sequence[bool] | NDArray[Any] | pd.Series


def row_positions(key: int | RowSelection, n: int) -> Index:
    """The positions that a key selects among n rows: a number, a slice, a list of numbers, or a mask of booleans.

    >>> row_positions([0, -1], 3), row_positions(slice(1, None), 3)
    (array([0, 2]), array([1, 2]))
    """
    if isinstance(key, (int, np.integer)) and not isinstance(key, (bool, np.bool_)):
        if not -n <= key < n:
            raise IndexError(f"a row must be one of the {n} explained; {key} was asked for; give its position")
        return np.array([key % n], dtype=np.intp)
    if isinstance(key, slice):
        return np.arange(n, dtype=np.intp)[key]
    places = np.asarray(key, dtype=bool if pd.api.types.is_bool_dtype(getattr(key, "dtype", object)) else None)
    if places.dtype == bool and places.shape == (n,):
        return np.flatnonzero(places)
    if places.ndim != 1 or (places.dtype.kind not in "iu" and places.size):
        given = f"{places.dtype} values of shape {places.shape}"
        raise InputError(f"rows must be positions, a slice or a mask of {n} booleans", given, "for instance [0, 2]")
    if places.size and not (-n <= places.min() and places.max() < n):
        raise IndexError(f"rows must be among the {n} explained; {key!r} was asked for; give their positions")
    return np.asarray(places.astype(np.intp) % n if n else places.astype(np.intp))


BY_ROW = ("count", "valid", "status", "reason", "target", "model_scores", "terms", "measures", "bound")
FIRM_COLUMNS = ("kept", "kept_low", "kept_high", "temperature", "noise")
COPIES_COLUMN = "copies"  # of how many copies the share kept is; documents of before have no such column


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AnsweredRows:
    """The answers to n rows, a alternatives each, over d features; `Explanation` says what each field holds."""

    schema: Schema
    rows: pd.DataFrame
    x0: Array
    answers: Array
    count: Index
    valid: Mask
    status: NDArray[np.object_]
    reason: NDArray[np.object_]
    target: NDArray[np.object_]
    model_scores: ModelScores
    terms: AnswerEnergies
    measures: AnswerMeasures = None  # type: ignore[assignment]  # made in __post_init__ where nothing was measured
    held: Mapping[Hashable, str] = field(default_factory=dict)
    quantiles: Mapping[Any, Array] = field(default_factory=dict)
    firm: pd.DataFrame | None = None
    tipping: Self | None = None
    evidence: Array | None = None
    question: Question = field(default_factory=Question)
    bound: Array = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    model_rows: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n, d = len(self.rows), len(self.schema)
        if self.measures is None:
            object.__setattr__(self, "measures", AnswerMeasures.unknown(n, max(self.answers.shape[1:2], default=1)))
        if self.x0.shape != (n, d):
            refuse(f"x0 must have the shape ({n}, {d})", f"it has {self.x0.shape}")
        if self.answers.ndim != 3 or self.answers.shape[::2] != (n, d) or self.answers.shape[1] < 1:
            refuse(f"answers must have the shape ({n}, a, {d})", f"they have {self.answers.shape}")
        if self.evidence is not None and (self.evidence.ndim != 3 or self.evidence.shape[::2] != (n, d)):
            refuse(f"evidence must have the shape ({n}, m, {d})", f"it has {self.evidence.shape}")
        if not len(self.bound):
            object.__setattr__(self, "bound", np.full(n, np.nan))
        for name in (*BY_ROW, "firm", "tipping"):
            part = getattr(self, name)
            if part is not None and len(part) != n:
                refuse(f"{name} must have an entry for each of the {n} rows", f"it has {len(part)}")
        if self.firm is not None:
            check_columns("firm", self.firm, FIRM_COLUMNS)
            object.__setattr__(self, "measures", self.measures.with_firm_answers(self.firm))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, key: int | RowSelection) -> Self:
        """The explanation of some of the rows, by position: a number, a slice, a list of numbers, a boolean mask."""
        places = row_positions(key, len(self))
        parts: dict[str, Any] = {name: getattr(self, name)[places] for name in ("x0", "answers", *BY_ROW)}
        for name in ("rows", "firm"):
            table = getattr(self, name)
            parts[name] = None if table is None else table.iloc[places]
        parts["tipping"] = None if self.tipping is None else self.tipping[places]
        parts["evidence"] = None if self.evidence is None else self.evidence[places]
        parts["question"] = self.question.take(places)
        return replace(self, **parts)

    @property
    def settings(self) -> dict[str, str]:
        """The question as people read it in a report: a text for each setting."""
        return self.question.settings

    @property
    def seed(self) -> int:
        """The seed of the call."""
        return self.question.seed

    @property
    def x(self) -> Array:
        """The best answers, encoded, ``(n, d)``."""
        return np.asarray(self.answers[:, 0])

    @cached_property
    def scores(self) -> pd.DataFrame:
        """What the model says: predictions, the target's probability, margins; the fields of `ModelScores`."""
        return self.model_scores.to_frame(self.rows.index)

    @cached_property
    def score_cells(self) -> dict[str, list[Any]]:
        """The columns of `scores` as lists, in which single cells are looked up a hundred times faster."""
        return {str(name): self.scores[name].tolist() for name in self.scores.columns}

    @cached_property
    def energy(self) -> pd.DataFrame:
        """The terms of Eq. (3) at the best answers: distance, regularizer, decision, their total, its lam and mu.

        Where the share kept is known also T, the temperature of the ensemble (a twentieth of the effort), the entropy S
        = ln kept, and free_energy, F = effort - T S. Where no copy was kept, S is of the lower end of the
        interval: it is minus infinity where that is 0, and such an answer comes after all others by F.
        """
        T = self.effort / 20
        kept = np.where(self.kept > 0, self.kept, self.kept_interval[:, 0])
        with np.errstate(divide="ignore", invalid="ignore"):
            entropy = np.where(self.valid, np.log(kept), np.nan)
        return self.terms.to_frame(self.rows.index).assign(T=T, entropy=entropy, free_energy=self.effort - T * entropy)

    @property
    def changed(self) -> Index:
        """How many features the best answer changes, ``(n,)``."""
        different = tables.differs(self.x0, self.answers[:, :1])
        return np.asarray(different.sum(axis=(1, 2)), dtype=np.intp)

    @property
    def effort(self) -> Array:
        """What the best answers cost, ``d + lam R``, ``(n,)``."""
        return np.asarray(self.terms.distance + self.terms.regularizer, dtype=np.float64)

    @property
    def gap(self) -> Array:
        """``effort / bound - 1`` of the best answers, ``(n,)``: by what share they may cost more than the least.

        0 where an answer is proven to be the least, infinite where the bound is 0, NaN without an answer or a bound.
        """
        return gap_to_bound(np.where(self.valid, self.effort, np.inf), self.bound)

    @property
    def is_firm_enough(self) -> Mask:
        """Whether the best answer is valid and surely keeps the share of noisy copies that was asked for, ``(n,)``.

        Sure is the lower end of the share's confidence interval. Where no share was asked for, to be valid is enough.
        """
        if self.firm is None or self.question.keep is None:
            return self.valid
        return np.asarray(self.valid & (self.firm["kept_low"].to_numpy(dtype=np.float64) >= self.question.keep))

    @property
    def kept(self) -> Array:
        """The share of noisy copies of the best answers that keep the target, ``(n,)``; NaN where not measured."""
        return np.asarray(self.measures.kept[:, 0])

    @property
    def agree(self) -> Array:
        """The share of further models that give the best answers the target too, ``(n,)``; NaN where none was asked."""
        return np.asarray(self.measures.agree[:, 0])

    @property
    def kept_interval(self) -> Array:
        """The confidence interval of `kept`, ``(n, 2)``."""
        return np.column_stack([self.measures.kept_low[:, 0], self.measures.kept_high[:, 0]])

    @cached_property
    def odd_marks(self) -> OddMarks:
        """What is odd about each answer: unusual values, no real row anywhere near, fragility (`OddMarks`)."""
        listed = (np.arange(self.answers.shape[1]) < self.count[:, None]) & self.valid[:, None]
        return find_odd_marks(
            self.schema,
            self.x0,
            self.answers,
            np.asarray(listed),
            [label if label in self.quantiles else "reference" for label in self.model_scores.after.tolist()],
            self.quantiles,
            self.evidence,
            self.measures.kept_high,
        )

    def percentile(self, feature: Hashable, value: float, label: Any) -> float:
        """Where a value lies among the reference rows of a label, from 0 to 100; NaN for categories."""
        if label not in self.quantiles:
            known = ", ".join(map(repr, self.quantiles)) or "none"
            refuse("label must be one that the reference has rows of", f"{label!r}; there are {known}", "choose one")
        return tables.percentile(self.quantiles[label][:, self.schema.position(feature)], float(value))

    @cached_property
    def changes_by_answer(self) -> list[list[list[tables.Change]]]:
        """For each row, for each of its answers, its changes; the first is the best answer or the nearest miss."""
        count = np.maximum(self.count, 1).tolist()
        out: list[list[list[tables.Change]]] = [[[] for _ in range(size)] for size in count]
        for change in tables.list_changes(self.schema, self.rows, self.x0, self.answers, count):
            out[change.row][change.alternative].append(change)
        return out


def refuse(must: str, given: str, todo: str = ONE_RUN_HINT) -> NoReturn:
    """An error about the parts of an explanation."""
    raise InputError(must, given, todo)
