"""Rows of a file in parts, so that a file larger than memory can be read: Parquet, CSV and NDJSON."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.cli import csv_dialect, table_files
from counterpoise.cli.batch.question import PreparedQuestion
from counterpoise.cli.batch.tolerant_lines import UNDECODED, Header, frame_of_cells, iterate_cells, parse_object
from counterpoise.errors import InputError, MissingExtra
from counterpoise.scale.unreadable import WHY, insert_unreadable

TRUTH_WORDS = {"true": True, "false": False, "1": True, "0": False}


def iterate_parts(prepared: PreparedQuestion, rows: str, name: str | None, part_rows: int) -> Iterator[pd.DataFrame]:
    """Frames of ``part_rows`` rows each, the last one shorter, labelled by place or by the column ``name``.

    How a cell is read does not depend on the part that it is in: columns of the reference have its kinds, others are
    texts, or what Parquet says.
    """
    ending = ".parquet" if Path(rows).is_dir() else table_files.ending_of(rows, tuple(table_files.READERS), "--rows")
    if not Path(rows).exists():
        raise InputError("--rows must name a file", f"there is no file {rows!r}", "correct the path")
    frames = {".parquet": _parquet_frames, ".ndjson": _ndjson_frames, ".jsonl": _ndjson_frames}.get(ending, _csv_frames)
    first = 0
    try:
        for frame in frames(prepared, rows, ending, part_rows):
            labelled = frame.set_axis(pd.RangeIndex(first, first + len(frame)), axis=0)
            yield table_files.name_rows_by(labelled, name)
            first += len(frame)
    except (ValueError, EOFError, zlib.error, OSError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            "--rows must hold a table", f"{rows!r} cannot be read as {ending[1:]} ({error})", "mend the file"
        ) from error


def as_typed(prepared: PreparedQuestion, frame: pd.DataFrame) -> pd.DataFrame:
    """A frame of texts, or of JSON values, with the kinds that the reference's columns have."""
    out = table_files.convert_to_numbers(frame, prepared.reference, "--rows", keep_wrong=True)
    for name in frame.columns.intersection(prepared.truth_columns):
        cells = [TRUTH_WORDS.get(str(cell).lower(), cell) for cell in frame[name]]
        out[name] = pd.Series(cells, index=frame.index, dtype=object).infer_objects()
    return out


def frame_of_records(prepared: PreparedQuestion, lines: Sequence[dict[str, Any] | str]) -> pd.DataFrame:
    """JSON objects as a frame, with lines that are none between them; a feature that an object lacks is missing."""
    records = [line for line in lines if not isinstance(line, str)]
    names = dict.fromkeys([*(key for record in records for key in record), *map(str, prepared.explainer.schema.names)])
    columns: dict[str, Any] = {}
    for name in names:
        cells = np.empty(len(records), dtype=object)
        cells[:] = [record.get(name) for record in records]
        columns[name] = _as_numbers(cells) if name in prepared.number_columns else cells
    frame = pd.DataFrame(columns)
    return insert_unreadable(frame, {place: line for place, line in enumerate(lines) if isinstance(line, str)})


def _as_numbers(cells: Any) -> Any:
    """JSON values as numbers, where all are such or missing."""
    plain = all(cell is None or (isinstance(cell, (int, float)) and not isinstance(cell, bool)) for cell in cells)
    return pd.to_numeric(cells) if plain else cells


def _parquet_frames(prepared: PreparedQuestion, rows: str, ending: str, part_rows: int) -> Iterator[pd.DataFrame]:
    try:
        datasets, arrow = import_module("pyarrow.dataset"), import_module("pyarrow")
    except ImportError:
        raise MissingExtra("parquet") from None
    source = datasets.dataset(rows, format="parquet")
    whole = [pd.Int8Dtype, pd.Int16Dtype, pd.Int32Dtype, pd.Int64Dtype]
    kinds = dict(zip([arrow.int8(), arrow.int16(), arrow.int32(), arrow.int64()], whole, strict=True))
    features = set(map(str, prepared.explainer.schema.names))

    def as_frame(table: Any) -> pd.DataFrame:
        frame: pd.DataFrame = table.to_pandas()
        for field in table.schema:  # a carried column of whole numbers stays one where some are missing
            if field.name not in features and field.type in kinds:
                frame[field.name] = pd.array(table[field.name].to_pylist(), dtype=kinds[field.type]())
        return frame

    waiting: list[Any] = []
    for batch in source.to_batches(batch_size=part_rows, batch_readahead=1, fragment_readahead=1):
        waiting.append(batch)
        if sum(map(len, waiting)) >= part_rows:
            table = arrow.Table.from_batches(waiting)
            for start in range(0, len(table) - len(table) % part_rows, part_rows):
                yield as_frame(table.slice(start, part_rows))
            waiting = table.slice(len(table) - len(table) % part_rows).to_batches()
    if sum(map(len, waiting)):
        yield as_frame(arrow.Table.from_batches(waiting))


def _csv_frames(prepared: PreparedQuestion, rows: str, ending: str, part_rows: int) -> Iterator[pd.DataFrame]:
    path = Path(rows)
    separator = "\t" if ending == ".tsv" else csv_dialect.find_separator(path)
    with csv_dialect.open_text(path, errors=UNDECODED) as text:
        lines = iterate_cells(text, separator)
        first = next(lines, [])
        if isinstance(first, str):
            raise InputError("--rows must begin with the names of its columns", first, "mend the first line")
        header = Header.parse(first, separator)
        while part := list(islice(lines, part_rows)):
            yield as_typed(prepared, empty_marked_cells(prepared, frame_of_cells(header, part), separator))


def empty_marked_cells(prepared: PreparedQuestion, frame: pd.DataFrame, separator: str) -> pd.DataFrame:
    """A frame of texts in which empty cells, and those with a mark for that, are missing.

    Programs that write semicolons often write 1,5 for one and a half.
    """
    marks = prepared.unset.of_columns(map(str, frame.columns))
    out = frame.astype(object)
    for name in frame.columns.drop(WHY, errors="ignore"):
        mine = {"", *(marks.get(name, ()) if isinstance(marks, dict) else marks)}
        out[name] = out[name].where(~out[name].isin(mine), np.nan)
        if separator != "," and name in prepared.number_columns:
            out[name] = out[name].str.replace(",", ".", regex=False)
    return out


def _ndjson_frames(prepared: PreparedQuestion, rows: str, ending: str, part_rows: int) -> Iterator[pd.DataFrame]:
    with csv_dialect.open_text(Path(rows), errors=UNDECODED) as text:
        lines = (line for line in text if line.strip())
        while records := [parse_object(line) for line in islice(lines, part_rows)]:
            yield as_typed(prepared, frame_of_records(prepared, records))


def limit_parts(parts: Iterable[pd.DataFrame], limit: int | None) -> Iterator[pd.DataFrame]:
    """The first ``limit`` rows of all parts together."""
    left = limit
    for part in parts:
        if left is None:
            yield part
            continue
        if left > 0:
            yield part.iloc[:left]
        left -= len(part)
        if left <= 0:
            return
