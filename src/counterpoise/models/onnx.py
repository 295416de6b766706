"""ONNX models in an onnxruntime session: a matrix in, or one input per column; labels, probabilities or scores out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import CapabilityError, InputError
from counterpoise.models.function import Function, Scored, settle
from counterpoise.space.encoding import decode
from counterpoise.space.features import Schema
from counterpoise.types import Array, Model

NUMBERS: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


@dataclass(frozen=True)
class Session:
    """An onnxruntime session with its inputs and outputs sorted out: ``scores`` and ``said`` are output names."""

    session: Any
    scores: str | None
    said: str | None

    def __call__(self, rows: Any) -> Any:
        """Scores ``(p, c)`` of rows given as a frame or an array; labels where the model has no scores."""
        (found,) = self.session.run([self.scores or self.said], _inputs(self.session, rows))
        if isinstance(found, list):  # a map from label to probability for each row
            return np.array([list(row.values()) for row in found])
        return found[:, 0] if np.ndim(found) == 2 and found.shape[1] == 1 else found

    def labels(self, rows: Any, columns: int) -> tuple[Any, ...] | None:
        """The labels in the order of the scores, as the model tells or shows them on some rows."""
        if self.scores is None or self.said is None:
            return None
        scores, said = self.session.run([self.scores, self.said], _inputs(self.session, rows))
        if isinstance(scores, list):
            return tuple(scores[0])
        labels = dict(zip(np.argmax(scores, axis=1).tolist(), np.asarray(said).tolist(), strict=True))
        if all(label == place for place, label in labels.items()):
            return tuple(range(columns))
        if len(labels) == columns:
            return tuple(labels[place] for place in range(columns))
        raise InputError(
            f"the labels of {columns} classes must be known",
            f"the ONNX model only shows {', '.join(map(repr, labels.values()))} on the reference",
            "list them in the order of the probabilities: cp.Function(session, labels=[…])",
        )


@dataclass(frozen=True)
class Deciding(Scored):
    """An ONNX model that gives labels beside its scores: its own labels are the decision."""

    session: Session

    def predict(self, x: Array) -> NDArray[Any]:
        """The model's own label output."""
        (said,) = self.session.session.run([self.session.said], _inputs(self.session.session, self.feed(x)))
        return np.asarray(said).reshape(len(x))


def adapt(model: Any, schema: Schema, probe: Array) -> Model:
    """The Model of a session, or of a Function whose scores are one."""
    function = model if isinstance(model, Function) else Function(model)
    session = _sorted_out(function.scores)

    def feed(x: Array) -> Any:
        return decode(schema, x)

    answer = np.asarray(session(feed(probe)))
    if function.labels is None and answer.ndim == 2:
        function = replace(function, labels=session.labels(feed(probe), answer.shape[1]))
    function = replace(function, scores=session)
    settled = settle(function, answer)
    if session.said is not None and session.scores is not None and settled.labels is not None:
        return Deciding(function, feed, settled, session)
    return Scored(function, feed, settled)


def _sorted_out(session: Any) -> Session:
    scores = said = None
    for output in session.get_outputs():
        words = output.type == "tensor(string)" or "int" in output.type
        if words and not output.type.startswith("seq"):
            said = said or output.name
        elif scores is None or "prob" in output.name.lower():
            scores = output.name
    if scores is None and said is None:
        raise CapabilityError("an ONNX model must have an output", "this one has none", "export the model again")
    return Session(session, scores, said)


def _inputs(session: Any, rows: Any) -> dict[str, NDArray[Any]]:
    wanted = session.get_inputs()
    if len(wanted) == 1 and (len(wanted[0].shape) < 2 or wanted[0].shape[1] != 1 or rows.shape[1] == 1):
        return {wanted[0].name: _typed(np.asarray(rows), wanted[0])}
    if not isinstance(rows, pd.DataFrame) and len(wanted) == rows.shape[1]:
        return {entry.name: _typed(rows[:, [place]], entry) for place, entry in enumerate(wanted)}
    names = {str(name).replace(" ", "_"): name for name in getattr(rows, "columns", ())}
    absent = [entry.name for entry in wanted if entry.name.replace(" ", "_") not in names]
    if absent:
        raise InputError(
            "the reference must have a column for each input of the ONNX model",
            f"it has none for {', '.join(absent[:8])}",
            "give the reference the names that the model was exported with",
        )
    return {entry.name: _typed(rows[[names[entry.name.replace(" ", "_")]]].to_numpy(), entry) for entry in wanted}


def _typed(values: NDArray[Any], entry: Any) -> NDArray[Any]:
    if entry.type == "tensor(string)":
        return np.array(
            [["" if value is None else str(value) for value in row] for row in values.tolist()], dtype=object
        )
    if entry.type not in NUMBERS:
        raise CapabilityError(
            "an ONNX model's inputs must be numbers or text",
            f"{entry.name!r} is {entry.type}",
            "export the model with float inputs",
        )
    return values.astype(NUMBERS[entry.type])
