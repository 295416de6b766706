"""Any callable, and `Function`: how a model from elsewhere enters, with its derivatives where it has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterpoise.errors import InputError, ModelError
from counterpoise.models.callables.http import Remote
from counterpoise.models.inputs import InputFunction, make_encoded_input_function, make_frame_input_function
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Link, Model, ModelBase, Points

AnswerShape = Literal["score", "decision", "chance", "columns", "labels"]
"""One number; one number against zero; the chance of the second of two labels; a column per label; labels."""


@dataclass(frozen=True)
class Function:
    """A model given by its functions, each of which takes rows as the reference has them: a frame or an array.

    scores: gives ``(p, c)`` probabilities or decision values, ``(p,)`` scores, or labels of p rows; a PyTorch module or
        an ONNX session will do.
    gradient: gives the derivatives of the scores by the columns, ``(p, d)`` for one score, ``(p, c, d)`` for several;
        None: there is none.
    hvp: called with rows and ``v`` ``(p, d)``, gives the Hessian of each score times v, shaped like the gradient.
    labels: the classes in the order of the scores; with two labels one score is enough.
    link: "log" where the scores are probabilities, "identity" where they are not; None to see by looking.
    array: True gives encoded arrays even where the reference is a frame; False by default.

    >>> square = Function(lambda x: (x**2).sum(1), gradient=lambda x: 2 * x, hvp=lambda x, v: 2 * v, array=True)
    >>> square.gradient(np.ones((1, 2)))
    array([[2., 2.]])
    """

    scores: Callable[[Any], Any]
    gradient: Callable[[Any], Any] | None = None
    hvp: Callable[[Any, Array], Any] | None = None
    labels: Sequence[Any] | None = None
    link: Link | None = None
    array: bool = False

    def __post_init__(self) -> None:
        if not callable(self.scores) and not hasattr(self.scores, "run"):
            raise InputError("the scores of a Function must be callable", f"{self.scores!r}", "give a function of rows")
        if self.link not in (None, "identity", "log"):
            raise InputError("link must be 'identity', 'log' or None", f"{self.link!r}", "choose one of them")
        if self.hvp is not None and self.gradient is None:
            raise InputError("a Function with an hvp must have a gradient", "it has none", "give the gradient as well")
        if self.labels is not None and len(set(self.labels)) < max(2, len(self.labels)):
            raise InputError(
                "labels must be two or more different classes", f"{tuple(self.labels)!r}", "list each once"
            )


class AnswerFormat(NamedTuple):
    """The format of a callable's answers, as seen on the probing rows."""

    shape: AnswerShape
    labels: tuple[Any, ...] | None
    link: Link


@dataclass(frozen=True)
class FunctionModel(ModelBase):
    """A callable as a Model."""

    function: Function
    make_input: InputFunction
    answer_format: AnswerFormat

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The classes in the order of the outputs, or None for a score."""
        return self.answer_format.labels

    @property
    def link(self) -> Link:
        """What the outputs are."""
        return self.answer_format.link

    @property
    def is_remote(self) -> bool:
        """Whether the callable posts its rows to a service."""
        return isinstance(self.function.scores, Remote)

    def outputs(self, x: Points) -> Array:
        """Outputs ``(p, c)``; labels become one column per class, 1 for the class that was given."""
        answer = _read_answer(self.function.scores(self.make_input(x)), len(x))
        if self.answer_format.shape == "labels":
            return self._one_hot(answer)
        numbers = answer.astype(np.float64)
        if self.answer_format.shape == "columns":
            if numbers.ndim != 2 or numbers.shape[1] != len(self.answer_format.labels or ()):
                raise _make_shape_error(f"{len(self.answer_format.labels or ())} columns", answer)
            return numbers
        if numbers.ndim != 1:
            raise _make_shape_error("one number a row", answer)
        if self.answer_format.shape == "score":
            return numbers[:, None]
        rival = 1.0 - numbers if self.answer_format.shape == "chance" else np.zeros_like(numbers)
        return np.stack([rival, numbers], axis=1)

    def predict(self, x: Points) -> NDArray[Any]:
        """The label with the largest output, the first of equals; the score where there are no labels."""
        outputs = self.outputs(x)
        return outputs[:, 0] if self.labels is None else _labels_as_array(self.labels)[outputs.argmax(axis=1)]

    def probabilities(self, x: Points) -> Array | None:
        """The outputs where they are probabilities."""
        return self.outputs(x) if self.link == "log" else None

    def pull_weights(self, weights: Array) -> Array:
        """Weights of the callable's own numbers, ``(p, r)``, from weights of the outputs ``(p, c)``."""
        if self.answer_format.shape == "chance":
            return weights[:, 1:] - weights[:, :1]
        return weights[:, 1:] if self.answer_format.shape == "decision" else weights

    def _one_hot(self, answer: NDArray[Any]) -> Array:
        classes = self.answer_format.labels or ()
        places = {label: place for place, label in enumerate(classes)}
        out = np.zeros((len(answer), len(classes)))
        for row, label in enumerate(answer.tolist()):
            if label not in places:
                raise ModelError(
                    f"a label must be one of {', '.join(map(repr, classes))}",
                    f"the model returned {label!r}",
                    "list every label: cp.Function(scores=model, labels=[…])",
                    row=row,
                )
            out[row, places[label]] = 1.0
        return out


