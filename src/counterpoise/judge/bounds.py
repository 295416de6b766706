"""Bounds for answers from anywhere: what they cost, and what every valid answer to the question costs at least."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from counterpoise.api.explainer import Explainer
from counterpoise.api.replay import replay
from counterpoise.methods.baselines.nearest import NearestNeighbour
from counterpoise.methods.proven import Proven
from counterpoise.objective.energy import Energy
from counterpoise.types import Array


class EffortBounds(NamedTuple):
    """The effort that a question counts, and a bound of it for each of n rows."""

    energy: Energy
    x0: Array  # (n, d)
    bound: Array  # (n,) NaN where none is known

    @classmethod
    def of(cls, explainer: Explainer, rows: Any, **question: Any) -> EffortBounds:
        """The bounds of rows; the default search runs only where something can be proven of the model.

        What is asked about noise is left out: an answer that withstands it costs no less than the least.
        """
        minimal = {name: value for name, value in question.items() if name not in ("keep", "temperature", "noise")}
        found = explainer(rows, **minimal, method=Proven(NearestNeighbour()))
        asked = replay(found, explainer.model, reference=explainer.reference)
        bound = found.bound
        if not np.isnan(bound).all():
            bound = np.fmax(bound, explainer(rows, **minimal).bound)
        return cls(asked.problem.energy, asked.problem.x0, bound)

    def efforts(self, x: Array) -> Array:
        """What answers ``(n, d)`` cost, ``(n,)``; NaN where a row has none."""
        lost = np.asarray((np.isnan(x) & ~np.isnan(self.x0)).any(axis=1))
        effort = self.energy.effort(np.where(lost[:, None], self.x0, x)[:, None, :], self.x0)[:, 0]
        return np.where(lost, np.nan, effort)

    def ratios(self, effort: Array) -> Array:
        """Effort over bound, ``(n,)``: 1 for the least there is; NaN without an answer or a bound above 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.bound > 0, effort / self.bound, np.nan)
