"""Chains over the valid points of n rows: k chains a row, in ladders of temperatures, one model call a step.

Rows never look at each other: each has its own stream, temperatures and proposals. A proposal is first weighed by its
effort; the model is asked about those alone that would be taken if they are valid, which changes nothing in the law.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterpoise.methods.sampler.moves import MoveTables, SamplerMove
from counterpoise.methods.sampler.places import Places
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask


@dataclass(eq=False)
class KnownPoints:
    """Which points reach their target, by row and places; of rows whose places are all single values.

    Places with an interval among them do not say which value was drawn: such points are asked about each time, and so
    are all points under a budget of model rows, which has a memory of its own.
    """

    max_points: int
    reached: dict[tuple[int, bytes], bool] = field(default_factory=dict)

    def are_reached(self, problem: Problem, is_listed: Mask, rows: Index, x: Array, place: Index) -> Mask:
        """Whether points ``x`` ``(p, d)`` in places ``(p, d)`` of rows ``(p,)`` reach their target, ``(p,)``.

        ``is_listed`` ``(n,)`` marks the rows whose places are single values.
        """
        if not len(rows) or problem.tally.row_budget is not None or not is_listed[rows].any():
            return problem.are_reached(rows, x)
        if len(self.reached) > self.max_points:
            self.reached.clear()
        codes = np.ascontiguousarray(place, dtype=np.int32).view(f"V{4 * place.shape[1]}").ravel().tolist()
        keys = list(zip(problem.row_numbers[rows].tolist(), codes, strict=True))
        known = [self.reached.get(key) for key in keys]
        out = np.array([bool(each) for each in known])
        asked = np.array([each is None for each in known]) | ~is_listed[rows]
        unknown = asked.nonzero()[0]
        if len(unknown):
            out[unknown] = problem.are_reached(rows[unknown], x[unknown])
            listed = unknown[is_listed[rows[unknown]]]
            self.reached.update(zip([keys[point] for point in listed.tolist()], out[listed].tolist(), strict=True))
        return out


@dataclass(eq=False)
class Chains:
    """Where the chains are: values and places ``(n, k, d)``, effort ``(n, k)``; all of them valid points."""

    problem: Problem
    places: Places
    streams: Streams
    x: Array
    place: Index
    effort: Array
    known: KnownPoints

    @classmethod
    def at_points(
        cls, problem: Problem, places: Places, streams: Streams, x: Array, max_known_points: int = 0
    ) -> Chains:
        """Chains at points ``x`` ``(n, k, d)`` that are made of places and known to be valid."""
        effort, known = problem.energy.effort(x, problem.x0), KnownPoints(max_known_points)
        return cls(problem, places, streams, x.copy(), places.locate(x), effort, known)

    def take(self, rows: Index) -> Chains:
        """The chains of some rows."""
        return Chains(
            self.problem.take(rows),
            self.places.take(rows),
            self.streams.take(rows),
            self.x[rows],
            self.place[rows],
            self.effort[rows],
            self.known,
        )

    def step(self, move: SamplerMove, tables: MoveTables, T: Array, u: Array) -> Mask:
        """One proposal of every chain, taken or not: which were, ``(n, k)``.

        ``T`` ``(n, k)`` are the temperatures, ``u`` ``(n, k, q)`` uniform numbers: those that the move reads, one a
        column for values inside places, and one for Metropolis' rule.
        """
        with np.errstate(invalid="ignore"):
            proposal = move.propose(tables, self.place, u[..., : move.numbers])
        log_ratio = np.where(np.isnan(proposal.log_ratio), -np.inf, proposal.log_ratio)
        y, place = self.x.copy(), self.place.copy()
        rows, chains = np.nonzero(log_ratio > -np.inf)
        columns, then = proposal.columns[rows, chains], proposal.places[rows, chains]
        rows, chains, at = rows[:, None], chains[:, None], move.numbers + np.arange(columns.shape[1])
        y[rows, chains, columns] = self.places.draw_values(rows, columns, then, u[rows, chains, at])
        place[rows, chains, columns] = then
        return self.accept(y, place, log_ratio, T, u[..., -1])

    def accept(self, y: Array, place: Index, log_ratio: Array, T: Array, u: Array) -> Mask:
        """Metropolis' rule with the ratio of a move: which proposals ``y`` ``(n, k, d)`` are taken, ``(n, k)``."""
        y = self.places.settle(y)
        effort = self.problem.energy.effort(y, self.problem.x0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = (effort - self.effort) / np.maximum(T, np.finfo(np.float64).tiny)  # at T = 0 nothing goes uphill
            passes = np.log(u) < log_ratio - rise
        rows, chains = np.nonzero(passes)
        if len(rows) and (len(self.problem.region.system) or self.problem.region.max_changes is not None):
            passes &= self.places.is_inside(y)
            rows, chains = np.nonzero(passes)
        taken = np.zeros(passes.shape, dtype=bool)
        taken[rows, chains] = self.known.are_reached(
            self.problem, self.places.is_listed, rows, y[rows, chains], place[rows, chains]
        )
        rows, chains = np.nonzero(taken)
        self.x[rows, chains], self.place[rows, chains] = y[rows, chains], place[rows, chains]
        self.effort[rows, chains] = effort[rows, chains]
        return taken

    def swap(self, T: Array, slots: int, parity: int, u: Array) -> tuple[Mask, Mask]:
        """Swap the points of neighbouring temperatures, every other pair: what was tried and what was taken.

        Chains ``l * slots + s`` of ladder l have the temperature of slot s; ``u`` is ``(n, k)``. A swap is taken with
        probability ``min(1, exp((1/T_s - 1/T_t) (E_s - E_t)))``. Both results are ``(n, ladders, slots - 1)``.
        """
        n, k = self.effort.shape
        shape = (n, k // slots, slots)
        energy, beta, u = self.effort.reshape(shape), 1 / T.reshape(shape), u.reshape(shape)[..., :-1]
        gain = (beta[..., :-1] - beta[..., 1:]) * (energy[..., :-1] - energy[..., 1:])
        tried = np.broadcast_to(np.arange(slots - 1) % 2 == parity, gain.shape)
        with np.errstate(divide="ignore"):
            taken = tried & (np.log(u) < gain)
        source = np.broadcast_to(np.arange(k).reshape(1, -1, slots), shape).copy()
        lower = taken.nonzero()
        upper = (*lower[:2], lower[2] + 1)
        source[lower], source[upper] = source[upper], source[lower]
        order = source.reshape(n, k)
        row = np.arange(n)[:, None]
        self.x, self.place, self.effort = self.x[row, order], self.place[row, order], self.effort[row, order]
        return tried, taken
