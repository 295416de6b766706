"""For a security operations centre: rules of traffic kept, false alarms found among alerts, groups of alerts.

python benchmarks/soc.py [--part rules triage halves] [--rows 200]

Written to benchmarks/results/soc.md, a part at a time. Broken relations are counted by `obedience.py`, which shares
nothing with the search. Triage: the model is fitted on one part of a table, the verdicts of its alerts in a second part
calibrate the triage, and the figures are of its alerts in a third. Halves: 5,000 alerts of a model that no other part
has, halved 40 times at random; one half teaches, the other is judged.
"""

from __future__ import annotations

import argparse
import re
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from obedience import enumerate_relations, obeys
from sklearn.metrics import roc_auc_score
from tables import markdown
from tasks import TABLES, read_table
from useful import fit

import counterpoise as cp
from counterpoise.security.triage.scorer import (
    VerdictModel,
    VerdictSettings,
    judge_classes,
    measure_signals,
    nearness_columns,
    rank_nearness,
)

OUT = Path(__file__).parent / "results" / "soc.md"
RULE_TABLES = ("rt_iot2022", "unsw_nb15", "nsl_kdd", "ciciot2023")
TRIAGE_TABLES = ("unsw_nb15", "nsl_kdd")
PARTS = ("rules", "triage", "halves")
PACKS: tuple[Any, ...] = (None, "all", "attacker", "operator")


