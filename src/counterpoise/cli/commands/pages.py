"""counterpoise report, paper and demo: pages and pictures."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from counterpoise.cli import options
from counterpoise.cli.commands.serve import serve_until_interrupted
from counterpoise.cli.exit_codes import exit_when_cut_short
from counterpoise.errors import InputError, MissingExtra


def report(
    saved: Annotated[
        str, typer.Argument(help="A saved explanation: what `counterpoise explain --out x.json` or save() wrote.")
    ],
    out: Annotated[str, typer.Option("--out", "-o", help="The page to write.")] = "report.html",
    title: Annotated[str, typer.Option("--title", help="Its title.")] = "Counterfactual report",
    redact: options.RedactOption = False,
) -> None:
    """A page with a summary and a card for each row, from a saved explanation.

    Example: counterpoise report alerts.json --out alerts.html --redact
    """
    from counterpoise.cli.batch.output_places import check_files_differ, check_writable
    from counterpoise.explanation.explanation import Explanation
    from counterpoise.show.report import report as write_report

    check_writable(out)
    check_files_differ({"--out": out}, {"the explanation": saved})
    if not Path(saved).is_file():
        raise InputError("a report needs a saved explanation", f"there is no file {saved!r}", "correct the path")
    with exit_when_cut_short():
        typer.echo(write_report(Explanation.load(saved), out, redact=redact, title=title))


def paper(
    out: Annotated[str, typer.Option("--out", "-o", help="The folder for the page, its images and data.")] = "paper",
    quick: Annotated[bool, typer.Option("--quick", help="Measure less: a minute or two, not some 25.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same numbers.")] = 0,
    rows: Annotated[
        int | None, typer.Option("--rows", help="Rows of each traffic table that are compared (20; quick: 4).")
    ] = None,
) -> None:
    """Every figure and table of the paper, made by this code, beside what the paper claims.

    Example: counterpoise paper --quick --out paper
    """
    if find_spec("matplotlib") is None:
        raise MissingExtra("plots")
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from counterpoise.cli.batch.output_places import make_folder
    from counterpoise.paper import write

    place = make_folder(out)

    columns = (TextColumn("{task.description:22}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with exit_when_cut_short(), Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=None)

        def tell(done: int, total: int, name: str) -> None:
            bar.update(task, completed=done, total=total, description=name)

        page = write(place, quick=quick, progress=tell, seed=seed, rows=rows)
    typer.echo(page)


def demo(
    out: Annotated[str, typer.Option("--out", "-o", help="The folder for the page and the picture.")] = "out",
    serve: Annotated[bool, typer.Option("--serve", help="Open the workbench on the alerts instead.")] = False,
    port: Annotated[int, typer.Option("--port", help="For --serve: where, on this machine; 0: a free one.")] = 0,
) -> None:
    """A detector of attacks on simulated IoT devices, and what would change its decisions.

    Example: counterpoise demo --out out
    """
    from counterpoise.cli.batch.output_places import make_folder
    from counterpoise.cli.demo import open_workbench, run_demo

    if serve:
        serve_until_interrupted(open_workbench(port))
        return
    place = make_folder(out)
    with exit_when_cut_short():
        run_demo(place)
