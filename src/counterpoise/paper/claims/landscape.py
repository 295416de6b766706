"""Claims on the landscape: Figures 1 to 3, local minima, entropy, beta, basins, gradients."""

from __future__ import annotations

from counterpoise.paper.claims.verdict import (
    FAILS,
    HOLDS,
    NONE,
    OPEN,
    OURS,
    PAPER_FORMS,
    PARTLY,
    RULES,
    Claim,
    Facts,
    format_shares,
    interval,
    judge_above,
    judge_all,
    judge_shares,
    shares_by_score,
)
from counterpoise.paper.paired import Interval


def judge_figures(facts: Facts) -> list[Claim]:
    """Figures 1 to 3: over three f and several draws of w, since the paper gives neither."""
    falls, reaches = shares_by_score(facts, "path falls"), shares_by_score(facts, "path reaches")
    hill, left = shares_by_score(facts, "path hill"), shares_by_score(facts, "path left")
    small, large = shares_by_score(facts, "small converge"), shares_by_score(facts, "large converge")
    widens, middle = shares_by_score(facts, "stable widens"), shares_by_score(facts, "stable middle")
    return [
        Claim(
            "IV, Fig. 1",
            "The path of Algorithm 1 descends into a lower valley of the free energy.",
            f"F falls in {format_shares(falls)} of the draws of w, for each of three f.",
            judge_shares(falls),
            NONE,
            "figure-1",
        ),
        Claim(
            "IV, Fig. 1; VII",
            "Where that path ends is a counterfactual.",
            f"The end lies on the boundary in {format_shares(reaches)} of the draws, for each of three f.",
            judge_shares(reaches),
            NONE,
            "figure-1",
        ),
        Claim(
            "IV, Fig. 1",
            "There is a hill on the right of the surface and lower ground on the left.",
            f"A hill on the right: {format_shares(hill)} of the draws, for each f. Some cell with Δ₀ < −4 below the "
            f"row: {format_shares(left)}. f, which the paper does not give, decides it.",
            judge_shares(min(pair) for pair in zip(hill, left, strict=True)),
            NONE,
            "figure-1",
        ),
        Claim(
            "IV, Fig. 2",
            "For β of 0.001 to 0.1 the gradient norm goes to 0.",
            f"Runs that converge, for each of three f: {format_shares(small)}.",
            judge_shares(small),
            NONE,
            "figure-2",
        ),
        Claim(
            "IV",
            "For β between 1 and 10 the algorithm oscillates and does not converge.",
            f"Runs that do converge, for each of three f: {format_shares(large)}. With a fresh cloud at every step no "
            f"β converges: the norm stays at {facts['norm_fresh_large']:.2g}, and at {facts['norm_fresh_small']:.2g} "
            "for small β.",
            judge_shares(1 - share for share in large),
            NONE,
            "figure-2",
        ),
        Claim(
            "IV, Fig. 3",
            "A smaller β widens the region of (λ, μ) with stable counterfactuals; a larger one shrinks it.",
            f"It does in {sum(share > 0.5 for share in widens)} of {len(widens)} pairs of an f and a score, neither of "
            "which the paper gives; at one f no cell is stable at any β.",
            judge_shares(widens),
            NONE,
            "figure-3",
        ),
        Claim(
            "IV, Fig. 3",
            "Moderate λ and μ give the most stable counterfactuals; too small or too large ones do not.",
            f"Of the four edges of the grid, less stable than its middle: {format_shares(middle)}, by f and score.",
            judge_shares(middle),
            NONE,
            "figure-3",
        ),
    ]


