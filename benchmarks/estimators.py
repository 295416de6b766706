"""What a free energy and its gradient cost: time against the number of features d and of samples K, per estimator.

    python benchmarks/estimators.py [--out benchmarks/results]

The energy is the paper's, with a linear model: ``|x - x0| + mu |w'x - c|``, O(d) a row. Every call gives F and its
gradient together, for one row; the time includes the model. Exponents are those of ``overhead + work * size**p``,
fitted to all sizes; they stand beside the paper's own. Writes a table, the raw times and a figure.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

from counterpoise.physics.estimators.closed_form import ClosedForm
from counterpoise.physics.estimators.monte_carlo import MonteCarlo
from counterpoise.physics.estimators.variational import Variational
from counterpoise.physics.free_energy import FreeEnergy
from counterpoise.types import Array

WIDTHS = (10, 30, 100, 300, 1000, 3000, 10_000)
COUNTS = (16, 64, 256, 1024, 4096)
K, D = 64, 100
T, SIGMA, MU, KAPPA = 1.0, 0.1, 2.0, 10.0
ENOUGH = 0.15  # seconds spent on one measurement
TOO_LONG = 2.0  # seconds of one call, after which larger sizes are left out


class Linear:
    """The paper's energy for a linear score, with everything that a model can give."""

    def __init__(self, d: int, rng: np.random.Generator) -> None:
        self.w, self.x0 = rng.standard_normal(d) / np.sqrt(d), rng.standard_normal(d)
        self.x = self.x0 + 0.3 * rng.standard_normal(d)

    def score(self, x: Array) -> Array:
        return x @ self.w

    def score_gradient(self, x: Array) -> Array:
        return np.broadcast_to(self.w, x.shape)

    def energy(self, x: Array) -> Array:
        return np.linalg.norm(x - self.x0, axis=-1) + MU * np.abs(self.score(x))

    def energy_gradient(self, x: Array) -> Array:
        gap = x - self.x0
        return gap / np.linalg.norm(gap, axis=-1, keepdims=True) + MU * np.sign(self.score(x))[..., None] * self.w

    def curvature(self, x: Array) -> Array:
        gap = x - self.x0
        size = np.linalg.norm(gap, axis=-1, keepdims=True)
        return (1 - (gap / size) ** 2) / size

    def hessian(self, x: Array) -> Array:
        gap = x - self.x0
        size = np.linalg.norm(gap, axis=-1)[..., None, None]
        return (np.eye(len(self.w)) - gap[..., :, None] * gap[..., None, :] / size**2) / size


Call = Callable[[Linear, Array], FreeEnergy]


@dataclass(frozen=True)
class Case:
    """One line of the table: a call, the paper's cost of it, and whether it depends on K."""

    name: str
    paper: str
    call: Call
    sampled: bool


def cases() -> list[Case]:
    mc, vi = MonteCarlo(), Variational()

    def laplace(m: Linear, _: Array) -> FreeEnergy:
        return ClosedForm("diagonal").full_form(
            m.energy, m.x, SIGMA, T, gradient=m.energy_gradient, curvature=m.curvature
        )

    def laplace_differences(m: Linear, _: Array) -> FreeEnergy:
        return ClosedForm("diagonal").full_form(m.energy, m.x, SIGMA, T)

    def laplace_full(m: Linear, _: Array) -> FreeEnergy:
        return ClosedForm("full").full_form(m.energy, m.x, SIGMA, T, gradient=m.energy_gradient, curvature=m.hessian)

    def linear_score(m: Linear, _: Array) -> FreeEnergy:
        return ClosedForm().decision_form(m.score, m.x, SIGMA, T, KAPPA, gradient=m.score_gradient)

    def sampled(m: Linear, noise: Array) -> FreeEnergy:
        return mc.full_form(m.energy, m.x, SIGMA, T, noise=noise)

    def sampled_paths(m: Linear, noise: Array) -> FreeEnergy:
        return mc.full_form(m.energy, m.x, SIGMA, T, noise=noise, gradient=m.energy_gradient)

    def sampled_decision(m: Linear, noise: Array) -> FreeEnergy:
        return mc.decision_form(m.score, m.x, SIGMA, T, KAPPA, noise=noise)

    def bound(m: Linear, noise: Array) -> FreeEnergy:
        return vi.full_form(m.energy, m.x, SIGMA, T, noise=noise)

    def bound_paths(m: Linear, noise: Array) -> FreeEnergy:
        return vi.full_form(m.energy, m.x, SIGMA, T, noise=noise, gradient=m.energy_gradient)

    return [
        Case("Gaussian diagonal, exact derivatives", "O(d)", laplace, False),
        Case("Gaussian diagonal, differences of values", "O(d)", laplace_differences, False),
        Case("Gaussian full, exact derivatives", "O(d^3)", laplace_full, False),
        Case("Gaussian, decision form", "O(d)", linear_score, False),
        Case("MonteCarlo, values only", "O(Kd)", sampled, True),
        Case("MonteCarlo, model gradients", "O(Kd), or O(Kd^2)", sampled_paths, True),
        Case("MonteCarlo, decision form", "O(Kd)", sampled_decision, True),
        Case("Variational, values only", "O(d)", bound, True),
        Case("Variational, model gradients", "O(d)", bound_paths, True),
    ]


