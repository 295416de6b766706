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
from counterpoise.cli.endings import FOUND, NOT_ALL, cut_short, say
from counterpoise.cli.tables import (
    as_numbers,
    check_apart,
    check_streams,
    check_writable,
    ending_of,
    named_by,
    read_table,
    without,
    write_table,
)
from counterpoise.judge.review import Review, review
from counterpoise.sentences import format_label

ENDINGS = (".csv", ".parquet")


def check(
    model: options.Model,
    data: options.Data,
    rows: options.Rows,
    answers: Annotated[str, typer.Option("--answers", help="Their counterfactuals, one for each row, in order.")],
    target: options.Target = "opposite",
    threshold: options.Threshold = None,
    schema: options.File = None,
    label: options.Label = None,
    name: Annotated[str | None, typer.Option("--id", help="The column of the rows that names them.")] = None,
    fixed: options.Fixed = None,
    increasing: options.Rising = None,
    decreasing: options.Falling = None,
    max_changes: options.Most = None,
    new_categories: options.NewCategories = False,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Where to write the table: .csv or .parquet.")] = None,
    trust: options.Trust = False,
    factory: options.Factory = None,
) -> None:
    """Whether counterfactuals found elsewhere reach the target, obey the constraints, and how far they go.

    Example: counterpoise check -m detector.skops -d train.csv -l label -r alerts.csv --answers theirs.csv -t benign
    """
    ending = "" if out is None else ending_of(out, ENDINGS, "--out")
    if out is not None:
        check_writable(out)
    check_streams(data=data, rows=rows, answers=answers)
    read = {"--model": model, "--data": data, "--rows": rows, "--answers": answers, "--schema": schema}
    check_apart({"--out": out}, read)
    with cut_short():
        reference = without(read_table(data, "--data"), label, "--data")
        table = as_numbers(named_by(read_table(rows, "--rows"), name), reference, "--rows")
        features, words = options.given(schema, reference, fixed, increasing, decreasing, max_changes)
        fitted = options.load_model(model, trust=trust, factory=factory)
        labels = Explainer(fitted, reference=reference).model.labels
        found = review(
            fitted,
            table,
            as_numbers(read_table(answers, "--answers"), reference, "--answers"),
            reference=reference,
            schema=features,
            constraints=words,
            target=options.parse_target(target, labels),
            threshold=threshold,
            new_categories=new_categories,
        )
        if out is None:
            _show(found)
        else:
            write_table(found.table.reset_index(names="row"), out, ending)
    good = int(found.good.sum())
    line = f"{good} of {len(found.good)} reach the target inside the constraints"
    say(line)
    raise typer.Exit(FOUND if good == len(found.good) else NOT_ALL)


def _show(found: Review) -> None:
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
        fine = bool(np.asarray(found.good)[place])
        table.add_row(*(Text(cell) for cell in cells), style="" if fine else "yellow")
    Console(highlight=False).print(table)
