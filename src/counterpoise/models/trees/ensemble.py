"""TreeEnsemble: a model's trees, ready to be evaluated and searched; LibraryTrees: the same as a library has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from counterpoise.models.links import SoftmaxToOutputs, ToOutputs
from counterpoise.models.trees.leaves import Leaves
from counterpoise.models.trees.nodes import TreeNodes
from counterpoise.types import Array, Index, Mask


class Tree(NamedTuple):
    """One tree as its library has it, in the model's own columns; node 0 is the root.

    ``feature`` is -1 in a leaf; ``value`` is ``(nodes, w)``; ``category_sets`` gives, for a node that splits by
    category, the category numbers listed and whether those go left; ``first_sum`` is the first of the sums that the
    tree adds to.
    """

    feature: Index
    threshold: Array
    left: Index
    right: Index
    missing_left: Mask
    value: Array
    category_sets: Mapping[int, tuple[frozenset[int], bool]]
    first_sum: int


@dataclass(frozen=True, eq=False)
class LibraryTrees:
    """The trees of one model, whose outputs are ``to_outputs(base + scale * sum)``, or of the mean of the leaves.

    ``is_strict``: a value goes left where it is less than the threshold, not at it; ``compares_in_single``: it is
    rounded to single precision before; ``sums_in_single_precision``: leaves are summed in single precision.
    """

    trees: Sequence[Tree]
    base: Array
    to_outputs: ToOutputs
    scale: float = 1.0
    averages_leaves: bool = False
    is_strict: bool = False
    compares_in_single: bool = False
    sums_in_single_precision: bool = False


@dataclass(frozen=True, eq=False)
class TreeEnsemble(TreeNodes):
    """All trees of a model, with what is made of their nodes: compiled trees for outputs, leaves for searches.

    >>> import numpy as np
    >>> stump = TreeEnsemble(
    ...     feature=np.array([0, -1, -1]), threshold=np.array([2.5, np.nan, np.nan]), left=np.array([1, -1, -1]),
    ...     right=np.array([2, -1, -1]), missing_left=np.zeros(3, bool), category=np.full(3, -1), category_sets=(),
    ...     value=np.array([[0.0], [-1.0], [1.0]]), roots=np.array([0]), first_sum=np.array([0]), base=np.array([0.5]),
    ...     compares_in_single=np.array([False]), width=1)
    >>> stump.outputs(np.array([[2.5], [np.nextafter(2.5, np.inf)], [np.nan]]))[:, 0], stump.thresholds
    (array([-0.5,  1.5,  1.5]), (array([2.5]),))
    """

    @cached_property
    def _compiled_trees(self) -> Callable[[Array], Array]:
        # imported here: needs compiled parts that a later scikit-learn may not have
        from counterpoise.models.trees.compiled import CompiledTrees

        return CompiledTrees.of(self)

    @cached_property
    def leaves(self) -> Leaves | None:
        """All leaves, or None where nothing is split."""
        return Leaves.of(self)

    @cached_property
    def probability_leaves(self) -> Leaves | None:
        """``leaves`` with softmax applied to the sums."""
        return None if self.leaves is None else replace(self.leaves, to_outputs=SoftmaxToOutputs(self.to_outputs))

    def __getstate__(self) -> dict[str, Any]:
        caches = ("leaves", "probability_leaves")  # made again sooner than sent
        return {name: value for name, value in self.__dict__.items() if name not in caches}

    def sums(self, x: Array) -> Array:
        """The sums of the leaves ``(p, s)`` for encoded rows ``(p, d)``, in the library's order and precision."""
        return self._compiled_trees(x)

    def outputs(self, x: Array) -> Array:
        """The model's outputs ``(p, c)`` for encoded rows ``(p, d)``."""
        return self.to_outputs(self.sums(x))
