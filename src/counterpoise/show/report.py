"""Report: one HTML file about an explanation that needs nothing but a browser."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from counterpoise.errors import InputError, name_kind
from counterpoise.explanation.cards.cards import build_cards
from counterpoise.explanation.explanation import Explanation
from counterpoise.landscape.ensemble_result import Ensemble
from counterpoise.landscape.ensemble_words import describe_ways
from counterpoise.show.overview import Overview, build_overview
from counterpoise.show.page import compose_page


def report(
    explanation: Explanation | Ensemble, path: str | Path, *, redact: bool = False, title: str = "Counterfactual report"
) -> Path:
    """Write the explanation as one HTML file, with a summary and a card for each row; gives the file's path.

    explanation: what explain returns; of an Ensemble its answers, with the number of separate ways out on each card.
    path: the file to write.
    redact: leave values out, see below; False by default.
    title: the heading of the page.

    The file loads nothing from anywhere. ``redact`` leaves out the values of features, here and in the data inside the
    file, and keeps their names and the direction of each change: the answer for an attack is also a recipe for evasion.

    >>> import pandas as pd, tempfile
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = report(explain(model, train, reference=train), folder + "/page.html")
    ...     page.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    if not isinstance(explanation, Explanation | Ensemble):
        raise InputError(
            "a report is of an Explanation or an Ensemble",
            f"{name_kind(explanation)} was given",
            "give what explain returns",
        )
    target = Path(path)
    text = render_page(explanation, redact=redact, title=title)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(
            "a report needs a file that can be written",
            f"{target}: {error.strerror or error}",
            "give a path in a folder that exists and is yours",
        ) from error
    return target


def render_page(
    explanation: Explanation | Ensemble,
    *,
    redact: bool = False,
    title: str = "Counterfactual report",
    seen: Overview | None = None,
    listed: str = "",
) -> str:
    """The page itself, as text.

    ``seen`` is the summary of more rows than those of the explanation, and ``listed`` says which of them those are.
    """
    ways: list[list[str]] = []
    if isinstance(explanation, Ensemble):
        ways, explanation = [describe_ways(row) for row in explanation.rows], explanation.explanation
    cards = build_cards(explanation, redact=redact)
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    seen = build_overview(explanation) if seen is None else seen
    return compose_page(explanation, cards, seen, title=title, written=written, redact=redact, ways=ways, listed=listed)
