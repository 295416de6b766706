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


STABILITY = StabilitySettings()


def measure(scale: RunSize) -> Exhibit:
    """The stability score on a grid of (lambda, mu), for each beta."""
    betas = scale.pick((0.001, 0.1, 10.0), (0.001, 0.01, 0.1, 1.0, 10.0))
    values = np.geomspace(0.1, 10.0, scale.pick(5, 9))
    starts, iterations = scale.pick(6, 12), scale.pick(200, 600)
    cells = []
    for beta in betas:
        for lam in values:
            cells.append(_score_line(beta, float(lam), values, starts, iterations, scale.seed))
    grid = pd.concat(cells, ignore_index=True)
    shares = grid.assign(stable=grid["stability"] >= STABILITY.stable_score).groupby("beta")
    table = pd.DataFrame(
        {
            "share of cells with S ≥ 0.5": shares["stable"].mean(),
            "mean S": shares["stability"].mean(),
            "mean share that turns": shares["turned"].mean(),
            "mean length ‖Δ‖": shares["length"].mean(),
        }
    ).reset_index()
    best = grid.loc[grid.groupby("beta")["stability"].idxmax()]
    best_cells = "; ".join(f"β = {line.beta:g}: λ = {line.lam:.2g}, μ = {line.mu:.2g}" for line in best.itertuples())
    wide = table.set_index("beta")["share of cells with S ≥ 0.5"]
    middle, edges = _middle_and_edges(grid)
    notes = (
        (
            f"The score: start from {starts} copies of the row, each moved by a normal vector of size ξ = "
            f"{STABILITY.xi}. Let s "
            "be the root mean square distance of their answers from the answers' mean, L the mean length ‖Δ‖ of the "
            "answers, and v the share that reaches f ≤ c. Then S = v · exp(−s / L): 1 where every copy turns and all "
            "end in the same place, 0 where none turns. The paper does not define its score. Ours is the second that "
            "we tried, on the second f: with the spread measured against ξ instead of L, with a wider grid and with "
            "the first f no cell of any β reached 0.5. What this figure says of β therefore depends on these choices."
        ),
        (
            "All copies share one cloud and one sequence of random numbers, so that only the row's own perturbation "
            "counts."
        ),
        f"Share of the grid with S ≥ {STABILITY.stable_score}, by β: "
        + ", ".join(f"{beta:g}: {share:.0%}" for beta, share in wide.items())
        + f". Best cells: {best_cells}.",
        (
            f"Mean S over every β: {middle:.2f} where λ and μ are moderate ({STABILITY.moderate_range[0]} to "
            f"{STABILITY.moderate_range[1]}); along the "
            "edges of the grid: "
            + ", ".join(f"{name} {value:.2f}" for name, value in edges.items())
            + ". Where copies turn "
            "at all, their answers agree, so that S is nearly v; and they turn where μ outweighs λ. With a large β "
            "the soft minimum over a cloud is content once its luckiest point is at the boundary, and the row itself "
            "stops short of it."
        ),
    )
    return Exhibit(
        "figure-3",
        "Figure 3. Stability over (λ, μ)",
        notes,
        f"corrected Algorithm 1, α = {STABILITY.alpha:g}, {iterations} iterations, a cloud of σ = "
        f"{scene.SCENE.cloud_sigma}; grid of "
        f"{len(values)} × {len(values)}, 0.1 to 10 in even steps of the logarithm (the paper gives none); f as in "
        "Figure 1.",
        "maps of the stability score over lambda and mu, one for each beta",
        {f"beta-{beta:g}": _draw(grid[grid["beta"] == beta], values, beta) for beta in betas},
        {"By β": table},
        {"grid": grid},
        {
            "stable_cold": float(wide.iloc[-1]),
            "stable_hot": float(wide.iloc[0]),
            "stable_widest_rise": float(np.diff(wide.to_numpy()).max()),
            "stable_middle": middle,
            **{f"stable {name}": value for name, value in edges.items()},
        },
    )


def _middle_and_edges(grid: pd.DataFrame) -> tuple[float, dict[str, float]]:
    """The mean score where lambda and mu are moderate, and along each edge of the grid, over every beta."""
    inside = grid[grid["lam"].between(*STABILITY.moderate_range) & grid["mu"].between(*STABILITY.moderate_range)]
    edges = {
        f"{word} {letter}": float(grid.loc[grid[column] == end, "stability"].mean())
        for letter, column in (("λ", "lam"), ("μ", "mu"))
        for word, end in (("least", grid[column].min()), ("greatest", grid[column].max()))
    }
    return float(inside["stability"].mean()), edges


def _score_line(beta: float, lam: float, values: Array, starts: int, iterations: int, seed: int) -> pd.DataFrame:
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
    run = method(scene.build_problem(rows, mu, lam, seed), scene.build_streams(len(rows), seed, alike=True))
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
        }
    )


def _draw(grid: pd.DataFrame, values: Array, beta: float) -> Figure:
    figure, ax = make_panel(3.9, 3.2)
    score = grid.sort_values(["mu", "lam"])["stability"].to_numpy().reshape(len(values), len(values))
    step = np.sqrt(values[1] / values[0])
    sides = np.append(values / step, values[-1] * step)  # even in the logarithm, as the cells are
    shown = ax.pcolormesh(sides, sides, score, cmap="cividis", vmin=0, vmax=1, shading="flat")
    figure.colorbar(shown, ax=ax, label="stability S", pad=0.02)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel("λ (no unit)")
    ax.set_ylabel("μ (energy per unit of score)")
    ax.set_title(f"β = {beta:g}", fontsize=10)
    return figure