def judge_minima(facts: Facts) -> list[Claim]:
    """Local minima, entropy, annealing, a small beta, a diverse set."""
    entropy, noise, longer = (interval(facts, key) for key in ("entropy gains", "noise gains", "hot over cold"))
    near = {name: facts[f"near {name}"] for name in (*PAPER_FORMS, OURS)}
    answers = {name: facts[f"answers {name}"] for name in (*PAPER_FORMS, OURS)}
    hot, cold = shares_by_score(facts, "flat hot"), shares_by_score(facts, "flat cold")
    spread = {name: facts[f"spread {name}"] for name in PAPER_FORMS}
    return [
        Claim(
            "Abstract; I; VII",
            "The method escapes local minima and finds the smallest change.",
            "Runs on wavy scores that end within a tenth of the nearest valid point: "
            + ", ".join(f"{name} {share:.0%}" for name, share in near.items())
            + ".",
            judge_shares([max(near[name] for name in PAPER_FORMS)]),
            judge_shares([near[OURS]]),
            "local-minima",
        ),
        Claim(
            "I; III; VI",
            "The entropy term keeps the search from being trapped in local optima.",
            f"Share of such runs with the entropy of a cloud, less that without: {entropy.to_text('+.0%')}. As printed "
            "the entropy is one constant and does nothing.",
            judge_against_zero(entropy),
            NONE,
            "local-minima",
        ),
        Claim(
            "I; III; VII",
            "Simulated annealing, with β rising, escapes local minima.",
            f"Langevin less plain descent, both without entropy: {noise.to_text('+.0%')}.",
            judge_against_zero(noise),
            NONE,
            "local-minima",
        ),
        Claim(
            "IV",
            "β controls how readily uphill moves are taken: small explores, large exploits.",
            "As printed the proposal follows from x alone: spread over seeds "
            + ", ".join(f"{value:.3f} ({name})" for name, value in spread.items())
            + ".",
            judge_all([spread[PAPER_FORMS[0]] > 0, spread[PAPER_FORMS[2]] > spread[PAPER_FORMS[1]]]),
            NONE,
            "figure-4",
        ),
        Claim(
            "IV, Eq. (10)",
            "β → 0 flattens the landscape: the eigenvalues of the Hessian fall.",
            f"Largest eigenvalue at the lowest point, β = 0.001 against 100, for three f: "
            f"{'; '.join(f'{a:.3g} against {b:.2g}' for a, b in zip(hot, cold, strict=True))}. As printed, with an "
            "entropy over all of space, β changes nothing.",
            judge_shares(float(a < b) for a, b in zip(hot, cold, strict=True)),
            NONE,
            "local-minima",
        ),
        Claim(
            "IV",
            "A small β costs slightly larger changes.",
            f"Length at β = 0.01 over that at 10, rows that both turn: {longer.to_text('.2f')}.",
            FAILS if not longer.low > 1 else HOLDS if longer.mean < 1.25 else PARTLY,
            NONE,
            "local-minima",
        ),
        Claim(
            "III; Table II",
            "Minimising F gives a diverse set of counterfactuals.",
            "Different answers to a row, over seeds: "
            + ", ".join(f"{name} {value:.1f}" for name, value in answers.items())
            + ". One run gives one answer; ours lists alternatives where it is asked to.",
            judge_shares([min(1.0, max(0.0, max(answers[name] for name in PAPER_FORMS) - 1))]),
            NONE,
            "local-minima",
        ),
    ]


def judge_basins(facts: Facts) -> list[Claim]:
    """Wide basins, and gradients as importance."""
    heavier, wider, rank = (interval(facts, key) for key in ("heavier kept", "wider kept", "gradient rank"))
    return [
        Claim(
            "III",
            "An answer in a broad basin of low energy is a robust one.",
            f"Of two basins of one alert the heavier is kept more in {heavier.to_text('.0%')}, the wider in "
            f"{wider.to_text('.0%')} ({facts['basin pairs']:.0f} pairs, {facts['basin rows']:.0f} alerts).",
            NONE,
            _judge_coin([heavier, wider]),
            "basins",
        ),
        Claim(
            "III",
            "The gradient of the landscape tells which features matter.",
            f"Rank correlation of slopes with what each feature can do alone: {rank.to_text('.2f')}.",
            HOLDS if rank.low > 0.7 else PARTLY if rank.low > 0.3 else FAILS,
            NONE,
            "basins",
        ),
    ]


def judge_against_zero(found: Interval) -> str:
    """A gain: holds above 0, fails if there is none or a loss; open where the interval leaves both.

    >>> judge_against_zero(Interval(0.1, -0.1, 0.3)), judge_against_zero(Interval(-0.2, -0.3, -0.1))
    ('cannot be judged', 'does not hold')
    """
    return OPEN if found.low <= 0 < found.high else judge_above([found])


def _judge_coin(found: list[Interval]) -> str:
    """Shares against those of a coin; open where the intervals leave both."""
    words = [HOLDS if one.low > 0.5 else FAILS if one.high < 0.5 else OPEN for one in found]
    if HOLDS in words:
        return HOLDS if set(words) == {HOLDS} else PARTLY
    return FAILS if set(words) == {FAILS} else OPEN


__all__ = ["RULES", "judge_basins", "judge_figures", "judge_minima"]
