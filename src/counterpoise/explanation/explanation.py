"""Explanation: the answers to some rows with all that is known of them, as arrays, tables and sentences; no model."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import InputError
from counterpoise.explanation import json_archive, sentences, tables
from counterpoise.explanation.fields import ONE_RUN_HINT, AnswerEnergies, ModelScores, check_columns, gap_to_bound
from counterpoise.explanation.question import Question
from counterpoise.explanation.repr import REPR_LIMITS, draw_html, draw_text, headline
from counterpoise.explanation.row_selection import RowSelection, row_positions
from counterpoise.plain_text import escape_controls
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Mask

BY_ROW = ("count", "valid", "status", "reason", "target", "model_scores", "terms", "bound")
FIRM_COLUMNS = ("kept", "kept_low", "kept_high", "temperature", "noise")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Explanation:
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
        "bounded" (valid, and none costs less than a bound above 0), "valid", "not_found", or "infeasible" (nothing
        legal reaches the target).
    target: what was asked for, ``(n,)``: the label, or "anything but dog", or "[10, 20]" of a predicted number.
    model_scores: what the model says of the rows and of their answers; `scores` is the table of it.
    terms: the terms of Eq. (3) at the best answers; `energy` is the table of them.
    held: features that could not change, and why.
    quantiles: by label, the reference's quantiles ``(q, d)`` at `tables.QUANTILES`, NaN for categories.
    firm: where noise was asked about: the share of noisy copies that keep the target (kept), its confidence
        interval (kept_low, kept_high), the temperature, and the noise.
    tipping: the minimal answers beside the firm ones.
    evidence: the real reference rows of the target that are nearest to each row, ``(n, m, d)``, nearest first, by L2
        in standard deviations; slots without one are NaN. None where there is no reference.
    question: what was asked: target, constraints, noise, seed and the rest of what it takes to repeat the call.
    bound: no valid answer costs less than this effort ``d + lam R``, ``(n,)``; NaN where no bound is known, infinite
        where it is proven that no answer exists. `gap` holds the answers against it.
    seconds, model_rows: the time that the call took, and the rows that the model was asked about.
    versions: the packages that computed the answers; ``model`` is a hash of what the model says of reference rows.
    notes: what is said once for all rows.
    """

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
    held: Mapping[Hashable, str] = field(default_factory=dict)
    quantiles: Mapping[Any, Array] = field(default_factory=dict)
    firm: pd.DataFrame | None = None
    tipping: Explanation | None = None
    evidence: Array | None = None
    question: Question = field(default_factory=Question)
    bound: Array = field(default_factory=lambda: np.empty(0))
    seconds: float = 0.0
    model_rows: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n, d = len(self.rows), len(self.schema)
        if self.x0.shape != (n, d):
            _refuse(f"x0 must have the shape ({n}, {d})", f"it has {self.x0.shape}")
        if self.answers.ndim != 3 or self.answers.shape[::2] != (n, d) or self.answers.shape[1] < 1:
            _refuse(f"answers must have the shape ({n}, a, {d})", f"they have {self.answers.shape}")
        if self.evidence is not None and (self.evidence.ndim != 3 or self.evidence.shape[::2] != (n, d)):
            _refuse(f"evidence must have the shape ({n}, m, {d})", f"it has {self.evidence.shape}")
        if not len(self.bound):
            object.__setattr__(self, "bound", np.full(n, np.nan))
        for name in (*BY_ROW, "firm", "tipping"):
            part = getattr(self, name)
            if part is not None and len(part) != n:
                _refuse(f"{name} must have an entry for each of the {n} rows", f"it has {len(part)}")
        if self.firm is not None:
            check_columns("firm", self.firm, FIRM_COLUMNS)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Explanation]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, key: int | RowSelection) -> Explanation:
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

    @property
    def frame(self) -> pd.DataFrame:
        """The best answers as rows with the input's columns, dtypes and index; unchanged cells are the input's own."""
        return tables.restore_table(self.schema, self.rows, self.x0, self.x)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """What the model says: predictions, the target's probability, margins; the fields of `ModelScores`."""
        return self.model_scores.to_frame(self.rows.index)

    @cached_property
    def energy(self) -> pd.DataFrame:
        """The terms of Eq. (3) at the best answers: distance, regularizer, decision, their total, its lam and mu."""
        return self.terms.to_frame(self.rows.index)

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
    def changed(self) -> Index:
        """How many features the best answer changes, ``(n,)``."""
        different = tables.differs(self.x0, self.answers[:, :1])
        return np.asarray(different.sum(axis=(1, 2)), dtype=np.intp)

    @property
    def firm_enough(self) -> Mask:
        """Whether the best answer is valid and surely keeps the share of noisy copies that was asked for, ``(n,)``.

        Sure is the lower end of the share's confidence interval. Where no share was asked for, to be valid is enough.
        """
        if self.firm is None or self.question.keep is None:
            return self.valid
        return np.asarray(self.valid & (self.firm["kept_low"].to_numpy(dtype=np.float64) >= self.question.keep))

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

    def percentile(self, feature: Hashable, value: float, label: Any) -> float:
        """Where a value lies among the reference rows of a label, from 0 to 100; NaN for categories."""
        if label not in self.quantiles:
            known = ", ".join(map(repr, self.quantiles)) or "none"
            _refuse("label must be one that the reference has rows of", f"{label!r}; there are {known}", "choose one")
        return tables.percentile(self.quantiles[label][:, self.schema.position(feature)], float(value))

    def text(self) -> str:
        """What the explanation says, in plain English: a paragraph for one row, a line for each of several."""
        if not len(self):
            return "No rows were explained."
        lines = [
            sentences.compose_text(self.schema, changes, self._row_outcome(row))
            for row, changes in enumerate(self._best_changes())
        ]
        if len(self) == 1:
            return lines[0]
        return "\n".join(
            f"Row {escape_controls(str(label))}: {line}" for label, line in zip(self.rows.index, lines, strict=True)
        )

    def to_json(self) -> str:
        """The explanation as a JSON document, format version 2 (docs/explanation-format.md)."""
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
        return draw_text(self._headline(), self._table_cells() if len(self) <= REPR_LIMITS.rows else [])

    def _repr_html_(self) -> str:
        shown = self[: REPR_LIMITS.notebook_rows]
        return draw_html(self._headline(), shown._table_cells(), len(self) - len(shown))

    def _best_changes(self) -> list[list[tables.Change]]:
        """For each row, the changes of its best answer or nearest miss."""
        out: list[list[tables.Change]] = [[] for _ in range(len(self))]
        for change in tables.list_changes(self.schema, self.rows, self.x0, self.answers[:, :1], [1] * len(self)):
            out[change.row].append(change)
        return out

    def _row_outcome(self, row: int) -> sentences.RowOutcome:
        after, probability = self.scores["after"].iloc[row], float(self.scores["probability_after"].iloc[row])
        said = (self.target[row], after, probability, bool(self.valid[row]), self.status[row], self.reason[row])
        found = sentences.RowOutcome(*said, effort=float(self.effort[row]), bound=float(self.bound[row]))
        if self.firm is None:
            return found
        kept, sure = (float(self.firm[name].iloc[row]) for name in ("kept", "kept_low"))
        asked = np.nan if self.question.keep is None else self.question.keep
        return found._replace(kept=kept, kept_low=sure, share_asked=asked)

    def _headline(self) -> str:
        return headline(self.status.tolist(), self.valid, self.terms.distance, self.changed)

    def _table_cells(self) -> list[tuple[str, ...]]:
        """The cells of the short table, a tuple for each row."""
        out = []
        for row, changes in enumerate(self._best_changes()):
            scores = self.scores.iloc[row]
            said = [sentences.format_label(scores[when]) for when in ("before", "after")]
            odds = [sentences.format_probability(scores[f"probability_{when}"]) for when in ("before", "after")]
            distance = f"{self.terms.distance[row]:.4g}"
            status = self.status[row].replace("_", " ")
            label = str(self.rows.index[row])
            out.append((label, *said, " → ".join(filter(None, odds)), self._format_changes(changes), distance, status))
        return out

    def _format_changes(self, changes: list[tables.Change]) -> str:
        parts = []
        for change in sentences.sort_by_size(changes)[: REPR_LIMITS.changes]:
            feature = self.schema.features[change.column]
            parts.append(f"{feature.title} {' → '.join(sentences.format_pair(feature, change.before, change.after))}")
        more = len(changes) - len(parts)
        return ", ".join([*parts, *([f"{more} more"] if more else [])])

    def _archive_fields(self) -> dict[str, Any]:
        own = {
            item.name: getattr(self, item.name) for item in fields(self) if item.name not in ("model_scores", "terms")
        }
        own |= {"scores": self.scores, "energy": self.energy}
        return {**own, "tipping": None if self.tipping is None else self.tipping._archive_fields()}

    @classmethod
    def _from_fields(cls, own: dict[str, Any]) -> Explanation:
        tipping, said, terms = own["tipping"], ModelScores.of(own.pop("scores")), AnswerEnergies.of(own.pop("energy"))
        return cls(
            **{
                **own,
                "model_scores": said,
                "terms": terms,
                "tipping": None if tipping is None else cls._from_fields(tipping),
            }
        )


def _refuse(must: str, given: str, todo: str = ONE_RUN_HINT) -> None:
    raise InputError(must, given, todo)
