"""What a run has found so far, as workers send it back to the run that asked them."""

from __future__ import annotations

from typing import Any, NamedTuple

from counterpoise.api.firmness.firm import Firmness
from counterpoise.api.firmness.kept import KeptShares
from counterpoise.api.solve import Answers
from counterpoise.errors import ModelError
from counterpoise.types import Array, Index


class FinishedRows(NamedTuple):
    """What a worker found for its rows: the fields of an `ExplanationRun` of the same names; rows count from 0."""

    finished_rows: list[Index]
    finished_answers: list[Answers]
    firm_answers: list[tuple[Answers, Firmness]]
    kept: list[KeptShares]
    firm_kept: list[KeptShares]
    kept_notes: list[str]
    rows_let_off: dict[str, set[int]]
    evidence: list[Array]
    rows_out_of_time: int
    rejected: dict[int, str]
    model_rows: int
    error: ModelError | None  # what ended the run before all rows were answered

    def add_to(self, run: Any, rows: Index) -> None:
        """Add this to a run, in which its rows are ``rows`` ``(p,)``; raise the error that ended it, if one did."""
        for mine, answers in zip(self.finished_rows, self.finished_answers, strict=True):
            run.finished_rows.append(rows[mine])
            run.record_predictions(rows[mine], answers.before)
        for name in ("finished_answers", "firm_answers", "kept", "firm_kept", "kept_notes", "evidence"):
            getattr(run, name).extend(getattr(self, name))
        for text, loose in self.rows_let_off.items():
            run.rows_let_off.setdefault(text, set()).update(rows[sorted(loose)].tolist())
        run.rejected |= {int(rows[row]): reason for row, reason in self.rejected.items()}
        run.rows_out_of_time += self.rows_out_of_time
        run.tally.rows += self.model_rows
        if self.error is not None:
            if self.error.row is not None:
                self.error.row = int(rows[self.error.row])
            raise self.error


def answer_alone(run: Any) -> FinishedRows:
    """Answer all rows of a run in this process; what was found, without making an Explanation of it."""
    error = None
    try:
        run.ask_about_rows()
        run.resolve_goals()
        run.answer_all(lambda done, total: None)
    except ModelError as raised:
        error = raised
    own = {name: getattr(run, name) for name in FinishedRows._fields if name not in ("model_rows", "error")}
    return FinishedRows(**own, model_rows=run.tally.rows, error=error)


def is_model_down(run: Any) -> bool:
    """Whether the model of a run fails on a reference row too, so that no row is to blame."""
    row = run.reference.sample_rows(1)
    try:
        if len(row):
            run.explained.model.outputs(row)
    except Exception:  # whatever the user's model raises
        return True
    return False
