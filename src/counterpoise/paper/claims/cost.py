"""Claims on what the methods cost: Figure 6."""

from __future__ import annotations

import numpy as np

from counterpoise.paper.claims.verdict import FAILS, HOLDS, NONE, PARTLY, RULES, Claim, Facts, judge_all, judge_shares

SCORE_KINDS = ("linear", "wavy")
"""The scores that the reach in many dimensions is measured on."""


def judge_cost(facts: Facts) -> list[Claim]:
    """Exponents, who is dearest and cheapest, high dimensions, the Gaussian entropy."""
    free = [facts[f"exponent Algorithm 1 {letter}"] for letter in "TKd"]
    worst = facts["exponent Algorithm 1, worst d"]
    usual = {name: facts[f"usual seconds {name}"] for name in ("Algorithm 1", "LIME", "Gradient")}
    start, most = facts["LIME dearest from d"], facts["usual most d"]
    return [
        Claim(
            "VI; Table II",
            "The free-energy method costs O(TKd), at worst O(TKd²).",
            f"Exponents of T, K, d: {', '.join(f'{value:.2f}' for value in free)}; of d, full Hessian, {worst:.2f}.",
            judge_all([*(_is_near(value, 1) for value in free), _is_near(worst, 2)]),
            NONE,
            "figure-6",
        ),
        Claim(
            "VI; Table II",
            "LIME costs O(Kd²), the gradient O(Td).",
            f"LIME: K {facts['exponent LIME K']:.2f}, d {facts['exponent LIME d']:.2f}. Gradient: T "
            f"{facts['exponent Gradient T']:.2f}, d {facts['exponent Gradient d']:.2f}.",
            judge_all(
                [
                    _is_near(facts["exponent LIME d"], 2),
                    *(_is_near(facts[f"exponent {name}"], 1) for name in ("LIME K", "Gradient T", "Gradient d")),
                ]
            ),
            NONE,
            "figure-6",
        ),
        Claim(
            "VI, Fig. 6",
            "LIME is the most expensive of the three (the text; Table II calls its cost low).",
            "LIME with 5000 samples, Algorithm 1 with 32 and 100 iterations: LIME is dearest "
            + ("at no d" if np.isnan(start) else f"from d = {start:.0f} on")
            + f" (tried: {facts['usual least d']:.0f} to {most:.0f}); at d = {most:.0f}: "
            + ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in usual.items())
            + ".",
            FAILS if np.isnan(start) else HOLDS if start <= facts["usual least d"] else PARTLY,
            NONE,
            "figure-6",
        ),
        Claim(
            "VI, Fig. 6",
            "The gradient is the cheapest of the three.",
            f"At {facts['gradient cheapest']:.0%} of the d tried; at d = {most:.0f}: "
            + ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in usual.items())
            + ".",
            judge_shares([facts["gradient cheapest"]]),
            NONE,
            "figure-6",
        ),
        Claim(
            "VI; Table II",
            "It scales to high dimensions.",
            f"Up to d = {facts['reach d Algorithm 1']:.0f}, rows turned at least, and length at most over the least "
            f"known: {_describe_reach(facts, 'Algorithm 1')}; exponent of d {free[2]:.2f}.",
            judge_all([*_reaches(facts, "Algorithm 1"), _is_near(free[2], 1)]),
            NONE,
            "figure-6",
        ),
        Claim(
            "Table II",
            "In high dimensions LIME becomes infeasible; the gradient stays efficient, if less stable.",
            f"Up to d = {facts['reach d LIME']:.0f}, rows turned at least, and length at most over the least: LIME "
            f"{_describe_reach(facts, 'LIME')}, {facts['reach seconds LIME']:.2g} s a row; gradient "
            f"{_describe_reach(facts, 'Gradient')}, {facts['reach seconds Gradient']:.2g} s a row. Infeasible: it "
            f"turns less than half, or takes more than {RULES.infeasible_seconds:.0f} s a row.",
            judge_all(
                [
                    facts["reach seconds LIME"] > RULES.infeasible_seconds
                    or min(facts[f"reach LIME {word} turned"] for word in SCORE_KINDS) < 0.5,
                    all(_reaches(facts, "Gradient")),
                ]
            ),
            NONE,
            "figure-6",
        ),
        Claim(
            "VI",
            "A Gaussian entropy costs an order of magnitude less than sampling, with a small error.",
            f"Closed form {1000 * facts['gaussian seconds']:.2f} ms against {1000 * facts['sampled seconds']:.2f} with "
            f"{facts['sampled K']:.0f} samples and {1000 * facts['sampled seconds many']:.2f} with "
            f"{facts['sampled K many']:.0f} (d = {facts['gaussian d']:.0f}); a fitted q "
            f"{1000 * facts['fitted seconds']:.1f}. Error of F, of the energy: smooth {facts['gaussian error']:.1%}, "
            f"with a kink {facts['gaussian error kink']:.1%}. It holds if both are cheaper by 10 and both errors below "
            "10 %.",
            judge_all(
                [
                    facts["gaussian seconds"] < 0.1 * facts["sampled seconds"],
                    facts["gaussian seconds"] < 0.1 * facts["sampled seconds many"],
                    facts["gaussian error"] < 0.1,
                    facts["gaussian error kink"] < 0.1,
                ]
            ),
            NONE,
            "figure-6",
        ),
    ]


def _describe_reach(facts: Facts, name: str) -> str:
    """How many rows a method turns at least, and how far, on each score."""
    return ", ".join(
        f"{word} score {facts[f'reach {name} {word} turned']:.0%}"
        + (f", {length:.2f}" if np.isfinite(length := facts[f"reach {name} {word} length"]) else "")
        for word in SCORE_KINDS
    )


def _reaches(facts: Facts, name: str) -> list[bool]:
    """Whether a method turns nearly all rows of each score, and nearly as near as any."""
    return [
        *(facts[f"reach {name} {word} turned"] >= RULES.most for word in SCORE_KINDS),
        *(facts[f"reach {name} {word} length"] <= RULES.near for word in SCORE_KINDS),
    ]


def _is_near(exponent: float, paper: int) -> bool:
    """Whether a measured exponent is the paper's.

    >>> _is_near(1.2, 1), _is_near(0.4, 1)
    (True, False)
    """
    return abs(exponent - paper) < RULES.same_exponent
