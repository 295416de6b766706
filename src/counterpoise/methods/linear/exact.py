"""Proofs of linear models: for each row the least effort of an answer, or a bound of it, many rows at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from counterpoise.methods.linear.boxes import Boxes, Choice, Pricing
from counterpoise.methods.linear.cases import Cases, largest_values, make_cases
from counterpoise.methods.linear.division import divide
from counterpoise.methods.linear.dual import Solved, solve
from counterpoise.methods.linear.first_boxes import first_boxes
from counterpoise.methods.linear.linear_proof import LinearProof
from counterpoise.methods.linear.menus import Menus
from counterpoise.methods.linear.relations import LinearRelations
from counterpoise.methods.linear.rows_by_programs import prove_by_programs
from counterpoise.methods.settings.linear import DEFAULT_LINEAR, LinearSettings
from counterpoise.methods.trees.exact.cell_costs import is_separable
from counterpoise.models.layers import LayerOutputs
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


def prove_linear(
    problem: Problem,
    incumbent: Array,
    gap: float = 0.0,
    settings: LinearSettings = DEFAULT_LINEAR,
) -> LinearProof | None:
    """Bounds and nearer answers; ``incumbent`` ``(n,)`` are efforts of known answers, or inf.

    The search for a row ends where its answer costs at most the
    share ``gap`` more than the bound. None where outputs are not affine, or goal or effort not known in terms of them.
    """
    layers: LayerOutputs | None = problem.model.layers
    affine = None if layers is None else layers.affine
    if affine is None or problem.cloud is not None or not is_separable(problem.energy):
        return None
    cases = make_cases(problem, affine, settings.slack)
    if cases is None:
        return None
    relations = LinearRelations.of(problem, largest_values(problem))
    menus = Menus.of(problem, affine, relations.columns)
    binds = len(relations.is_covered) > 0
    if binds and menus.root:
        return _prove_with_relations(problem, menus, cases, relations, incumbent, gap, settings)
    if binds:
        every = np.ones((len(problem), len(relations.is_covered)), dtype=bool)
        cases = cases.with_relations(relations.chosen(np.arange(len(problem)), every))
    cases = cases.on(menus.numbers)
    search = _Search(problem, menus, cases, incumbent, settings)
    search.run(0 if binds else settings.boxes, gap)
    return (
        search.proof() if menus.root else prove_by_programs(problem, menus, cases, search.proof(), incumbent, settings)
    )


def _prove_with_relations(
    problem: Problem,
    menus: Menus,
    cases: Cases,
    relations: LinearRelations,
    incumbent: Array,
    gap: float,
    settings: LinearSettings,
) -> LinearProof:
    """The proof of rows that relations bind: first without them, then again and again with those that were broken.

    Most relations hold by themselves where effort is least, and each one that is a condition makes a proof dearer.
    """
    rows, active = np.arange(len(problem)), np.zeros((len(problem), len(relations.is_covered)), dtype=bool)
    known: LinearProof | None = None
    for number in range(settings.relation_rounds):
        mine = np.flatnonzero(np.isin(cases.row, rows))
        part = cases.take(mine)._replace(row=np.searchsorted(rows, cases.row[mine]))
        part = part.with_relations(relations.chosen(rows, active[rows])).on(menus.numbers)
        best = incumbent[rows] if known is None else np.minimum(incumbent, known.effort)[rows]
        search = _Search(problem.take(rows), menus.take(rows), part, best, settings, active=active[rows])
        most = min(settings.boxes, settings.boxes_with_relations) if number else settings.boxes
        turn = min(most, settings.boxes_at_first * 4**number)
        search.run(turn, gap)
        found, broken = search.proof(), search.broken & relations.is_covered & ~active[rows]
        known = found if known is None else known.with_better_of(rows, found)
        least = np.minimum(incumbent, known.effort)[rows]
        open_still = ~(known.is_infeasible[rows] | (least <= known.bound[rows] * (1 + max(gap, settings.optimal))))
        going = np.flatnonzero(open_still & (broken.any(axis=1) | (turn < most)))
        if not len(going) or number + 1 == settings.relation_rounds or problem.has_expired:
            break
        rows = rows[going]
        active[rows] |= broken[going]
    assert known is not None, "there is at least one round"
    return known


def bound_cases(problem: Problem, menus: Menus, cases: Cases, limit: Array, settings: LinearSettings) -> Array:
    """The least effort ``(n,)`` of points that meet one of the cases, at most ``limit`` ``(n,)``, or a bound of it.

    Infinite where no point meets them and there is no limit; 0 where nothing is known.
    """
    search = _Search(problem, menus, cases.on(menus.numbers), limit, settings, shows=False)
    search.run(settings.boxes, 0.0)
    found = search.proof()
    return np.where(found.is_infeasible, np.inf, np.nan_to_num(found.bound, nan=0.0))


@dataclass(eq=False)
class _Search:
    """Best-first branch and bound of all rows, a few boxes of each at a time."""

    problem: Problem
    menus: Menus
    cases: Cases
    incumbent: Array  # (n,)
    settings: LinearSettings
    shows: bool = True  # points to the model
    active: Mask | None = None  # (n, relations) those that are conditions of the cases; None: none bind

    def __post_init__(self) -> None:
        n = len(self.problem)
        self.best, self.x = np.full(n, np.inf), self.problem.x0.copy()
        self.relaxed = np.full(n, np.inf)  # least effort of points that relations alone forbid, which are no conditions
        self.broken = np.zeros((n, 0 if self.active is None else self.active.shape[1]), dtype=bool)  # those relations
        self.opened, self.floor = np.zeros(n, dtype=np.intp), np.full(n, np.inf)  # least bound of undividable boxes
        square = self.menus.root > 0 and not self.menus.unit_price.any()
        self.known = self.menus.settled & np.isfinite(self.cases_reach()).all(axis=1)
        self.cases = self.cases.take(np.flatnonzero(self.known[self.cases.row]))
        self.pricing = Pricing(self.menus, self.cases, square, self._unit_prices(square), self.menus.has_grid)
        self.waiting = first_boxes(self.pricing, self.cases_reach(), self.problem.region.max_changes, self.limit)

    @property
    def limit(self) -> Array:
        """Efforts ``(n,)`` below which an answer is of interest."""
        return np.asarray(np.minimum(self.best, self.incumbent) * (1 - 1e-9))

    def cases_reach(self) -> Array:
        """How far ``(n, f)`` numbers can usefully move: as far as the incumbent pays for, or as is needed."""
        menus, cases = self.menus, self.cases
        f = len(menus.numbers)
        with np.errstate(divide="ignore", invalid="ignore"):
            price = (menus.root + menus.unit_price[:f]) * menus.rate.min(axis=0)
            paid = np.where(price > 0, np.minimum(self.incumbent, self.best)[:, None] * (1 + 1e-6) / price, np.inf)
            inside = np.maximum(np.fmax(menus.high - menus.x0, menus.x0 - menus.low), 0.0)
            far = np.where(menus.low > menus.high, 0.0, np.minimum(paid, inside))
            if cases.slope.shape[1] > 1:
                return far
            # one condition, which nothing has to move against: no number moves farther than it would alone
            slope = cases.slope[:, 0]
            alone = np.where(slope == 0, 0.0, np.maximum(cases.need_most, 0.0) * (1 + 1e-6) / np.abs(slope))
        alone += menus.step[cases.row]
        alone[~menus.can_stay[cases.row].all(axis=1)] = np.inf
        alone[:, [place for place, _ in menus.listed]] = np.inf
        most = np.zeros_like(far)
        np.maximum.at(most, cases.row, alone)
        return np.asarray(np.minimum(far, most))

    def _unit_prices(self, square: bool) -> Array:
        """What a unit of difference costs in each case, ``(p, f + t)``; a length is at least its share in a direction.

        ``|delta| >= q . delta`` for every q of length 1: that of the steepest change without limits.
        """
        menus, cases = self.menus, self.cases
        flat = np.broadcast_to(menus.unit_price, (len(cases.row), len(menus.unit_price)))
        if square or not menus.root:
            return flat
        steep = np.zeros(flat.shape)
        slope = cases.slope[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(slope > 0, menus.rate[1], menus.rate[0])
            steep[:, : len(menus.numbers)] = np.nan_to_num(np.abs(slope) / rate, posinf=0.0)
        steep *= (menus.low <= menus.high)[cases.row] if not len(menus.coded) else 1.0
        length = np.sqrt((steep**2).sum(axis=1, keepdims=True))
        return np.asarray(flat + menus.root * np.divide(steep, length, out=np.zeros_like(steep), where=length > 0))

    def run(self, max_boxes: int, gap: float) -> None:
        """Open boxes, the cheapest of each row first, until nothing is left or the limits are reached."""
        while len(self.waiting.case) and not self.problem.has_expired:
            row = self.cases.row[self.waiting.case]
            going = self.waiting.bound * (1 + max(gap, self.settings.optimal)) < self.limit[row]
            self.floor_at(row[~going], self.waiting.bound[~going])
            self.waiting, row = self.waiting.at(going), row[going]
            order = np.lexsort((self.waiting.bound, row))
            rank = np.arange(len(order)) - np.searchsorted(row[order], row[order])
            chosen = np.zeros(len(order), dtype=bool)
            together = np.maximum(self.settings.roots_together, self.opened // self.settings.roots_together)
            chosen[order] = rank < together[row[order]]
            unprovable = self.relaxed[row] * (1 + self.settings.optimal) < self.limit[row]
            most = np.where(unprovable, min(self.settings.boxes_for_answers, max_boxes), max_boxes)
            chosen &= self.opened[row] < most
            if not chosen.any() or len(order) > self.settings.max_waiting:
                break
            boxes, self.waiting = self.waiting.at(chosen), self.waiting.at(~chosen)
            np.add.at(self.opened, row[chosen], 1)
            self.open(boxes)

    def floor_at(self, row: Index, bound: Array) -> None:
        """Nothing is looked for below these bounds any more."""
        np.minimum.at(self.floor, row, bound)

    def open(self, boxes: Boxes) -> None:
        """Bound boxes, show their points, and divide what is left of them."""
        most_wanted = self.pricing.costs_of(boxes, self.limit[self.cases.row[boxes.case]])
        solved = solve(self.pricing, boxes, most_wanted, self.settings)
        bound = np.maximum(self.pricing.efforts_of(boxes, solved.bound), boxes.bound)
        row = self.cases.row[boxes.case]
        alive = np.flatnonzero(bound < self.limit[row])
        if not len(alive):
            return
        boxes, bound = boxes.at(alive)._replace(bound=bound[alive], price=solved.price[alive]), bound[alive]
        short, enough = (Choice._make(part[alive] for part in choice) for choice in (solved.short, solved.enough))
        solved = Solved(solved.bound[alive], solved.price[alive], short, enough)
        if self.shows:
            self.show(boxes, solved)
        row = self.cases.row[boxes.case]
        open_still = bound * (1 + self.settings.optimal) < self.limit[row]
        self.floor_at(row[~open_still], bound[~open_still])
        left = np.flatnonzero(open_still)
        if not len(left):
            return
        short, enough = (Choice._make(part[left] for part in choice) for choice in (short, enough))
        halves, whole = divide(
            self.pricing, boxes.at(left), Solved(solved.bound[left], solved.price[left], short, enough)
        )
        self.floor_at(row[left][whole], bound[left][whole])
        if halves is not None:
            self.waiting = Boxes.joined([self.waiting, halves])

    def show(self, boxes: Boxes, solved: Solved) -> None:
        """Show the points that would be nearer to the model, and keep the nearest answer of each row."""
        row = self.cases.row[boxes.case]
        numbers = self._fill(boxes, solved)
        x = self.problem.x0[row]
        f = len(self.menus.numbers)
        changed = solved.enough.changed
        x[:, self.menus.numbers] = np.where(changed[:, :f], numbers, x[:, self.menus.numbers])
        if len(self.menus.coded):
            x[:, self.menus.coded] = np.where(changed[:, f:], solved.enough.level, x[:, self.menus.coded])
        part = self.problem.take(row)
        if self.active is not None:
            self._relax(part, row, x, self.active)
        x = part.region.project(x[:, None, :])
        effort = np.where(part.region.contains(x), part.energy.effort(x, part.x0), np.inf)[:, 0]
        near = np.flatnonzero(effort < self.limit[row])
        if not len(near):
            return
        good = near[self.problem.take(row[near]).score(x[near]).reached[:, 0]]
        good = good[np.lexsort((effort[good], row[good]))]
        good = good[np.flatnonzero(np.diff(row[good], prepend=-1))]
        self.best[row[good]], self.x[row[good]] = effort[good], x[good, 0]

    def _relax(self, part: Problem, row: Index, x: Array, active: Mask) -> None:
        """Keep what points ``x`` ``(b, d)`` cost that reach the target and that other relations alone forbid.

        The bound leaves those out, so that it cannot pass the least of these points.
        """
        system = part.region.system
        region = replace(part.region, system=system.without_relations())
        points = region.project(x[:, None, :])
        held = system.holds_each(points)[:, 0]
        inside = region.contains(points)[:, 0] & (held | ~active[row]).all(axis=1)
        effort = np.where(inside, part.energy.effort(points, part.x0)[:, 0], np.inf)
        near = np.flatnonzero(~held.all(axis=1) & (effort < self.limit[row]))
        if len(near):
            good = near[part.take(near).score(points[near]).reached[:, 0]]
            np.minimum.at(self.relaxed, row[good], effort[good])
            np.logical_or.at(self.broken, row[good], ~held[good])

    def _fill(self, boxes: Boxes, solved: Solved) -> Array:
        """Numbers ``(b, f)`` of points that meet the conditions, if setting one column anew can bring that about.

        Of the columns that can, the one that saves most is set to the nearest value at which all conditions are met.
        """
        menus, cases, enough = self.menus, self.cases, solved.enough
        row, x, f = cases.row[boxes.case], enough.x.copy(), len(menus.numbers)
        if not f:
            return x
        slope, x0 = cases.slope[boxes.case], menus.x0[row]
        surplus = (enough.gain - cases.need_most[boxes.case])[:, :, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            edge = x[:, None, :] - surplus / slope
        low = np.where(slope > 0, edge, np.where((slope == 0) & (surplus < 0), np.inf, -np.inf)).max(axis=1)
        high = np.where(slope < 0, edge, np.inf).min(axis=1)
        low, high = np.maximum(low, boxes.low), np.minimum(high, boxes.high)
        can = (low <= high) & enough.changed[:, :f]
        low, high = np.where(can, low, x), np.where(can, high, x)
        new = np.minimum(np.maximum(x0, low), high)
        if self.pricing.snaps:
            down, up = menus.beside(row, new)
            new = np.where(new > x0, up, down)
        rounding = 1e-12 * (np.abs(x) + np.abs(x0))
        fits = can & (new >= low - rounding) & (new <= high + rounding)
        before, after = (self.pricing.differences(row, np.where(fits, values, x0)) for values in (x, new))
        case, columns = boxes.case, slice(0, f)
        saved = self.pricing.cost(case, columns, before) - self.pricing.cost(case, columns, after)
        saved = np.where(fits, saved, -np.inf)
        column, line = saved.argmax(axis=1), np.arange(len(x))
        lacks = (surplus < 0).any(axis=(1, 2))
        pays = (saved[line, column] > 0) | (lacks & np.isfinite(saved[line, column]))
        x[line[pays], column[pays]] = new[line[pays], column[pays]]
        return x

    def proof(self) -> LinearProof:
        """What is known now."""
        bound = self.floor.copy()
        np.minimum.at(bound, self.cases.row[self.waiting.case], self.waiting.bound)
        least = np.minimum(self.best, self.incumbent)
        lost = np.isinf(bound) & np.isinf(least) & self.known
        bound = np.where(self.known, np.minimum(bound, np.maximum(self.limit, 0.0)), np.nan)
        return LinearProof(bound, lost, self.x, self.best, self.opened)
