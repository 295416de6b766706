"""The shape law and the protocols that every layer speaks.

Shape law: n rows, k chains, d columns, m cloud samples, c model outputs. Search arrays are ``(n, k, d)``, models see
``(p, d)``; the reshape between the two happens in `counterpoise.problem` and nowhere else.

Search arrays hold encoded values: a number as it is, a category as its code, a missing cell as NaN.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeGuard, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

Link = Literal["identity", "log"]

Points: TypeAlias = "Array | pd.DataFrame"
"""Encoded rows ``(p, d)``, or a frame with the features' columns in the form in which the user has them."""


def is_number(value: object) -> TypeGuard[float]:
    """Whether a setting is a number that double precision can hold; True and False are none.

    >>> is_number(np.float32(0.5)), is_number(True), is_number("1"), is_number(10**400)
    (True, False, False, False)
    """
    if isinstance(value, int):
        return not isinstance(value, bool) and abs(value) <= sys.float_info.max
    return isinstance(value, (float, np.integer, np.floating))


def is_whole_number(value: object) -> TypeGuard[int]:
    """Whether a setting is a whole number, by its type; True and False are none.

    >>> is_whole_number(np.int64(3)), is_whole_number(3.0), is_whole_number(True)
    (True, False, False)
    """
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_identity_index(index: Index, n: int) -> bool:
    """Whether places are all of n, in order.

    >>> is_identity_index(np.array([0, 1]), 2), is_identity_index(np.array([1, 0]), 2)
    (True, False)
    """
    if len(index) != n:
        return False
    return bool(index[0] == 0) if n == 1 else bool((index == np.arange(n)).all())


