"""counterpoise check: counterfactuals found elsewhere, judged."""

from __future__ import annotations

from typing import Annotated

import typer

from counterpoise.cli import options
from counterpoise.cli.exit_codes import ExitCode, exit_when_cut_short, print_to_stderr

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
    unset: options.UnsetOption = None,
    safe_csv: options.SafeCsvOption = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
) -> None:
    """Whether counterfactuals found elsewhere reach the target, obey the constraints, and how far they go.

    Example: counterpoise check -m detector.skops -d train.csv -l label -r alerts.csv --answers theirs.csv -t benign
    """
    from counterpoise.api.explainer import Explainer
    from counterpoise.cli import arguments, table_files
    from counterpoise.cli.terminal_tables import print_review
    from counterpoise.judge.review import review

    ending = table_files.check_table_output(out, OUTPUT_ENDINGS)
    table_files.check_streams(data=data, rows=rows, answers=answers)
    read = {"--model": model, "--data": data, "--rows": rows, "--answers": answers, "--schema": schema}
    table_files.check_files_differ({"--out": out}, read)
    with exit_when_cut_short():
        marks = arguments.read_unset_marks(schema, unset)
        reference, table = table_files.read_data_and_rows(data, rows, label=label, name=name, unset=marks)
        features, words = arguments.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
        fitted = arguments.open_model(model, trust=trust, factory=factory)
        labels = Explainer(fitted, reference=reference).model.labels
        found = review(
            fitted,
            table,
            table_files.convert_to_numbers(table_files.read_table(answers, "--answers", marks), reference, "--answers"),
            reference=reference,
            schema=features,
            constraints=words,
            target=arguments.parse_target(target, labels),
            threshold=threshold,
            new_categories=new_categories,
        )
        if out is None:
            print_review(found)
        else:
            table_files.write_table(found.table.reset_index(names="row"), out, ending, safe=safe_csv)
    good, total = int(found.is_valid_and_feasible.sum()), len(found.is_valid_and_feasible)
    print_to_stderr(f"{good} of {total} reach the target inside the constraints")
    raise typer.Exit(ExitCode.ALL_FOUND if good == total else ExitCode.NOT_ALL_FOUND)
