"""A report of 500 rows in a real browser: it sorts, filters and opens, quietly, and asks for nothing from outside."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from alerts import TRICK, many
from explanations import firmness

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FOUND = next(filter(None, map(shutil.which, NAMES)), None)

pytestmark = pytest.mark.skipif(
    FOUND is None, reason="no browser: the report is tested in Chromium where one is on the path"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api", reason="no playwright: it drives the browser")
    with sync.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=FOUND, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    explanation = many(500)
    firm = replace(explanation, firm=firmness(explanation.rows, 0.97), tipping=explanation)
    return cp.report(firm, tmp_path_factory.mktemp("report") / "page.html")


DESKTOP, PHONE = (1400, "light"), (390, "dark")
BOTH = pytest.mark.parametrize("page", [DESKTOP, PHONE], ids=["desktop", "phone"], indirect=True)


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Any, path: Path) -> Iterator[Any]:
    """The page, and afterwards the proof that it neither complained nor went anywhere."""
    width, scheme = getattr(request, "param", DESKTOP)
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(path.as_uri())
    yield opened
    assert said == []
    assert asked == [path.as_uri()]
    assert opened.title() == "Counterfactual report"
    context.close()


def _lines(page: Any) -> Any:
    return page.locator("tr.line:visible")


@BOTH
def test_nothing_is_wider_than_the_screen(page: Any) -> None:
    page.locator("#row-3 button.open").click()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_rows_are_found_by_words_status_and_feature(page: Any) -> None:
    assert _lines(page).count() == 500
    page.fill("#search", "host 123")
    assert _lines(page).all_inner_texts()[0].startswith("host 123")
    assert _lines(page).count() == 1
    page.fill("#search", "")
    page.select_option("#status", "not_found")
    assert _lines(page).count() == 10
    assert page.inner_text("#count") == "10 of 500 rows"
    page.select_option("#status", "")
    page.select_option("#feature", label=TRICK)
    assert 200 < _lines(page).count() <= 250


def test_rows_are_sorted_both_ways(page: Any) -> None:
    for order, reverse in (("distance", False), ("-distance", True)):
        page.select_option("#order", order)
        shown = [float(text) for text in page.locator("tr.line td.number:not([title])").all_inner_texts()]
        assert shown == sorted(shown, reverse=reverse)


@BOTH
def test_a_card_opens_and_closes(page: Any) -> None:
    assert page.locator("tr.card").count() == 0
    button = page.locator("#row-3 button.open")
    button.click()
    card = page.locator("tr.card")
    assert button.get_attribute("aria-expanded") == "true"
    for text in ("Tipping point", "Firm answer", "97 of 100 noisy copies", "held fixed", TRICK):
        assert text in card.inner_text()
    assert card.locator("svg").count() >= 2
    button.click()
    assert page.locator("tr.card").count() == 0


def test_an_open_card_stays_with_its_row_when_sorted_and_leaves_with_it_when_filtered(page: Any) -> None:
    page.locator("#row-3 button.open").click()
    page.select_option("#order", "-distance")
    assert page.evaluate("document.querySelector('#row-3').nextElementSibling.className") == "card"
    page.fill("#search", "host 44")
    assert page.locator("tr.card:visible").count() == 0


def test_all_cards_can_be_opened(page: Any) -> None:
    page.click("#all")
    assert page.locator("tr.card").count() == 500
    assert page.inner_text("#all") == "Close all"
    page.click("#all")
    assert page.locator("tr.card").count() == 0


def test_a_link_leads_to_a_card(page: Any) -> None:
    page.evaluate("location.hash = '#row-42'")
    page.wait_for_selector("tr.card")
    assert page.evaluate("document.querySelector('tr.card').previousElementSibling.id") == "row-42"


def test_row_and_answer_are_told_apart_on_a_heavy_tail(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"size": np.exp(rng.normal(2, 4, 600)).round(3), "name_without_an_end_in_sight": rng.normal(size=600)}
    )
    model = DecisionTreeClassifier(max_depth=1).fit(table[["size", "name_without_an_end_in_sight"]], table["size"] > 3)
    found = cp.explain(model, table[table["size"] < 1][:4], reference=table)
    opened = browser.new_page(viewport={"width": 390, "height": 900})
    opened.goto(cp.report(found, tmp_path / "tail.html").as_uri())
    opened.click("tr.line")
    places = opened.evaluate(
        "[...document.querySelectorAll('.lane')].map((lane) => ['.dot', '.diamond'].map((kind) => "
        "{ const box = lane.querySelector(kind).getBBox(); return box.x + box.width / 2; }))"
    )
    assert places
    assert all(abs(row - answer) >= 12 for row, answer in places), "of a picture 400 wide"
    assert "by rank" in opened.inner_text(".lane")
    names = opened.eval_on_selector_all(".evidence tbody th", "cells => cells.map((cell) => cell.offsetWidth)")
    assert min(names) >= 100, "a name is not broken letter by letter"
    opened.close()
