"""Robustness: how much of the answers noise, an adversary and a retrained model leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.agreement import adapt_models, ask_models
from counterpoise.api.firmness.kept import kept_share
from counterpoise.api.firmness.noise import NOISE_WITHOUT_REFERENCE, NoiseWish, choose_noise, parse_noise
from counterpoise.api.replay import Constraints, Replay, replay_valid_rows, sample_probe_rows
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation, check_explanation
from counterpoise.explanation.sentences import say_models
from counterpoise.methods.baselines.coordinates import CoordinateChart
from counterpoise.objective.noise import Noise
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer
from counterpoise.physics import robustness as bounds
from counterpoise.readable import draw_html_table
from counterpoise.streams import StreamKey
from counterpoise.types import Array

NOISE_COLUMNS = ("kept", "low", "high", "worst", "radius")  # of the table: what noise and an adversary leave
NO_CURVE = pd.DataFrame({"row": np.empty(0, dtype=np.intp), "noise": np.empty(0), "kept": np.empty(0)})
NOISE_FACTORS = 2.0 ** np.arange(-5, 2.5, 0.5)  # multiples of the noise at which the radius is looked for


@dataclass(frozen=True)
class AscentSettings:
    """How the worst perturbation is looked for: from random directions, uphill."""

    directions: int = 8
    """Directions that the ascent starts in."""
    copies: int = 64
    """Copies around each point of the ascent, for models without a gradient."""


DEFAULT_ASCENT = AscentSettings()


@dataclass(frozen=True, eq=False, repr=False)
class Robustness:
    """What noise, an adversary and further models leave of the valid answers; ``table`` has a line for each row.

    kept, low, high: the share of noisy copies that keep the target, and its confidence interval. worst: the score's
    margin ``f - c`` at the worst perturbation found within ``xi``, Eq. (29), below 0 where the target is lost; every
    number is taken as continuous there. radius: the largest noise of the same kind of which ``share`` of the copies
    keep the target, 0 where even the smallest tried loses too many. ``curve`` has the share kept at each noise tried
    for that: row (its place), noise, kept.

    agree, agree_of: the share of the further ``models`` that give the answer its target too, and how many could be
    asked. ``models`` has a line for each row, a column for each of them: whether it does. ``notes`` says which could
    not be asked, and why. What was not measured, and what is of a row without a valid answer, is NaN.
    """

    table: pd.DataFrame
    curve: pd.DataFrame
    noise: str
    copies: int
    share: float
    confidence: float
    xi: float
    models: pd.DataFrame
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(filter(None, [self._say_noise(), self._say_models(), *self.notes]))

    def _say_models(self) -> str:
        """How many of the further models agree."""
        asked = self.table.dropna(subset=["agree"])
        if not len(asked):
            return ""
        if len(asked) == 1:
            share, count = asked["agree"].iloc[0], int(asked["agree_of"].iloc[0])
            return f"{say_models(round(share * count), count)} say so too"
        every = int((asked["agree"] == 1).sum())
        return (
            f"{len(asked)} answers: {asked['agree'].mean():.1%} of {self.models.shape[1]} other models agree (mean), "
            f"all of them with {every}"
        )

    def _say_noise(self) -> str:
        """What noise and an adversary leave."""
        seen = self.table[[*NOISE_COLUMNS]].dropna()
        if not len(seen):
            return ""
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

    def _repr_html_(self) -> str:
        """The same words, and a table of the first 20 rows."""
        names = [name for name in (*NOISE_COLUMNS, "agree") if self.table[name].notna().any()]
        lines = [(str(row), *(f"{line[name]:.3g}" for name in names)) for row, line in self.table.iterrows()]
        words = "".join(f"<p>{escape(part)}</p>" for part in repr(self).splitlines())
        return f"<div>{words}{draw_html_table(('row', *names), lines[:20])}</div>"


def robustness(
    explanation: Explanation,
    model: Any = None,
    *,
    models: Sequence[Any] = (),
    noise: NoiseWish = "auto",
    xi: float = 0.1,
    reference: Any = None,
    constraints: Constraints = (),
    regularizers: Sequence[Regularizer | Fittable] = (),
    share: float = 0.9,
    copies: int = 1000,
    radius_copies: int = 200,
    confidence: float = 0.95,
    ascent: AscentSettings = DEFAULT_ASCENT,
    seed: int = 0,
) -> Robustness:
    """How well answers hold under noise, under the worst perturbation of size ``xi``, and in retrained models.

    explanation: answers of this model; its question binds: noisy copies stay inside its constraints.
    model: the model that was explained; None: noise is left out, and ``models`` alone are asked.
    models: further fitted models, such as refits on other draws of the data, with other seeds or settings: the share of
        them that gives each answer its target too is in the table as ``agree``. One that fails is left out, with a
        note. None by default.
    noise: a number (Gaussian noise, in standard deviations), a noise, or "auto": rank noise calibrated on the
        reference where that is given, else Gaussian noise of 0.2.
    xi: the size of the worst perturbation looked for, in standard deviations; 0.1 by default.
    reference: the data that "auto" and rank noise are fitted to.
    constraints, regularizers: those of the explanation, needed only where it was saved and could not hold them.
    share: the share of copies that must keep the target at the radius; 0.9 by default.
    copies: noisy copies of each answer; 1000 by default.
    radius_copies: copies at each noise that is tried for the radius; 200 by default.
    confidence: of the interval around the share kept; 0.95 by default.
    ascent: how the worst perturbation is looked for; from 8 directions by default.
    seed: of the noise.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> found = robustness(explain(model, train[3:], reference=train), model, noise=0.1)
    >>> bool(found.table["kept"].iloc[0] < 0.7)  # a minimal answer stands on the boundary
    True
    >>> refits = [LogisticRegression(C=C).fit(train, ["benign", "benign", "alert", "alert"]) for C in (0.1, 10)]
    >>> robustness(explain(model, train[3:], reference=train), models=refits).table["agree_of"].tolist()
    [2.0]
    """
    check_explanation(explanation)
    check_positive(xi=xi, share=share, copies=copies, radius_copies=radius_copies)
    wish = parse_noise(noise)
    other_models = adapt_models(models, explanation.schema, sample_probe_rows(explanation))
    if model is None and not other_models:
        raise InputError("a model must be given", "neither model nor models", "give the model that was explained")
    agreement = ask_models(explanation, other_models)
    columns = list(NOISE_COLUMNS)
    cells, noises, curves = np.full((len(explanation), len(columns)), np.nan), [], [NO_CURVE]
    given = {"reference": reference, "constraints": constraints, "regularizers": regularizers}
    for part in () if model is None else replay_valid_rows(explanation, model, **given):
        target = explanation.target[part.rows[0]]
        chosen, words, _ = choose_noise(
            part.problem, explanation.schema, part.question, wish, target, NOISE_WITHOUT_REFERENCE
        )
        streams, most = part.problem.make_streams(seed ^ StreamKey.CHECK), max(copies, radius_copies)
        draws = streams.normal((most, part.x.shape[1]))
        kept = kept_share(part.problem, part.x, chosen, draws[:, :copies])
        low, high = bounds.share_interval(np.rint(kept * copies), copies, confidence)
        levels, kept_at = kept_share_by_level(part, chosen, draws[:, :radius_copies])
        worst, reach = _worst_margin(part, draws, xi, ascent), noise_radius(levels, kept_at, share)
        cells[part.rows] = np.stack([kept, low, high, worst, reach], axis=1)
        rows, tried = np.repeat(part.rows, len(levels)), np.tile(levels, len(part.rows))
        curves.append(pd.DataFrame({"row": rows, "noise": tried, "kept": kept_at.ravel()}))
        noises.append(words)
    index = explanation.rows.index
    table = pd.DataFrame(cells, index=index, columns=columns)
    table = table.assign(agree=agreement.share[:, 0], agree_of=agreement.asked[:, 0])
    votes = pd.DataFrame(agreement.gives_target[:, :, 0].T, index=index).astype("boolean")
    curve = pd.concat(curves[1:] or curves, ignore_index=True)
    words = " / ".join(dict.fromkeys(noises))
    return Robustness(table, curve, words, copies, share, confidence, xi, votes, agreement.notes)


def _worst_margin(part: Replay, draws: Array, xi: float, ascent: AscentSettings) -> Array:
    """The least margin found within ``xi`` of the answers, ``(n,)``."""
    chart = CoordinateChart.of(part.problem, part.x)
    masked = draws[:, : ascent.directions + ascent.copies] * chart.is_movable[:, None, :]
    starts, around = masked[:, : ascent.directions], masked[:, None, ascent.directions :]
    has_gradient = part.problem.has_gradient
    found = bounds.worst_case(
        lambda z: -chart.margin(z),
        chart.origin_coordinates,
        xi,
        starts,
        gradient=(lambda z: -chart.margin_and_gradient(z)[1]) if has_gradient else None,
        noise=None if has_gradient else around,
    )
    return chart.margin(chart.origin_coordinates) - found.rise


def kept_share_by_level(part: Replay, noise: Noise, draws: Array) -> tuple[Array, Array]:
    """Noise levels ``(g,)`` around that of a noise, and the share of copies kept at each, ``(n, g)``."""
    if not noise.level > 0:
        return np.empty(0), np.empty((len(part.rows), 0))
    levels = noise.level * NOISE_FACTORS
    levels = levels[levels <= noise.max_level]
    return levels, np.stack(
        [kept_share(part.problem, part.x, noise.scaled(float(level)), draws) for level in levels], axis=1
    )


def noise_radius(levels: Array, kept: Array, share: float) -> Array:
    """The noise level ``(n,)`` at which the share ``kept`` ``(n, g)`` falls to the one wanted, between ``levels``."""
    if not len(levels):
        return np.full(len(kept), np.nan)
    kept = np.minimum.accumulate(kept, axis=1)
    first = np.argmax(kept < share, axis=1)  # the first level that loses too many
    rows = np.arange(len(kept))
    before, after = kept[rows, np.maximum(first - 1, 0)], kept[rows, first]
    part_way = (before - share) / np.where(before > after, before - after, 1.0)
    between = levels[np.maximum(first - 1, 0)] + np.clip(part_way, 0, 1) * (
        levels[first] - levels[np.maximum(first - 1, 0)]
    )
    return np.where((kept >= share).all(axis=1), levels[-1], np.where(first == 0, 0.0, between))


def check_positive(**numbers: float) -> None:
    """An error for a setting that is not a number above 0."""
    for name, number in numbers.items():
        if not (np.isfinite(number) and number > 0):
            raise InputError(f"{name} must be a number above 0", f"{number!r}", "for instance the default")
