"""Real data: the same comparison on tables of network traffic, under one budget of model rows and one of seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.judge.compare import compare, mean_by_method
from counterpoise.methods.base import Method
from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.methods.baselines.growing_spheres import GrowingSpheres
from counterpoise.methods.baselines.lime import Lime
from counterpoise.methods.baselines.nearest import NearestNeighbour
from counterpoise.methods.baselines.random_search import RandomSearch
from counterpoise.methods.polish import Polished
from counterpoise.methods.search import Search
from counterpoise.paper.claims.verdict import OURS, PAPER_FORMS, RIVALS, put_interval
from counterpoise.paper.datasets import FOLDER_VARIABLE, TABLE_NAMES, fit_model, load_table
from counterpoise.paper.exhibit import Exhibit, RunSize
from counterpoise.paper.exhibits.figure5_boundary import RESTARTED_GRADIENT
from counterpoise.paper.exhibits.firm_answers import compare_firm_answers, measure_firm_answers
from counterpoise.paper.paired import mean_difference, mean_ratio, success_share_difference
from counterpoise.space.constraints.words import Immutable

LIME = Lime()
METHODS: dict[str, Method] = {  # each ends by itself: what starts over until its budget ends would measure the budget
    PAPER_FORMS[0]: Algorithm1.literal(alpha=0.01, c2=np.inf),
    PAPER_FORMS[1]: Algorithm1(),
    PAPER_FORMS[2]: Algorithm1(langevin=True),
    OURS: Polished(Search()),
    "LIME": LIME,
    "Gradient": RESTARTED_GRADIENT,
    "Growing spheres": GrowingSpheres(),
    "Nearest neighbour": NearestNeighbour(),
    "Random search": RandomSearch(),
}


@dataclass(frozen=True)
class ComparisonSettings:
    """How methods are compared on real data."""

    seeds: tuple[int, ...] = (0, 1, 2)  # each method runs once with each
    noise_sigma: float = 0.05  # standard deviations of the noise that answers are tried with
    min_share_turned: float = 0.5  # a method that turns fewer of the rows cannot be the best of a column


COMPARISON = ComparisonSettings()
SHOWN_METRICS = {
    "validity": "valid",
    "l2": "L2",
    "over_seeds": "± seeds",
    "l2_shared": "L2, shared rows",
    "l2_to_best": "L2 / best",
    "l0": "changed",
    "redundancy": "redundant",
    "robustness": "kept",
    "ynn": "yNN",
    "outlier": "LOF",
    "instability": "instability",
    "ms": "ms",
    "model_rows": "model rows",
}
"""The metrics on the page; the data beside it has all of them."""

BETTER_SIGN = {
    "valid": 1,
    "L2, shared rows": -1,
    "L2 / best": -1,
    "changed": -1,
    "redundant": -1,
    "kept": 1,
    "yNN": 1,
    "LOF": -1,
}
"""Whether more or less of a metric is better, for those that are marked."""


def measure(scale: RunSize) -> Exhibit:
    """Every method on every table and model that is at hand, with both budgets."""
    rows, count = scale.pick(1500, 6000), scale.rows or scale.pick(4, 20)
    firmly = min(count, scale.pick(2, 8))
    ration, seconds = 1000, scale.pick(0.03, 0.05)
    budgets: dict[str, dict[str, Any]] = {
        f"{ration} model rows a row": {"model_rows": ration},
        f"{1000 * seconds:g} ms a row": {"seconds": seconds},
    }
    names = ("simulated", *(("unsw_nb15",) if scale.quick else TABLE_NAMES))
    parts, firm, absent = [], [], []
    for name in names:
        read = load_table(name, rows)
        if read is None:
            absent.append(
                f"{name} is not at hand and was skipped: set {FOLDER_VARIABLE} to the folder with {name}.csv.gz."
            )
            continue
        for kind, explainer, attacks in _ask_table(*read, count, scale.quick):
            scale.report_progress(f"{name}, {kind}")
            setting: dict[str, Any] = {"table": name, "model": kind}
            parts += [
                _compare_methods(kind, explainer, attacks, limits).assign(**setting, budget=budget)
                for budget, limits in budgets.items()
            ]
            firm.append(measure_firm_answers(explainer, attacks[:firmly], COMPARISON.noise_sigma).assign(**setting))
    lines, hard = pd.concat(parts, ignore_index=True), pd.concat(firm, ignore_index=True)
    every, shared = _mean_metrics(lines)
    tables = {
        f"Every method beside {ours}, all tables, models and budgets": _compare_with(lines, ours)
        for ours in (best_form(lines), OURS)
    }
    beside, facts = compare_firm_answers(hard, lines)
    took = (
        f"turned {facts['firm turned']:.0%}, kept {facts['firm kept']:.0%}, {facts['firm rows']:.0f} model rows a row"
    )
    tables[f"Firm answers, without a budget: {took}"] = beside
    for key, part in every.groupby(["table", "model", "budget"], sort=False):
        title = f"{', '.join(map(str, key))} ({shared[key]} of {count} rows shared)"
        tables[title] = part.set_index("method")[list(SHOWN_METRICS)].rename(columns=SHOWN_METRICS).reset_index()
    return Exhibit(
        "comparison",
        "Real data: the same question to every method",
        (*_reading_notes(every), *absent),
        f"{count} attacks of each table, seeds {', '.join(map(str, COMPARISON.seeds))}; reference and "
        f"training: {rows} rows; "
        f"forest of {scale.pick(25, 50)} trees, network {scale.pick('(16,)', '(64, 64)')}; constraints: the columns "
        f"that the table's description calls immutable; bounds observed; no relations "
        f"between columns; firm: the first {firmly} rows, seed 0, keep = "
        f"0.9. Methods: {', '.join(repr(method) for method in METHODS.values())}.",
        tables=tables,
        data={"comparison": every, "answers": lines, "firm": hard},
        facts=facts | _collect_facts(lines),
    )


def _ask_table(
    frame: pd.DataFrame, label: pd.Series[str], fixed: list[str], count: int, quick: bool
) -> list[tuple[str, Explainer, pd.DataFrame]]:
    """Each kind of model with its explainer, and the same attacks for both, so that a row can count once."""
    models = {kind: fit_model(kind, frame, label, quick) for kind in ("forest", "network")}
    alike = np.all([np.asarray(model.predict(frame)) == "attack" for model in models.values()], axis=0)
    held = [Immutable(*fixed)] if fixed else []
    attacks = frame[alike][:count]
    return [  # relations between columns are no method's but ours: they are not kept here
        (kind, Explainer(model, reference=frame, constraints=held, relations=None), attacks)
        for kind, model in models.items()
    ]


def _compare_methods(kind: str, explainer: Explainer, attacks: pd.DataFrame, limits: dict[str, Any]) -> pd.DataFrame:
    """Every method that the kind of model allows, a line for each seed and row; the energy is the bare distance."""
    asked = METHODS if kind == "network" else {key: METHODS[key] for key in METHODS if key != PAPER_FORMS[0]}
    settings: dict[str, Any] = {"seeds": COMPARISON.seeds, "noise": COMPARISON.noise_sigma, "each": True}
    settings |= {"lam": 0.0, "proof": False}  # bounds are not shown here, and cost more than the searches
    return compare(asked, explainer, attacks, target="benign", **settings, **limits)


def _reading_notes(every: pd.DataFrame) -> tuple[str, ...]:
    """How the tables are to be read, and where Counterpoise loses."""
    budgets = (
        "Same rows, same region, same verification; each method runs once and stops when its budget is used up, if it "
        f"has not finished: the gradient starts over up to {RESTARTED_GRADIENT.rounds} times, LIME fits "
        f"{LIME.rounds} times at most. The ration of model rows is never overdrawn, the verification of the answers, a "
        "few rows more, apart; the clock is the wall's and is looked at between two steps, so that on a busy machine "
        "the budget of time is a smaller one for all (how busy it was: the seconds above)."
    )
    categories = (
        "Categories: LIME, gradient and growing spheres, whose authors have numbers in mind, may switch them too: LIME "
        "by its own indicator of a category left, the gradient by chains that start with another category, the spheres "
        "at a distance of 1. Algorithm 1 moves numbers alone; its listing knows nothing else. As printed it needs the "
        "model's gradient, so that it is not asked on forests, and counts as turning none of their rows."
    )
    columns = (
        "Valid: share of rows turned inside every constraint, over all seeds. L2 in standard deviations, mean over the "
        "rows that the method itself turns, so that one which turns few may look near; ± seeds: its standard deviation "
        "over seeds. Shared rows: those that every method which turns at least half of the rows turns with every seed. "
        "L2 / best: over the best answer of all methods to the same row. Kept: share of copies under Gaussian noise of "
        f"{COMPARISON.noise_sigma} standard deviations that keep the target. yNN: share of the five nearest reference "
        "rows that have "
        "it. LOF: local outlier factor, 1 is inside. The best of a column is marked among methods that turn at least "
        "half of the rows."
    )
    first = (
        "The first two tables set every method beside the paper's, in the form of it that turns most rows, and beside "
        "Counterpoise, on the rows that both turn. A row counts once, whatever the models, budgets and seeds; in "
        "brackets the middle 95 % of a bootstrap that draws tables first and then rows of each. Every method minimises "
        "the bare L2 distance here (lam = 0)."
    )
    return budgets, categories, columns, first, *_describe_losses(every)


def _mean_metrics(lines: pd.DataFrame) -> tuple[pd.DataFrame, dict[Any, int]]:
    """One line for each table, model, budget and method, and how many rows each comparison shares."""
    parts, shared = [], {}
    for key, group in lines.groupby(["table", "model", "budget"], sort=False):
        found = mean_by_method(group.drop(columns=["table", "model", "budget"]))
        good = group["valid"] & group["feasible"]
        rivals = found.index[found["validity"] >= COMPARISON.min_share_turned]
        turned = good[group["method"].isin(rivals)].groupby(group["row"]).all()
        common = group[group["row"].isin(turned.index[turned]) & group["method"].isin(rivals)]
        found["over_seeds"] = group.groupby(["method", "seed"])["l2"].mean().groupby("method").std(ddof=0)
        found["l2_shared"] = common.groupby("method")["l2"].mean()
        found["ms"] = 1000 * found["seconds"]
        found = found.rename_axis("method").reset_index()
        for place, (name, value) in enumerate(zip(("table", "model", "budget"), key, strict=True)):
            found.insert(place, name, str(value))
        parts.append(found)
        shared[key] = int(turned.sum())
    return pd.concat(parts, ignore_index=True), shared


def best_form(lines: pd.DataFrame) -> str:
    """The form of Algorithm 1 that turns most rows: the paper's method is judged by it."""
    good = (lines["valid"] & lines["feasible"]).groupby(lines["method"]).sum()
    return max(PAPER_FORMS, key=lambda name: float(good.get(name, 0)))


