"""The page of an ensemble: a table and four pictures a row, in one file."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from pathlib import Path
from typing import Any

from counterpoise.errors import MissingExtra
from counterpoise.explanation.cards.cards import CAUTION
from counterpoise.landscape.ensemble_result import Ensemble
from counterpoise.landscape.ensemble_words import count_ways
from counterpoise.landscape.row_ensemble import RowEnsemble
from counterpoise.show.figures.disconnectivity import disconnectivity
from counterpoise.show.figures.importance import importance
from counterpoise.show.figures.thermodynamics import thermodynamics
from counterpoise.show.figures.together import together
from counterpoise.show.templates import render_template

PICTURES = {
    "Ways out and the barriers between them": disconnectivity,
    "How often each feature changes": importance,
    "What the temperature does": thermodynamics,
    "What changes together": together,
}


def write_landscape_page(ensemble: Ensemble, path: str) -> str:
    """Write the page of an ensemble; gives the path back. The file needs nothing beside it."""
    title = "The landscape of " + ("a decision" if len(ensemble) == 1 else f"{len(ensemble)} decisions")
    page = render_template(
        "counterpoise.show",
        "landscape.html",
        title=title,
        lead="All the ways out that were sampled: what must change, what may, and how many separate ways there are.",
        caution=CAUTION,
        rows=[_describe_row(each) for each in ensemble],
    )
    Path(path).write_text(page, encoding="utf-8")
    return path


def _describe_row(ensemble: Ensemble) -> dict[str, Any]:
    """What the page shows of one row; a row without ways out has its notes alone."""
    row = ensemble.rows[0]
    sampled = row.draws is not None
    return {
        "title": f"Row {row.label}, to {row.target}",
        "ways": count_ways(row).capitalize() if sampled else "",
        "features": _list_features(row) if sampled else [],
        "notes": row.notes,
        "pictures": _draw_pictures(ensemble) if sampled else [],
    }


def _list_features(row: RowEnsemble) -> list[dict[str, str]]:
    table = row.importance()
    columns = (table[name] for name in ("feature", "p_change", "p_error", "role"))
    return [
        {"name": str(feature), "percent": f"{100 * share:.0f}", "share": f"{share:.2f} ± {error:.2f}", "role": role}
        for feature, share, error, role in zip(*columns, strict=True)
        if role != "idle"
    ]


def _draw_pictures(ensemble: Ensemble) -> list[dict[str, str]]:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("plots") from None
    pictures = []
    for title, draw in PICTURES.items():
        figure: Any = draw(ensemble).figure
        stored = BytesIO()
        figure.savefig(stored, format="png", dpi=130, bbox_inches="tight")
        pyplot.close(figure)
        pictures.append({"title": title, "data": b64encode(stored.getvalue()).decode("ascii")})
    return pictures
