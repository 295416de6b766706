"""The report is one file that loads nothing, escapes everything, and leaves out what it is told to."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import counterpoise as cp
from alerts import TRICK, explained, many
from counterpoise.show.report import render_page
from explanations import firmness


class Page(HTMLParser):
    """What a browser would make of a page: its tags, and the data in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data: dict = {}
        self.feed(text)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        if tag == "script" and attributes.get("id") == "data" and not self.data:
            self.data = json.loads(data)


def test_a_page_loads_nothing() -> None:
    page = Page(render_page(many(20)))
    for tag, attributes in page.tags:
        assert tag not in {"iframe", "object", "embed", "base", "form"}
        for name in ("src", "action", "data", "srcset"):
            assert name not in attributes, (tag, attributes)
        assert (attributes.get("href") or "data:,").startswith(("data:", "#"))
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")


@pytest.mark.parametrize("redact", [False, True])
def test_names_and_values_never_become_markup(redact: bool) -> None:
    text = render_page(many(20), redact=redact, title=TRICK)
    page = Page(text)
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "img" not in {tag for tag, _ in page.tags}
    assert page.data["features"][1]["title"] == TRICK
    assert page.data["rows"][3]["carried"] == ([] if redact else [["ticket", TRICK]])


def test_the_data_holds_every_row_in_order() -> None:
    explanation = many(60)
    page = Page(render_page(explanation))
    assert [row["row"] for row in page.data["rows"]] == explanation.rows.index.tolist()
    assert [row["status"] for row in page.data["rows"]] == explanation.status.tolist()
    lines = [attributes for tag, attributes in page.tags if tag == "tr" and "data-place" in attributes]
    assert len(lines) == 60


def test_a_redacted_page_holds_no_value() -> None:
    explanation = many(30)
    rows = explanation.rows.assign(load=[98765.43 + row for row in range(30)])
    x0, answers = explanation.x0.copy(), explanation.answers.copy()
    x0[:, 0], answers[:, :, 0] = rows["load"], 43219.87
    loud = replace(explanation, rows=rows, x0=x0, answers=answers, tipping=replace(explanation, rows=rows, x0=x0))
    for text, there in ((render_page(loud), True), (render_page(loud, redact=True), False)):
        assert ("98765.43" in text) is there
        assert ("43219.87" in text) is there
        assert ("123456" in text) is there  # of a constraint
        assert ("tcp" in text) is there
        assert ("lower load" in text) is not there


def test_the_firm_answer_and_the_tipping_point_are_both_there() -> None:
    explanation = explained()
    firm = replace(explanation, firm=firmness(explanation.rows, 0.97), tipping=explanation)
    rows = Page(render_page(firm)).data["rows"]
    assert all(row["tipping"]["changes"] == row["best"]["changes"] for row in rows)
    assert all(row["firmness"].startswith("97 of 100") for row in rows)
    assert all(row["tipping"] is None for row in Page(render_page(explanation)).data["rows"])


def test_a_report_says_how_to_repeat_it(tmp_path: Path) -> None:
    text = cp.report(explained(), tmp_path / "page.html").read_text(encoding="utf-8")
    for name in ("seed", "method", "versions", "model"):
        assert f"<dt>{name}</dt>" in text
    assert re.search(r"<dt>written</dt><dd>\d{4}-\d\d-\d\d", text)


def test_no_rows_make_a_page_too() -> None:
    assert "No rows were explained." in render_page(explained()[:0])


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(cp.InputError, match="a report needs a file that can be written"):
        cp.report(explained(), tmp_path / "nowhere" / "page.html")


def test_only_an_explanation_can_be_reported(tmp_path: Path) -> None:
    with pytest.raises(cp.InputError, match="a report is of an Explanation or an Ensemble; a DataFrame was given"):
        cp.report(explained().frame, tmp_path / "page.html")  # type: ignore[arg-type]


def test_evidence_is_in_the_page_and_not_in_a_redacted_one() -> None:
    plain, redacted = (Page(render_page(explained(), redact=redact)).data["rows"] for redact in (False, True))
    assert all(len(row["evidence"]["distances"]) == 3 for row in plain)
    assert all(len(line) == 6 for row in plain for line in row["evidence"]["lines"])
    assert all(row["evidence"] == {"distances": [], "lines": []} for row in redacted)
