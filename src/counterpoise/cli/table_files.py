"""Tables in and out: CSV, Parquet and NDJSON, by the ending of the path or, on standard input, by the first letter."""

from __future__ import annotations

import json
import shlex
import sys
import zlib
from collections.abc import Callable, Collection, Hashable, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.cli.batch.output_places import check_writable
from counterpoise.cli.batch.tolerant_lines import read_around_broken_lines, read_objects_around_broken_lines
from counterpoise.cli.csv_dialect import (
    NotText,
    TextSource,
    UnevenLines,
    begins_with_a_brace,
    open_text,
    read_delimited,
    why_not_text,
)
from counterpoise.cli.inert_cells import make_inert
from counterpoise.cli.table_limits import TableLimits, TooMuch
from counterpoise.errors import InputError, MissingExtra
from counterpoise.explanation.sentences import name_row
from counterpoise.scale.files import replace_file
from counterpoise.scale.unreadable import WHY, split_unreadable
from counterpoise.space.schema.tables_in import quote_names
from counterpoise.space.yaml.unset_marks import UnsetMarks
from counterpoise.types import is_number

STANDARD_STREAM = "-"


def _read_ndjson(source: TextSource, unset: UnsetMarks | None = None) -> pd.DataFrame:
    """A table of JSON objects, one per line; null means missing, so ``unset`` is not used."""
    records = []
    with open_text(source) as text:
        whole = text.read()
        for number, line in enumerate(whole.splitlines(), start=1):
            if line.strip():
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise ValueError(f"line {number}: {error}") from None
                if not isinstance(record, dict):
                    raise ValueError(f"line {number} is not a JSON object")
                records.append(record)
    TableLimits().check(len(records), len({key for record in records for key in record}), len(whole))
    return pd.DataFrame(records)


def _read_parquet(path: Path, unset: UnsetMarks | None = None) -> pd.DataFrame:
    with import_module("pyarrow.parquet").ParquetFile(path) as file:
        TableLimits().check(file.metadata.num_rows, file.metadata.num_columns, path.stat().st_size)
    return pd.read_parquet(path)


READERS: dict[str, Callable[[Any, UnsetMarks | None], pd.DataFrame]] = {
    ".csv": lambda source, unset: read_delimited(source, None, unset),
    ".tsv": lambda source, unset: read_delimited(source, "\t", unset),
    ".ndjson": _read_ndjson,
    ".jsonl": _read_ndjson,
    ".parquet": _read_parquet,
}
TOLERANT_READERS: dict[str, Callable[[Any, UnsetMarks], pd.DataFrame]] = {  # of rows, a broken one of which is rejected
    ".csv": lambda source, unset: read_around_broken_lines(source, None, unset),
    ".tsv": lambda source, unset: read_around_broken_lines(source, "\t", unset),
    ".ndjson": read_objects_around_broken_lines,
    ".jsonl": read_objects_around_broken_lines,
}
PACKER_ENDINGS = (".gz",)
CUSTOMARY_MARKS = ("na", "n/a", "#n/a", "nan", "null", "none", "?", "-", ".")  # for "missing", beside numbers


def read_table(
    path: str, what: str, unset: UnsetMarks | None = None, given: Any = None, *, rejects: bool = False
) -> pd.DataFrame:
    """The table in a file, or on standard input for "-"; ``what`` is its name in messages.

    ``unset``: what stands for an empty cell in CSV beside nothing. ``given``: what came on standard input, if it was
    read already. ``rejects``: no rows are a table too, and a line that is no row is marked and not an error.
    """
    if path == STANDARD_STREAM:
        if given is None:
            given = sys.stdin.buffer.read()  # bytes: text would already be decoded, by whatever the terminal is set to
        ending = ".ndjson" if begins_with_a_brace(given) else ".csv"
        return _parse_table(given, ending, what, "standard input", unset, rejects=rejects)
    place = Path(path)
    if not place.is_file():
        raise InputError(f"{what} must name a file", f"there is no file {path!r}", "correct the path")
    ending = ending_of(path, tuple(READERS), what)
    return _parse_table(place, ending, what, repr(path), unset, rejects=rejects)


