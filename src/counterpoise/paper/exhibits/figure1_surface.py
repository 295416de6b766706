"""Figure 1: the free-energy surface over the perturbations, and the way of Algorithm 1 across it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.paper import scene
from counterpoise.paper.exhibit import COLOURS, Exhibit, RunSize, make_panel
from counterpoise.physics import cloud
from counterpoise.physics.estimators.monte_carlo import cloud_free_energy
from counterpoise.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Figure1Settings:
    """Algorithm 1 as the caption of Figure 1 sets it."""

    alpha: float = 0.01  # step size
    beta: float = 0.01  # inverse temperature
    iterations: int = 500  # at most
    epsilon: float = 1e-4  # distance of f from c at which it stops
    left_of: float = -4.0  # the left of the plot: perturbations of feature 0 below this
    boundary: float = 1e-3  # |f - c| below which a path has ended on the boundary


SURFACE = Figure1Settings()


def literal_algorithm1(alpha: float, beta: float, iterations: int) -> Algorithm1:
    """Algorithm 1 with the captions' parameters, ``|f - c|`` and the listing's flow, over our cloud.

    >>> literal_algorithm1(0.01, 0.01, 500).printed
    True
    """
    return Algorithm1.literal(
        alpha=alpha,
        beta=beta,
        epsilon=SURFACE.epsilon,
        c1=np.inf,
        c2=np.inf,
        iterations=iterations,
        sigma=scene.SCENE.cloud_sigma,
        samples=scene.SCENE.cloud_samples,
        probability=False,
    )


def free_energies(x: Array, beta: float, seed: int, score: scene.SceneScore = scene.SCORES[0]) -> Array:
    """F of Eq. (6) at points ``(..., 2)``, over a cloud that all of them share.

    >>> free_energies(np.full((3, 2), 3.0), 0.01, 0).shape
    (3,)
    """
    noise = cloud.draw_antithetic(np.random.default_rng(seed), 4 * scene.SCENE.cloud_samples, 2)
    action = beta * scene.energies(cloud.points(x, scene.SCENE.cloud_sigma, noise), seed, score)
    return cloud_free_energy(
        action, np.broadcast_to(noise, (*action.shape, 2)), scene.SCENE.cloud_sigma, 1 / beta
    ).value


def trace_path(score: scene.SceneScore, seed: int) -> pd.DataFrame:
    """Where Algorithm 1 goes with the caption's parameters, w drawn by ``seed``."""
    rows = scene.build_problem(np.array([scene.SCENE.x0]), np.ones(1), 1.0, seed, score)
    method = literal_algorithm1(SURFACE.alpha, SURFACE.beta, SURFACE.iterations)
    states = [state for state, _, _ in method.trace(rows, scene.build_streams(1, seed))]
    return pd.DataFrame(
        {
            "iteration": np.arange(len(states)),
            "delta_0": [state.z[0, 0] - scene.SCENE.x0[0] for state in states],
            "delta_1": [state.z[0, 1] - scene.SCENE.x0[1] for state in states],
            "free_energy": [state.value[0] for state in states],
            "gradient_norm": [float(np.linalg.norm(state.gradient[0])) for state in states],
            "f": [-state.margin[0] for state in states],
        }
    )


def measure_draws(seeds: range) -> pd.DataFrame:
    """For each f and each draw of w: where the path ends, and whether the surface is as the text describes it."""
    axis = np.linspace(scene.SCENE.delta_low, scene.SCENE.delta_high, 25)
    delta = np.stack(np.meshgrid(axis, axis), axis=-1)
    left, right = delta[..., 0] < SURFACE.left_of, delta[..., 0] > 0
    lines = []
    for number, score in enumerate(scene.SCORES):
        for seed in seeds:
            path = trace_path(score, seed)
            value = free_energies(delta + np.array(scene.SCENE.x0), SURFACE.beta, seed, score)
            start, end = path.iloc[0], path.iloc[-1]
            lines.append(
                {
                    "f": number + 1,
                    "seed": seed,
                    "fall of F": start["free_energy"] - end["free_energy"],
                    "f at the end": end["f"],
                    "least F on the left, less the row's": value[left].min() - start["free_energy"],
                    "highest F on the right, less that on the left": value[right].max() - value[left].max(),
                }
            )
    return pd.DataFrame(lines)


