"""counterpoise check: counterfactuals found elsewhere, judged."""

from __future__ import annotations

from typing import Annotated, NoReturn

import typer

from counterpoise.cli import options
from counterpoise.cli.exit_codes import ExitCode, exit_when_cut_short, print_to_stderr
from counterpoise.errors import InputError

OUTPUT_ENDINGS = (".csv", ".parquet")


def check(
    model: options.ModelOption,
    data: options.DataOption,
    rows: Annotated[str | None, typer.Option("--rows", "-r", help="The rows, in the same formats as the data.")] = None,
    answers: Annotated[
        str | None,
        typer.Option("--answers", help="Their counterfactuals: one a row, in order, or a table of explain."),
    ] = None,
    receipt: Annotated[
        str | None, typer.Option("--receipt", help="A receipt of the workbench, in place of --rows and --answers.")
    ] = None,
    explanation: Annotated[
        str | None,
        typer.Option(
            "--explanation", help="A saved explanation (.json), in place of --rows and --answers: what still holds?"
        ),
    ] = None,
    target: options.TargetOption = "opposite",
    threshold: options.ThresholdOption = None,
    schema: options.SchemaOption = None,
    label: options.LabelOption = None,
    name: options.NameOption = None,
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

    A table that explain wrote says which rows its answers are about, also with --limit, --where and --alternatives.

    With --explanation the answers of a saved explanation are judged by this model, which may be a later one than it was
    made with, under the constraints that it was made with. With --receipt the answer of a receipt is predicted again,
    its constraints are checked and its bound is proven anew.
    """
    from counterpoise.api.explainer import Explainer
    from counterpoise.cli import arguments, table_files
    from counterpoise.cli.batch import output_places
    from counterpoise.cli.batch.answer_rows import rows_of_answers
    from counterpoise.cli.terminal_tables import print_review
    from counterpoise.judge.review import review

    if receipt is not None:
        if rows is not None or answers is not None:
            raise InputError("--receipt stands alone", "--rows or --answers was given too", "leave them out")
        check_receipt_file(receipt, model, data, label, schema, unset, trust=trust, factory=factory)
    if explanation is not None:
        if rows is not None or answers is not None:
            raise InputError("--explanation stands alone", "--rows or --answers was given too", "leave them out")
        _check_saved(explanation, model, data, label, schema, unset, out, trust=trust, factory=factory)
    if rows is None or answers is None:
        raise InputError(
            "--rows and --answers, --explanation or --receipt are needed", "neither was given whole", "give them"
        )
    ending = table_files.check_table_output(out, OUTPUT_ENDINGS)
    table_files.check_streams(data=data, rows=rows, answers=answers)
    read = {"--model": model, "--data": data, "--rows": rows, "--answers": answers, "--schema": schema}
    output_places.check_files_differ({"--out": out}, read)
    with exit_when_cut_short():
        marks = arguments.read_unset_marks(schema, unset)
        reference, table = table_files.read_data_and_rows(data, rows, label=label, name=name, unset=marks)
        features, words = arguments.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
        fitted = arguments.open_model(model, trust=trust, factory=factory)
        labels = Explainer(fitted, reference=reference).model.labels
        judged = table_files.read_table(answers, "--answers", marks)
        found = review(
            fitted,
            rows_of_answers(table, judged, reference.columns),
            table_files.convert_to_numbers(judged, reference, "--answers"),
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


def _check_saved(
    explanation: str,
    model: str,
    data: str,
    label: str | None,
    schema: str | None,
    unset: list[str] | None,
    out: str | None,
    *,
    trust: bool,
    factory: str | None,
) -> NoReturn:
    """Which answers of a saved explanation hold in a model; a line each, and how many on standard error."""
    from counterpoise.cli import arguments, table_files
    from counterpoise.cli.batch import output_places
    from counterpoise.cli.terminal_tables import print_review
    from counterpoise.explanation.explanation import Explanation
    from counterpoise.security.detectors import check_validity

    ending = table_files.check_table_output(out, OUTPUT_ENDINGS)
    output_places.check_files_differ({"--out": out}, {"--model": model, "--data": data, "--explanation": explanation})
    with exit_when_cut_short():
        saved = Explanation.load(explanation)
        reference = table_files.read_data(data, label, arguments.read_unset_marks(schema, unset))
        found = check_validity(saved, arguments.open_model(model, trust=trust, factory=factory), reference=reference)
        if out is None:
            print_review(found)
        else:
            table_files.write_table(found.table.reset_index(names="row"), out, ending)
    good, total = int(found.is_valid_and_feasible.sum()), len(found.is_valid_and_feasible)
    print_to_stderr(f"{good} of {total} answers that held still hold")
    raise typer.Exit(ExitCode.ALL_FOUND if good == total else ExitCode.NOT_ALL_FOUND)


def check_receipt_file(
    receipt: str,
    model: str,
    data: str,
    label: str | None,
    schema: str | None,
    unset: list[str] | None,
    *,
    trust: bool,
    factory: str | None,
) -> NoReturn:
    """Check a receipt again, print what holds and what does not, and end with the exit code that says it."""
    from pathlib import Path

    from counterpoise.cli import arguments, table_files
    from counterpoise.judge.receipt import check_receipt

    with exit_when_cut_short():
        text = Path(receipt).read_bytes()
        reference = table_files.read_data(data, label, arguments.read_unset_marks(schema, unset))
        found = check_receipt(text, arguments.open_model(model, trust=trust, factory=factory), reference=reference)
        for line in found.said:
            typer.echo(f"holds: {line}")
        for line in found.faults:
            typer.echo(f"does not hold: {line}")
    raise typer.Exit(ExitCode.ALL_FOUND if found.holds else ExitCode.NOT_ALL_FOUND)
