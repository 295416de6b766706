"""Profile: what the model says on the way from a row to its answer and beyond."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.api.firmness.kept import kept_share
from counterpoise.api.firmness.noise import NOISE_WITHOUT_REFERENCE, NoiseWish, choose_noise, parse_noise
from counterpoise.api.replay import Constraints, check_one_row, replay
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.landscape.directions import round_as_answers
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer
from counterpoise.readable import Readable, Summary
from counterpoise.space.distance import Distance
from counterpoise.space.schema.schema import Schema
from counterpoise.streams import StreamKey, Streams
from counterpoise.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Profile(Readable):
    """The way from a row to its answer and beyond: ``t`` ``(g,)`` is 0 at the row and 1 at the answer.

    Numbers go along a straight line, rounded as the schema rounds them; categories switch half-way. ``margin`` and
    ``probability`` as in `Landscape`, ``distance`` in standard deviations, each ``(g,)``. ``t_reached`` is the
    first t from which on the target is reached all the way to the answer; ``t_lost`` the first beyond the answer where
    it is lost again (NaN: nowhere on this line). ``kept`` ``(g,)`` is the share of noisy copies that keep the target,
    and ``noise`` says which noise; NaN and empty where none was asked for.
    """

    t: Array
    distance: Array
    margin: Array
    probability: Array
    t_reached: float
    t_lost: float
    target: str
    kept: Array
    noise: str = ""

    def summarize(self) -> Summary:
        """Where the target is reached and lost, and what the model says at tenths of the way."""
        lost = "" if np.isnan(self.t_lost) else f" and lost again at {self.t_lost:.0%}"
        title = f"The way from a row to its answer: {self.target} is reached at {self.t_reached:.0%} of it{lost}"
        every = max(1, (len(self.t) - 1) // 16)
        lines = []
        for place in range(0, len(self.t), every):
            share = "" if np.isnan(self.kept[place]) else f"{self.kept[place]:.0%}"
            numbers = (self.distance[place], self.margin[place], self.probability[place])
            shown = ["" if np.isnan(number) else f"{number:.4g}" for number in numbers]
            lines.append((f"{self.t[place]:.0%}", *shown, share))
        return Summary(title, ("way", "distance", "margin", "p(target)", "kept"), lines)


def profile(
    explanation: Explanation,
    model: Any,
    *,
    reach: float = 1.6,
    size: int = 161,
    noise: NoiseWish | None = None,
    copies: int = 200,
    reference: Any = None,
    constraints: Constraints = (),
    regularizers: Sequence[Regularizer | Fittable] = (),
) -> Profile:
    """What the model says along the line from a row through its answer, up to ``reach`` times the way.

    explanation: of one row that has a valid answer; its question binds.
    model: the model that was explained.
    reach: how far the line goes, in lengths of the way from the row to its answer; 1.6 by default.
    size: points on the line; 161 by default.
    noise: as for `cp.robustness`, to see where it would undo the change; None: no noise.
    copies: noisy copies of each point on the line; 200 by default.
    reference: the data that "auto" and rank noise are fitted to.
    constraints, regularizers: those of the explanation, needed only where it was saved and could not hold them.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> 0 < profile(explain(model, train[3:], reference=train), model).t_reached <= 1
    True
    """
    check_one_row(explanation)
    if not reach > 1:
        raise InputError("reach must be more than 1, the answer itself", f"{reach!r}", "for instance 1.6")
    if not (explanation.valid.all() and explanation.changed.all()):
        raise InputError("a profile needs an answer that changes something", "this row has none", "choose another row")
    given = {"reference": reference, "constraints": constraints, "regularizers": regularizers}
    replayed = replay(explanation, model, **given)
    schema, x0, x = explanation.schema, explanation.x0[0], explanation.x[0]
    t = np.union1d(np.linspace(0.0, reach, size), [1.0])
    points = _points_on_line(schema, x0, x, t)
    margin = replayed.margins(points)
    reached = margin >= 0
    reached[t == 1.0] = True  # the model's own predict has confirmed it
    way, beyond = t <= 1.0, t >= 1.0
    missed = np.flatnonzero(~reached & way)
    again = np.flatnonzero(~reached & beyond)
    kept, words = np.full(len(t), np.nan), ""
    if noise is not None:
        wish, target = parse_noise(noise), explanation.target[0]
        chosen, words, _ = choose_noise(
            replayed.problem, schema, replayed.question, wish, target, NOISE_WITHOUT_REFERENCE
        )
        line = np.zeros(len(t), dtype=np.intp)
        draws = Streams.of(explanation.x0, explanation.seed ^ StreamKey.CHECK).normal((copies, len(schema)))
        kept = kept_share(replayed.problem.take(line), points, chosen, draws[line])
    return Profile(
        t=t,
        distance=Distance.of(schema, "l2")(points[None], x0[None])[0],
        margin=margin,
        probability=replayed.probabilities(points),
        t_reached=float(t[missed[-1] + 1]) if len(missed) else 0.0,
        t_lost=float(t[again[0]]) if len(again) else float("nan"),
        target=str(explanation.target[0]),
        kept=kept,
        noise=words,
    )


def _points_on_line(schema: Schema, x0: Array, x: Array, t: Array) -> Array:
    """Points ``(g, d)`` on the line from ``x0`` to ``x`` at the shares ``t`` ``(g,)``."""
    start = np.where(np.isnan(x0), x, x0)
    points = start + t[:, None] * (x - start)
    for place, feature in enumerate(schema):
        ends = start[place], x[place]
        if not feature.is_numeric:
            points[:, place] = np.where(t < 0.5, x0[place], x[place])
        elif ends[0] != ends[1]:
            low, high = min(feature.lower, *ends), max(feature.upper, *ends)
            points[:, place] = round_as_answers(feature, np.clip(points[:, place], low, high))
        else:
            points[:, place] = np.where(t < 0.5, x0[place], x[place]) if np.isnan(x0[place]) else x[place]
    points[t == 1.0] = x
    points[t == 0.0] = x0
    return points