def read_data_and_rows(
    data: str,
    rows: str,
    *,
    label: str | None,
    name: str | None = None,
    unset: UnsetMarks | None = None,
    may_be_empty: bool = False,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The table of --data without its class column ``label``, and that of --rows, its rows named by column ``name``.

    ``may_be_empty``: a table without rows is no error, even one without a header.
    """
    reference = read_data(data, label, unset)
    table = read_table(rows, "--rows", unset, rejects=may_be_empty)
    _, unreadable = split_unreadable(table)
    if unreadable:
        place, reason = next(iter(unreadable.items()))
        raise InputError("every line must be a row", f"{reason} (row {place}, counted from 0)", "mend the line")
    return reference, convert_to_numbers(name_rows_by(table, name), reference, "--rows")


def read_data(data: str, label: str | None, unset: UnsetMarks | None = None) -> pd.DataFrame:
    """The table of --data without its class column; a column of numbers with a word for "missing" is an error."""
    table = drop_label_column(read_table(data, "--data", unset), label, "--data")
    for place, name in enumerate(table.columns):
        mark = _find_mark_among_numbers(table.iloc[:, place])
        if mark is not None:
            raise InputError(
                "a missing cell must be empty, or hold a mark that is declared for it",
                f"{name!r} of --data has numbers and {mark!r}",
                f"give --unset {shlex.quote(mark)}, or write unset: [{mark!r}] in the schema file",
            )
    return table


def _find_mark_among_numbers(column: pd.Series[Any]) -> str | None:
    """What a column of numbers has instead of some of them; None where it is a column of texts, or all are numbers."""
    if pd.api.types.is_numeric_dtype(column):
        return None
    texts = column.dropna().astype(str)
    unread_texts = texts[pd.to_numeric(texts, errors="coerce").isna()].unique().tolist()
    texts_like_marks = all(other.strip().lower() in CUSTOMARY_MARKS for other in unread_texts)
    return unread_texts[0] if unread_texts and texts_like_marks and len(unread_texts) < texts.nunique() else None


def check_table_output(out: str | None, endings: tuple[str, ...]) -> str:
    """The ending of --out, checked before any work, or "" where the table goes to the terminal."""
    if out is None:
        return ""
    ending = ending_of(out, endings, "--out")
    check_writable(out)
    return ending


def ending_of(path: str, known: tuple[str, ...], what: str) -> str:
    """The ending that gives the format of a file; .gz after it is left out.

    >>> ending_of("alerts.csv.gz", (".csv",), "--rows")
    '.csv'
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in PACKER_ENDINGS:
        suffixes.pop()
    if suffixes and suffixes[-1] in known:
        return suffixes[-1]
    raise InputError(f"{what} must end in one of {', '.join(known)}", f"{Path(path).name!r} does not", "rename it")


def name_rows_by(table: pd.DataFrame, column: str | None) -> pd.DataFrame:
    """Name the rows by a column, which stays in the table; a line that is no row has no name but its position.

    >>> name_rows_by(pd.DataFrame({"uid": ["C0", "C0"], WHY: [None, "no number"]}), "uid").index.tolist()
    ['C0', 'position 1']
    """
    if column is None or not (len(table) or len(table.columns)):
        return table
    is_row = table[WHY].isna() if WHY in table.columns else pd.Series(True, index=table.index)
    if column not in table.columns and is_row.any():
        known = table.columns.drop(WHY, errors="ignore").tolist()
        raise InputError("--id must name a column of the rows", *explain_wrong_name(column, known))
    places = pd.Series([f"position {place}" for place in table.index], index=table.index, dtype=object)
    # what a line that is no row has in its cells is its neighbour's
    names = table[column].astype(str).astype(object).where(is_row, places) if is_row.any() else places
    return table.set_axis(pd.Index(names, dtype="str", name=None), axis=0)


def drop_label_column(table: pd.DataFrame, column: str | None, what: str) -> pd.DataFrame:
    """The table without the column that holds the class."""
    if column is None:
        return table
    if column in table.columns:
        return table.drop(columns=[column])
    raise InputError(f"--label must name a column of {what}", *explain_wrong_name(column, list(table.columns)))


def explain_wrong_name(name: str, known: Sequence[Hashable], option: str = "") -> tuple[str, str]:
    """The second and third part of an error about an unknown name; several names in one option are to be repeated.

    >>> explain_wrong_name("sttll", ["sttl", "dttl"])
    ("'sttll'; there are 'sttl', 'dttl'", "did you mean 'sttl'?")
    >>> explain_wrong_name("sttl,dttl", ["sttl", "dttl"], "--fixed")[1]
    'repeat the option: --fixed sttl --fixed dttl'
    """
    given, names = f"{name!r}; there are {quote_names(known)}", [str(other) for other in known]
    parts = [part.strip() for part in name.split(",")]
    if option and len(parts) > 1 and all(part in names for part in parts):
        return given, "repeat the option: " + " ".join(f"{option} {shlex.quote(part)}" for part in parts)
    lower = {other.lower(): other for other in reversed(names)}
    near = get_close_matches(name.lower().strip(), lower, n=1)
    return given, f"did you mean {lower[near[0]]!r}?" if near else "correct the name"


def check_streams(**paths: str | None) -> None:
    """Raise an error if more than one option reads its table from standard input."""
    named = [f"--{name}" for name, path in paths.items() if path == STANDARD_STREAM]
    if len(named) > 1:
        raise InputError(
            "one table can come from standard input", f"{' and '.join(named)} are -", "give files for the others"
        )


def convert_to_numbers(
    table: pd.DataFrame, reference: pd.DataFrame, what: str, *, keep_wrong: bool = False
) -> pd.DataFrame:
    """Turn columns of text into numbers where the reference has numbers; a cell that is no number is an error.

    One such cell makes a CSV reader take its whole column for text, so the cell itself is looked for. ``keep_wrong``
    leaves it as it is instead.
    """
    out = table.copy(deep=False)
    wanted = {name for name, dtype in reference.dtypes.items() if pd.api.types.is_numeric_dtype(dtype)}
    for name, dtype in table.dtypes.items():
        if name not in wanted or pd.api.types.is_numeric_dtype(dtype):
            continue
        column = table[name]
        small = column.map(lambda cell: None if isinstance(cell, int) and not is_number(int(cell)) else cell)
        numbers = pd.to_numeric(small, errors="coerce")
        wrong = np.flatnonzero(numbers.isna() & column.notna())
        if len(wrong) and keep_wrong:
            mixed = numbers.astype(object)
            mixed.iloc[wrong] = column.iloc[wrong].astype(object)
            out[name] = mixed
            continue
        if len(wrong):
            more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
            raise InputError(
                f"{name!r} of {what} must hold numbers",
                f"{name_row(table.index, int(wrong[0]))} has {column.iloc[wrong[0]]!r}{more}",
                "correct the cell, leave it empty where the value is not known, or give --unset what stands for that",
            )
        out[name] = numbers
    return out


def write_table(
    table: pd.DataFrame, path: str, ending: str, *, features: Collection[Hashable] = (), safe: bool | None = None
) -> None:
    """Write a table as CSV or Parquet, without its index.

    A spreadsheet computes texts of a CSV that begin with ``= + - @``. ``safe``: True writes all of them with a ' before
    them, False none, None those outside the model's ``features``, whose texts are values.
    """
    if ending == ".csv":
        names = [] if safe is False else [name for name in table.columns if safe or name not in features]
        with replace_file(path) as temporary:
            make_inert(table, names).to_csv(temporary, index=False)
        return
    with replace_file(path) as temporary:
        _write_mixed_columns_as_text(table).to_parquet(temporary, index=False)


def _write_mixed_columns_as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Turn columns of mixed types into text: a Parquet column has one type."""
    out = table.set_axis([str(name) for name in table.columns], axis=1)
    for place in range(out.shape[1]):
        column = out.iloc[:, place]
        kinds = {type(value) for value in column.dropna()} if column.dtype == object else set()
        if len(kinds) > 1:
            texts: Any = column.map(_as_text, na_action="ignore")
            out.isetitem(place, texts)
    return out


def _as_text(value: Hashable) -> str:
    return str(value)


def _parse_table(
    source: Any, ending: str, what: str, name: str, unset: UnsetMarks | None, *, rejects: bool = False
) -> pd.DataFrame:
    must, todo = f"{what} must hold a table", "give a table with a line of column names and at least one row"
    try:
        readers = {**READERS, **TOLERANT_READERS} if rejects else READERS
        table = readers[ending](source, unset or UnsetMarks())
    except ImportError:
        raise MissingExtra("parquet") from None
    except pd.errors.EmptyDataError:
        if rejects:
            return pd.DataFrame()
        raise InputError(must, f"{name} is empty", todo) from None
    except (ValueError, OSError, EOFError, zlib.error) as error:  # from pandas, pyarrow, gzip
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        if isinstance(error, UnicodeError):
            first = why_not_text(source, error)
        if isinstance(error, (UnicodeError, NotText)):
            todo = "save it as text in UTF-8"
        elif isinstance(error, UnevenLines):
            todo = "mend the line, or name the column that has no name"
        elif isinstance(error, TooMuch):
            todo = "check where it is from; if it is right, unpack it or leave out what is not needed"
        raise InputError(must, f"{name} cannot be read as {ending[1:]} ({first})", todo) from error
    if not len(table) and not rejects:
        raise InputError(must, f"{name} has no rows", todo)
    return table
