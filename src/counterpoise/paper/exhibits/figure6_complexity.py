"""Figure 6: measured time against the number of features d, of samples K and of iterations T, and fitted exponents."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.methods.baselines.coordinates import CoordinateChart
from counterpoise.methods.baselines.gradient import GradientDescent
from counterpoise.methods.baselines.lime import Lime
from counterpoise.models.goals import RangeGoal
from counterpoise.objective.energy import Energy
from counterpoise.paper.exhibit import COLOURS, DASHES, MARKS, Exhibit, RunSize, make_panel
from counterpoise.paper.exhibits.entropy_cost import ENTROPY, collect_facts, measure_estimators
from counterpoise.physics import boltzmann, cloud
from counterpoise.problem import Problem
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.streams import Streams
from counterpoise.types import Array, Link, ModelBase, Points

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class TimingSettings:
    """What Figure 6 holds while it varies another number."""

    row_count: int = 4  # rows timed together
    features: int = 64  # d
    samples: int = 64  # K
    unreachable_score: float = 1e9  # a target that no run reaches, so that none stops early
    lime_samples: int = 5000  # "typically a large number of samples (e.g., K > 5000)"
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


@dataclass(frozen=True)
class LinearScore(ModelBase):
    """A linear score of d features, so that the model itself costs O(d) and nothing else."""

    slope: Array
    labels: None = None
    link: Link = "identity"

    def outputs(self, x: Array) -> Array:
        """``(p, 1)``."""
        return np.asarray((x @ self.slope)[:, None])

    def predict(self, x: Points) -> Array:
        """``(p,)``."""
        return self.outputs(np.asarray(x))[:, 0]

    def probabilities(self, x: Points) -> None:
        """A score has none."""

    def gradient(self, x: Array, weights: Array) -> Array:
        """``(p, d)``."""
        return np.asarray(weights * self.slope)


def build_problem(d: int, target: float = TIMING.unreachable_score) -> Problem:
    """Rows of a linear score; by default far from their target, so that no method stops early.

    >>> build_problem(3).x0.shape
    (4, 3)
    """
    schema = Schema(tuple(Feature(f"x{k}", "continuous", scale=1.0) for k in range(d)), frame=False)
    x0 = np.random.default_rng(d).standard_normal((TIMING.row_count, d))
    goal = RangeGoal(np.full(TIMING.row_count, target), np.full(TIMING.row_count, np.inf))
    energy = Energy(Distance.of(schema), 0.0, (), np.full(TIMING.row_count, 1.0))
    region = Region.build(schema, x0, (), None)
    nobody = ReferenceRows(np.empty((0, d)), np.empty((0, 1)))
    model = LinearScore(np.full(d, 1 / np.sqrt(d)))
    return Problem(x0, model, goal, region, energy, schema.scales, schema.numeric, nobody, np.arange(TIMING.row_count))


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
    noise = np.broadcast_to(cloud.draw_antithetic(np.random.default_rng(0), k, d), (TIMING.row_count, k, d))

    def run() -> None:
        chart = CoordinateChart.of(rows, rows.region.nearest_feasible)
        state = method.start(chart, np.asarray(noise), chart.origin_coordinates)
        for _ in range(t):
            state, _ = method.step(chart, np.asarray(noise), state, np.full(TIMING.row_count, 0.5))
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
    repeats = scale.pick(2, 5)
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
    usual = _time_usual_settings(scale.pick((16, 128, 512), (16, 32, 64, 128, 256, 512, 1024)), scale.pick(1, 3))
    dearer = usual[usual["LIME"] > usual[["Algorithm 1", "Gradient"]].max(axis=1)]["d"]
    facts |= {"LIME dearest from d": float(dearer.min()) if len(dearer) else np.nan}
    facts |= {"usual least d": float(usual["d"].min()), "usual most d": float(usual["d"].max())}
    facts |= {f"usual seconds {name}": float(usual[name].iloc[-1]) for name in ("Algorithm 1", "LIME", "Gradient")}
    reach = _measure_reach(scale.pick((16, 256), (16, 256, 2048)))
    facts |= {"reach turned": float(reach["turned"].min()), "reach length": float(reach["L2 / least"].max())}
    facts |= {"reach d": float(reach["d"].max())}
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
            f"Seconds as the paper sets the three: LIME K = {TIMING.lime_samples}, Algorithm 1 K = "
            f"{TIMING.moderate_samples}, {TIMING.usual_iterations} iterations": usual,
            "Algorithm 1, corrected, on a linear score whose least change is known": reach,
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
            "LIME": _make_lime(d, TIMING.lime_samples, t),
            "Gradient": _make_gradient(d, 0, t),
        }
        lines.append({"d": d} | {name: _time_run(run, repeats) for name, run in runs.items()})
    return pd.DataFrame(lines)


def _measure_reach(features: tuple[int, ...]) -> pd.DataFrame:
    """Whether Algorithm 1 finds the least change of a linear score, which is known, as d grows."""
    lines = []
    for d in features:
        rows = build_problem(d, 4.0)
        rows = replace(rows, energy=replace(rows.energy, mu=np.full(TIMING.row_count, 2.0)))  # it outweighs the way
        run = Algorithm1(c1=np.inf, c2=np.inf)(rows, Streams.of(rows.x0, 0))
        least = 4.0 - rows.model.predict(rows.x0)
        length = np.linalg.norm(run.x[:, 0] - rows.x0, axis=1) / least
        turned = run.valid[:, 0]
        ratio = float(length[turned].mean()) if turned.any() else np.nan
        lines.append({"d": d, "turned": float(turned.mean()), "L2 / least": ratio})
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
