"""The row view in a notebook: the same page code as the workbench's, asked through the kernel instead of HTTP."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.errors import CounterpoiseError, InputError, MissingExtra
from counterpoise.explanation.question import Target
from counterpoise.web.question_thread import CANCELLED_BY, KINDS, RANKS, Precedence, QuestionThread
from counterpoise.web.questions import answer_question
from counterpoise.web.session import Session

MODULES = ("dom.js", "state.js", "editor.js", "see_panel.js", "keep_panel.js", "row_view.js", "widget.js")


def row_widget(
    explainer: Explainer,
    rows: pd.DataFrame,
    *,
    target: Target = "opposite",
    threshold: float | None = None,
    seed: int = 0,
) -> Any:
    """One row in a notebook, with everything that the workbench shows of it; needs the extra ``notebook``.

    explainer: the model with its reference and constraints.
    rows: a frame of one row.
    target, threshold, seed: as for the explainer's call.
    """
    try:
        import anywidget
        import traitlets
    except ImportError:
        raise MissingExtra("notebook") from None
    if not isinstance(rows, pd.DataFrame) or len(rows) != 1:
        raise InputError("the widget is of one row", f"{type(rows).__name__} of {len(rows)}", "give rows[:1], a frame")
    session = Session(explainer, rows, target=target, threshold=threshold, seed=seed)

    class RowWidget(anywidget.AnyWidget):
        """The row view."""

        _esm = join_modules()
        _css = (files("counterpoise.web") / "template" / "workbench.css").read_text(encoding="utf-8")
        setup = traitlets.Dict(session.describe()).tag(sync=True)

    widget = RowWidget()

    at_work: dict[str, QuestionThread] = {}
    precedence = Precedence()

    def receive(_: Any, message: Any, buffers: Any) -> None:
        kind = KINDS.get(message.get("what", ""), "") if isinstance(message, dict) else ""
        for other in CANCELLED_BY.get(kind, ()):
            if other in at_work:
                at_work.pop(other).cancel()

        def finish(found: Any, error: BaseException | None) -> None:
            widget.send(found if error is None else {"number": message["number"], "found": {"isCancelled": True}})

        thread = QuestionThread(lambda: _reply(session, message), finish, precedence, RANKS.get(kind, 0))
        if kind:
            at_work[kind] = thread

    widget.on_msg(receive)
    return widget


def join_modules() -> str:
    """The modules of the row view as one: their imports of each other are left out, their order stands for them."""
    folder = files("counterpoise.web") / "template"
    text = "\n".join((folder / name).read_text(encoding="utf-8") for name in MODULES)
    text = re.sub(r"^import .*;\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^export (?!default)", "", text, flags=re.MULTILINE)


def _reply(session: Session, message: Any) -> dict[str, Any]:
    """The answer to a message of the page, with its number; an error is a line that the page shows."""
    number = message.get("number") if isinstance(message, dict) else None
    try:
        return {"number": number, "found": answer_question(session, str(message["what"]), message.get("body", {}))}
    except CounterpoiseError as error:
        return {"number": number, "found": {"error": str(error)}}
    except Exception as error:  # what the user's model raises is shown in the widget
        return {"number": number, "found": {"error": f"{type(error).__name__}: {error}"}}
