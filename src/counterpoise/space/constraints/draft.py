"""Draft: the box, lattice and relations of every row while the constraints are applied one by one."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterpoise.errors import ConstraintError
from counterpoise.space.rules.relations import Relation
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.space.schema.tables_in import is_exact_whole, quote_names
from counterpoise.types import Array, Mask, is_number, is_whole_number


@dataclass
class Draft:
    """The box, lattice and relations of n rows while the constraints are applied one by one."""

    schema: Schema
    x0: Array  # (n, d)
    lower: Array  # (n, d) starts at -inf
    upper: Array  # (n, d) starts at +inf
    free: Mask  # (n, d)
    step: Array  # (d,) lattice that binds every answer; 0: none
    choices: list[Array | None]  # per column, the encoded values that the user lists, sorted; None: any
    is_range_given: Mask  # (2, d) whether the user gave the lower, the upper end; the observed one is used elsewhere
    constraint_texts: list[list[str]]  # per column, the constraints that name it
    max_changes: int | None = None
    max_changes_text: str = ""  # the constraint that set max_changes
    relations: list[Relation] = field(default_factory=list)  # between features, in the order in which they were given
    step_from_row: dict[int, float] = field(default_factory=dict)  # per column, a step counted from the row's own value
    mutability_constraints: dict[int, object] = field(default_factory=dict)  # per column, its Immutable or Mutable

    @classmethod
    def make_blank(cls, schema: Schema, x0: Array) -> Draft:
        """A draft that allows everything, except changes of the features that the schema fixes."""
        d = x0.shape[1]
        free = np.full(x0.shape, True)
        texts: list[list[str]] = [[] for _ in range(d)]
        for number in schema.fixed_columns:
            feature = schema.features[number]
            free[:, number] = False
            texts[number].append(f"{feature.name!r} is held fixed because {feature.fixed}")
        if schema.integer.any():
            free &= is_exact_whole(x0) | ~schema.integer | np.isnan(x0)
        ends = np.full(x0.shape, -np.inf), np.full(x0.shape, np.inf)
        return cls(schema, x0, *ends, free, np.zeros(d), [None] * d, np.zeros((2, d), dtype=bool), texts)

    @property
    def listed_columns(self) -> list[int]:
        """The columns whose values the user lists."""
        return [number for number, values in enumerate(self.choices) if values is not None]

    def record_column(self, name: Hashable, constraint: object) -> int:
        """The number of the column that a constraint names; the constraint is recorded for it, for messages."""
        if name not in self.schema:
            raise ConstraintError(
                "a constraint must name a feature of the reference",
                f"{constraint!r} names {name!r}; there are {quote_names(self.schema.names)}",
                "correct the name",
            )
        number = self.schema.position(name)
        self.constraint_texts[number].append(repr(constraint))
        return number

    def record_mutability(self, name: Hashable, constraint: object) -> int:
        """Record Immutable or Mutable for a column; naming it in both is an error."""
        number = self.record_column(name, constraint)
        other = self.mutability_constraints.setdefault(number, constraint)
        if type(other) is not type(constraint):
            raise ConstraintError(
                "a feature must be named by Immutable or by Mutable, not by both",
                f"{other!r} and {constraint!r} both name {name!r}",
                "drop it from one of them",
            )
        return number

    def record_ordered_column(self, name: Hashable, constraint: object) -> int:
        """The same for constraints that need values with an order."""
        number = self.record_column(name, constraint)
        feature = self.schema.features[number]
        if not (feature.is_numeric or feature.kind == "ordinal"):
            raise ConstraintError(
                f"{type(constraint).__name__} must name a feature whose values have an order",
                f"{name!r} is {feature.kind}",
                "use OneOf to list the values it may take",
            )
        return number

    def encode_value(self, number: int, value: Any, constraint: object, toward: float | None = None) -> float:
        """A value of a column as the search holds it.

        A whole number that double precision cannot hold is rounded ``toward`` a number, or refused where there is none.
        """
        feature = self.schema.features[number]
        check_exact_column(feature, constraint)
        if not feature.is_numeric:
            if isinstance(value, Hashable) and value in feature.code_by_category:
                return feature.code_by_category[value]
            raise ConstraintError(
                f"{constraint!r} must name categories of {feature.name!r}",
                f"{value!r}; there are {quote_names(feature.categories)}",
                "correct the value, or add it to the schema's categories",
            )
        if isinstance(value, bool) or (is_number(value) and not np.isnan(float(value))):
            near = float(value)
            if not is_whole_number(value) or near == value:
                return near
            if toward is not None:
                return near if (near > value) == (toward > value) else float(np.nextafter(near, toward))
            raise ConstraintError(
                "a whole number in a constraint must be one that double precision holds",
                f"{constraint!r} has {value!r}",
                "give one below 2**53",
            )
        raise ConstraintError(f"{constraint!r} must give numbers for {feature.name!r}", f"{value!r}", "give a number")


def check_exact_column(feature: Feature, constraint: object) -> None:
    """An error where a constraint compares values of a column whose whole numbers lose digits in double precision."""
    if feature.has_large_integers:
        raise ConstraintError(
            "a constraint must name values that double precision tells apart",
            f"{constraint!r} names {feature.name!r}, whose whole numbers reach 2**53",
            "leave it out: such a column is held fixed to the digit; identifiers are best given as text",
        )
