"""counterpoise compare: several methods, and answers found elsewhere, over the same rows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich import box
from rich.console import Console
from rich.table import Table

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
    read_table,
    write_table,
)
from counterpoise.errors import InputError
from counterpoise.judge.compare import MethodOrAnswers
from counterpoise.judge.compare import compare as judge
from counterpoise.methods.base import Method
from counterpoise.methods.annealing import Annealing
from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.methods.baselines.gradient import GradientDescent
from counterpoise.methods.baselines.growing_spheres import GrowingSpheres
from counterpoise.methods.baselines.lime import Lime
from counterpoise.methods.baselines.nearest import NearestNeighbour
from counterpoise.methods.baselines.random_search import RandomSearch
from counterpoise.methods.polish import Polished
from counterpoise.methods.search import Search

OUTPUT_ENDINGS = (".csv", ".parquet")
METHODS: dict[str, Method] = {
    "search": Polished(Search()),
    "annealing": Polished(Annealing()),
    "nearest": NearestNeighbour(),
    "random": RandomSearch(),
    "spheres": GrowingSpheres(),
    "lime": Lime(),
    "algorithm1": Algorithm1(),
    "gradient": GradientDescent(),
}
DEFAULT_METHODS = (
    "search",
    "nearest",
    "random",
    "spheres",
    "lime",
)  # those that need nothing of the model but its scores
SHOWN_METRICS = ("validity", "l2", "l1", "l0", "robustness", "ynn", "seconds", "model_rows")


def compare(
    model: options.ModelOption,
    data: options.DataOption,
    rows: options.RowsOption,
    method: Annotated[
        list[str] | None, typer.Option("--method", help=f"One of {', '.join(METHODS)}; may be repeated.")
    ] = None,
    answers: Annotated[
        list[str] | None, typer.Option("--answers", help="NAME=FILE: answers found elsewhere, one a row; repeatable.")
    ] = None,
    target: options.TargetOption = "opposite",
    threshold: options.ThresholdOption = None,
    schema: options.SchemaOption = None,
    label: options.LabelOption = None,
    fixed: options.FixedOption = None,
    increasing: options.IncreasingOption = None,
    decreasing: options.DecreasingOption = None,
    max_changes: options.MaxChangesOption = None,
    new_categories: options.NewCategoriesOption = False,
    seconds: Annotated[float | None, typer.Option("--seconds", help="For each row, for each method.")] = None,
    model_rows: Annotated[
        int | None, typer.Option("--model-rows", help="That a method may ask about, for each row.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same answers.")] = 0,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Where to write all metrics: .csv or .parquet.")
    ] = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
) -> None:
    """What several methods find for the same rows, under the same constraints, judged by the same code.

    Example: counterpoise compare -m detector.skops -d train.csv -l label -r alerts.csv -t benign --method nearest

    Distances are means over the rows that a method solves. Ends in 1 where no method has an answer to every row.
    """
    ending = "" if out is None else ending_of(out, OUTPUT_ENDINGS, "--out")
    if out is not None:
        check_writable(out)
    check_streams(data=data, rows=rows)
    read = {"--model": model, "--data": data, "--rows": rows, "--schema": schema}
    check_files_differ({"--out": out}, read)
    with exit_when_cut_short():
        entries = _parse_methods(method, answers)
        reference = drop_label_column(read_table(data, "--data"), label, "--data")
        table = convert_to_numbers(read_table(rows, "--rows"), reference, "--rows")
        features, words = options.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
        fitted = options.open_model(model, trust=trust, factory=factory)
        explainer = Explainer(
            fitted, reference=reference, schema=features, constraints=words, new_categories=new_categories
        )
        found = judge(
            entries,
            explainer,
            table,
            target=options.parse_target(target, explainer.model.labels),
            threshold=threshold,
            seeds=(seed,),
            seconds=seconds,
            model_rows=model_rows,
        )
        if out is None:
            _print_comparison(found)
        else:
            write_table(found.reset_index(names="method"), out, ending)
    best = found["validity"].max()
    print_to_stderr(f"{len(found)} methods, {len(table)} rows; the best has an answer to {best:.0%} of them")
    raise typer.Exit(EXIT_ALL_FOUND if best == 1 else EXIT_NOT_ALL_FOUND)


def _parse_methods(method: list[str] | None, answers: list[str] | None) -> dict[str, MethodOrAnswers]:
    """Methods by their names, and answers by theirs."""
    names = method or ([] if answers else list(DEFAULT_METHODS))
    wrong = [name for name in names if name not in METHODS]
    if wrong:
        raise InputError(f"--method must be one of {', '.join(METHODS)}", f"{wrong[0]!r}", "choose one")
    entries: dict[str, MethodOrAnswers] = {name: METHODS[name] for name in names}
    for given in answers or ():
        name, _, path = given.partition("=")
        if not name or not path:
            raise InputError("--answers must be NAME=FILE", f"{given!r}", "for instance --answers theirs=theirs.csv")
        if name in entries:
            raise InputError("every method must have a name of its own", f"{name!r} twice", "choose another name")
        entries[name] = read_table(path, f"--answers {Path(path).name}")
    return entries


def _print_comparison(found: pd.DataFrame) -> None:
    if not sys.stdout.isatty():
        found.rename_axis("method").to_csv(sys.stdout, sep="\t", float_format="%.6g")
        return
    table = Table("method", *(name.replace("_", " ") for name in SHOWN_METRICS), box=box.SIMPLE)
    for name, line in found[list(SHOWN_METRICS)].iterrows():
        table.add_row(str(name), *("" if pd.isna(value) else f"{value:.4g}" for value in line))
    Console(highlight=False).print(table)
