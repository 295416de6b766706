"""How a tree library reads the schema's columns, and how its trees are translated back into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.trees.ensemble import LibraryTrees, Tree, TreeEnsemble
from counterpoise.models.trees.nodes import code_places, largest_left, largest_rounded_at_most
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import Array, Index, Mask


@dataclass(frozen=True, eq=False)
class ColumnReading:
    """Where each column of a model comes from, and how its values are read.

    ``columns`` are the encoded columns that the model's come from, ``tables`` the numbers read for the codes of a
    category (the missing cell last); ``narrow_dtypes`` are those, below double precision, in which numbers are given.
    ``width`` is the number of encoded columns.
    """

    columns: Index
    tables: Mapping[int, Array]
    width: int
    narrow_dtypes: Mapping[int, np.dtype[Any]]

    def to_model_rows(self, x: Array) -> Array:
        """Encoded rows ``(p, d)`` as the array of numbers that the model reads, ``(p, w)``."""
        if not self.tables and not self.narrow_dtypes and np.array_equal(self.columns, np.arange(x.shape[1])):
            return x
        out = x[:, self.columns]
        for column, table in self.tables.items():
            out[:, column] = table[code_places(out[:, column], len(table))]
        for column, dtype in self.narrow_dtypes.items():
            out[:, column] = out[:, column].astype(dtype)
        return out

    def invert_limits(self, column: Index, limit: Array) -> Array:
        """The largest encoded values that are read as at most the limits, ``(q,)``, in model columns ``(q,)``."""
        out = limit.copy()
        for narrow, dtype in self.narrow_dtypes.items():
            is_narrow = column == narrow
            out[is_narrow] = largest_rounded_at_most(limit[is_narrow], dtype)
        return out


def read_columns(
    schema: Schema, columns: Index, known: Mapping[int, Sequence[Any]] | None = None
) -> ColumnReading | None:
    """The reading of a model fitted on the columns themselves, or None where a category cannot be read as a number.

    ``known`` are the categories that the model knows in its categorical columns, in the order of their numbers. A
    column that is a number in the schema can hold categories only as their numbers: 0, 1, 2, …
    """
    tables: dict[int, Array] = {}
    for column, place in enumerate(columns.tolist()):
        feature = schema.features[place]
        if known is not None and column in known:
            if feature.is_numeric:
                if [*known[column]] != [*range(len(known[column]))]:
                    return None
                tables[column] = np.array([*range(len(known[column])), np.nan])
                continue
            numbers = {level: float(number) for number, level in enumerate(known[column])}
            tables[column] = np.array([*(numbers.get(level, np.nan) for level in feature.categories), np.nan])
        elif not feature.is_numeric:
            try:
                tables[column] = np.array([*map(float, feature.categories), np.nan])
            except (TypeError, ValueError):
                return None
    dtypes = {column: _float_dtype_of(schema.features[place]) for column, place in enumerate(columns.tolist())}
    narrow = {column: dtype for column, dtype in dtypes.items() if dtype.itemsize < 8}
    return ColumnReading(columns, tables, len(schema), narrow)


def translate_trees(library_trees: LibraryTrees, reading: ColumnReading) -> TreeEnsemble | None:
    """The trees in the schema's columns, or None where they split a number by category."""
    trees = library_trees.trees
    sizes = [len(tree.feature) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)
    column = _join_nodes(trees, "feature").astype(np.intp)
    limit = largest_left(
        _join_nodes(trees, "threshold"), strict=library_trees.is_strict, single=library_trees.compares_in_single
    )
    missing_left = _join_nodes(trees, "missing_left").astype(bool)
    listed = {
        start + node: part
        for start, tree in zip(roots.tolist(), trees, strict=True)
        for node, part in tree.category_sets.items()
    }
    split = column >= 0
    coded = np.zeros(len(column), dtype=bool)
    coded[split] = np.isin(column[split], list(reading.tables))
    if not coded[list(listed)].all():
        return None
    numbers = split & ~coded
    threshold = np.full(len(column), np.nan)
    threshold[numbers] = reading.invert_limits(column[numbers], limit[numbers])
    category, sets = _translate_sets(np.flatnonzero(coded), column, limit, missing_left, listed, reading)
    single = np.zeros(reading.width, dtype=bool)
    if library_trees.compares_in_single:
        halves = [j for j, dtype in reading.narrow_dtypes.items() if dtype.itemsize < 4]
        single[reading.columns[np.setdiff1d(column[numbers], halves)]] = True
    left, right = (
        np.where(split, _join_nodes(trees, side) + np.repeat(roots, sizes), -1).astype(np.intp)
        for side in ("left", "right")
    )
    return TreeEnsemble(
        feature=np.where(split, reading.columns[column], -1),
        threshold=threshold,
        left=left,
        right=right,
        missing_left=missing_left,
        category=category,
        category_sets=sets,
        value=_join_nodes(trees, "value").astype(np.float64),
        roots=roots,
        first_sum=np.array([tree.first_sum for tree in trees], dtype=np.intp),
        base=library_trees.base,
        compares_in_single=single,
        width=reading.width,
        scale=library_trees.scale,
        averages_leaves=library_trees.averages_leaves,
        sums_in_single_precision=library_trees.sums_in_single_precision,
        to_outputs=library_trees.to_outputs,
    )


def _join_nodes(trees: Sequence[Tree], name: str) -> NDArray[Any]:
    """One array of all trees' nodes, tree after tree."""
    return np.concatenate([getattr(tree, name) for tree in trees])


def _translate_sets(
    nodes: Index,
    column: Index,
    limit: Array,
    missing_left: Mask,
    listed: Mapping[int, tuple[frozenset[int], bool]],
    reading: ColumnReading,
) -> tuple[Index, tuple[Mask, ...]]:
    """For each node that splits a coded column, the number of its set of codes that go left; and the sets."""
    category = np.full(len(column), -1, dtype=np.intp)
    seen: dict[Any, int] = {}
    sets: list[Mask] = []
    for node in nodes.tolist():
        rule = listed.get(node, float(limit[node]))
        key = (int(column[node]), rule, bool(missing_left[node]))
        if key not in seen:
            table = reading.tables[key[0]]
            left = table <= rule if isinstance(rule, float) else np.isin(table, list(rule[0])) == rule[1]
            seen[key] = len(sets)
            sets.append(np.where(np.isnan(table), missing_left[node], left))
        category[node] = seen[key]
    return category, tuple(sets)


def _float_dtype_of(feature: Feature) -> np.dtype[Any]:
    """The floating dtype in which the model is given a column."""
    dtype = getattr(feature.dtype, "numpy_dtype", feature.dtype)
    if isinstance(dtype, np.dtype) and dtype.kind == "f" and feature.is_numeric:
        return dtype
    return np.dtype(np.float64)
