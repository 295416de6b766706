"""Would the answers hold? Robustness: under noise and an adversary. Stability: how sharply the free energy changes."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.judge.neighbourhood import Neighbourhood
from counterpoise.judge.noisy import (
    CHECK_STREAM_KEY,
    RADIUS_COPIES,
    choose_noise,
    kept_share,
    kept_share_by_level,
    noise_radius,
)
from counterpoise.judge.recalling import RecalledAnswers, recall_answers
from counterpoise.methods.baselines.coordinates import CoordinateChart
from counterpoise.objective.noise import Noise
from counterpoise.objective.regularizers import Regularizer
from counterpoise.physics import robustness as bounds
from counterpoise.physics.stability import gradient_norm, lipschitz_constant
from counterpoise.space.constraints.between_features import ConstraintOrFunction
from counterpoise.types import Array

CELLS_PER_BATCH = 4_000_000  # numbers in one batch of copies
ASCENT_STARTS, ASCENT_COPIES = 8, 64  # directions, and copies around each point, of the ascent to the worst case


@dataclass(frozen=True, eq=False, repr=False)
class Robustness:
    """What noise and an adversary leave of the valid answers; ``table`` has a line for each row, NaN where not valid.

    kept, low, high: the share of noisy copies that keep the target, and its confidence interval. worst: the score's
    margin ``f - c`` at the worst perturbation found within ``xi``, Eq. (29), below 0 where the target is lost; every
    number is taken as continuous there. radius: the largest noise of the same kind of which ``share`` of the copies
    keep the target, 0 where even the smallest tried loses too many. ``curve`` has the share kept at each noise tried
    for that: row (its place), noise, kept.
    """

    table: pd.DataFrame
    curve: pd.DataFrame
    noise: str
    copies: int
    share: float
    confidence: float
    xi: float

    def __repr__(self) -> str:
        seen = self.table.dropna()
        if len(seen) == 1:
            kept, low, high, worst, radius = seen.iloc[0]
            return (
                f"kept in {kept:.1%} of {self.copies} noisy copies ({low:.1%} to {high:.1%}); {self.noise}\n"
                f"worst perturbation found within {self.xi:g}: the target is {'kept' if worst >= 0 else 'lost'}\n"
                f"{self.share:.0%} of copies keep it up to noise {radius:.3g}"
            )
        sure = int((seen["low"] >= self.share).sum())
        return (
            f"{len(seen)} answers: kept in {seen['kept'].median():.1%} of {self.copies} noisy copies (median), "
            f"{sure} surely in {self.share:.0%} or more; {self.noise}\n"
            f"worst perturbation found within {self.xi:g}: {int((seen['worst'] >= 0).sum())} keep the target\n"
            f"{self.share:.0%} of copies keep it up to noise {seen['radius'].median():.3g} (median)"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Stability:
    """How sharply the free energy changes around the valid answers; ``table`` has a line for each row.

    All in feature scales. slope: norm of the shortest subgradient of E at the answer, 0 at a kink that is a minimum;
    NaN where the model gives no gradient, as trees do not. The rest is of the free energy of a cloud of width
    ``sigma`` at temperature ``T``, Eq. (6), which every model has. gradient: its norm, Eq. (24). lipschitz: the
    steepest slope found within ``xi``, Eq. (25). curvature: the largest eigenvalue of its Hessian, Eq. (26). rise: by
    how much the worst perturbation found within ``xi`` raises it, Eq. (29), and bound: what a parabola would allow,
    Eq. (30). stable: whether that stays within ``delta``, the condition of Eq. (31) that is not void at a minimum;
    printed: the condition as printed.
    """

    table: pd.DataFrame
    has_gradient: bool
    T: float
    sigma: float
    xi: float
    delta: float

    def __repr__(self) -> str:
        seen = self.table.dropna(subset=["gradient"])
        middle = seen[["gradient", "curvature", "lipschitz", "rise", "bound"]].median()
        slope = (
            f"least slope of E {seen['slope'].median():.3g}"
            if self.has_gradient
            else "slope of E: not applicable, the model has no gradient; the cloud answers for it"
        )
        return (
            f"{len(seen)} answer{'s' if len(seen) > 1 else ''}, T = {self.T:g}, cloud of {self.sigma:g}"
            f"{' (medians)' if len(seen) > 1 else ''}\n{slope}\n"
            f"free energy: gradient {middle['gradient']:.3g}, largest curvature {middle['curvature']:.3g}, "
            f"Lipschitz {middle['lipschitz']:.3g}\n"
            f"worst rise within {self.xi:g}: {middle['rise']:.3g} found, {middle['bound']:.3g} in the parabola; "
            f"{int(seen['stable'].sum())} of {len(seen)} within {self.delta:g}"
        )


def robustness(
    explanation: Explanation,
    model: Any,
    *,
    noise: float | Noise | Literal["auto"] = "auto",
    xi: float = 0.1,
    reference: Any = None,
    constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction = (),
    share: float = 0.9,
    copies: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Robustness:
    """How much of the answers is left under noise, and under the worst perturbation of size ``xi`` in feature scales.

    ``noise`` is a number (Gaussian, in feature scales), a noise, or "auto": rank noise calibrated on the reference
    where that is given, else Gaussian noise of 0.2. ``constraints`` are those that the explanation was made with.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> found = robustness(explain(model, train[3:], reference=train), model, noise=0.1)
    >>> bool(found.table["kept"].iloc[0] < 0.7)  # a minimal answer stands on the boundary
    True
    """
    _check_positive(xi=xi, share=share, copies=copies)
    columns = ["kept", "low", "high", "worst", "radius"]
    cells, said = np.full((len(explanation), len(columns)), np.nan), []
    curves = []
    for part in recall_answers(explanation, model, constraints):
        chosen, words = choose_noise(part, noise, model, explanation.schema, reference)
        draws = part.problem.make_streams(seed ^ CHECK_STREAM_KEY).normal((max(copies, RADIUS_COPIES), part.x.shape[1]))
        kept = kept_share(part, chosen, draws[:, :copies])
        low, high = bounds.share_interval(np.rint(kept * copies), copies, confidence)
        levels, kept_at = kept_share_by_level(part, chosen, draws[:, :RADIUS_COPIES])
        worst, reach = _worst_margin(part, draws, xi), noise_radius(levels, kept_at, share)
        cells[part.rows] = np.stack([kept, low, high, worst, reach], axis=1)
        rows, noises = np.repeat(part.rows, len(levels)), np.tile(levels, len(part.rows))
        curves.append(pd.DataFrame({"row": rows, "noise": noises, "kept": kept_at.ravel()}))
        said.append(words)
    table = pd.DataFrame(cells, index=explanation.rows.index, columns=columns)
    curve = pd.concat(curves, ignore_index=True)
    return Robustness(table, curve, " / ".join(dict.fromkeys(said)), copies, share, confidence, xi)


def stability(
    explanation: Explanation,
    model: Any,
    *,
    T: float = 0.1,
    sigma: float = 0.1,
    xi: float = 0.1,
    delta: float = 0.1,
    constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction = (),
    weights: Mapping[Hashable, float] | None = None,
    regularizers: Sequence[Regularizer] = (),
    samples: int = 256,
    seed: int = 0,
) -> Stability:
    """How sharply the energy and its free energy change around the answers, Eq. (24) to Eq. (31).

    ``constraints``, ``weights`` and ``regularizers`` are those that the explanation was made with.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> found = stability(explain(model, train[3:], reference=train), model)
    >>> found.has_gradient, bool(found.table["curvature"].iloc[0] <= 0.1 / 0.1**2)  # a cloud's is at most T / sigma**2
    (True, True)
    """
    _check_positive(T=T, sigma=sigma, xi=xi, delta=delta, samples=samples // 2)
    columns = ["slope", "gradient", "lipschitz", "curvature", "rise", "bound"]
    cells, flags = np.full((len(explanation), 6), np.nan), np.zeros((len(explanation), 2), dtype=bool)
    smooth = True
    for part in recall_answers(explanation, model, constraints, weights, regularizers):
        smooth = part.problem.has_gradient
        width = max(1, CELLS_PER_BATCH // ((ASCENT_STARTS + 1) * max(ASCENT_COPIES, samples // 8) * part.x.shape[1]))
        for start in range(0, len(part.rows), width):
            some = np.arange(start, min(start + width, len(part.rows)))
            chart = CoordinateChart.of(part.problem.take(some), part.x[some])
            near = Neighbourhood.of(chart, T, sigma, samples, seed ^ CHECK_STREAM_KEY)
            z, few = chart.origin_coordinates, near.with_fewer_draws(ASCENT_COPIES)
            norm, largest = gradient_norm(near.gradient(z)), near.largest_curvature(z)
            steepest = lipschitz_constant(few.value, z, xi, few.draws[:, : 2 * ASCENT_STARTS], few.gradient)
            worst = bounds.worst_case(few.value, z, xi, few.draws[:, :ASCENT_STARTS], few.gradient, steps=10)
            rows = part.rows[some]
            bound = bounds.worst_case_bound(norm, largest, xi)
            steepest = np.maximum(steepest, norm)
            cells[rows] = np.stack([near.least_slope(z), norm, steepest, largest, worst.rise, bound], axis=1)
            flags[rows, 0] = bounds.is_robust(norm, largest, xi, delta)
            flags[rows, 1] = bounds.is_robust_as_printed(norm, largest, xi)
    table = pd.DataFrame(cells, index=explanation.rows.index, columns=columns)
    return Stability(table.assign(stable=flags[:, 0], printed=flags[:, 1]), smooth, T, sigma, xi, delta)


def _worst_margin(part: RecalledAnswers, draws: Array, xi: float) -> Array:
    """The least margin found within ``xi`` of the answers, ``(n,)``."""
    chart = CoordinateChart.of(part.problem, part.x)
    masked = draws[:, : ASCENT_STARTS + ASCENT_COPIES] * chart.movable[:, None, :]
    starts, around = masked[:, :ASCENT_STARTS], masked[:, None, ASCENT_STARTS:]
    own = part.problem.has_gradient
    found = bounds.worst_case(
        lambda z: -chart.margin(z),
        chart.origin_coordinates,
        xi,
        starts,
        gradient=(lambda z: -chart.margin_and_gradient(z)[1]) if own else None,
        noise=None if own else around,
    )
    return chart.margin(chart.origin_coordinates) - found.rise


def _check_positive(**numbers: float) -> None:
    for name, number in numbers.items():
        if not (np.isfinite(number) and number > 0):
            raise InputError(f"{name} must be a number above 0", f"{number!r}", "for instance the default")