def seconds(call: Callable[[], object]) -> float:
    """Shortest of the calls that fit into the time given to one measurement."""
    call()
    best, spent = np.inf, 0.0
    while spent < ENOUGH:
        began = time.perf_counter()
        call()
        took = time.perf_counter() - began
        best, spent = min(best, took), spent + took
    return best


def exponent(sizes: list[int], times: list[float]) -> float:
    """The p of ``overhead + work * size**p``, fitted to log times: small sizes show the overhead of a call."""
    t = np.array(times)
    relative = np.array(sizes) / sizes[-1]

    def misfit(parameters: Array) -> Array:
        overhead, work, p = parameters
        return np.logaddexp(overhead, work + p * np.log(relative)) - np.log(t)

    start = [np.log(t[0]), np.log(t[-1]), 1.0]
    return float(least_squares(misfit, start, bounds=([-30, -30, 0], [10, 10, 5])).x[2])


def sweep(case: Case, over: str) -> tuple[list[int], list[float]]:
    sizes: list[int] = []
    times: list[float] = []
    for size in WIDTHS if over == "d" else COUNTS:
        d, samples = (size, K) if over == "d" else (D, size)
        rng = np.random.default_rng(0)
        model, noise = Linear(d, rng), rng.standard_normal((samples, d))
        sizes.append(size)
        times.append(seconds(lambda case=case, model=model, noise=noise: case.translate_call(model, noise)))
        # The next size is about three times larger and the worst of these grow with the cube of it.
        if times[-1] > TOO_LONG or (case.paper == "O(d^3)" and size >= 1000):
            break
    return sizes, times


def draw(measured: dict[str, dict[str, tuple[list[int], list[float]]]], path: Path) -> None:
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
    for ax, over, fixed in zip(axes, ("d", "K"), (f"K = {K}", f"d = {D}"), strict=True):
        for number, (name, sweeps) in enumerate(measured.items()):
            if over in sweeps:
                ax.loglog(*sweeps[over], marker="o", markersize=3, label=name, color=f"C{number}")
        ax.set_xlabel(f"{over}  ({fixed})")
        ax.grid(visible=True, which="major", alpha=0.3)
    axes[0].set_ylabel("seconds for F and its gradient, one row")
    axes[0].legend(fontsize=7)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    mpl.use("Agg")
    options.out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    measured: dict[str, dict[str, tuple[list[int], list[float]]]] = {}
    lines = [
        "# What a free energy and its gradient cost",
        "",
        f"F and its gradient in one call, one row, linear model included; against d at K = {K}, against K at d = {D}.",
        "Exponents: p of overhead + work * size^p, fitted to all sizes.",
        "",
        "| estimator | paper | exponent in d | largest d | ms there | exponent in K | ms at the largest K |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for case in cases():
        sweeps = {over: sweep(case, over) for over in (("d", "K") if case.sampled else ("d",))}
        measured[case.name] = sweeps
        sizes, times = sweeps["d"]
        cells = [case.name, case.paper, f"{exponent(sizes, times):.2f}", f"{sizes[-1]}", f"{1e3 * times[-1]:.3g}"]
        cells += [f"{exponent(*sweeps['K']):.2f}", f"{1e3 * sweeps['K'][1][-1]:.3g}"] if case.sampled else ["", ""]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", f"Measured in {time.perf_counter() - began:.0f} s.", ""]
    text = "\n".join(lines)
    print(text)
    (options.out / "estimators.md").write_text(text)
    with (options.out / "estimators.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["estimator", "over", "size", "seconds"])
        for name, sweeps in measured.items():
            for over, (sizes, times) in sweeps.items():
                writer.writerows([name, over, size, f"{t:.3e}"] for size, t in zip(sizes, times, strict=True))
    draw(measured, options.out / "estimators.png")


if __name__ == "__main__":
    main()
