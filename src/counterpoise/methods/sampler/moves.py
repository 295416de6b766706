"""Moves of the sampler: each changes the places of one or two columns and tells the ratio that balances it.

A move sees where the chains are, ``place`` ``(n, k, d)``, and uniform numbers. It gives a `Proposal`: which columns
change, to which places, and the logarithm of ``w(y) q(y -> x) / (w(x) q(x -> y))``, w being the base measure and q the
probability of proposing. Values inside a place are drawn uniformly afterwards, as w has them, so that they cancel.
With Metropolis' rule for the energy on top, every move satisfies detailed balance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from counterpoise.methods.sampler.darts import Darts
from counterpoise.methods.sampler.jumps import CORE_COLUMNS, Jumps
from counterpoise.methods.sampler.places import Places
from counterpoise.methods.sampler.proposal_table import ProposalTable
from counterpoise.types import Array, Index, Mask


class Proposal(NamedTuple):
    """New places ``(n, k, c)`` of c columns ``(n, k, c)``, and the log of the ratio ``(n, k)``; -inf: no move."""

    columns: Index
    places: Index
    log_ratio: Array


class MoveTables(NamedTuple):
    """What moves read: the places of n rows, how values are proposed, and the temperature slot of each of k chains."""

    places: Places
    proposals: ProposalTable
    slots: Index  # (k,)
    darts: Darts
    jumps: Jumps

    def weight(self, columns: Index, place: Index) -> Array:
        """Logarithm of the base measure of places ``(n, k)`` of columns ``(n, k)``."""
        return self.places.log_weight[_rows(columns), columns, place]

    def proposal(self, columns: Index, place: Index) -> Array:
        """Logarithm of the probability that a set column is given this place."""
        return self.proposals.log_probability(_rows(columns), columns, self.slots[None, :], place)

    def setting_weight(self, columns: Index) -> Index:
        """The weight by which each of the columns ``(n, k)`` is chosen where it is unchanged."""
        return self.proposals.setting_weights[_rows(columns), columns, self.slots[None, :]]

    def draw(self, columns: Index, u: Array) -> Index:
        """A place for each of the columns ``(n, k)``."""
        return self.proposals.draw(_rows(columns), columns, self.slots[None, :], u)


Propose = Callable[[MoveTables, Index, Array], Proposal]
"""Tables, places ``(n, k, d)`` and uniform numbers ``(n, k, q)`` to a proposal."""


def set_or_unset(tables: MoveTables, place: Index, u: Array) -> Proposal:
    """Change a column that is unchanged, or set a changed one back to the row's own value."""
    columns = tables.proposals.draw_columns(u[..., 0])
    now = _get(place, columns)
    drawn = tables.draw(columns, u[..., 1])
    gain = tables.weight(columns, np.where(now > 0, now, drawn))
    paid = tables.proposal(columns, np.where(now > 0, now, drawn))
    unchanged = tables.weight(columns, np.zeros_like(now))
    ratio = np.where(now > 0, unchanged - gain + paid, gain - paid - unchanged)
    return Proposal(columns[..., None], np.where(now > 0, 0, drawn)[..., None], ratio)


def redraw(tables: MoveTables, place: Index, u: Array) -> Proposal:
    """A changed column, a category for instance, drawn anew."""
    columns, there = _pick(place > 0, u[..., 0])
    now, drawn = _get(place, columns), tables.draw(columns, u[..., 1])
    ratio = tables.weight(columns, drawn) - tables.weight(columns, now)
    ratio = ratio + tables.proposal(columns, now) - tables.proposal(columns, drawn)
    return Proposal(columns[..., None], drawn[..., None], np.where(there, ratio, -np.inf))


def stride(tables: MoveTables, place: Index, u: Array) -> Proposal:
    """A changed column some places up or down, or another value inside its interval."""
    columns, there = _pick(place > 0, u[..., 0])
    now = _get(place, columns)
    then, ratio = _shift(tables, columns, now, _draw_shift(u[..., 1]))
    return Proposal(columns[..., None], then[..., None], np.where(there, ratio, -np.inf))


