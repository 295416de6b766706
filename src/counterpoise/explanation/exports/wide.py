"""The wide table: a line for each row and each of its answers, cells that stay as they are dashed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.explanation.answered_rows import AnsweredRows
from counterpoise.explanation.fields import REJECTED
from counterpoise.explanation.formats import format_label, format_own_cell, format_probability, format_value
from counterpoise.explanation.tables import decode_value, differs
from counterpoise.plain_text import escape_controls

UNCHANGED = "–"
MARKDOWN_SIGNS = re.compile(r"[\\|\[*`]|<(?=[A-Za-z/!?])")


class WideTable(pd.DataFrame):
    """A frame of texts that a notebook shows with its changed cells in bold; its parts are plain frames."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    def _repr_html_(self) -> str:
        """The table as HTML; rows as they are in faint letters, what an answer changes in bold."""
        shown = pd.DataFrame(self)

        def style_cells(line: pd.Series[Any]) -> list[str]:
            faint = "opacity:.7"
            if line.name[-1] == "row":  # type: ignore[index]
                return [faint] * len(line)
            return [faint if text in (UNCHANGED, "") else "font-weight:600" for text in line]

        styled = shown.style.apply(style_cells, axis=1).format(escape="html")
        for axis in (0, 1):
            styled = styled.format_index(escape="html", axis=axis)
        return str(styled.to_html())


def tabulate_wide(explanation: AnsweredRows, *, all_features: bool = False) -> WideTable:
    """A line for each row as it is ("row") and for each of its answers (0: the best), indexed by (row, answer).

    Cells are texts; what an answer leaves as it is is a dash. Columns: the features that any answer changes, or all of
    them; then what the model says, in every line; the probability of the target; and the share of noisy copies that
    keep it. A rejected row has the line "row" alone, with its own values.
    """
    schema, count = explanation.schema, np.maximum(explanation.count, 1)
    moved = differs(explanation.x0, explanation.answers)
    moved &= (np.arange(moved.shape[1]) < count[:, None])[..., None]
    columns = range(len(schema)) if all_features else np.flatnonzero(moved.any(axis=(0, 1))).tolist()

    def text(column: int, code: float) -> str:
        feature = schema.features[column]
        return "missing" if np.isnan(code) else format_value(feature, decode_value(feature, float(code)))

    def own_text(column: int, row: int) -> str:
        feature = schema.features[column]
        return format_own_cell(feature, explanation.rows[feature.name].iloc[row])

    scores, lines, index = explanation.scores, [], []
    for row, label in enumerate(explanation.rows.index):
        name = escape_controls(" / ".join(map(str, label)) if isinstance(label, tuple) else str(label))
        index.append((name, "row"))
        if explanation.status[row] == REJECTED:  # it has no encoded values: its own stand in the input
            lines.append([*(own_text(column, row) for column in columns), REJECTED, "", ""])
            continue
        row_cells = [text(column, explanation.x0[row, column]) for column in columns]
        before = format_label(scores["before"].iloc[row]), format_probability(scores["probability_before"].iloc[row])
        lines.append([*row_cells, *before, ""])
        for slot in range(int(count[row])):
            answer = explanation.answers[row, slot]
            cells = [text(column, answer[column]) if moved[row, slot, column] else UNCHANGED for column in columns]
            # alternatives are listed only where they have the target, which is what is kept of their predictions
            prediction = format_label(scores["after"].iloc[row] if slot == 0 else explanation.target[row])
            kept = explanation.measures.kept[row, slot]
            odds = format_probability(float(explanation.measures.probability[row, slot]))
            lines.append([*cells, prediction, odds, "" if np.isnan(kept) else f"{int(100 * kept + 1e-9)}%"])
            index.append((name, str(slot)))
    names = [*(schema.features[column].title for column in columns), "prediction", "p(target)", "kept"]
    places = pd.MultiIndex.from_tuples(index, names=["row", "answer"]) if index else None
    return WideTable(pd.DataFrame(lines, index=places, columns=names, dtype=object))


def write_markdown(table: pd.DataFrame) -> str:
    r"""A table as Markdown, its index first; what Markdown would make a tag, a link or emphasis of is escaped.

    >>> print(write_markdown(pd.DataFrame({"a|b": ["<i>"]}, index=pd.Index([1], name="row"))))
    | row | a\|b |
    |---|---|
    | 1 | \<i> |
    """

    def cell(value: Any) -> str:
        return MARKDOWN_SIGNS.sub(r"\\\g<0>", " ".join(escape_controls(str(value)).split()))

    flat = table.reset_index()
    lines = [flat.columns.tolist(), *flat.to_numpy(dtype=object).tolist()]
    written = [f"| {' | '.join(map(cell, line))} |" for line in lines]
    return "\n".join([written[0], "|" + "---|" * flat.shape[1], *written[1:]])
