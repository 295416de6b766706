"""Claims on what the methods cost: Figure 6."""

from __future__ import annotations

import numpy as np

from counterpoise.paper.claims.verdict import FAILS, HOLDS, NONE, PARTLY, RULES, Claim, Facts, judge_all


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
            f"LIME with 5000 samples, Algorithm 1 with 32 and 100 iterations: LIME is dearest from d = {start:.0f} on "
            f"(tried: {facts['usual least d']:.0f} to {most:.0f}); at d = {most:.0f}: "
            + ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in usual.items())
            + ".",
            FAILS if np.isnan(start) else HOLDS if start <= facts["usual least d"] else PARTLY,
            NONE,
            "figure-6",
        ),
        Claim(
            "VI, Fig. 6",
            "The gradient is the cheapest of the three.",
            f"At d = {most:.0f}: " + ", ".join(f"{name} {1000 * value:.0f} ms" for name, value in usual.items()) + ".",
            judge_all([usual["Gradient"] == min(usual.values())]),
            NONE,
            "figure-6",
        ),
        Claim(
            "VI; Table II",
            "It scales to high dimensions.",
            f"Up to d = {facts['reach d']:.0f}, rows turned at least, and length at most over the least known: "
            + ", ".join(
                f"{word} score {facts[f'reach {word} turned']:.0%}, {facts[f'reach {word} length']:.2f}"
                for word in ("linear", "wavy")
            )
            + f"; exponent of d {free[2]:.2f}.",
            judge_all(
                [
                    *(facts[f"reach {word} turned"] >= RULES.most for word in ("linear", "wavy")),
                    *(facts[f"reach {word} length"] <= RULES.near for word in ("linear", "wavy")),
                    _is_near(free[2], 1),
                ]
            ),
            NONE,
            "figure-6",
        ),
        Claim(
            "VI",
            "A Gaussian entropy costs an order of magnitude less than sampling, with a small error.",
            f"Closed form {1000 * facts['gaussian seconds']:.2f} ms against {1000 * facts['sampled seconds']:.2f} (K = "
            f"64, d = {facts['gaussian d']:.0f}); a fitted q {1000 * facts['fitted seconds']:.1f}. Error of F, of "
            f"the energy: smooth {facts['gaussian error']:.1%}, with a kink {facts['gaussian error kink']:.1%}.",
            judge_all(
                [
                    facts["gaussian seconds"] < 0.1 * facts["sampled seconds"],
                    max(facts["gaussian error"], facts["gaussian error kink"]) < 0.1,
                ]
            ),
            NONE,
            "figure-6",
        ),
    ]


def _is_near(exponent: float, paper: int) -> bool:
    """Whether a measured exponent is the paper's.

    >>> _is_near(1.2, 1), _is_near(0.4, 1)
    (True, False)
    """
    return abs(exponent - paper) < RULES.same_exponent
