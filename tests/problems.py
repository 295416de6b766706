"""The problem that a question becomes, for tests of the search alone."""

from dataclasses import replace

import numpy as np

import counterpoise as cp
from counterpoise.model_calls import RowBudget, Tally
from counterpoise.problem import Problem
from counterpoise.streams import Streams


class Caught(cp.NearestNeighbour):
    """The nearest neighbour, which keeps the problem it was given."""

    def iterate(self, problem: Problem, streams: Streams):
        object.__setattr__(self, "problem", problem)
        yield from super().iterate(problem, streams)


def any_numbers(reference: object) -> cp.Schema:
    """The schema of a reference whose numbers may take any value that their decimals write, seen or not."""
    schema = cp.Schema.infer(reference)
    return replace(schema, features=tuple(replace(f, values="any") if f.is_numeric else f for f in schema))


def problem_of(model: object, reference: object, rows: object, **question: object) -> Problem:
    """The problem that `explain` makes of a question."""
    caught = Caught()
    if "values" not in question and reference is not None:
        question = {"schema": any_numbers(reference)} | question
    explainer_words = {name: question.pop(name) for name in ("bounds", "constraints", "weights") if name in question}
    explainer_words = {"relations": None} | explainer_words
    cp.explain(model, rows, reference=reference, method=caught, **explainer_words, **question)
    return caught.problem  # type: ignore[attr-defined, no-any-return]


def limit_model_rows(problem: Problem, limit: int) -> Problem:
    """The problem, each row of which may take so many model rows, one of them for the row as it is."""
    budget, every = RowBudget(len(problem), limit), np.arange(len(problem))
    limited = replace(problem, tally=Tally(row_budget=budget), row_numbers=every)
    budget.remember_rows(problem.x0, limited.call_model(problem.model.outputs, problem.x0, every))
    return limited
