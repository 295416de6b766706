"""What the rows of Algorithm 1 carry from one iteration to the next, and what an iteration did."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from counterpoise.types import Array, Index, Mask


class State(NamedTuple):
    """Where the rows are: coordinates ``(n, d)``, free energy ``(n,)``, its gradient ``(n, d)``, f - c and alpha."""

    z: Array
    value: Array
    gradient: Array
    margin: Array
    alpha: Array

    def at(self, rows: Index) -> State:
        """The state of some rows."""
        return State(*(part[rows] for part in self))

    def replace_rows(self, rows: Index, other: State) -> State:
        """This state, with another one in the place of some rows."""
        parts = [part.copy() for part in self]
        for mine, new in zip(parts, other, strict=True):
            mine[rows] = new
        return State(*parts)


class Info(NamedTuple):
    """What an iteration did, ``(n,)`` each: moved at all, alpha was halved at C1, the update was refused at C2."""

    is_accepted: Mask
    is_alpha_halved: Mask
    is_refused: Mask


def scatter_flags(flags: Mask, rows: Index, n: int) -> Mask:
    """Flags of some of n rows as flags of all; the others have none."""
    out = np.zeros(n, dtype=bool)
    out[rows] = flags
    return out


def select_rows(flags: Mask, yes: Array, no: Array) -> Array:
    """Rows of the one array where flagged ``(n,)``, of the other elsewhere."""
    return np.where(flags if yes.ndim == 1 else flags[:, None], yes, no)
