"""The questions that a page asks, by name: the same over HTTP and in a notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from counterpoise.errors import InputError
from counterpoise.explanation.cards.cards import CAUTION
from counterpoise.explanation.explanation import Explanation
from counterpoise.judge.receipt import write_receipt
from counterpoise.security.findings.ticket import escape_markdown
from counterpoise.show.report import render_page
from counterpoise.web.pictures import map_plane, sample_ways, trace_way
from counterpoise.web.session import STAGES, Session, Stage
from counterpoise.web.wishes import Wishes

SHOWN_SETTINGS = ("target", "threshold", "keep", "noise", "constraints", "relations")
"""What a reader of a ticket needs to know of the question; the report and the receipt have all of it."""


def write_ticket(explanation: Explanation, note: str = "") -> str:
    """A ticket: what the model said, what would have turned it, the cells side by side, and a person's own note."""
    label, decision = str(explanation.rows.index[0]), str(explanation.scores["before"].iloc[0])
    settings = {name: text for name, text in explanation.settings.items() if name in SHOWN_SETTINGS}
    parts = [
        f"# Row {escape_markdown(label)}: {escape_markdown(decision)}",
        escape_markdown(explanation.text()),
        explanation.to_markdown(),
        f"Note: {escape_markdown(note)}" if note else "",
        escape_markdown("; ".join(f"{name}: {text}" for name, text in settings.items() if text != "none")),
        f"_{CAUTION}_",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


Body = Mapping[str, Any]


def answer_question(session: Session, what: str, body: Any) -> dict[str, Any]:
    """What the page draws of a question; a name that is none, or a body of another form, is refused.

    what: "setup", "list", "row", "verdict", "answer", "complete", "firm", "way", "plane", "ways" or "export".
    body: its arguments: ``place`` (of the row), ``wishes``, ``stage`` ("first" or "complete"), ``cells``, ``columns``,
        ``kind``, ``note``.
    """
    if not isinstance(body, Mapping):
        raise InputError("a question must be an object", f"{type(body).__name__}", "reload the page")
    questions: dict[str, Callable[[], dict[str, Any]]] = {
        "setup": session.describe,
        "list": lambda: session.list_rows(body),
        "row": lambda: session.open_row(_read_place(body)),
        "verdict": lambda: session.judge_cells(_read_place(body), _read(body, "cells", Mapping, {})),
        "answer": lambda: session.answer(_read_place(body), _read_wishes(body), "first"),
        "complete": lambda: session.answer(_read_place(body), _read_wishes(body), "complete"),
        "firm": lambda: session.answer(_read_place(body), session.make_firm(_read_wishes(body)), "first"),
        "way": lambda: trace_way(session, _read_place(body), _read_wishes(body), _read_stage(body)),
        "plane": lambda: map_plane(
            session, _read_place(body), _read_wishes(body), _read_stage(body), _read(body, "columns", list, [])
        ),
        "ways": lambda: sample_ways(session, _read_place(body), _read_wishes(body)),
        "export": lambda: _export(session, body),
    }
    if what not in questions:
        raise InputError(f"a question must be one of {', '.join(questions)}", f"{what!r}", "reload the page")
    return questions[what]()


def _export(session: Session, body: Body) -> dict[str, Any]:
    """A file of an answer, its name and its text: the report, a ticket, the explanation, or a receipt."""
    place, kind = _read_place(body), str(body.get("kind", ""))
    found = session.explain(place, _read_wishes(body))
    makers: dict[str, Callable[[], tuple[str, str]]] = {
        "report": lambda: (".html", render_page(found)),
        "ticket": lambda: (".md", write_ticket(found, str(body.get("note", "")))),
        "json": lambda: (".json", found.to_json()),
        "receipt": lambda: ("-receipt.json", write_receipt(found)),
    }
    if kind not in makers:
        raise InputError(f"an export must be one of {', '.join(makers)}", f"{kind!r}", "choose one")
    ending, text = makers[kind]()
    return {"name": f"row-{place}{ending}", "text": text}


def _read_place(body: Body) -> int:
    place = body.get("place")
    if not isinstance(place, int) or isinstance(place, bool):
        raise InputError("a question must name its row", f"{place!r}", "send its place in the list")
    return place


def _read_wishes(body: Body) -> Wishes:
    return Wishes.read(body.get("wishes", {}))


def _read_stage(body: Body) -> Stage:
    stage = body.get("stage", "complete")
    for known in STAGES:
        if stage == known:
            return known
    raise InputError(f"a stage must be one of {', '.join(STAGES)}", f"{stage!r}", "reload the page")


def _read(body: Body, name: str, kind: type, default: Any) -> Any:
    value = body.get(name, default)
    if not isinstance(value, kind):
        raise InputError(f"{name} must be a {kind.__name__}", f"{value!r}", "reload the page")
    return value
