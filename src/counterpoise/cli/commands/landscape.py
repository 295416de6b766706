"""counterpoise landscape: all the ways out of a few decisions, sampled, as a page, JSON or text."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from counterpoise.cli import options
from counterpoise.cli.exit_codes import ExitCode, exit_when_cut_short, print_to_stderr
from counterpoise.errors import InputError, MissingExtra

OUTPUT_ENDINGS = (".html", ".json")


def landscape(
    model: options.ModelOption,
    data: options.DataOption,
    rows: options.RowsOption,
    target: options.TargetOption = "opposite",
    threshold: options.ThresholdOption = None,
    schema: options.SchemaOption = None,
    temperature: Annotated[
        float | None, typer.Option("--temperature", "-T", help="As a share of each answer's effort; 0.05 if not given.")
    ] = None,
    samples: Annotated[int, typer.Option("--samples", help="Effective samples of each row.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")] = 0,
    budget: options.BudgetOption = None,
    label: options.LabelOption = None,
    name: options.NameOption = None,
    fixed: options.FixedOption = None,
    increasing: options.IncreasingOption = None,
    decreasing: options.DecreasingOption = None,
    max_changes: options.MaxChangesOption = None,
    limit: options.LimitOption = None,
    where: options.WhereOption = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Where to: .html or .json; else text is shown.")
    ] = None,
    unset: options.UnsetOption = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
) -> None:
    """All the ways out of each row's decision: what must change, what may, and how many separate ways there are.

    Example: counterpoise landscape -m detector.skops -d train.csv -l label -r one.csv -t benign -o landscape.html
    """
    from counterpoise.api.explainer import Explainer
    from counterpoise.cli import arguments, table_files
    from counterpoise.cli.batch import output_places
    from counterpoise.cli.batch.output_places import check_writable
    from counterpoise.cli.batch.question import choose_some_rows
    from counterpoise.landscape.ensemble import ensemble
    from counterpoise.show.landscape_page import write_landscape_page

    ending = "" if out is None else Path(out).suffix.lower()
    if out is not None and ending not in OUTPUT_ENDINGS:
        raise InputError("--out must end in .html or .json", f"{out!r}", "name the file so")
    if ending == ".html" and find_spec("matplotlib") is None:
        raise MissingExtra("plots")
    arguments.check_seconds(budget)
    arguments.check_limit(limit)
    table_files.check_streams(data=data, rows=rows)
    output_places.check_files_differ(
        {"--out": out}, {"--model": model, "--data": data, "--rows": rows, "--schema": schema}
    )
    if out is not None:
        check_writable(out)
    with exit_when_cut_short():
        marks = arguments.read_unset_marks(schema, unset)
        reference, table = table_files.read_data_and_rows(data, rows, label=label, name=name, unset=marks)
        features, words = arguments.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
        fitted = arguments.open_model(model, trust=trust, factory=factory)
        explainer = Explainer(fitted, reference=reference, schema=features, constraints=words)
        found = ensemble(
            explainer,
            table.iloc[choose_some_rows(explainer, table, where, limit)],
            T="auto" if temperature is None else temperature,
            samples=samples,
            seed=seed,
            budget=budget,
            target=arguments.parse_target(target, explainer.model.labels),
            threshold=threshold,
        )
        if out is None:
            typer.echo(found.text())
        elif ending == ".json":
            Path(out).write_text(found.to_json(), encoding="utf-8")
        else:
            write_landscape_page(found, out)
    sampled = sum(each.draws is not None for each in found.rows)
    sure = sum(each.draws is not None and each.draws.has_converged for each in found.rows)
    print_to_stderr(f"{sampled} of {len(found)} rows have ways out; {sure} have converged")
    raise typer.Exit(ExitCode.ALL_FOUND if sampled == len(found) else ExitCode.NOT_ALL_FOUND)
