"""Figure 6: measured time against the number of features d, of samples K and of iterations T, and fitted exponents."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.methods.baselines.coordinates import CoordinateChart
from counterpoise.methods.baselines.gradient import GradientDescent
from counterpoise.methods.baselines.lime import Lime
from counterpoise.paper.exhibit import COLOURS, DASHES, MARKS, Exhibit, RunSize, make_panel
from counterpoise.paper.exhibits.entropy_cost import ENTROPY, collect_facts, measure_estimators
from counterpoise.paper.exhibits.many_features import MANY_FEATURES, build_problem, collect_reach, measure_reach
from counterpoise.physics import boltzmann, cloud
from counterpoise.streams import Streams

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class TimingSettings:
    """What Figure 6 holds while it varies another number."""

    features: int = 64  # d
    samples: int = 64  # K
    moderate_samples: int = 32  # the paper's "moderate" K of its own method
    usual_iterations: int = 100  # of Algorithm 1 and of the gradient, where the three are set side by side


TIMING = TimingSettings()
CHEAP_METHODS = ("Algorithm 1, best", "Gradient")  # linear in d from far out alone: below, every call costs the same
PAPER_EXPONENTS = {
    "Algorithm 1, best": {"d": 1, "K": 0, "T": 1},
    "Algorithm 1": {"d": 1, "K": 1, "T": 1},
    "Algorithm 1, worst": {"d": 2, "K": 1, "T": 1},
    "LIME": {"d": 2, "K": 1, "T": 0},
    "Gradient": {"d": 1, "K": 0, "T": 1},
}
"""The exponents of the paper's O(TKd), O(TKd²), O(Kd²) and O(Td)."""


def _build_algorithm1(t: int, sigma: float, k: int) -> Algorithm1:
    return Algorithm1.literal(
        alpha=1e-3,
        beta=0.1,
        epsilon=1e-12,
        c1=np.inf,
        c2=np.inf,
        iterations=t,
        sigma=sigma,
        samples=k,
        probability=False,
    )


def _make_free_energy(d: int, k: int, t: int, sigma: float) -> Callable[[], object]:
    method, rows = _build_algorithm1(t, sigma, k), build_problem(d)
    return lambda: method(rows, Streams.of(rows.x0, 0))


def _make_worst_case(d: int, k: int, t: int) -> Callable[[], object]:
    """The ordinary iteration, and in each the whole Hessian of F over the cloud: what a full covariance costs."""
    method = _build_algorithm1(t, 0.1, k)
    rows = build_problem(d)
    noise = np.broadcast_to(cloud.draw_antithetic(np.random.default_rng(0), k, d), (MANY_FEATURES.row_count, k, d))

    def run() -> None:
        chart = CoordinateChart.of(rows, rows.region.nearest_feasible)
        state = method.start(chart, np.asarray(noise), chart.origin_coordinates)
        for _ in range(t):
            state, _ = method.step(chart, np.asarray(noise), state, np.full(MANY_FEATURES.row_count, 0.5))
            energy = chart.energy_and_margin(cloud.points(state.z, 0.1, noise))[0]
            weights = boltzmann.weights(energy, 1 / method.beta)
            np.linalg.eigvalsh(cloud.hessian(weights, noise, 0.1, 1 / method.beta))

    return run


def _make_lime(d: int, k: int, t: int) -> Callable[[], object]:
    method, rows = Lime(samples=k, rounds=1), build_problem(d)
    return lambda: method(rows, Streams.of(rows.x0, 0))


def _make_gradient(d: int, k: int, t: int) -> Callable[[], object]:
    method, rows = GradientDescent(iterations=t, restarts=1, patience=10**6), build_problem(d)
    return lambda: method(rows, Streams.of(rows.x0, 0))


