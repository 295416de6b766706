"""counterpoise explain: rows in, answers out, in whatever form the next reader needs."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, TextIO

import pandas as pd
import typer
from rich.console import Console

from counterpoise.api.explainer import Explainer
from counterpoise.cli import options
from counterpoise.cli.endings import FOUND, INTERRUPTED, NOT_ALL, STOPPED, cut_short, say
from counterpoise.cli.results import tabulate, write_lines
from counterpoise.cli.tables import STANDARD, check_writable, ending_of, named_by, read_table, without, write_table
from counterpoise.errors import CounterpoiseError, InputError, Interrupted, ModelError
from counterpoise.explanation import Explanation
from counterpoise.show.cards import CAUTION, build_cards
from counterpoise.show.report import report
from counterpoise.show.terminal import draw_card, write_card

LINES = (".ndjson", ".jsonl")
ENDINGS = (".html", ".json", ".csv", ".parquet", *LINES)
AT_ONCE = 64  # rows worked on together when each is written as soon as it is finished


def explain(
    model: options.Model,
    data: options.Data,
    rows: options.Rows,
    target: options.Target = "opposite",
    threshold: options.Threshold = None,
    schema: options.File = None,
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
    label: options.Label = None,
    name: Annotated[str | None, typer.Option("--id", help="The column of the rows that names them.")] = None,
    fixed: options.Fixed = None,
    increasing: options.Rising = None,
    decreasing: options.Falling = None,
    max_changes: options.Most = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", help="Where to: .html, .json, .csv, .parquet or .ndjson; - for NDJSON lines."),
    ] = None,
    redact: options.Redact = False,
    trust: options.Trust = False,
    factory: options.Factory = None,
) -> None:
    """The least change that would have given each row another decision.

    Example: counterpoise explain -m detector.skops -d train.csv -l label -r alerts.csv -t benign -o alerts.html

    Columns of the rows that the data does not have, such as ids and times, are carried through. Without --out the
    answers are shown as cards, or as plain text where the output is not a terminal.
    """
    ending = _ending(out, redact=redact)
    with cut_short():
        reference = without(read_table(data, "--data"), label, "--data")
        table = named_by(read_table(rows, "--rows"), name)
        features, words = options.given(schema, reference, options.words(fixed, increasing, decreasing, max_changes))
        fitted = options.load_model(model, trust=trust, factory=factory)
        explainer = Explainer(fitted, reference=reference, schema=features, constraints=words)
        asked = {
            "target": options.parse_target(target, explainer.model.labels),
            "threshold": threshold,
            "keep": keep,
            "noise": options.parse_noise(noise),
            "distance": distance,
            "alternatives": alternatives,
            "seed": seed,
        }
        size = AT_ONCE if ending in LINES else len(table)
        run = Run(explainer, table, asked, budget, size)
        with _writing(out, ending) as stream:
            for part in run:
                _put(part, out, ending, stream, redact=redact)
    raise typer.Exit(run.finish())


class Run:
    """The rows in parts; what is finished comes out even where the run is stopped, and the reason is kept."""

    def __init__(
        self, explainer: Explainer, table: pd.DataFrame, asked: dict[str, Any], budget: float | None, size: int
    ) -> None:
        self.explainer, self.table, self.asked, self.size = explainer, table, asked, size
        self.ends = None if budget is None else time.monotonic() + budget
        self.done = self.valid = 0
        self.error: CounterpoiseError | None = None

    def __iter__(self) -> Iterator[Explanation]:
        for start in range(0, len(self.table), self.size):
            left = None if self.ends is None else max(0.0, self.ends - time.monotonic())
            try:
                part = self.explainer(self.table.iloc[start : start + self.size], budget=left, **self.asked)
            except (Interrupted, ModelError) as error:
                if error.partial is None and not self.done:
                    raise
                self.error = error
                if error.partial is not None and len(error.partial):
                    yield self._count(error.partial)
                return
            yield self._count(part)

    def _count(self, part: Explanation) -> Explanation:
        self.done += len(part)
        self.valid += int(part.valid.sum())
        return part

    def finish(self) -> int:
        """Say how it went, on standard error; the exit code."""
        if self.error is not None:
            where = " and are in the output" if self.done else "; nothing was written"
            why = "interrupted" if isinstance(self.error, Interrupted) else str(self.error)
            say(f"counterpoise: {why}; {self.done} of {len(self.table)} rows were finished{where}")
            return INTERRUPTED if isinstance(self.error, Interrupted) else STOPPED
        say(f"{self.valid} of {self.done} rows reach the target")
        return FOUND if self.valid == self.done else NOT_ALL


def _ending(out: str | None, *, redact: bool) -> str:
    """What to write: the ending of the path, ".ndjson" for "-", or nothing for cards; checked before any work."""
    if out is None:
        return ""
    ending = ".ndjson" if out == STANDARD else ending_of(out, ENDINGS, "--out")
    if out != STANDARD:
        check_writable(out)
    if redact and ending not in (".html", *LINES):
        raise InputError(
            "--redact goes with a report, with NDJSON and with cards",
            f"{out!r} is made of values",
            "write .html or .ndjson, or leave --redact out",
        )
    return ending


def _writing(out: str | None, ending: str) -> AbstractContextManager[TextIO]:
    if ending in LINES and out is not None and out != STANDARD:
        return open(out, "w", encoding="utf-8")
    return nullcontext(sys.stdout)


def _put(part: Explanation, out: str | None, ending: str, stream: TextIO, *, redact: bool) -> None:
    if ending in LINES:
        for line in write_lines(part, redact=redact):
            stream.write(line + "\n")
        stream.flush()
    elif ending == "" or out is None:
        _show(part, redact=redact)
    elif ending == ".html":
        report(part, out, redact=redact)
    else:
        writers: dict[str, Callable[[], None]] = {
            ".json": lambda: part.save(out),
            ".csv": lambda: write_table(tabulate(part), out, ending),
            ".parquet": lambda: write_table(tabulate(part), out, ending),
        }
        writers[ending]()


def _show(part: Explanation, *, redact: bool) -> None:
    cards = build_cards(part, redact=redact)
    if not sys.stdout.isatty():
        sys.stdout.write("\n\n".join(map(write_card, cards)) + f"\n\n{CAUTION}\n")
        sys.stdout.flush()
        return
    console = Console(highlight=False)
    held = [f"{part.schema[name].title} ({why})" for name, why in part.held.items()]
    for card in cards:
        console.print(draw_card(card, held))
    console.print(CAUTION, style="dim", markup=False)