def split_rows(count: int, max_cells: int, cells_per_row: int) -> list[Index]:
    """The numbers of ``count`` rows in chunks of at most ``max_cells`` cells, and of one row at least.

    There is always a chunk, if only an empty one, so that results can be put together again.

    >>> [rows.tolist() for rows in split_rows(3, max_cells=25, cells_per_row=10)]
    [[0, 1], [2]]
    """
    size = max(1, max_cells // max(cells_per_row, 1))
    return [np.arange(start, min(start + size, count)) for start in range(0, max(count, 1), size)]


def has_no_missing(x: Array) -> bool:
    """Whether no cell of an array is missing, in one sweep.

    >>> has_no_missing(np.array([1.0, 2.0])), has_no_missing(np.array([1.0, np.nan]))
    (True, False)
    """
    least = np.minimum.reduce(x, axis=None, initial=np.inf)  # NaN, if there is one
    return bool(least == least)


Pullback = Callable[[Array], Array]
"""Weights ``(p, c)`` of outputs to the gradient ``(p, d)`` of their sum, at points known beforehand."""

Gradient = Callable[[Array, Array], Array]
"""Rows ``(p, d)`` and weights ``(p, c)`` to the gradient ``(p, d)`` of ``sum_c weights[:, c] * outputs(x)[:, c]``."""

OutputsAndPullback = Callable[[Array], tuple[Array, Pullback]]
"""Rows ``(p, d)`` to their outputs ``(p, c)`` and what gives the gradient of these: Eq. (2) in one pass."""

HessianProduct = Callable[[Array, Array, Array], Array]
"""Rows, weights as for `Gradient` and directions ``(p, d)`` to the Hessian of the weighted sum times these."""


@runtime_checkable
class MinimalModel(Protocol):
    """The five members that any model has: encoded rows in, one column per output out.

    ``labels`` are the classes in the order of the outputs, or None where the model gives one number (a regression, a
    score). ``link`` says what the outputs are: decision values ("identity") or probabilities ("log": margins are
    taken between their logarithms).
    """

    @property
    def labels(self) -> tuple[Any, ...] | None: ...

    @property
    def link(self) -> Link: ...

    def outputs(self, x: Array) -> Array:
        """Outputs ``(p, c)`` of the encoded rows ``(p, d)``."""
        ...

    def predict(self, x: Array) -> NDArray[Any]:
        """What the user's own ``predict`` says, ``(p,)``: labels, or numbers where ``labels`` is None."""
        ...

    def probabilities(self, x: Array) -> Array | None:
        """The user's own probabilities ``(p, c)``, or None where the model has none."""
        ...


class OwnModel(Protocol):
    """What the user's own methods say, with no formula in between: outputs and what they are."""

    @property
    def link(self) -> Link: ...

    def outputs(self, x: Points) -> Array:
        """Outputs ``(p, c)``."""
        ...


class Model(MinimalModel, Protocol):
    """A fitted model as the search sees it: what every model has, and what it can do beyond that.

    ``predict`` and ``probabilities`` take a frame in the user's own form as well, and show the user's model just that.

    Each capability exists on every model and is None (or False, or empty) where the model does not have it, so that
    nobody asks `hasattr`. `ModelBase` has these defaults: an adapter inherits from it and overrides what it offers.
    """

    def predict(self, x: Points) -> NDArray[Any]:
        """What the user's own ``predict`` says, ``(p,)``: labels, or numbers where ``labels`` is None."""
        ...

    def probabilities(self, x: Points) -> Array | None:
        """The user's own probabilities ``(p, c)``, or None where the model has none."""
        ...

    @property
    def own(self) -> OwnModel:
        """The same model, asked through the user's own methods alone; often itself."""
        ...

    @property
    def gradient(self) -> Gradient | None:
        """How the outputs change with the row."""
        ...

    @property
    def outputs_and_pullback(self) -> OutputsAndPullback | None:
        """Outputs and their gradient from one pass over the rows; only beside ``gradient``."""
        ...

    @property
    def hvp(self) -> HessianProduct | None:
        """Curvature: Hessian-vector products of the outputs; only beside ``gradient``."""
        ...

    @property
    def thresholds(self) -> tuple[Array, ...] | None:
        """Split points of each column, sorted, of a model that is constant between them.

        A value goes left where ``value <= threshold``.
        """
        ...

    @property
    def trees(self) -> Any | None:
        """The trees of a model made of them (`models.trees.ensemble.TreeEnsemble`), where they could be read."""
        ...

    @property
    def leaves(self) -> Any | None:
        """The leaves (`models.trees.leaves.Leaves`) whose sums are the outputs; only beside ``trees``."""
        ...

    @property
    def layers(self) -> Any | None:
        """The layers (`models.layers.LayerOutputs`) of a network, or the one layer of a linear model."""
        ...

    @property
    def is_additive(self) -> bool:
        """Whether log-odds add up over the trees of a model whose outputs are probabilities."""
        ...

    @property
    def has_softmax_probabilities(self) -> bool:
        """Whether the probabilities are known to be the softmax of the outputs."""
        ...

    @property
    def members(self) -> Sequence[Model]:
        """The models that must agree; empty for a single model."""
        ...

    @property
    def members_needed(self) -> int:
        """How many of the members must agree; 1 for a single model."""
        ...

    @property
    def predict_each(self) -> Callable[[Points], Array] | None:
        """Rows to what the ``predict`` of each member says, ``(p, members)``; for members that give numbers."""
        ...

    @property
    def abstention(self) -> str | None:
        """The last of the labels, where it says that too few members agree."""
        ...

    @property
    def majority(self) -> Callable[[Points], NDArray[Any]] | None:
        """Rows to the class that most members say, ``(p,)``; only beside ``abstention``."""
        ...

    @property
    def requires_unanimity(self) -> bool:
        """Whether all members must agree, not only a share of them."""
        ...

    @property
    def is_remote(self) -> bool:
        """Whether every row asked is sent over a network."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how the model is asked."""
        ...


class ModelBase:
    """A model without any capability: adapters inherit these defaults and override what they offer.

    >>> ModelBase().gradient is None, ModelBase().notes
    (True, ())
    """

    gradient: Gradient | None = None
    outputs_and_pullback: OutputsAndPullback | None = None
    hvp: HessianProduct | None = None
    trees: Any | None = None
    members: Sequence[Model] = ()
    members_needed: int = 1
    predict_each: Callable[[Points], Array] | None = None
    majority: Callable[[Points], NDArray[Any]] | None = None

    # properties, as adapters override them by properties
    @property
    def own(self) -> OwnModel:
        """Itself: its outputs are what the user's own methods say."""
        return cast(OwnModel, self)

    @property
    def thresholds(self) -> tuple[Array, ...] | None:
        """None: no split points are known."""
        return None

    @property
    def leaves(self) -> Any | None:
        """None: no leaves are known."""
        return None

    @property
    def layers(self) -> Any | None:
        """None: no layers are known."""
        return None

    @property
    def is_additive(self) -> bool:
        """False: nothing is known to add up."""
        return False

    @property
    def has_softmax_probabilities(self) -> bool:
        """False: not known to be so."""
        return False

    @property
    def abstention(self) -> str | None:
        """None: the model never abstains."""
        return None

    @property
    def requires_unanimity(self) -> bool:
        """False: there are no members."""
        return False

    @property
    def is_remote(self) -> bool:
        """False: it runs here, or somewhere among its members."""
        return any(member.is_remote for member in self.members)

    @property
    def notes(self) -> tuple[str, ...]:
        """Nothing that the user should know."""
        return ()


ProgressCallback = Callable[[int, int], None]
"""Called with (rows done, rows in all)."""
