"""Rows proven infeasible: which fixed features or constraints stand in the way, and what freeing them would do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from counterpoise.api.asking.row_form import RowForm
from counterpoise.api.verify import verify
from counterpoise.explanation.question import Question
from counterpoise.methods.base import Method, last_run
from counterpoise.methods.proven import Proven
from counterpoise.problem import Problem
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Index, Mask

NO_CHANGE_TURNS = "no change of the features that may change turns this decision"


class Outcome(NamedTuple):
    """What came of searching rows again under a lighter question, each ``(n,)``."""

    allows: Mask  # an answer was found and verified
    excludes: Mask  # it is proven that there is none either

    def say(self, row: int) -> str:
        """In words, of one row."""
        if self.allows[row]:
            return "would allow an answer"
        return "would not help" if self.excludes[row] else "may not help: no answer was found"


class InfeasibleRows:
    """Rows ``(n,)`` proven infeasible, ready to be searched again with fewer constraints."""

    def __init__(self, problem: Problem, form: RowForm, question: Question, method: Method) -> None:
        self.problem, self.schema, self.form, self.question = problem, form.schema, form, question
        self.method = Proven(method.method) if isinstance(method, Proven) else method

    def ask(self, rows: Index, region: Region) -> Outcome:
        """Search rows ``(m,)``, which may repeat, in a lighter region of as many rows."""
        part = replace(self.problem.take(rows), region=region)
        run = last_run(self.method.iterate(part, part.make_streams(self.question.seed)))
        holds = verify(part, self.form.take(rows), run, 1).holds[:, 0] & region.feasible
        none = np.zeros(len(rows), dtype=bool)
        return Outcome(holds, none if run.is_infeasible is None else run.is_infeasible)

    def describe(self, max_released: int = 10) -> list[str]:
        """Why each row has no answer; releases are sought among at most so many fixed features."""
        every = np.arange(len(self.problem))
        defaults = [(words, self.ask(every, region)) for words, region in self._without_defaults()]
        releases = self._releases(max_released)
        texts = []
        for row in every.tolist():
            if self.problem.region.fixed[row].all():
                texts.append("; ".join([self._describe_nothing_free(), *releases[row]]))
                continue
            parts = [NO_CHANGE_TURNS, *(f"{words} {outcome.say(row)}" for words, outcome in defaults)]
            if len(self.problem.region.system):  # the proof leaves them out
                parts.append("relations between features are not in the way")
            texts.append("; ".join([*parts, *releases[row]]))
        return texts

    def _describe_nothing_free(self) -> str:
        """The reason given for a row none of whose features may change."""
        reasons = {feature.fixed for feature in self.schema}
        because = f" because {reasons.pop()}" if len(reasons) == 1 and all(reasons) else ""
        return f"no feature may change: each is held fixed{because}"

    def _without_defaults(self) -> Iterator[tuple[str, Region]]:
        """What holds all rows, in words that end in how to lift it, and the region without it."""
        question, x0, region = self.question, self.problem.x0, self.problem.region
        if question.bounds is not None:
            free = Region.build(self.schema, x0, question.binding_constraints, None)
            yield "numbers stay inside the range of the reference, and bounds=None", free
        any_value = _with_any_values(self.schema)
        if any_value != self.schema:
            free = Region.build(any_value, x0, question.binding_constraints, question.bounds)
            yield "numbers take values that their columns can have, and values='any'", free
        if region.max_changes is not None:
            yield f"{region.max_changes_text} is in force, and lifting it", replace(region, max_changes=None)

    def _releases(self, max_released: int) -> list[list[str]]:
        """A sentence per row: which fixed features, singly or in pairs, would allow an answer if freed."""
        fixed = self.problem.region.fixed & ~self.problem.region.system.is_derived
        columns = [np.flatnonzero(mine)[:max_released] for mine in fixed]
        out: list[list[str]] = [[self._say_fixed(mine)] if len(mine) else [] for mine in columns]
        left = [row for row, mine in enumerate(columns) if len(mine)]
        excluded = np.ones(len(out), dtype=bool)
        for size in (1, 2):
            tried = [(row, set_) for row in left for set_ in combinations(columns[row].tolist(), size)]
            if not tried:
                break
            outcome = self._release(tried)
            np.logical_and.at(excluded, [row for row, _ in tried], outcome.excludes)
            good = self._name_releases(tried, outcome.allows)
            for row, names in good.items():
                out[row].append(f"releasing {' or '.join(names)} would allow an answer")
            left = [row for row in left if row not in good]
        helps = np.where(excluded, "would not help", "gave no answer that could be found").tolist()
        for row in left:
            out[row].append(f"releasing one or two of them {helps[row]}")
        return out

    def _name_releases(self, tried: list[tuple[int, tuple[int, ...]]], allows: Mask) -> dict[int, list[str]]:
        """By row, the sets of features among those tried whose release allows an answer, in words."""
        good: dict[int, list[str]] = {}
        for (row, columns), helps in zip(tried, allows, strict=True):
            if helps:
                names = " and ".join(repr(self.schema.names[column]) for column in columns)
                good.setdefault(row, []).append(names)
        return good

    def _release(self, tried: list[tuple[int, tuple[int, ...]]]) -> Outcome:
        rows = np.array([row for row, _ in tried], dtype=np.intp)
        region, freed = self.problem.region.take(rows), np.zeros((len(rows), self.problem.x0.shape[1]), dtype=bool)
        for place, (_, columns) in enumerate(tried):
            freed[place, list(columns)] = True
        return self.ask(rows, replace(region, fixed=region.fixed & ~freed, free=region.free | freed))

    def _say_fixed(self, columns: Index, most: int = 6) -> str:
        names = [repr(self.schema.names[place]) for place in columns.tolist()]
        more = f" and {len(names) - most} more" if len(names) > most else ""
        return f"held fixed: {', '.join(names[:most])}{more}"


def _with_any_values(schema: Schema) -> Schema:
    """The schema without grids and lists of seen values; whole numbers stay whole."""
    features = tuple(
        replace(feature, values="any", resolution=None, decimals=None) if feature.is_numeric else feature
        for feature in schema
    )
    return schema if features == schema.features else replace(schema, features=features)
