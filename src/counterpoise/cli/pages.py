"""counterpoise report and demo: pages and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterpoise.cli import options
from counterpoise.cli.demonstration import run_demo
from counterpoise.cli.endings import cut_short
from counterpoise.cli.tables import check_writable
from counterpoise.errors import InputError
from counterpoise.explanation import Explanation
from counterpoise.show.report import report as write_report


def report(
    saved: Annotated[str, typer.Argument(help="The JSON that `counterpoise explain --out x.json` or save() wrote.")],
    out: Annotated[str, typer.Option("--out", "-o", help="The page to write.")] = "report.html",
    title: Annotated[str, typer.Option("--title", help="Its title.")] = "Counterfactual report",
    redact: options.Redact = False,
) -> None:
    """A page with a summary and a card for each row, from a saved explanation.

    Example: counterpoise report alerts.json --out alerts.html --redact
    """
    check_writable(out)
    if not Path(saved).is_file():
        raise InputError("a report needs a saved explanation", f"there is no file {saved!r}", "correct the path")
    with cut_short():
        typer.echo(write_report(Explanation.load(saved), out, redact=redact, title=title))


def demo(
    out: Annotated[str, typer.Option("--out", "-o", help="The folder for the page and the picture.")] = "out",
) -> None:
    """A detector of attacks on simulated IoT devices, and what would have changed its mind.

    Example: counterpoise demo --out out
    """
    with cut_short():
        run_demo(Path(out))