def _compare_with(lines: pd.DataFrame, ours: str) -> pd.DataFrame:
    """Every method beside one of them, on the rows that both turn, over all tables, models and budgets."""
    out = []
    for name, part in lines.groupby("method", sort=False):
        good = part["valid"] & part["feasible"]
        seeds = good.groupby(part["seed"]).mean()
        method = str(name)
        same = method == ours
        out.append(
            {
                "method": name,
                "turned": f"{good.mean():.1%} ± {seeds.std(ddof=0):.1%}",
                "L2 / its": "1" if same else mean_ratio(lines, "l2", method, ours).to_text(".3g"),
                "changed − its": "0" if same else mean_difference(lines, "l0", method, ours).to_text("+.1f"),
                "kept − its": "0" if same else mean_difference(lines, "robustness", method, ours).to_text("+.0%"),
                "yNN − its": "0" if same else mean_difference(lines, "ynn", method, ours).to_text("+.0%"),
                "model rows": part["model_rows"].mean(),
            }
        )
    return pd.DataFrame(out)


def _describe_losses(every: pd.DataFrame) -> tuple[str, ...]:
    """How often each method is the best of a column, and where Counterpoise is not the nearest."""
    rivals = every[every["validity"] >= COMPARISON.min_share_turned]
    words, behind = [], []
    for column, better in (("l2_shared", -1), ("l0", -1), ("robustness", 1), ("ynn", 1)):
        winners = []
        for key, part in rivals.groupby(["table", "model", "budget"], sort=False):
            if part[column].isna().all():
                continue
            first = part.iloc[int(np.nanargmax(better * part[column].to_numpy(dtype=np.float64)))]
            winners.append(str(first["method"]))
            ours = part.loc[part["method"] == OURS, column]
            if column == "l2_shared" and first["method"] != OURS and len(ours):
                pair = f"{first['method']} {first[column]:.3g}, Counterpoise {ours.iloc[0]:.3g}"
                behind.append(f"{', '.join(map(str, key))}: {pair}")
        counts = ", ".join(f"{name} {number}" for name, number in pd.Series(winners).value_counts().items())
        words.append(f"{SHOWN_METRICS[column]}: {counts}")
    out = ["Best of the column, in how many of the tables below: " + "; ".join(words) + "."]
    if behind:
        out.append("Where another method's answers are nearer (mean L2 on shared rows): " + "; ".join(behind) + ".")
    return tuple(out)


