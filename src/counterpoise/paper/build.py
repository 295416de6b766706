"""write(): measure every exhibit, one after the other, and put page, images and data into a folder."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from counterpoise.errors import InputError
from counterpoise.paper.exhibit import Exhibit, RunSize
from counterpoise.paper.exhibits import (
    basins,
    claims,
    figure1_surface,
    figure2_convergence,
    figure3_sensitivity,
    figure5_boundary,
    figure6_complexity,
    local_minima,
    real_data,
    table1_devices,
)
from counterpoise.paper.exhibits.choices import build_choices
from counterpoise.paper.exhibits.table2 import build_table_two
from counterpoise.paper.page import compose_paper, to_png

ProgressCallback = Callable[[int, int, str], None]
"""Called with (parts done, parts in all, what comes next)."""

PAGE_FILE = "paper.html"
Exhibits = Exhibit | tuple[Exhibit, ...]
EXHIBIT_MEASURES: tuple[tuple[str, Callable[[RunSize], Exhibits]], ...] = (
    ("Figure 1", figure1_surface.measure),
    ("Figure 2", figure2_convergence.measure),
    ("Figure 3", figure3_sensitivity.measure),
    ("local minima", local_minima.measure),
    ("basins", basins.measure),
    ("Table I and Figure 4", table1_devices.measure),
    ("Figure 5", figure5_boundary.measure),
    ("Figure 6", figure6_complexity.measure),
    ("the comparison", real_data.measure),
)
EXHIBIT_ORDER = (
    *("claims", "figure-1", "figure-2", "figure-3", "local-minima", "basins", "table-1"),
    *("figure-4", "figure-5", "figure-6", "table-2", "comparison", "choices"),
)


def write(
    folder: str | Path,
    quick: bool = False,
    progress: ProgressCallback | None = None,
    seed: int = 0,
    rows: int | None = None,
) -> Path:
    """Make every figure and table of the paper into ``folder``; returns the page, paper.html.

    folder: where the page, its images and its data go; it is made where it does not exist.
    quick: measure less, in a minute or two instead of some 25.
    progress: called with the parts done, the parts in all and the name of the next.
    seed: a whole number; it changes the simulated devices, the weights w and every search.
    rows: how many of each traffic table are compared; None: 20, quick 4.
    """
    _check_number("seed", seed, 0)
    if rows is not None:
        _check_number("rows", rows, 1)
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    began, began_cpu = time.perf_counter(), time.process_time()
    exhibits = _measure_exhibits(RunSize(quick, seed, rows), progress)
    words = (["--quick"] if quick else []) + [f"--seed {seed}"] + ([f"--rows {rows}"] if rows else [])
    command = f"counterpoise paper {' '.join(words)} --out DIR"
    about = (
        f"{datetime.now(UTC):%Y-%m-%d}, counterpoise {version('counterpoise')}, Python {platform.python_version()}, "
        f"{os.cpu_count()} cores, seed {seed}, {'quick' if quick else 'full'} form, {time.perf_counter() - began:.0f} "
        f"s in all, {time.process_time() - began_cpu:.0f} s of processor time."
    )
    shown = [exhibits[name] for name in EXHIBIT_ORDER]
    for exhibit in shown:
        _save_exhibit(exhibit, place)
    page = place / PAGE_FILE
    page.write_text(compose_paper(shown, command, about), encoding="utf-8")
    if progress is not None:
        progress(len(EXHIBIT_MEASURES), len(EXHIBIT_MEASURES), "the page")
    return page


def _check_number(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{name} must be a whole number of at least {least}", f"{value!r}", f"for instance {least}")


def _measure_exhibits(size: RunSize, progress: ProgressCallback | None) -> dict[str, Exhibit]:
    """Every exhibit by its name, the claims last: they rest on the facts of all others."""
    exhibits: dict[str, Exhibit] = {}
    for number, (name, measure) in enumerate(EXHIBIT_MEASURES):
        report = _make_reporter(progress, number)
        report(name)
        started = time.process_time()
        made = measure(replace(size, report_progress=report))
        took = time.process_time() - started
        for exhibit in made if isinstance(made, tuple) else (made,):
            exhibits[exhibit.name] = replace(exhibit, seconds=took)
    facts = {key: value for exhibit in exhibits.values() for key, value in exhibit.facts.items()}
    for exhibit in (build_table_two(facts), claims.build_claims(facts, size), build_choices()):
        exhibits[exhibit.name] = exhibit
    return exhibits


def _make_reporter(progress: ProgressCallback | None, number: int) -> Callable[[str], None]:
    """What a part calls with the name of what it is at."""
    return lambda name: None if progress is None else progress(number, len(EXHIBIT_MEASURES), name)


def _save_exhibit(exhibit: Exhibit, place: Path) -> None:
    """Images and data of one exhibit, as files."""
    for name, figure in exhibit.panels.items():
        (place / f"{exhibit.name}-{name}.png").write_bytes(to_png(figure))
    for name, table in exhibit.data.items():
        table.to_csv(place / f"{exhibit.name}-{name}.csv", index=False)
    for number, table in enumerate(exhibit.tables.values(), 1):
        table.to_csv(place / f"{exhibit.name}-table-{number}.csv", index=False)
