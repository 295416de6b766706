"""How many steps a schedule needs to reach one energy: geometric cooling against the adaptive ones, in one run.

    python benchmarks/cooling.py [--out benchmarks/results] [--seed 1]

Many independent chains anneal on two multi-well energies, with proposals of three reaches, with every schedule and
several budgets. All start from the same cloud at `initial_temperature`. Measured is the median over all chains of the
lowest energy a chain saw, above the lowest that any run found for the row. Then the steps each schedule needs for the
energy that geometric cooling reaches with the largest budget, as a ratio: against its default, and against the best
of six final temperatures, picked afterwards for each line by this very measure.

The adaptive schedules run at their defaults, which were chosen on landscapes of the same two families, drawn with
seed 0, at the widest reach; the default seed here is another.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from counterpoise.physics import cooling, metropolis
from counterpoise.physics.fields import Field
from counterpoise.types import Array

ROWS, CHAINS = 48, 16
BUDGETS = (100, 200, 400, 800, 1600)
REACHES = (0.5, 1.0, 3.0)
DEFAULT = f"Geometric to {cooling.GeometricCooling(steps=1).end:g}"
ADAPTIVE = ("ConstantSpeed", "LamDelosme")

SCHEDULES: dict[str, Callable[[int], cooling.Cooling]] = {
    **{f"Geometric to {10**-p:g}": lambda steps, p=p: cooling.GeometricCooling(steps, 10**-p) for p in range(2, 8)},
    "ConstantSpeed": cooling.ConstantSpeed,
    "LamDelosme": cooling.LamDelosme,
}


def rastrigin(rng: np.random.Generator, d: int) -> Field:
    """A bowl with ripples: some ten wells along every feature, each row with its own centre."""
    centre = rng.uniform(-2, 2, size=(ROWS, 1, d))
    return lambda x: ((x - centre) ** 2 + 5 * (1 - np.cos(2 * np.pi * (x - centre)))).sum(axis=-1)


def double_wells(rng: np.random.Generator, d: int) -> Field:
    """Coupled, tilted double wells whose barriers differ a hundredfold: 2^d wells a row."""
    barrier = np.exp(rng.uniform(np.log(0.3), np.log(30), size=(ROWS, 1, d)))
    tilt = barrier * rng.uniform(0.05, 0.4, size=barrier.shape) * rng.choice([-1, 1], size=barrier.shape)
    coupling = 0.3 * rng.normal(size=(ROWS, d, d))
    coupling = coupling + np.swapaxes(coupling, -1, -2)
    return lambda x: (barrier * (x**2 - 1) ** 2 + tilt * x).sum(axis=-1) + 0.5 * (x @ coupling * x).sum(axis=-1)


LANDSCAPES = {"rastrigin": (rastrigin, 5), "double wells": (double_wells, 8)}


def anneal(energy: Field, d: int, schedule: cooling.Cooling, steps: int, reach: float, seed: int) -> Array:
    """Lowest energies ``(rows, chains)`` of one run; proposals of every size from a fiftieth up to the reach."""
    rng = np.random.default_rng(seed)
    state = metropolis.init(rng.uniform(-5, 5, size=(ROWS, CHAINS, d)), energy)
    T, lowest = cooling.initial_temperature(state.energy), state.energy
    for step in range(steps):
        size = np.exp(rng.uniform(np.log(0.02), np.log(reach), size=(ROWS, CHAINS, 1)))
        moved = rng.random(state.x.shape) < 0.5
        proposal = state.x + size * moved * rng.standard_normal(state.x.shape)
        state, info = metropolis.step(state, proposal, energy, rng.random((ROWS, CHAINS)), T)
        T, lowest = schedule(step, T, info), np.minimum(lowest, state.energy)
    return lowest


def steps_to(target: float, energies: Array) -> float:
    """Steps after which the course of energies over BUDGETS falls to the target; between budgets by logarithm."""
    if energies[0] <= target:
        return float(BUDGETS[0])
    for (a, b), (above, below) in zip(pairwise(BUDGETS), pairwise(energies), strict=True):
        if below <= target:
            return float(a * (b / a) ** (np.log(above / target) / np.log(above / below)))
    return np.inf


def measure(name: str, reach: float, seed: int) -> dict[str, Array]:
    """Median excess energy over BUDGETS, by schedule."""
    build, d = LANDSCAPES[name]
    energy = build(np.random.default_rng(seed), d)
    found = {
        label: np.stack([anneal(energy, d, schedule(steps), steps, reach, seed + 1000) for steps in BUDGETS])
        for label, schedule in SCHEDULES.items()
    }
    lowest = np.min([runs.min(axis=(0, 2)) for runs in found.values()], axis=0)
    return {label: np.median(runs - lowest[:, None], axis=(1, 2)) for label, runs in found.items()}


def summary(name: str, reach: float, courses: dict[str, Array]) -> str:
    """One line of the table of ratios."""
    best = min((label for label in courses if label not in ADAPTIVE), key=lambda label: courses[label][-1])
    cells = [name, f"{reach:g}"]
    for reference in (DEFAULT, best):
        target = float(courses[reference][-1])
        cells.append(f"{target:.3g}" if reference == DEFAULT else f"{target:.3g} ({best})")
        for label in ADAPTIVE:
            ratio = steps_to(target, courses[label]) / BUDGETS[-1]
            cells.append(f"{ratio:.2f}" if np.isfinite(ratio) else "> 1")
    return "| " + " | ".join(cells) + " |"


def details(name: str, reach: float, courses: dict[str, Array]) -> list[str]:
    lines = [f"## {name}, reach {reach:g}", "", "| schedule | " + " | ".join(f"{b} steps" for b in BUDGETS) + " |"]
    lines.append("|---|" + "---:|" * len(BUDGETS))
    lines += [f"| {label} | " + " | ".join(f"{e:.3g}" for e in course) + " |" for label, course in courses.items()]
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.perf_counter()
    names = " | ".join(ADAPTIVE)
    courses = {(name, reach): measure(name, reach, options.seed) for name in LANDSCAPES for reach in REACHES}
    lines = [
        "# Cooling: steps to one energy",
        "",
        f"Median over {ROWS * CHAINS} chains ({ROWS} rows of {CHAINS}): the lowest energy seen above the row's lowest.",
        f"Ratios: steps to the energy that geometric cooling reaches in {BUDGETS[-1]} steps, over {BUDGETS[-1]}.",
        "The best geometric end is picked for each line afterwards, by the measure itself.",
        "",
        f"| landscape | reach | energy, default ({DEFAULT}) | {names} | energy, best geometric | {names} |",
        "|---|---:|---:|" + "---:|" * (2 * len(ADAPTIVE) + 1),
        *(summary(name, reach, course) for (name, reach), course in courses.items()),
        "",
    ]
    for (name, reach), course in courses.items():
        lines += details(name, reach, course)
    lines.append(f"Seed {options.seed}, {time.perf_counter() - began:.0f} s.")
    text = "\n".join(lines) + "\n"
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "cooling.md").write_text(text)


if __name__ == "__main__":
    main()
