"""The page of an ensemble: a card and four pictures a row, in one file."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any

from counterpoise.errors import MissingExtra
from counterpoise.landscape.ensemble_result import Ensemble
from counterpoise.landscape.ensemble_words import ensemble_card
from counterpoise.show.figures.disconnectivity import disconnectivity
from counterpoise.show.figures.importance import importance
from counterpoise.show.figures.thermodynamics import thermodynamics
from counterpoise.show.figures.together import together

PICTURES = {
    "Ways out and the barriers between them": disconnectivity,
    "How often each feature changes": importance,
    "What the temperature does": thermodynamics,
    "What changes together": together,
}


def write_landscape_page(ensemble: Ensemble, path: str) -> str:
    """Write the page of an ensemble; gives the path back. The file needs nothing beside it."""
    rows = "\n".join(_describe_row(each) for each in ensemble)
    what = "a decision" if len(ensemble) == 1 else f"{len(ensemble)} decisions"
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>The landscape of a decision</title>'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">"
        "<style>body{font-family:sans-serif;max-width:1100px;margin:24px auto;padding:0 16px}"
        "figure{display:inline-block;vertical-align:top;margin:8px}img{max-width:100%}</style></head><body>"
        f"<h1>The landscape of {what}</h1>\n{rows}</body></html>"
    )
    Path(path).write_text(page, encoding="utf-8")
    return path


def _describe_row(ensemble: Ensemble) -> str:
    """The card of one row and its pictures; a row without ways out has the card alone."""
    row = ensemble.rows[0]
    card = ensemble_card(row)
    if row.draws is None:
        return card
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("plots") from None
    pictures = []
    for title, draw in PICTURES.items():
        figure: Any = draw(ensemble).figure
        stored = BytesIO()
        figure.savefig(stored, format="png", dpi=110, bbox_inches="tight")
        pyplot.close(figure)
        said = b64encode(stored.getvalue()).decode("ascii")
        image = f'<img alt="{escape(title)}" src="data:image/png;base64,{said}" width="500">'
        pictures.append(f"<figure><figcaption>{escape(title)}</figcaption>{image}</figure>")
    return card + "".join(pictures)
