"""counterpoise triage: alerts in, a page out that says which are likely false alarms and which share a way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from counterpoise.cli import options
from counterpoise.cli.exit_codes import ExitCode, exit_when_cut_short, print_to_stderr
from counterpoise.errors import InputError

if TYPE_CHECKING:
    from counterpoise.security.triage.triage import Triage

OUTPUT_ENDINGS = (".html", ".csv", ".parquet")


def triage(
    model: options.ModelOption,
    data: options.DataOption,
    rows: options.RowsOption,
    target: options.TargetOption = "opposite",
    schema: options.SchemaOption = None,
    label: options.LabelOption = None,
    name: options.NameOption = None,
    verdict: Annotated[
        str | None,
        typer.Option(
            "--verdict", help="The column of the rows that says what an alert turned out to be, empty where unknown."
        ),
    ] = None,
    fixed: options.FixedOption = None,
    increasing: options.IncreasingOption = None,
    decreasing: options.DecreasingOption = None,
    max_changes: options.MaxChangesOption = None,
    flow_rules: options.FlowRulesOption = None,
    new_categories: options.NewCategoriesOption = False,
    no_relations: options.NoRelationsOption = False,
    seed: options.SeedOption = 0,
    out: Annotated[str | None, typer.Option("--out", "-o", help="Where to: .html, .csv or .parquet.")] = None,
    redact: options.RedactOption = False,
    log_format: options.FormatOption = None,
    mapping: options.MappingOption = None,
    unset: options.UnsetOption = None,
    safe_csv: options.SafeCsvOption = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
) -> None:
    """Which alerts are likely false alarms, which stand, and which share a way out.

    Example: counterpoise triage -m detector.skops -d train.csv -l label -r alerts.csv -t benign -o triage.html

    With --verdict the cut-offs of the classes are calibrated on the alerts whose verdict is known, and their precision
    and recall are shown; without it they are ranks. The page sorts, filters and exports. A row that cannot be read is
    not judged, with its reason, and the command ends in 1; a file without rows gives an empty page and ends in 0.
    """
    from pathlib import Path
    from typing import Any

    from counterpoise.api.explainer import Explainer
    from counterpoise.cli import arguments, table_files
    from counterpoise.cli.batch import output_places
    from counterpoise.cli.batch.log_files import RowsFile
    from counterpoise.explanation.fields import REJECTED
    from counterpoise.plain_text import escape_controls
    from counterpoise.scale.answer_table import explain_rows
    from counterpoise.security.triage.triage import triage as sort_alerts

    ending = table_files.check_table_output(out, OUTPUT_ENDINGS)
    if redact and ending != ".html":
        raise InputError("--redact of a triage goes with a page", f"--out is {out!r}", "write .html")
    rows_file = RowsFile(rows, log_format, mapping)
    table_files.check_streams(data=data, rows=rows)
    read = {"--model": model, "--data": data, "--rows": rows, "--schema": schema, "--mapping": mapping}
    output_places.check_files_differ({"--out": out}, read)
    with exit_when_cut_short():
        marks = arguments.read_unset_marks(schema, unset)
        reference = table_files.read_data(data, label, marks)
        table = rows_file.read(reference, name, marks, rejects=True)
        if verdict is not None and verdict not in table.columns:
            raise InputError(
                "--verdict must name a column of the rows",
                *table_files.explain_wrong_name(verdict, list(table.columns)),
            )
        features, words = arguments.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
        words += arguments.read_flow_rules(flow_rules, features, reference)
        fitted = arguments.open_model(model, trust=trust, factory=factory)
        relations: Any = None if no_relations else "discovered"
        explainer = Explainer(
            fitted,
            reference=reference,
            schema=features,
            constraints=words,
            new_categories=new_categories,
            relations=relations,
        )
        wanted = arguments.parse_target(target, explainer.model.labels)
        explanation = explain_rows(explainer, table, target=wanted, seed=seed)
        found = sort_alerts(explanation, None if verdict is None else table[verdict])
        if out is None:
            typer.echo("\n".join([repr(found), *_list_false_alarms(found)]))
        elif ending == ".html":
            found.save(out, redact=redact, model=Path(model).name, data=Path(data).name, alerts=Path(rows).name)
        else:
            lines = found.table.assign(
                way_out=[found.groups[place].title if place >= 0 else "" for place in found.table["group"]]
            )
            table_files.write_table(lines.reset_index(names="row"), out, ending, safe=safe_csv)
    if out is not None:  # else it is on the terminal already
        print_to_stderr(found.summarize().headline)
    rejected = explanation.status == REJECTED
    for name_of_row, reason in zip(explanation.rows.index[rejected], explanation.reason[rejected], strict=True):
        print_to_stderr(f"note: {escape_controls(str(name_of_row))} was rejected: {escape_controls(str(reason))}")
    raise typer.Exit(max(rows_file.exit_code, ExitCode.NOT_ALL_FOUND if rejected.any() else ExitCode.ALL_FOUND))


def _list_false_alarms(found: Triage, most: int = 10) -> list[str]:
    """Lines that name the alerts most likely to be false alarms, the likeliest first."""
    from counterpoise.plain_text import escape_controls
    from counterpoise.security.triage.scorer import CLASSES

    table = found.table[found.table["class"] == CLASSES[0]].sort_values("score", ascending=False, kind="stable")
    if not len(table):
        return []
    shown = [f"  {escape_controls(str(name))}  {score:.2f}" for name, score in table["score"].head(most).items()]
    more = [f"  … and {len(table) - most} more"] if len(table) > most else []
    return ["likely false alarms, and their scores (1: surest):", *shown, *more]
