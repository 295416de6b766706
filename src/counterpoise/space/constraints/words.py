"""The constraints on single features, and on how many may change: each is data that applies itself to a `Draft`."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from counterpoise.errors import ConstraintError
from counterpoise.space.constraints.draft import Draft
from counterpoise.space.schema.tables_in import as_python_value

NameOrNames = Hashable | Sequence[Hashable]


@runtime_checkable
class Constraint(Protocol):
    """A constraint: anything that can apply itself to a draft of the region."""

    def apply(self, draft: Draft) -> None:
        """Write into the draft what this constraint asks of every row."""
        ...


def flatten_names(names: tuple[NameOrNames, ...]) -> tuple[Hashable, ...]:
    """All names in one flat tuple, whether given singly or as lists."""
    flat: list[Hashable] = []
    for name in names:
        if isinstance(name, (set, frozenset)):
            flat.extend(sorted(name, key=repr))  # the order of a set of text changes from run to run
        else:
            flat.extend(name if isinstance(name, list) else [name])
    return tuple(flat)


class _FeatureNamesConstraint:
    """A constraint that takes any number of names, as in ``Immutable("a", "b")`` or ``Immutable(["a", "b"])``."""

    names: tuple[Hashable, ...]

    def __init__(self, *names: NameOrNames) -> None:
        object.__setattr__(self, "names", flatten_names(names))
        if not self.names:
            raise ConstraintError(
                f"{type(self).__name__} must name at least one feature",
                "no name",
                f"for instance {type(self).__name__}('age')",
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.names))})"


@dataclass(frozen=True, init=False, repr=False)
class Immutable(_FeatureNamesConstraint):
    """These features never change.

    names: one or more names of features, or lists of names.

    >>> Immutable("protocol")
    Immutable('protocol')
    """

    names: tuple[Hashable, ...]

    def apply(self, draft: Draft) -> None:
        for name in self.names:
            draft.free[:, draft.record_mutability(name, self)] = False


@dataclass(frozen=True, init=False, repr=False)
class Mutable(_FeatureNamesConstraint):
    """Only these features may change; everything else is fixed.

    names: one or more names of features, or lists of names.

    >>> Mutable(["rate", "packets"])
    Mutable('rate', 'packets')
    """

    names: tuple[Hashable, ...]

    def apply(self, draft: Draft) -> None:
        named = [draft.record_mutability(name, self) for name in self.names]
        for number in set(range(len(draft.schema))) - set(named):
            draft.free[:, number] = False
            draft.constraint_texts[number].append(repr(self))


@dataclass(frozen=True, init=False, repr=False)
class Increasing(_FeatureNamesConstraint):
    """These features may only stay or go up.

    names: one or more names of features, or lists of names.

    >>> Increasing("age")
    Increasing('age')
    """

    names: tuple[Hashable, ...]

    def apply(self, draft: Draft) -> None:
        for name in self.names:
            number = draft.record_ordered_column(name, self)
            draft.lower[:, number] = np.fmax(draft.lower[:, number], draft.x0[:, number])


@dataclass(frozen=True, init=False, repr=False)
class Decreasing(_FeatureNamesConstraint):
    """These features may only stay or go down.

    names: one or more names of features, or lists of names.

    >>> Decreasing("firmware_age")
    Decreasing('firmware_age')
    """

    names: tuple[Hashable, ...]

    def apply(self, draft: Draft) -> None:
        for name in self.names:
            number = draft.record_ordered_column(name, self)
            draft.upper[:, number] = np.fmin(draft.upper[:, number], draft.x0[:, number])


@dataclass(frozen=True, init=False, repr=False)
class Integer(_FeatureNamesConstraint):
    """These features take whole numbers in every answer.

    names: one or more names of features, or lists of names.

    >>> Integer("packets")
    Integer('packets')
    """

    names: tuple[Hashable, ...]

    def apply(self, draft: Draft) -> None:
        for name in self.names:
            number = draft.record_ordered_column(name, self)
            draft.step[number] = max(draft.step[number], 1.0)


@dataclass(frozen=True)
class Range:
    """The answer's value lies in [low, high]; an end that is None is left as it was.

    A range that the user gives takes the place of the observed one, and binds even where the row itself is outside.

    name: the name of a feature, or a list of names.
    low: the least value, in the units of the table (of an ordinal feature: a category); None: as it was.
    high: the greatest value, likewise.

    >>> Range("rate", 0, 100)
    Range(name='rate', low=0, high=100)
    """

    name: NameOrNames
    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise ConstraintError("a Range must have at least one end", f"{self!r}", "give low=, high= or both")
        object.__setattr__(self, "low", as_python_value(self.low))
        object.__setattr__(self, "high", as_python_value(self.high))

    def apply(self, draft: Draft) -> None:
        for name in flatten_names((self.name,)):
            number = draft.record_ordered_column(name, self)
            if self.low is not None:
                draft.lower[:, number] = np.maximum(
                    draft.lower[:, number], draft.encode_value(number, self.low, self, np.inf)
                )
                draft.is_range_given[0, number] = True
            if self.high is not None:
                draft.upper[:, number] = np.minimum(
                    draft.upper[:, number], draft.encode_value(number, self.high, self, -np.inf)
                )
                draft.is_range_given[1, number] = True


@dataclass(frozen=True)
class OneOf:
    """The answer's value is one of these.

    name: the name of a feature, or a list of names.
    values: the values that are allowed, in the units of the table.

    >>> OneOf("protocol", ["tcp", "udp"])
    OneOf(name='protocol', values=('tcp', 'udp'))
    """

    name: NameOrNames
    values: tuple[Any, ...]

    def __init__(self, name: NameOrNames, values: Iterable[Any]) -> None:
        listed = not isinstance(values, (str, bytes))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", tuple(map(as_python_value, values)) if listed else (values,))
        if not self.values or not listed:
            given = "none" if listed else f"the text {values!r}"
            raise ConstraintError(
                "OneOf must list at least one value", f"{given} for {name!r}", "give a list of values"
            )

    def apply(self, draft: Draft) -> None:
        for name in flatten_names((self.name,)):
            number = draft.record_column(name, self)
            allowed = np.unique([draft.encode_value(number, value, self) for value in self.values])
            if np.isinf(allowed).any():
                raise ConstraintError("OneOf must list finite values", f"{self!r}", "use Range for an open end")
            before = draft.choices[number]
            draft.choices[number] = allowed if before is None else np.intersect1d(before, allowed)


@dataclass(frozen=True)
class MaxChanges:
    """At most this many features differ from the row.

    count: how many, at least 1; features that a relation moves along count too.

    >>> MaxChanges(4)
    MaxChanges(count=4)
    """

    count: int

    def __post_init__(self) -> None:
        if not isinstance(self.count, (int, np.integer)) or isinstance(self.count, bool) or self.count < 1:
            raise ConstraintError(
                "MaxChanges must be a whole number of at least 1",
                f"{self.count!r}",
                "give how many features may change",
            )

    def apply(self, draft: Draft) -> None:
        if draft.max_changes is None or self.count < draft.max_changes:
            draft.max_changes, draft.max_changes_text = min(int(self.count), len(draft.schema)), repr(self)
