"""Figure 3: how stable counterfactuals are over lambda and mu, for several inverse temperatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.paper import scene
from counterpoise.paper.exhibit import Exhibit, RunSize, make_panel
from counterpoise.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class StabilitySettings:
    """How Figure 3 measures the stability of an answer."""

    xi: float = 0.1  # perturbation of the row whose effect on the answer is measured
    stable_score: float = 0.5  # score from which an answer counts as stable
    moderate_range: tuple[float, float] = (0.3, 3.3)  # lambda and mu of the middle of the grid
    alpha: float = 2e-3  # step size
    same_share: float = 0.02  # shares of the grid that are nearer than this are equal


STABILITY = StabilitySettings()


SCORE_NAMES = {"stability": "S = v · exp(−s / L)", "strict": "S′ = v · exp(−s / ξ√2)"}
"""Two scores: the spread s of the answers against their length, and against the perturbation of the row."""


def measure(scale: RunSize) -> Exhibit:
    """Two scores on a grid of (lambda, mu), for each beta and each f; the first f and score are drawn."""
    betas = scale.pick((0.001, 0.1, 10.0), (0.001, 0.01, 0.1, 1.0, 10.0))
    values = np.geomspace(0.1, 10.0, scale.pick(5, 7))
    starts, iterations = scale.pick(4, 8), scale.pick(80, 600)
    draws = range(scale.seed, scale.seed + scale.pick(2, 3))
    cells = [
        _score_line(beta, float(lam), values, starts, iterations, draw, score).assign(f=number + 1, draw=draw)
        for number, score in enumerate(scene.SCORES)
        for draw in draws
        for beta in betas
        for lam in values
    ]
    grid = pd.concat(cells, ignore_index=True)
    lines = [
        {"f": number, "score": name, "draw of w": draw, **_judge_grid(part, name)}
        for (number, draw), part in grid.groupby(["f", "draw"])
        for name in SCORE_NAMES
    ]
    frame = pd.DataFrame(lines)
    facts = {
        f"stable {word}, f{number} {name}": float(part[word].mean())
        for (number, name), part in frame.groupby(["f", "score"])
        for word in ("widens", "middle", "somewhere")
    }
    edges = pd.DataFrame([{"f": number, **_compare_ends(part)} for (number, _), part in grid.groupby(["f", "draw"])])
    facts |= {
        f"{word}, f{number}": float(part[word].mean())
        for number, part in edges.groupby("f")
        for word in edges.columns[1:]
    }
    table = frame.drop(columns=["widens", "middle", "somewhere"]).replace({"score": SCORE_NAMES})
    shown = grid[(grid["f"] == 1) & (grid["draw"] == scale.seed)]
    turned = shown[shown["turned"] > 0]
    agree = float((turned["stability"] / turned["turned"]).mean())
    both = shown.pivot_table(index=["lam", "mu"], columns="beta", values="length", dropna=False)[[betas[0], betas[-1]]]
    solved = shown.pivot_table(index=["lam", "mu"], columns="beta", values="turned")[[betas[0], betas[-1]]].min(axis=1)
    lengths = both[solved > 0].dropna()
    facts["length hot over cold"] = float((lengths[betas[0]] / lengths[betas[-1]]).mean()) if len(lengths) else np.nan
    notes = (
        (
            f"Start from {starts} copies of the row, each moved by a normal vector of size ξ = {STABILITY.xi}. Let v "
            "be the share of them that reaches f ≤ c, s the root mean square distance of their answers from the "
            "answers' mean, L the answers' mean length. The paper does not define its score; two are measured: "
            f"{'; '.join(SCORE_NAMES.values())}. The maps show the first, for the first f. Where copies turn at all, "
            f"their answers agree (S / v is {agree:.2f} on average): the map is, in effect, one of which (λ, μ) turn "
            "the row."
        ),
        (
            "The table has, for every f, draw of w and score, the share of the grid with a score of "
            f"{STABILITY.stable_score} or more at each β, the mean score where λ and μ are moderate "
            f"({STABILITY.moderate_range[0]} to {STABILITY.moderate_range[1]}), and that along each edge of the grid. "
            "What f and score disagree on depends on what the paper leaves open."
        ),
        (
            "All copies share one cloud and one sequence of random numbers, so that only the row's own perturbation "
            "counts. With a large β the soft minimum over a cloud is content once its luckiest point is at the "
            "boundary, and the row itself stops short of it."
        ),
    )
    return Exhibit(
        "figure-3",
        "Figure 3. Share of copies that turn, times how well their answers agree, over (λ, μ)",
        notes,
        f"corrected Algorithm 1, α = {STABILITY.alpha:g}, {iterations} iterations, a cloud of σ = "
        f"{scene.SCENE.cloud_sigma}; grid of {len(values)} × {len(values)}, 0.1 to 10 in even steps of the logarithm "
        f"(the paper gives none); the three f of Figure 1, {len(draws)} draws of w",
        "maps of the score over lambda and mu, one for each beta",
        {f"beta-{beta:g}": _draw(shown[shown["beta"] == beta], values, beta) for beta in betas},
        {"Every f, draw of w and score": table},
        {"grid": grid},
        facts,
    )


def _judge_grid(part: pd.DataFrame, score: str) -> dict[str, object]:
    """One f, draw of w and score: the stable share of the grid by beta, middle and edges, and what follows."""
    wide = (part[score] >= STABILITY.stable_score).groupby(part["beta"]).mean()
    middle, edges = _middle_and_edges(part, score)
    return {
        **{f"β = {beta:g}": f"{value:.0%}" for beta, value in wide.items()},
        "mean where moderate": middle,
        **edges,
        "widens": float(wide.iloc[0] > wide.iloc[-1] + STABILITY.same_share),
        "middle": float(np.mean([value < middle for value in edges.values()])),
        "somewhere": float((wide > 0).any()),
    }


def _compare_ends(grid: pd.DataFrame) -> dict[str, bool]:
    """Whether fewer copies turn, and answers are longer, at the ends of the grid than where lambda and mu are moderate.

    Answers are those of cells that turn some; an end that turns nothing has none that are longer.
    """
    low, high = STABILITY.moderate_range
    inside = grid[grid["lam"].between(low, high) & grid["mu"].between(low, high)]
    ends = {
        "greatest λ": grid[grid["lam"] == grid["lam"].max()],
        "least μ": grid[grid["mu"] == grid["mu"].min()],
        "least λ": grid[grid["lam"] == grid["lam"].min()],
        "greatest μ": grid[grid["mu"] == grid["mu"].max()],
    }
    lengths = {name: part.loc[part["turned"] > 0, "length"].mean() for name, part in {"": inside, **ends}.items()}
    fewer = {f"fewer at {name}": ends[name]["turned"].mean() < inside["turned"].mean() for name in list(ends)[:2]}
    return fewer | {f"longer at {name}": lengths[name] > lengths[""] for name in list(ends)[2:]}


def _middle_and_edges(grid: pd.DataFrame, score: str) -> tuple[float, dict[str, float]]:
    """The mean score where lambda and mu are moderate, and along each edge of the grid, over every beta."""
    inside = grid[grid["lam"].between(*STABILITY.moderate_range) & grid["mu"].between(*STABILITY.moderate_range)]
    edges = {
        f"{word} {letter}": float(grid.loc[grid[column] == end, score].mean())
        for letter, column in (("λ", "lam"), ("μ", "mu"))
        for word, end in (("least", grid[column].min()), ("greatest", grid[column].max()))
    }
    return float(inside[score].mean()), edges


def _score_line(
    beta: float, lam: float, values: Array, starts: int, iterations: int, seed: int, score: scene.SceneScore
) -> pd.DataFrame:
    """Scores of one lambda and every mu."""
    shift = STABILITY.xi * np.random.default_rng(seed + 1).standard_normal((starts, 2))
    rows = np.tile(np.array(scene.SCENE.x0) + shift, (len(values), 1))
    mu = np.repeat(values, starts)
    method = Algorithm1(
        alpha=STABILITY.alpha,
        beta=beta,
        epsilon=0.05,
        c1=1e4,
        c2=np.inf,
        iterations=iterations,
        sigma=scene.SCENE.cloud_sigma,
        samples=32,
    )
    run = method(scene.build_problem(rows, mu, lam, seed, score), scene.build_streams(len(rows), seed, alike=True))
    x = run.x[:, 0].reshape(len(values), starts, 2)
    turned = run.valid[:, 0].reshape(len(values), starts).mean(axis=1)
    spread = np.sqrt(((x - x.mean(axis=1, keepdims=True)) ** 2).sum(axis=-1).mean(axis=1))
    length = np.linalg.norm(run.x[:, 0] - rows, axis=1).reshape(len(values), starts).mean(axis=1)
    return pd.DataFrame(
        {
            "beta": beta,
            "lam": lam,
            "mu": values,
            "turned": turned,
            "spread": spread,
            "length": length,
            "stability": turned * np.exp(-spread / np.maximum(length, 1e-9)),
            "strict": turned * np.exp(-spread / (STABILITY.xi * np.sqrt(2))),
        }
    )


def _draw(grid: pd.DataFrame, values: Array, beta: float) -> Figure:
    figure, ax = make_panel(3.9, 3.2)
    score = grid.sort_values(["mu", "lam"])["stability"].to_numpy().reshape(len(values), len(values))
    step = np.sqrt(values[1] / values[0])
    sides = np.append(values / step, values[-1] * step)  # even in the logarithm, as the cells are
    shown = ax.pcolormesh(sides, sides, score, cmap="cividis", vmin=0, vmax=1, shading="flat")
    figure.colorbar(shown, ax=ax, label="S = v · exp(−s / L)", pad=0.02)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("λ (no unit)")
    ax.set_ylabel("μ (energy per unit of score)")
    ax.set_title(f"β = {beta:g}", fontsize=10)
    return figure
