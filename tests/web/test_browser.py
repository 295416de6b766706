"""The workbench in a real browser, against the real server: every control, quietly, and nothing leaves the machine."""

import base64
import json
import shutil
from collections.abc import Iterator
from importlib.resources import files
from threading import Event
from typing import Any

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.web.widget import _reply, join_modules
from web.subjects import TRICK, detector, explainer, make_session

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FOUND = next(filter(None, map(shutil.which, NAMES)), None)

expect = pytest.importorskip("playwright.sync_api", reason="no playwright: it drives the browser").expect
pytestmark = pytest.mark.skipif(
    FOUND is None, reason="no browser: the workbench is tested in Chromium where one is on the path"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api", reason="no playwright: it drives the browser")
    with sync.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=FOUND, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


@pytest.fixture
def served() -> Iterator[Any]:
    with cp.workbench(explainer(), detector()[2], target="benign", title="Alerts") as page:
        yield page


@pytest.fixture
def page(request: pytest.FixtureRequest, browser: Any, served: Any) -> Iterator[Any]:
    """The page, and afterwards the proof that it neither complained nor went anywhere else."""
    width, scheme = getattr(request, "param", (1300, "light"))
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True)
    opened = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(served.url)
    opened.wait_for_selector("#rows tbody tr")
    yield opened
    assert said == []
    assert all(url.startswith((f"http://127.0.0.1:{served.port}/", "blob:", "data:")) for url in asked)
    assert opened.title() == "Alerts"
    context.close()


BOTH = pytest.mark.parametrize("page", [(1300, "light"), (390, "dark")], ids=["desktop", "phone"], indirect=True)


def open_row(page: Any, number: int = 1) -> None:
    page.click(f"#rows tbody tr:nth-child({number}) button.open")
    page.wait_for_selector("section.answer[data-stage=complete]")
    page.wait_for_selector("#picture svg")


def answer_after(page: Any, act: Any) -> dict[str, Any]:
    """The complete answer that an act on the page asks for, once the page shows it."""
    with page.expect_response(lambda response: response.url.endswith("/api/complete")) as found:
        act()
    page.locator("section.answer[data-stage=complete]").wait_for()
    return dict(found.value.json())


