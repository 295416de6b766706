"""The list of rows, in a database on disk: what is known of each, sorted and filtered without holding it in memory."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from counterpoise.errors import InputError

COLUMNS = ("place", "label", "verdict", "probability", "status", "effort", "kept", "gap", "way")
FILTERED = ("verdict", "status", "way")


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
    """The rows of a workbench in a SQLite file of their own, which goes with the object."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="counterpoise-", ignore_cleanup_errors=True)
        self._lock = Lock()
        self._known: dict[str, Any] = {}  # what is true of the whole list, until a row changes
        self._file = sqlite3.connect(Path(self._folder.name) / "rows.sqlite", check_same_thread=False)
        self._file.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE rows (place INTEGER PRIMARY KEY, label TEXT, verdict TEXT, probability REAL, status TEXT,"
            " effort REAL, kept REAL, gap REAL, way TEXT, words TEXT);"
        )

    def add(self, rows: Iterable[ListedRow]) -> None:
        """Put rows into the list."""
        with self._lock, self._file:
            self._known.clear()
            self._file.executemany("INSERT INTO rows VALUES (?,?,?,?,?,?,?,?,?,?)", rows)

    def sort_columns(self) -> None:
        """Make sorting quick; to be called when all rows are in."""
        with self._lock, self._file:
            for column in COLUMNS[2:]:
                self._file.execute(f"CREATE INDEX IF NOT EXISTS by_{column} ON rows ({column})")

    def record(self, answers: Iterable[RowAnswer]) -> None:
        """Write what answers say into the lines of their rows."""
        lines = [(each.status, each.effort, each.kept, each.gap, each.way, each.place) for each in answers]
        with self._lock, self._file:
            self._known.clear()
            self._file.executemany("UPDATE rows SET status=?, effort=?, kept=?, gap=?, way=? WHERE place=?", lines)

    def list_rows(self, request: ListRequest) -> dict[str, Any]:
        """How many rows there are, how many match, how many are answered, and the lines asked for."""
        terms, values = [], []
        for word in request.search.split():
            terms.append("words LIKE ? ESCAPE '\\'")
            values.append("%" + word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%")
        for name, text in request.equal:
            terms.append(f"{name} = ?")
            values.append(text)
        where = f" WHERE {' AND '.join(terms)}" if terms else ""
        way = (
            "DESC" if request.is_descending else "ASC"
        )  # in the order of the column's index, so that nothing is sorted
        order = f"{request.sort} {way} NULLS LAST, place {way}"
        with self._lock:
            if "counts" not in self._known:
                self._known["counts"] = self._file.execute("SELECT count(*), count(status) FROM rows").fetchone()
            total, answered = self._known["counts"]
            matching = self._file.execute(f"SELECT count(*) FROM rows{where}", values).fetchone()[0] if terms else total
            lines = self._file.execute(
                f"SELECT {', '.join(COLUMNS)} FROM rows{where} ORDER BY {order} LIMIT ? OFFSET ?",
                [*values, request.limit, request.offset],
            ).fetchall()
        listed = [dict(zip(COLUMNS, line, strict=True)) for line in lines]
        return {"total": total, "matching": matching, "answered": answered, "lines": listed}

    def list_values(self, column: str, most: int = 200) -> list[str]:
        """The texts that a column of the list has, the most frequent first."""
        with self._lock:
            if column not in self._known:
                found = self._file.execute(
                    f"SELECT {column} FROM rows WHERE {column} IS NOT NULL AND {column} != '' GROUP BY {column} "
                    "ORDER BY count(*) DESC LIMIT ?",
                    [most],
                ).fetchall()
                self._known[column] = [text for (text,) in found]
            return list(self._known[column])

    def close(self) -> None:
        """Remove the file."""
        with self._lock:
            self._file.close()
        self._folder.cleanup()
