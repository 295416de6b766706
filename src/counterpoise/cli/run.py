"""A run of explain: it answers the rows in parts, keeps what is finished if it is stopped, and sums up at its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from counterpoise.api.batch.rejected import REJECTED_NOTE_END
from counterpoise.api.batch.run_notes import FEW_ANSWERS_NOTE
from counterpoise.api.explainer import Explainer
from counterpoise.cli.exit_codes import NO_ROWS, SIGNALS, ExitCode, print_to_stderr
from counterpoise.errors import CounterpoiseError, InputError, Interrupted, ModelError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import REJECTED
from counterpoise.explanation.sentences import name_row
from counterpoise.scale.answer_table import explain_rows
from counterpoise.show.redaction import redact_notes

BUDGET_NOTE_START = "the budget of "  # how the note of a budget that ended a search begins


@dataclass(frozen=True)
class PartSizes:
    """How many rows are worked on together when each is written as soon as it is finished; parts double in size."""

    first: int = 8  # rows of the first part: the reader sees something soon
    largest: int = 64  # rows of a part, at most


PART_SIZES = PartSizes()


class CommandRun:
    """Iterates over the explained parts; if the run is stopped, finished parts still come out and ``error`` is kept."""

    def __init__(
        self,
        explainer: Explainer,
        table: pd.DataFrame,
        question: dict[str, Any],
        budget: float | None,
        size: int,
        *,
        redact: bool = False,
        strict: bool = False,
        quiet: bool = False,
    ) -> None:
        self.explainer, self.table, self.question, self.first_part_rows = explainer, table, question, size
        self.redact, self.strict, self.quiet = redact, strict, quiet
        self.budget, self.start_time = budget, time.monotonic()
        self.part_count = self.finished_count = self.valid_count = self.firm_count = self.short_count = 0
        self.rejected_count = 0
        self.notes: dict[str, None] = {}  # in order, each once
        self.error: CounterpoiseError | None = None
        self.error_place = ""  # the row that the error is about

    def __iter__(self) -> Iterator[Explanation]:
        start, size = 0, self.first_part_rows
        if not len(self.table):
            yield explain_rows(self.explainer, self.table, **self.question)
        while start < len(self.table):
            left = self.budget
            if left is not None and start:
                left = max(0.0, self.start_time + left - time.monotonic())
            try:
                part = explain_rows(self.explainer, self.table.iloc[start : start + size], budget=left, **self.question)
            except (Interrupted, ModelError, InputError) as error:
                partial = getattr(error, "partial", None)
                if partial is None and not self.finished_count:
                    raise
                self.error = error
                place = getattr(error, "row", None)  # counted from the first row of this part
                self.error_place = "" if place is None else f"; it is about {name_row(self.table.index, start + place)}"
                if partial is not None and len(partial):
                    yield self._add_counts(partial)
                return
            yield self._add_counts(part)
            start, size = start + size, min(2 * size, max(PART_SIZES.largest, self.first_part_rows))

    def _add_counts(self, part: Explanation) -> Explanation:
        self.part_count += 1
        self.finished_count += len(part)
        self.valid_count += int(part.valid.sum())
        self.firm_count += int(part.is_firm_enough.sum())
        self.short_count += int((part.valid & (part.count < self.question["alternatives"])).sum())
        self.rejected_count += int((part.status == REJECTED).sum())
        self.notes |= dict.fromkeys(part.notes)
        return part

    def finish(self) -> int:
        """Print how the run went on standard error; gives the exit code."""
        if not self.quiet:
            for note in self._final_notes():
                print_to_stderr(f"note: {note}")
        if self.error is not None:
            where = " and are in the output" if self.finished_count else "; nothing was written"
            why = "interrupted" if isinstance(self.error, Interrupted) else str(self.error)
            finished = f"{self.finished_count} of {len(self.table)} rows were finished{where}"
            print_to_stderr(f"counterpoise: {why}{self.error_place}; {finished}")
            return SIGNALS.exit_code if isinstance(self.error, Interrupted) else ExitCode.STOPPED
        if not self.finished_count:
            if not self.quiet:
                print_to_stderr(NO_ROWS)
            return ExitCode.ALL_FOUND
        keep = self.question["keep"]
        share = "" if keep is None else f"; {self.firm_count} surely keep it in {100 * keep:g} % of noisy copies"
        rejected = f"; {self.rejected_count} rejected" if self.rejected_count else ""
        if not self.quiet:
            print_to_stderr(f"{self.valid_count} of {self.finished_count} rows reach the target{share}{rejected}")
        if self._was_cut_by_budget():  # also where every row has an answer: with more time it may be a nearer one
            return ExitCode.STOPPED
        enough = self.firm_count if self.strict else self.valid_count
        return ExitCode.ALL_FOUND if enough == self.finished_count else ExitCode.NOT_ALL_FOUND

    def _was_cut_by_budget(self) -> bool:
        return any(note.startswith(BUDGET_NOTE_START) for note in self.notes)

    def _final_notes(self) -> list[str]:
        """The notes that concern all rows, each once."""
        unique_notes = {note: None for note in self.notes if not note.endswith(REJECTED_NOTE_END)}  # in the summary
        notes = list(redact_notes(unique_notes) if self.redact else unique_notes)
        if self.part_count > 1 and any(
            note.startswith(BUDGET_NOTE_START) for note in notes
        ):  # each part speaks of what it had left
            notes = [note for note in notes if not note.startswith(BUDGET_NOTE_START)]
            notes.append(
                f"{BUDGET_NOTE_START}{self.budget:g} s ended the search of some rows: more time may find nearer answers"
            )
        if self.short_count:  # each part speaks of its own rows
            notes = [note for note in notes if FEW_ANSWERS_NOTE not in note]
            wanted = self.question["alternatives"]
            notes.append(f"{self.short_count} of {self.finished_count} rows {FEW_ANSWERS_NOTE} {wanted} asked for")
        return notes
