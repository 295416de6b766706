"""counterpoise compare: several methods, and answers found elsewhere, over the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterpoise.cli import options
from counterpoise.cli.exit_codes import NO_ROWS, ExitCode, exit_when_cut_short, print_to_stderr
from counterpoise.errors import InputError

if TYPE_CHECKING:
    from counterpoise.judge.compare import MethodOrAnswers
    from counterpoise.methods.base import Method
    from counterpoise.space.yaml.unset_marks import UnsetMarks

OUTPUT_ENDINGS = (".csv", ".parquet")
METHOD_NAMES = ("search", "nearest", "random", "spheres", "lime", "algorithm1", "gradient", "annealing")
DEFAULT_METHOD_NAMES = METHOD_NAMES[:5]  # those that need nothing of the model but its scores


def compare(
    model: options.ModelOption,
    data: options.DataOption,
    rows: options.RowsOption,
    method: Annotated[
        list[str] | None, typer.Option("--method", help=f"One of {', '.join(METHOD_NAMES)}; may be repeated.")
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
    seed: options.SeedOption = 0,
    limit: options.LimitOption = None,
    where: options.WhereOption = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", help="Where to write all metrics: .csv or .parquet.")
    ] = None,
    unset: options.UnsetOption = None,
    safe_csv: options.SafeCsvOption = None,
    trust: options.TrustOption = False,
    factory: options.FactoryOption = None,
) -> None:
    """What several methods find for the same rows, under the same constraints, judged by the same code.

    Example: counterpoise compare -m detector.skops -d train.csv -l label -r alerts.csv -t benign --method nearest

    Distances are means over the rows that a method solves. Ends in 1 where no method has an answer to every row.
    """
    import pandas as pd

    from counterpoise.api.explainer import Explainer
    from counterpoise.cli import arguments, table_files
    from counterpoise.cli.batch import output_places
    from counterpoise.cli.batch.question import choose_rows
    from counterpoise.cli.terminal_tables import print_comparison
    from counterpoise.judge.compare import compare as compare_methods
    from counterpoise.scale.row_filter import RowFilter

    arguments.check_limit(limit)
    ending = table_files.check_table_output(out, OUTPUT_ENDINGS)
    table_files.check_streams(data=data, rows=rows)
    read = {"--model": model, "--data": data, "--rows": rows, "--schema": schema}
    output_places.check_files_differ({"--out": out}, read)
    with exit_when_cut_short():
        marks = arguments.read_unset_marks(schema, unset)
        entries = _parse_methods(method, answers, marks)
        reference, table = table_files.read_data_and_rows(data, rows, label=label, unset=marks, may_be_empty=True)
        features, words = arguments.read_constraints(schema, reference, fixed, increasing, decreasing, max_changes)
        fitted = arguments.open_model(model, trust=trust, factory=factory)
        explainer = Explainer(
            fitted, reference=reference, schema=features, constraints=words, new_categories=new_categories
        )
        wanted = arguments.parse_target(target, explainer.model.labels)
        row_filter = None if where is None else RowFilter(explainer, where)
        chosen = choose_rows(table, row_filter if len(table) else None, limit)
        for each, entry in entries.items():  # answers to all rows of the file are cut as the rows are
            if isinstance(entry, pd.DataFrame) and len(entry) == len(table):
                entries[each] = entry.iloc[chosen]
        table = table.iloc[chosen]
        question: dict[str, Any] = {"target": wanted, "threshold": threshold, "seeds": (seed,)}
        if len(table):
            found = compare_methods(entries, explainer, table, **question, seconds=seconds, model_rows=model_rows)
        else:  # the columns are those of any comparison
            nearest = {"nearest": _make_methods()["nearest"]}
            found = compare_methods(nearest, explainer, reference.iloc[:1], **question).iloc[:0]
        if out is None:
            print_comparison(found)
        else:
            table_files.write_table(found.reset_index(names="method"), out, ending, safe=safe_csv)
    if not len(table):
        print_to_stderr(NO_ROWS)
        raise typer.Exit(ExitCode.ALL_FOUND)
    best = found["validity"].max()
    print_to_stderr(f"{len(found)} methods, {len(table)} rows; the best has an answer to {best:.0%} of them")
    raise typer.Exit(ExitCode.ALL_FOUND if best == 1 else ExitCode.NOT_ALL_FOUND)


def _parse_methods(
    method: list[str] | None, answers: list[str] | None, marks: UnsetMarks
) -> dict[str, MethodOrAnswers]:
    """The methods and the tables of answers to compare, by name."""
    from counterpoise.cli.table_files import read_table

    names = method or ([] if answers else list(DEFAULT_METHOD_NAMES))
    wrong = [name for name in names if name not in METHOD_NAMES]
    if wrong:
        raise InputError(f"--method must be one of {', '.join(METHOD_NAMES)}", f"{wrong[0]!r}", "choose one")
    methods = _make_methods()
    entries: dict[str, MethodOrAnswers] = {name: methods[name] for name in names}
    for given in answers or ():
        name, _, path = given.partition("=")
        if not name or not path:
            raise InputError("--answers must be NAME=FILE", f"{given!r}", "for instance --answers theirs=theirs.csv")
        if name in entries:
            raise InputError("every method must have a name of its own", f"{name!r} twice", "choose another name")
        entries[name] = read_table(path, f"--answers {Path(path).name}", marks)
    return entries


def _make_methods() -> dict[str, Method]:
    """Every method with its default settings, by its name on the command line."""
    from counterpoise.methods.annealing import Annealing
    from counterpoise.methods.baselines.algorithm1 import Algorithm1
    from counterpoise.methods.baselines.gradient import GradientDescent
    from counterpoise.methods.baselines.growing_spheres import GrowingSpheres
    from counterpoise.methods.baselines.lime import Lime
    from counterpoise.methods.baselines.nearest import NearestNeighbour
    from counterpoise.methods.baselines.random_search import RandomSearch
    from counterpoise.methods.polish import Polished
    from counterpoise.methods.search import Search

    made: tuple[Method, ...] = (
        Polished(Search()),
        NearestNeighbour(),
        RandomSearch(),
        GrowingSpheres(),
        Lime(),
        Algorithm1(),
        GradientDescent(),
        Polished(Annealing()),
    )
    return dict(zip(METHOD_NAMES, made, strict=True))
