"""The paper's claims, each measured, each with a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from counterpoise.paper.exhibit import Exhibit, RunSize
from counterpoise.paper.exhibits.figure2_convergence import CONVERGENCE
from counterpoise.paper.paired import Interval

VERDICT_HOLDS, VERDICT_PARTLY, VERDICT_FAILS = "holds", "holds partly", "does not hold"
GRID_EDGES = ("least λ", "greatest λ", "least μ", "greatest μ")
THREE_METHODS = ("Free energy", "LIME", "Gradient")


class Claim(NamedTuple):
    """A claim of the paper in our words, what we measured, the verdict, and the exhibit that shows it."""

    claim: str
    measured: str
    verdict: str
    shown: str  # the name of an exhibit


def judge_claims(facts: Mapping[str, float]) -> list[Claim]:
    """The claims, in the order of the paper."""
    return [
        *_judge_search(facts),
        *_judge_stability(facts),
        *_judge_variation(facts),
        *_judge_comparison(facts),
        *_judge_cost(facts),
    ]


def build_claims(facts: Mapping[str, float], scale: RunSize) -> Exhibit:
    """The claims as a table."""
    found = pd.DataFrame(judge_claims(facts))[["verdict", "claim", "measured", "shown"]]
    counts = found["verdict"].value_counts()
    summary = ", ".join(f"“{word}” {counts.get(word, 0)}" for word in (VERDICT_HOLDS, VERDICT_PARTLY, VERDICT_FAILS))
    return Exhibit(
        "claims",
        "Claims",
        (f"Each claim of the paper in our words, what this run measured, and what follows: {summary}.",),
        "verdicts are computed from the numbers of this page by the rules in counterpoise.paper.exhibits.claims"
        + ("; the quick form measures little, so that a verdict near its limit may turn" if scale.quick else ""),
        tables={"Verdicts": found},
    )


def _judge_search(facts: Mapping[str, float]) -> list[Claim]:
    drop, end = facts["path_drop"], facts["path_f"]
    small, large = (
        {beta: facts[f"norm {beta:g}"] for beta in betas}
        for betas in (CONVERGENCE.small_betas, CONVERGENCE.large_betas)
    )
    return [
        Claim(
            "Algorithm 1 descends into a valley of the free energy and so finds a counterfactual.",
            f"F falls by {drop:.1f}; at the end f is {end:.2f}, the boundary is at 0.",
            VERDICT_HOLDS if drop > 0 and abs(end) < 1e-3 else VERDICT_PARTLY if drop > 0 else VERDICT_FAILS,
            "figure-1",
        ),
        Claim(
            "For β of 0.001 to 0.1 the gradient norm goes to 0.",
            f"Of the first norm is left over the last tenth of the iterations: {_format_shares(small)}. "
            "Converged: below "
            f"{CONVERGENCE.converged_share:.0%}.",
            VERDICT_HOLDS if max(small.values()) < CONVERGENCE.converged_share else VERDICT_FAILS,
            "figure-2",
        ),
        Claim(
            "For β between 1 and 10 the algorithm oscillates and does not converge.",
            f"By the same measure: {_format_shares(large)}. With a fresh cloud at every step no β converges: "
            "the norm stays "
            f"at {facts['norm_fresh_large']:.2g}, and at {facts['norm_fresh_small']:.2g} for small β.",
            VERDICT_HOLDS
            if min(large.values()) >= CONVERGENCE.converged_share
            else VERDICT_PARTLY
            if max(large.values()) >= CONVERGENCE.converged_share
            else VERDICT_FAILS,
            "figure-2",
        ),
        Claim(
            "Table I's counterfactuals, by Algorithm 1 as printed, flip the decision.",
            f"As printed it flips in {facts['flipped Algorithm 1, as printed']:.0%} of runs; corrected in "
            f"{facts['flipped Algorithm 1, corrected']:.0%}.",
            VERDICT_HOLDS
            if facts["flipped Algorithm 1, as printed"] > 0.9
            else VERDICT_PARTLY
            if facts["flipped Algorithm 1, as printed"] > 0
            else VERDICT_FAILS,
            "table-1",
        ),
    ]


def _judge_stability(facts: Mapping[str, float]) -> list[Claim]:
    hot, cold, middle = facts["stable_hot"], facts["stable_cold"], facts["stable_middle"]
    edges = {name: facts[f"stable {name}"] for name in GRID_EDGES}
    worse = sum(value < middle for value in edges.values())
    return [
        Claim(
            "A smaller β widens the region of (λ, μ) with stable counterfactuals.",
            f"Share of the grid with S ≥ 0.5: {hot:.0%} at the smallest β, {cold:.0%} at the largest. At most "
            "“partly”: with the score and the f that we tried first, no cell of any β was stable.",
            VERDICT_PARTLY if hot > cold + 0.02 and facts["stable_widest_rise"] < 0.02 else VERDICT_FAILS,
            "figure-3",
        ),
        Claim(
            "Moderate λ and μ give the most stable counterfactuals.",
            f"Mean S in the middle of the grid {middle:.2f}; with the "
            + ", the ".join(f"{name} {value:.2f}" for name, value in edges.items())
            + f": {worse} of the 4 edges are less stable. What counts is that μ outweighs λ.",
            VERDICT_HOLDS if worse == len(edges) else VERDICT_PARTLY if worse else VERDICT_FAILS,
            "figure-3",
        ),
    ]


def _judge_variation(facts: Mapping[str, float]) -> list[Claim]:
    spread = {name: facts[f"spread {key}"] for name, key in _SPREAD_KEYS.items()}
    varied = {name: facts[f"real {name} varied"] for name in ("LIME", "Gradient")}
    return [
        Claim(
            "Across runs the free-energy method varies most, the gradient less, LIME hardly at all (Fig. 4).",
            "Spread over seeds, in standard deviations: "
            + ", ".join(f"{name} {value:.3f}" for name, value in spread.items())
            + ".",
            _judge_order(spread["free energy"], spread["gradient"], spread["LIME"]),
            "figure-4",
        ),
        Claim(
            "LIME's counterfactuals vary and scatter around the boundary (Fig. 5, Table II).",
            "Instability over seeds, on the rows that both turn, less the free energy's: "
            + ", ".join(f"{name} {_format_interval(facts, f'real {name} varied', '+.2f')}" for name in varied)
            + f". Depth past the SVM's boundary varies by {facts['svm LIME its spread']:.2f} (LIME), "
            f"{facts['svm Gradient its spread']:.2f} (gradient), {facts['svm Free energy its spread']:.2f} (free "
            "energy).",
            VERDICT_HOLDS
            if facts["real LIME varied low"] > 0
            and facts["svm LIME its spread"]
            > max(facts[f"svm {name} its spread"] for name in ("Gradient", "Free energy"))
            else VERDICT_PARTLY
            if varied["LIME"] > 0
            else VERDICT_FAILS,
            "comparison",
        ),
    ]


_SPREAD_KEYS = {"free energy": "Free energy, annealed", "gradient": "Gradient", "LIME": "LIME"}


def _judge_comparison(facts: Mapping[str, float]) -> list[Claim]:
    turned = {name: facts[f"real {name} validity"] for name in THREE_METHODS}
    rivals = ("LIME", "Gradient")
    return [
        Claim(
            "Free-energy counterfactuals are more robust to noise than LIME's and the gradient's.",
            "Share of copies that keep the target, the free energy's less theirs on the rows that both turn: "
            + ", ".join(f"{name} {_format_interval(facts, f'real {name} kept behind', '+.0%')}" for name in rivals)
            + ". Firm answers (keep = 0.9), which have no budget and take "
            f"{facts['firm rows']:.0f} model rows a row: "
            + ", ".join(f"{name} {facts[f'firm kept over {name}']:+.0%}" for name in rivals)
            + ".",
            VERDICT_HOLDS
            if min(facts[f"real {name} kept behind low"] for name in rivals) > 0
            else VERDICT_PARTLY
            if min(facts[f"firm kept over {name} low"] for name in rivals) > 0
            else VERDICT_FAILS,
            "comparison",
        ),
        Claim(
            "Gradient search gets stuck, and misses counterfactuals that the free-energy method finds.",
            f"Rows turned: networks {facts['network Gradient validity']:.0%} against "
            f"{facts['network Free energy validity']:.0%}, forests {facts['forest Gradient validity']:.0%} against "
            f"{facts['forest Free energy validity']:.0%}, the SVM of Figure 5 {facts['svm Gradient turned']:.0%} "
            f"against {facts['svm Free energy turned']:.0%}, and {facts['svm Gradient over turned']:.0%} if it may "
            "start over farther out, as it may on the other models.",
            _judge_stuck(facts),
            "figure-5",
        ),
        Claim(
            "The free-energy method finds smaller changes than LIME and the gradient.",
            "L2 over the free energy's on the rows that both turn: "
            + "; ".join(
                f"{name} on {kind}s {_format_interval(facts, f'{kind} {name} nearness', '.2f')}"
                for name in rivals
                for kind in ("network", "forest")
            )
            + "; rows turned: "
            + ", ".join(f"{name} {share:.0%}" for name, share in turned.items())
            + ". It holds where the interval is above 1 for each kind of model and each budget.",
            VERDICT_HOLDS
            if min(facts[f"real {name} nearness least low"] for name in rivals) > 1
            else VERDICT_PARTLY
            if max(facts[f"real {name} nearness low"] for name in rivals) > 1
            else VERDICT_FAILS,
            "comparison",
        ),
    ]


def _judge_cost(facts: Mapping[str, float]) -> list[Claim]:
    free = [facts[f"exponent Free energy {letter}"] for letter in "TKd"]
    seconds = {name: facts[f"seconds {name}"] for name in THREE_METHODS}
    wide = {
        name: facts[f"seconds of many features {name}"] for name in THREE_METHODS if name != "Gradient"
    }  # the gradient is timed elsewhere: it is far below
    dearest = {max(part, key=lambda name: part[name]) for part in (seconds, wide)}
    return [
        Claim(
            "The free-energy method costs O(TKd), at worst O(TKd²).",
            f"Exponents of T, K, d: {', '.join(f'{value:.2f}' for value in free)}; of d with a full Hessian "
            f"{facts['exponent Free energy, worst d']:.2f}.",
            VERDICT_HOLDS
            if all(_is_near(value, 1) for value in (*free, facts["exponent Free energy, worst d"] - 1))
            else VERDICT_PARTLY,
            "figure-6",
        ),
        Claim(
            "LIME costs O(Kd²), the gradient O(Td).",
            f"LIME: K {facts['exponent LIME K']:.2f}, d {facts['exponent LIME d']:.2f}. Gradient: T "
            f"{facts['exponent Gradient T']:.2f}, d {facts['exponent Gradient d']:.2f}.",
            VERDICT_HOLDS
            if _is_near(facts["exponent LIME d"], 2)
            and all(_is_near(facts[f"exponent {name}"], 1) for name in ("LIME K", "Gradient T", "Gradient d"))
            else VERDICT_PARTLY,
            "figure-6",
        ),
        Claim(
            "LIME is the most expensive of the three (the text; Table II calls it low).",
            f"{facts['T of figure 6']:.0f} iterations, K = {facts['most K']:.0f}: {_format_times(seconds)}; d = "
            f"{facts['most d']:.0f}: {_format_times(wide)}.",
            VERDICT_HOLDS if dearest == {"LIME"} else VERDICT_PARTLY if "LIME" in dearest else VERDICT_FAILS,
            "figure-6",
        ),
    ]


def _is_near(exponent: float, paper: int) -> bool:
    """Whether a measured exponent is the paper's, to within 0.4.

    >>> _is_near(1.2, 1), _is_near(0.4, 1)
    (True, False)
    """
    return abs(exponent - paper) < 0.4


def _format_times(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in seconds.items())


def _format_shares(left: Mapping[float, float]) -> str:
    return ", ".join(f"{share:.1%} at β = {beta:g}" for beta, share in left.items())


def _format_interval(facts: Mapping[str, float], key: str, form: str) -> str:
    return Interval(*(facts[f"{key}{end}"] for end in ("", " low", " high"))).to_text(form)


def _judge_order(free: float, gradient: float, lime: float) -> str:
    """Whether free energy >= gradient >= LIME: the paper's order."""
    return (
        VERDICT_HOLDS
        if free > gradient > lime
        else VERDICT_PARTLY
        if free > gradient or gradient > lime
        else VERDICT_FAILS
    )


def _judge_stuck(facts: Mapping[str, float]) -> str:
    pairs = [("network {} validity",) * 2, ("forest {} validity",) * 2, ("svm {} turned",) * 2]
    behind = [facts[a.format("Gradient")] < facts[b.format("Free energy")] - 0.02 for a, b in pairs]
    return VERDICT_HOLDS if all(behind) else VERDICT_PARTLY if any(behind) else VERDICT_FAILS
