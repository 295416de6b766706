"""Trees evaluated in compiled code: scikit-learn's own loops, over trees made for the purpose.

Rows are first turned into small numbers that single precision holds exactly: how many split points of the column lie
below the value, or, for a split by category, 0 for left and 1 for right. scikit-learn's compiled trees then compare
those, without validation and, where each tree has one output, without a call per tree. The sums are the library's, in
its order and precision.

Milliseconds with 100 trees on 30 columns, one thread: the library's own way from rows to scores, then this one.

================================  ===============  ======================
batch                             16 rows          50 rows x 16 chains
================================  ===============  ======================
RandomForestClassifier            5.7   0.14       11.8   5.6
GradientBoostingClassifier        0.38  0.05       0.90   0.48
HistGradientBoostingClassifier    0.78  0.08       3.6    1.9
IsolationForest                   5.9   0.06       19     1.9
XGBClassifier                     0.31  0.06       1.5    1.5
LGBMClassifier                    0.13  0.08       2.8    1.9
CatBoostClassifier                0.27  0.06       0.62   0.96
================================  ===============  ======================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble._gradient_boosting import predict_stages
from sklearn.tree._tree import NODE_DTYPE
from sklearn.tree._tree import Tree as CompiledTree

from counterpoise.models.trees.nodes import TreeNodes, code_places
from counterpoise.types import Array, Index, Mask, has_no_missing

Float32Array = NDArray[np.float32]


class TreeHolder:
    """Holds one compiled tree where scikit-learn's loop looks for it."""

    __slots__ = ("tree_",)

    def __init__(self, tree: Any) -> None:
        self.tree_ = tree

    def __reduce__(self) -> tuple[type[TreeHolder], tuple[Any]]:
        return TreeHolder, (self.tree_,)


@dataclass(frozen=True, eq=False)
class ComparedColumns:
    """Encoded rows ``(p, d)`` to the small numbers ``(p, m)`` that the compiled trees compare."""

    source_columns: Index  # encoded columns that are split as numbers
    edges: tuple[tuple[int, Array], ...]  # by place, the split points to count; else the value in single precision
    source_places: Index  # for each column compared, its place in the source
    missing_goes_left: Mask  # and whether its missing cells go left
    # encoded column, first column compared, codes that go right ``(codes, s)``
    category_splits: tuple[tuple[int, int, Mask], ...]

    @cached_property
    def _is_plain_copy(self) -> bool:
        """Whether each column is compared as it is, once."""
        return (
            not self.edges
            and not self.category_splits
            and np.array_equal(self.source_places, np.arange(len(self.source_columns)))
        )

    def __call__(self, x: Array) -> Float32Array:
        if self._is_plain_copy:
            with np.errstate(over="ignore"):
                plain = (x if len(self.source_columns) == x.shape[1] else x.take(self.source_columns, axis=1)).astype(
                    np.float32
                )
            if not has_no_missing(x):
                plain[np.isnan(plain) & self.missing_goes_left] = -np.inf
            return plain
        picked = np.ascontiguousarray(x.T[self.source_columns])
        with np.errstate(over="ignore"):
            numbers = picked.astype(np.float32)
        for row, edges in self.edges:
            numbers[row] = edges.searchsorted(picked[row])  # a missing cell counts above all, and so goes right
        width = len(self.source_places)
        out = np.empty((len(x), width + sum(right.shape[1] for _, _, right in self.category_splits)), dtype=np.float32)
        out[:, :width] = numbers[self.source_places].T
        is_missing = np.isnan(picked)
        if is_missing.any():
            out[:, :width][(is_missing[self.source_places] & self.missing_goes_left[:, None]).T] = -np.inf
        for place, first, right in self.category_splits:
            out[:, first : first + right.shape[1]] = right[code_places(x[:, place], len(right))]
        return out