def set_or_free(tables: MoveTables, place: Index, u: Array) -> Proposal:
    """An unchanged column changed, chosen by its odds of being so, or one of the changed ones set back.

    Where many columns change seldom, this meets those that do more often than `set_or_unset`.
    """
    is_setting = u[..., 0] < 0.5
    changed = (place > 0) & tables.places.is_open[:, None, :]
    out, has_changed = _pick(changed, u[..., 1])
    into, total = _pick_by_odds(tables, place, u[..., 1])
    columns = np.where(is_setting, into, out)
    now = _get(place, columns)
    value = np.where(is_setting, tables.draw(columns, u[..., 2]), now)
    odds = tables.setting_weight(columns)
    rest = np.where(is_setting, total, total + odds)  # of all columns that are unchanged without this one
    count = changed.sum(axis=-1) + is_setting
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = tables.weight(columns, value) - tables.weight(columns, np.zeros_like(now))
        paid = tables.proposal(columns, value) + np.log(odds / rest) + np.log(count)
        ratio = np.where(is_setting, gain - paid, paid - gain)
    there = np.where(is_setting, total > 0, has_changed)
    return Proposal(columns[..., None], np.where(is_setting, value, 0)[..., None], np.where(there, ratio, -np.inf))


def exchange(tables: MoveTables, place: Index, u: Array) -> Proposal:
    """One changed column set back and one unchanged column, chosen by its odds, changed in its place."""
    changed = (place > 0) & tables.places.is_open[:, None, :]
    out, has_changed = _pick(changed, u[..., 0])
    into, total = _pick_by_odds(tables, place, u[..., 1])
    now, drawn = _get(place, out), tables.draw(into, u[..., 2])
    zero = np.zeros_like(now)
    set_odds, freed_odds = tables.setting_weight(into), tables.setting_weight(out)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = tables.weight(into, drawn) - tables.weight(into, zero) - tables.proposal(into, drawn)
        ratio = ratio + tables.weight(out, zero) - tables.weight(out, now) + tables.proposal(out, now)
        ratio = ratio + np.log(freed_odds / (total - set_odds + freed_odds)) - np.log(set_odds / total)
    ratio = np.where(has_changed & (total > 0), ratio, -np.inf)
    return Proposal(np.stack([out, into], axis=-1), np.stack([zero, drawn], axis=-1), ratio)


def trade(tables: MoveTables, place: Index, u: Array) -> Proposal:
    """Two changed columns moved at once, each some places up or down."""
    changed = place > 0
    one, there = _pick(changed, u[..., 0])
    rest = changed.copy()
    np.put_along_axis(rest, one[..., None], False, axis=-1)
    other, there_too = _pick(rest, u[..., 1])
    first, gain = _shift(tables, one, _get(place, one), _draw_shift(u[..., 2]))
    second, more = _shift(tables, other, _get(place, other), _draw_shift(u[..., 3]))
    ratio = np.where(there & there_too, gain + more, -np.inf)
    return Proposal(np.stack([one, other], axis=-1), np.stack([first, second], axis=-1), ratio)


def transfer(tables: MoveTables, place: Index, u: Array) -> Proposal:
    """Two columns of one equation moved against each other, so that what it determines may stay as it is."""
    pairs = np.array(tables.places.transfers, dtype=np.intp).reshape(-1, 2)
    if not len(pairs):
        none = np.zeros((*u.shape[:2], 2), dtype=np.intp)
        return Proposal(none, none, np.full(u.shape[:2], -np.inf))
    drawn = pairs[np.minimum((u[..., 0] * len(pairs)).astype(np.intp), len(pairs) - 1)]
    one, other = drawn[..., 0], drawn[..., 1]
    rows, by = np.broadcast_to(_rows(one), one.shape), _draw_shift(u[..., 1])
    now = _get(place, one), _get(place, other)
    then = [
        tables.places.shift_position(rows, column, at, step)
        for column, at, step in ((one, now[0], by), (other, now[1], -by))
    ]
    there = (then[0] >= 0) & (then[1] >= 0)
    ratio = np.zeros(one.shape)
    for column, before, after in zip((one, other), now, then, strict=True):
        ratio += tables.weight(column, np.maximum(after, 0)) - tables.weight(column, before)
    return Proposal(drawn, np.maximum(np.stack(then, axis=-1), 0), np.where(there, ratio, -np.inf))


