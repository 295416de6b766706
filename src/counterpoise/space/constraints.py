"""The words users have for what may change: each is data, and writes itself into a `Draft` of the region."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from counterpoise.errors import ConstraintError
from counterpoise.space.draft import Draft
from counterpoise.space.frames import plain

Names = Hashable | Sequence[Hashable]


@runtime_checkable
class Constraint(Protocol):
    """Anything that can write itself into a draft."""

    def apply(self, draft: Draft) -> None: ...


def named(names: tuple[Names, ...]) -> tuple[Hashable, ...]:
    """Names given one by one or as lists, flat."""
    flat: list[Hashable] = []
    for name in names:
        if isinstance(name, (set, frozenset)):
            flat.extend(sorted(name, key=repr))  # the order of a set of text changes from run to run
        else:
            flat.extend(name if isinstance(name, list) else [name])
    return tuple(flat)


class _Naming:
    """A word that takes any number of names, as in ``Immutable("a", "b")`` or ``Immutable(["a", "b"])``."""

    names: tuple[Hashable, ...]

    def __init__(self, *names: Names) -> None:
        object.__setattr__(self, "names", named(names))
        if not self.names:
            raise ConstraintError(
                f"{type(self).__name__} must name at least one feature",
                "no name",
                f"for instance {type(self).__name__}('age')",
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.names))})"


@dataclass(frozen=True, init=False, repr=False)
class Immutable(_Naming):
    """These features never change.

    >>> Immutable("protocol")
    Immutable('protocol')
    """

    names: tuple[Hashable, ...]

    def apply(self, draft: Draft) -> None:
        for name in self.names:
            draft.free[:, draft.settled(name, self)] = False


@dataclass(frozen=True, init=False, repr=False)
class Mutable(_Naming):
    """Only these features may change; everything else is fixed.

    >>> Mutable(["rate", "packets"])
    Mutable('rate', 'packets')
    """

    names: tuple[Hashable, ...]

    def apply(self, draft: Draft) -> None:
        named = [draft.settled(name, self) for name in self.names]
        for number in set(range(len(draft.schema))) - set(named):
            draft.free[:, number] = False
            draft.words[number].append(repr(self))


@dataclass(frozen=True, init=False, repr=False)
class Increasing(_Naming):
    """These features may only stay or go up.

    >>> Increasing("age")
    Increasing('age')
    """

    names: tuple[Hashable, ...]

    def apply(self, draft: Draft) -> None:
        for name in self.names:
            number = draft.ordered(name, self)
            draft.lower[:, number] = np.fmax(draft.lower[:, number], draft.x0[:, number])


@dataclass(frozen=True, init=False, repr=False)
class Decreasing(_Naming):
    """These features may only stay or go down.

    >>> Decreasing("firmware_age")
    Decreasing('firmware_age')
    """

    names: tuple[Hashable, ...]

    def apply(self, draft: Draft) -> None:
        for name in self.names:
            number = draft.ordered(name, self)
            draft.upper[:, number] = np.fmin(draft.upper[:, number], draft.x0[:, number])


@dataclass(frozen=True, init=False, repr=False)
class Integer(_Naming):
    """These features take whole numbers in every answer.

    >>> Integer("packets")
    Integer('packets')
    """

    names: tuple[Hashable, ...]

    def apply(self, draft: Draft) -> None:
        for name in self.names:
            number = draft.ordered(name, self)
            draft.step[number] = max(draft.step[number], 1.0)


@dataclass(frozen=True)
class Range:
    """The answer's value lies in [low, high]; an end that is None is left as it was.

    A range that the user gives takes the place of the observed one, and binds even where the row itself is outside.

    >>> Range("rate", 0, 100)
    Range(name='rate', low=0, high=100)
    """

    name: Names
    low: Any = None
    high: Any = None

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise ConstraintError("a Range must have at least one end", f"{self!r}", "give low=, high= or both")
        object.__setattr__(self, "low", plain(self.low))
        object.__setattr__(self, "high", plain(self.high))

    def apply(self, draft: Draft) -> None:
        for name in named((self.name,)):
            number = draft.ordered(name, self)
            if self.low is not None:
                draft.lower[:, number] = np.maximum(draft.lower[:, number], draft.encoded(number, self.low, self))
                draft.ranged[0, number] = True
            if self.high is not None:
                draft.upper[:, number] = np.minimum(draft.upper[:, number], draft.encoded(number, self.high, self))
                draft.ranged[1, number] = True


@dataclass(frozen=True)
class OneOf:
    """The answer's value is one of these.

    >>> OneOf("protocol", ["tcp", "udp"])
    OneOf(name='protocol', values=('tcp', 'udp'))
    """

    name: Names
    values: tuple[Any, ...]

    def __init__(self, name: Names, values: Iterable[Any]) -> None:
        listed = not isinstance(values, (str, bytes))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "values", tuple(map(plain, values)) if listed else (values,))
        if not self.values or not listed:
            given = "none" if listed else f"the text {values!r}"
            raise ConstraintError(
                "OneOf must list at least one value", f"{given} for {name!r}", "give a list of values"
            )

    def apply(self, draft: Draft) -> None:
        for name in named((self.name,)):
            number = draft.column(name, self)
            allowed = np.unique([draft.encoded(number, value, self) for value in self.values])
            if np.isinf(allowed).any():
                raise ConstraintError("OneOf must list finite values", f"{self!r}", "use Range for an open end")
            before = draft.choices[number]
            draft.choices[number] = allowed if before is None else np.intersect1d(before, allowed)


@dataclass(frozen=True)
class MaxChanges:
    """At most this many features differ from the row.

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
            draft.max_changes, draft.ceiling = min(int(self.count), len(draft.schema)), repr(self)
