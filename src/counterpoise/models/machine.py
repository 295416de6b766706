"""Support vector machines of scikit-learn, with their derivatives: linear, RBF, polynomial and sigmoid kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from counterpoise.models.feeding import dense
from counterpoise.types import Array, Index

Kernel = Literal["linear", "rbf", "poly", "sigmoid"]
CELLS = 2**22  # kernel values held at a time: 32 MiB


@dataclass(frozen=True, eq=False)
class Machine:
    """Kernel expansions ``K(z, vectors) @ coef.T + intercept`` ``(p, m)``, joined into outputs ``(p, c)``.

    ``classes`` is None for one plain output, 2 for a decision against zero, more for votes between pairs of classes;
    with ``ties`` the first of the classes with most votes wins, as in libsvm.
    """

    vectors: Array
    coef: Array
    intercept: Array
    kernel: Kernel
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    classes: int | None = None
    ties: bool = True

    def outputs(self, z: Array) -> Array:
        """``(p, c)`` for rows ``(p, q)``."""
        return np.concatenate([self._outputs(z[rows]) for rows in self._chunks(z)])

    def gradient(self, z: Array, weights: Array) -> Array:
        """``(p, q)``: gradient of the outputs summed with ``weights`` ``(p, c)``."""
        return np.concatenate([self._slope(z[rows], self._pull(z[rows], weights[rows])) for rows in self._chunks(z)])

    def hvp(self, z: Array, weights: Array, v: Array) -> Array:
        """``(p, q)``: Hessian of the outputs summed with ``weights``, times ``v``."""
        return np.concatenate([self._hvp(z[rows], weights[rows], v[rows]) for rows in self._chunks(z)])

    def _chunks(self, z: Array) -> list[slice]:
        size = max(1, CELLS // len(self.vectors))
        return [slice(start, start + size) for start in range(0, max(1, len(z)), size)]

    def _expansions(self, z: Array) -> Array:
        return self._values(z)[0] @ self.coef.T + self.intercept

    def _outputs(self, z: Array) -> Array:
        values = self._expansions(z)
        if self.classes is None:
            return values
        if self.classes == 2:
            return two_columns(values[:, 0])
        return pair_votes(values, self.classes, ties=self.ties)

    def _hvp(self, z: Array, weights: Array, v: Array) -> Array:
        out = self._curvature(z, self._pull(z, weights), v)
        bend = self._bend(z, weights, v)
        return out if bend is None else out + self._slope(z, bend)

    def _values(self, z: Array) -> tuple[Array, Array, Array]:
        """Kernel values with their first and second derivatives by the kernel's argument, each ``(p, s)``."""
        if self.kernel == "rbf":
            middle = self.vectors.mean(axis=0)  # near it squared distances cancel least
            a, b = z - middle, self.vectors - middle
            square = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1) - 2.0 * (a @ b.T)
            values = np.exp(-self.gamma * np.maximum(square, 0.0))
            return values, values, values
        product = z @ self.vectors.T
        if self.kernel == "linear":
            return product, np.ones_like(product), np.zeros_like(product)
        argument = self.gamma * product + self.coef0
        if self.kernel == "sigmoid":
            values = np.tanh(argument)
            first = 1.0 - values * values
            return values, self.gamma * first, self.gamma**2 * -2.0 * values * first
        degree = self.degree
        first = degree * argument ** (degree - 1) if degree > 0 else np.zeros_like(argument)
        second = degree * (degree - 1) * argument ** (degree - 2) if degree > 1 else np.zeros_like(argument)
        return argument**degree, self.gamma * first, self.gamma**2 * second

    def _slope(self, z: Array, pull: Array) -> Array:
        first: Array = (pull @ self.coef) * self._values(z)[1]
        if self.kernel == "rbf":
            return np.asarray(-2.0 * self.gamma * (first.sum(axis=1)[:, None] * z - first @ self.vectors))
        return first @ self.vectors

    def _curvature(self, z: Array, pull: Array, v: Array) -> Array:
        second: Array = (pull @ self.coef) * self._values(z)[2]
        along = v @ self.vectors.T
        if self.kernel != "rbf":
            return (second * along) @ self.vectors
        bent = second * ((z * v).sum(axis=1)[:, None] - along)
        round_part = 4.0 * self.gamma**2 * (bent.sum(axis=1)[:, None] * z - bent @ self.vectors)
        return np.asarray(round_part - 2.0 * self.gamma * second.sum(axis=1)[:, None] * v)

    def _pull(self, z: Array, weights: Array) -> Array:
        """Weights of the expansions ``(p, m)`` from weights of the outputs ``(p, c)``."""
        if self.classes is None:
            return weights
        if self.classes == 2:
            return weights[:, 1:]
        weights, sums, first, second = self._votes(z, weights)
        confident = weights / (3.0 * (np.abs(sums) + 1.0) ** 2)
        return confident[:, first] - confident[:, second]

    def _bend(self, z: Array, weights: Array, v: Array) -> Array | None:
        """What the curvature of the confidences adds to the expansions' weights, or None where there are no votes."""
        if self.classes is None or self.classes == 2:
            return None
        weights, sums, first, second = self._votes(z, weights)
        rates = np.stack([(self._slope(z, row) * v).sum(axis=1) for row in self._one_by_one(len(z))], axis=1)
        speed = np.zeros_like(sums)
        for number, (i, j) in enumerate(zip(first, second, strict=True)):
            speed[:, i] += rates[:, number]
            speed[:, j] -= rates[:, number]
        bent = weights * -2.0 * np.sign(sums) / (3.0 * (np.abs(sums) + 1.0) ** 3) * speed
        return bent[:, first] - bent[:, second]

    def _one_by_one(self, rows: int) -> list[Array]:
        return [np.broadcast_to(row, (rows, len(self.coef))) for row in np.eye(len(self.coef))]

    def _votes(self, z: Array, weights: Array) -> tuple[Array, Array, Index, Index]:
        votes, sums = count_votes(self._expansions(z), self.classes or 0)
        if self.ties:
            weights = first_of_equals(votes + sums / (3.0 * (np.abs(sums) + 1.0)), weights)
        first, second = np.triu_indices(self.classes or 0, 1)
        return weights, sums, first, second


