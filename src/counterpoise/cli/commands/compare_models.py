"""counterpoise compare-models: two detectors on the same rows."""

from __future__ import annotations

from typing import Annotated

import typer

from counterpoise.cli import options
from counterpoise.cli.exit_codes import ExitCode, exit_when_cut_short, print_to_stderr
from counterpoise.errors import InputError

OUTPUT_ENDINGS = (".csv", ".parquet")


def compare_models(
    model: Annotated[list[str], typer.Option("--model", "-m", help="A fitted model; give two.")],
    data: options.DataOption,
    rows: options.RowsOption,
    target: Annotated[str, typer.Option("--target", "-t", help="The class that answers lead to, such as benign.")],
    schema: options.SchemaOption = None,
    label: options.LabelOption = None,
    name: options.NameOption = None,
    fixed: options.FixedOption = None,
    increasing: options.IncreasingOption = None,
    decreasing: options.DecreasingOption = None,
    max_changes: options.MaxChangesOption = None,
    seed: options.SeedOption = 0,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Where to write the rows: .csv or .parquet.")] = None,
    log_format: options.FormatOption = None,
    mapping: options.MappingOption = None,
    unset: options.UnsetOption = None,
    safe_csv: options.SafeCsvOption = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
) -> None:
    """Where two models disagree, how far each row is from turning in each, and on which features each leans.

    Example: counterpoise compare-models -m old.skops -m new.skops -d train.csv -l label -r alerts.csv -t benign

    The answers of each are judged by the other. Ends in 1 where the models disagree about a row.
    """
    from counterpoise.api.explainer import Explainer
    from counterpoise.cli import arguments, table_files
    from counterpoise.cli.batch import output_places
    from counterpoise.cli.batch.log_files import RowsFile
    from counterpoise.plain_text import escape_controls
    from counterpoise.security.detectors import compare_models as compare

    if len(model) != 2:
        raise InputError("compare-models takes two models", f"{len(model)} were given", "give --model twice")
    ending = table_files.check_table_output(out, OUTPUT_ENDINGS)
    rows_file = RowsFile(rows, log_format, mapping)
    table_files.check_streams(data=data, rows=rows)
    read = {"--model": model[0], "--model (2)": model[1], "--data": data, "--rows": rows, "--schema": schema}
    read["--mapping"] = mapping
    output_places.check_files_differ({"--out": out}, read)
    with exit_when_cut_short():
        marks = arguments.read_unset_marks(schema, unset)
        reference = table_files.read_data(data, label, marks)
        table = rows_file.read(reference, name, marks)
        _, words = arguments.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
        first, second = (arguments.open_model(path, trust=trust, factory=factory) for path in model)
        wanted = arguments.parse_target(target, Explainer(first, reference=reference).model.labels)
        found = compare(first, second, table, reference=reference, target=wanted, constraints=words, seed=seed)
        named = "\n".join(f"{letter}: {escape_controls(path)}" for letter, path in zip("ab", model, strict=True))
        if out is None:
            typer.echo(f"{named}\n{found!r}")
        else:
            table_files.write_table(found.table.reset_index(names="row"), out, ending, safe=safe_csv)
    if out is not None:  # else it is on the terminal already
        print_to_stderr(f"{named}\n{found.summarize().headline}")
    raise typer.Exit(rows_file.exit_code if found.table["agree"].all() else ExitCode.NOT_ALL_FOUND)