@dataclass(frozen=True)
class DifferentiableFunctionModel(FunctionModel):
    """A callable that was given with its gradient."""

    def gradient(self, x: Array, weights: Array) -> Array:
        """Gradient ``(p, d)`` of the outputs summed with ``weights`` ``(p, c)``."""
        assert self.function.gradient is not None
        return self._weigh_derivatives(self.function.gradient(self.make_input(x)), x, weights)

    def _weigh_derivatives(self, slopes: Any, x: Array, weights: Array) -> Array:
        slopes = np.asarray(slopes, dtype=np.float64)
        several = self.answer_format.shape == "columns"
        expected = (len(x), weights.shape[1], x.shape[1]) if several else x.shape
        if slopes.shape != expected:
            raise ModelError(
                f"derivatives of {len(x)} rows must have shape {expected}",
                f"the function gave {slopes.shape}",
                "return one number per row and column, and per score where there are several",
            )
        return np.asarray(np.einsum("pc,pcd->pd", self.pull_weights(weights), slopes.reshape(len(x), -1, x.shape[1])))


@dataclass(frozen=True)
class TwiceDifferentiableFunctionModel(DifferentiableFunctionModel):
    """A callable that was given with its gradient and its Hessian-vector product."""

    def hvp(self, x: Array, weights: Array, v: Array) -> Array:
        """``(p, d)``: the Hessian of the outputs summed with ``weights``, times ``v``."""
        assert self.function.hvp is not None
        return self._weigh_derivatives(self.function.hvp(self.make_input(x), v), x, weights)


def adapt(model: Any, schema: Schema, probe: Array) -> Model:
    """The Model of a callable or a Function; one call on the probing rows shows the format of its answers."""
    function = model if isinstance(model, Function) else Function(model)
    make_input = make_encoded_input_function(schema) if function.array else make_frame_input_function(schema)
    answer_format = infer_answer_format(function, _read_answer(function.scores(make_input(probe)), len(probe)))
    if function.gradient is not None and answer_format.shape == "labels":
        raise InputError("a Function with a gradient must give scores", "its answers are labels", "return the scores")
    kind = (
        FunctionModel
        if function.gradient is None
        else DifferentiableFunctionModel
        if function.hvp is None
        else TwiceDifferentiableFunctionModel
    )
    return kind(function, make_input, answer_format)


