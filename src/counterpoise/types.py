"""The shape law and the protocols that every layer speaks.

Shape law: n rows, k chains, d columns, m cloud samples, c model outputs. Search arrays are ``(n, k, d)``, models see
``(p, d)``; the reshape between the two happens in `counterpoise.problem` and nowhere else.

Search arrays hold encoded values: a number as it is, a category as its code, a missing cell as NaN.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]

Link = Literal["identity", "log"]


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


def has_no_missing(x: Array) -> bool:
    """Whether no cell of an array is missing, in one sweep.

    >>> has_no_missing(np.array([1.0, 2.0])), has_no_missing(np.array([1.0, np.nan]))
    (True, False)
    """
    least = np.minimum.reduce(x, axis=None, initial=np.inf)  # NaN, if there is one
    return bool(least == least)


@runtime_checkable
class Model(Protocol):
    """A fitted model as the search sees it: encoded rows in, one column per output out.

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


@runtime_checkable
class Differentiable(Model, Protocol):
    """A model that can say how its outputs change with the row."""

    def gradient(self, x: Array, weights: Array) -> Array:
        """Gradient ``(p, d)`` of ``sum_c weights[:, c] * outputs(x)[:, c]`` with ``weights`` ``(p, c)`` held fixed."""
        ...


Pullback = Callable[[Array], Array]
"""Weights ``(p, c)`` of outputs to the gradient ``(p, d)`` of their sum, at points known beforehand."""


@runtime_checkable
class DifferentiableWithPullback(Differentiable, Protocol):
    """A model whose gradient can use what its outputs were computed from: the expansion of Eq. (2) in one go."""

    def outputs_and_pullback(self, x: Array) -> tuple[Array, Pullback]:
        """Outputs ``(p, c)``, and what gives their gradient."""
        ...


@runtime_checkable
class TwiceDifferentiable(Differentiable, Protocol):
    """A model with curvature: Hessian-vector products of a weighted sum of its outputs."""

    def hvp(self, x: Array, weights: Array, v: Array) -> Array:
        """``(p, d)``: the Hessian of ``sum_c weights[:, c] * outputs(x)[:, c]`` times ``v`` ``(p, d)``."""
        ...


@runtime_checkable
class PiecewiseConstant(Model, Protocol):
    """A model that is constant on boxes (trees): only its split points matter."""

    @property
    def thresholds(self) -> tuple[Array, ...]:
        """Split points of each column, sorted; a value goes left where ``value <= threshold``."""
        ...


@runtime_checkable
class Abstaining(Model, Protocol):
    """Several classifiers that must agree: the last of the labels, ``abstention``, says that too few do."""

    @property
    def abstention(self) -> str: ...

    @property
    def requires_unanimity(self) -> bool:
        """Whether all of them must agree, not a share."""
        ...

    def majority(self, x: Array) -> NDArray[Any]:
        """The class that most of them say, ``(p,)``."""
        ...


ProgressCallback = Callable[[int, int], None]
"""Called with (rows done, rows in all)."""
