"""counterpoise explain: rows in, answers out, in whatever form the next reader needs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, TextIO

import pandas as pd
import typer
from rich.console import Console

from counterpoise.api.explainer import Explainer
from counterpoise.cli import options
from counterpoise.cli.exit_codes import exit_when_cut_short, reserve_stdout
from counterpoise.cli.output import format_json_lines, list_evidence, tabulate
from counterpoise.cli.run import CommandRun
from counterpoise.cli.table_files import (
    STANDARD_STREAM,
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
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.show.cards import CAUTION, Card, build_cards
from counterpoise.show.report import report
from counterpoise.show.terminal import draw_card, write_card
from counterpoise.space.constraints.relative_to_row import prices_of_changes
from counterpoise.space.distance import Distance

NDJSON_ENDINGS = (".ndjson", ".jsonl")
TABLE_ENDINGS = (".csv", ".parquet")
OUTPUT_ENDINGS = (".html", ".json", ".csv", ".parquet", *NDJSON_ENDINGS)
FIRST_PART_ROWS = 8  # rows worked on together at first, when each is written as soon as it is finished


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
        str, typer.Option("--noise", help="With --keep: auto, a number of feature scales, or rank:0.02.")
    ] = "auto",
    alternatives: Annotated[int, typer.Option("--alternatives", "-a", help="Answers for each row, at most.")] = 1,
    distance: Annotated[str, typer.Option("--distance", help="l2, l1, l0 or gower.")] = "l2",
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same answers.")] = 0,
    budget: Annotated[float | None, typer.Option("--budget", help="Seconds for all rows together.")] = None,
    label: options.LabelOption = None,
    name: Annotated[str | None, typer.Option("--id", help="The column of the rows that names them.")] = None,
    fixed: options.FixedOption = None,
    increasing: options.IncreasingOption = None,
    decreasing: options.DecreasingOption = None,
    max_changes: options.MaxChangesOption = None,
    new_categories: options.NewCategoriesOption = False,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Where to: .html, .json, .csv, .parquet or .ndjson; - for NDJSON lines."),
    ] = None,
    evidence: Annotated[
        str | None,
        typer.Option("--evidence", help="Where to write the real rows of the target nearest to each: .csv, .parquet."),
    ] = None,
    redact: options.RedactOption = False,
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
    ending = _output_ending(out, redact=redact)
    backing = _evidence_ending(evidence, redact=redact)
    options.check_seconds(budget)
    check_streams(data=data, rows=rows)
    check_files_differ(
        {"--out": out, "--evidence": evidence}, {"--model": model, "--data": data, "--rows": rows, "--schema": schema}
    )
    with exit_when_cut_short(), reserve_stdout() if out == STANDARD_STREAM else nullcontext(sys.stdout) as standard:
        reference = drop_label_column(read_table(data, "--data"), label, "--data")
        table = convert_to_numbers(name_rows_by(read_table(rows, "--rows"), name), reference, "--rows")
        features, words = options.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
        fitted = options.open_model(model, trust=trust, factory=factory)
        explainer = Explainer(
            fitted, reference=reference, schema=features, constraints=words, new_categories=new_categories
        )
        asked = {
            "target": options.parse_target(target, explainer.model.labels),
            "threshold": threshold,
            "keep": keep,
            "noise": options.parse_noise(noise),
            "distance": distance,
            "alternatives": alternatives,
            "seed": seed,
        }
        size = FIRST_PART_ROWS if ending in NDJSON_ENDINGS else len(table)
        measure = Distance.of(explainer.schema, distance, prices_of_changes(explainer.schema, explainer.constraints))
        run = CommandRun(explainer, table, asked, budget, size)
        with _open_output(out, ending, standard) as stream:
            real = []
            for part in run:
                first = run.finished_count - len(part)
                _write_part(part, measure, out, ending, stream, redact=redact, first=first)
                real += [list_evidence(part, first)] if evidence is not None else []
        if evidence is not None and real:
            write_table(pd.concat(real, ignore_index=True), evidence, backing)
    raise typer.Exit(run.finish())


def _output_ending(out: str | None, *, redact: bool) -> str:
    """What to write: the ending of the path, ".ndjson" for "-", or nothing for cards; checked before any work."""
    if out is None:
        return ""
    ending = ".ndjson" if out == STANDARD_STREAM else ending_of(out, OUTPUT_ENDINGS, "--out")
    if out != STANDARD_STREAM:
        check_writable(out)
    if redact and ending not in (".html", *NDJSON_ENDINGS):
        raise InputError(
            "--redact goes with a report, with NDJSON and with cards",
            f"{out!r} is made of values",
            "write .html or .ndjson, or leave --redact out",
        )
    return ending


def _evidence_ending(evidence: str | None, *, redact: bool) -> str:
    """What to write the real rows as, checked before any work; nothing where they are not asked for."""
    if evidence is None:
        return ""
    ending = ending_of(evidence, TABLE_ENDINGS, "--evidence")
    if redact:
        raise InputError(
            "--redact writes no values", f"--evidence {evidence!r} is made of them", "leave one of them out"
        )
    check_writable(evidence, "--evidence")
    return ending


def _open_output(out: str | None, ending: str, standard: TextIO) -> AbstractContextManager[TextIO]:
    if ending in NDJSON_ENDINGS and out is not None and out != STANDARD_STREAM:
        return open(out, "w", encoding="utf-8")
    return nullcontext(standard)


def _write_part(
    part: Explanation, measure: Distance, out: str | None, ending: str, stream: TextIO, *, redact: bool, first: int
) -> None:
    if ending in NDJSON_ENDINGS:
        for line in format_json_lines(part, redact=redact, first=first):
            stream.write(line + "\n")
        stream.flush()
    elif ending == "" or out is None:
        _print_cards(part, redact=redact)
    elif ending == ".html":
        report(part, out, redact=redact)
    else:
        writers: dict[str, Callable[[], None]] = {
            ".json": lambda: part.save(out),
            ".csv": lambda: write_table(tabulate(part, measure), out, ending),
            ".parquet": lambda: write_table(tabulate(part, measure), out, ending),
        }
        writers[ending]()


def _print_cards(part: Explanation, *, redact: bool) -> None:
    cards = build_cards(part, redact=redact)
    if redact and part.firm is not None:
        cards = [_add_firmness(card, enough) for card, enough in zip(cards, part.firm_enough.tolist(), strict=True)]
    if not sys.stdout.isatty():
        sys.stdout.write("\n\n".join(map(write_card, cards)) + f"\n\n{CAUTION}\n")
        sys.stdout.flush()
        return
    console = Console(highlight=False)
    held = [f"{part.schema[name].title} ({why})" for name, why in part.held.items()]
    for card in cards:
        console.print(draw_card(card, held))
    console.print(CAUTION, style="dim", markup=False)


def _add_firmness(card: Card, enough: bool) -> Card:
    """A card whose sentence says how firm the answer is: without values it has said nothing of that."""
    if not card.firmness:
        return card
    told = card.firmness + ("" if enough else ", fewer than were asked for")
    return card._replace(best_answer=card.best_answer._replace(text=f"{card.best_answer.text} {told}."))
