"""Best-first branch and bound over boxes of leaves: one row to its least effort, or to a bound of it.

A node is what the leaves chosen so far leave of space: the cheapest point inside, and the leaves that still reach in.
Its bound is what that point costs; it is worth at most what the best leaves left add up to. Branching chooses a leaf of
one more tree: the one whose best leaf and whose leaf at the cheapest point differ most. The least bound of all nodes
that wait is a bound of the row at any time.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.methods.settings.proof import ProofSettings
from counterpoise.methods.trees.exact.answers import KnownAnswers
from counterpoise.methods.trees.exact.row_leaves import Cells, RowLeaves
from counterpoise.methods.trees.exact.together import Together
from counterpoise.methods.trees.exact.voters import Words
from counterpoise.types import Array, Index, Mask

AT_FIRST = 256  # nodes that a pool has room for


class Nodes(NamedTuple):
    """Boxes of one row: what the leaves chosen so far leave of space."""

    cells: Cells  # (p, columns) the cheapest point of each, as local cells
    sets: NDArray[np.uint64]  # (p, words) the classes of levels that are left
    alive: Words  # (p, words) the leaves that reach in
    bound: Array  # (p,) of effort

    def at(self, places: Index) -> Nodes:
        """Some of the nodes."""
        return Nodes(self.cells[places], self.sets[places], self.alive[places], self.bound[places])


class Pool:
    """Nodes that wait; of equals the one that came first is taken first."""

    def __init__(self, root: Nodes) -> None:
        self._arrays = Nodes(*(np.empty((AT_FIRST, *array.shape[1:]), dtype=array.dtype) for array in root))
        self._used, self._came = 0, 0
        self._heap: list[tuple[float, int, int]] = []  # bound, number by arrival, place in the arrays
        self.push(root, np.inf)

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def least(self) -> float:
        """The least bound of all nodes that wait; infinite where none does."""
        return self._heap[0][0] if self._heap else np.inf

    def push(self, nodes: Nodes, limit: float) -> None:
        """Let nodes wait; where room is short those whose bound has come to the limit are dropped."""
        size = len(nodes.bound)
        if self._used + size > len(self._arrays.bound):
            self._tidy(size, limit)
        start, room = self._used, self._arrays
        part = slice(start, start + size)
        room.cells[part], room.sets[part], room.alive[part], room.bound[part] = nodes
        for place, bound in enumerate(nodes.bound.tolist(), start):
            heapq.heappush(self._heap, (bound, self._came, place))
            self._came += 1
        self._used += size

    def pop(self, most: int, limit: float) -> Nodes:
        """The cheapest nodes below the limit, at most so many."""
        places: list[int] = []
        while self._heap and len(places) < most and self._heap[0][0] < limit:
            places.append(heapq.heappop(self._heap)[2])
        return self._arrays.at(np.array(places, dtype=np.intp))

    def _tidy(self, size: int, limit: float) -> None:
        """Make room for so many nodes."""
        kept = [entry for entry in self._heap if entry[0] < limit]
        places = np.array([place for _, _, place in kept], dtype=np.intp)
        room = max(AT_FIRST, 2 * (len(kept) + size))
        arrays = []
        for array in self._arrays:
            fresh = np.empty((room, *array.shape[1:]), dtype=array.dtype)
            fresh[: len(kept)] = array[places]
            arrays.append(fresh)
        self._arrays, self._used = Nodes(*arrays), len(kept)
        self._heap = [(bound, came, place) for place, (bound, came, _) in enumerate(kept)]
        heapq.heapify(self._heap)


class Spent(NamedTuple):
    """What a search has cost."""

    nodes: int = 0  # boxes opened
    visits: int = 0  # trees of boxes looked at
    repairs: int = 0  # points that broke a relation

    def is_over(self, settings: ProofSettings) -> bool:
        """Whether it is as much as the settings allow."""
        spent = self.nodes >= settings.nodes or self.visits >= settings.visits
        return spent or self.repairs >= settings.repairs


class BoxSearch:
    """The branch and bound of one row, for one of the alternatives that meet its goal."""

    def __init__(self, reduced: RowLeaves, answers: KnownAnswers, most_changes: float, spent: Spent) -> None:
        self.reduced, self.answers, self.most_changes, self.spent = reduced, answers, most_changes, spent
        self.together = Together(reduced, answers.costs)
        self.stuck = np.inf  # the least bound of boxes whose cheapest point breaks a relation
        start = reduced.local.start[None].astype(np.int32)
        root = Nodes(start, reduced.local.sets.every[None], reduced.voters.full[None], self.efforts(start)[0])
        self.pool = Pool(root)
        self.first_step = self._first_step(start)

    def _first_step(self, start: Cells) -> float:
        """What it costs at least to leave the leaves of the cheapest point, unless that meets the conditions."""
        reduced, voters = self.reduced, self.reduced.voters
        is_reached = (voters.best(reduced.inside(start)) @ voters.counts_in >= voters.need).all()
        away = reduced.near[reduced.rise_count > 0]
        return -np.inf if is_reached else float(self.efforts(away)[0].min(initial=np.inf))

    @property
    def least(self) -> float:
        """No answer in a box that waits costs less."""
        return max(self.pool.least, self.first_step)

    @property
    def bound(self) -> float:
        """No answer of these conditions costs less."""
        return min(self.least, self.stuck, self.answers.limit)

    @property
    def is_exhausted(self) -> bool:
        """Whether no box is left that could hold a wanted answer."""
        return self.answers.is_settled(min(self.least, self.stuck))

    def has_ended(self, settings: ProofSettings) -> bool:
        """Whether nothing is left to open, or may be opened."""
        over = self.spent.is_over(settings) or len(self.pool) > settings.waiting or self.answers.has_expired
        return over or not len(self.pool) or self.answers.is_settled(self.least)

    def run(self, settings: ProofSettings, until: int) -> None:
        """Open boxes, the cheapest first, until nothing is left, limits are reached, or so many have been opened."""
        width, until = settings.first_together, min(until, settings.nodes)
        while not self.has_ended(settings) and self.spent.nodes < until:
            most = min(width, until - self.spent.nodes)
            children = self.open(self.pool.pop(most, self.answers.limit))
            if children is not None:
                self.pool.push(children, self.answers.limit)
            width = min(2 * width, settings.together)

    def open(self, nodes: Nodes) -> Nodes | None:
        """The boxes that nodes are divided into; None where there are none."""
        voters = self.reduced.voters
        now = voters.best(self.reduced.inside(nodes.cells))
        sums = now @ voters.counts_in
        is_reached = np.asarray((sums >= voters.need).all(axis=1))
        self.spent = self.spent._replace(nodes=self.spent.nodes + len(is_reached))
        gap = np.maximum(voters.best(nodes.alive) - now, 0.0)
        if len(voters.need) > 1:
            gap = self.of_one_condition(gap, voters.need - sums)
        if is_reached.any():
            self.show(nodes, is_reached, gap)
        # what was shown may have ended the search for boxes that cost as much
        going = np.flatnonzero((gap > 0).any(axis=1) & (nodes.bound < self.answers.limit))
        if not len(going):
            return None
        line, leaf = voters.listed(nodes.alive[going], gap[going].argmax(axis=1))
        return self.children(nodes.at(going), line, leaf)

    def show(self, nodes: Nodes, is_reached: Mask, gap: Array) -> None:
        """Show cheapest points that meet the conditions to the model; ``gap`` says which voters go on, and is set."""
        places = np.flatnonzero(is_reached)
        shown = self.answers.show(self.reduced, nodes.cells[places])
        # the model refuses a point although the conditions hold: any tree that is not decided yet may tell why
        gap[places] = np.where(shown.refused[:, None], self.reduced.voters.count_leaves(nodes.alive[places]) - 1.0, 0.0)
        if shown.unlawful.any():
            self.stuck = min(self.stuck, float(nodes.bound[places[shown.unlawful]].min()))
            self.spent = self.spent._replace(repairs=self.spent.repairs + int(shown.unlawful.sum()))

    def of_one_condition(self, gap: Array, lacking: Array) -> Array:
        """The gaps ``(p, voters)`` of those voters that count in the condition which lacks most, if they have any."""
        mine = self.reduced.voters.counts_in.T[lacking.argmax(axis=1)] > 0
        wanted = np.where(mine, gap, 0.0)
        return np.where((wanted > 0).any(axis=1, keepdims=True), wanted, gap)

    def children(self, nodes: Nodes, parent: Index, leaf: Index) -> Nodes | None:
        """Nodes ``(c,)``, each with one leaf ``(c,)`` more; those that are too far or fall short are left out."""
        reduced, voters = self.reduced, self.reduced.voters
        cells, sets = self.together.nearest(nodes.cells[parent], nodes.sets[parent], leaf)
        effort, changes = self.efforts(cells)
        bound = np.maximum(effort, nodes.bound[parent])
        near = (bound < self.answers.limit) & (changes <= self.most_changes)
        if self.answers.found and self.answers.wanted > 1:
            near &= ~self.answers.is_covered_by_answers(reduced, cells, bound)
        kept = np.flatnonzero(near)
        if not len(kept):
            return None
        alive = nodes.alive[parent[kept]] & self.together.reached_from(leaf[kept], self.answers.limit)
        self.together.keep_to_sets(alive, sets[kept], nodes.sets[parent[kept]])
        self.spent = self.spent._replace(visits=self.spent.visits + alive.size)
        enough = np.flatnonzero((voters.best(alive) @ voters.counts_in >= voters.need).all(axis=1))
        kept = kept[enough]
        return Nodes(cells[kept], sets[kept], alive[enough], bound[kept]) if len(kept) else None

    def efforts(self, cells: Cells) -> tuple[Array, Array]:
        """The efforts of points in local cells, and how many features they change, each ``(p,)``."""
        square, rest, changes = self.reduced.local.terms.of(cells)
        return self.answers.costs.effort(square, rest), changes