def infer_answer_format(function: Function, answer: NDArray[Any]) -> AnswerFormat:
    """The format of a callable's answer: labels, a score, or a column for each class.

    >>> infer_answer_format(Function(len), np.array([[0.25, 0.75]]))
    AnswerFormat(shape='columns', labels=(0, 1), link='log')
    >>> infer_answer_format(Function(len), np.array(["benign", "attack"]))
    AnswerFormat(shape='labels', labels=('attack', 'benign'), link='identity')
    >>> infer_answer_format(Function(len), np.array([0.5, 7.0]))
    AnswerFormat(shape='score', labels=None, link='identity')
    """
    given = None if function.labels is None else tuple(function.labels)
    are_labels = answer.dtype.kind in "bOUSiu" or (given is not None and _are_float_labels(answer, given))
    if are_labels and answer.ndim == 1 and function.link is None:
        return AnswerFormat("labels", given or _collect_labels(answer), "identity")
    if answer.dtype.kind not in "biuf":
        raise _make_shape_error("numbers or one label a row", answer)
    if answer.ndim == 1:
        return _infer_score_format(given, function.link, answer)
    labels = given or tuple(range(answer.shape[1]))
    if len(labels) != answer.shape[1]:
        raise _make_shape_error(f"a column for each of {len(labels)} labels", answer)
    link = function.link or ("log" if _are_probabilities(answer) else "identity")
    return AnswerFormat("columns", labels, link)


def _infer_score_format(given: tuple[Any, ...] | None, link: Link | None, answer: NDArray[Any]) -> AnswerFormat:
    """The format of one number a row: a score without labels, else what decides between two of them."""
    if given is None:
        return AnswerFormat("score", None, "identity")
    if len(given) != 2:
        raise _make_shape_error(f"a column for each of {len(given)} labels", answer)
    link = link or ("log" if _are_probabilities(answer) else "identity")
    return AnswerFormat("chance" if link == "log" else "decision", given, link)


def _are_probabilities(answer: NDArray[Any], max_sum_difference: float = 1e-4) -> bool:
    """Whether all numbers are between 0 and 1, and columns add up to 1; loosely, for float16 and float32 models."""
    between = bool(np.all((answer >= 0) & (answer <= 1)))
    return between and (answer.ndim == 1 or bool(np.all(np.abs(answer.sum(axis=1) - 1) < max_sum_difference)))


def _are_float_labels(answer: NDArray[Any], labels: tuple[Any, ...]) -> bool:
    """Whether floats are labels that were listed, such as 1.0 and 2.0; 0.0 and 1.0, in this order, are chances too."""
    return answer.dtype.kind == "f" and labels != (0, 1) and bool(np.isin(answer, _as_floats(labels)).all())


def _as_floats(labels: tuple[Any, ...]) -> list[float]:
    return [float(label) for label in labels if isinstance(label, (int, float, np.number))]


def _collect_labels(answer: NDArray[Any]) -> tuple[Any, ...]:
    if answer.dtype.kind == "b":
        return (False, True)
    seen = set(answer.tolist())
    if len(seen) < 2:
        raise InputError(
            "a callable that returns labels must show two of them or more on the reference",
            f"it returned only {seen.pop()!r}",
            "list every label: cp.Function(scores=model, labels=[…]), or return scores",
        )
    return tuple(sorted(seen, key=lambda label: (type(label).__name__, label)))


def _read_answer(answer: Any, rows: int) -> NDArray[Any]:
    array = np.asarray(answer)
    if (
        array.dtype.kind == "U"
        and isinstance(answer, (list, tuple))
        and not all(isinstance(each, str) for each in answer)
    ):
        array = _labels_as_array(tuple(answer))  # NumPy makes texts of numbers that stand among texts
    first = array.flat[0] if array.dtype.kind == "O" and array.size else None
    if isinstance(first, (int, float, np.number, np.ndarray, list)) and not isinstance(first, bool):
        numbers = np.array(array.tolist())  # an object column of numbers, or of lines of them
        array = numbers if numbers.dtype.kind in "biuf" else array
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or len(array) != rows:
        raise _make_shape_error(f"one answer for each of {rows} rows", array)
    return array


def _labels_as_array(labels: tuple[Any, ...]) -> NDArray[Any]:
    array = np.array(labels)
    if array.ndim == 1 and array.tolist() == list(labels):
        return array
    out = np.empty(len(labels), dtype=object)  # labels of mixed kinds, or tuples
    out[:] = labels
    return out


def _make_shape_error(wanted: str, answer: NDArray[Any]) -> ModelError:
    return ModelError(
        f"a model must return {wanted}",
        f"it returned an array of shape {answer.shape} and dtype {answer.dtype}",
        "return (p, c) probabilities or scores, (p,) scores, or (p,) labels",
    )
