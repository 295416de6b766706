"""The problem that a question becomes, for tests of the search alone."""

import counterpoise as cp
from counterpoise.problem import Problem
from counterpoise.streams import Streams


class Caught(cp.NearestNeighbour):
    """The nearest neighbour, which keeps the problem it was given."""

    def iterate(self, problem: Problem, streams: Streams):
        object.__setattr__(self, "problem", problem)
        yield from super().iterate(problem, streams)


def problem_of(model: object, reference: object, rows: object, **question: object) -> Problem:
    """The problem that `explain` makes of a question."""
    caught = Caught()
    explainer_words = {name: question.pop(name) for name in ("bounds", "constraints", "weights") if name in question}
    cp.explain(model, rows, reference=reference, method=caught, **explainer_words, **question)
    return caught.problem  # type: ignore[attr-defined, no-any-return]
