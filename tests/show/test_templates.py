"""Pages from templates: one policy for escaping, held on a template that puts a value into every kind of place."""

import json
import re
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

import counterpoise
from counterpoise.show.templates import render_template

PACKAGE = Path(counterpoise.__file__).parent
TEMPLATES = sorted(PACKAGE.rglob("template/*.html"))


def _render_paper(text: str) -> str:
    section = {"name": "a", "title": text, "notes": [text], "alt_text": text, "surface_data": {"z": text}, "images": {}}
    section |= {"tables": [], "folded_tables": [], "settings": text, "seconds": "", "files": []}
    return render_template(
        "counterpoise.paper", "paper.html", title=text, command=text, about=text, links=[], sections=[section]
    )


@given(text=st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1) | st.just("</script><b a='\"'>&"))
def test_text_comes_out_as_it_went_in_and_is_never_markup(text: str) -> None:
    page = _render_paper(text)
    title = re.search(r"<title>(.*?)</title>", page, re.S)
    data = re.search(r'<script type="application/json" id="a-data">(.*?)</script>', page, re.S)
    assert title is not None
    assert unescape(title.group(1)) == text
    assert data is not None
    assert json.loads(data.group(1)) == {"z": text}
    assert page.count("<script") == _render_paper("x").count("<script")


def test_a_name_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="sections"):
        render_template("counterpoise.paper", "paper.html", title="", command="", about="", links=[])


def test_no_template_switches_escaping_off() -> None:
    assert {path.name for path in TEMPLATES} == {
        "base.html",
        "landscape.html",
        "paper.html",
        "report.html",
        "triage.html",
        "workbench.html",
    }
    assert [path.name for path in TEMPLATES if re.search(r"\|\s*safe|autoescape", path.read_text("utf-8"))] == []