def dart(tables: MoveTables, place: Index, u: Array) -> Proposal:
    """A few columns at once from how one remembered point has them to how another does."""
    columns, before, after = tables.darts.draw(u[..., 0])
    fits = (np.take_along_axis(place, columns, axis=2) == before).all(axis=2) & (tables.darts.dart_counts > 0)[:, None]
    ratio = np.zeros(u.shape[:2])
    for number in range(columns.shape[2]):  # a column that is repeated counts once
        fresh = ~(columns[..., :number] == columns[..., number, None]).any(axis=2)
        column, ends = columns[..., number], (after[..., number], before[..., number])
        ratio += np.where(fresh, tables.weight(column, ends[0]) - tables.weight(column, ends[1]), 0.0)
    return Proposal(columns, after, np.where(fits, ratio, -np.inf))


def jump(tables: MoveTables, place: Index, u: Array) -> Proposal:
    """The core columns all at once, to how the chains had them while they adapted."""
    jumps = tables.jumps
    columns = np.broadcast_to(jumps.columns[:, None, :], (*u.shape[:2], jumps.columns.shape[1]))
    used = jumps.is_used[:, None, :] > 0
    drawn, paid = jumps.draw(u)
    now = np.take_along_axis(place, columns, axis=2)
    then = np.where(used, drawn, drawn[..., :1])  # an unused entry repeats the first one
    rows = np.arange(len(place))[:, None, None]
    weight = tables.places.log_weight
    gain = np.where(used, weight[rows, columns, then] - weight[rows, columns, now], 0.0).sum(axis=2)
    ratio = np.where(used[..., 0], gain + jumps.log_density(now) - paid, -np.inf)
    return Proposal(columns, then, ratio)


class SamplerMove(NamedTuple):
    """A move, with how many uniform numbers it reads and how many columns it changes at most."""

    propose: Propose
    numbers: int
    columns: int

    @property
    def name(self) -> str:
        """What it is called."""
        return self.propose.__name__


MOVES = {
    move.name: move
    for move in (
        SamplerMove(set_or_unset, 2, 1),
        SamplerMove(set_or_free, 3, 1),
        SamplerMove(stride, 2, 1),
        SamplerMove(exchange, 3, 2),
        SamplerMove(redraw, 2, 1),
        SamplerMove(trade, 4, 2),
        SamplerMove(transfer, 2, 2),
        SamplerMove(dart, 1, 4),
        SamplerMove(jump, 1 + CORE_COLUMNS, CORE_COLUMNS),
    )
}
"""All moves; each satisfies detailed balance by itself."""


def _shift(tables: MoveTables, columns: Index, now: Index, by: Index) -> tuple[Index, Array]:
    """Places moved by so many, and the logarithm of the ratio; -inf beyond the first or the last."""
    then = now + by
    inside = (then >= 1) & (then <= tables.places.count[_rows(columns), columns]) & (now > 0)
    then = np.where(inside, then, now)
    return then, np.where(inside, tables.weight(columns, then) - tables.weight(columns, now), -np.inf)


def _draw_shift(u: Array) -> Index:
    """Shifts: 0, or 1, 2, 4 or 8 places up or down, as likely in either direction."""
    choices = np.array([0, 1, -1, 1, -1, 2, -2, 4, -4, 8, -8])
    return choices[np.minimum((u * len(choices)).astype(np.intp), len(choices) - 1)]


def _pick(allowed: Mask, u: Array) -> tuple[Index, Mask]:
    """One allowed column of each chain, uniformly, ``(n, k)``, and whether there is any; column 0 where none is."""
    total = np.cumsum(allowed, axis=-1)
    count = total[..., -1]
    wanted = np.minimum((u * count).astype(np.intp), count - 1)
    return np.asarray((total > wanted[..., None]).argmax(axis=-1)), count > 0


def _pick_by_odds(tables: MoveTables, place: Index, u: Array) -> tuple[Index, Index]:
    """One unchanged column of each chain, by the weights of the table, and the sum of these, ``(n, k)``; 0: none."""
    weights = np.where(place == 0, tables.proposals.setting_weights[:, :, tables.slots].transpose(0, 2, 1), 0)
    summed = np.cumsum(weights, axis=-1)
    total = summed[..., -1]
    wanted = np.minimum((u * total).astype(np.int64), total - 1)
    return np.asarray((summed > wanted[..., None]).argmax(axis=-1)), total


def _get(place: Index, columns: Index) -> Index:
    return np.take_along_axis(place, columns[..., None], axis=-1)[..., 0]


def _rows(columns: Index) -> Index:
    return np.arange(len(columns))[:, None]
