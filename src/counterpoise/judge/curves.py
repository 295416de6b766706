"""Curves: how the answers change with the question: with keep, the temperature, lam or mu."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.api.firmness.kept import kept_share
from counterpoise.api.firmness.noise import NOISE_WITHOUT_REFERENCE, NoiseWish, choose_noise, parse_noise
from counterpoise.api.inputs.rows_in import Rows, check_has_rows
from counterpoise.api.replay import replay_valid_rows
from counterpoise.errors import InputError, name_kind
from counterpoise.explanation.explanation import Explanation
from counterpoise.readable import Readable, Summary
from counterpoise.streams import StreamKey
from counterpoise.types import Array

TIPPING_POINT_NAME = "tipping point"


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Readable):
    """The distance of the answers, and the share of noisy copies that keep the target, as more firmness is asked for.

    ``table`` has a line for each question: asked ("tipping point", "keep 0.9", "T 0.5"), distance, effort and kept
    (means over the ``rows`` that have an answer to every one of them), valid (the share of all rows that have one).
    Effort never falls as more copies are to be kept.
    """

    table: pd.DataFrame
    noise: str
    rows: int

    def summarize(self) -> Summary:
        """A line for each question, with the distance of its answers and the share of noisy copies they keep."""
        noise = f" under {self.noise}" if self.noise else ""
        return _summarize_table(f"Distance against firmness, {_say_means(self.rows)}{noise}", self.table)


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(Readable):
    """What lam and mu do to the answers: ``table`` has a line for each pair.

    lam, mu ("auto" or a number), valid (the share of the ``rows`` with an answer for this pair), distance and changed
    (how many features): means over those.
    """

    table: pd.DataFrame
    rows: int

    def summarize(self) -> Summary:
        """A line for each pair of lam and mu, with how far its answers are and how many features they change."""
        return _summarize_table(f"Answers by lam and mu, {_say_means(self.rows)}", self.table)


def frontier(
    explainer: Explainer,
    rows: Rows,
    *,
    keep: Sequence[float] = (0.5, 0.7, 0.8, 0.9, 0.95),
    temperature: Sequence[float] = (),
    noise: NoiseWish = "auto",
    copies: int = 1000,
    **question: Any,
) -> Frontier:
    """Distance against robustness: the minimal answers, then a search for each share and each temperature.

    explainer: the model with its reference and constraints.
    rows: the rows to explain.
    keep: shares of noisy copies to ask for; 0.5 to 0.95 by default.
    temperature: temperatures to ask for; none by default.
    noise: as in the explainer's call; all answers are measured under the same one.
    copies: noisy copies on which the minimal answers are measured; 1000 by default, as many as for firm ones.
    question: further arguments of the explainer's call.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> found = frontier(Explainer(model, reference=train, bounds=None), train[3:], keep=[0.9], noise=0.1).table
    >>> found["asked"].tolist(), bool(found["distance"].is_monotonic_increasing)
    (['tipping point', 'keep 0.9'], True)
    """
    _check_explainer(explainer)
    wishes: list[tuple[str, dict[str, Any]]] = [(f"keep {share:g}", {"keep": share}) for share in keep]
    wishes += [(f"T {T:g}", {"temperature": T}) for T in temperature]
    if not wishes:
        raise InputError("a frontier needs firmness to ask for", "none", "for instance keep=(0.5, 0.9)")
    tipping = explainer(rows, **{"kept": False, **question})
    check_has_rows(len(tipping))
    parts = list(replay_valid_rows(tipping, explainer.model, reference=explainer.reference))
    if noise == "auto" and len(parts) > 1:
        raise InputError(
            "noise='auto' is calibrated on one target",
            f"the rows ask for {len(parts)}",
            "give noise=0.2, or one target",
        )
    asked_of, wish = parts[0], parse_noise(noise)
    target = tipping.target[asked_of.rows[0]]
    chosen, noise_words, _ = choose_noise(
        asked_of.problem, tipping.schema, asked_of.question, wish, target, NOISE_WITHOUT_REFERENCE
    )
    kept = np.full(len(tipping), np.nan)
    for part in parts:
        draws = part.problem.make_streams(tipping.seed ^ StreamKey.CHECK).normal((copies, part.x.shape[1]))
        kept[part.rows] = kept_share(part.problem, part.x, chosen, draws)
    found: list[tuple[str, Explanation, Array]] = [(TIPPING_POINT_NAME, tipping, kept)]
    for name, asked in wishes:
        firm = explainer(rows, noise=chosen, **asked, **{"kept": False, **question})
        assert firm.firm is not None, "firmness was asked for"
        found.append((name, firm, firm.firm["kept"].to_numpy(dtype=np.float64)))
    everywhere = np.logical_and.reduce([each.valid for _, each, _ in found])
    lines = [
        {
            "asked": name,
            "distance": _mean_or_nan(each.energy["distance"].to_numpy(dtype=np.float64)[everywhere]),
            "effort": _mean_or_nan(each.effort[everywhere]),
            "kept": _mean_or_nan(share[everywhere]),
            "valid": float(each.valid.mean()),
        }
        for name, each, share in found
    ]
    return Frontier(pd.DataFrame(lines), noise_words, int(everywhere.sum()))


def sensitivity(
    explainer: Explainer,
    rows: Rows,
    *,
    lam: Sequence[float] = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0),
    mu: Sequence[float | Literal["auto"]] = ("auto",),
    **question: Any,
) -> Sensitivity:
    """How the answers change with lam and mu: a search for every pair.

    explainer: the model with its reference and constraints.
    rows: the rows to explain.
    lam: the weights of the regulariser to try; 0 to 3 by default.
    mu: the weights of the decision to try; "auto" by default. The default method keeps to valid points, where mu has
        no effect; with ``method=cp.Algorithm1()`` it has.
    question: further arguments of the explainer's call.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9], "load": [0.1, 0.3, 0.2, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> sensitivity(Explainer(model, reference=train), train[3:], lam=[0, 1]).table["lam"].tolist()
    [0.0, 1.0]
    """
    _check_explainer(explainer)
    if not len(lam) or not len(mu):
        raise InputError("lam and mu must have values to try", f"{len(lam)} and {len(mu)}", "give at least one each")
    pairs = [(weight, other) for weight in lam for other in mu]
    found = [explainer(rows, lam=weight, mu=other, **{"kept": False, **question}) for weight, other in pairs]
    check_has_rows(len(found[0]))
    lines = [
        {
            "lam": float(weight),
            "mu": other if isinstance(other, str) else float(other),
            "valid": float(each.valid.mean()),
            "distance": _mean_or_nan(each.energy["distance"].to_numpy(dtype=np.float64)[each.valid]),
            "changed": _mean_or_nan(each.changed[each.valid].astype(np.float64)),
        }
        for (weight, other), each in zip(pairs, found, strict=True)
    ]
    return Sensitivity(pd.DataFrame(lines), len(found[0]))


def _say_means(rows: int) -> str:
    return "of one row" if rows == 1 else f"means over {rows} rows"


def _summarize_table(headline: str, table: pd.DataFrame) -> Summary:
    """A headline and the table under it: shares in percent, other numbers short, nothing where there is no number."""

    def cell(name: str, value: Any) -> str:
        if isinstance(value, str):
            return value
        return "" if np.isnan(value) else f"{100 * value:.3g} %" if name in ("kept", "valid") else f"{value:.4g}"

    columns = list(map(str, table.columns))
    lines = [[cell(name, value) for name, value in zip(columns, line, strict=True)] for line in table.to_numpy(object)]
    return Summary(headline, columns, lines)


def _check_explainer(given: object) -> None:
    if not isinstance(given, Explainer):
        hint = "give an Explainer: cp.Explainer(model, reference=...)"
        raise InputError("explainer must be of the kind Explainer", f"{name_kind(given)} was given", hint)


def _mean_or_nan(values: Array) -> float:
    return float(values.mean()) if len(values) else float("nan")
