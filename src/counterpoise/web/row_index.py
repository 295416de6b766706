"""The list of rows, in a database on disk: what is known of each, sorted and filtered without holding it in memory."""

from __future__ import annotations

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from counterpoise.errors import InputError

COLUMNS = ("place", "label", "verdict", "probability", "status", "effort", "kept", "gap", "way")
FILTERED = ("verdict", "status", "way")
ANSWERED = ("status", "way")
"""Columns that change when a row is answered; the others are as they were when the list was made."""
MAX_SORTED_LINES = 30_000
"""Matching lines that are sorted by themselves; of more, a walk along the sorted column soon meets enough."""


class ListedRow(NamedTuple):
    """What the list shows of a row; what is not known yet is None."""

    place: int
    label: str
    verdict: str | None = None
    probability: float | None = None
    status: str | None = None
    effort: float | None = None
    kept: float | None = None
    gap: float | None = None
    way: str | None = None  # the features that its answer changes, with their direction
    words: str = ""  # what a search looks through


class RowAnswer(NamedTuple):
    """What an answer adds to the line of its row."""

    place: int
    status: str
    effort: float | None
    kept: float | None
    gap: float | None
    way: str


@dataclass(frozen=True)
class ListRequest:
    """Which lines of the list, in which order.

    search: words that a line must hold, in any case. equal: by column the text it must have. sort: a column.
    """

    search: str = ""
    equal: tuple[tuple[str, str], ...] = ()
    sort: str = "place"
    is_descending: bool = False
    offset: int = 0
    limit: int = 100

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> ListRequest:
        """The request that the page sends; a column that the list does not have is refused."""
        equal = tuple((str(name), str(text)) for name, text in dict(data.get("equal", {})).items() if text != "")
        sort = str(data.get("sort", "place"))
        wrong = [name for name, _ in equal if name not in FILTERED] + ([] if sort in COLUMNS else [sort])
        if wrong:
            raise InputError(f"a column must be one of {', '.join(COLUMNS)}", f"{wrong[0]!r}", "choose one of them")
        offset, limit = int(data.get("offset", 0)), int(data.get("limit", 100))
        if offset < 0 or not 1 <= limit <= 1000:
            raise InputError("a list has an offset from 0 and at most 1000 lines", f"{offset}, {limit}", "ask for less")
        return cls(str(data.get("search", "")), equal, sort, bool(data.get("descending")), offset, limit)


