"""counterpoise schema: what the data shows, as a file to edit; and whether other data fits such a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterpoise.cli import options
from counterpoise.cli.exit_codes import ExitCode, exit_when_cut_short, print_to_stderr
from counterpoise.errors import InputError
from counterpoise.plain_text import escape_controls


def schema(
    data: options.DataOption,
    label: options.LabelOption = None,
    out: Annotated[str, typer.Option("--out", "-o", help="The YAML file to write.")] = "schema.yaml",
    force: Annotated[
        bool, typer.Option("--force", help="Write over a file that is there, and what was edited.")
    ] = False,
    check: Annotated[
        str | None, typer.Option("--check", "-c", help="A schema file: say what in the data does not fit it.")
    ] = None,
    discover: Annotated[
        bool, typer.Option("--discover", help="Write the relations that every row of the data obeys, too.")
    ] = False,
    unset: options.UnsetOption = None,
) -> None:
    """Write what the data shows (kinds, ranges, scales, categories) as YAML to edit; or check data against such a file.

    Example: counterpoise schema -d train.csv -l label -o s.yaml; then: counterpoise schema -d new.csv -c s.yaml

    In the file, add unit, label, min and max, immutable or monotone to a column, and rules between features at the
    end, under relations: as entries such as - rule: fwd_packets + bwd_packets == packets.
    """
    from counterpoise.cli.arguments import open_schema, read_unset_marks
    from counterpoise.cli.misfits import find_misfits
    from counterpoise.cli.table_files import drop_label_column, read_data, read_table
    from counterpoise.space.discover.discover import discover_strict
    from counterpoise.space.schema.schema import Schema
    from counterpoise.space.yaml.load_save import save_schema

    if check is None:
        _check_output(out, data, force=force)
    with exit_when_cut_short():
        marks = read_unset_marks(check, unset)
        if check is not None:
            table = drop_label_column(read_table(data, "--data", marks), label, "--data")
            misfits = find_misfits(open_schema(check), table)
            for line in misfits:
                typer.echo(escape_controls(line))
            print_to_stderr(f"{len(table)} rows, {len(misfits)} misfit{'' if len(misfits) == 1 else 's'}")
            raise typer.Exit(ExitCode.NOT_ALL_FOUND if misfits else ExitCode.ALL_FOUND)
        table = read_data(data, label, marks)
        found = Schema.infer(table)
        relations = discover_strict(table, found).constraints if discover else ()
        save_schema(Path(out), found, relations, {"unset": list(marks.everywhere)} if marks.everywhere else None)
        typer.echo(out)
        print_to_stderr(f"{len(found)} features" + (f", {len(relations)} relations" if discover else ""))


def _check_output(out: str, data: str, *, force: bool) -> None:
    from counterpoise.cli.batch.output_places import check_files_differ, check_writable

    check_writable(out)
    check_files_differ({"--out": out}, {"--data": data})
    if Path(out).exists() and not force:
        raise InputError(
            "--out must be a new file", f"{out!r} is there, perhaps edited", "choose another name, or give --force"
        )
