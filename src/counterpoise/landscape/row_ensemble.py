"""The ensemble of one row: its draws, its basins, and what they say of each feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.methods.sampler.basins.basins import Basins
from counterpoise.methods.sampler.diagnostics import effective_size
from counterpoise.methods.sampler.draws import Draws
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Mask


@dataclass(frozen=True, eq=False)
class RowEnsemble:
    """All that was sampled of one row.

    place: where the row stands in the user's table.
    label: its label there.
    least: the effort of the answer that the search found; NaN without one.
    T: the temperature, in units of the effort.
    basin_kept: the share of noisy copies of each basin's minimum that keep the target, ``(b,)``.
    basin_valid: whether the user's own model says that the minimum reaches the target, ``(b,)``.
    notes: what the reader should know.
    """

    schema: Schema
    place: int
    label: Any
    target: str
    x0: Array  # (d,)
    answer: Array  # (d,)
    least: float
    T: float
    draws: Draws | None
    basins: Basins | None
    basin_kept: Array
    basin_valid: Mask
    notes: tuple[str, ...]

    @property
    def improved(self) -> Array | None:
        """The minimum ``(d,)`` of least effort that the user's own model takes, where it beats the answer; or None."""
        if self.basins is None:
            return None
        better = self.basin_valid & (self.basins.effort < self.least * (1 - 1e-6))
        return self.basins.x[int(better.argmax())] if better.any() else None

    @property
    def least_known(self) -> float:
        """The least effort of all valid points that are known; NaN without any."""
        known = [] if self.basins is None else self.basins.effort[self.basin_valid].tolist()
        return float(min([self.least, *known]))

    def importance(self, necessary: float = 0.95, idle: float = 0.05) -> pd.DataFrame:
        """A line a feature: how often it changes, by how much given that it does, which way, and its role."""
        draws = self.draws
        assert draws is not None
        marks = draws.is_changed.astype(np.float64)
        share = marks.mean(axis=(0, 1))
        size = np.nan_to_num(effective_size(marks, ranks=False), nan=draws.effective_size)
        smooth = (share * size + 0.5) / (size + 1)  # an estimate that is never certain, for the error
        error = np.sqrt(smooth * (1 - smooth) / (size + 1))
        lines = []
        for column, feature in enumerate(self.schema):
            mean, mean_error, direction = self._describe_change(column, size[column])
            role = "necessary" if share[column] >= necessary else "idle" if share[column] < idle else "optional"
            lines.append((feature.name, share[column], error[column], mean, mean_error, direction, role))
        columns = ["feature", "p_change", "p_error", "mean_change", "mean_error", "direction", "role"]
        frame = pd.DataFrame(lines, columns=columns)
        return frame.sort_values("p_change", ascending=False, kind="stable", ignore_index=True)

    def _describe_change(self, column: int, size: float) -> tuple[float, float, str]:
        """Mean and error of the change of a feature, given that it changes, in its own units, and its direction."""
        draws = self.draws
        assert draws is not None
        mine = draws.is_changed[..., column]
        if not mine.any():
            return np.nan, np.nan, ""
        row_value = self.x0[column]
        if not self.schema.numeric[column]:
            return np.nan, np.nan, "other value"
        if np.isnan(row_value):
            return np.nan, np.nan, "filled in"
        change = draws.x[..., column][mine] - row_value
        count = max(size * mine.mean(), 1.0)
        ups = float((change > 0).mean())
        direction = "up" if ups > 0.95 else "down" if ups < 0.05 else "either"
        return float(change.mean()), float(change.std() / np.sqrt(count)), direction

    def together(self, least: float = 0.02) -> pd.DataFrame:
        """Correlations of the changed marks, ``(f, f)``, of features that are neither always nor never changed."""
        draws = self.draws
        assert draws is not None
        marks = draws.is_changed.reshape(-1, len(self.schema)).astype(np.float64)
        share = marks.mean(axis=0)
        mine = np.flatnonzero((share > least) & (share < 1 - least))
        names = [self.schema.names[column] for column in mine]
        found = np.atleast_2d(np.corrcoef(marks[:, mine].T)) if len(mine) else np.empty((0, 0))
        return pd.DataFrame(found, index=pd.Index(names), columns=pd.Index(names))

    def energy(self) -> pd.DataFrame:
        """A line a temperature of the ladder: mean and variance of the effort, and the heat capacity Var E / T²."""
        draws = self.draws
        assert draws is not None
        mean, variance = draws.effort.mean(axis=(0, 1)), draws.effort.var(axis=(0, 1))
        error = np.sqrt(variance / np.nan_to_num(effective_size(draws.effort, ranks=False), nan=1.0))
        return pd.DataFrame(
            {
                "T": draws.T,
                "T_share": draws.T / self.least,
                "mean": mean,
                "mean_error": error,
                "variance": variance,
                "heat_capacity": variance / draws.T**2,
            }
        )

    def describe_basins(self) -> pd.DataFrame:
        """A line a basin, that of least free energy first."""
        basins, draws = self.basins, self.draws
        assert basins is not None
        assert draws is not None
        with np.errstate(divide="ignore"):
            free = -self.T * np.log(basins.weight)
        entropy = (basins.mean_effort - draws.effort[..., 0].mean() - free) / self.T
        lines = [
            (
                self.describe_point(basins.x[place]),
                basins.effort[place],
                basins.weight[place],
                basins.weight_error[place],
                free[place],
                entropy[place],
                basins.width[place],
                self.basin_kept[place],
                bool(self.basin_valid[place]),
            )
            for place in range(len(basins.effort))
        ]
        columns = ["changes", "effort", "weight", "weight_error", "free_energy", "entropy", "width", "kept", "valid"]
        frame = pd.DataFrame(lines, columns=columns)
        frame.insert(0, "basin", np.arange(len(frame)))
        return frame.sort_values("free_energy", kind="stable", ignore_index=True)

    def describe_point(self, x: Array, most: int = 4) -> str:
        """The features that a point changes, in words."""
        different = (x != self.x0) & ~(np.isnan(x) & np.isnan(self.x0))
        names = [str(self.schema.names[column]) for column in np.flatnonzero(different)]
        more = f" and {len(names) - most} more" if len(names) > most else ""
        return ", ".join(names[:most]) + more

    def describe_barriers(self) -> pd.DataFrame:
        """A line a merge: which two basins become one, and at what effort; infinite where no way is known."""
        assert self.basins is not None
        tree = self.basins.tree
        lines = [(int(one), int(other), height) for one, other, height in tree.merges]
        joined = {other for _, other, _ in lines}
        lines += [(0, place, np.inf) for place in range(1, len(tree.effort)) if place not in joined]
        return pd.DataFrame(lines, columns=["basin", "other", "barrier"]).astype({"basin": int, "other": int})

    def diagnose(self) -> dict[str, Any]:
        """The diagnostics of the row as one line."""
        draws = self.draws
        if draws is None:
            return {"converged": False, "note": "; ".join(self.notes)}
        return {
            "converged": draws.has_converged,
            "r_hat": draws.r_hat,
            "effective_samples": draws.effective_size,
            "least_swap_rate": float(draws.swap_rates.min(initial=1.0)),
            "sweeps": draws.sweeps,
            "burn_in": draws.burn_in,
            "T": self.T,
            "least_effort": self.least,
            "mean_effort": float(draws.effort[..., 0].mean()),
            "note": "; ".join(self.notes),
        }
