"""Replica exchange: the Boltzmann law of each row over a ladder of temperatures, until its diagnostics are content."""

from __future__ import annotations

import numpy as np

from counterpoise.methods.sampler.chains import Chains
from counterpoise.methods.sampler.darts import Darts
from counterpoise.methods.sampler.draws import Draws, check_draws, choose_burn_in
from counterpoise.methods.sampler.jumps import Jumps
from counterpoise.methods.sampler.moves import MOVES, MoveTables, SamplerMove
from counterpoise.methods.sampler.places import Places
from counterpoise.methods.sampler.proposal_table import ProposalTable, mix_proposals, tilted_probabilities
from counterpoise.methods.sampler.recorder import Recorder
from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.methods.sampler.temperature_ladder import adapt_ladder, first_ladder
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask


def list_sweep(places: Places) -> tuple[SamplerMove, ...]:
    """The moves of one sweep, in order; swaps between temperatures follow every third."""
    names = ["set_or_unset", "stride", "jump", "exchange", "redraw", "jump", "set_or_free", "trade", "jump"]
    relations = ["transfer", "stride", "dart"] if places.transfers else []
    return tuple(MOVES[name] for name in (*names, *relations))


class Sampler:
    """Chains of n rows with their ladders, proposals and records; ``sweep`` goes once through all moves."""

    def __init__(self, chains: Chains, T: Array, settings: SamplerSettings) -> None:
        """``T`` ``(n,)`` is the lowest temperature of each row."""
        self.chains, self.settings = chains, settings
        self.T = first_ladder(T, settings)
        self.slots = np.tile(np.arange(settings.temperatures), settings.ladders)
        best = chains.effort.argmin(axis=1)
        rows = np.arange(len(best))
        self.best_x, self.best_effort = chains.x[rows, best].copy(), chains.effort[rows, best].copy()
        self.parity = self.adaptation_sweeps = 0
        self._visits: Array | None = None
        self.darts, self.jumps = Darts.none(len(best)), Jumps.none(len(best), chains.places.near.shape[2])
        self._set_proposals()
        self.record = self._empty_record()

    def _empty_record(self) -> Recorder:
        n, _, d = self.chains.x.shape
        return Recorder.empty(n, self.settings.temperatures, d)

    def _set_proposals(self) -> None:
        chains = self.chains
        tilted = tilted_probabilities(chains.problem, chains.places, self.best_x, self.T)
        mixed = mix_proposals(chains.places, tilted, self._visits, self.settings)
        self.tables = MoveTables(chains.places, ProposalTable.of(*mixed), self.slots, self.darts, self.jumps)

    def take(self, rows: Index) -> Sampler:
        """The sampler of some rows."""
        other = object.__new__(Sampler)
        other.chains, other.settings, other.T = self.chains.take(rows), self.settings, self.T[rows]
        other.slots, other.parity, other._visits = self.slots, self.parity, None
        other.darts, other.jumps = self.darts.take(rows), self.jumps.take(rows)
        other.best_x, other.best_effort = self.best_x[rows], self.best_effort[rows]
        other.tables = MoveTables(
            other.chains.places, self.tables.proposals.take(rows), self.slots, other.darts, other.jumps
        )
        other.record, other.adaptation_sweeps = self.record.take(rows), self.adaptation_sweeps
        return other

    def sweep(self) -> None:
        """All moves once; after every third, swaps between neighbouring temperatures."""
        chains = self.chains
        k = chains.x.shape[1]
        T, moves = self.T[:, self.slots], list_sweep(chains.places)
        sizes = [move.numbers + move.columns + 1 for move in moves]
        ends = np.cumsum([0, *sizes])
        swaps = len(moves) // 3
        u = chains.streams.uniform((int(ends[-1]) + swaps, k))
        for number, move in enumerate(moves):
            chains.step(move, self.tables, T, np.moveaxis(u[:, ends[number] : ends[number + 1]], 1, 2))
            self._note_best()
            if number % 3 == 2:
                self._swap(T, u[:, ends[-1] + number // 3])

    def _swap(self, T: Array, u: Array) -> None:
        """Swaps of every other pair of neighbouring temperatures, noted in the record."""
        tried, taken = self.chains.swap(T, self.settings.temperatures, self.parity, u)
        self.parity = 1 - self.parity
        self.record.tried += tried.sum(axis=1)
        self.record.taken += taken.sum(axis=1)

    def _note_best(self) -> None:
        best = self.chains.effort.argmin(axis=1)
        rows = np.arange(len(best))
        found = self.chains.effort[rows, best]
        better = np.flatnonzero(found < self.best_effort)
        self.best_x[better] = self.chains.x[better, best[better]]
        self.best_effort[better] = found[better]

    def adapt(self, sweeps: int) -> None:
        """A round of sweeps after which ladder and proposals are set by what the chains went through."""
        self.adaptation_sweeps += sweeps
        chains, settings = self.chains, self.settings
        n, _, d = chains.x.shape
        width = chains.places.near.shape[2]
        visits = np.zeros(n * d * settings.temperatures * width)
        table = (np.arange(n)[:, None, None] * d + np.arange(d)) * settings.temperatures + self.slots[:, None]
        place_history = []
        for _ in range(sweeps):
            if chains.problem.has_expired:
                break
            self.sweep()
            place_history.append(chains.place[:, self.slots == 0])
            visits += np.bincount((table * width + chains.place).ravel(), minlength=len(visits))
        rate = np.divide(
            self.record.taken, self.record.tried, out=np.ones_like(self.record.taken), where=self.record.tried > 0
        )
        self.T = adapt_ladder(self.T, rate, settings)
        self._visits = visits.reshape(n, d, settings.temperatures, width)
        if place_history:
            visited = np.concatenate(place_history, axis=1)
            self.darts = Darts.between(list(visited))
            self._set_proposals()
            self.jumps = Jumps.between(visited, chains.places, np.exp(self.tables.proposals.log_probabilities[:, :, 0]))
            self.tables = self.tables._replace(jumps=self.jumps)
        self.record = self._empty_record()

    def collect(self, sweeps: int) -> None:
        """So many sweeps whose points are kept."""
        chains, slots = self.chains, self.settings.temperatures
        n, _, d = chains.x.shape
        for _ in range(sweeps):
            if chains.problem.has_expired:
                break
            self.sweep()
            self.record.x.append(chains.x[:, ::slots].copy())
            self.record.effort.append(chains.effort.reshape(n, -1, slots).copy())
            changed = chains.problem.region.is_changed(chains.x)
            self.record.changed += changed.reshape(n, -1, slots, d).sum(axis=1)


def sample(
    problem: Problem, streams: Streams, starts: Array, T: Array, wanted: int, settings: SamplerSettings
) -> list[Draws | None]:
    """Draws of ``p_T(x) ∝ w(x) exp(-(d + lam R) / T)`` over the valid points of each row, DESIGN of the ensemble.

    ``starts`` ``(n, s, d)`` are points near which the chains begin, answers for instance; NaN: none. ``T`` ``(n,)`` are
    temperatures in units of the effort. A row goes on until it has ``wanted`` effective samples and its chains agree,
    or has used up its sweeps, or the problem's time is over. None: no valid point is known.
    """
    out: list[Draws | None] = [None] * len(problem)
    prepared = prepare_chains(problem, streams, starts, settings)
    if prepared is None:
        return out
    rows, chains = prepared
    sampler = Sampler(chains, T[rows], settings)
    for _ in range(settings.adaptation_rounds):
        sampler.adapt(settings.adaptation_sweeps)
    groups = [(rows, sampler, 0)]
    while groups:
        groups += _sample_group(*groups.pop(), wanted, out)
    return out


def _sample_group(
    rows: Index, sampler: Sampler, learnt: int, wanted: int, out: list[Draws | None]
) -> list[tuple[Index, Sampler, int]]:
    """Sample rows until they are finished; of those whose chains are far apart, what has adapted once more.

    ``learnt`` is how often these have adapted again. Proposals that know where a hard row's points lie are worth more
    than many sweeps without. What was drawn before is thrown away, so that all draws are of one chain law.
    """
    settings = sampler.settings
    looks, again, done = _look_times(settings), [], 0
    for number, look in enumerate(looks):
        sampler.collect(look - done)
        done = look
        expired = sampler.chains.problem.has_expired
        draws = [_make_draws(sampler, place, wanted, expired) for place in range(len(rows))]
        finished = np.array([each.has_converged or expired or look == looks[-1] for each in draws])
        for place in np.flatnonzero(finished).tolist():
            out[rows[place]] = draws[place]
        may_learn = number == 1 and learnt < len(settings.relearning_sweeps)
        far = ~finished & may_learn & np.array([each.r_hat > settings.far_r_hat for each in draws])
        if far.any():
            part = sampler.take(np.flatnonzero(far))
            for _ in range(2):
                part.adapt(settings.relearning_sweeps[learnt])
            again.append((rows[far], part, learnt + 1))
        left = np.flatnonzero(~finished & ~far)
        if not len(left):
            break
        if len(left) < len(rows):
            rows, sampler = rows[left], sampler.take(left)
    return again


def prepare_chains(
    problem: Problem, streams: Streams, starts: Array, settings: SamplerSettings
) -> tuple[Index, Chains] | None:
    """The rows that have a valid start, and their chains at such starts; None where no row has one."""
    there, x = _fill_starts(problem, starts)
    places = make_places(problem, starts, settings)
    x, valid = snap_to_places(problem, places, x)
    valid &= there
    effort = np.where(valid, problem.energy.effort(x, problem.x0), np.inf)
    order = np.argsort(effort, axis=1, kind="stable")
    count = valid.sum(axis=1)
    rows = np.flatnonzero(count > 0)
    if not len(rows):
        return None
    turn = np.arange(settings.chains) // settings.temperatures  # of the ladder: one start each
    picks = order[rows[:, None], turn[None, :] % count[rows, None]]
    chosen = x[rows[:, None], picks]
    chains = Chains.at_points(
        problem.take(rows), places.take(rows), streams.take(rows), chosen, settings.max_known_points
    )
    return rows, chains


def make_places(problem: Problem, starts: Array, settings: SamplerSettings) -> Places:
    """The places of rows whose best known points are among ``starts`` ``(n, s, d)``; intervals are a share of these."""
    there, x = _fill_starts(problem, starts)
    effort = np.where(there, problem.energy.effort(x, problem.x0), np.inf)
    best = x[np.arange(len(x)), effort.argmin(axis=1)][:, None, :]
    delta = problem.energy.distance.differences(best, problem.x0)[:, 0]
    return Places.of(problem, np.sqrt((delta**2).sum(axis=1)), settings)


def _fill_starts(problem: Problem, starts: Array) -> tuple[Mask, Array]:
    """Which starts there are, ``(n, s)``, and all of them, with the nearest feasible point where there is none."""
    there = np.asarray(~np.isnan(np.where(np.isnan(problem.x0)[:, None, :], 0.0, starts)).any(axis=2))
    return there, np.where(there[..., None], starts, problem.region.nearest_feasible[:, None, :])


def snap_to_places(problem: Problem, places: Places, x: Array) -> tuple[Array, Mask]:
    """Points ``(n, k, d)`` moved to the places they belong to, and which of them are valid there."""
    place = places.locate(x)
    near, far = (
        np.take_along_axis(ends[:, None], place[..., None], axis=3)[..., 0] for ends in (places.near, places.far)
    )
    y = np.minimum(np.maximum(x, np.minimum(near, far)), np.maximum(near, far))
    y = places.settle(np.where(np.isnan(y) | (place == 0), problem.x0[:, None, :], y))
    inside = problem.region.contains(y)
    rows, points = np.nonzero(inside)
    valid = np.zeros(inside.shape, dtype=bool)
    valid[rows, points] = problem.are_reached(rows, y[rows, points])
    return y, valid


def _look_times(settings: SamplerSettings) -> list[int]:
    """Numbers of sweeps after which the diagnostics are looked at: each half as many again."""
    looks = [2 * settings.block_sweeps]
    while looks[-1] < settings.max_sweeps:
        looks.append(min(looks[-1] * 3 // 2, settings.max_sweeps))
    return looks


def _make_draws(sampler: Sampler, row: int, wanted: int, expired: bool) -> Draws:
    record, settings = sampler.record, sampler.settings
    if not record.x:  # the time was up before the first sweep: the start is all there is
        x = sampler.chains.x[row][None, :: settings.temperatures]
        effort = sampler.chains.effort[row].reshape(1, -1, settings.temperatures)
    else:
        x = np.stack([each[row] for each in record.x])
        effort = np.stack([each[row] for each in record.effort])
    region = sampler.chains.problem.region.take([row])
    changed = region.is_changed(x.reshape(1, -1, x.shape[2]))[0].reshape(x.shape)
    burn_in = choose_burn_in(effort[..., 0], changed) if len(x) >= 8 else 0
    checks = (
        check_draws(effort[burn_in:, :, 0], changed[burn_in:]) if len(x) >= 8 else (np.full(1, np.inf), np.zeros(1))
    )
    return Draws(
        x[burn_in:],
        changed[burn_in:],
        effort[burn_in:],
        record.changed[row] / max(len(x) * settings.ladders, 1),
        sampler.T[row],
        np.divide(
            record.taken[row], record.tried[row], out=np.zeros_like(record.taken[row]), where=record.tried[row] > 0
        ),
        sampler.adaptation_sweeps + len(x),
        burn_in,
        wanted,
        settings.max_r_hat,
        sampler.best_x[row].copy(),
        float(sampler.best_effort[row]),
        "the time was up" if expired else "",
        checks,
    )