MAKERS: dict[str, Callable[[int, int, int], Callable[[], object]]] = {
    "Algorithm 1, best": lambda d, k, t: _make_free_energy(d, 2, t, 0.0),
    "Algorithm 1": lambda d, k, t: _make_free_energy(d, k, t, 0.1),
    "Algorithm 1, worst": _make_worst_case,
    "LIME": _make_lime,
    "Gradient": _make_gradient,
}


def measure(scale: RunSize) -> Exhibit:
    """Times over d, K and T, and the slopes of their logarithms at the upper end."""
    repeats = scale.pick(2, 3)
    sweeps = {
        "d": scale.pick((64, 128, 256, 512), (64, 128, 256, 512, 1024, 2048)),
        "K": scale.pick((256, 512, 1024, 2048), (256, 512, 1024, 2048, 4096, 8192)),
        "T": scale.pick((20, 40, 80), (25, 50, 100, 200, 400)),
    }
    lines = []
    for letter, values in sweeps.items():
        for name, make in MAKERS.items():
            for value in _sweep_values(name, letter, values, scale):
                at = {"d": TIMING.features, "K": TIMING.samples, "T": scale.pick(4, 10)}
                if letter == "d":
                    at["K"] = scale.pick(256, 512)
                at[letter] = value
                lines.append((name, letter, value, *at.values(), _time_run(make(at["d"], at["K"], at["T"]), repeats)))
    times = pd.DataFrame(lines, columns=["method", "over", "value", "d", "K", "T", "seconds"])
    fits = _fit_exponents(times)
    facts = {
        f"exponent {name} {letter}": float(slope)
        for name, letter, slope in zip(fits["method"], fits["over"], fits["measured"], strict=True)
    }
    usual = _time_usual_settings(scale.pick((16, 128, 512), (16, 32, 64, 128, 256, 512)), scale.pick(1, 2))
    dearest = (usual["LIME"] > usual[["Algorithm 1", "Gradient"]].max(axis=1))[::-1].cumprod()[::-1].astype(bool)
    facts |= {"LIME dearest from d": float(usual["d"][dearest].min())}  # and at every larger d
    cheapest = usual["Gradient"] < usual[["Algorithm 1", "LIME"]].min(axis=1)
    facts |= {"gradient cheapest": float(cheapest.mean())}
    facts |= {"usual least d": float(usual["d"].min()), "usual most d": float(usual["d"].max())}
    facts |= {f"usual seconds {name}": float(usual[name].iloc[-1]) for name in ("Algorithm 1", "LIME", "Gradient")}
    reach = measure_reach(scale.pick((16, 64), (16, 256, 2048)))
    facts |= collect_reach(reach)
    entropies = measure_estimators(repeats)
    facts |= collect_facts(entropies)
    largest = times[(times["over"] == "K") & (times["value"] == max(sweeps["K"]))].set_index("method")["seconds"]
    facts |= {f"seconds {name}": float(value) for name, value in largest.items()}
    wide = times[(times["over"] == "d") & (times["value"] == max(sweeps["d"]))].set_index("method")["seconds"]
    facts |= {f"seconds of many features {name}": float(value) for name, value in wide.items()}
    facts |= {"most K": float(max(sweeps["K"])), "most d": float(max(sweeps["d"])), "T of figure 6": scale.pick(4, 10)}
    return Exhibit(
        "figure-6",
        "Figure 6. Time against features, samples and iterations",
        (
            (
                "Processor time of one run on four rows of a linear score, best of the repeats, and the slope of its "
                "logarithm over the upper half of each sweep. Algorithm 1, best: no cloud, the entropy a constant. "
                "Worst: the ordinary iteration and, in each, the whole Hessian of F over the cloud with its "
                "eigenvalues."
            ),
            (
                "Fixed costs of each call hide the exponent while d is small; so the gradient and the best case, which "
                f"use no samples, are timed up to d = {scale.pick(16, 64) * max(sweeps['d'])}, the others as far as a "
                "run takes a second or so. LIME takes one fit and no iterations."
            ),
        ),
        f"d = {TIMING.features}, T = {scale.pick(4, 10)}, K = {TIMING.samples} (over d: "
        f"{256 if scale.quick else 512}) unless varied; {repeats} "
        "repeats; times are those of the machine that made this page.",
        "time against d, K and T on logarithmic axes for five variants",
        {letter: _draw(times[times["over"] == letter], letter) for letter in sweeps},
        {
            "Exponents: measured, and the paper's in parentheses": _pivot_exponents(fits),
            f"Seconds as the paper sets the three: LIME K = {MANY_FEATURES.lime_samples}, Algorithm 1 K = "
            f"{TIMING.moderate_samples}, {TIMING.usual_iterations} iterations": usual,
            "Many features: a linear score, whose least change is known, and a wavy one": reach,
            f"F and its gradient by three entropies, d = {ENTROPY.features}, K = {ENTROPY.samples}": entropies,
        },
        {"times": times, "exponents": fits},
        facts,
    )


