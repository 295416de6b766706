"""Many machines: partitions of a Dask frame, or of a Parquet folder, answered where they are, and written there."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.errors import InputError, MissingExtra
from counterpoise.scale.answer_table import explain_table
from counterpoise.scale.files import replace_file
from counterpoise.scale.part_folder import (
    MANIFEST,
    SUCCESS,
    describe_run,
    list_answers,
    remove_partial_files,
    write_part,
)

RETRIES = 3  # of a partition whose worker was lost


def explain(
    explainer: Explainer, rows: Any, *, client: Any = None, out: str | Path | None = None, **settings: Any
) -> Any:
    """The answers to a Dask frame, or to the Parquet files of a folder: a Dask frame, with the columns of a table.

    explainer: the model with its reference and constraints.
    rows: a frame of ``dask.dataframe``, or the path of a Parquet file or folder.
    client: a client of ``dask.distributed``; None: the one that is active, or Dask's own threads.
    out: a folder; the answers of each partition are written there by the worker that made them, and what comes back is
        the frame of that folder. None: nothing is computed until the frame that comes back is.
    settings: those of a call of the explainer.

    The explainer is sent to each worker once. A partition whose worker is lost is answered again, and the answers have
    the same bytes; one that cannot be answered is named in the error.
    """
    dask, frames = _import_dask()
    frame = frames.read_parquet(str(rows)) if isinstance(rows, (str, Path)) else rows
    if not hasattr(frame, "map_partitions"):
        raise InputError(
            "rows must be a Dask frame or the path of a Parquet folder", f"a {type(rows).__name__}", "dd.from_pandas"
        )
    client = _active_client() if client is None else client
    held = dask.delayed(explainer) if client is None else client.scatter(explainer, broadcast=True)
    lengths = frame.map_partitions(len, meta=pd.Series(dtype="int64")).compute().tolist()
    firsts = [sum(lengths[:place]) for place in range(len(lengths))]
    answer = dask.delayed(_answer_partition if out is None else _write_partition, pure=False)
    parts = frame.to_delayed()
    if out is None:
        empty = explain_table(explainer, frame.partitions[0].head(0, npartitions=1), **settings)
        made = [answer(held, part, first, settings) for part, first in zip(parts, firsts, strict=True)]
        return frames.from_delayed(made, meta=empty, verify_meta=False)
    place = Path(out)
    place.mkdir(parents=True, exist_ok=True)
    if there := list_answers(place):
        raise InputError("out must be a new or an empty folder", f"{str(place)!r} has {there[0]!r}", "choose another")
    made = [
        answer(held, part, first, settings, str(place / f"part-{number:05d}.parquet"))
        for number, (part, first) in enumerate(zip(parts, firsts, strict=True))
    ]
    _write_manifest(place, explainer, settings, _compute(dask, client, made))
    return frames.read_parquet(str(place))


def _answer_partition(explainer: Explainer, rows: pd.DataFrame, first: int, settings: dict[str, Any]) -> pd.DataFrame:
    return explain_table(explainer, rows, first=first, **settings)


def _write_partition(
    explainer: Explainer, rows: pd.DataFrame, first: int, settings: dict[str, Any], path: str
) -> dict[str, Any]:
    return write_part(explainer, rows, first, settings, Path(path))


def _compute(dask: Any, client: Any, tasks: list[Any]) -> list[dict[str, Any]]:
    """What the tasks give; each is tried again where its worker is lost, and named where it cannot be done."""
    if client is None:
        done: list[dict[str, Any]] = list(dask.compute(*tasks))
        return done
    futures = client.compute(tasks, retries=RETRIES)
    found, wrong = [], []
    for number, future in enumerate(futures):
        error = future.exception()
        if error is not None:
            wrong.append(f"partition {number}: {error}")
        else:
            found.append(future.result())
    if wrong:
        raise InputError("every partition must be answered", "; ".join(wrong[:3]), "mend them, or leave them out")
    return found


def _write_manifest(folder: Path, explainer: Explainer, settings: dict[str, Any], lines: list[dict[str, Any]]) -> None:
    records = [{"run": describe_run(explainer, settings)}, *lines]
    with replace_file(folder / MANIFEST) as temporary:
        temporary.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    remove_partial_files(folder)  # of workers that were lost; every part is whole by now
    (folder / SUCCESS).touch()


def _import_dask() -> tuple[Any, Any]:
    try:
        return import_module("dask"), import_module("dask.dataframe")
    except ImportError as error:
        raise MissingExtra("dask") from error


def _active_client() -> Any:
    try:
        return import_module("distributed").get_client()
    except (ImportError, ValueError):
        return None
