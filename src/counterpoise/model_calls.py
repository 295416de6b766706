"""Model calls: every call is counted, outputs are checked, and an exception names the row that caused it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterpoise.call_blocks import call_in_blocks
from counterpoise.cancellation import stop_if_cancelled
from counterpoise.errors import CapabilityError, InputError, ModelError
from counterpoise.types import Array, Index, Mask, Model, Points


@dataclass
class Tally:
    """Model rows and calls spent so far; shared by every part of a run."""

    rows: int = 0
    calls: int = 0
    seconds: float = 0.0  # spent in these calls
    opened_rows: int = 0  # rows put to trees or layers that were read, by a firm search: the model was not asked
    block_rows: int = 0  # the size of every call; 0: calls are as large as they come
    row_budget: RowBudget | None = None  # where each row may only take so many model rows
    squared_rows: float = 0.0  # sums over the calls, of rows times rows
    rows_times_seconds: float = 0.0  # and of rows times seconds: what a call takes, and what each of its rows
    most_rows: int = 0  # of one call
    max_growth: int = 8  # a call has at most so many times as many rows as those before, however fast they were

    def note_call(self, rows: int, seconds: float) -> None:
        """Add the time of one call of so many rows."""
        self.seconds += seconds
        self.most_rows = max(self.most_rows, rows)
        self.squared_rows += float(rows) ** 2
        self.rows_times_seconds += rows * seconds

    @property
    def seconds_of_call(self) -> tuple[float, float]:
        """What a call takes whatever its rows, and what each of its rows takes, from the calls so far."""
        count, spread = max(self.calls, 1), self.squared_rows - self.rows**2 / max(self.calls, 1)
        each = (self.rows_times_seconds - self.rows * self.seconds / count) / spread if spread > 0 else np.inf
        each = max(min(each, self.seconds / max(self.rows, 1)), 1e-9)  # all calls of one size: as if rows took it all
        return max((self.seconds - each * self.rows) / count, 0.0), each

    def count_rows_within(self, seconds: float) -> float:
        """How many rows one call may have to take so long, or at most twice what a call takes whatever its rows."""
        fixed, each = self.seconds_of_call
        return min(max(seconds - fixed, fixed) / each, float(self.max_growth * self.most_rows))

    def count_rows_cut(self, rows: Index) -> int:
        """How many of these rows had a search that ended with their model rows."""
        return 0 if self.row_budget is None else int(self.row_budget.was_cut[rows].sum())

    def forget_rows(self, rows: Index) -> None:
        """Give up what is remembered of rows that are answered."""
        if self.row_budget is not None:
            self.row_budget.forget_rows(rows)


class BudgetedOutputs(NamedTuple):
    """Outputs ``(p, c)`` of points, and which of them, ``(p,)``, the model was asked about.

    Others could not be afforded: they have the outputs of their row as it is.
    """

    outputs: Array
    asked: Mask


class RowBudget:
    """The budget of model rows that each row of a run has left, and the outputs of all points asked about.

    n: the rows of the run; row numbers of points lie below it.
    limit: model rows of each row, all that it takes together.

    Each row has a budget of its own, so that it is answered the same alone and in a batch: of its points those that
    come first are asked about as long as it lasts. A point that was asked about before costs nothing, since rows that
    are searched together repeat points of their own to be of one shape.
    """

    def __init__(self, n: int, limit: int) -> None:
        self.limit = self.search_limit = self.check_limit = limit  # search and check: what they may go up to now
        self.search_start = 0  # up to which an earlier stage could go
        self.judgement = 1  # model rows that it takes to verify one answer
        self.spent = np.zeros(n, dtype=np.intp)
        self.was_cut = np.zeros(n, dtype=bool)  # rows whose budget is used up
        self._places: list[dict[int, int]] = [{} for _ in range(n)]  # by row and point, where its outputs are
        self._home = np.full(n, -1, dtype=np.intp)  # where the outputs of the rows as they are are
        self._outputs, self._count = np.empty((0, 0)), 0

    def is_spent(self, rows: Index) -> bool:
        """Whether none of these rows has anything left for a search."""
        return bool((self.spent[rows] >= self.search_limit).all())

    def can_verify(self, rows: Index, each: int, kept_back: int = 0) -> Mask:
        """Which points of ``rows`` ``(p,)`` can be checked at ``each`` model rows, those that come first first.

        ``kept_back`` are so many that must be left then.
        """
        before = np.zeros(len(rows), dtype=np.intp)
        order = np.argsort(rows, kind="stable")
        first = np.searchsorted(rows[order], rows[order])
        before[order] = np.arange(len(rows)) - first
        return np.asarray(self.spent[rows] + (before + 1) * each + kept_back <= self.check_limit)

    def remember_rows(self, x: Array, outputs: Array) -> None:
        """Note what was said, ``(n, c)``, of the rows as they are, ``x`` ``(n, d)``."""
        self._home = self._store(outputs)
        for row, (key, place) in enumerate(zip(_keys(x), self._home.tolist(), strict=True)):
            self._places[row][key] = place

    def forget_rows(self, rows: Index) -> None:
        """Give up what is remembered of rows that are answered; what they have spent stays."""
        for row in rows.tolist():
            self._places[row] = {}
        if not any(self._places):
            self._outputs, self._count = np.empty((0, 0)), 0

    def ask(self, call: Callable[[Array, Index], Array], x: Array, owners: Index) -> BudgetedOutputs:
        """What ``call`` says of points ``x`` ``(p, d)`` of rows ``owners`` ``(p,)``, as far as their budgets last."""
        left = (self.search_limit - self.spent).tolist()
        fresh: dict[tuple[int, int], int] = {}
        asked_places: list[int] = []
        # once it is spent a search learns no more, of known points either
        is_open = [rows_left > 0 for rows_left in left]
        places, asked = self._home[owners], np.zeros(len(x), dtype=bool)
        for place, (row, key) in enumerate(zip(owners.tolist(), _keys(x), strict=True)):
            if not is_open[row]:
                continue
            known = self._places[row].get(key)
            if known is None:
                known = fresh.get((row, key))
                if known is None:
                    if left[row] <= 0:
                        continue
                    left[row] -= 1
                    known = fresh[row, key] = self._count + len(asked_places)
                    asked_places.append(place)
            places[place], asked[place] = known, True
        if asked_places:
            self._store(call(x[asked_places], owners[asked_places]))
            for (row, key), known in fresh.items():
                self._places[row][key] = known
        self.was_cut[owners] |= np.array(left)[owners] <= 0
        return BudgetedOutputs(self._outputs[places], asked)

    def _store(self, outputs: Array) -> Index:
        """The places at which these outputs ``(p, c)`` are kept from now on."""
        end = self._count + len(outputs)
        if end > len(self._outputs) or self._outputs.shape[1] != outputs.shape[1]:
            room = np.empty((max(end, 2 * len(self._outputs)), outputs.shape[1]))
            if self._count:
                room[: self._count] = self._outputs[: self._count]
            self._outputs = room
        self._outputs[self._count : end] = outputs
        places = np.arange(self._count, end)
        self._count = end
        return places


def _keys(x: Array) -> list[int]:
    """A number for each point ``(p, d)``, the same for equal ones."""
    return [hash(point) for point in np.ascontiguousarray(x).view(f"V{8 * x.shape[1]}").ravel().tolist()]


def call_model(call: Callable[[Any], Any], x: Points, owners: Index, tally: Tally, what: str = "row") -> Any:
    """The result of a model's function at ``x`` ``(p, d)``, counted; an exception names the row that caused it.

    ``owners`` ``(p,)`` is the row of each point. The error's ``row`` is the first row whose points alone make the
    function raise again, or None if it does not raise again.
    """
    stop_if_cancelled()
    asked = len(x) if not tally.block_rows else -(-len(x) // tally.block_rows) * tally.block_rows
    tally.rows += asked
    tally.calls += 1
    if tally.row_budget is not None and what == "row":
        np.add.at(tally.row_budget.spent, owners, 1)
    started = time.perf_counter()
    try:
        answer = call_in_blocks(call, x, tally.block_rows) if tally.block_rows else call(x)
        tally.note_call(asked, time.perf_counter() - started)
        return answer
    except (CapabilityError, InputError):
        raise
    except Exception as error:
        row = _find_failing_row(call, x, owners)
        place = "" if row is None else f" on {what} {row}, counted from 0"
        answer = error.given if isinstance(error, ModelError) else f"it raised {type(error).__name__}{place}: {error}"
        raise ModelError(
            error.must if isinstance(error, ModelError) else "the model must answer every row inside the region",
            answer,
            error.todo if isinstance(error, ModelError) else _remedy(what),
            row=row if what == "row" else None,
        ) from error


def model_outputs(model: Model, x: Array, owners: Index, tally: Tally, what: str = "row") -> Array:
    """Outputs ``(p, c)`` of the model at ``x`` ``(p, d)``, checked and counted."""
    return check_outputs(call_model(model.outputs, x, owners, tally, what), x, owners, what)


def check_outputs(answer: Any, x: Points, owners: Index, what: str = "row") -> Array:
    """A model's answer at ``x`` ``(p, d)`` as outputs ``(p, c)``: a line of finite numbers for each point."""
    outputs = np.asarray(answer, dtype=np.float64)
    if outputs.ndim != 2 or len(outputs) != len(x):
        raise ModelError(
            "the model must give one line of outputs per row",
            f"{len(x)} rows gave outputs of shape {outputs.shape}",
            "correct the model",
        )
    if not np.isfinite(outputs).all():
        wrong = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
        place = wrong[owners[wrong].argmin()]
        row = int(owners[place])
        raise ModelError(
            "the model must answer with finite numbers",
            f"it gave {outputs[place].tolist()} for {what} {row}, counted from 0",
            _remedy(what),
            row=row if what == "row" else None,
        )
    return outputs


def _remedy(what: str) -> str:
    return "correct the model, or exclude such rows by constraints" if what == "row" else f"leave out each such {what}"


def _find_failing_row(call: Callable[[Any], Any], x: Points, owners: Index) -> int | None:
    for row in np.unique(owners).tolist():
        try:
            call(x[owners == row])
        except Exception:
            return int(row)
    return None
