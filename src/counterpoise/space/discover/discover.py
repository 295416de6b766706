"""Discovery: relations that reference data obeys, counted and proposed as constraints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.readable import Readable, Summary
from counterpoise.space.constraints.draft import Draft
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.discover.dependence import find_dependence, find_one_hot_groups
from counterpoise.space.discover.orders import find_orders
from counterpoise.space.discover.patterns import (
    DEFAULT_SETTINGS,
    DiscoverySettings,
    FoundRelation,
    PatternSearch,
    RelationSort,
)
from counterpoise.space.discover.quotients import find_rounded_quotients
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import as_table
from counterpoise.types import Array


@dataclass(frozen=True, repr=False)
class Discoveries(Readable):
    """Relations that reference data obeys, best supported first within each sort."""

    relations: tuple[FoundRelation, ...]

    def summarize(self) -> Summary:
        """The relations: their sort, the constraint, the share of rows that obey it, and how many show it."""
        lines = [
            (found.sort, repr(found.constraint), f"{found.holds:.2%}", f"{found.support:,}") for found in self.relations
        ]
        count = f"{len(lines)} relation{'' if len(lines) == 1 else 's'}"
        header = ("sort", "constraint", "holds in", "rows that show it")
        if not lines:
            return Summary("no relation that the reference obeys was found", header, lines)
        return Summary(f"{count} that the reference obeys: look through them before they bind", header, lines)

    def __iter__(self) -> Iterator[FoundRelation]:
        return iter(self.relations)

    def __len__(self) -> int:
        return len(self.relations)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The relations as constraints, each with ``relax=True``."""
        return tuple(found.constraint for found in self.relations)

    @property
    def table(self) -> pd.DataFrame:
        """One line per relation: sort, constraint, holds, support."""
        rows = [(found.sort, repr(found.constraint), found.holds, found.support) for found in self.relations]
        return pd.DataFrame(rows, columns=["sort", "constraint", "holds", "support"])


def discover(
    reference: pd.DataFrame | Array,
    schema: Schema | None = None,
    *,
    share: float = 0.99,
    most: int = 50,
    sorts: Sequence[RelationSort] = get_args(RelationSort),
    settings: DiscoverySettings = DEFAULT_SETTINGS,
) -> Discoveries:
    """Relations between features that at least ``share`` of the reference rows obey, up to ``most`` of each sort.

    The sorts: equal columns, sum, product (which says quotients too), rounded (a quotient that is written rounded),
    order, dependence (one feature decides another), one-hot (exactly one of several columns is 1) and apart (what
    never occurs together). They are what the data shows, not what must be: look through them first. Of a large
    reference a seeded sample is looked through; what is found is counted on all rows. ``settings`` say how much
    evidence a relation must have.

    reference: the table: a frame or an array ``(r, d)``.
    schema: its columns; None: inferred.
    share: of the rows that must obey a relation, between 0 and 1; 0.99 by default.
    most: relations of each sort at most; 50 by default.
    sorts: which sorts are looked for; all by default.
    settings: how much evidence a relation must have.

    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.integers(1, 90, (60, 2)), columns=["fwd", "bwd"])
    >>> table["total"] = table.fwd + table.bwd
    >>> discover(table).table[["sort", "constraint", "holds"]].to_numpy().tolist()[0]
    ['sum', "Rule('total == fwd + bwd', relax=True)", 1.0]
    """
    if not 0.5 < share <= 1:
        raise InputError("share must be above 0.5 and at most 1", f"{share!r}", "for instance 0.99")
    table = as_table(reference, "reference")
    schema = Schema.infer(reference) if schema is None else schema
    some = table
    if len(table) > settings.max_rows_counted:
        picked = np.random.default_rng(0).choice(len(table), settings.max_rows_counted, replace=False)
        some = table.iloc[np.sort(picked)]
    seen = PatternSearch(schema, encode(schema, some, "reference row"), share, settings)
    finders: dict[RelationSort, Callable[[], list[FoundRelation]]] = {
        "equal": seen.find_equal_columns,
        "sum": seen.find_sums,
        "product": seen.find_products,
        "rounded": lambda: find_rounded_quotients(seen),
        "order": lambda: find_orders(seen),
        "dependence": lambda: find_dependence(seen),
        "one-hot": lambda: find_one_hot_groups(seen),
        "apart": seen.find_exclusions,
    }
    found: list[FoundRelation] = []
    for sort, find in finders.items():
        if sort in sorts:
            found.extend(sorted(find(), key=lambda each: (-each.support, repr(each.constraint)))[:most])
    return Discoveries(tuple(found if some is table else _count_on_all_rows(found, schema, table, share)))


def discover_strict(reference: pd.DataFrame, schema: Schema, most: int = 1000, min_rows: int = 40) -> Discoveries:
    """Relations that every reference row obeys, all but what never occurs together; none in fewer than ``min_rows``."""
    if len(reference) < min_rows:
        return Discoveries(())
    sorts: tuple[RelationSort, ...] = ("equal", "sum", "product", "rounded", "order", "dependence", "one-hot")
    apart = DiscoverySettings(joins_orders=False)
    return discover(reference, schema, share=1.0, most=most, sorts=sorts, settings=apart)


def _count_on_all_rows(
    found: Sequence[FoundRelation], schema: Schema, table: pd.DataFrame, share: float, rows_at_once: int = 100_000
) -> list[FoundRelation]:
    """What was found on a sample, if as large a share of all rows obeys it."""
    held = np.zeros(len(found))
    for start in range(0, len(table), rows_at_once):
        x = encode(schema, table.iloc[start : start + rows_at_once], "reference row")
        draft = Draft.make_blank(schema, x[:1])
        for each in found:
            each.constraint.apply(draft)
        with np.errstate(all="ignore"):
            for place, relation in enumerate(draft.relations):
                held[place] += np.count_nonzero(np.broadcast_to(relation.holds(x.T, x.T), len(x)))
    shares = held / len(table)
    return [
        each._replace(holds=float(held_share))
        for each, held_share in zip(found, shares, strict=True)
        if held_share >= share
    ]
