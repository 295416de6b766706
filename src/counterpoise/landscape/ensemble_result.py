"""Ensemble: what `ensemble` gives, as tables, text, a notebook card and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.tables import restore_table
from counterpoise.landscape.ensemble_words import describe_row, ensemble_card
from counterpoise.landscape.row_ensemble import RowEnsemble
from counterpoise.space.nearest_rows import spread_places
from counterpoise.types import is_whole_number


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """All the ways out of n decisions at a temperature, and what they have in common.

    explanation: the answers that the search found, which the temperatures are shares of.
    rows: what was sampled of each row.
    wanted: effective samples asked for.

    The probability of a point is in proportion to ``w exp(-(d + lam R) / T)``; w gives "unchanged" the weight 1 and all
    changed values of a feature together the weight 1, spread as the reference has them.

    seconds, model_rows: what the call took, and the rows that the model was asked about.
    """

    explanation: Explanation
    rows: tuple[RowEnsemble, ...]
    wanted: int
    seconds: float = 0.0
    model_rows: int = 0

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Ensemble]:
        return (self[row] for row in range(len(self)))

    def __getitem__(self, row: int) -> Ensemble:
        """The ensemble of one row, by position."""
        if not (is_whole_number(row) and -len(self) <= row < len(self)):
            raise InputError(f"a row must be a position below {len(self)}", f"{row!r}", "for instance ensemble[0]")
        return replace(self, explanation=self.explanation[[row % len(self)]], rows=(self.rows[row],))

    @property
    def importance(self) -> pd.DataFrame:
        """A line a row and feature: how often the feature changes, by how much, which way, and its role.

        row, feature, p_change, p_error (standard error), mean_change (in the feature's own units, given that it
        changes), mean_error, direction, role: "necessary" at 0.95 and above, "idle" below 0.05, else "optional".
        """
        return self._join(lambda each: each.importance())

    @property
    def samples(self) -> pd.DataFrame:
        """Points of the ensemble, as many a row as were asked for, in the columns and dtypes of the rows."""
        parts, keys = [], []
        for place, each in enumerate(self.rows):
            if each.draws is None:
                continue
            x, _ = each.draws.flat()
            x = x[spread_places(len(x), self.wanted)]
            table = self.explanation.rows.iloc[[place]].iloc[np.zeros(len(x), dtype=np.intp)].reset_index(drop=True)
            parts.append(restore_table(each.schema, table, np.repeat(each.x0[None], len(x), axis=0), x))
            keys.append(each.place)
        if not parts:
            return self.explanation.rows.iloc[:0]
        return pd.concat(parts, keys=keys, names=["row", "sample"])

    @property
    def together(self) -> pd.DataFrame:
        """Which features change together, for one row: correlations of the changed marks."""
        return self.get_row().together()

    @property
    def energy(self) -> pd.DataFrame:
        """A line a row and temperature: T, T_share, mean and variance of the effort, heat_capacity = variance / T²."""
        return self._join(lambda each: each.energy())

    @property
    def basins(self) -> pd.DataFrame:
        """A line a row and basin, that of least free energy first.

        changes, effort of its minimum, weight (share of the ensemble) and its error, free_energy (F_b - F =
        -T ln weight), entropy (relative to the ensemble), width (in typical spreads), kept (share of noisy copies of
        the minimum that keep the target), valid (what the user's own model says of the minimum).
        """
        return self._join(lambda each: each.describe_basins())

    @property
    def barriers(self) -> pd.DataFrame:
        """A line a row and merge of the disconnectivity graph: basin, other, barrier; infinite: no way is known."""
        return self._join(lambda each: each.describe_barriers())

    @property
    def diagnostics(self) -> pd.DataFrame:
        """A line a row: converged, r_hat, effective_samples, least_swap_rate, sweeps, burn_in, T, efforts, note."""
        return pd.DataFrame([{"row": each.place, **each.diagnose()} for each in self.rows])

    @property
    def improved(self) -> pd.DataFrame:
        """Rows whose ensemble has a valid point of less effort than their answer: these points, as the rows are."""
        better = {place: each.improved for place, each in enumerate(self.rows) if each.improved is not None}
        if not better:
            return self.explanation.rows.iloc[:0]
        part = self.explanation[list(better)]
        return restore_table(part.schema, part.rows, part.x0, np.stack(list(better.values())))

    def get_row(self) -> RowEnsemble:
        """The one row that was sampled, or an error that says what to do."""
        if len(self) != 1:
            raise InputError("this is about one row", f"the ensemble has {len(self)}", "choose one: ensemble[0]")
        if self.rows[0].draws is None:
            raise InputError(
                "the row must have an answer", "; ".join(self.rows[0].notes), "choose another row or target"
            )
        return self.rows[0]

    def text(self) -> str:
        """What was found, in sentences, a paragraph a row."""
        return "\n\n".join(describe_row(each) for each in self.rows)

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return "\n".join(ensemble_card(each) for each in self.rows)

    def to_json(self) -> str:
        """Importance, basins, barriers, energy and diagnostics by place of the row, and labels of rows, as JSON.

        Infinite and missing numbers are null.
        """
        names = ("importance", "basins", "barriers", "energy", "diagnostics")
        tables = {
            name: json.loads(getattr(self, name).to_json(orient="records", default_handler=str)) for name in names
        }
        labels = [str(each.label) for each in self.rows]
        return json.dumps(
            {"kind": "counterpoise ensemble", "version": 1, "samples": self.wanted, "labels": labels, **tables}
        )

    def _join(self, make: Callable[[RowEnsemble], pd.DataFrame]) -> pd.DataFrame:
        frames = []
        for each in self.rows:
            if each.draws is not None:
                frame = make(each)
                frame.insert(0, "row", each.place)
                frames.append(frame)
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["row"])
