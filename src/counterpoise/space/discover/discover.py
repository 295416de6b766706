"""Discovery: relations that reference data obeys, counted and proposed as constraints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.readable import Readable, Summary
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.discover.patterns import DEFAULT_SETTINGS, DiscoverySettings, FoundRelation, PatternSearch
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
    settings: DiscoverySettings = DEFAULT_SETTINGS,
) -> Discoveries:
    """Relations between features that at least ``share`` of the reference rows obey, up to ``most`` of each sort.

    The sorts: equal columns, sum, product (which says quotients too), order, dependence (one feature decides another)
    and apart (what never occurs together). They are what the data shows, not what must be: look through them first.
    ``settings`` say how much evidence a relation must have.

    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.integers(1, 90, (60, 2)), columns=["fwd", "bwd"])
    >>> table["total"] = table.fwd + table.bwd
    >>> discover(table).table[["sort", "constraint", "holds"]].to_numpy().tolist()
    [['sum', "Rule('total == fwd + bwd', relax=True)", 1.0]]
    """
    if not 0.5 < share <= 1:
        raise InputError("share must be above 0.5 and at most 1", f"{share!r}", "for instance 0.99")
    table = as_table(reference, "reference")
    schema = Schema.infer(reference) if schema is None else schema
    if len(table) > settings.max_rows_counted:
        picked = np.random.default_rng(0).choice(len(table), settings.max_rows_counted, replace=False)
        table = table.iloc[np.sort(picked)]
    seen = PatternSearch(schema, encode(schema, table, "reference row"), share, settings)
    found: list[FoundRelation] = []
    for part in (
        seen.find_equal_columns(),
        seen.find_sums(),
        seen.find_products(),
        seen.find_orders(),
        seen.find_dependence(),
        seen.find_exclusions(),
    ):
        found.extend(sorted(part, key=lambda each: (-each.support, repr(each.constraint)))[:most])
    return Discoveries(tuple(found))
