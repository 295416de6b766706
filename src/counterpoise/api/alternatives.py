"""Alternatives: rows with too few answers are searched again, with a feature of each answer held fixed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from counterpoise.api.asking.row_form import RowForm
from counterpoise.api.verify import VerifiedAnswers, verify
from counterpoise.methods.base import Method, Run, last_run
from counterpoise.methods.proven import Proven
from counterpoise.problem import Problem
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True)
class AlternativeSettings:
    """How long further answers are looked for."""

    searches_together: int = 2  # ways of holding features fixed that are tried in a round
    rounds_per_answer: int = 2  # rounds for each answer that was asked for
    features_of_an_answer: int = 4  # of an answer's changed features, the largest are held in turn


def fill_alternatives(
    problem: Problem,
    form: RowForm,
    run: Run,
    verdict: VerifiedAnswers,
    method: Method,
    seed: int,
    settings: AlternativeSettings = AlternativeSettings(),
) -> VerifiedAnswers:
    """The verified answers, with further ones in rows that have fewer than were asked for.

    An alternative leaves out at least one feature that each better answer changes. So the search runs again with one
    changed feature of every answer held fixed, in several ways, until there are enough or all ways are tried. The first
    answer stays first, so that it does not depend on how many are asked for, and is the least of those listed: what is
    nearer, which a search that is not sure to find the least may meet on the way, is not taken. ``run`` and ``form``
    are those that ``verdict`` was made from.
    """
    alternatives, method = verdict.holds.shape[1], method.method if isinstance(method, Proven) else method
    found = verdict._replace(x=verdict.x.copy(), holds=verdict.holds.copy(), predicted=verdict.predicted.copy())
    tried: dict[int, set[frozenset[int]]] = {}
    lacking = _rows_lacking_answers(found.holds)
    if run.further_bound is not None:
        lacking &= ~np.isposinf(run.further_bound)  # elsewhere it is proven that there is no other answer
    short = np.flatnonzero(lacking)
    run = run.at(short)
    for _ in range(settings.rounds_per_answer * (alternatives - 1)):
        plan = _plan_searches(problem, found, short, tried, settings)
        if not plan or problem.has_expired:
            break
        again = _search_with_held_features(problem, method, seed, short, plan, settings.searches_together)
        first = problem.energy.take(short).effort(verdict.x[short, :1], problem.x0[short])
        farther = np.where(again.effort < first, np.inf, again.effort)
        again = again._replace(effort=farther, margin=np.where(np.isinf(farther), -np.inf, again.margin))
        x, margin, effort = (np.concatenate(pair, axis=1) for pair in zip(run[:3], again[:3], strict=True))
        run = Run(x, margin, effort, again.done, run.steps + again.steps)
        more = verify(problem.take(short), form.take(short), run, alternatives, found.before[short])
        found.x[short], found.holds[short], found.predicted[short], _, found.share[short] = more
        left = np.flatnonzero(_rows_lacking_answers(more.holds))
        short, run = short[left], run.at(left)
    return _put_first(problem, verdict, found)


def _put_first(problem: Problem, verdict: VerifiedAnswers, found: VerifiedAnswers) -> VerifiedAnswers:
    """The answers of ``found``, each row's first one that of ``verdict`` again where another has taken its place."""
    same = (found.x[:, 0] == verdict.x[:, 0]) | (np.isnan(found.x[:, 0]) & np.isnan(verdict.x[:, 0]))
    for row in np.flatnonzero(verdict.holds[:, 0] & ~same.all(axis=1)).tolist():
        first, other_answers = verdict.x[row, 0], found.x[row][found.holds[row]]
        sets = problem.region.take([row]).is_changed(np.concatenate([first[None], other_answers])[None])[0]
        kept = [first, *other_answers[(sets[1:] != sets[0]).any(axis=1)]][: found.holds.shape[1]]
        found.x[row], found.holds[row] = np.nan, False
        found.x[row, : len(kept)], found.holds[row, : len(kept)] = kept, True
        found.predicted[row] = verdict.predicted[row]
    return found


def _rows_lacking_answers(holds: Mask) -> Mask:
    """Rows that have an answer, but not all of those asked for, ``(n,)``."""
    return np.asarray(holds[:, 0] & ~holds.all(axis=1))


def _plan_searches(
    problem: Problem,
    found: VerifiedAnswers,
    rows: Index,
    tried: dict[int, set[frozenset[int]]],
    settings: AlternativeSettings,
) -> list[tuple[int, int, frozenset[int]]]:
    """What to try for ``rows``: the place among them, the number of the search, and the features to hold fixed."""
    plan = []
    for place, row in enumerate(rows.tolist()):
        seen = tried.setdefault(row, set())
        number = 0
        for held in _ways_to_hold(problem.take([row]), found.x[row], found.holds[row], settings):
            if number == settings.searches_together:
                break
            if held not in seen:
                seen.add(held)
                plan.append((place, number, held))
                number += 1
    return plan


def _ways_to_hold(problem: Problem, x: Array, holds: Mask, settings: AlternativeSettings) -> Iterator[frozenset[int]]:
    """Sets with one changed feature of each answer ``x`` ``(a, d)`` of a row that holds, the largest changes first.

    Features that are computed from others, or that change in every allowed row, are left out: they cannot be held.
    """
    region = problem.region
    choice = (region.free & ~region.is_changed(region.nearest_feasible[:, None, :])[:, 0])[0]
    far = problem.energy.distance.differences(x[None, holds], problem.x0)[0]
    lists = []
    for sizes in np.where(choice, far, 0.0):
        order = np.argsort(-sizes, kind="stable")[: settings.features_of_an_answer]
        lists.append([int(column) for column in order if sizes[column] > 0])
    ways = product(*(enumerate(columns) for columns in lists if columns))
    for way in sorted(ways, key=lambda picks: sum(place for place, _ in picks)) if any(lists) else ():
        yield frozenset(column for _, column in way)


def _search_with_held_features(
    problem: Problem,
    method: Method,
    seed: int,
    rows: Index,
    plan: list[tuple[int, int, frozenset[int]]],
    width: int,
) -> Run:
    """What the planned searches find, in one call of the method, for each of ``rows`` side by side."""
    places = np.array([place for place, _, _ in plan], dtype=np.intp)
    numbers = np.array([number for _, number, _ in plan], dtype=np.intp)
    part = problem.take(rows[places])
    held = np.zeros(part.x0.shape, dtype=bool)
    for line, (_, _, columns) in enumerate(plan):
        held[line, list(columns)] = True
    region = replace(part.region, free=part.region.free & ~held, fixed=part.region.fixed | held)
    again = last_run(method.iterate(replace(part, region=region), part.make_streams(seed)))
    k, d = again.x.shape[1:]
    n = len(rows)
    x = np.repeat(problem.x0[rows, None, None, :], width, axis=1).repeat(k, axis=2)
    margin, effort = np.full((n, width, k), -np.inf), np.full((n, width, k), np.inf)
    x[places, numbers], margin[places, numbers], effort[places, numbers] = again.x, again.margin, again.effort
    done = np.ones(n, dtype=bool)
    return Run(x.reshape(n, -1, d), margin.reshape(n, -1), effort.reshape(n, -1), done, again.steps)
