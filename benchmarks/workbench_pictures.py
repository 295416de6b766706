"""The pictures of docs/workbench.md, taken anew from the demonstration's workbench.

python benchmarks/workbench_pictures.py

Needs a Chromium on the path and Pillow, which keeps the files small.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from counterpoise.cli.demo import open_workbench

FOLDER = Path(__file__).parents[1] / "docs" / "workbench"
WIDE, PHONE = {"width": 1300, "height": 760}, {"width": 390, "height": 760}
COMPLETE = "section.answer[data-stage=complete]"


def save(target: Any, name: str) -> None:
    """A screenshot of a page or a part of it, in few colours."""
    from PIL import Image

    path = FOLDER / f"{name}.png"
    target.screenshot(path=path)
    Image.open(path).convert("RGB").quantize(128).save(path, optimize=True)


def take_views(page: Any) -> None:
    """Every view of a desktop."""
    page.locator("#rows td", has_text="bounded").first.wait_for()  # rows are answered while nobody asks
    page.wait_for_timeout(4000)
    save(page, "list")
    page.click("#rows tbody tr:nth-child(1) button.open")
    page.wait_for_selector(COMPLETE)
    page.locator("#features thead", has_text="Firm answer").wait_for()
    save(page, "row")
    save(page.locator("section.editor"), "features")
    page.wait_for_selector("#picture svg")
    save(page.locator("section.see"), "way")
    for view, drawn in (("plane", "svg.plane"), ("ways", ".bars"), ("real", "#real")):
        page.click(f"#tab-{view}")
        page.wait_for_selector(drawn)
        save(page.locator("section.see"), view)
    page.click("#bookmark")
    with page.expect_response(lambda response: response.url.endswith("/api/firm")):
        page.locator("#features tr.changes [id^=lock-]").first.click()
    save(page.locator("section.answer"), "wish")
    page.click("#bookmark")
    page.check("#compare-0")
    page.check("#compare-1")
    save(page.locator("section.keep"), "keep")


def main() -> None:
    from playwright.sync_api import sync_playwright

    with open_workbench() as bench, sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        desktop = browser.new_context(viewport=WIDE, color_scheme="light")
        page = desktop.new_page()
        page.goto(bench.url)
        page.wait_for_selector("#rows tbody tr")
        take_views(page)
        phone = browser.new_context(viewport=PHONE, color_scheme="dark", storage_state=desktop.storage_state())
        page = phone.new_page()
        page.goto(f"http://127.0.0.1:{bench.port}/")
        page.click("#rows tbody tr:nth-child(1) button.open")
        page.wait_for_selector(COMPLETE)
        save(page, "phone")
        browser.close()


if __name__ == "__main__":
    main()
