"""How quickly the workbench answers, measured by the browser: an edit, a lock, a firm answer, a list of many rows.

python benchmarks/workbench.py [--rows 1000000] [--repeats 40] [--part row list]

Writes benchmarks/results/workbench.md, where both parts are measured. Each server is `counterpoise serve` in a process
of its own, on files, as a user starts it. Needs the table unsw_nb15 and a Chromium on the path.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import skops.io
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

import counterpoise as cp
from counterpoise.web.questions import answer_question
from counterpoise.web.session import Session

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("COUNTERPOISE_DATA", ROOT.parent / "shared" / "data"))
SETTLED_SECONDS = 8.0  # the page is left alone for so long, as by a person who reads the list; the server warms up
CLOCK = """async ([path, bodies, isBusy]) => {
  const times = [];
  for (const [number, body] of bodies.entries()) {
    const other = {page: `other ${number % 2}`, place: body.place, wishes: {max_changes: 4 + number}};
    if (isBusy) {
      fetch("/api/complete", {method: "POST", body: JSON.stringify(other)});
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const started = performance.now();
    const response = await fetch(path, {method: "POST", body: JSON.stringify({page: "clock", ...body})});
    const found = await response.json();
    times.push(performance.now() - started);
    if (found.error || found.isCancelled) throw new Error(JSON.stringify(found));
    const proof = {method: "POST", body: JSON.stringify({page: "clock", ...body})};
    if (path === "/api/answer") fetch("/api/complete", proof);
  }
  return times;
}"""


def load() -> tuple[pd.DataFrame, pd.Series[Any]]:
    table = pd.read_csv(DATA / "unsw_nb15.csv.gz", keep_default_na=False)
    label = table["target"].map({0: "benign", 1: "attack"})
    return table.drop(columns=["label", "target"]).select_dtypes("number"), label


@contextmanager
def serve(folder: Path, model: str, rows: str) -> Iterator[tuple[str, Path]]:
    """The address of a workbench that another process serves, and where the system tells about that process."""
    command = [sys.executable, "-m", "counterpoise", "serve", "-m", f"{model}.skops", "-d", "train.csv", "-r", rows]
    process = subprocess.Popen([*command, "-t", "benign"], cwd=folder, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), Path("/proc") / str(process.pid) / "status"
    finally:
        process.terminate()
        process.wait()


def open_page(browser: Any, address: str) -> Any:
    page = browser.new_context().new_page()
    page.goto(address)
    page.wait_for_selector("#rows tbody tr")
    page.wait_for_timeout(1000 * SETTLED_SECONDS)
    return page


def measure(page: Any, path: str, bodies: list[dict[str, Any]], *, is_busy: bool = False) -> str:
    """Median and 95th percentile; ``is_busy``: while proofs that two other pages asked for are at work."""
    times = page.evaluate(CLOCK, [path, bodies, is_busy])
    return f"{np.median(times):.0f} | {np.quantile(times, 0.95):.0f}"


def measure_row(page: Any, name: str, session: Session, repeats: int) -> list[str]:
    """An edit, a lock and the slider, each on rows drawn anew; a proof follows every answer, as on the page."""
    rng = np.random.default_rng(0)
    places = rng.integers(0, len(session), repeats).tolist()
    edits = [{"place": place, "cells": {"0": float(rng.random())}} for place in places]
    locks = [{"place": place, "wishes": {"locked": [int(rng.integers(0, 30))]}} for place in places]
    firm = [{"place": place, "wishes": {"keep": 0.9}} for place in places]
    asks = (
        ("edit to verdict", "verdict", edits, "50"),
        ("lock to verified answer", "answer", locks, "200"),
        ("slider to firm answer", "answer", firm, "500"),
        ("the proof of an answer, afterwards", "complete", locks[:3], ""),
    )
    lines = [
        f"| {name} | edit to verdict beside proofs | {measure(page, '/api/verdict', edits, is_busy=True)} | | | 50 |"
    ]
    for words, what, bodies, asked in asks:
        wall, cpu = measure(page, f"/api/{what}", bodies), measure_cpu(session, what, bodies)
        lines.append(f"| {name} | {words} | {wall} | {cpu} | {asked} |")
    return lines


def measure_cpu(session: Session, what: str, bodies: list[dict[str, Any]]) -> str:
    """The same questions, each alone in this process, by the processor's clock: what an idle machine would need."""
    answer_question(session, what, bodies[-1])
    times = []
    for body in bodies[:-1]:
        started = process_time()
        answer_question(session, what, body)
        times.append(1000 * (process_time() - started))
    return f"{np.median(times):.0f} | {np.quantile(times, 0.95):.0f}"


def measure_list(browser: Any, folder: Path, rows: int, lines: list[str]) -> str:
    """Lines about a list of many rows, put below the others, and a sentence about the memory that it takes.

    The first filter of all is a line of its own: rows have been answered ahead by then, and nothing was asked before.
    """
    with serve(folder, "boosted", "many.csv") as (address, status):
        page = open_page(browser, address)
        asks: dict[str, dict[str, Any]] = {
            "filtered by verdict": {"equal": {"verdict": "attack"}},
            "searched by words": {"search": "9999"},
            "sorted by probability": {"sort": "probability", "descending": True},
            "searched and sorted": {"search": "9999", "sort": "probability"},
            "filtered and sorted": {"equal": {"verdict": "attack"}, "sort": "probability"},
        }
        first = page.evaluate(CLOCK, ["/api/list", [asks["filtered by verdict"]], False])
        lines.append(f"| list of {rows:,} rows | the first filter | {first[0]:.0f} | | | | 300 |")
        for words, body in asks.items():
            times = []
            for _ in range(10):
                page.wait_for_timeout(200)  # a person does not ask at once
                times += page.evaluate(CLOCK, ["/api/list", [body], False])
            told = f"{np.median(times):.0f} | {np.quantile(times, 0.95):.0f}"
            lines.append(f"| list of {rows:,} rows | {words} | {told} | | | 300 |")
        page.wait_for_timeout(1000 * SETTLED_SECONDS)  # rows are answered again
        again = page.evaluate(CLOCK, ["/api/list", [asks["filtered by verdict"]], False])
        lines.append(f"| list of {rows:,} rows | a filter after more rows were answered | {again[0]:.0f} | | | | 300 |")
        held, peak = read_memory(status, "VmRSS"), read_memory(status, "VmHWM")
    return (
        f"Memory of the server with {rows:,} rows: {held:.2f} GiB held, {peak:.2f} GiB at most, while it read the file "
        "(asked: 1 GiB)."
    )


def read_memory(status: Path, name: str) -> float:
    """GiB that the system says of a process."""
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--part", nargs="+", choices=("row", "list"), default=["row", "list"])
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    lines = [
        "| model | what | wall median | wall p95 | CPU median | CPU p95 | asked, p95 |",
        "|---|---|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        train, label = load()
        models = {
            "boosted": HistGradientBoostingClassifier(random_state=0).fit(train, label),
            "forest": RandomForestClassifier(100, random_state=0).fit(train, label),
        }
        for file, model in models.items():
            skops.io.dump(model, folder / f"{file}.skops")
        train.to_csv(folder / "train.csv", index=False)
        alerts = train[(label == "attack").to_numpy()].head(200)
        alerts.to_csv(folder / "alerts.csv", index=False)
        many = np.random.default_rng(0).integers(0, len(train), given.rows)
        train.iloc[many].to_csv(folder / "many.csv", index=False)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        subjects = (("boosted", "boosted trees"), ("forest", "forest of 100"))
        for file, words in subjects if "row" in given.part else ():
            session = Session(cp.Explainer(models[file], reference=train), alerts, target="benign")
            with serve(folder, file, "alerts.csv") as (address, _):
                lines += measure_row(open_page(browser, address), words, session, given.repeats)
            session.close()
        memory = measure_list(browser, folder, given.rows, lines) if "list" in given.part else ""
        browser.close()
    text = "\n".join(
        [
            "# The workbench, measured by the browser",
            "",
            f"`python benchmarks/workbench.py --rows {given.rows} --repeats {given.repeats}`: unsw_nb15, numbers only;",
            "`counterpoise serve` in a process of its own; the wall clock of a request in Chromium, so that what else",
            f"the machine did shows: a load average of {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the end.",
            "Milliseconds. CPU: the same questions, each alone in one process, by the processor's clock.",
            "An answer is asked for while the proof of the one before is still at work, which the question calls off.",
            "",
            *lines,
            "",
            memory,
            "",
        ]
    )
    if len(given.part) == 2:
        (ROOT / "benchmarks" / "results" / "workbench.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
