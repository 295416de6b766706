"""How far a model's answers can be relied on: whether they change from one asking to the next, or with a call's size.

Sums of float32 numbers, and products of matrices in any precision, round otherwise when another number of rows is asked
about together. An answer that lies nearer to the boundary than that rounding is valid in one call and not in the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterpoise.api.inputs.reference import Reference
from counterpoise.model_calls import Tally, call_model
from counterpoise.models.goals import apply_link
from counterpoise.types import Array, Model, OwnModel


@dataclass(frozen=True)
class AskingSettings:
    """How often and in what company the model is asked about final answers.

    block_rows: rows of a call whose size is always the same.
    rows_alone: rows asked about alone when the rounding is measured.
    small_calls: sizes of calls in which as many are asked, where that shows none: few rows are summed otherwise.
    askings: how often a model that answers differently each time is asked.
    min_roundings: the least margin of an answer, in units of the model's own rounding.
    sure_roundings: from how many of them on a row need not be asked about alone.
    min_spreads: the least margin in units of how far the margins of one row lie apart in different company.
    max_rounding, max_jumping: a relative difference above the first is a jump, unless more than this share of the rows
        do it.
    """

    block_rows: int = 64
    rows_alone: int = 8
    small_calls: tuple[int, ...] = (2, 3)
    askings: int = 16
    min_roundings: float = 8.0
    sure_roundings: float = 256.0
    min_spreads: float = 3.0
    max_rounding: float = 1e-3
    max_jumping: float = 0.05


DEFAULT_ASKING = AskingSettings()


class Steadiness(NamedTuple):
    """What was seen of a model: rows that it answers otherwise when asked again, or in other company, and its rounding.

    asked: of how many rows it was asked; changed: of how many the answer changed in an equal call; jumps: of how many
    it changed with the company by more than rounding does; rounding: the largest other difference of a row's outputs,
    logarithms under a "log" link, between calls of different sizes; says_labels: its outputs are labels alone, behind
    which sums may round otherwise in other company and nobody sees it, as in a vote of linear models.
    """

    asked: int = 0
    changed: int = 0
    jumps: int = 0
    rounding: float = 0.0
    says_labels: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the model gives the same outputs however and whenever it is asked."""
        return not (self.changed or self.rounding or self.needs_other_company)

    @property
    def needs_other_company(self) -> bool:
        """Whether an answer must be asked about alone and among others, since no margin tells how firm it is."""
        return bool(self.jumps or self.says_labels)

    def notes(self, askings: int = DEFAULT_ASKING.askings) -> tuple[str, ...]:
        """What the user should know of it."""
        if not self.changed:
            return ()
        note = f"asked again, it said something else of {self.changed} of {self.asked} rows"
        claim = f"an answer counts as valid only if all of {askings} askings agree"
        return (f"the model answers differently each time: {note}; {claim}",)


def find_steadiness(model: Model, reference: Reference, x0: Array) -> Steadiness:
    """How a model answers when it is asked again, and in other company; measured once for each reference.

    Without a reference, on rows ``x0`` ``(n, d)``. Trees that were read add up row by row, always in the same order.
    """
    if model.trees is not None:
        return Steadiness()
    most = DEFAULT_ASKING.block_rows
    rows = reference.sample_rows(most) if len(reference.x) else x0
    complete = ~np.isnan(rows).any(axis=1)  # a model need not accept missing cells
    rows = rows[complete] if complete.any() else rows
    is_smooth = model.gradient is not None
    found = reference.remember("steadiness", model, lambda: measure_steadiness(model.own, rows[:most], is_smooth))
    if any(feature.has_large_integers for feature in reference.schema):  # sums of such numbers are mostly rounding
        return found._replace(jumps=max(found.jumps, 1))
    return found


