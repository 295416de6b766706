"""The constraints on how a feature may differ from its value in the row: in steps, how far, at what cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from counterpoise.errors import ConstraintError
from counterpoise.space.constraints.draft import Draft
from counterpoise.space.constraints.words import Constraint, NameOrNames, flatten_names
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, is_number


@dataclass(frozen=True)
class Step:
    """These features change by whole multiples of a step, counted from the row's own value.

    name: the name of a feature, or a list of names.
    size: the length of a step, above 0, in the units of the table.

    >>> Step("days", 7)
    Step(name='days', size=7)
    """

    name: NameOrNames
    size: float

    def __post_init__(self) -> None:
        if not is_number(self.size) or not 0 < self.size < np.inf:
            raise ConstraintError("a Step must be a positive number", f"{self!r}", "for instance Step('days', 7)")

    def apply(self, draft: Draft) -> None:
        for name in flatten_names((self.name,)):
            number = draft.record_column(name, self)
            kind = draft.schema.features[number].kind
            whole = float(self.size).is_integer()
            if kind not in ("continuous", "integer") or (kind == "integer" and not whole):
                raise ConstraintError(
                    "a Step must name a number, and be whole where the number is",
                    f"{self!r}; {name!r} is {kind}",
                    "round the step, or use OneOf to list the values it may take",
                )
            if number in draft.step_from_row and draft.step_from_row[number] != self.size:
                raise ConstraintError(
                    "a feature must have one Step", f"{draft.step_from_row[number]:g} and {self!r}", "drop one of them"
                )
            draft.step_from_row[number] = float(self.size)


@dataclass(frozen=True)
class Within:
    """The answer's value stays near the row's own: within a percentage of it, or within a distance.

    name: the name of a feature, or a list of names.
    percent: how far, in per cent of the row's own value; None: not bounded so.
    distance: how far, in the units of the table; None: not bounded so. One of the two is given.

    >>> Within("latency", percent=10)
    Within(name='latency', percent=10, distance=None)
    """

    name: NameOrNames
    percent: float | None = None
    distance: float | None = None

    def __post_init__(self) -> None:
        given = [value for value in (self.percent, self.distance) if value is not None]
        if len(given) != 1 or not is_number(given[0]) or not 0 <= given[0] < np.inf:
            raise ConstraintError(
                "Within must have one of percent and distance, a number of at least 0",
                f"{self!r}",
                "for instance Within('latency', percent=10)",
            )

    def apply(self, draft: Draft) -> None:
        for name in flatten_names((self.name,)):
            number = draft.record_ordered_column(name, self)
            row_values = draft.x0[:, number]
            reach = (
                np.abs(row_values) * (self.percent / 100)
                if self.percent is not None
                else np.full_like(row_values, self.distance)
            )
            draft.lower[:, number] = np.fmax(draft.lower[:, number], row_values - reach)
            draft.upper[:, number] = np.fmin(draft.upper[:, number], row_values + reach)


@dataclass(frozen=True)
class Cost:
    """How many times a change upwards, and downwards, counts in the distance; infinity forbids it.

    name: the name of a feature, or a list of names.
    up: how many times a unit of change upwards counts; 1 by default, infinity forbids it.
    down: the same downwards.

    >>> Cost("firmware_age", up=1.0, down=float("inf"))
    Cost(name='firmware_age', up=1.0, down=inf)
    """

    name: NameOrNames
    up: float = 1.0
    down: float = 1.0

    def __post_init__(self) -> None:
        for value in (self.up, self.down):
            if not is_number(value) or not value >= 0:
                raise ConstraintError(
                    "a Cost must be a number of at least 0", f"{self!r}", "infinity forbids a direction"
                )

    def apply(self, draft: Draft) -> None:
        for name in flatten_names((self.name,)):
            number = draft.record_ordered_column(name, self)
            row_values = draft.x0[:, number]
            if self.up == np.inf:
                draft.upper[:, number] = np.fmin(draft.upper[:, number], row_values)
            if self.down == np.inf:
                draft.lower[:, number] = np.fmax(draft.lower[:, number], row_values)


def prices_of_changes(schema: Schema, constraints: Sequence[Constraint]) -> Array | None:
    """How many times a difference downwards, and upwards, counts in each column, ``(2, d)``; None: always once.

    >>> import pandas as pd
    >>> prices_of_changes(Schema.infer(pd.DataFrame({"a": [1, 2], "b": [1, 2]})), [Cost("b", up=3)])
    array([[1., 1.], [1., 3.]])
    """
    costs = [each for each in constraints if isinstance(each, Cost)]
    if not costs:
        return None
    out = np.ones((2, len(schema)))
    for cost in costs:
        for name in flatten_names((cost.name,)):
            ways = [float(value) if value != np.inf else 1.0 for value in (cost.down, cost.up)]
            out[:, schema.position(name)] = ways
    return out
