"""What explain and watch ask: the options that make an explainer and its question, and both made from them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.batch.make_question import make_question
from counterpoise.api.explainer import Explainer
from counterpoise.cli import arguments, table_files
from counterpoise.cli.batch.log_files import RowsFile
from counterpoise.errors import InputError
from counterpoise.scale.row_filter import RowFilter
from counterpoise.space.yaml.unset_marks import UnsetMarks
from counterpoise.types import Index


@dataclass(frozen=True)
class QuestionOptions:
    """The options of a question, as the command line has them; docs/command-line.md says what each means."""

    model: str
    data: str
    target: str
    threshold: float | None
    schema: str | None
    keep: float | None
    noise: str
    kept: bool | None
    agree: list[str] | None
    alternatives: int
    distance: str
    lam: str
    penalty: str
    seed: int
    proof: bool | None
    gap: float
    model_rows: int | None
    label: str | None
    fixed: list[str] | None
    only: list[str] | None
    increasing: list[str] | None
    decreasing: list[str] | None
    max_changes: int | None
    flow_rules: str | None
    new_categories: bool
    no_relations: bool
    unset: list[str] | None
    trust: bool
    factory: str | None
    on_error: str
    jobs: int

    @classmethod
    def pick(cls, options: dict[str, Any]) -> QuestionOptions:
        """Those of the options of a command that make the question."""
        return cls(**{item.name: options[item.name] for item in fields(cls)})


@dataclass(frozen=True)
class PreparedQuestion:
    """An explainer, the settings of its calls, its reference data, and which marks in a file mean a missing value."""

    explainer: Explainer
    settings: dict[str, Any]
    reference: pd.DataFrame
    unset: UnsetMarks

    @cached_property
    def truth_columns(self) -> list[Any]:
        """The columns of the reference that hold truth values."""
        return [name for name, dtype in self.reference.dtypes.items() if dtype == np.dtype(bool)]

    @cached_property
    def number_columns(self) -> set[Any]:
        """The columns of the reference that hold numbers, and no truth values."""
        numbers = {name for name, dtype in self.reference.dtypes.items() if pd.api.types.is_numeric_dtype(dtype)}
        return numbers - set(self.truth_columns)


def prepare_question(options: QuestionOptions) -> PreparedQuestion:
    """Read the data, the schema and the model, and check every setting before any row is answered."""
    marks = arguments.read_unset_marks(options.schema, options.unset)
    reference = table_files.read_data(options.data, options.label, marks)
    features, words = arguments.read_constraints(
        options.schema,
        reference,
        options.fixed,
        options.increasing,
        options.decreasing,
        options.max_changes,
        options.only,
    )
    words += arguments.read_flow_rules(options.flow_rules, features, reference)
    fitted = arguments.open_model(options.model, trust=options.trust, factory=options.factory)
    explainer = Explainer(
        fitted,
        reference=reference,
        schema=features,
        constraints=words,
        new_categories=options.new_categories,
        relations=None if options.no_relations else "discovered",
    )
    settings = {
        "target": arguments.parse_target(options.target, explainer.model.labels),
        "threshold": options.threshold,
        "keep": options.keep,
        "noise": arguments.parse_noise(options.noise),
        "kept": "auto" if options.kept is None else options.kept,
        "distance": options.distance,
        "lam": arguments.parse_lam(options.lam),
        "penalty": options.penalty,
        "alternatives": options.alternatives,
        "proof": "auto" if options.proof is None else options.proof,
        "gap": options.gap,
        "model_rows": options.model_rows,
        "seed": options.seed,
    }
    make_question(explainer, **settings)
    settings |= {"on_error": arguments.check_on_error(options.on_error), "n_jobs": arguments.check_jobs(options.jobs)}
    settings["agree"] = [
        arguments.open_model(path, trust=options.trust, factory=options.factory) for path in options.agree or ()
    ]
    return PreparedQuestion(explainer, settings, reference, marks)


def read_asked_rows(
    asked: PreparedQuestion, rows: RowsFile, name: str | None, where: str | None, limit: int | None
) -> pd.DataFrame:
    """The rows of a file, named by column ``name``: those that the rule ``where`` holds for, at most ``limit``."""
    rejects = asked.settings["on_error"] == "reject"
    row_filter = None if where is None else RowFilter(asked.explainer, where)  # a wrong rule is told before all else
    table = rows.read(asked.reference, name, asked.unset, rejects=rejects)
    return table.iloc[choose_rows(table, row_filter, limit)]


def choose_rows(table: pd.DataFrame, row_filter: RowFilter | None, limit: int | None) -> Index:
    """The places of the rows that a rule holds for, at most ``limit`` of them."""
    chosen = np.arange(len(table)) if row_filter is None else np.flatnonzero(row_filter(table))
    return chosen if limit is None else chosen[:limit]


def choose_some_rows(explainer: Explainer, table: pd.DataFrame, where: str | None, limit: int | None) -> Index:
    """The places that `choose_rows` gives; none is an error, for commands that need a row."""
    chosen = choose_rows(table, None if where is None else RowFilter(explainer, where), limit)
    if not len(chosen):
        given = f"--limit is {limit}" if limit == 0 else f"--where {where!r} holds for none of {len(table)} rows"
        raise InputError("there must be at least one row", given, "ask for more of the rows")
    return chosen