def measure_steadiness(
    own: OwnModel, rows: Array, is_smooth: bool = False, settings: AskingSettings = DEFAULT_ASKING
) -> Steadiness:
    """Ask a model about rows ``(p, d)`` together, in reverse and some of them alone; again, where that differs.

    is_smooth: the outputs are those of a formula with a slope, so that a coarse step between them is its rounding.
    """
    if not len(rows):
        return Steadiness()
    rows = np.resize(rows, (max(len(rows), settings.block_rows // 2), rows.shape[1]))  # a few rows are asked repeatedly

    def ask_plainly(x: Array) -> Array:
        answered = call_model(own.outputs, x, np.arange(len(x)), Tally(), "reference row")  # what it raises is told
        return np.asarray(answered, dtype=np.float64)

    def ask(x: Array) -> Array:
        return apply_link(ask_plainly(x), own.link)

    outputs = ask_plainly(rows)
    together = apply_link(outputs, own.link)
    says_labels = outputs.shape[1] > 1 and bool(np.isin(outputs, (0.0, 1.0)).all())
    some = np.unique(np.linspace(0, len(rows) - 1, settings.rows_alone).astype(np.intp))
    alone = np.concatenate([ask(rows[[place]]) for place in some])
    away = np.abs(ask(rows[::-1])[::-1] - together)
    away = np.fmax(away, np.abs(ask(np.asfortranarray(rows)) - together))  # columns side by side, as many frames have
    away[some] = np.fmax(away[some], np.abs(alone - together[some]))
    away = np.fmax(away, _last_place(together))
    if is_smooth:
        away = np.fmax(away, _coarse_step(together))
    if not away.any():
        for size in settings.small_calls:
            for start in range(0, settings.rows_alone, size):
                part = slice(start, start + size)
                away[part] = np.fmax(away[part], np.abs(ask(rows[part]) - together[part]))
    if not away.any():
        return Steadiness(len(rows), says_labels=says_labels)
    most = settings.max_rounding * max(float(np.abs(together).max(initial=0.0)), np.finfo(np.float64).tiny)
    again = np.abs(ask(rows) - together)
    changed, jumps = (int((each > most).any(axis=1).sum()) for each in (again, away))
    away = np.fmax(away, again)
    if jumps <= settings.max_jumping * len(rows):  # else the outputs are made of little but rounding
        away = away[away <= most]
    return Steadiness(len(rows), changed, jumps, float(away.max(initial=0.0)), says_labels)


def depends_on_call_size(model: Model, reference: Reference) -> bool:
    """Whether outputs may change, in their last place too, with how many rows are asked about together.

    Trees that were read add up row by row. Formulas multiply matrices, so that they may. Any other model is tried, once
    for each reference; a remote one is not, since every row filled up would be sent.
    """
    if model.trees is not None or model.is_remote:
        return False
    if model.gradient is not None or model.layers is not None:
        return True
    return reference.remember("call size", model, lambda: _changes_with_call_size(model, reference))


def _changes_with_call_size(model: Model, reference: Reference, settings: AskingSettings = DEFAULT_ASKING) -> bool:
    rows = reference.sample_rows(settings.block_rows)
    complete = ~np.isnan(rows).any(axis=1)
    rows = rows[complete] if complete.any() else rows

    def ask(x: Array) -> Array:
        outputs, likely = (
            call_model(method, x, np.arange(len(x)), Tally(), "reference row")
            for method in (model.outputs, model.probabilities)
        )
        return np.column_stack([np.asarray(part, dtype=np.float64) for part in (outputs, likely) if part is not None])

    together = ask(rows)
    parts = np.array_split(np.arange(len(rows)), 5)
    alone = np.arange(min(len(rows), settings.rows_alone))
    return not (
        np.array_equal(np.concatenate([ask(rows[part]) for part in parts if len(part)]), together)
        and np.array_equal(np.concatenate([ask(rows[[place]]) for place in alone]), together[alone])
    )


def _last_place(outputs: Array) -> float:
    """The last place of outputs ``(p, c)`` kept in single precision; 0 for others, such as shares and labels."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        single, half = (np.array_equal(outputs.astype(kind), outputs) for kind in (np.float32, np.float16))
    return float(np.finfo(np.float32).eps * np.abs(outputs).max(initial=0.0)) if single and not half else 0.0


def _coarse_step(outputs: Array, least: float = 2.0**-30) -> float:
    """The largest power of two that all outputs ``(p, c)`` are multiples of, where that is coarse beside them; else 0.

    A formula whose large terms cancel gives outputs of few digits: what is left of them is rounding.

    >>> _coarse_step(np.array([[0.0625, -0.25]])), _coarse_step(np.array([[0.1, -0.25]]))
    (0.0625, 0.0)
    """
    parts, powers = np.frexp(outputs[np.isfinite(outputs) & (outputs != 0)])
    if not len(parts):
        return 0.0
    digits = np.abs(parts * 2.0**53).astype(np.int64)
    lowest = np.log2((digits & -digits).astype(np.float64)) + powers - 53
    step = float(np.exp2(lowest.min()))
    return step if step > least * np.abs(outputs[np.isfinite(outputs)]).max() else 0.0
