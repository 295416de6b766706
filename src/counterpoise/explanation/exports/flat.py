"""The flat table, a line for each answer with the input's own columns, as CSV has it; the table of importance."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from counterpoise.errors import InputError, MissingExtra
from counterpoise.explanation import tables
from counterpoise.explanation.answered_rows import AnsweredRows
from counterpoise.explanation.fields import gap_to_bound
from counterpoise.explanation.stored_objects import StoredObject
from counterpoise.explanation.tables import differs
from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Mask


def tabulate_importance(explanation: AnsweredRows) -> pd.DataFrame:
    """A line for each feature, the most often changed first.

    share: of the valid answers, how many change it: those of all rows, or, of a single row, its alternatives. up, down,
    other: the shares that raise it, lower it, or give it another category or a value where there was none. mean_change:
    the mean size of these changes, in standard deviations (1 for another category). mean_difference: their mean in the
    units of the feature, with its sign; NaN for categories.
    """
    schema = explanation.schema
    listed = (np.arange(explanation.answers.shape[1]) < explanation.count[:, None]) & explanation.valid[:, None]
    if len(explanation) > 1:
        listed[:, 1:] = False  # over many rows the best answers count, each row once
    rows, slots = np.nonzero(listed)
    x0, x = explanation.x0[rows], explanation.answers[rows, slots]
    moved = differs(x0, x[:, None])[:, 0]
    sizes = Distance.of(schema, "l1").differences(x[:, None], x0)[:, 0]
    ordered = np.array([feature.is_numeric or feature.kind == "ordinal" for feature in schema])
    with np.errstate(invalid="ignore"):
        up, down = moved & ordered & (x > x0), moved & ordered & (x < x0)
    count = max(len(rows), 1)
    changed = np.maximum(moved.sum(axis=0), 1)
    difference = np.where(moved & schema.numeric & ~np.isnan(x0), x - np.nan_to_num(x0), 0.0).sum(axis=0) / changed
    table = pd.DataFrame(
        {
            "feature": pd.Series(list(schema.names), dtype=object),
            "share": moved.sum(axis=0) / count,
            "up": up.sum(axis=0) / count,
            "down": down.sum(axis=0) / count,
            "other": (moved & ~up & ~down).sum(axis=0) / count,
            "mean_change": np.where(moved, sizes, 0.0).sum(axis=0) / changed,
            "mean_difference": np.where(schema.numeric, difference, np.nan),
        }
    )
    return table.sort_values("share", ascending=False, kind="stable", ignore_index=True)


ADDED_COLUMN_PREFIX = "cp_"  # of columns that are added to the user's own
Library = Literal["pandas", "polars", "pyarrow"]
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # a text that begins so would be computed by a spreadsheet


def tabulate_flat(explanation: AnsweredRows, measure: Distance | None = None, *, redact: bool = False) -> pd.DataFrame:
    """A line for each answer: the input's columns as the answer has them, then what is known of it.

    ``redact`` leaves out the input's columns and the reasons: what changes is named, and no value.

    Rows may share a label; ``cp_position`` is the row's place in the input, from 0. ``measure`` is the distance that
    was asked for; None: as the question names it, without prices.
    """
    if measure is None:
        spec = explanation.question.distance
        measure = Distance.of(explanation.schema, "l2" if isinstance(spec, StoredObject) else spec)
    count = np.maximum(explanation.count, 1)
    rows = np.repeat(np.arange(len(explanation)), count)
    number = np.concatenate([np.arange(0), *(np.arange(size) for size in count.tolist())])
    x0, answers = explanation.x0[rows], explanation.answers[rows, number]
    frame = tables.restore_table(explanation.schema, explanation.rows.iloc[rows], x0, answers)
    best = number == 0
    scores = explanation.scores.iloc[rows]
    distance = explanation.terms.distance[rows]
    effort, bound = explanation.measures.effort[rows, number], explanation.measures.bound[rows, number]
    known = explanation.rows.dtypes.to_dict()  # rows that were all rejected may have no columns
    is_single = [name in known and known[name] == np.float32 for name in explanation.schema.names]
    added: dict[str, Any] = {
        "row": [str(label) for label in frame.index],
        "position": rows,
        "alternative": number,
        "status": explanation.status[rows],
        "reason": explanation.reason[rows],
        "target": explanation.target[rows],
        "before": scores["before"].to_numpy(dtype=object),
        "after": [predicted if first else None for predicted, first in zip(scores["after"], best, strict=True)],
        "probability_before": scores["probability_before"].to_numpy(),
        "probability_after": explanation.measures.probability[rows, number],
        "distance": np.where(best, distance, measure(answers[:, None, :], x0)[:, 0]),
        "effort": effort,
        "bound": bound,
        "gap": gap_to_bound(np.where(explanation.valid[rows], effort, np.inf), bound),
        "changed": _name_changed(explanation.schema, tables.differs(x0, answers[:, None, :])[:, 0]),
        "changes": [
            _write_changes(explanation, row, slot, is_single)
            for row, slot in zip(rows.tolist(), number.tolist(), strict=True)
        ],
        **kept_columns(explanation, rows, number),
        "evidence_distance": _distance_to_real_rows(explanation)[rows],
    }
    if redact:
        frame = frame[[]]
        for name in ("reason", "changes"):
            del added[name]
    return frame.reset_index(drop=True).assign(**{ADDED_COLUMN_PREFIX + name: values for name, values in added.items()})


def _name_changed(schema: Schema, changed: Mask) -> list[str]:
    """The names of the features that differ, ``changed`` ``(p, d)``, one text an answer."""
    names = [str(name) for name in schema.names]
    return ["; ".join(name for name, moved in zip(names, line, strict=True) if moved) for line in changed.tolist()]


def _distance_to_real_rows(explanation: AnsweredRows) -> Array:
    """Distance of the nearest real row of the target, ``(n,)``; NaN if there is no such row."""
    return np.array([min(apart.tolist(), default=np.nan) for _, apart in real_rows(explanation)])


def _write_changes(explanation: AnsweredRows, row: int, slot: int, is_single: list[bool]) -> str:
    """The changes of an answer, old and new values side by side; ``is_single`` marks columns in single precision."""
    return "; ".join(
        f"{explanation.schema.names[change.column]} {_write_value(change.before, is_single[change.column])}"
        f" -> {_write_value(change.after, is_single[change.column])}"
        for change in explanation.changes_by_answer[row][slot]
    )


def _write_value(value: Any, is_single: bool) -> str:
    """A value with the digits of its own dtype: a single-precision one is not written with those of a double."""
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return "missing"
    return str(np.float32(value)) if is_single else str(value)


def kept_columns(explanation: AnsweredRows, rows: Index, slots: Index) -> dict[str, Any]:
    """The share of noisy copies that answers keep, of models that agree, and what is odd, ``(p,)`` each."""
    measures, marks = explanation.measures, explanation.odd_marks
    names = np.array([str(name) for name in explanation.schema.names], dtype=object)
    return {
        **{name: getattr(measures, name)[rows, slots] for name in ("kept", "kept_low", "kept_high")},
        **{name: getattr(measures, name)[rows, slots] for name in ("agree", "agree_of")},
        "fragile": marks.is_fragile[rows, slots],
        "edge": marks.is_edge[rows, slots],
        "unusual": ["; ".join(names[mask]) for mask in marks.unusual[rows, slots]],
    }


def real_rows(explanation: AnsweredRows) -> list[tuple[Array, Array]]:
    """For each row the real rows of the target near it, and their distances."""
    return tables.real_rows_and_distances(explanation.schema, explanation.x0, explanation.evidence)


def convert_table(table: pd.DataFrame, library: Library) -> Any:
    """A frame of pandas as the table of another library."""
    if library == "pandas":
        return table
    if library not in ("polars", "pyarrow"):
        raise InputError("library must be 'pandas', 'polars' or 'pyarrow'", f"{library!r}", "choose one of them")
    try:
        made_by = import_module(library)
    except ImportError:
        raise InputError(f"{library} must be installed", "it is not", f"run: pip install {library}") from None
    named = table.set_axis([str(name) for name in table.columns], axis=1)
    columns = {name: [None if pd.isna(cell) else cell for cell in named[name].tolist()] for name in named}
    made: Any = made_by.DataFrame(columns, strict=False) if library == "polars" else made_by.table(columns)
    return made


def write_excel(path: str | Path, sheets: dict[str, pd.DataFrame]) -> None:
    """Write tables as the sheets of an Excel file; texts that a spreadsheet would compute are written as texts."""
    if Path(path).suffix.lower() != ".xlsx":
        raise InputError("an Excel file must end in .xlsx", f"{str(path)!r}", "for instance answers.xlsx")
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise MissingExtra("excel") from error
    try:
        with pd.ExcelWriter(path, engine="openpyxl") as writer:
            for name, table in sheets.items():
                table.map(_make_inert).to_excel(writer, sheet_name=name, index=False)
    except OSError as error:
        raise InputError("the path must be writable", f"{path}: {error.strerror}", "give another path") from error


def _make_inert(value: Any) -> Any:
    """A cell as Excel can hold it: text that would be computed gets an apostrophe, other objects become text.

    Excel holds numbers in double precision: whole ones that it would round are texts too.
    """
    if isinstance(value, str):
        return f"'{value}" if value.startswith(FORMULA_STARTS) else value
    if isinstance(value, int | np.integer) and abs(int(value)) > 2**53:
        return str(value)
    if value is None or isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        return value
    stamp = isinstance(value, pd.Timestamp) and value.tzinfo is None
    return value if stamp or value is pd.NaT else str(value)
