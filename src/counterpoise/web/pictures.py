"""What the page's pictures are drawn from: the way to an answer, a plane of two features, all the ways out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from counterpoise.errors import InputError
from counterpoise.explanation.tables import differs
from counterpoise.landscape.ensemble import ensemble
from counterpoise.landscape.plane import landscape
from counterpoise.landscape.profile import profile
from counterpoise.web.row_data import describe_point, list_numbers, number_or_none
from counterpoise.web.session import Session, Stage
from counterpoise.web.wishes import Wishes


def trace_way(session: Session, place: int, wishes: Wishes, stage: Stage) -> dict[str, Any]:
    """The probability on the way from a row to its answer and beyond, and what noise leaves of it."""
    explainer, settings = session.explainer, session.settings
    seen = profile(
        session.explain(place, wishes, stage),
        explainer.model,
        size=settings.way_points,
        noise="auto",
        copies=settings.way_copies,
        reference=explainer.reference,
    )
    return {
        "t": list_numbers(seen.t),
        "probability": list_numbers(seen.probability),
        "kept": list_numbers(seen.kept),
        "reached": number_or_none(seen.t_reached),
        "lost": number_or_none(seen.t_lost),
        "noise": seen.noise,
        "target": seen.target,
    }


def map_plane(session: Session, place: int, wishes: Wishes, stage: Stage, columns: Sequence[Any]) -> dict[str, Any]:
    """The probability of the target over two features, all others as in the answer; margins where there is none."""
    schema = session.explainer.schema
    names = [schema.features[session.check_column(int(column))].name for column in columns]
    found = session.explain(place, wishes, stage)
    seen = landscape(found, session.explainer.model, names, size=session.settings.plane_points)
    has_probability = not np.isnan(seen.probability).all()
    return {
        "x": list_numbers(seen.x),
        "y": list_numbers(seen.y),
        "heights": [list_numbers(line) for line in (seen.probability if has_probability else seen.margin)],
        "isProbability": has_probability,
        "isReached": (seen.margin >= 0).tolist(),
        "start": list_numbers(seen.start),
        "answer": list_numbers(seen.answer),
        "note": seen.note,
    }


def sample_ways(session: Session, place: int, wishes: Wishes) -> dict[str, Any]:
    """The ensemble of all ways out: how often each feature changes, the basins, and the barriers between them."""
    if wishes.keep is not None:
        raise InputError("all ways out are of the least change", "keep was asked for", "set the slider to nothing")
    found = ensemble(
        session.constrain(wishes),
        session.rows.iloc[[session.check_place(place)]],
        target=session.target,
        threshold=session.threshold,
        samples=session.settings.samples,
        budget=session.settings.sample_seconds,
        seed=session.seed,
    )
    row, schema = found.get_row(), session.explainer.schema
    assert row.basins is not None
    minima = row.basins.x

    def describe_basin(line: dict[Any, Any]) -> dict[str, Any]:
        x = minima[line["basin"]]
        changed = np.flatnonzero(differs(row.x0[None], x[None, None])[0, 0])
        return {
            **describe_point(session.explainer, x),
            "basin": line["basin"],
            "changes": ", ".join(schema.features[column].title for column in changed),
            "isValid": bool(line["valid"]),
            **{name: number_or_none(line[name]) for name in ("effort", "weight", "kept")},
        }

    return {
        "isConverged": bool(found.diagnostics["converged"].iloc[0]),
        "importance": [
            {
                "feature": schema[line["feature"]].title,
                "share": line["p_change"],
                "error": line["p_error"],
                "role": line["role"],
            }
            for line in found.importance.to_dict("records")
            if line["p_change"] > 0
        ],
        "basins": [describe_basin(line) for line in found.basins.to_dict("records")],
        "barriers": [
            {"basin": line["basin"], "other": line["other"], "barrier": number_or_none(line["barrier"])}
            for line in found.barriers.to_dict("records")
        ],
    }