def read_machine(model: Any) -> Machine | None:
    """The expansion of a fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM, or None."""
    kernels = ("linear", "rbf", "poly", "sigmoid")
    if (
        not hasattr(model, "dual_coef_")
        or getattr(model, "kernel", None) not in kernels
        or not hasattr(model, "_gamma")
    ):
        return None
    dual, vectors = dense(model.dual_coef_), dense(model.support_vectors_)
    classes = (
        len(model.classes_) if hasattr(model, "classes_") else 2 if type(model).__name__ == "OneClassSVM" else None
    )
    if classes is not None and classes > 2:
        dual = _pair_coef(dual, np.asarray(model.n_support_), classes)
    intercept = np.asarray(model.intercept_, dtype=np.float64)
    shape = (model.kernel, float(model._gamma), int(model.degree), float(model.coef0))
    return Machine(vectors, dual, intercept, *shape, classes, not getattr(model, "break_ties", False))


def two_columns(decision: Array) -> Array:
    """One decision value ``(p,)`` as two outputs ``(p, 2)``: zero goes to the first class."""
    return np.stack([np.zeros_like(decision), decision], axis=1)


def count_votes(pairs: Array, count: int) -> tuple[Array, Array]:
    """Votes won and decision values summed, each ``(p, c)``, from decisions between pairs ``(p, c (c - 1) / 2)``."""
    votes, sums = np.zeros((len(pairs), count)), np.zeros((len(pairs), count))
    for number, (i, j) in enumerate(zip(*np.triu_indices(count, 1), strict=True)):
        first = pairs[:, number] > 0
        votes[:, i] += first
        votes[:, j] += ~first
        sums[:, i] += pairs[:, number]
        sums[:, j] -= pairs[:, number]
    return votes, sums


def pair_votes(pairs: Array, count: int, *, ties: bool = True) -> Array:
    """Class scores ``(p, c)`` from decisions between pairs: the votes, plus a confidence below a half.

    >>> pair_votes(np.array([[1.0, 2.0, -3.0]]), 3).argmax()
    np.int64(0)
    """
    votes, sums = count_votes(pairs, count)
    scores = votes + sums / (3.0 * (np.abs(sums) + 1.0))
    return first_of_equals(scores, scores) if ties else scores


def first_of_equals(scores: Array, values: Array) -> Array:
    """``values`` reordered so that the first class with most votes (the whole part of its score) has the largest."""
    out = values.copy()
    rows = np.arange(len(out))
    winner, largest = np.rint(scores).argmax(axis=1), scores.argmax(axis=1)
    out[rows, winner], out[rows, largest] = values[rows, largest], values[rows, winner]
    return out


def _pair_coef(dual: Array, support: Index, classes: int) -> Array:
    """Coefficients of each pair's decision ``(pairs, s)`` from libsvm's table ``(c - 1, s)``."""
    ends = np.cumsum(support)
    starts = ends - support
    rows = []
    for i, j in zip(*np.triu_indices(classes, 1), strict=True):
        row = np.zeros(dual.shape[1])
        row[starts[i] : ends[i]] = dual[j - 1, starts[i] : ends[i]]
        row[starts[j] : ends[j]] = dual[i, starts[j] : ends[j]]
        rows.append(row)
    return np.array(rows)
