"""explain --out FOLDER/: answers part by part, which a later run with --resume can go on from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoise.api.batch.workers import count_workers
from counterpoise.cli.batch.output_places import check_files_differ, check_writable
from counterpoise.cli.batch.question import PreparedQuestion
from counterpoise.cli.batch.row_parts import iterate_parts, limit_parts
from counterpoise.cli.exit_codes import NO_ROWS, SIGNALS, ExitCode, print_to_stderr
from counterpoise.cli.table_files import ending_of
from counterpoise.errors import InputError, Interrupted, ModelError
from counterpoise.scale.answer_table import explain_rows
from counterpoise.scale.folder_report import ChosenRows, report_folder
from counterpoise.scale.part_folder import FolderProgress, explain_to_folder
from counterpoise.scale.part_sizes import fit_to_memory
from counterpoise.scale.row_filter import RowFilter
from counterpoise.space.schema.tables_in import quote_names


@dataclass(frozen=True)
class FolderPage:
    """The page about a folder: where it is written, and the names of the rows that have a card."""

    path: str
    names: tuple[str, ...] = ()
    most_cards: int = 100  # of a sample, where no names are given

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise an error, before any work, where the page cannot be written, or is in the way of something else."""
        ending_of(self.path, (".html",), "--report")
        check_writable(self.path, "--report")
        read = {
            "--model": given["model"],
            "--data": given["data"],
            "--rows": given["rows"],
            "--schema": given["schema"],
        }
        check_files_differ({"--report": self.path}, read)
        if Path(self.path).resolve().parent == Path(given["out"]).resolve():
            raise InputError(
                "--report must name a file outside of the folder of parts",
                f"{self.path!r}, which pandas and Spark would read as one of them",
                "write it beside the folder",
            )


def check_folder_options(given: Mapping[str, Any]) -> None:
    """Raise an error for options that do not go with a folder of parts."""
    options = {"budget": "--budget", "evidence": "--evidence", "redact": "--redact", "to": "--to"}
    options |= {"log_format": "--format", "mapping": "--mapping", "attack_table": "--attack-table"}
    for name, option in options.items():
        if given[name]:
            raise InputError(
                f"{option} does not go with a folder of parts", "both were given", "write one file, or leave it out"
            )
    if given["card"] and given["report"] is None:
        raise InputError("--card goes with --report", "there is no --report", "for instance --report night.html")
    if given["report"] is not None:
        FolderPage(given["report"]).check(given)
    if given["rows"] == "-":
        raise InputError("a folder of parts is made of a file", "--rows is -", "give a file, or write NDJSON")


def run_into_folder(
    asked: PreparedQuestion,
    rows: str,
    out: str,
    *,
    name: str | None,
    where: str | None,
    limit: int | None,
    resume: bool,
    memory: int | None,
    quiet: bool,
    strict: bool,
    page: FolderPage | None = None,
) -> int:
    """Write the answers to the rows of a file into a folder, and a page about it; gives the exit code."""
    part_rows = fit_to_memory(asked.explainer, memory, count_workers(asked.settings["n_jobs"]))
    parts = _read_parts(asked, rows, name, where, limit, part_rows)
    chosen = None if page is None else ChosenRows(page.most_cards, page.names)
    done, written = FolderProgress(), "the folder"

    def tell(progress: FolderProgress) -> None:
        nonlocal done
        done = progress
        if not quiet:
            print_to_stderr(f"part {progress.parts}: {progress.rows} rows, {progress.answered} reach the target")

    try:
        done = explain_to_folder(
            asked.explainer,
            _look_at(chosen, parts),
            Path(out),
            resume=resume,
            tell=tell,
            **asked.settings,
            progress=False,
        )
        if page is not None and chosen is not None:
            written = "the page"
            _write_page(asked, chosen, out, page)
    except (Interrupted, KeyboardInterrupt):
        print_to_stderr(f"counterpoise: interrupted; {done.parts} parts are finished; go on with --resume")
        return SIGNALS.exit_code
    except ModelError as error:
        print_to_stderr(f"counterpoise: {error}; {done.parts} parts are finished; go on with --resume")
        return ExitCode.STOPPED
    except OSError as error:
        print_to_stderr(
            f"counterpoise: {written} must be writable; {error.strerror or error}; {done.parts} parts are finished; "
            "make room, and go on with --resume"
        )
        return ExitCode.STOPPED
    absent = [] if chosen is None else chosen.absent
    if not quiet:
        print_to_stderr(_summarize(done))
    if absent:
        print_to_stderr(f"counterpoise: the page has no card of {quote_names(absent)}: no row has that name")
    enough = done.firm if strict else done.answered
    return ExitCode.ALL_FOUND if enough == done.rows and not absent else ExitCode.NOT_ALL_FOUND


def _read_parts(
    asked: PreparedQuestion, rows: str, name: str | None, where: str | None, limit: int | None, part_rows: int
) -> Iterator[pd.DataFrame]:
    """The rows of a file that the rule ``where`` holds for, at most ``limit``, part by part."""
    row_filter = None if where is None else RowFilter(asked.explainer, where)  # a wrong rule is told before all else
    parts = iterate_parts(asked, rows, name, part_rows)
    return limit_parts((part if row_filter is None else part[row_filter(part)] for part in parts), limit)


def _summarize(done: FolderProgress) -> str:
    """How a run went, in a line."""
    before = f", {done.skipped} of {done.parts} parts were there" if done.skipped else ""
    rejected = f"; {done.rejected} rejected" if done.rejected else ""
    return f"{done.answered} of {done.rows} rows reach the target{rejected}{before}" if done.rows else NO_ROWS


def _look_at(chosen: ChosenRows | None, parts: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    """The parts as they are; the rows that are to have a card are kept as they go by."""
    first = 0
    for part in parts:
        if chosen is not None:
            chosen.add(part, first)
        first += len(part)
        yield part


def _write_page(prepared: PreparedQuestion, chosen: ChosenRows, out: str, page: FolderPage) -> None:
    """Write the page about a folder; the rows that have a card are asked again, which gives the same answers."""
    frame = chosen.frame if len(chosen.frame.columns) else pd.DataFrame(columns=list(prepared.explainer.schema.names))
    report_folder(out, explain_rows(prepared.explainer, frame, **prepared.settings, progress=False), page.path)