def _collect_facts(lines: pd.DataFrame) -> dict[str, float]:
    """What the claims rest on: the paper's method, in its best form, and ours, each beside LIME and the gradient."""
    good = lines.assign(validity=(lines["valid"] & lines["feasible"]).astype(float))
    columns = ["validity", "robustness", "instability", "l0", "l2", "ynn", "feasible", "model_rows"]
    facts: dict[str, float] = {}
    for kind, part in (("real", good), *good.groupby("model")):
        means = part.groupby("method")[columns].mean()
        facts |= {f"{kind} {name} {key}": float(line[key]) for name, line in means.iterrows() for key in columns}
    asked = good[good["model"] == "forest"]["method"].unique()
    for name in set(METHODS) - set(asked):  # not asked on forests: none of those rows turned
        share = float(good[good["method"] == name]["validity"].sum() / (good["method"] == OURS).sum())
        facts |= {f"real {name} validity": share, f"forest {name} validity": 0.0}
    facts |= {"answers given": float(lines["valid"].sum())}
    facts |= {"answers broken": float((lines["valid"] & ~lines["feasible"]).sum())}
    chosen = best_form(lines)
    facts[f"best form {chosen}"] = 1.0
    for ours in (chosen, OURS):
        for kind in ("network", "forest"):
            gained = success_share_difference(lines[lines["model"] == kind], ours, "Gradient")
            facts |= put_interval(f"{kind} turned {ours} less Gradient", gained)
        for name in RIVALS:
            for kind, part in (("real", lines), *lines.groupby("model")):
                facts |= put_interval(f"{kind} {name} nearness to {ours}", mean_ratio(part, "l2", name, ours))
            for key, metric in (("kept", "robustness"), ("ynn", "ynn"), ("instability", "instability")):
                facts |= put_interval(f"real {ours} {key} less {name}", mean_difference(lines, metric, ours, name))
    return facts
