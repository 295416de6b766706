"""The constraints that relate features to each other: each is data that applies itself to a `Draft`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from counterpoise.errors import ConstraintError
from counterpoise.space.constraints.draft import Draft, check_exact_column
from counterpoise.space.constraints.words import Constraint, NameOrNames, flatten_names
from counterpoise.space.rules.cell_formulas import OneHotGroup, SameAsRow, TableLookup
from counterpoise.space.rules.formulas import Combination
from counterpoise.space.rules.grammar import parse_syntax
from counterpoise.space.rules.parse import parse_expression, parse_formula
from counterpoise.space.rules.relations import Derivation, FormulaRelation, FunctionRelation
from counterpoise.space.schema.schema import Schema
from counterpoise.types import is_number

DEFAULT_TOLERANCE = 1e-6


def _options_text(tolerance: float, relax: bool) -> str:
    """The part of a repr that shows options which differ from their defaults."""
    return (f", tolerance={tolerance!r}" if tolerance != DEFAULT_TOLERANCE else "") + (", relax=True" if relax else "")


def _check_tolerance(constraint: object, tolerance: Any) -> None:
    if not is_number(tolerance) or not 0 <= tolerance < 1:
        raise ConstraintError(
            "a tolerance must be a number from 0 to below 1",
            f"{constraint!r} has {tolerance!r}",
            "it is relative to the two sides compared",
        )


@dataclass(frozen=True, repr=False)
class Rule:
    """A relation between features, as text: it binds the answer.

    ``tolerance`` is relative to ``max(1, |a|, |b|)`` of the two sides of each ``==`` and ``<=``. With ``relax=True``
    the rule does not bind rows that break it themselves.

    text: a comparison, or several joined by ``and``, ``or``, ``not``, ``if … then``, ``implies``; names with spaces in
        backquotes, the row's own value as ``x0.name``.
    tolerance: how far the two sides may differ, relative to the larger of them and at least to 1; 1e-6 by default.
    relax: True lets rows off the rule that break it themselves; False by default.

    >>> Rule("min <= mean <= max"), Rule("fwd + bwd == total", tolerance=0.001)
    (Rule('min <= mean <= max'), Rule('fwd + bwd == total', tolerance=0.001))
    """

    text: str
    tolerance: float = DEFAULT_TOLERANCE
    relax: bool = False

    def __post_init__(self) -> None:
        parse_syntax(self.text)
        _check_tolerance(self, self.tolerance)

    def __repr__(self) -> str:
        return f"Rule({self.text!r}{_options_text(self.tolerance, self.relax)})"

    def compile_relation(self, schema: Schema) -> FormulaRelation:
        """The relation over the columns of a schema."""
        return FormulaRelation(repr(self), parse_formula(self.text, schema, self.tolerance), self.relax)

    def apply(self, draft: Draft) -> None:
        draft.relations.append(self.compile_relation(draft.schema))


@dataclass(frozen=True, repr=False)
class Derived:
    """A feature that is computed from others: recomputed after every change, never moved on its own.

    name: the feature that is computed.
    text: what it is computed from, such as ``bytes / duration``: the left side of a `Rule`.
    tolerance: how far the two sides may differ, relative to the larger of them and at least to 1; 1e-6 by default.
    relax: True lets rows off the rule that break it themselves; False by default.

    >>> Derived("rate", "bytes / duration")
    Derived('rate', 'bytes / duration')
    """

    name: Hashable
    text: str
    tolerance: float = DEFAULT_TOLERANCE
    relax: bool = False

    def __post_init__(self) -> None:
        parse_syntax(self.text)
        _check_tolerance(self, self.tolerance)

    def __repr__(self) -> str:
        return f"Derived({self.name!r}, {self.text!r}{_options_text(self.tolerance, self.relax)})"

    def compile_relation(self, schema: Schema) -> Derivation:
        """The relation over the columns of a schema."""
        number = schema.position(self.name)
        feature = schema.features[number]
        if not feature.is_numeric:
            raise ConstraintError(
                "a derived feature must be a number", f"{self.name!r} is {feature.kind}", "use Rule with an implication"
            )
        check_exact_column(feature, self)
        made = parse_expression(self.text, schema)
        step = 1.0 if feature.kind == "integer" else 0.0
        storage = feature.storage_dtype
        narrow = storage if storage is not None and storage.kind == "f" and storage.itemsize < 8 else None
        size = min(1.0, max(abs(feature.lower), abs(feature.upper)))
        return Derivation(repr(self), number, made, self.tolerance, step, feature.decimals, narrow, self.relax, size)

    def apply(self, draft: Draft) -> None:
        draft.record_column(self.name, self)
        draft.relations.append(self.compile_relation(draft.schema))


@dataclass(frozen=True, init=False, repr=False)
class Linked:
    """These features change together or not at all.

    names: two or more names of features.

    >>> Linked("source", "destination")
    Linked('source', 'destination')
    """

    names: tuple[Hashable, ...]

    def __init__(self, *names: NameOrNames) -> None:
        object.__setattr__(self, "names", flatten_names(names))
        if len(set(self.names)) < 2:
            raise ConstraintError("Linked must name at least two features", f"{self!r}", "name those that go together")

    def __repr__(self) -> str:
        return f"Linked({', '.join(map(repr, self.names))})"

    def compile_relation(self, schema: Schema) -> FormulaRelation:
        """The relation over the columns of a schema."""
        columns = [schema.position(name) for name in self.names]
        none = Combination("all", tuple(SameAsRow(column) for column in columns))
        every = Combination("all", tuple(SameAsRow(column, is_same=False) for column in columns))
        return FormulaRelation(repr(self), Combination("any", (none, every)))

    def apply(self, draft: Draft) -> None:
        for name in self.names:
            draft.record_column(name, self)
        draft.relations.append(self.compile_relation(draft.schema))


@dataclass(frozen=True, init=False)
class Lookup:
    """A feature has the value that a table gives for another one.

    Values of the other feature that are not in the table are not allowed.

    name: the feature that follows.
    of: the feature that it follows.
    table: a mapping from values of ``of`` to values of ``name``.
    relax: True lets rows off the rule that break it themselves; False by default.

    >>> Lookup("port", of="service", table={"http": 80, "dns": 53}).of
    'service'
    """

    name: Hashable
    of: Hashable
    table: tuple[tuple[Any, Any], ...]
    relax: bool = False

    def __init__(self, name: Hashable, of: Hashable, table: Mapping[Any, Any], relax: bool = False) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "table", tuple(dict(table).items()))
        object.__setattr__(self, "relax", relax)
        if not self.table:
            raise ConstraintError("Lookup must have a table", f"{self!r}", "give at least one pair of values")

    def apply(self, draft: Draft) -> None:
        number, other = draft.record_column(self.name, self), draft.record_column(self.of, self)
        pairs = sorted((draft.encode_value(other, k, self), draft.encode_value(number, v, self)) for k, v in self.table)
        keys, values = zip(*pairs, strict=True)
        draft.relations.append(FormulaRelation(repr(self), TableLookup(number, other, keys, values), self.relax))


@dataclass(frozen=True, init=False, repr=False)
class OneHot:
    """Exactly one of these 0/1 columns is 1: a category that the user has one-hot encoded.

    names: two or more names of columns of zeros and ones.
    relax: True lets rows off the rule that break it themselves; False by default.

    >>> OneHot("tcp", "udp", "icmp")
    OneHot('tcp', 'udp', 'icmp')
    """

    names: tuple[Hashable, ...]
    relax: bool = False

    def __init__(self, *names: NameOrNames, relax: bool = False) -> None:
        object.__setattr__(self, "names", flatten_names(names))
        object.__setattr__(self, "relax", relax)
        if len(set(self.names)) < 2:
            raise ConstraintError("OneHot must name at least two features", f"{self!r}", "name those of one category")

    def __repr__(self) -> str:
        return f"OneHot({', '.join(map(repr, self.names))}{', relax=True' if self.relax else ''})"

    def apply(self, draft: Draft) -> None:
        columns = tuple(sorted(draft.record_column(name, self) for name in self.names))
        draft.relations.append(FormulaRelation(repr(self), OneHotGroup(columns), self.relax))


ConstraintOrFunction = Constraint | Callable[[pd.DataFrame], Any]
"""A constraint, or a function that says for each row of a frame whether it is allowed."""


def as_constraints(constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction) -> tuple[Constraint, ...]:
    """One constraint or a list of them, as a tuple; a bare function of a frame becomes a `FunctionConstraint`."""
    # hasattr, since isinstance of a protocol says the same, slowly
    given: Any = [constraints] if hasattr(constraints, "apply") or callable(constraints) else constraints
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise ConstraintError(
            "constraints must be a list of words", f"{given!r}", "for instance [cp.Immutable('age')], or () for none"
        )
    return tuple(
        FunctionConstraint(each) if callable(each) and not isinstance(each, (Constraint, type)) else each
        for each in given
    )


@dataclass(frozen=True)
class FunctionConstraint:
    """A function of a frame that says for each row whether it is allowed: checked, not guided."""

    function: Callable[..., Any]

    def __repr__(self) -> str:
        return f"{getattr(self.function, '__name__', type(self.function).__name__)}(frame)"

    def apply(self, draft: Draft) -> None:
        draft.relations.append(FunctionRelation(repr(self), self.function, draft.schema))
