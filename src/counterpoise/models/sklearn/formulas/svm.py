"""Support vector machines of scikit-learn, with their derivatives: linear, RBF, polynomial and sigmoid kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from counterpoise.models.affine import AffineOutputs
from counterpoise.models.inputs import to_dense
from counterpoise.models.layers import FormulaBase, LayerOutputs
from counterpoise.models.links import as_two_outputs
from counterpoise.types import Array, Index, Pullback, split_rows

Kernel = Literal["linear", "rbf", "poly", "sigmoid"]


@dataclass(frozen=True, eq=False)
class KernelExpansion(FormulaBase):
    """Kernel expansions ``K(z, vectors) @ coef.T + intercept`` ``(p, m)``, joined into outputs ``(p, c)``.

    ``class_count`` is None for one plain output, 2 for a decision against zero, more for votes between pairs of
    classes; with ``first_of_equals_wins`` the first of the classes with most votes wins, as in libsvm.
    """

    vectors: Array
    coef: Array
    intercept: Array
    kernel: Kernel
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    class_count: int | None = None
    first_of_equals_wins: bool = True
    max_kernel_values: int = 2**22  # held at a time: 32 MiB

    def outputs(self, z: Array) -> Array:
        """``(p, c)`` for rows ``(p, q)``."""
        return np.concatenate(
            [self._combine_expansions(self._expansions(self._kernel(z[rows])[0])) for rows in self._chunks(z)]
        )

    def gradient(self, z: Array, weights: Array) -> Array:
        """``(p, q)``: gradient of the outputs summed with ``weights`` ``(p, c)``."""
        return np.concatenate([self._outputs_and_pullback(z[rows])[1](weights[rows]) for rows in self._chunks(z)])

    def outputs_and_pullback(self, z: Array) -> tuple[Array, Pullback]:
        """Outputs ``(p, c)``, and what gives their gradient from the same kernel values."""
        if len(self._chunks(z)) == 1:
            return self._outputs_and_pullback(z)
        return self.outputs(z), lambda weights: self.gradient(z, weights)

    def hvp(self, z: Array, weights: Array, v: Array) -> Array:
        """``(p, q)``: Hessian of the outputs summed with ``weights``, times ``v``."""
        return np.concatenate([self._hvp(z[rows], weights[rows], v[rows]) for rows in self._chunks(z)])

    @property
    def layers(self) -> LayerOutputs | None:
        """A single layer if the kernel is linear and there are no votes; else None."""
        if self.kernel != "linear" or (self.class_count or 0) > 2:
            return None
        weights, size = self.coef @ self.vectors, np.abs(self.coef) @ np.abs(self.vectors)
        many = max(1.0, len(self.vectors) / len(self.vectors.T))  # sums over vectors round more often
        known = AffineOutputs(weights, self.intercept, size, np.abs(self.intercept), rounding=many * 2.0**-52)
        return LayerOutputs(known if self.class_count is None else known.against_zero())

    def _chunks(self, z: Array) -> list[Index]:
        return split_rows(len(z), self.max_kernel_values, len(self.vectors))

    def _outputs_and_pullback(self, z: Array) -> tuple[Array, Pullback]:
        values, argument = self._kernel(z)
        expansions = self._expansions(values)

        def pull(weights: Array) -> Array:
            return self._slope(
                z, self._weights_of_expansions(expansions, weights), self._first_derivative(values, argument)
            )

        return self._combine_expansions(expansions), pull

    def _expansions(self, values: Array) -> Array:
        return values @ self.coef.T + self.intercept

    def _combine_expansions(self, expansions: Array) -> Array:
        if self.class_count is None:
            return expansions
        if self.class_count == 2:
            return as_two_outputs(expansions[:, 0])
        return score_pair_votes(expansions, self.class_count, ties=self.first_of_equals_wins)

    def _hvp(self, z: Array, weights: Array, v: Array) -> Array:
        values, argument = self._kernel(z)
        expansions, first = self._expansions(values), self._first_derivative(values, argument)
        out = self._curvature(
            z, self._weights_of_expansions(expansions, weights), self._second_derivative(values, argument), v
        )
        bend = self._curvature_of_confidences(z, expansions, weights, first, v)
        return out if bend is None else out + self._slope(z, bend, first)

    @cached_property
    def _centred_vectors(self) -> tuple[Array, Array, Array]:
        """The middle of the vectors ``(q,)``, near which squared distances cancel least, the vectors, their squares."""
        middle = self.vectors.mean(axis=0)
        vectors = self.vectors - middle
        return middle, vectors, (vectors * vectors).sum(axis=1)

    def _kernel(self, z: Array) -> tuple[Array, Array]:
        """Kernel values and the kernel's argument, each ``(p, s)``; for RBF the argument is the values again."""
        if self.kernel == "rbf":
            middle, vectors, squares = self._centred_vectors
            a = z - middle
            values = (-2.0 * a) @ vectors.T
            values += squares
            values += (a * a).sum(axis=1)[:, None]
            np.maximum(values, 0.0, out=values)
            values *= -self.gamma
            np.exp(values, out=values)
            return values, values
        product = z @ self.vectors.T
        if self.kernel == "linear":
            return product, product
        product *= self.gamma
        product += self.coef0
        return (np.tanh(product) if self.kernel == "sigmoid" else _power(product, self.degree)), product

    def _first_derivative(self, values: Array, argument: Array) -> Array:
        """The kernel's derivative by its argument, ``(p, s)``."""
        if self.kernel == "rbf":
            return values
        if self.kernel == "linear":
            return np.ones_like(values)
        if self.kernel == "sigmoid":
            return self.gamma * (1.0 - values * values)
        return self.gamma * self.degree * _power(argument, self.degree - 1)

    def _second_derivative(self, values: Array, argument: Array) -> Array:
        """The kernel's second derivative by its argument, ``(p, s)``."""
        if self.kernel == "rbf":
            return values
        if self.kernel == "linear":
            return np.zeros_like(values)
        if self.kernel == "sigmoid":
            return self.gamma**2 * -2.0 * values * (1.0 - values * values)
        return self.gamma**2 * self.degree * (self.degree - 1) * _power(argument, self.degree - 2)

    def _slope(self, z: Array, pull: Array, first: Array) -> Array:
        first = (pull @ self.coef) * first
        if self.kernel == "rbf":
            return np.asarray(-2.0 * self.gamma * (first.sum(axis=1)[:, None] * z - first @ self.vectors))
        return first @ self.vectors

    def _curvature(self, z: Array, pull: Array, second: Array, v: Array) -> Array:
        second = (pull @ self.coef) * second
        along = v @ self.vectors.T
        if self.kernel != "rbf":
            return (second * along) @ self.vectors
        bent = second * ((z * v).sum(axis=1)[:, None] - along)
        round_part = 4.0 * self.gamma**2 * (bent.sum(axis=1)[:, None] * z - bent @ self.vectors)
        return np.asarray(round_part - 2.0 * self.gamma * second.sum(axis=1)[:, None] * v)

    def _weights_of_expansions(self, expansions: Array, weights: Array) -> Array:
        """Weights of the expansions ``(p, m)`` from weights of the outputs ``(p, c)``."""
        if self.class_count is None:
            return weights
        if self.class_count == 2:
            return weights[:, 1:]
        weights, sums, one, other = self._weights_and_sums_of_votes(expansions, weights)
        confident = weights / (3.0 * (np.abs(sums) + 1.0) ** 2)
        return confident[:, one] - confident[:, other]

    def _curvature_of_confidences(
        self, z: Array, expansions: Array, weights: Array, first: Array, v: Array
    ) -> Array | None:
        """What the curvature of the confidences adds to the expansions' weights, or None where there are no votes."""
        if self.class_count is None or self.class_count == 2:
            return None
        weights, sums, one, other = self._weights_and_sums_of_votes(expansions, weights)
        each = [np.broadcast_to(row, (len(z), len(self.coef))) for row in np.eye(len(self.coef))]
        rates = np.stack([(self._slope(z, row, first) * v).sum(axis=1) for row in each], axis=1)
        speed = np.zeros_like(sums)
        for number, (i, j) in enumerate(zip(one, other, strict=True)):
            speed[:, i] += rates[:, number]
            speed[:, j] -= rates[:, number]
        bent = weights * -2.0 * np.sign(sums) / (3.0 * (np.abs(sums) + 1.0) ** 3) * speed
        return bent[:, one] - bent[:, other]

    def _weights_and_sums_of_votes(self, expansions: Array, weights: Array) -> tuple[Array, Array, Index, Index]:
        votes, sums = count_votes(expansions, self.class_count or 0)
        if self.first_of_equals_wins:
            weights = favour_first_of_equals(votes + sums / (3.0 * (np.abs(sums) + 1.0)), weights)
        return weights, sums, *np.triu_indices(self.class_count or 0, 1)


