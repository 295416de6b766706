"""The report of a folder of parts: the summary of all its rows, and cards of some of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from counterpoise.errors import InputError, name_kind
from counterpoise.explanation.explanation import Explanation
from counterpoise.scale.files import replace_file
from counterpoise.scale.part_folder import MANIFEST, NEEDED, SUCCESS, describe_question, name_differences, read_manifest
from counterpoise.scale.part_summary import summarize_parts
from counterpoise.scale.unreadable import WHY
from counterpoise.show.report import render_page


def report_folder(
    folder: str | Path, explanation: Explanation, path: str | Path, *, title: str = "Counterfactual report"
) -> Path:
    """Write one HTML page about a folder of answers: a summary of all rows, and the cards of some; gives its path.

    folder: what `explain_to_folder` has filled, to its end.
    explanation: of the rows that are to have a card, a sample or those of interest, asked the same question: a row's
        answer is the same alone and in the folder.
    path: the page to write.
    title: its heading.
    """
    if not isinstance(explanation, Explanation):
        raise InputError(
            "the cards of a report are those of an Explanation",
            f"{name_kind(explanation)} was given",
            "explain the rows that are to have a card",
        )
    place = Path(folder)
    run, lines = read_manifest(place / MANIFEST) if (place / MANIFEST).is_file() else ({}, {})
    if not lines or not (place / SUCCESS).exists():
        raise InputError(
            "a report is made of a folder of answers that was finished",
            f"{str(place)!r} has {f'no {SUCCESS}' if lines else 'no parts'}",
            "write it, or go on with resume=True (--resume)",
        )
    there = {name: line for name, line in lines.items() if (place / name).is_file()}
    old = next((name for name, line in there.items() if not line.keys() >= NEEDED), None)
    if old is not None:
        raise InputError(
            "the manifest of a report must say what each part changes",
            f"an earlier version wrote that of {old}",
            "write the folder again, with resume=True (--resume)",
        )
    asked = {"question": describe_question(replace(explanation.question, noise_levels={}))}  # found by the run
    if "model" in explanation.versions:
        asked["model"] = {"answers": explanation.versions["model"]}
    before = {"question": run["question"], "model": {"answers": run["model"]["answers"]}}
    if differs := name_differences(before, asked):
        raise InputError("the rows of a report must be asked what those of the folder were", differs, "ask as before")
    seen = summarize_parts(place, there.values(), explanation.schema)
    listed = f"The list has {len(explanation):,} of them." if len(explanation) < seen.row_count else ""
    page = Path(path)
    with replace_file(page) as temporary:
        temporary.write_text(render_page(explanation, title=title, seen=seen, listed=listed), encoding="utf-8")
    return page


class ChosenRows:
    """Rows that are kept while parts go by: those with the wanted names, or else a sample that order does not change.

    The sample has the rows whose places in the whole have the least hashes.

    >>> chosen = ChosenRows(2)
    >>> for start in range(0, 100, 10):
    ...     chosen.add(pd.DataFrame({"load": range(start, start + 10)}), start)
    >>> len(chosen.frame)
    2
    """

    def __init__(self, most: int, names: tuple[str, ...] = ()) -> None:
        self.most, self.names = most, names
        self._parts: list[pd.DataFrame] = []
        self._hashes = np.empty(0, dtype=np.uint64)

    def add(self, rows: pd.DataFrame, first: int) -> None:
        """Look at a part, whose first row is at the place ``first`` of the whole."""
        if self.names:
            found = rows[rows.index.astype(str).isin(self.names)]
            self._parts += [found] if len(found) or not self._parts else []
            return
        hashes = pd.util.hash_array(np.arange(first, first + len(rows), dtype=np.uint64))
        every = np.concatenate([self._hashes, hashes])
        kept = np.sort(np.argsort(every, kind="stable")[: self.most])
        mine = kept[kept >= len(self._hashes)] - len(self._hashes)
        if len(mine):
            before = [self.frame.iloc[kept[kept < len(self._hashes)]]] if len(self._hashes) else []
            self._parts, self._hashes = [*before, rows.iloc[mine]], every[kept]

    @property
    def frame(self) -> pd.DataFrame:
        """The rows, in the order in which they came."""
        parts = [part for part in self._parts if len(part)]
        if not parts:
            return self._parts[0] if self._parts else pd.DataFrame()
        return pd.concat(parts).infer_objects() if len(parts) > 1 else parts[0]

    @property
    def absent(self) -> list[str]:
        """The wanted names that no row has."""
        there = set(self.frame.drop(columns=WHY, errors="ignore").index.astype(str))
        return [name for name in self.names if name not in there]
