"""The triage page with 5,000 alerts, measured by the browser: how long it takes to open, and to follow a control.

python benchmarks/triage_page.py [--alerts 5000]

Writes its part of benchmarks/results/soc.md. Needs the table unsw_nb15 and a Chromium on the path. The alerts are
explained first (about a minute); a control is timed from its event to the new layout, by the browser's own clock.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from soc import raise_alerts, write_part
from tables import markdown

import counterpoise as cp

OPENED = "() => performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"  # the list is drawn by then
CLOCK = """async (repeats) => {
  const times = {};
  const tries = [["search", ["tcp", "tcp c1", ""]], ["class", ["1", "2", ""]], ["group", ["0", "1", ""]],
    ["kept", ["0-0.5", "0.9-1.1", ""]], ["probability", ["0-0.1", ""]], ["order", ["effort", "-kept", "place"]]];
  for (let round = 0; round < repeats; round++) for (const [id, values] of tries) for (const value of values) {
    const control = document.getElementById(id);
    const started = performance.now();
    control.value = value;
    control.dispatchEvent(new Event(id === "order" ? "change" : "input"));
    document.body.offsetHeight;
    (times[id] ||= []).push(performance.now() - started);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return times;
}"""


def measure_page(browser: Any, address: str, width: int, name: str, repeats: int) -> list[list[str]]:
    """Opening, five times, and every control, in a window of some width."""
    opened = []
    for _ in range(5):
        page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
        page.goto(address)
        page.wait_for_selector("tr.line")
        opened.append(page.evaluate(OPENED))
        last = page
    times = {"opens": opened, **last.evaluate(CLOCK, repeats)}
    return [
        [name, words, f"{np.median(each):.0f}", f"{max(each):.0f}", "3000" if words == "opens" else "200"]
        for words, each in times.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--alerts", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=10)
    given = parser.parse_args()
    from playwright.sync_api import sync_playwright

    explainer, rows, truth = raise_alerts("unsw_nb15", 0)
    found = cp.triage(explainer(rows[: given.alerts], target=0), truth[: given.alerts])
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        path = found.save(Path(folder) / "triage.html")
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        lines = [
            line
            for width, name in ((1300, "desktop"), (390, "phone"))
            for line in measure_page(browser, path.as_uri(), width, name, given.repeats)
        ]
        browser.close()
        size = path.stat().st_size / 2**20
    heads = ["window", "what", "median, ms", "slowest, ms", "asked, ms"]
    load = f"a load average of {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    words = f"`python benchmarks/triage_page.py`: {len(found.table)} alerts, {size:.1f} MiB; {load}."
    write_part("The triage page in a browser", [words, "", *markdown(heads, lines)])
    print(words, *lines, sep="\n")


if __name__ == "__main__":
    main()
