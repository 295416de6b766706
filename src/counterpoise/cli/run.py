"""A run of explain: rows in parts, what was finished where it is stopped, and what is said at its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.cli.endings import FOUND, INTERRUPTED, NOT_ALL, STOPPED, say
from counterpoise.errors import CounterpoiseError, InputError, Interrupted, ModelError
from counterpoise.explanation import Explanation
from counterpoise.sentences import row_named

AT_ONCE = 64  # rows worked on together, at most, when each is written as soon as it is finished
SPENT = "the budget of "  # how the note of a budget that ended a search begins


class Run:
    """The rows in parts; what is finished comes out even where the run is stopped, and the reason is kept."""

    def __init__(
        self, explainer: Explainer, table: pd.DataFrame, asked: dict[str, Any], budget: float | None, size: int
    ) -> None:
        self.explainer, self.table, self.asked, self.size = explainer, table, asked, size
        self.budget, self.began = budget, time.monotonic()
        self.parts = self.done = self.valid = self.firm = self.few = 0
        self.notes: dict[str, None] = {}  # in order, each once
        self.error: CounterpoiseError | None = None
        self.where = ""  # the row that the error is about

    def __iter__(self) -> Iterator[Explanation]:
        start, size = 0, self.size
        while start < len(self.table):
            left = self.budget
            if left is not None and start:
                left = max(0.0, self.began + left - time.monotonic())
            try:
                part = self.explainer(self.table.iloc[start : start + size], budget=left, **self.asked)
            except (Interrupted, ModelError, InputError) as error:
                partial = getattr(error, "partial", None)
                if partial is None and not self.done:
                    raise
                self.error = error
                place = getattr(error, "row", None)  # counted from the first row of this part
                self.where = "" if place is None else f"; it is about {row_named(self.table.index, start + place)}"
                if partial is not None and len(partial):
                    yield self._count(partial)
                return
            yield self._count(part)
            start, size = start + size, min(2 * size, max(AT_ONCE, self.size))

    def _count(self, part: Explanation) -> Explanation:
        self.parts += 1
        self.done += len(part)
        self.valid += int(part.valid.sum())
        self.firm += int(part.firm_enough.sum())
        self.few += int((part.valid & (part.count < self.asked["alternatives"])).sum())
        self.notes |= dict.fromkeys(part.notes)
        return part

    def finish(self) -> int:
        """Say how it went, on standard error; the exit code."""
        for note in self._told():
            say(f"note: {note}")
        if self.error is not None:
            where = " and are in the output" if self.done else "; nothing was written"
            why = "interrupted" if isinstance(self.error, Interrupted) else str(self.error)
            say(f"counterpoise: {why}{self.where}; {self.done} of {len(self.table)} rows were finished{where}")
            return INTERRUPTED if isinstance(self.error, Interrupted) else STOPPED
        keep = self.asked["keep"]
        share = "" if keep is None else f"; {self.firm} surely keep it in {100 * keep:g} % of noisy copies"
        say(f"{self.valid} of {self.done} rows reach the target{share}")
        return FOUND if self.firm == self.done else NOT_ALL

    def _told(self) -> list[str]:
        """What is said once for all rows."""
        notes = list(self.notes)
        if self.parts > 1 and any(note.startswith(SPENT) for note in notes):  # each part speaks of what it had left
            notes = [note for note in notes if not note.startswith(SPENT)]
            notes.append(f"{SPENT}{self.budget:g} s ended the search of some rows: more time may find nearer answers")
        if self.asked["keep"] is not None and self.few:
            notes.append(
                f"{self.few} of {self.done} rows have fewer firm answers than the {self.asked['alternatives']} asked "
                "for; several tipping points of a row are in .json and .ndjson (tipping), and come without --keep"
            )
        return notes