def measure(scale: RunSize) -> Exhibit:
    """The surface on a grid, the trajectory with the caption's parameters, and both again with other f and w."""
    axis = np.linspace(scene.SCENE.delta_low, scene.SCENE.delta_high, scale.pick(49, 97))
    delta = np.stack(np.meshgrid(axis, axis), axis=-1)
    value = free_energies(delta + np.array(scene.SCENE.x0), SURFACE.beta, scale.seed)
    path = trace_path(scene.SCORES[0], scale.seed)
    grid = pd.DataFrame(
        {"delta_0": delta[..., 0].ravel(), "delta_1": delta[..., 1].ravel(), "free_energy": value.ravel()}
    )
    first, last = path.iloc[0], path.iloc[-1]
    where = f"({last['delta_0']:.2f}, {last['delta_1']:.2f})"
    least = grid.iloc[int(grid["free_energy"].to_numpy().argmin())]
    draws = measure_draws(range(scale.seed, scale.seed + scale.pick(4, 20)))
    by_score = draws.groupby("f")
    facts = {
        f"path {name}, f{number}": float(share)
        for name, shares in {
            "falls": by_score["fall of F"].agg(lambda fall: (fall > 0).mean()),
            "reaches": by_score["f at the end"].agg(lambda f: (f.abs() < SURFACE.boundary).mean()),
            "left": by_score["least F on the left, less the row's"].agg(lambda rise: (rise < 0).mean()),
            "hill": by_score["highest F on the right, less that on the left"].agg(lambda rise: (rise > 0).mean()),
        }.items()
        for number, share in shares.items()
    }
    lower = (draws["least F on the left, less the row's"] < 0).sum()
    notes = (
        (
            f"F falls from {first['free_energy']:.1f} at the row, Δ = 0, to {last['free_energy']:.1f} at Δ = {where}; "
            f"the least of the grid is {least['free_energy']:.1f}, at ({least['delta_0']:.2f}, "
            f"{least['delta_1']:.2f}). The paper sees lower ground on the left: in {lower} of {len(draws)} surfaces "
            f"(three f, {draws['seed'].nunique()} draws of w) some cell with Δ₀ < {SURFACE.left_of:g} lies below the "
            "row: with λ = 1 and w of at least 1 a way of 4 costs 8 or more, and f, which the paper does not give, "
            "decides whether it gains that much."
        ),
        _describe_end(float(last["f"])),
    )
    return Exhibit(
        "figure-1",
        "Figure 1. The free energy over the perturbations, and the path of Algorithm 1",
        notes,
        f"Δ ∈ [−10, 2]², λ = μ = 1, w ~ U(1, 10) = {np.round(scene.draw_weights(scale.seed), 2).tolist()}, x0 "
        f"= (3, 3), c = 0, α = {SURFACE.alpha}, β = {SURFACE.beta}, {SURFACE.iterations} iterations, ε = "
        f"{SURFACE.epsilon:g} (the caption's). Chosen by us: f, drawn with the first of "
        f"{'; '.join(score.formula for score in scene.SCORES)}; F over a cloud of σ = {scene.SCENE.cloud_sigma}; "
        "no C1, no C2. The path is that of the listing",
        "surface of the free energy with a path that descends from the right into a valley",
        {"surface": _draw_surface(axis, value, path), "map": _draw_map(axis, value, path)},
        {"Each f, mean over the draws of w": by_score.mean().reset_index().drop(columns="seed")},
        {"surface": grid, "path": path, "draws": draws},
        facts,
        surface_data=_surface_data(axis, value, path),
    )


def _describe_end(f: float) -> str:
    """What the end of the path is worth."""
    if abs(f) < SURFACE.epsilon:
        return f"The path ends on the boundary: f is {f:.2g}, and c is 0; on either side of it, as |f − c| allows."
    return (
        f"The end of the path is a valley of F, but no counterfactual: f is {f:.2f} there, and c is 0. With λ = μ = 1 "
        "and weights of up to 10 a step towards the boundary costs more than it gains. A minimum of the energy is "
        "valid only where μ‖∇f‖ outweighs the slope of the other terms."
    )


def _surface_data(axis: Array, value: Array, path: pd.DataFrame) -> dict[str, object]:
    """What the page's script draws: a coarse surface and the path, rounded to what can be seen."""
    step = max(1, len(axis) // 40)
    some = path.iloc[np.unique(np.geomspace(1, len(path), 60).astype(int)) - 1]
    return {
        "axis": axis[::step].round(2).tolist(),
        "height": value[::step, ::step].round(1).tolist(),
        "path": some[["delta_0", "delta_1", "free_energy"]].round(2).to_numpy().tolist(),
    }


def _draw_surface(axis: Array, value: Array, path: pd.DataFrame) -> Figure:
    figure, ax = make_panel(height=3.9, projection="3d")
    x, y = np.meshgrid(axis, axis)
    ax.plot_surface(x, y, value, cmap="cividis", alpha=0.8, linewidth=0, rcount=48, ccount=48)  # type: ignore[attr-defined]
    ax.plot(path["delta_0"], path["delta_1"], path["free_energy"], color=COLOURS[1], marker=".", ms=4, zorder=10)
    ax.set_xlabel("Δ₀")
    ax.set_ylabel("Δ₁")
    ax.set_zlabel("free energy F", labelpad=8)  # type: ignore[attr-defined]
    ax.view_init(28, -130)  # type: ignore[attr-defined]
    ax.set_box_aspect(None, zoom=0.8)  # type: ignore[call-arg]
    return figure


def _draw_map(axis: Array, value: Array, path: pd.DataFrame) -> Figure:
    figure, ax = make_panel(height=3.9)
    filled = ax.contourf(axis, axis, value, levels=24, cmap="cividis")
    figure.colorbar(filled, ax=ax, label="free energy F", pad=0.02)
    x, y = np.meshgrid(axis, axis)
    f = scene.SCORES[0].outputs(np.stack([x, y], axis=-1).reshape(-1, 2) + np.array(scene.SCENE.x0))[:, 0]
    ax.contour(axis, axis, f.reshape(x.shape), levels=[0.0], colors="white", linewidths=1.2)
    ax.plot(path["delta_0"], path["delta_1"], color=COLOURS[1], marker=".", ms=4, label="path")
    ax.plot([], [], color="white", lw=1.2, label="f = c")
    ax.plot(0, 0, "o", color=COLOURS[1], mec="white", ms=8, label="the row")
    ax.legend(fontsize=8, facecolor="#555555", labelcolor="white", framealpha=0.9, loc="upper left")
    ax.set_xlabel("Δ₀ (units of feature 0)")
    ax.set_ylabel("Δ₁ (units of feature 1)")
    return figure