def _time_usual_settings(features: tuple[int, ...], repeats: int) -> pd.DataFrame:
    """Seconds of the three methods, each with the samples and iterations that the paper speaks of, against d."""
    t = TIMING.usual_iterations
    lines = []
    for d in features:
        runs = {
            "Algorithm 1": _make_free_energy(d, TIMING.moderate_samples, t, 0.1),
            "LIME": _make_lime(d, MANY_FEATURES.lime_samples, t),
            "Gradient": _make_gradient(d, 0, t),
        }
        lines.append({"d": d} | {name: _time_run(run, repeats) for name, run in runs.items()})
    return pd.DataFrame(lines)


def _sweep_values(name: str, letter: str, values: tuple[int, ...], scale: RunSize) -> tuple[int, ...]:
    """The values that a method is timed at: as far as it takes about a second."""
    if letter == "d" and name in CHEAP_METHODS:
        return tuple(scale.pick(16, 64) * value for value in values)
    if letter == "d" and name == "Algorithm 1, worst":
        return tuple(value for value in values if value <= 1024)
    return values


def _pivot_exponents(fits: pd.DataFrame) -> pd.DataFrame:
    """One line a method, one column a letter."""
    parts = {str(letter): part.set_index("method")["both"] for letter, part in fits.groupby("over", sort=False)}
    return pd.DataFrame(parts).reset_index()


def _time_run(run: Callable[[], object], repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        began = time.process_time()
        run()
        best = min(best, time.process_time() - began)
    return max(best, 1e-7)


def _fit_exponents(times: pd.DataFrame) -> pd.DataFrame:
    out = []
    for (name, letter), part in times.groupby(["method", "over"], sort=False):
        upper = part.sort_values("value").tail(max(2, (len(part) + 1) // 2))
        slope = np.polyfit(np.log(upper["value"]), np.log(upper["seconds"]), 1)[0]
        paper = PAPER_EXPONENTS[str(name)][str(letter)]
        out.append((name, letter, slope, paper, f"{slope:.2f} ({paper})"))
    return pd.DataFrame(out, columns=["method", "over", "measured", "paper", "both"])


def _draw(times: pd.DataFrame, letter: str) -> Figure:
    figure, ax = make_panel(3.9, 3.2)
    for number, (name, part) in enumerate(times.groupby("method", sort=False)):
        style = {"color": COLOURS[number], "ls": DASHES[number], "marker": MARKS[number]}
        ax.plot(part["value"], 1000 * part["seconds"], ms=4, label=str(name), **style)  # type: ignore[arg-type]
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlabel({"d": "features d", "K": "samples K", "T": "iterations T"}[letter])
    ax.set_ylabel("processor time (ms)")
    ax.set_ylim(top=8000 * float(times["seconds"].max()))
    ax.legend(frameon=False, fontsize=7, ncols=2, loc="upper left")
    return figure