def measure_rules(name: str, count: int) -> list[list[str]]:
    table, target, _ = read_table(name)
    order = np.random.default_rng(0).permutation(len(table))
    train = order[: min(6000, len(order) * 3 // 4)]
    reference, held = table.iloc[train].reset_index(drop=True), table.iloc[order[len(train) :]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit("boosted", reference, target[train])
    rows = held[model.predict(held) == 1][:count].reset_index(drop=True)
    laws = enumerate_relations(reference)
    stated = yaml.safe_load((TABLES / f"{name}.yaml").read_text()).get("relations", [])
    lines = []
    for changeable in PACKS:
        schema = cp.Schema.infer(reference)
        pack = cp.security.flow_rules(schema, reference, changeable=None if changeable == "all" else changeable)
        words = [rule.constraint for rule in pack.rules if rule.binds] if changeable == "all" else pack.constraints
        started = time.process_time()
        explainer = cp.Explainer(model, reference=reference, constraints=words, new_categories=True)
        found = explainer(rows, target=0)
        seconds = time.process_time() - started
        answers, before = found.frame[rows.columns][found.valid], rows[found.valid]
        broken = sum(int((~law(answers) & law(before)).sum()) for law in laws.values())
        for each in stated:
            broken += int(
                (
                    ~obeys(each["rule"], each["tolerance"], answers) & obeys(each["rule"], each["tolerance"], before)
                ).sum()
            )
        own = _count_broken(pack, schema, before, answers)
        changed = np.median(found.changed[found.valid]) if found.valid.any() else np.nan
        lines.append(
            [
                name,
                changeable or "all but protocol, ports",
                _count_rules(pack),
                f"{found.valid.sum()} of {len(rows)}",
                f"{100 * found.valid.mean():.1f} %",
                f"{int((found.status == 'infeasible').sum())}",
                f"{broken} of {len(laws) + len(stated)} laws",
                str(own),
                f"{changed:g}",
                f"{1000 * seconds / len(rows):.0f}",
            ]
        )
        print(lines[-1], flush=True)
    return lines


def _count_rules(pack: Any) -> str:
    own = pack.table[pack.table["source"] != "reference"]
    return f"{int(own['binds'].sum())} of {len(own)}, and {len(pack.table) - len(own)} discovered"


def raise_alerts(name: str, seed: int) -> tuple[cp.Explainer, pd.DataFrame, np.ndarray]:
    """A model fitted on one part of a table; its alerts in the others, and whether each was an attack."""
    table, target, _ = read_table(name)
    order = np.random.default_rng(seed).permutation(len(table))
    train = order[:6000]
    reference = table.iloc[train].reset_index(drop=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fit("boosted", reference, target[train])
    held, truth = table.iloc[order[6000:]], target[order[6000:]]
    if name == "nsl_kdd":  # its own test table has attacks that training does not have
        held, truth, _ = read_table("nsl_kdd_test")
    alert = model.predict(held) == 1
    explainer = cp.Explainer(model, reference=reference, new_categories=True)
    return explainer, held[alert].reset_index(drop=True), truth[alert]


def measure_triage(name: str, most: int) -> tuple[list[str], list[list[str]]]:
    """Triage calibrated on the alerts of one part, judged on those of another."""
    explainer, rows, truth = raise_alerts(name, 0)
    half = min(len(rows) // 2, most)
    taught, judged = (explainer(rows[part], target=0) for part in (slice(0, half), slice(half, 2 * half)))
    known = cp.triage(taught, truth[:half])
    found = cp.triage(judged, truth[half : 2 * half], scorer=known.scorer)
    is_false = truth[half : 2 * half] == 0
    if known.scorer is None:
        raise SystemExit(f"{name}: {known.note}")
    signals = found.table
    judgement = judge_classes(signals["score"].to_numpy(), signals, is_false, known.scorer.cut_offs)
    ranks = roc_auc_score(is_false, rank_nearness(signals))
    low, high = _bound_gain(signals["score"].to_numpy(), signals["probability"].to_numpy(), is_false)
    gain = f"{judgement.auc - judgement.auc_probability:+.3f} ({low:+.3f} to {high:+.3f})"
    line = [name, f"{len(signals)}, {is_false.sum()}", f"{judgement.auc_probability:.3f}", f"{judgement.auc:.3f}", gain]
    line += [f"{ranks:.3f}", f"{roc_auc_score(is_false, -signals['effort'].replace(np.inf, 1e9)):.3f}"]
    line += [
        f"{roc_auc_score(is_false, -signals['real_distance'].fillna(1e9)):.3f}",
        f"{roc_auc_score(is_false, signals['kept'].fillna(0)):.3f}",
    ]
    for kind in ("likely false alarm", "stands"):
        each = judgement.classes.loc[kind]
        line.append(f"{int(each['alerts'])}: {100 * each['precision']:.0f} %, {100 * each['recall']:.0f} %")
    line.append(f"{len(found.groups)}: {100 * found.share_grouped:.0f} %")
    groups = [
        [name, str(each["alerts"]), each["way_out"], f"{100 * each['largest_verdict']:.0f} %"]
        for _, each in found.group_table.iterrows()
    ]
    print(line, flush=True)
    return line, groups


def measure_halves(name: str, most: int = 5000, halves: int = 40) -> list[list[str]]:
    """What scores gain in AUC over the model's probability alone, on the half of the alerts that taught nothing."""
    explainer, rows, truth = raise_alerts(name, 1)
    found = explainer(rows[:most], target=0)
    is_false, cells = truth[:most] == 0, found.x0
    probability = measure_signals(found)["probability"].to_numpy()
    signals = np.nan_to_num(nearness_columns(measure_signals(found)))
    gains: dict[str, list[float]] = {"the score": [], "without the explanation": [], "its signals alone": []}
    rng = np.random.default_rng(7)
    for _ in range(halves):
        order = rng.permutation(len(is_false))
        taught, judged = order[: len(order) // 2], order[len(order) // 2 :]
        alone = roc_auc_score(is_false[judged], probability[judged])
        whole = VerdictModel.fit(signals[taught], cells[taught], is_false[taught], VerdictSettings())
        plain = VerdictModel.fit(signals[taught, :1], cells[taught], is_false[taught], VerdictSettings())
        scores = (
            whole.score(signals[judged], cells[judged]),
            plain.score(signals[judged, :1], cells[judged]),
            whole.by_signals.predict_proba(signals[judged])[:, 1],
        )
        for gain, score in zip(gains.values(), scores, strict=True):
            gain.append(float(roc_auc_score(is_false[judged], score) - alone))
    lines = [
        [
            name,
            f"{len(is_false)}, {is_false.sum()}",
            f"{roc_auc_score(is_false, probability):.3f}",
            words,
            f"{np.mean(gain):+.3f}",
            f"{np.std(gain):.3f}",
            f"{min(gain):+.3f}",
        ]
        for words, gain in gains.items()
    ]
    print(*lines, sep="\n", flush=True)
    return lines


def _bound_gain(score: np.ndarray, probability: np.ndarray, is_false: np.ndarray, draws: int = 2000) -> np.ndarray:
    """The middle 95 % of what the score gains in AUC over the probability, over alerts drawn anew with replacement."""
    rng, gains = np.random.default_rng(0), []
    for _ in range(draws):
        drawn = rng.integers(0, len(score), len(score))
        truth = is_false[drawn]
        if truth.any() and not truth.all():
            gains.append(roc_auc_score(truth, score[drawn]) - roc_auc_score(truth, probability[drawn]))
    return np.quantile(gains, [0.025, 0.975])


def _count_broken(pack: Any, schema: cp.Schema, before: pd.DataFrame, answers: pd.DataFrame) -> int:
    """Rules of the pack that an answer breaks and its row does not, each computed by pandas from the rule's text."""
    broken = 0
    for rule in pack.rules:
        text = getattr(rule.constraint, "text", None)
        if not rule.binds or text is None:
            continue
        tolerance = max(rule.constraint.tolerance, 1e-9)
        broken += int((~_holds(text, tolerance, answers) & _holds(text, tolerance, before)).sum())
    return broken


def _holds(text: str, tolerance: float, table: pd.DataFrame) -> np.ndarray:
    if " implies " in text:
        first, second = text.split(" implies ")
        return ~_holds(first, tolerance, table) | _holds(second, tolerance, table)
    parts = re.split(r"(<=|>=|==|!=|<|>)", text)
    values = [_value(part.strip(), table) for part in parts[::2]]
    good = np.ones(len(table), dtype=bool)
    for place, sign in enumerate(parts[1::2]):
        left, right = values[place], values[place + 1]
        if isinstance(right, str):
            good &= (left == right) if sign == "==" else (left != right)
            continue
        slack = tolerance * np.maximum(1.0, np.maximum(np.abs(left), np.abs(right))) * (1 + 1e-9)
        good &= {
            "<=": left <= right + slack,
            ">=": left >= right - slack,
            "==": np.abs(left - right) <= slack,
            "!=": left != right,
            "<": left < right,
            ">": left > right,
        }[sign]
    return np.asarray(good)


def _value(text: str, table: pd.DataFrame) -> Any:
    if text.startswith("'"):
        return text.strip("'")
    if text in table.columns and table[text].dtype.kind not in "iufb":
        return table[text].to_numpy()
    found = table.eval(text)
    return np.asarray(found, dtype=float) if not np.isscalar(found) else float(found)


def write_part(heading: str, lines: list[str]) -> None:
    """Put a part under its heading into the page, in the place of what was there."""
    title = "# In a security operations centre, measured\n\n"
    page = OUT.read_text(encoding="utf-8") if OUT.exists() else title
    parts = {part.split("\n", 1)[0]: part for part in re.split(r"(?m)^## ", page)[1:]}
    parts[heading] = heading + "\n\n" + "\n".join(lines) + "\n\n"
    OUT.write_text(title + "".join("## " + part.rstrip() + "\n\n" for part in parts.values()), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--tables", nargs="+", default=list(RULE_TABLES))
    asked = parser.parse_args()
    if "rules" in asked.part:
        heads = ["table", "may change", "rules that bind", "answers", "valid", "proven infeasible"]
        heads += ["relations broken", "rules broken", "features changed", "CPU ms a row"]
        body = [line for name in asked.tables for line in measure_rules(name, asked.rows)]
        write_part("Rules of traffic", markdown(heads, body))
    if "triage" in asked.part:
        found = [measure_triage(name, 5 * asked.rows) for name in TRIAGE_TABLES]
        heads = ["table", "alerts, false", "AUC probability", "AUC triage", "gain, 95 % interval", "AUC ranks"]
        heads += [
            "AUC effort",
            "AUC real row",
            "AUC kept",
            "likely false alarm: precision, recall",
            "stands: precision, recall",
            "groups: share",
        ]
        write_part("Triage", markdown(heads, [line for line, _ in found]))
        heads = ["table", "alerts", "way out", "largest verdict"]
        write_part("Groups of alerts", markdown(heads, [line for _, groups in found for line in groups]))
    if "halves" in asked.part:
        heads = ["table", "alerts, false", "AUC probability", "taught by the other half", "mean gain"]
        heads += ["standard deviation", "least gain"]
        write_part(
            "Triage over 40 halves", markdown(heads, [line for name in TRIAGE_TABLES for line in measure_halves(name)])
        )


if __name__ == "__main__":
    main()
