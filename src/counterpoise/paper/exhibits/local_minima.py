"""Claims on the landscape itself: local minima, annealing, the entropy term, a small beta, many answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from counterpoise.methods.base import Method
from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.methods.search import Search
from counterpoise.paper import scene
from counterpoise.paper.claims.verdict import OURS, PAPER_FORMS, put_interval
from counterpoise.paper.exhibit import COLOURS, Exhibit, RunSize, make_panel
from counterpoise.paper.exhibits.figure1_surface import free_energies, literal_algorithm1
from counterpoise.paper.paired import bootstrap_mean
from counterpoise.physics import boltzmann, cloud
from counterpoise.physics.robustness import is_robust_as_printed
from counterpoise.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class LocalMinimaSettings:
    """How the searches of the scene are judged."""

    mu: float = 5.0  # energy per unit of score: enough that the valleys are valid
    alpha: float = 0.01  # step size
    beta: float = 1.0  # inverse temperature, where none is varied
    hot: float = 0.01  # inverse temperatures of the comparison of lengths
    cold: float = 10.0  # inverse temperature at which it is cold
    near: float = 1.1  # an answer is near if it is at most so many times as far as the nearest valid cell
    apart: float = 0.5  # answers farther apart than this are different answers
    cell: float = 0.05  # of the grid that the nearest valid cell is looked for on
    betas: tuple[float, ...] = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)  # of the curvature
    samples: int = 4096  # of the cloud that the curvature is taken over
    noise_sigma: float = 0.3  # of the noise that answers are tried with
    noisy_copies: int = 200  # of each answer
    xi: float = 0.1  # the size of a perturbation in Eq. (31)
    steps: int = 60  # from the lowest cell of a grid to the lowest point of F
    c1: float = 10.0  # of the gradient check, where it is tried: the default of Algorithm1
    c2: float = 100.0  # of the curvature check
    newton_reach: float = 0.3  # of Newton's steps: a longer one is not trusted


MINIMA = LocalMinimaSettings()
NO_ENTROPY, ENTROPY, NOISY = "corrected, σ = 0: no entropy", PAPER_FORMS[1], "Langevin, σ = 0: no entropy"
CHECKS = f"C1 = {MINIMA.c1:g}, C2 = {MINIMA.c2:g}"
PRINTED_CHECKED, CORRECTED_CHECKED = (f"{form}, {CHECKS}" for form in PAPER_FORMS[:2])
HOT, COLD = f"corrected, β = {MINIMA.hot:g}", f"corrected, β = {MINIMA.cold:g}"


def build_forms(iterations: int) -> dict[str, Method]:
    """The forms of Algorithm 1 that are told apart, and the default search."""
    corrected = Algorithm1(
        alpha=MINIMA.alpha,
        beta=MINIMA.beta,
        c1=np.inf,
        c2=np.inf,
        iterations=iterations,
        sigma=scene.SCENE.cloud_sigma,
        samples=scene.SCENE.cloud_samples,
    )
    printed = replace(literal_algorithm1(MINIMA.alpha, MINIMA.beta, iterations), sigma=0.0)
    return {
        PAPER_FORMS[0]: printed,
        PRINTED_CHECKED: replace(printed, c1=MINIMA.c1, c2=MINIMA.c2),
        CORRECTED_CHECKED: replace(corrected, c1=MINIMA.c1, c2=MINIMA.c2),
        NO_ENTROPY: replace(corrected, sigma=0.0),
        ENTROPY: corrected,
        NOISY: replace(corrected, sigma=0.0, langevin=True),
        PAPER_FORMS[2]: replace(corrected, langevin=True),
        HOT: replace(corrected, beta=MINIMA.hot),
        COLD: replace(corrected, beta=MINIMA.cold),
        OURS: Search(),
    }


def draw_rows(score: scene.SceneScore, count: int, seed: int) -> Array:
    """Rows ``(count, 2)`` on the wrong side of the boundary."""
    drawn = np.random.default_rng(seed).uniform(1.0, 4.0, (50 * count, 2))
    return np.asarray(drawn[score.outputs(drawn)[:, 0] > 1][:count])


def nearest_valid(score: scene.SceneScore, rows: Array) -> Array:
    """The distance ``(n,)`` of each row from the nearest valid cell of a fine grid."""
    low, high = scene.SCENE.x0[0] + scene.SCENE.delta_low, scene.SCENE.x0[0] + scene.SCENE.delta_high
    axis = np.arange(low, high, MINIMA.cell)
    cells = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    valid = cells[score.outputs(cells)[:, 0] <= 0]
    return np.array([np.linalg.norm(valid - row, axis=1).min() for row in rows])


def measure(scale: RunSize) -> Exhibit:
    """Each form from the same rows, over seeds, beside the nearest valid cell; and the curvature against beta."""
    count, seeds = scale.pick(8, 30), range(scale.seed, scale.seed + scale.pick(3, 6))
    lines = pd.concat(
        [
            _run_form(name, method, number, score, count, seeds)
            for number, score in enumerate(scene.SCORES[:2])
            for name, method in build_forms(scale.pick(200, 600)).items()
        ],
        ignore_index=True,
    )
    by_row = lines.groupby(["form", "f", "row"]).agg(
        turned=("valid", "mean"),
        near=("near", "mean"),
        length=("length", "mean"),
        kept=("kept", "mean"),
        answers=("answers", "first"),
        spread=("spread", "first"),
    )
    table = by_row.groupby("form").mean().loc[lines["form"].unique()].reset_index()
    curves = pd.DataFrame(
        [
            {"f": number + 1, "beta": beta} | _shape_at_lowest(beta, score, scale.seed)
            for number, score in enumerate(scene.SCORES)
            for beta in MINIMA.betas
        ]
    )
    ends = curves[curves["beta"].isin((MINIMA.betas[0], MINIMA.betas[-1]))]
    flat = ends.pivot_table(index="f", columns="beta", values="largest eigenvalue")
    facts = {f"near {name}": float(share) for name, share in zip(table["form"], table["near"], strict=True)}
    several = by_row[by_row["turned"] > 0].groupby("form")["answers"].mean()
    facts |= {f"answers {name}": float(several.get(name, 0.0)) for name in table["form"]}
    facts |= {"c1": MINIMA.c1, "c2": MINIMA.c2}
    facts |= {f"flat hot, f{number}": float(value) for number, value in flat[MINIMA.betas[0]].items()}
    facts |= {f"flat cold, f{number}": float(value) for number, value in flat[MINIMA.betas[-1]].items()}
    facts |= {f"condition 31, f{number}": float(part["Eq. (31) holds"].mean()) for number, part in curves.groupby("f")}
    lines[["near", "valid"]] = lines[["near", "valid"]].astype(float)
    for key, column, one, other in (
        ("entropy gains", "near", ENTROPY, NO_ENTROPY),
        ("noise gains", "near", NOISY, NO_ENTROPY),
        ("entropy kept", "kept", ENTROPY, NO_ENTROPY),
        ("hot explores", "spread", HOT, COLD),
        ("checks printed", "valid", PRINTED_CHECKED, PAPER_FORMS[0]),
        ("checks corrected", "valid", CORRECTED_CHECKED, ENTROPY),
        ("checks kept", "kept", CORRECTED_CHECKED, ENTROPY),
    ):
        for number, (first, second) in _pair_by_score(lines, column, one, other).items():
            facts |= put_interval(f"{key}, f{number}", bootstrap_mean(first - second))
    for number, (hot, cold) in _pair_by_score(lines, "length", HOT, COLD).items():
        facts |= put_interval(f"hot over cold, f{number}", bootstrap_mean(hot / cold))
    return Exhibit(
        "local-minima",
        "Local minima, annealing, entropy and a small β",
        (
            (
                f"Two wavy f, {count} rows of each, {len(seeds)} seeds. Turned: share of the runs that reach f ≤ c. "
                f"Near: turned, and at most {MINIMA.near:g} times as far as the nearest valid cell of a fine grid; "
                "what is turned but not near ended in a local minimum. Answers: how many different answers the seeds "
                f"give, of those more than {MINIMA.apart:g} apart. Length and kept, the share of noisy copies (σ = "
                f"{MINIMA.noise_sigma:g}) that stay valid: of the turned ones. Spread: root mean square distance of "
                "the ends from their mean over seeds."
            ),
            (
                "The entropy of the whole space, as printed, is one constant, so that β changes nothing of F's "
                "curvature. That of a cloud does: the picture has the largest eigenvalue of H_F at the lowest point "
                "of F, against β. If a small β flattened the landscape it would be least on the left. The table beside "
                "it has the slope of F there and whether Eq. (31), λ_max ≤ 2 ‖∇F‖ / ξ, holds."
            ),
        ),
        f"d = L2, λ = 0, μ = {MINIMA.mu:g}, α = {MINIMA.alpha:g}, β = {MINIMA.beta:g} (Langevin: rising to 100 times "
        f"that), σ = {scene.SCENE.cloud_sigma} unless 0, {scale.pick(200, 600)} iterations; curvature over a cloud of "
        f"{MINIMA.samples} points with λ = μ = 1, w ~ U(1, 10)",
        "largest eigenvalue of the free energy's Hessian against beta, for three scores",
        {"curvature": _draw(curves)},
        {
            "Forms of Algorithm 1, and the default search": table,
            f"F at its lowest point, and Eq. (31) with ξ = {MINIMA.xi:g}": curves,
        },
        {"runs": lines.drop(columns="answers"), "curvature": curves},
        facts,
    )


def _pair_by_score(lines: pd.DataFrame, column: str, one: str, other: str) -> dict[int, tuple[Array, Array]]:
    """For each f, ``column`` of two forms on the rows that have both, each row its mean over seeds."""
    out = {}
    for number, part in lines.groupby("f"):
        wide = part.pivot_table(index="row", columns="form", values=column).reindex(columns=[one, other]).dropna()
        out[int(str(number))] = (wide[one].to_numpy(dtype=np.float64), wide[other].to_numpy(dtype=np.float64))
    return out


def _run_form(
    name: str, method: Method, number: int, score: scene.SceneScore, count: int, seeds: range
) -> pd.DataFrame:
    rows = draw_rows(score, count, 7)
    least = nearest_valid(score, rows)
    problem = scene.build_problem(rows, np.full(count, MINIMA.mu), 0.0, 0, score)
    runs = [method(problem, scene.build_streams(count, seed)) for seed in seeds]
    x = np.stack([run.x[:, 0] for run in runs])
    valid = np.stack([run.valid[:, 0] for run in runs])
    length = np.linalg.norm(x - rows, axis=-1)
    answers = [_count_different(x[valid[:, row], row]) for row in range(count)]
    spread = np.sqrt(((x - x.mean(axis=0)) ** 2).sum(axis=-1).mean(axis=0))
    noise = MINIMA.noise_sigma * np.random.default_rng(0).standard_normal((MINIMA.noisy_copies, 2))
    copies = score.outputs((x[:, :, None] + noise).reshape(-1, 2)).reshape(len(seeds), count, MINIMA.noisy_copies)
    kept = (copies <= 0).mean(axis=-1)
    parts = [
        pd.DataFrame(
            {
                "form": name,
                "f": number + 1,
                "seed": seed,
                "row": np.arange(count),
                "valid": valid[place],
                "near": valid[place] & (length[place] <= MINIMA.near * least),
                "length": np.where(valid[place], length[place], np.nan),
                "kept": np.where(valid[place], kept[place], np.nan),
                "answers": answers,
                "spread": spread,
            }
        )
        for place, seed in enumerate(seeds)
    ]
    return pd.concat(parts)


def _count_different(x: Array) -> int:
    """How many points of ``x`` ``(k, 2)`` are apart from all that were counted before."""
    found: list[Array] = []
    for point in x:
        if all(np.linalg.norm(point - other) > MINIMA.apart for other in found):
            found.append(point)
    return len(found)


def _shape_at_lowest(beta: float, score: scene.SceneScore, seed: int) -> dict[str, float | bool]:
    """Slope and largest curvature of F at its lowest point, Eq. (26), and whether Eq. (31) holds there."""
    axis = np.linspace(-4.0, 1.0, 41)
    x = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2) + np.array(scene.SCENE.x0)
    lowest = x[free_energies(x, beta, seed, score).argmin()]
    noise = cloud.whiten(cloud.draw_antithetic(np.random.default_rng(seed), MINIMA.samples, 2))
    sigma = scene.SCENE.cloud_sigma

    def slope_and_curvature(point: Array) -> tuple[Array, Array]:
        weights = boltzmann.weights(scene.energies(cloud.points(point, sigma, noise), seed, score), 1 / beta)
        return cloud.gradient(weights, noise, sigma, 1 / beta), cloud.hessian(weights, noise, sigma, 1 / beta)

    for _ in range(MINIMA.steps):  # from the cell of the grid to the bottom itself
        slope, curvature = slope_and_curvature(lowest)
        step = np.linalg.solve(curvature, slope)
        if np.linalg.eigvalsh(curvature).min() <= 0 or np.linalg.norm(step) > MINIMA.newton_reach:
            step = beta * sigma**2 * slope  # no curvature is above T / sigma**2, so that this leads down
        lowest = lowest - step
    slope, curvature = slope_and_curvature(lowest)
    norm, largest = float(np.linalg.norm(slope)), float(np.linalg.eigvalsh(curvature).max())
    return {
        "largest eigenvalue": largest,
        "slope": norm,
        "Eq. (31) holds": bool(is_robust_as_printed(np.array([norm]), np.array([largest]), MINIMA.xi)[0]),
    }


def _draw(curves: pd.DataFrame) -> Figure:
    figure, ax = make_panel(height=3.0)
    for number, part in curves.groupby("f"):
        ax.plot(
            part["beta"], part["largest eigenvalue"], "o-", color=COLOURS[int(str(number)) - 1], label=f"f {number}"
        )
    ax.set_xscale("log")
    ax.set_xlabel("β (per unit of energy)")
    ax.set_ylabel("largest eigenvalue of H_F")
    ax.legend(frameon=False, fontsize=8)
    return figure