@BOTH
def test_every_view_is_accessible_and_fits(page: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for view in ("list", "way", "plane", "ways", "real"):
        if view == "way":
            open_row(page)
        elif view != "list":
            page.click(f"#tab-{view}")
            page.wait_for_selector({"plane": "svg.plane", "ways": ".bars", "real": "#real"}[view])
        found = axe.run(page).response["violations"]
        assert [(each["id"], each["nodes"][0]["html"]) for each in found] == [], view
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("page", [(390, "dark")], ids=["phone"], indirect=True)
def test_a_list_with_answers_fits_a_telephone(page: Any) -> None:
    page.locator("#rows td", has_text="optimal").nth(11).wait_for()  # the menu of groups holds long texts by then
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_nothing_overflows_at_twice_the_size(page: Any) -> None:
    page.set_viewport_size({"width": 650, "height": 450})  # what a desktop of 1300 pixels has at 200 %
    for act in (lambda: None, lambda: open_row(page), lambda: page.click("#tab-plane")):
        act()
        assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_the_list_finds_and_sorts(page: Any) -> None:
    expect(page.locator("#rows tbody tr")).to_have_count(12)
    page.fill("#search", "dev7")
    expect(page.locator("#rows tbody tr")).to_have_count(1)
    page.fill("#search", "")
    expect(page.locator("#rows tbody tr")).to_have_count(12)
    page.click("#rows thead button:has-text('Effort')")
    page.wait_for_selector("#rows th[aria-sort=ascending] >> text=Effort")
    page.click("#rows thead button:has-text('Effort')")
    page.wait_for_selector("#rows th[aria-sort=descending] >> text=Effort")
    page.select_option("#filter-verdict", "alert")
    expect(page.locator("#rows tbody tr")).to_have_count(12)


def test_the_list_is_filtered_by_what_rows_were_answered(page: Any) -> None:
    page.locator("#rows td", has_text="optimal").nth(11).wait_for()  # answered while nobody asked anything
    page.select_option("#filter-status", "optimal")
    group = page.locator("#rows tbody tr").first.locator("td").nth(5).inner_text()
    page.select_option("#filter-way", group)
    page.wait_for_function(
        "group => [...document.querySelectorAll('#rows tbody tr')].every(row => row.children[6].innerText === group)",
        arg=group,
    )


def test_a_long_list_has_pages(browser: Any) -> None:
    many = pd.concat([detector()[2]] * 11, ignore_index=True)
    with cp.workbench(explainer(), many, target="benign") as bench:
        page = browser.new_context().new_page()
        page.goto(bench.url)
        expect(page.locator("#rows tbody tr")).to_have_count(100)
        page.click("text=Later rows")
        expect(page.locator("#rows tbody tr")).to_have_count(32)
        page.click("text=Earlier rows")
        expect(page.locator("#rows tbody tr")).to_have_count(100)
        page.context.close()


def test_an_edit_changes_the_verdict_and_can_be_undone(page: Any) -> None:
    open_row(page)
    assert "alert" in page.inner_text("#verdict")
    page.click("#features thead button.put")
    page.locator("#verdict", has_text="benign").wait_for()
    page.click("#undo")
    page.locator("#verdict", has_text="says alert").wait_for()
    page.click("#redo")
    page.locator("#verdict", has_text="is reached").wait_for()
    page.click("#reset")
    page.locator("#verdict", has_text="The model says alert").wait_for()
    column = explainer().schema.names.index("latency")
    page.fill(f"#edit-{column}", "1000000")
    page.wait_for_selector("#verdict .broken")
    page.select_option(f"#edit-{explainer().schema.names.index('maker')}", index=1)
    page.locator("#verdict", has_text="With your").wait_for()
    assert "turns at 50%" in (page.locator(".dial").get_attribute("aria-label") or "")


def test_a_firm_answer_and_alternatives_stand_beside_the_tipping_point(page: Any) -> None:
    open_row(page)
    page.locator("#features thead", has_text="Firm answer (90%)").wait_for()
    heads = page.locator("#features thead th").all_inner_texts()
    assert any(head.startswith("Tipping point") for head in heads)
    assert any(head.startswith("Alternative 1") for head in heads)
    for column in range(page.locator("#features .put:not(.mark)").count()):
        page.locator("#features .put:not(.mark)").nth(column).click()
        page.locator("#verdict", has_text="is reached").wait_for()
        page.click("#reset")
        page.locator("#verdict", has_text="The model says alert").wait_for()
    page.click("[aria-label^='bookmark: Firm answer']")
    assert "Firm answer" in page.inner_text(".bookmarks")


def test_wishes_bring_another_answer_at_once(page: Any) -> None:
    open_row(page)
    first = page.evaluate("document.querySelector('#answer-text').innerText")
    lock = page.locator("#features tr.changes [id^=lock-]").first
    locked = int((lock.get_attribute("id") or "")[5:])
    found = answer_after(page, lock.click)
    assert all(locked not in each["changed"] for each in found["answers"])
    assert page.inner_text("#answer-text") != first
    found = answer_after(page, lambda: page.locator(f"#lock-{locked}").click())
    assert page.inner_text("#answer-text") == first
    column = found["answers"][0]["changed"][0]
    own = json.loads(page.evaluate(f"document.querySelector('#edit-{column}').value"))
    page.click(f"#more-{column} summary")
    half = (own + found["answers"][0]["cells"][column]) / 2
    place = 0 if half < own else 1
    ranged = answer_after(page, lambda: (page.fill(f"#range-{place}-{column}", str(half)), page.keyboard.press("Tab")))
    assert all(
        (each["cells"][column] >= half) == (place == 0) or each["cells"][column] == half for each in ranged["answers"]
    )
    assert "than the one before" in page.inner_text("#beside")
    assert "without your wishes it was" in page.inner_text("#beside")
    assert page.inner_text("#proof") == ranged["proof"]
    answer_after(page, lambda: page.click("#forget"))
    dearer = answer_after(page, lambda: page.select_option(f"#price-{column}", "harder"))
    assert dearer["answers"][0]["effort"] > found["answers"][0]["effort"]
    easier = answer_after(page, lambda: page.select_option(f"#price-{column}", "easier"))
    assert easier["answers"][0]["effort"] < found["answers"][0]["effort"]
    answer_after(page, lambda: page.click("#undo"))
    answer_after(page, lambda: page.click("#forget"))
    excluded = answer_after(page, lambda: page.locator(f"#more-{column} .exclude").first.click())
    assert excluded["answers"][0]["cells"][column] != found["answers"][0]["cells"][column]
    answer_after(page, lambda: page.click("#forget"))
    few = answer_after(page, lambda: (page.fill("#max-changes", "1"), page.keyboard.press("Tab")))
    assert all(len(each["changed"]) <= 1 for each in few["answers"])
    answer_after(page, lambda: page.click("#forget"))
    firm = answer_after(
        page, lambda: page.locator("#keep").evaluate("s => { s.value = 80; s.dispatchEvent(new Event('change')); }")
    )
    assert firm["tipping"] is not None
    assert "Firm answer" in page.inner_text("#features thead")


def test_the_state_survives_a_reload_without_the_token(page: Any) -> None:
    open_row(page, 2)
    answer_after(page, lambda: page.locator("#features tr.changes [id^=lock-]").first.click())
    page.click("#bookmark")
    page.fill("#note-0", "ask the owner")
    page.keyboard.press("Tab")
    told, address = page.inner_text("#answer-text"), page.url
    assert "token" not in address
    page.reload()
    page.wait_for_selector("section.answer[data-stage=complete]")
    assert page.inner_text("#answer-text") == told
    assert page.input_value("#note-0") == "ask the owner"


def test_two_bookmarks_side_by_side(page: Any) -> None:
    open_row(page)
    page.click("#bookmark")
    answer_after(page, lambda: page.locator("#features tr.changes [id^=lock-]").first.click())
    page.click("#bookmark")
    page.check("#compare-0")
    page.check("#compare-1")
    assert page.locator("#comparison tbody tr").count() >= 3
    page.locator(".bookmarks .put").first.click()
    page.locator("#verdict", has_text="is reached").wait_for()
    page.click("[aria-label='Remove bookmark 2']")
    expect(page.locator(".bookmarks li")).to_have_count(1)


@pytest.mark.parametrize("kind", ["report", "ticket", "json", "receipt"])
def test_files_of_an_answer(page: Any, kind: str, tmp_path: Any) -> None:
    open_row(page)
    with page.expect_download() as found:
        page.click(f"#export-{kind}")
    found.value.save_as(tmp_path / "file")
    text = (tmp_path / "file").read_text(encoding="utf-8")
    model, train, _ = detector()
    assert len(text) > 200
    if kind == "receipt":
        assert cp.check_receipt(text, model, reference=train).holds


def test_the_pictures_move_the_point(page: Any) -> None:
    open_row(page)
    assert "noisy copies" in page.inner_text("#undone")
    page.click("#tab-plane")
    page.wait_for_selector("svg.plane")
    page.focus("#drag")
    page.keyboard.press("ArrowLeft")
    page.locator("#verdict", has_text="edit").wait_for()
    box = page.locator("#drag").bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] - 60, box["y"] + 30)
    page.mouse.up()
    page.locator("#verdict", has_text="2 edits").wait_for()
    first = page.input_value("#axis-0")
    page.select_option("#axis-0", index=4)
    expect(page.locator("#axis-0")).not_to_have_value(first)
    second = page.input_value("#axis-1")
    page.select_option("#axis-1", index=5)
    expect(page.locator("#axis-1")).not_to_have_value(second)
    page.click("#tab-ways")
    page.wait_for_selector(".basin")
    page.locator(".basin").first.click()
    page.locator("#verdict", has_text="is reached").wait_for()
    page.click("#tab-real")
    assert "away" in page.inner_text("#real")


