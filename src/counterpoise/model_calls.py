"""Model calls: every call is counted, outputs are checked, and an exception names the row that caused it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.call_blocks import call_in_blocks
from counterpoise.cancellation import stop_if_cancelled
from counterpoise.errors import CapabilityError, InputError, ModelError
from counterpoise.types import Array, Index, Model, Points


@dataclass
class Tally:
    """Model rows and calls spent so far; shared by every part of a run."""

    rows: int = 0
    calls: int = 0
    opened_rows: int = 0  # rows put to trees or layers that were read, by a firm search: the model was not asked
    block_rows: int = 0  # the size of every call; 0: calls are as large as they come


def call_model(call: Callable[[Any], Any], x: Points, owners: Index, tally: Tally, what: str = "row") -> Any:
    """The result of a model's function at ``x`` ``(p, d)``, counted; an exception names the row that caused it.

    ``owners`` ``(p,)`` is the row of each point. The error's ``row`` is the first row whose points alone make the
    function raise again, or None if it does not raise again.
    """
    stop_if_cancelled()
    tally.rows += len(x) if not tally.block_rows else -(-len(x) // tally.block_rows) * tally.block_rows
    tally.calls += 1
    try:
        return call_in_blocks(call, x, tally.block_rows) if tally.block_rows else call(x)
    except (CapabilityError, InputError):
        raise
    except Exception as error:
        row = _find_failing_row(call, x, owners)
        place = "" if row is None else f" on {what} {row}, counted from 0"
        said = error.given if isinstance(error, ModelError) else f"it raised {type(error).__name__}{place}: {error}"
        raise ModelError(
            error.must if isinstance(error, ModelError) else "the model must answer every row inside the region",
            said,
            error.todo if isinstance(error, ModelError) else _remedy(what),
            row=row if what == "row" else None,
        ) from error


def model_outputs(model: Model, x: Array, owners: Index, tally: Tally, what: str = "row") -> Array:
    """Outputs ``(p, c)`` of the model at ``x`` ``(p, d)``, checked and counted."""
    return check_outputs(call_model(model.outputs, x, owners, tally, what), x, owners, what)


def check_outputs(said: Any, x: Points, owners: Index, what: str = "row") -> Array:
    """A model's answer at ``x`` ``(p, d)`` as outputs ``(p, c)``: a line of finite numbers for each point."""
    outputs = np.asarray(said, dtype=np.float64)
    if outputs.ndim != 2 or len(outputs) != len(x):
        raise ModelError(
            "the model must give one line of outputs per row",
            f"{len(x)} rows gave outputs of shape {outputs.shape}",
            "mend the model",
        )
    if not np.isfinite(outputs).all():
        wrong = np.flatnonzero(~np.isfinite(outputs).all(axis=1))
        place = wrong[owners[wrong].argmin()]
        row = int(owners[place])
        raise ModelError(
            "the model must answer with finite numbers",
            f"it gave {outputs[place].tolist()} for {what} {row}, counted from 0",
            _remedy(what),
            row=row if what == "row" else None,
        )
    return outputs


def _remedy(what: str) -> str:
    return "mend the model, or constrain what it cannot take" if what == "row" else f"leave out each such {what}"


def _find_failing_row(call: Callable[[Any], Any], x: Points, owners: Index) -> int | None:
    for row in np.unique(owners).tolist():
        try:
            call(x[owners == row])
        except Exception:
            return int(row)
    return None
