"""Firm answers on the traffic tables: another question than the comparison's, at another price, judged apart."""

from __future__ import annotations

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.judge.scoring import AnswerScorer
from counterpoise.paper.claims.verdict import OURS, RIVALS, put_interval
from counterpoise.paper.paired import mean_difference, mean_ratio


def measure_firm_answers(explainer: Explainer, attacks: pd.DataFrame, noise: float) -> pd.DataFrame:
    """Answers that at least 90 % of noisy copies keep, judged as all others are; no budget, so in no other table."""
    judges = AnswerScorer.of(explainer, attacks, "benign", None, noise)
    found = explainer(attacks, target="benign", keep=0.9, noise=noise, seed=0)
    lines = judges.measure(np.where(found.valid[:, None], found.x, np.nan)).reset_index(drop=True)
    spent = {"seconds": found.seconds / len(attacks), "model_rows": found.model_rows / len(attacks)}
    return lines.assign(method="firm", seed=0, row=np.arange(len(lines)), budget="none", **spent)


def compare_firm_answers(hard: pd.DataFrame, lines: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, float]]:
    """Firm answers beside those of three methods within their seconds, on the rows that both turn."""
    budget = lines["budget"].iloc[-1]
    beside = pd.concat([hard, lines[(lines["budget"] == budget) & (lines["seed"] == 0)].assign(budget="none")])
    good = hard["valid"] & hard["feasible"]
    facts = {
        "firm turned": float(good.mean()),
        "firm kept": float(hard.loc[good, "robustness"].mean()),
        "firm rows": float(hard["model_rows"].mean()),
    }
    table = []
    for name in (OURS, *RIVALS):
        kept = mean_difference(beside, "robustness", "firm", name)
        line = {
            "firm answers against": name,
            "kept − its": kept.to_text("+.0%"),
            "L2 / its": mean_ratio(beside, "l2", "firm", name).to_text(".3g"),
        }
        table.append(line)
        facts |= put_interval(f"firm kept over {name}", kept)
    return pd.DataFrame(table), facts