def test_two_pages_do_not_disturb_each_other(page: Any) -> None:
    other = page.context.new_page()
    other.goto(page.url)
    other.wait_for_selector("#rows tbody tr")
    open_row(page, 1)
    open_row(other, 2)
    answer_after(page, lambda: page.locator("#features tr.changes [id^=lock-]").first.click())
    assert "Row" in other.inner_text("h1")
    assert page.inner_text("h1") != other.inner_text("h1")
    assert not other.locator("[aria-pressed=true]").count()


def test_it_works_by_keyboard_alone(page: Any) -> None:
    """Nothing is pointed at: the focus goes where Tab and the arrows take it."""

    def reach(selector: str) -> None:
        for _ in range(200):
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                return
            page.keyboard.press("Tab")
        raise AssertionError(f"Tab does not reach {selector}")

    reach("button.open")
    page.keyboard.press("Enter")
    page.wait_for_selector("section.answer[data-stage=complete]")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    reach("#keep")
    answer_after(page, lambda: page.keyboard.press("End"))
    assert page.evaluate("document.activeElement.id") == "keep"
    reach("[id^=lock-]")
    answer_after(page, lambda: page.keyboard.press("Space"))
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    reach("#tab-way")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("svg.plane")
    assert page.evaluate("document.activeElement.id") == "tab-plane"
    reach("#drag")
    page.keyboard.press("ArrowUp")
    page.locator("#verdict", has_text="With your").wait_for()
    reach("#bookmark")
    page.keyboard.press("Enter")
    expect(page.locator(".bookmarks li")).to_have_count(1)


