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
    format_intervals,
    format_shares,
    interval,
    intervals_by_score,
    judge_above,
    judge_shares,
    shares_by_score,
)
from counterpoise.paper.paired import Interval

GRID_ENDS = ("fewer at greatest λ", "fewer at least μ", "longer at least λ", "longer at greatest μ")
"""What the paper says of the edges of Figure 3's grid, each a share of the draws of w, for each f."""


def judge_figures(facts: Facts) -> list[Claim]:
    """Figures 1 to 3: over three f and several draws of w, since the paper gives neither."""
    falls, reaches = shares_by_score(facts, "path falls"), shares_by_score(facts, "path reaches")
    hill, left = shares_by_score(facts, "path hill"), shares_by_score(facts, "path left")
    small, large = shares_by_score(facts, "small converge"), shares_by_score(facts, "large converge")
    shaken, harder = shares_by_score(facts, "small fresh converge"), shares_by_score(facts, "large fresh converge")
    slower = shares_by_score(facts, "slower")
    stable = shares_by_score(facts, "stable somewhere")
    widens, middle = shares_by_score(facts, "stable widens"), shares_by_score(facts, "stable middle")
    ends = {word: shares_by_score(facts, word) for word in GRID_ENDS}
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
            f"Runs that converge, for each of three f: with one cloud for the whole run {format_shares(small)}; with a "
            f"fresh cloud at every step {format_shares(shaken)}. The paper does not say which.",
            judge_shares([*small, *shaken]),
            NONE,
            "figure-2",
        ),
        Claim(
            "IV",
            "For β between 1 and 10 the algorithm oscillates and does not converge.",
            f"Runs that do converge, for each of three f: with one cloud {format_shares(large)}; with a fresh one at "
            f"every step {format_shares(harder)}.",
            judge_shares(1 - share for share in (*large, *harder)),
            NONE,
            "figure-2",
        ),
        Claim(
            "IV",
            "A smaller β makes convergence slower, more meandering.",
            f"Draws in which β = 0.001 takes longer than 0.1, one cloud, for each f: {format_shares(slower)}.",
            judge_shares(slower),
            NONE,
            "figure-2",
        ),
        Claim(
            "IV, Fig. 3",
            "A smaller β widens the region of (λ, μ) with stable counterfactuals; a larger one shrinks it.",
            f"Draws of w in which it does: {format_shares(widens)}, by f and score, neither of which the paper gives; "
            f"in which any cell is stable at any β: {format_shares(stable)}.",
            judge_shares(widens),
            NONE,
            "figure-3",
        ),
        Claim(
            "IV, Fig. 3",
            "Moderate λ and μ give the most stable counterfactuals; too small or too large ones do not.",
            "Of the four edges of the grid, less stable than its middle, over draws of w: "
            f"{format_shares(middle)}, by f and score.",
            judge_shares(middle),
            NONE,
            "figure-3",
        ),
        Claim(
            "IV, Fig. 3",
            "A large λ prevents changes and a small μ does not cross; a small λ or a large μ changes more than needed.",
            f"Draws of w in which fewer copies turn at the greatest λ than in the middle, for each f: "
            f"{format_shares(ends['fewer at greatest λ'])}; at the least μ: {format_shares(ends['fewer at least μ'])}; "
            f"in which answers of cells that turn are longer at least λ: {format_shares(ends['longer at least λ'])};"
            f" at the greatest μ: {format_shares(ends['longer at greatest μ'])}.",
            judge_shares(share for shares in ends.values() for share in shares),
            NONE,
            "figure-3",
        ),
    ]


