"""The judge of answers: it shares no code with the library, and asks the user's own model.

An answer that is called valid must be what was asked for however the model is asked: all answers in one batch, in
reverse, each alone, after CSV, Parquet and the archive. No answer at all may break a constraint.
"""

from __future__ import annotations

import io
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
import pandas as pd

import counterpoise as cp
from fuzz.cases import Case
from fuzz.word import Cells, is_missing, is_same

WITH_CELLS = ("optimal", "bounded", "valid", "not_found")  # statuses of rows with an answer or a nearest miss


def find_failures(case: Case, explanation: cp.Explanation) -> Iterator[str]:
    """Everything that is wrong with an explanation, each as what failed and the details."""
    rows, frame = case.table.rows, explanation.frame
    if list(frame.columns) != list(rows.columns) or not frame.index.equals(rows.index):
        yield "form: columns or index of the answers differ from the rows'"
        return
    valid = np.asarray(explanation.valid, dtype=bool)
    if set(explanation.status) - {*WITH_CELLS, "infeasible", "rejected"}:
        yield f"status: {set(explanation.status)}"
    if not case.subject.is_steady:
        if valid.any() and not explanation.notes and _changes_its_mind(case):
            yield "unsteady: answers of a model that says something else each time are claimed without a note"
        return
    yield from _false_claims(case, explanation, frame, valid)
    yield from _broken_words(case, explanation, frame)
    yield from _false_alternatives(case, explanation, valid)


def _changes_its_mind(case: Case) -> bool:
    """Whether the model says something else of the reference in one of a few askings."""
    said = [np.asarray(case.subject.predict(case.table.reference.copy())).tolist() for _ in range(8)]
    return any(each != said[0] for each in said)


def _false_claims(case: Case, explanation: cp.Explanation, frame: pd.DataFrame, valid: Any) -> Iterator[str]:
    reached = _Reached(case)
    places = np.flatnonzero(valid)
    if not len(places):
        return
    ways: dict[str, pd.DataFrame] = {"batch": frame}
    archived = cp.Explanation.from_json(explanation.to_json())
    try:
        pd.testing.assert_frame_equal(archived.frame, frame, check_exact=True)
    except AssertionError as difference:
        yield f"archive: {str(difference)[:200]}"
    ways["archive"] = archived.frame
    ways |= dict(_round_trips(frame))
    for way, each in ways.items():
        yield from _refuted(f"false valid, {way}", reached(each), places, case, frame)
    backwards = np.arange(len(frame))[::-1]
    yield from _refuted("false valid, reversed", reached(frame.iloc[::-1], backwards)[::-1], places, case, frame)
    alone = np.array([reached(frame.iloc[[place]], np.array([place]))[0] for place in range(len(frame))])
    yield from _refuted("false valid, alone", alone, places, case, frame)


def _refuted(what: str, reached: Any, places: Any, case: Case, frame: pd.DataFrame) -> Iterator[str]:
    wrong = [int(place) for place in places if not reached[place]]
    if wrong:
        cells = dict(zip(frame.columns, frame.iloc[wrong[0]].tolist(), strict=True))
        yield f"{what}: rows {wrong} of {len(frame)}; row {wrong[0]} is {cells!r}"