def test_a_rejected_row_says_why_and_leads_back(browser: Any) -> None:
    rows = detector()[2].astype({"latency": object})
    rows.iloc[3, rows.columns.get_loc("latency")] = "slow"
    with cp.workbench(explainer(), rows, target="benign") as bench:
        page = browser.new_context().new_page()
        page.goto(bench.url)
        page.click("#rows tbody tr:nth-child(4) button.open")
        page.locator("[role=alert]", has_text="slow").wait_for()
        page.click("text=All rows")
        expect(page.locator("#rows tbody tr")).to_have_count(12)
        assert page.locator("[role=alert]").is_hidden()
        open_row(page)
        page.context.close()


def test_hostile_names_and_labels_do_nothing_but_show(browser: Any) -> None:
    train = pd.DataFrame({TRICK: [0.1, 0.2, 0.8, 0.9], "</script><b>": [1.0, 2.0, 3.0, 4.0]})
    model = LogisticRegression().fit(train, ["fine", "fine", TRICK, TRICK])
    rows = train[2:].set_index(pd.Index([TRICK, "'; DROP TABLE rows"]))
    with cp.workbench(cp.Explainer(model, reference=train), rows, title=TRICK) as bench:
        page = browser.new_context().new_page()
        said: list[str] = []
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda message: said.append(message.text))
        page.goto(bench.url)
        page.wait_for_selector("#rows tbody tr")
        open_row(page)
        assert TRICK in page.inner_text("h1")
        assert TRICK in page.inner_text("#features")
        assert not page.locator("main img").count()
        assert said == []
        page.context.close()


def test_a_model_that_raises_is_said_and_the_page_goes_on(browser: Any) -> None:
    train = pd.DataFrame({"load": [0.1, 0.2, 0.7, 0.9], "ports": [1, 2, 3, 4]})
    good = LogisticRegression().fit(train, [0, 0, 1, 1])
    fails = Event()

    def scores(rows: pd.DataFrame) -> Any:
        if fails.is_set():
            raise RuntimeError("the accelerator is on fire")
        return good.predict_proba(rows)

    with cp.workbench(cp.Explainer(cp.Function(scores, labels=(0, 1)), reference=train), train[2:]) as bench:
        page = browser.new_context().new_page()
        page.goto(bench.url)
        page.wait_for_selector("#rows tbody tr")
        open_row(page)
        fails.set()
        page.fill("#edit-0", "0.3")
        page.locator("[role=alert]", has_text="on fire").wait_for()
        fails.clear()
        page.fill("#edit-0", "0.2")
        page.locator("#verdict", has_text="With your edit").wait_for()
        assert page.locator("[role=alert]").is_hidden()
        page.context.close()


def test_the_notebooks_row_view_is_drawn_by_its_one_module(browser: Any) -> None:
    """The module of the widget, given a kernel that is this process: the messages are the widget's own."""
    session = make_session()
    page = browser.new_context().new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.expose_function("askKernel", lambda message: _reply(session, message))
    page.set_content("<div id=cell></div>")
    code = base64.b64encode(join_modules().encode()).decode()
    page.evaluate(
        """async ([code, setup]) => {
          const widget = (await import("data:text/javascript;base64," + code)).default;
          let receive = null;
          const model = {
            get: () => setup, off: () => {}, on: (_, listener) => { receive = listener; },
            send: async (message) => receive(await window.askKernel(message)),
          };
          widget.render({ model, el: document.getElementById("cell") });
        }""",
        [code, session.describe()],
    )
    page.wait_for_selector("section.answer[data-stage=complete]")
    page.wait_for_selector("#picture svg")
    page.locator("#features .put").first.click()
    page.locator("#verdict", has_text="is reached").wait_for()
    assert not page.locator("button.back").count()
    assert said == []
    page.context.close()
    session.close()


def test_all_of_the_page_is_small() -> None:
    folder = files("counterpoise.web") / "template"
    assert sum(len(file.read_bytes()) for file in folder.iterdir()) < 300_000
