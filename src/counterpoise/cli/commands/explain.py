"""counterpoise explain: rows in, answers out, in whatever form the next reader needs."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated, Any

import typer

from counterpoise.cli import options
from counterpoise.cli.exit_codes import exit_when_cut_short, reserve_stdout


def explain(
    model: options.ModelOption,
    data: options.DataOption,
    rows: options.RowsOption,
    target: options.TargetOption = "opposite",
    threshold: options.ThresholdOption = None,
    schema: options.SchemaOption = None,
    keep: Annotated[
        float | None, typer.Option("--keep", help="The share of noisy copies that must keep the target: a firm answer.")
    ] = None,
    noise: Annotated[
        str, typer.Option("--noise", help="For --keep and --kept: auto, a number of standard deviations, or rank:0.02.")
    ] = "auto",
    kept: Annotated[
        bool | None,
        typer.Option(
            "--kept/--no-kept", help="Measure how many noisy copies keep each answer; left out for remote models."
        ),
    ] = None,
    alternatives: Annotated[int, typer.Option("--alternatives", "-a", help="Answers for each row, at most.")] = 1,
    distance: Annotated[str, typer.Option("--distance", help="l2, l1, l0 or gower.")] = "l2",
    lam: Annotated[
        str, typer.Option("--lam", help="What each change costs beside its size: auto (0.1), or a number; 0: nothing.")
    ] = "auto",
    penalty: Annotated[
        str, typer.Option("--penalty", help="What --lam multiplies: changes (their number) or l1 (their sizes).")
    ] = "changes",
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same answers.")] = 0,
    budget: Annotated[float | None, typer.Option("--budget", help="Seconds for all rows together.")] = None,
    proof: Annotated[
        bool | None,
        typer.Option(
            "--proof/--no-proof",
            help="Prove to the end how near to the least the answers are, or not at all; else as far as is quick.",
            show_default=False,
        ),
    ] = None,
    gap: Annotated[
        float, typer.Option("--gap", help="A proof ends where an answer costs at most this share more than the bound.")
    ] = 0.0,
    label: options.LabelOption = None,
    name: Annotated[str | None, typer.Option("--id", help="The column of the rows that names them.")] = None,
    fixed: options.FixedOption = None,
    increasing: options.IncreasingOption = None,
    decreasing: options.DecreasingOption = None,
    max_changes: options.MaxChangesOption = None,
    new_categories: options.NewCategoriesOption = False,
    no_relations: options.NoRelationsOption = False,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Where to: .html, .json, .csv, .parquet or .ndjson; - for NDJSON lines."),
    ] = None,
    evidence: Annotated[
        str | None,
        typer.Option("--evidence", help="Where to write the real rows of the target nearest to each: .csv, .parquet."),
    ] = None,
    redact: options.RedactOption = False,
    unset: options.UnsetOption = None,
    safe_csv: options.SafeCsvOption = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
) -> None:
    """The least change that would have given each row another decision.

    Example: counterpoise explain -m detector.skops -d train.csv -l label -r alerts.csv -t benign -o alerts.html

    Columns of the rows that the data does not have, such as ids and times, are carried through. Without --out the
    answers are shown as cards, or as plain text where the output is not a terminal.

    A .csv or .parquet has a line for each answer, with added columns cp_row (its label), cp_position (its place, from
    0), cp_status and so on. The real rows that back an answer up are in NDJSON (evidence), in JSON and in the report;
    beside a .csv, give --evidence a table of their own: they are joined by cp_position.
    """
    import pandas as pd

    from counterpoise.api.explainer import Explainer
    from counterpoise.cli import arguments, table_files, write_answers
    from counterpoise.cli.output import list_evidence
    from counterpoise.cli.run import PART_SIZES, CommandRun
    from counterpoise.space.constraints.relative_to_row import prices_of_changes
    from counterpoise.space.distance import Distance

    ending = write_answers.output_ending(out, redact=redact)
    evidence_ending = write_answers.evidence_ending(evidence, redact=redact)
    arguments.check_seconds(budget)
    table_files.check_streams(data=data, rows=rows)
    table_files.check_files_differ(
        {"--out": out, "--evidence": evidence}, {"--model": model, "--data": data, "--rows": rows, "--schema": schema}
    )
    to_stdout = out == table_files.STANDARD_STREAM
    with exit_when_cut_short(), reserve_stdout() if to_stdout else nullcontext(sys.stdout) as standard:
        marks = arguments.read_unset_marks(schema, unset)
        reference, table = table_files.read_data_and_rows(data, rows, label=label, name=name, unset=marks)
        features, words = arguments.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
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
        question = {
            "target": arguments.parse_target(target, explainer.model.labels),
            "threshold": threshold,
            "keep": keep,
            "noise": arguments.parse_noise(noise),
            "kept": "auto" if kept is None else kept,
            "distance": distance,
            "lam": arguments.parse_lam(lam),
            "penalty": penalty,
            "alternatives": alternatives,
            "proof": "auto" if proof is None else proof,
            "gap": gap,
            "seed": seed,
        }
        size = PART_SIZES.first if ending in write_answers.NDJSON_ENDINGS else len(table)
        measure = Distance.of(explainer.schema, distance, prices_of_changes(explainer.schema, explainer.constraints))
        run = CommandRun(explainer, table, question, budget, size, redact=redact)
        writer = write_answers.AnswerWriter(out, ending, standard, measure, redact, safe_csv)
        real_rows = []
        for part in run:
            real_rows += [list_evidence(part, writer.count)] if evidence is not None else []
            writer.write(part)
        if evidence is not None and real_rows:
            found = pd.concat(real_rows, ignore_index=True)
            table_files.write_table(found, evidence, evidence_ending, features=explainer.schema.names, safe=safe_csv)
    raise typer.Exit(run.finish())