def read_svm(model: Any) -> KernelExpansion | None:
    """The expansion of a fitted SVC, NuSVC, SVR, NuSVR or OneClassSVM, or None."""
    kernels = ("linear", "rbf", "poly", "sigmoid")
    if (
        not hasattr(model, "dual_coef_")
        or getattr(model, "kernel", None) not in kernels
        or not hasattr(model, "_gamma")
    ):
        return None
    dual, vectors = to_dense(model.dual_coef_), to_dense(model.support_vectors_)
    if not len(vectors):  # a number that is the same for every row
        return None
    classes = (
        len(model.classes_) if hasattr(model, "classes_") else 2 if type(model).__name__ == "OneClassSVM" else None
    )
    if classes is not None and classes > 2:
        dual = _coefficients_of_pairs(dual, np.asarray(model.n_support_), classes)
    intercept = np.asarray(model.intercept_, dtype=np.float64)
    shape = (model.kernel, float(model._gamma), int(model.degree), float(model.coef0))
    return KernelExpansion(vectors, dual, intercept, *shape, classes, not getattr(model, "break_ties", False))


def _power(base: Array, exponent: int) -> Array:
    """``base ** exponent`` by products, much quicker than a power of floats; 1 where the exponent is 0 or less."""
    if exponent < 1:
        return np.ones_like(base)
    return base if exponent == 1 else base * _power(base, exponent - 1)


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


def score_pair_votes(pairs: Array, count: int, *, ties: bool = True) -> Array:
    """Class scores ``(p, c)`` from decisions between pairs: the votes, plus a confidence below a half.

    >>> score_pair_votes(np.array([[1.0, 2.0, -3.0]]), 3).argmax()
    np.int64(0)
    """
    votes, sums = count_votes(pairs, count)
    scores = votes + sums / (3.0 * (np.abs(sums) + 1.0))
    return favour_first_of_equals(scores, scores) if ties else scores


def favour_first_of_equals(scores: Array, values: Array) -> Array:
    """``values`` reordered so that the first class with most votes (the whole part of its score) has the largest."""
    out = values.copy()
    rows = np.arange(len(out))
    winner, largest = np.rint(scores).argmax(axis=1), scores.argmax(axis=1)
    out[rows, winner], out[rows, largest] = values[rows, largest], values[rows, winner]
    return out


def _coefficients_of_pairs(dual: Array, support: Index, classes: int) -> Array:
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