def judge_minima(facts: Facts) -> list[Claim]:
    """Local minima, entropy, annealing, a small beta, a diverse set."""
    entropy, noise, longer = (
        intervals_by_score(facts, key) for key in ("entropy gains", "noise gains", "hot over cold")
    )
    kept, explores = (intervals_by_score(facts, key) for key in ("entropy kept", "hot explores"))
    printed, corrected, steadier = (
        intervals_by_score(facts, f"checks {key}") for key in ("printed", "corrected", "kept")
    )
    robust = shares_by_score(facts, "condition 31")
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
            "Share of such runs with the entropy of a cloud, less that without, for each of two f: "
            f"{format_intervals(entropy, '+.0%')}. As printed the entropy is one constant and does nothing.",
            judge_above(entropy),
            NONE,
            "local-minima",
        ),
        Claim(
            "I; III; VII",
            "Simulated annealing, with β rising, escapes local minima.",
            f"Langevin less plain descent, both without entropy, for each of two f: {format_intervals(noise, '+.0%')}.",
            judge_above(noise),
            NONE,
            "local-minima",
        ),
        Claim(
            "III; Table II",
            "The entropy term makes answers robust to perturbations.",
            "Noisy copies that stay valid, with the entropy of a cloud less without, rows that both turn, for each of "
            f"two f: {format_intervals(kept, '+.0%')}. The search stops at the boundary with it as without.",
            judge_above(kept),
            NONE,
            "local-minima",
        ),
        Claim(
            "VII",
            "The gradient and curvature checks (C1, C2) of the listing keep the search stable.",
            f"With C1 = {facts['c1']:g} and C2 = {facts['c2']:g} less without, for each of two f: runs that turn, as "
            f"printed {format_intervals(printed, '+.0%')}, corrected {format_intervals(corrected, '+.0%')}; copies "
            f"of answers that stay valid, corrected {format_intervals(steadier, '+.0%')}. A refused "
            "step leaves x where it is, so that as printed it is refused for ever.",
            judge_above([*printed, *corrected, *steadier]),
            NONE,
            "local-minima",
        ),
        Claim(
            "VII, Eq. (31)",
            "λ_max ≤ 2 ‖∇F‖ / ξ is a condition that a robust counterfactual meets.",
            f"It holds at the lowest point of F at {format_shares(robust)} of six β, for each f: there the slope is 0.",
            judge_shares(robust),
            NONE,
            "local-minima",
        ),
        Claim(
            "IV",
            "β controls how readily uphill moves are taken: small explores, large exploits.",
            f"As printed, of the proposed steps uphill, {_taken(facts, 'small')} are taken for β up to 0.1, "
            f"{_taken(facts, 'large')} from 1 on. Spread of the ends over seeds at β = 0.01, less that at 10, "
            f"corrected, for each of two f: {format_intervals(explores, '+.2f')}. As printed a proposal follows from x "
            f"alone, so that acceptance explores nothing: spread over seeds on the alert {spread[PAPER_FORMS[0]]:.3f}.",
            _judge_control(facts, explores),
            NONE,
            "figure-2",
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
            f"Length at β = 0.01 over that at 10, rows that both turn, two f: {format_intervals(longer, '.2f')}.",
            _judge_slightly(longer),
            NONE,
            "local-minima",
        ),
        Claim(
            "III; Table II",
            "Minimising F gives a diverse set of counterfactuals.",
            "Different answers to a row that is turned at all, over seeds: "
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
            judge_above([heavier, wider], 0.5),
            "basins",
        ),
        Claim(
            "III",
            "The gradient of the landscape tells which features matter.",
            f"Rank correlation of slopes with what each feature can do alone: {rank.to_text('.2f')}.",
            _judge_rank(rank),
            NONE,
            "basins",
        ),
    ]


def _judge_rank(rank: Interval) -> str:
    """A rank correlation: above 0.7 it tells, below 0.3 it does not; an interval over the lower limit says neither."""
    if rank.low > RULES.tells:
        return HOLDS
    return PARTLY if rank.low > RULES.hints else FAILS if rank.high < RULES.hints else OPEN


def _taken(facts: Facts, word: str) -> str:
    """How many of the proposed steps uphill were taken, in words."""
    return f"{facts[f'uphill taken {word}']:.0f} of {facts[f'uphill {word}']:.0f}"


def _judge_slightly(longer: list[Interval]) -> str:
    """Whether changes are longer, and only slightly: where they may be much longer, it holds partly at most."""
    word = judge_above(longer, 1.0)
    return PARTLY if word == HOLDS and max(one.high for one in longer) >= RULES.slightly else word


def _judge_control(facts: Facts, explores: list[Interval]) -> str:
    """Whether a small beta takes more of the steps uphill, and explores more by it."""
    taken = [facts[f"uphill taken {word}"] / max(1.0, facts[f"uphill {word}"]) for word in ("small", "large")]
    more = judge_above(explores)
    if taken[0] > taken[1]:
        return HOLDS if more == HOLDS else PARTLY
    return PARTLY if more == HOLDS else more


__all__ = ["RULES", "judge_basins", "judge_figures", "judge_minima"]
