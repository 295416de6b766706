"""The table of claims: each with what was measured, and a verdict on the paper's method and on ours."""

from __future__ import annotations

import pandas as pd

from counterpoise.paper.claims.cost import judge_cost
from counterpoise.paper.claims.landscape import judge_basins, judge_figures, judge_minima
from counterpoise.paper.claims.methods import best_form, judge_boundary, judge_nearness, judge_qualities, judge_runs
from counterpoise.paper.claims.verdict import OURS, VERDICTS, Claim, Facts
from counterpoise.paper.exhibit import Exhibit, RunSize

PAPER_COLUMN = "the paper's method"


def judge_claims(facts: Facts) -> list[Claim]:
    """The claims, in the order of the page."""
    landscape, methods = (judge_figures, judge_minima, judge_basins), (judge_runs, judge_boundary, judge_nearness)
    parts = (*landscape, *methods, judge_qualities, judge_cost)
    return [claim for judge in parts for claim in judge(facts)]


def build_claims(facts: Facts, scale: RunSize) -> Exhibit:
    """The claims as a table."""
    names = {"paper": PAPER_COLUMN, "ours": OURS, "place": "in the paper"}
    found = pd.DataFrame(judge_claims(facts)).rename(columns=names)
    found = found[[PAPER_COLUMN, OURS, "claim", "measured", "in the paper", "shown"]]
    counts = "; ".join(
        f"{column}: " + ", ".join(f"“{word}” {(found[column] == word).sum()}" for word in VERDICTS)
        for column in (PAPER_COLUMN, OURS)
    )
    return Exhibit(
        "claims",
        "Claims",
        (
            f"Each claim of the paper in our words, what this run measured, and what follows. Verdicts on {counts}.",
            (
                "The paper's method is Algorithm 1: as printed, corrected, and Langevin, with the noise and the rising "
                "β that the text speaks of. On the traffic tables it is judged by the form that turns most rows, here "
                f"“{best_form(facts)}”; the numbers of all three are in the tables. Counterpoise is this project's "
                "default search, which minimises an energy and is not the paper's method; a dash: the claim is not "
                "about it. “Cannot be judged”: the paper leaves open what decides it (f, score, data, model), or the "
                "interval leaves both."
            ),
        ),
        "verdicts are computed from the numbers of this page by the rules in counterpoise.paper.claims"
        + ("; the quick form measures little, so that a verdict near its limit may turn" if scale.quick else ""),
        tables={"Verdicts": found},
    )
