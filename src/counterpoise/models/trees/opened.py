"""TreeModel: a model that answers for itself, asked by the shortest way, whose trees are known."""

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
from counterpoise.types import Array, Link, Model, ModelBase

MAX_PROBABILITY_DIFFERENCE = 1e-6  # difference of probabilities that single precision explains
MAX_ROUNDING_DIFFERENCE = 1e-5  # relative difference that no order of adding up in single precision explains


@dataclass(frozen=True, eq=False)
class ShortcutModel(ModelBase):
    """A Model whose outputs come by a shorter way: ``own`` answers for the user's model in everything else."""

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

    def outputs(self, x: Array) -> Array:
        """Outputs ``(p, c)`` of the encoded rows ``(p, d)``: the library's own, to the bit."""
        return self.fast_outputs(x)

    def predict(self, x: Array) -> NDArray[Any]:
        """What the user's own ``predict`` says."""
        return self.own_model.predict(x)

    def probabilities(self, x: Array) -> Array | None:
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
    own: Model,
    grove: LibraryTrees | None,
    reading: ColumnReading | None,
    probe: Array,
    *,
    library: Callable[[Array], Array] | None = None,
    most: int | None = None,
    tolerance: float = 0.0,
) -> Model:
    """``own`` with its trees known, or as it is where they cannot be read.

    ``library`` is a shorter way to the library's own outputs, from encoded rows. The trees answer in its place only if
    they do so to the bit on the probing rows (within ``tolerance`` where the library itself adds up in any order), and,
    where ``most`` is given, only for batches of at most so many rows. Trees that are off by more than rounding were
    misread, and are left aside.
    """
    if library is not None and relative_difference(library, own.outputs, probe) != 0:
        library = None
    trees = None if grove is None or reading is None or not grove.trees else translate_trees(grove, reading)
    if grove is None or trees is None:
        return own if library is None else ShortcutModel(own, library)
    slow = library or own.outputs
    away = relative_difference(trees.outputs, slow, probe)
    if away > MAX_ROUNDING_DIFFERENCE:
        return own if library is None else ShortcutModel(own, library)
    if away <= tolerance:
        return make_tree_model(
            own, trees.outputs if most is None else _choose_by_row_count(trees.outputs, slow, most), trees, probe
        )
    return make_tree_model(own, slow, trees, probe)


def make_tree_model(own: Model, scores: Callable[[Array], Array], trees: TreeEnsemble, probe: Array) -> TreeModel:
    """``own`` with its trees known; how its probabilities follow from its outputs is settled on the probing rows."""
    likely = own.probabilities(probe) if own.labels is not None and own.link != "log" else None
    if likely is None:
        return TreeModel(own, scores, trees)
    told = np.asarray(softmax(scores(probe)))
    return TreeModel(
        own,
        scores,
        trees,
        told.shape == likely.shape and bool(np.abs(told - likely).max() <= MAX_PROBABILITY_DIFFERENCE),
    )


def _choose_by_row_count(
    few: Callable[[Array], Array], many: Callable[[Array], Array], most: int
) -> Callable[[Array], Array]:
    return lambda x: few(x) if len(x) <= most else many(x)


def relative_difference(short: Callable[[Array], Array], long: Callable[[Array], Array], probe: Array) -> float:
    """How far two ways to the outputs of the probing rows are apart, relative to their size; NaN where one fails."""
    theirs = long(probe)
    try:
        mine = short(probe)
    except Exception:  # whatever a library refuses, the long way is open
        return np.nan
    if mine.shape != theirs.shape or not np.isfinite(theirs).all():
        return np.inf
    return float(np.abs(mine - theirs).max(initial=0.0) / max(1.0, np.abs(theirs).max(initial=0.0)))