class RowIndex:
    """The rows of a workbench in a SQLite file of their own, which goes with the object.

    What a list needs to know of all rows is kept up to date as rows are answered, so that no request counts them anew.
    """

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="counterpoise-", ignore_cleanup_errors=True)
        self._lock = Lock()
        self._total = 0
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in ANSWERED}
        self._verdicts: list[str] | None = None  # the most frequent; None: not counted yet
        self._matching: dict[tuple[str, tuple[str, ...]], int] = {}  # by condition and its values
        self._file = sqlite3.connect(Path(self._folder.name) / "rows.sqlite", check_same_thread=False)
        self._file.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE rows (place INTEGER PRIMARY KEY, label TEXT, verdict TEXT, probability REAL, status TEXT,"
            " effort REAL, kept REAL, gap REAL, way TEXT, words TEXT);"
            "CREATE TEMP TABLE found (place INTEGER PRIMARY KEY);"
        )

    def add(self, rows: Iterable[ListedRow]) -> None:
        """Put rows into the list."""

        def count(each: ListedRow) -> ListedRow:
            self._total += 1
            self._count_answer(each.status, each.way, 1)
            return each

        with self._lock, self._file:
            self._matching.clear()
            self._verdicts = None
            self._file.executemany("INSERT INTO rows VALUES (?,?,?,?,?,?,?,?,?,?)", map(count, rows))

    def sort_columns(self) -> None:
        """Make sorting quick; to be called when all rows are in."""
        with self._lock, self._file:
            for column in COLUMNS[2:]:
                self._file.execute(f"CREATE INDEX IF NOT EXISTS by_{column} ON rows ({column})")

    def record(self, answers: Iterable[RowAnswer]) -> None:
        """Write what answers say into the lines of their rows."""
        with self._lock, self._file:
            for each in answers:
                query = "SELECT status, way FROM rows WHERE place = ?"
                status, way = self._file.execute(query, [each.place]).fetchone()
                self._count_answer(status, way, -1)
                self._count_answer(each.status, each.way, 1)
                self._file.execute(
                    "UPDATE rows SET status=?, effort=?, kept=?, gap=?, way=? WHERE place=?",
                    [each.status, each.effort, each.kept, each.gap, each.way, each.place],
                )
            kept = {key: count for key, count in self._matching.items() if not any(name in key[0] for name in ANSWERED)}
            self._matching = kept

    def _count_answer(self, status: str | None, way: str | None, step: int) -> None:
        """Count the status and the way out of a line, or take them back."""
        for name, text in (("status", status), ("way", way)):
            if text:
                self._counts[name][text] += step

    def list_rows(self, request: ListRequest) -> dict[str, Any]:
        """How many rows there are, how many match, how many are answered, and the lines asked for."""
        words = request.search.split()
        terms = ["words LIKE ? ESCAPE '\\'" for _ in words] + [f"{name} = ?" for name, _ in request.equal]
        values = [f"%{_escape_pattern(word)}%" for word in words] + [text for _, text in request.equal]
        where = f" WHERE {' AND '.join(terms)}" if terms else ""
        with self._lock:
            matching = self._count_matching(where, values, is_search=bool(words))
            if words and matching <= MAX_SORTED_LINES:
                where, values = " WHERE place IN found", []
            elif matching > MAX_SORTED_LINES and request.sort != "place":
                where = where.replace(" = ?", " || '' = ?")  # which no index answers: the one that sorts is walked
            # in the order of the column's index, so that nothing is sorted
            way = "DESC" if request.is_descending else "ASC"
            lines = self._file.execute(
                f"SELECT {', '.join(COLUMNS)} FROM rows{where} ORDER BY {request.sort} {way} NULLS LAST, place {way} "
                "LIMIT ? OFFSET ?",
                [*values, request.limit, request.offset],
            ).fetchall()
            answered = self._counts["status"].total()
        listed = [dict(zip(COLUMNS, line, strict=True)) for line in lines]
        return {"total": self._total, "matching": matching, "answered": answered, "lines": listed}

    def _count_matching(self, where: str, values: list[str], *, is_search: bool) -> int:
        """How many lines match; a search looks through all of them once and leaves their places in ``found``."""
        if not where:
            return self._total
        if is_search:
            self._file.execute("DELETE FROM found")
            made = self._file.execute(f"INSERT INTO found SELECT place FROM rows{where} ORDER BY place", values)
            return int(made.rowcount)
        key = where, tuple(values)
        if key not in self._matching:
            self._matching[key] = self._file.execute(f"SELECT count(*) FROM rows{where}", values).fetchone()[0]
        return self._matching[key]

    def list_values(self, column: str, most: int = 200) -> list[str]:
        """The texts that a column of the list has, the most frequent first."""
        with self._lock:
            if column in ANSWERED:
                counted = sorted(self._counts[column].items(), key=lambda each: (-each[1], each[0]))
                return [text for text, count in counted[:most] if count > 0]
            if self._verdicts is None:
                found = self._file.execute(
                    "SELECT verdict FROM rows WHERE verdict IS NOT NULL AND verdict != '' GROUP BY verdict "
                    "ORDER BY count(*) DESC LIMIT ?",
                    [most],
                ).fetchall()
                self._verdicts = [text for (text,) in found]
            return list(self._verdicts)

    def close(self) -> None:
        """Remove the file."""
        with self._lock:
            self._file.close()
        self._folder.cleanup()


def _escape_pattern(word: str) -> str:
    """A word as LIKE finds it and nothing else.

    >>> _escape_pattern("100%_")
    '100\\\\%\\\\_'
    """
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
