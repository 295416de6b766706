"""counterpoise check: somebody else's counterfactuals, judged."""

from __future__ import annotations

import sys
from typing import Annotated

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from counterpoise.api.explainer import Explainer
from counterpoise.cli import options
from counterpoise.cli.exit_codes import EXIT_ALL_FOUND, EXIT_NOT_ALL_FOUND, exit_when_cut_short, print_to_stderr
from counterpoise.cli.table_files import (
    check_files_differ,
    check_streams,
    check_writable,
    convert_to_numbers,
    drop_label_column,
    ending_of,
    name_rows_by,
    read_table,
    write_table,
)
from counterpoise.explanation.sentences import format_label
from counterpoise.judge.review import Review, review

OUTPUT_ENDINGS = (".csv", ".parquet")


def check(
    model: options.ModelOption,
    data: options.DataOption,
    rows: options.RowsOption,
    answers: Annotated[str, typer.Option("--answers", help="Their counterfactuals, one for each row, in order.")],
    target: options.TargetOption = "opposite",
    threshold: options.ThresholdOption = None,
    schema: options.SchemaOption = None,
    label: options.LabelOption = None,
    name: Annotated[str | None, typer.Option("--id", help="The column of the rows that names them.")] = None,
    fixed: options.FixedOption = None,
    increasing: options.IncreasingOption = None,
    decreasing: options.DecreasingOption = None,
    max_changes: options.MaxChangesOption = None,
    new_categories: options.NewCategoriesOption = False,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Where to write the table: .csv or .parquet.")] = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
) -> None:
    """Whether counterfactuals found elsewhere reach the target, obey the constraints, and how far they go.

    Example: counterpoise check -m detector.skops -d train.csv -l label -r alerts.csv --answers theirs.csv -t benign
    """
    ending = "" if out is None else ending_of(out, OUTPUT_ENDINGS, "--out")
    if out is not None:
        check_writable(out)
    check_streams(data=data, rows=rows, answers=answers)
    read = {"--model": model, "--data": data, "--rows": rows, "--answers": answers, "--schema": schema}
    check_files_differ({"--out": out}, read)
    with exit_when_cut_short():
        reference = drop_label_column(read_table(data, "--data"), label, "--data")
        table = convert_to_numbers(name_rows_by(read_table(rows, "--rows"), name), reference, "--rows")
        features, words = options.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
        fitted = options.open_model(model, trust=trust, factory=factory)
        labels = Explainer(fitted, reference=reference).model.labels
        found = review(
            fitted,
            table,
            convert_to_numbers(read_table(answers, "--answers"), reference, "--answers"),
            reference=reference,
            schema=features,
            constraints=words,
            target=options.parse_target(target, labels),
            threshold=threshold,
            new_categories=new_categories,
        )
        if out is None:
            _print_review(found)
        else:
            write_table(found.table.reset_index(names="row"), out, ending)
    good = int(found.is_valid_and_feasible.sum())
    line = f"{good} of {len(found.is_valid_and_feasible)} reach the target inside the constraints"
    print_to_stderr(line)
    raise typer.Exit(EXIT_ALL_FOUND if good == len(found.is_valid_and_feasible) else EXIT_NOT_ALL_FOUND)


def _print_review(found: Review) -> None:
    columns = {name: found.table[name].tolist() for name in found.table.columns}
    labels = [str(row) for row in found.table.index]
    if not sys.stdout.isatty():
        found.table.rename_axis("row").to_csv(sys.stdout, sep="\t", float_format="%.6g")
        return
    table = Table("row", "before", "after", "target", "changed", "L2", "L1", "constraints", box=box.SIMPLE)
    for place, row in enumerate(labels):
        cells = [
            row,
            *(format_label(columns[name][place]) for name in ("before", "after")),
            "reached" if columns["valid"][place] else "missed",
            str(columns["changed"][place]),
            *(f"{columns[name][place]:.4g}" for name in ("l2", "l1")),
            columns["broken"][place] or "hold",
        ]
        fine = bool(np.asarray(found.is_valid_and_feasible)[place])
        table.add_row(*(Text(cell) for cell in cells), style="" if fine else "yellow")
    Console(highlight=False).print(table)
