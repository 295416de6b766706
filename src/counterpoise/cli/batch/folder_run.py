"""explain --out FOLDER/: answers part by part, which a later run with --resume can go on from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from counterpoise.api.batch.workers import count_workers
from counterpoise.cli.batch.question import PreparedQuestion
from counterpoise.cli.batch.row_parts import iterate_parts, limit_parts
from counterpoise.cli.exit_codes import NO_ROWS, SIGNALS, ExitCode, print_to_stderr
from counterpoise.errors import InputError, Interrupted, ModelError
from counterpoise.scale.part_folder import FolderProgress, explain_to_folder
from counterpoise.scale.part_sizes import fit_to_memory
from counterpoise.scale.row_filter import RowFilter


def check_folder_options(given: Mapping[str, Any]) -> None:
    """Raise an error for options that do not go with a folder of parts."""
    options = {"budget": "--budget", "evidence": "--evidence", "redact": "--redact", "to": "--to"}
    options |= {"log_format": "--format", "mapping": "--mapping", "attack_table": "--attack-table"}
    for name, option in options.items():
        if given[name]:
            raise InputError(
                f"{option} does not go with a folder of parts", "both were given", "write one file, or leave it out"
            )
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
) -> int:
    """Write the answers to the rows of a file into a folder; gives the exit code."""
    part_rows = fit_to_memory(asked.explainer, memory, count_workers(asked.settings["n_jobs"]))
    row_filter = None if where is None else RowFilter(asked.explainer, where)

    def keep(part: pd.DataFrame) -> pd.DataFrame:
        return part if row_filter is None else part[row_filter(part)]

    parts = limit_parts(map(keep, iterate_parts(asked, rows, name, part_rows)), limit)
    done = FolderProgress()

    def tell(progress: FolderProgress) -> None:
        nonlocal done
        done = progress
        if not quiet:
            print_to_stderr(f"part {progress.parts}: {progress.rows} rows, {progress.answered} reach the target")

    try:
        done = explain_to_folder(
            asked.explainer, parts, Path(out), resume=resume, tell=tell, **asked.settings, progress=False
        )
    except (Interrupted, KeyboardInterrupt):
        print_to_stderr(f"counterpoise: interrupted; {done.parts} parts are finished; go on with --resume")
        return SIGNALS.exit_code
    except ModelError as error:
        print_to_stderr(f"counterpoise: {error}; {done.parts} parts are finished; go on with --resume")
        return ExitCode.STOPPED
    except OSError as error:
        print_to_stderr(
            f"counterpoise: the folder must be writable; {error.strerror or error}; {done.parts} parts are finished; "
            "make room, and go on with --resume"
        )
        return ExitCode.STOPPED
    if not quiet:
        before = f", {done.skipped} of {done.parts} parts were there" if done.skipped else ""
        rejected = f"; {done.rejected} rejected" if done.rejected else ""
        told = f"{done.answered} of {done.rows} rows reach the target{rejected}{before}"
        print_to_stderr(told if done.rows else NO_ROWS)
    return ExitCode.ALL_FOUND if done.answered == done.rows else ExitCode.NOT_ALL_FOUND