class _Reached:
    """Whether the user's own model says of frames what was asked for."""

    def __init__(self, case: Case) -> None:
        self.case = case
        known = list(case.table.kinds)
        # the user asks in the form in which the rows came; in that of the reference where the model cannot read it so
        as_given = [name for name in case.table.rows.columns if name in known]
        self.columns: list[Hashable] = known if case.subject.reads_arrays else as_given
        self.has_reference_dtypes = False
        self.before = self._first_asked()
        if self.before is None:
            self.columns = known
            self.before = self._first_asked()
        if self.before is None:
            self.has_reference_dtypes = True
            self.before = np.asarray(self._predict(case.table.rows))

    def _first_asked(self) -> Any:
        """What the model says of the rows in the form in which they are shown now; None: it cannot read any so."""
        try:
            said = np.asarray(self._predict(self.case.table.rows))
        except Exception:
            return None
        return None if len(said) and all(each is None for each in said.tolist()) else said

    def _shown(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame as the user would show it to the model."""
        shown = frame[self.columns].copy()
        if self.has_reference_dtypes:
            for place, name in enumerate(self.columns):
                shown.isetitem(place, shown.iloc[:, place].astype(self.case.table.reference[name].dtype))
        return shown

    def _predict(self, frame: pd.DataFrame) -> Any:
        """What the model says; of one that raises now and then, None for the rows that it raises on."""
        try:
            return self.case.subject.predict(self._shown(frame))
        except Exception:
            if not self.case.subject.may_raise:
                raise
        if len(frame) == 1:
            return np.array([None])
        each = [self._predict(frame.iloc[[place]]) for place in range(len(frame))]
        return np.concatenate([np.asarray(said, dtype=object) for said in each])

    def __call__(self, frame: pd.DataFrame, places: Any = None) -> Any:
        """Whether each row of a frame, an answer to the row of the same place, is what was asked for."""
        case, settings = self.case, self.case.settings
        if not len(frame):
            return np.zeros(0, dtype=bool)
        said, target = np.asarray(self._predict(frame)), settings["target"]
        if settings["threshold"] is not None:
            column = (case.subject.labels or ()).index(target)
            odds = np.asarray(case.subject.probabilities(self._shown(frame)))[:, column]  # type: ignore[misc]
            return odds >= settings["threshold"]
        if isinstance(target, tuple):
            low, high = (-np.inf if target[0] is None else target[0]), (np.inf if target[1] is None else target[1])
            return (said >= low) & (said <= high)
        if isinstance(target, cp.AnythingBut):
            return said != _label_of(target)
        if isinstance(target, list):
            return np.array([each in target for each in said.tolist()])
        if isinstance(target, str) and target == "opposite":
            return said != (self.before if places is None else self.before[places])
        return said == (target[0] if isinstance(target, np.ndarray) else target)


def _label_of(target: cp.AnythingBut) -> Any:
    return next(iter(vars(target).values()))


def _round_trips(frame: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The frame after files that can hold it."""
    if not all(isinstance(name, str) and name.strip() and "\n" not in name for name in frame.columns):
        return
    plain = ("float64", "int64", "uint8", "int8", "bool", "str")
    if all(str(dtype) in plain for dtype in frame.dtypes) and not frame.isna().any(axis=None):
        text = frame.to_csv(index=False)
        again = pd.read_csv(
            io.StringIO(text),
            dtype=dict(frame.dtypes.items()),
            keep_default_na=False,
            float_precision="round_trip",
        )
        yield "CSV", again.set_axis(frame.index, axis=0)
    unfit = (pd.SparseDtype, np.dtype("float16"), np.dtype(object))
    if not any(dtype in unfit[1:] or isinstance(dtype, unfit[0]) for dtype in frame.dtypes):
        stream = io.BytesIO()
        frame.reset_index(drop=True).to_parquet(stream)
        back = pd.read_parquet(stream).set_axis(frame.index, axis=0)
        if list(back.dtypes) == list(frame.dtypes):  # categories that are numbers come back as numbers
            yield "Parquet", back


def _broken_words(case: Case, explanation: cp.Explanation, frame: pd.DataFrame) -> Iterator[str]:
    rows = case.table.rows
    for place, status in enumerate(explanation.status):
        old, new = _cells(case, rows, place), _cells(case, frame, place)
        if status in ("infeasible", "rejected"):
            if any(not is_same(old[name], new[name]) for name in old):
                yield f"changed: row {place} is {status} and came back otherwise"
            continue
        if explanation.valid[place] or any(not is_same(old[name], new[name]) for name in old):
            yield from _broken(case, old, new, f"row {place} ({status})")


def _cells(case: Case, frame: pd.DataFrame, place: int) -> Cells:
    return {name: frame[name].tolist()[place] for name in case.table.kinds}


def _listed_categories(case: Case, name: str) -> tuple[Any, ...]:
    """The categories of a column that a schema which was given lists: what it says wins over what was seen."""
    schema = case.explainer_settings.get("schema")
    return () if schema is None else schema[name].categories or ()


def _broken(case: Case, old: Cells, new: Cells, where: str) -> Iterator[str]:
    for word in case.words:
        if not word.is_obeyed(old, new):
            yield f"broken constraint: {where}: {word!r} by {new!r} from {old!r}"
    free = {name for word in case.words for name in word.overrides_range}
    for name, cell in new.items():
        kind, before = case.table.kind(name), old[name]
        if is_missing(cell) and not is_missing(before):
            yield f"broken range: {where}: {name!r} became missing"
        if is_missing(cell) or is_same(before, cell):
            continue
        seen = [value for value in case.table.reference[name].tolist() if not is_missing(value)]
        if kind.is_whole and not float(cell).is_integer():
            yield f"broken range: {where}: {name!r} became {cell!r}, not whole"
        if name in free or case.explainer_settings.get("bounds") is None:
            continue
        ends = seen if is_missing(before) else [*seen, before]
        if kind.is_number and not min(ends) <= cell <= max(ends):
            yield f"broken range: {where}: {name!r} became {cell!r}, outside {min(ends)!r} to {max(ends)!r}"
        if not kind.is_number and cell not in (*seen, *_listed_categories(case, name)):
            yield f"broken range: {where}: {name!r} became {cell!r}, never seen"


def _false_alternatives(case: Case, explanation: cp.Explanation, valid: Any) -> Iterator[str]:
    """The other answers, by the same measures, each asked in one batch."""
    counts = np.asarray(explanation.count)
    owners = np.repeat(np.arange(len(counts)), counts)
    others = explanation.alternatives
    if len(others) != len(owners) or not len(others):
        return
    reached = _Reached(case)(others.reset_index(drop=True), owners)
    wrong = [place for place in range(len(owners)) if valid[owners[place]] and not reached[place]]
    if wrong:
        yield f"false valid, alternatives: {wrong} of {len(owners)}"
    for place, owner in enumerate(owners.tolist()):
        if valid[owner]:
            old, new = _cells(case, case.table.rows, owner), _cells(case, others, place)
            yield from _broken(case, old, new, f"row {owner}, answer {place}")
