"""Figure 2: the norm of the gradient against iterations, for inverse temperatures small and large."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from counterpoise.methods.baselines.coordinates import CoordinateChart
from counterpoise.paper import scene
from counterpoise.paper.exhibit import COLOURS, DASHES, Exhibit, RunSize, make_panel
from counterpoise.paper.exhibits.figure1_surface import literal_algorithm1
from counterpoise.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class ConvergenceSettings:
    """What Figure 2 varies, and what it holds."""

    alpha: float = 1e-3  # step size
    small_betas: tuple[float, ...] = (0.001, 0.01, 0.1)  # inverse temperatures that converge by the paper
    large_betas: tuple[float, ...] = (1.0, 3.0, 10.0)  # those that do not
    seed_count: int = 3  # clouds of each run
    converged_share: float = 0.05  # a run has converged if its last gradient norms are below this share of the first
    slower: float = 1.05  # a run is slower than another if it takes more than so many times its iterations
    tail_share: float = 0.1  # last share of the iterations: a run that has converged is quiet there


CONVERGENCE = ConvergenceSettings()


def measure(scale: RunSize) -> Exhibit:
    """Gradient norms over iterations: of the first f drawn, of every f and draw of w counted."""
    iterations, fresh_iterations = scale.pick(600, 6000), scale.pick(60, 600)
    small, large = (those[:: scale.pick(2, 1)] for those in (CONVERGENCE.small_betas, CONVERGENCE.large_betas))
    draws = range(scale.seed, scale.seed + scale.pick(2, 3))
    parts, counted, shaken = [], [], []
    for beta in (*small, *large):
        for number, score in enumerate(scene.SCORES):
            norms = _norms_with_fresh_clouds(beta, fresh_iterations, scale.seed, score)
            shaken.append((number + 1, beta, _share_left(norms)[0]))
            if number == 0:
                parts.append(_norm_table(beta, "fresh", norms))
            for seed in draws:
                norms, uphill = _norms_with_one_cloud(beta, iterations, seed, score)
                counted.append((number + 1, seed, beta, *_share_left(norms), _first_quiet(norms), *uphill))
                if number == 0 and seed == scale.seed:
                    parts.append(_norm_table(beta, "same", norms))
    lines = pd.concat(parts, ignore_index=True)
    runs = pd.DataFrame(
        counted, columns=["f", "draw of w", "beta", "left", "oscillation", "iterations", "uphill", "uphill taken"]
    )
    runs["converged"] = runs["left"] < CONVERGENCE.converged_share
    measured = ["converged", "left", "oscillation", "iterations", "uphill", "uphill taken"]
    table = runs.groupby(["beta", "f"], as_index=False)[measured].mean()
    fresh = pd.DataFrame(shaken, columns=["f", "beta", "left"])
    fresh["converged"] = fresh["left"] < CONVERGENCE.converged_share
    shares = runs.pivot_table(index="beta", columns="f", values="converged")
    summary = "; ".join(
        f"{beta:g}: {', '.join(f'{100 * share:.0f} %' for share in line)}"
        for beta, line in zip(shares.index, shares.to_numpy(), strict=True)
    )
    left = ", ".join(f"{beta:g}: {share:.0%}" for beta, share in fresh.groupby("beta")["left"].mean().items())
    notes = (
        (
            f"A run has converged if less than {CONVERGENCE.converged_share:.0%} of its first gradient norm is left, "
            "on average over the last tenth of the iterations. Share of the runs that have, for each of three f, by β: "
            f"{summary}. The verdict counts all of them: one f, one draw of w and one seed turn it."
        ),
        (
            "Thick: one cloud for the whole run, so that F is one fixed function. A fixed α steps to and fro over the "
            "kink of |f − c|, which a cloud smooths the less the larger β is. Where fewer lines are seen than named, "
            "they coincide."
        ),
        (
            "Dotted: a fresh cloud at every step, as an estimate without common random numbers has it. What is "
            f"left of the first norm is then the sampling error (by β, over three f: {left}). The paper does not say "
            "which it has, so that both count."
        ),
    )
    return Exhibit(
        "figure-2",
        "Figure 2. Gradient norm against iterations",
        notes,
        f"Algorithm 1 as printed, α = {CONVERGENCE.alpha:g}, {iterations} iterations (the paper's 6000 in the full "
        f"form), ε = 0.0001, {CONVERGENCE.seed_count} clouds for each of {len(draws)} draws of w and three f, the "
        f"rest as in Figure 1. Fresh clouds: {fresh_iterations} iterations",
        "gradient norm falling with iterations for six values of beta",
        {"small": _draw(lines, small), "large": _draw(lines, large)},
        {"Share of runs that converge, what is left of the first norm, iterations until then, steps uphill": table},
        {"lines": _thin_lines(lines), "runs": runs},
        _collect_facts(runs, fresh, small, large),
    )


def _collect_facts(
    runs: pd.DataFrame, fresh: pd.DataFrame, small: tuple[float, ...], large: tuple[float, ...]
) -> dict[str, float]:
    """What the claims rest on: who converges, with one cloud and with fresh ones; who is slower; steps uphill."""
    facts: dict[str, float] = {}
    for word, those in (("small", small), ("large", large)):
        for cloud, found in (("", runs), ("fresh ", fresh)):
            shares = found[found["beta"].isin(those)].groupby("f")["converged"].mean()
            facts |= {f"{word} {cloud}converge, f{number}": float(share) for number, share in shares.items()}
        part = runs[runs["beta"].isin(those)]
        facts[f"uphill {word}"] = float(part["uphill"].sum())
        facts[f"uphill taken {word}"] = float(part["uphill taken"].sum())
    quick = runs.pivot_table(index=["f", "draw of w"], columns="beta", values="iterations")
    slower = quick[small[0]] > CONVERGENCE.slower * quick[small[-1]]
    return facts | {f"slower, f{number}": float(part.mean()) for number, part in slower.groupby(level="f")}


def _norms_with_one_cloud(
    beta: float, iterations: int, seed: int, score: scene.SceneScore
) -> tuple[Array, tuple[int, int]]:
    """Gradient norms ``(iterations, clouds)``; how many proposed steps led uphill, and how many of them were taken."""
    rows = scene.build_problem(
        np.tile(scene.SCENE.x0, (CONVERGENCE.seed_count, 1)), np.ones(CONVERGENCE.seed_count), 1.0, seed, score
    )
    states = literal_algorithm1(CONVERGENCE.alpha, beta, iterations).trace(
        rows, scene.build_streams(CONVERGENCE.seed_count, seed)
    )
    norms, values, refused, done = [], [], 0, np.zeros(CONVERGENCE.seed_count, dtype=bool)
    for state, info, ended in states:
        norms.append(np.linalg.norm(state.gradient, axis=1))
        values.append(state.value)
        refused += int((~info.is_accepted & ~done).sum()) if len(values) > 1 else 0
        done = ended
    taken = int((np.diff(values, axis=0) > 0).sum())
    return np.array(norms), (taken + refused, taken)


def _first_quiet(norms: Array) -> float:
    """The first iteration, on average over clouds, from which less than the share of convergence is left of a norm."""
    quiet = norms < CONVERGENCE.converged_share * norms[0]
    return float(np.where(quiet.any(axis=0), quiet.argmax(axis=0), len(norms)).mean())


def _share_left(norms: Array) -> tuple[float, float]:
    """Of the first norm, what is left at the end and how much that varies; 0 where a run stopped on the boundary."""
    tail = norms[-max(1, int(CONVERGENCE.tail_share * len(norms))) :] / norms[0]
    return float(tail.mean()), float(tail.std(axis=0).mean())


def _norms_with_fresh_clouds(beta: float, iterations: int, seed: int, score: scene.SceneScore) -> Array:
    """The same algorithm with a fresh cloud at every step; its steps are longer, so that fewer are enough."""
    method = literal_algorithm1(10 * CONVERGENCE.alpha, beta, iterations)
    rows = scene.build_problem(
        np.tile(scene.SCENE.x0, (CONVERGENCE.seed_count, 1)), np.ones(CONVERGENCE.seed_count), 1.0, seed, score
    )
    rows = replace(rows, energy=replace(rows.energy, two_sided=True))
    chart, draws = (
        CoordinateChart.of(rows, rows.region.nearest_feasible),
        scene.build_streams(CONVERGENCE.seed_count, seed),
    )
    z, norms = chart.origin_coordinates, []
    for _ in range(iterations):
        half = draws.normal((scene.SCENE.cloud_samples // 2, 2))
        noise = np.concatenate([half, -half], axis=1)
        state = method.start(chart, noise, z)
        norms.append(np.linalg.norm(state.gradient, axis=1))
        z = method.step(chart, noise, state, draws.uniform((1,))[:, 0])[0].z
    return np.array(norms)


def _norm_table(beta: float, cloud: str, norms: Array) -> pd.DataFrame:
    iteration = np.arange(len(norms))
    return pd.DataFrame(
        {"beta": beta, "cloud": cloud, "iteration": iteration, "norm": norms.mean(axis=1), "std": norms.std(axis=1)}
    )


def _thin_lines(lines: pd.DataFrame) -> pd.DataFrame:
    return lines[lines["iteration"] % 10 == 0]


def _draw(lines: pd.DataFrame, betas: tuple[float, ...]) -> Figure:
    figure, ax = make_panel()
    for beta, colour, dash in zip(betas, COLOURS, DASHES, strict=False):
        for cloud, width in (("same", 1.6), ("fresh", 0.7)):
            part = lines[(lines["beta"] == beta) & (lines["cloud"] == cloud)]
            style = dash if cloud == "same" else ":"
            label = f"β = {beta:g}" if cloud == "same" else None
            ax.plot(part["iteration"], part["norm"].clip(lower=1e-6), color=colour, ls=style, lw=width, label=label)
    ax.plot([], [], color="#555555", ls=":", lw=0.8, label="fresh cloud, α = 0.01")
    ax.set_yscale("log")
    ax.set_xlabel("iteration")
    ax.set_ylabel("gradient norm ‖∇F‖ (energy per unit)")
    ax.legend(frameon=False, fontsize=8)
    return figure
