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
from counterpoise.cli.endings import FOUND, NOT_ALL, cut_short, say
from counterpoise.cli.tables import (
    as_numbers,
    check_apart,
    check_streams,
    check_writable,
    ending_of,
    read_table,
    without,
    write_table,
)
from counterpoise.errors import InputError
from counterpoise.judge.compare import Answers
from counterpoise.judge.compare import compare as judge
from counterpoise.methods.algorithm1 import Algorithm1
from counterpoise.methods.annealing import Annealing
from counterpoise.methods.base import Method
from counterpoise.methods.gradient import GradientDescent
from counterpoise.methods.lime import Lime
from counterpoise.methods.nearest import NearestNeighbour
from counterpoise.methods.polish import Polished
from counterpoise.methods.random_search import RandomSearch
from counterpoise.methods.spheres import GrowingSpheres

ENDINGS = (".csv", ".parquet")
METHODS: dict[str, Method] = {
    "annealing": Polished(Annealing()),
    "nearest": NearestNeighbour(),
    "random": RandomSearch(),
    "spheres": GrowingSpheres(),
    "lime": Lime(),
    "algorithm1": Algorithm1(),
    "gradient": GradientDescent(),
}
USUAL = ("annealing", "nearest", "random", "spheres", "lime")  # those that need nothing of the model but its scores
SHOWN = ("validity", "l2", "l1", "l0", "robustness", "ynn", "seconds", "model_rows")


def compare(
    model: options.Model,
    data: options.Data,
    rows: options.Rows,
    method: Annotated[
        list[str] | None, typer.Option("--method", help=f"One of {', '.join(METHODS)}; may be repeated.")
    ] = None,
    answers: Annotated[
        list[str] | None, typer.Option("--answers", help="NAME=FILE: answers found elsewhere, one a row; repeatable.")
    ] = None,
    target: options.Target = "opposite",
    threshold: options.Threshold = None,
    schema: options.File = None,
    label: options.Label = None,
    fixed: options.Fixed = None,
    increasing: options.Rising = None,
    decreasing: options.Falling = None,
    max_changes: options.Most = None,
    new_categories: options.NewCategories = False,
    seconds: Annotated[float | None, typer.Option("--seconds", help="For each row, for each method.")] = None,
    model_rows: Annotated[
        int | None, typer.Option("--model-rows", help="That a method may ask about, for each row.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same answers.")] = 0,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Where to write all metrics: .csv or .parquet.")
    ] = None,
    trust: options.Trust = False,
    factory: options.Factory = None,
) -> None:
    """What several methods find for the same rows, under the same constraints, judged by the same code.

    Example: counterpoise compare -m detector.skops -d train.csv -l label -r alerts.csv -t benign --method nearest

    Distances are means over the rows that a method solves. Ends in 1 where no method has an answer to every row.
    """
    ending = "" if out is None else ending_of(out, ENDINGS, "--out")
    if out is not None:
        check_writable(out)
    check_streams(data=data, rows=rows)
    read = {"--model": model, "--data": data, "--rows": rows, "--schema": schema}
    check_apart({"--out": out}, read)
    with cut_short():
        entries = _entries(method, answers)
        reference = without(read_table(data, "--data"), label, "--data")
        table = as_numbers(read_table(rows, "--rows"), reference, "--rows")
        features, words = options.given(schema, reference, fixed, increasing, decreasing, max_changes)
        fitted = options.load_model(model, trust=trust, factory=factory)
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
            _show(found)
        else:
            write_table(found.reset_index(names="method"), out, ending)
    best = found["validity"].max()
    say(f"{len(found)} methods, {len(table)} rows; the best has an answer to {best:.0%} of them")
    raise typer.Exit(FOUND if best == 1 else NOT_ALL)


def _entries(method: list[str] | None, answers: list[str] | None) -> dict[str, Answers]:
    """Methods by their names, and answers by theirs."""
    names = method or ([] if answers else list(USUAL))
    wrong = [name for name in names if name not in METHODS]
    if wrong:
        raise InputError(f"--method must be one of {', '.join(METHODS)}", f"{wrong[0]!r}", "choose one")
    entries: dict[str, Answers] = {name: METHODS[name] for name in names}
    for given in answers or ():
        name, _, path = given.partition("=")
        if not name or not path:
            raise InputError("--answers must be NAME=FILE", f"{given!r}", "for instance --answers theirs=theirs.csv")
        if name in entries:
            raise InputError("every method must have a name of its own", f"{name!r} twice", "choose another name")
        entries[name] = read_table(path, f"--answers {Path(path).name}")
    return entries


def _show(found: pd.DataFrame) -> None:
    if not sys.stdout.isatty():
        found.rename_axis("method").to_csv(sys.stdout, sep="\t", float_format="%.6g")
        return
    table = Table("method", *(name.replace("_", " ") for name in SHOWN), box=box.SIMPLE)
    for name, line in found[list(SHOWN)].iterrows():
        table.add_row(str(name), *("" if pd.isna(value) else f"{value:.4g}" for value in line))
    Console(highlight=False).print(table)
