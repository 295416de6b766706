"""One question asked of many rows: of every one, or of those that can be answered, the others set aside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.assemble import package_versions
from counterpoise.api.batch.finished import is_model_down
from counterpoise.api.batch.rejected import find_unanswerable, put_back
from counterpoise.api.progress import ProgressSetting
from counterpoise.errors import InputError, Interrupted, ModelError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import AnswerEnergies, AnswerMeasures, ModelScores
from counterpoise.explanation.question import Question
from counterpoise.space.schema.tables_in import as_rows
from counterpoise.types import Index


@dataclass(frozen=True, eq=False)
class RowsAsked:
    """A question that an explainer is asked about rows, since ``start_time`` and in ``processes`` of them."""

    explainer: Any  # an Explainer, which stands above this module
    question: Question
    start_time: float
    processes: int
    progress: ProgressSetting

    def answer_every_row(self, rows: Any) -> Explanation:
        """The explanation of all rows; an error for a row that cannot be answered."""
        run = self._start(rows, self.question, "raise")
        if not len(run.input_rows):
            return self.explain_nothing(run.input_rows.table)
        found: Explanation = run.run(self.progress)
        return found

    def answer_what_can_be(self, rows: Any) -> Explanation:
        """The explanation of all rows, rejected ones among them.

        Where none can be answered this is an error: the first one, with the explanation of rejected rows as its
        ``rejected``.
        """
        reasons: dict[int, str] = {}
        table, places = None, None
        run = None
        try:
            run = self._start(rows, self.question, "reject")
            if not len(run.input_rows):
                return self.explain_nothing(run.input_rows.table)
            run.ask_about_rows()
        except (InputError, ModelError) as error:
            if isinstance(error, ModelError) and (error.row is None or run is None or is_model_down(run)):
                raise
            table = self._read_table(rows, error)
            reasons = find_unanswerable(np.arange(len(table)), partial(self._try_rows, table))
            places = np.setdiff1d(np.arange(len(table)), np.fromiter(reasons, dtype=np.intp))
            if not len(places):
                nothing = self.explain_nothing(table)
                error.rejected = put_back(nothing, places, table, reasons, self.question)  # type: ignore[union-attr]
                raise
            run = self._start(table.iloc[places], self.question.take(places), "reject")
        places = np.arange(len(run.input_rows)) if places is None else places
        table = run.input_rows.table if table is None else table
        try:
            found: Explanation = run.run(self.progress)
        except (Interrupted, ModelError) as stopped:
            if stopped.partial is not None:
                stopped.partial = self._put_back(stopped.partial, run, places, table, reasons, ended_early=True)
            raise
        return self._put_back(found, run, places, table, reasons)

    def _put_back(
        self,
        found: Explanation,
        run: Any,
        places: Index,
        table: pd.DataFrame,
        reasons: dict[int, str],
        *,
        ended_early: bool = False,
    ) -> Explanation:
        """What was found, with rejected rows among it; of a run that ended early, those before its last answer."""
        answered = places[np.sort(np.concatenate([np.arange(0), *run.finished_rows]).astype(np.intp))]
        every = {**reasons, **{int(places[row]): reason for row, reason in run.rejected.items()}}
        if ended_early:
            last = int(answered.max(initial=-1))
            every = {place: reason for place, reason in every.items() if place < last}
        return put_back(found, answered, table, every, self.question)

    def _start(self, rows: Any, question: Question, on_error: str) -> Any:
        return self.explainer.start_run(rows, question, self.start_time, on_error, self.processes)

    def _try_rows(self, table: pd.DataFrame, places: Index) -> None:
        self._start(table.iloc[places], self.question.take(places), "reject").ask_about_rows()

    def _read_table(self, rows: Any, error: InputError | ModelError) -> pd.DataFrame:
        """The rows as a table, in which some may be answered; the error is raised again where that cannot be."""
        table = as_rows(rows, self.explainer.schema.columns)
        known = set(table.columns.tolist())
        if not len(table) or any(name not in known for name in self.explainer.schema.names):
            raise error
        return table

    def explain_nothing(self, table: pd.DataFrame) -> Explanation:
        """The explanation of no rows."""
        schema, a, words = self.explainer.schema, self.question.alternatives, np.empty(0, dtype=object)
        numbers = np.empty(0)
        return Explanation(
            schema=schema,
            rows=table.iloc[:0],
            x0=np.empty((0, len(schema))),
            answers=np.empty((0, a, len(schema))),
            count=np.empty(0, dtype=np.intp),
            valid=np.empty(0, dtype=bool),
            status=words,
            reason=words,
            target=words,
            model_scores=ModelScores(words, words, *(numbers,) * 4),
            terms=AnswerEnergies(*(numbers,) * 6),
            measures=AnswerMeasures.unknown(0, a),
            held=self.explainer.held,
            quantiles=self.explainer.reference.quantiles(self.explainer.model),
            question=self.question,
            versions=dict(package_versions()),
        )


def explain_no_rows(explainer: Any, table: pd.DataFrame, question: Question) -> Explanation:
    """The explanation of no rows: all tables are there, and empty; ``table`` has the columns of the input."""
    absent = [name for name in explainer.schema.names if name not in table.columns]
    empty = table.iloc[:0].reindex(columns=[*table.columns, *absent])
    return RowsAsked(explainer, question, 0.0, 1, progress=False).explain_nothing(empty)
