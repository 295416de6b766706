"""counterpoise schema: what the data shows, as a file to edit; and whether other data fits such a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from counterpoise.cli import options
from counterpoise.cli.endings import FOUND, NOT_ALL, cut_short, say
from counterpoise.cli.tables import check_apart, check_writable, read_table, without
from counterpoise.errors import InputError
from counterpoise.sentences import row_named
from counterpoise.space.encoding import encode
from counterpoise.space.features import Schema
from counterpoise.space.files import SchemaFile, save_schema
from counterpoise.space.region import Region
from counterpoise.types import Index


def schema(
    data: options.Data,
    label: options.Label = None,
    out: Annotated[str, typer.Option("--out", "-o", help="The YAML file to write.")] = "schema.yaml",
    check: Annotated[
        str | None, typer.Option("--check", "-c", help="A schema file: say what in the data does not fit it.")
    ] = None,
) -> None:
    """Write what the data shows (kinds, ranges, scales, categories) as YAML to edit; or check data against such a file.

    Example: counterpoise schema -d train.csv -l label -o s.yaml; then: counterpoise schema -d new.csv -c s.yaml

    In the file, add unit, label, min and max, immutable or monotone to a column, and rules between features at the
    end, under relations: as entries such as - rule: fwd_packets + bwd_packets == packets.
    """
    with cut_short():
        table = without(read_table(data, "--data"), label, "--data")
        if check is not None:
            misfits = find_misfits(options.open_schema(check), table)
            for line in misfits:
                typer.echo(line)
            say(f"{len(table)} rows, {len(misfits)} kinds of misfit")
            raise typer.Exit(NOT_ALL if misfits else FOUND)
        check_writable(out)
        check_apart({"--out": out}, {"--data": data})
        found = Schema.infer(table)
        save_schema(Path(out), found)
        typer.echo(out)
        say(f"{len(found)} features")


def find_misfits(file: SchemaFile, table: pd.DataFrame) -> list[str]:
    """What in a table does not fit a schema file, a line for each kind of misfit."""
    lines = []
    for feature in file.schema:
        if feature.name not in table.columns:
            lines.append(f"{feature.name}: the column is missing")
            continue
        try:
            encode(Schema((feature,)), table)
        except InputError as error:
            lines.append(f"{feature.name}: {error.must}; {error.given}")
    if lines:  # rules speak of several columns, so they are checked only where every column can be read
        return lines
    x = encode(file.schema, table)
    region = Region.build(file.schema, x, file.constraints, None)
    broken = region.broken(x[:, None, :])[:, 0, :]
    for column in np.flatnonzero(broken.any(axis=0)):
        rows = np.flatnonzero(broken[:, column])
        words = " and ".join(dict.fromkeys(region.words[column])) or "its kind"
        name = file.schema.features[column].name
        value = table[name].astype(object).iloc[rows[0]]
        lines.append(f"{name}: {_count(rows)} {words}; the first is {row_named(table.index, rows[0])}, with {value!r}")
    off = region.system.defects(x[:, None, :])[:, 0, :]
    for relation in np.flatnonzero((off != 0).any(axis=0)):
        rows = np.flatnonzero(off[:, relation])
        first = row_named(table.index, rows[0])
        lines.append(f"{_count(rows)} {region.system.words[relation]}; the first is {first}")
    return lines


def _count(rows: Index) -> str:
    return "1 row breaks" if len(rows) == 1 else f"{len(rows)} rows break"