@dataclass(frozen=True, eq=False)
class CompiledTrees:
    """The nodes of all trees as compiled trees, ready to be evaluated."""

    columns: ComparedColumns
    stages: NDArray[Any]  # (stages, c) holders of one-output trees, in the order in which each output adds them
    multi_output_trees: tuple[tuple[Any, int], ...]  # trees of several outputs, and the first sum of each
    base: Array
    scale: float
    divisor: float
    sums_in_single_precision: bool
    max_rows_for_single_output_trees: int = 48  # up to it one call for all trees, one tree an output, is quicker
    max_single_output_nodes: int = 1_000_000  # of such trees, which are kept beside the others: 64 bytes each

    @classmethod
    def of(cls, trees: TreeNodes) -> CompiledTrees:
        """Compile an ensemble."""
        columns, feature, threshold = _make_columns(trees)
        ends = np.append(trees.roots[1:], len(trees.feature))
        compiled = []
        for start, end in zip(trees.roots.tolist(), ends.tolist(), strict=True):
            part = slice(start, end)
            leaf = trees.feature[part] < 0
            nodes = np.zeros(end - start, dtype=NODE_DTYPE)
            nodes["left_child"] = np.where(leaf, -1, trees.left[part] - start)
            nodes["right_child"] = np.where(leaf, -1, trees.right[part] - start)
            nodes["feature"] = np.where(leaf, -2, feature[part])
            nodes["threshold"] = np.where(leaf, -2.0, threshold[part])
            compiled.append(_compile(nodes, trees.value[part]))
        stages = np.empty((0, len(trees.base)), dtype=object)
        wide = tuple(zip(compiled, trees.first_sum.tolist(), strict=True))
        if trees.value.shape[1] == 1:
            stages, wide = _arrange_stages(compiled, trees.first_sum, len(trees.base)), ()
        divisor = float(len(wide) or len(stages)) if trees.averages_leaves else 1.0
        return cls(columns, stages, wide, trees.base, trees.scale, divisor, trees.sums_in_single_precision)

    @cached_property
    def single_output_trees(self) -> NDArray[Any]:
        """Trees of several outputs as a tree for each output, ``(trees, c)``; none where they are too large."""
        if sum(tree.node_count for tree, _ in self.multi_output_trees) * len(self.base) > self.max_single_output_nodes:
            return np.empty((0, len(self.base)), dtype=object)
        states = [(tree.__getstate__(), first) for tree, first in self.multi_output_trees]
        apart = [(_compile(s["nodes"], v), first + k) for s, first in states for k, v in enumerate(s["values"][:, 0].T)]
        return _arrange_stages([tree for tree, _ in apart], np.array([column for _, column in apart]), len(self.base))

    def __call__(self, x: Array) -> Array:
        rows = self.columns(x)
        if self.sums_in_single_precision:
            return self._sum_in_single_precision(rows)
        out = np.tile(self.base, (len(x), 1))
        stages = (
            self.single_output_trees
            if self.multi_output_trees and len(x) <= self.max_rows_for_single_output_trees
            else self.stages
        )
        if len(stages):
            predict_stages(stages, rows, self.scale, out)
        else:
            for tree, first in self.multi_output_trees:
                found = tree.predict(rows)
                out[:, first : first + found.shape[1]] += found
        if self.divisor != 1.0:
            out /= self.divisor
        return out

    def _sum_in_single_precision(self, rows: Float32Array) -> Array:
        count, outputs = self.stages.shape
        leaves = np.zeros((len(rows), count * outputs))
        predict_stages(self.stages.reshape(1, -1), rows, 1.0, leaves)
        terms = np.empty((count + 1, outputs, len(rows)), dtype=np.float32)
        terms[0] = self.base[:, None]
        terms[1:] = leaves.T.reshape(count, outputs, -1)
        # accumulate adds one after the other, as the library does; sum would add in pairs.
        return np.asarray(np.add.accumulate(terms, axis=0)[-1].T, dtype=np.float64)


def _make_columns(trees: TreeNodes) -> tuple[ComparedColumns, Index, Array]:
    """The columns to compare, and for each node its column and threshold among them."""
    split = trees.feature >= 0
    of_numbers = split & (trees.category < 0)
    feature, threshold = np.full(len(split), -2, dtype=np.intp), np.full(len(split), -2.0)
    pairs, which = np.unique(2 * trees.feature[of_numbers] + trees.missing_left[of_numbers], return_inverse=True)
    feature[of_numbers] = which
    source, twin = np.unique(pairs // 2, return_inverse=True)
    edges: list[tuple[int, Array]] = []
    for row, place in enumerate(source.tolist()):
        nodes = of_numbers & (trees.feature == place)
        if trees.compares_in_single[place]:
            with np.errstate(over="ignore"):
                threshold[nodes] = trees.threshold[nodes].astype(np.float32)
        else:
            found = np.unique(trees.threshold[nodes])
            threshold[nodes] = found.searchsorted(trees.threshold[nodes])
            edges.append((row, found))
    coded, first = [], len(pairs)
    of_sets = split & ~of_numbers
    for place in np.unique(trees.feature[of_sets]).tolist():
        nodes = of_sets & (trees.feature == place)
        used, which = np.unique(trees.category[nodes], return_inverse=True)
        coded.append((place, first, np.stack([~trees.category_sets[number] for number in used.tolist()], axis=1)))
        feature[nodes], threshold[nodes] = first + which, 0.5
        first += len(used)
    return ComparedColumns(source, tuple(edges), twin, pairs % 2 == 1, tuple(coded)), feature, threshold


def _compile(nodes: NDArray[Any], value: Array) -> Any:
    outputs = value.size // len(nodes)
    tree = CompiledTree(1, np.array([outputs], dtype=np.intp), 1)
    values = np.ascontiguousarray(value.reshape(len(nodes), 1, outputs))
    tree.__setstate__({"max_depth": 1, "node_count": len(nodes), "nodes": nodes, "values": values})
    return tree


def _arrange_stages(compiled: list[Any], column: Index, outputs: int) -> NDArray[Any]:
    nothing = np.zeros(1, dtype=NODE_DTYPE)
    nothing["left_child"] = nothing["right_child"] = -1
    empty = TreeHolder(_compile(nothing, np.zeros((1, 1))))
    of_output = [[TreeHolder(compiled[number]) for number in np.flatnonzero(column == k)] for k in range(outputs)]
    stages = np.full((max(map(len, of_output)), outputs), empty, dtype=object)
    for k, holders in enumerate(of_output):
        stages[: len(holders), k] = holders
    return stages
