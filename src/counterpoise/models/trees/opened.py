"""TreeModel: the user's model with its trees known, and its outputs by the quickest function that repeats them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.links import softmax
from counterpoise.models.trees.columns import ColumnReading, translate_trees
from counterpoise.models.trees.ensemble import LibraryTrees, TreeEnsemble
from counterpoise.models.trees.leaves import Leaves
from counterpoise.types import Array, Link, Model, ModelBase, OwnModel, Points

MAX_ROUNDING_DIFFERENCE = 1e-5  # relative: sums in single precision differ by less, whatever their order


@dataclass(frozen=True, eq=False)
class ShortcutModel(ModelBase):
    """A Model whose outputs come from a quicker function; ``own_model`` gives everything else."""

    own_model: Model
    fast_outputs: Callable[[Array], Array]

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The classes in the order of the outputs, or None."""
        return self.own_model.labels

    @property
    def link(self) -> Link:
        """What the outputs are: decision values or probabilities."""
        return self.own_model.link

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how the model is asked."""
        return self.own_model.notes

    @property
    def own(self) -> OwnModel:
        """The model without the quicker outputs."""
        return self.own_model.own

    def outputs(self, x: Array) -> Array:
        """Outputs ``(p, c)`` of the encoded rows ``(p, d)``: the library's own, to the bit."""
        return self.fast_outputs(x)

    def predict(self, x: Points) -> NDArray[Any]:
        """What the user's own ``predict`` says."""
        return self.own_model.predict(x)

    def probabilities(self, x: Points) -> Array | None:
        """The user's own probabilities, or None."""
        return self.own_model.probabilities(x)


@dataclass(frozen=True, eq=False)
class TreeModel(ShortcutModel):
    """A Model that is constant on boxes: ``trees`` show where it can change."""

    trees: TreeEnsemble = field()
    has_softmax_probabilities: bool = False  # whether the probabilities are the softmax of the outputs

    @property
    def thresholds(self) -> tuple[Array, ...]:
        """Split points of each column, sorted; a value goes left where ``value <= threshold``."""
        return self.trees.thresholds

    @property
    def leaves(self) -> Leaves | None:
        """The leaves of all trees, or None where nothing is split."""
        return self.trees.leaves


def open_trees(
    own_model: Model,
    library_trees: LibraryTrees | None,
    reading: ColumnReading | None,
    probe: Array,
    *,
    library: Callable[[Array], Array] | None = None,
    max_rows: int | None = None,
    tolerance: float = 0.0,
) -> Model:
    """``own_model`` with its trees known, or as it is where they cannot be read.

    ``library`` is a quicker function from encoded rows to the library's own outputs. The trees answer in its place only
    if they equal it to the bit on the probing rows (within ``tolerance`` where the library itself adds up in any
    order), and, where ``max_rows`` is given, only for batches of at most so many rows. Trees that differ by more than
    rounding were misread: they are not used.
    """
    if library is not None and relative_difference(library, own_model.outputs, probe) != 0:
        library = None
    trees = (
        None
        if library_trees is None or reading is None or not library_trees.trees
        else translate_trees(library_trees, reading)
    )
    if library_trees is None or trees is None:
        return own_model if library is None else ShortcutModel(own_model, library)
    slow = library or own_model.outputs
    away = relative_difference(trees.outputs, slow, probe)
    if away > MAX_ROUNDING_DIFFERENCE:
        return own_model if library is None else ShortcutModel(own_model, library)
    if away <= tolerance:
        return make_tree_model(
            own_model,
            trees.outputs if max_rows is None else _choose_by_row_count(trees.outputs, slow, max_rows),
            trees,
            probe,
        )
    return make_tree_model(own_model, slow, trees, probe)


def make_tree_model(own_model: Model, scores: Callable[[Array], Array], trees: TreeEnsemble, probe: Array) -> TreeModel:
    """``own_model`` with its trees known; the probing rows show if its probabilities are the softmax of its outputs."""
    likely = own_model.probabilities(probe) if own_model.labels is not None and own_model.link != "log" else None
    if likely is None:
        return TreeModel(own_model, scores, trees)
    found = np.asarray(softmax(scores(probe)))
    # single precision explains a difference of 1e-6
    same = found.shape == likely.shape and bool(np.abs(found - likely).max() <= 1e-6)
    return TreeModel(own_model, scores, trees, same)


def _choose_by_row_count(
    for_few: Callable[[Array], Array], for_many: Callable[[Array], Array], max_rows: int
) -> Callable[[Array], Array]:
    return lambda x: for_few(x) if len(x) <= max_rows else for_many(x)


def relative_difference(short: Callable[[Array], Array], long: Callable[[Array], Array], probe: Array) -> float:
    """The largest difference of two output functions on the probing rows, relative to their size; NaN if one fails."""
    theirs = long(probe)
    try:
        mine = short(probe)
    except Exception:  # whatever a library refuses, the slower function answers
        return np.nan
    if mine.shape != theirs.shape or not np.isfinite(theirs).all():
        return np.inf
    return float(np.abs(mine - theirs).max(initial=0.0) / max(1.0, np.abs(theirs).max(initial=0.0)))
