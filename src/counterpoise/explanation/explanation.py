"""Explanation: the answers to some rows with all that is known of them, as arrays, tables and sentences; no model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoise.errors import InputError, name_kind
from counterpoise.explanation import tables, views
from counterpoise.explanation.answered_rows import AnsweredRows
from counterpoise.explanation.cards.cards import build_cards
from counterpoise.explanation.cards.html import draw_card_html
from counterpoise.explanation.exports.flat import (
    Library,
    convert_table,
    tabulate_flat,
    tabulate_importance,
    write_excel,
)
from counterpoise.explanation.exports.wide import tabulate_wide, write_markdown
from counterpoise.explanation.fields import AnswerEnergies, ModelScores
from counterpoise.explanation.json import json_archive
from counterpoise.explanation.repr import REPR_LIMITS, draw_html, draw_text, headline
from counterpoise.plain_text import escape_controls


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explanation(AnsweredRows):
    """The answers to n rows, a alternatives each, over d features.

    Arrays are encoded: a number as it is, a category as its code, a missing cell as NaN. Tables have the index of
    ``rows``. A part is taken by position, as of an array: ``explanation[0]``, ``[2:5]``, ``[[1, 3]]``, ``[mask]``.

    schema: the features.
    rows: the input as it came, with columns that the schema does not have.
    x0, answers: the rows ``(n, d)`` and their answers ``(n, a, d)``, best first. The first is always there: where no
        answer is valid it is the nearest miss, or the row itself. Slots without an answer are NaN.
    count: how many answers of each row `changes` and `alternatives` list, ``(n,)``; 0 leaves a nearest miss out.
    valid: whether the best answer reaches the target, ``(n,)``.
    status, reason: what is known of the best answer, and why, ``(n,)``: "optimal" (valid, and proven to be the least),
        "bounded" (valid, and none costs less than a bound above 0), "valid", "not_found", "infeasible" (nothing legal
        reaches the target), or "rejected" (the row could not be read, or the model failed on it).
    target: what was asked for, ``(n,)``: the label, or "anything but dog", or "[10, 20]" of a predicted number.
    model_scores: what the model says of the rows and of their answers; `scores` is the table of it.
    terms: the terms of Eq. (3) at the best answers; `energy` is the table of them.
    measures: effort, probability, share kept and share of further models that agree, of every answer; `kept`,
        `kept_interval` and `agree` are those of the best.
    held: features that could not change, and why.
    quantiles: by label, the reference's quantiles ``(q, d)`` at `tables.QUANTILES`, NaN for categories.
    firm: where noise was asked about: the share of noisy copies that keep the target (kept), its confidence
        interval (kept_low, kept_high), the temperature, the noise, and how many copies were drawn (copies).
    tipping: the minimal answers beside the firm ones.
    evidence: the real reference rows of the target that are nearest to each row, ``(n, m, d)``, nearest first, by L2
        in standard deviations; slots without one are NaN. None where there is no reference.
    question: what was asked: target, constraints, noise, seed and the rest of what it takes to repeat the call.
    bound: no valid answer costs less than this effort ``d + lam R``, ``(n,)``; NaN where no bound is known, infinite
        where it is proven that no answer exists. `gap` holds the answers against it.
    seconds, model_rows: the time that the call took, and the rows that the model was asked about.
    versions: the packages that computed the answers; ``model`` is a hash of what the model says of reference rows.
    notes: remarks that concern all rows.
    """

    def __iter__(self) -> Iterator[Explanation]:
        return (self[row] for row in range(len(self)))

    @property
    def frame(self) -> pd.DataFrame:
        """The best answers as rows with the input's columns, dtypes and index; unchanged cells are the input's own."""
        return tables.restore_table(self.schema, self.rows, self.x0, self.x)

    @property
    def answer_table(self) -> pd.DataFrame:
        """A line for each answer: what it takes, how sure it is, and what is odd about it.

        row (its label), position, alternative (0: the best), changed (how many features), distance (L2, in standard
        deviations), effort, bound (of what could stand in its place), probability (of the target), kept, kept_low,
        kept_high, agree (share of further models that give the target too), agree_of (of how many), fragile, edge (no
        real row is anywhere near), unusual (features whose new values hardly any row of the target has).
        """
        return views.tabulate_answers(self)

    @property
    def changes(self) -> pd.DataFrame:
        """Every change of every answer: row (its label), alternative (0: the best), feature, from, to, position.

        ``position`` is the row's place among those explained, from 0: labels may be shared by several rows.
        """
        return tables.tabulate_changes(self.schema, self.rows, self.x0, self.answers, self.count.tolist())

    @property
    def alternatives(self) -> pd.DataFrame:
        """All answers as rows with the input's columns, indexed by (row, alternative)."""
        return tables.tabulate_alternatives(self.schema, self.rows, self.x0, self.answers, self.count)

    @property
    def real_rows(self) -> pd.DataFrame:
        """The evidence as a table: row (its label), position, rank (1: the nearest), distance, and the real values."""
        return tables.tabulate_real_rows(self.schema, self.rows.index, self.x0, self.evidence)

    def text(self) -> str:
        """What the explanation says, in plain English: a paragraph for one row, a line for each of several."""
        if not len(self):
            return "No rows were explained."
        lines = [views.compose_row_text(self, row) for row in range(len(self))]
        if len(self) == 1:
            return lines[0]
        return "\n".join(
            f"Row {escape_controls(str(label))}: {line}" for label, line in zip(self.rows.index, lines, strict=True)
        )

    def table(self, *, all_features: bool = False) -> pd.DataFrame:
        """A wide table of texts: each row as it is, then its answers, with a dash where nothing changes.

        all_features: whether features that no answer changes have columns too. A notebook shows changes in bold.
        """
        return tabulate_wide(self, all_features=all_features)

    def importance(self) -> pd.DataFrame:
        """How often answers change each feature, which way and by how much, the most often changed first.

        Of several rows the best answers count, of a single row its alternatives. ``mean_change`` is in standard
        deviations, ``mean_difference`` in the units of the feature.
        """
        return tabulate_importance(self)

    def to_frame(self, library: Library = "pandas") -> Any:
        """A line for each answer: the input's columns as the answer has them, then what is known of it.

        The columns of the second kind have names that begin with ``cp_``.

        library: whose table it is: "pandas" (the default), "polars" or "pyarrow".
        """
        return convert_table(tabulate_flat(self), library)

    def to_markdown(self, *, all_features: bool = False) -> str:
        """The wide table as Markdown."""
        return write_markdown(self.table(all_features=all_features))

    def to_excel(self, path: str | Path) -> None:
        """Write an Excel file (.xlsx) with the sheets answers, changes and importance; needs the extra ``excel``."""
        sheets = {"answers": tabulate_flat(self), "changes": self.changes, "importance": self.importance()}
        write_excel(path, sheets)

    def to_json(self) -> str:
        """The explanation as a JSON document, format version 2 (docs/reference/explanation-format.md)."""
        return json_archive.dump_document(self._archive_fields())

    @classmethod
    def from_json(cls, text: str | bytes) -> Explanation:
        """The explanation that `to_json` wrote, to the bit."""
        return cls._from_fields(json_archive.load_document(text))

    def save(self, path: str | Path) -> None:
        """Write the explanation to a file, as JSON."""
        json_archive.save_document(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Explanation:
        """The explanation that `save` wrote."""
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise InputError("the file must be readable", f"{path}: {error.strerror}", "correct the path") from error
        return cls.from_json(text)

    def __repr__(self) -> str:
        return draw_text(self._headline(), views.list_short_cells(self) if len(self) <= REPR_LIMITS.rows else [])

    def _repr_html_(self) -> str:
        """In a notebook: the card of a single row, a table of several."""
        if len(self) == 1:
            return draw_card_html(build_cards(self)[0])
        shown = self[: REPR_LIMITS.notebook_rows]
        return draw_html(self._headline(), views.list_short_cells(shown), len(self) - len(shown))

    def _headline(self) -> str:
        return headline(self.status.tolist(), self.valid, self.terms.distance, self.changed)

    def _archive_fields(self) -> dict[str, Any]:
        archived = {
            item.name: getattr(self, item.name) for item in fields(self) if item.name not in ("model_scores", "terms")
        }
        archived |= {"scores": self.scores, "energy": self.terms.to_frame(self.rows.index)}
        return {**archived, "tipping": None if self.tipping is None else self.tipping._archive_fields()}

    @classmethod
    def _from_fields(cls, archived: dict[str, Any]) -> Explanation:
        tipping, model_scores, terms = (
            archived["tipping"],
            ModelScores.of(archived.pop("scores")),
            AnswerEnergies.of(archived.pop("energy")),
        )
        return cls(
            **{
                **archived,
                "model_scores": model_scores,
                "terms": terms,
                "tipping": None if tipping is None else cls._from_fields(tipping),
            }
        )


def check_explanation(given: object) -> None:
    """An error unless it is an explanation, which an explainer and its rows are easily taken for."""
    if not isinstance(given, Explanation):
        hint = "give what it returns for the rows, then the model" if callable(given) else "give what explain returns"
        raise InputError("explanation must be an Explanation", f"{name_kind(given)} was given", hint)
