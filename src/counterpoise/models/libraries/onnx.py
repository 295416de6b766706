"""ONNX models in an onnxruntime session: a matrix in, or one input per column; labels, probabilities or scores out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from counterpoise.errors import CapabilityError, InputError
from counterpoise.models.callables.function import Function, FunctionModel, infer_answer_format
from counterpoise.models.inputs import make_ordered_input_function
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Model, Points

DTYPE_BY_ONNX_TYPE: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}


@dataclass(frozen=True)
class OnnxSession:
    """An onnxruntime session and the names of its score output and its label output."""

    session: Any
    score_output: str | None
    label_output: str | None

    def __call__(self, rows: Any) -> Any:
        """Scores ``(p, c)`` of rows given as a frame or an array; labels where the model has no scores."""
        (found,) = self.session.run([self.score_output or self.label_output], _make_inputs(self.session, rows))
        if isinstance(found, list):  # a map from label to probability for each row
            return np.array([list(row.values()) for row in found])
        return found[:, 0] if np.ndim(found) == 2 and found.shape[1] == 1 else found

    def find_labels(self, rows: Any, columns: int) -> tuple[Any, ...] | None:
        """The labels in the order of the scores, as the model tells or shows them on some rows."""
        if self.score_output is None or self.label_output is None:
            return None
        scores, predicted = self.session.run([self.score_output, self.label_output], _make_inputs(self.session, rows))
        if isinstance(scores, list):
            return tuple(scores[0])
        labels = dict(zip(np.argmax(scores, axis=1).tolist(), np.asarray(predicted).tolist(), strict=True))
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
class LabellingOnnxModel(FunctionModel):
    """An ONNX model that gives labels beside its scores: its own labels are the decision."""

    session: OnnxSession

    def predict(self, x: Points) -> NDArray[Any]:
        """The model's own label output."""
        (predicted,) = self.session.session.run(
            [self.session.label_output], _make_inputs(self.session.session, self.make_input(x))
        )
        return np.asarray(predicted).reshape(len(x))


def adapt(model: Any, schema: Schema, probe: Array) -> Model:
    """The Model of an ONNX session, or of a Function whose scores are an ONNX session."""
    function = model if isinstance(model, Function) else Function(model)
    session = _wrap_session(function.scores)
    make_input = make_ordered_input_function(schema)  # a matrix has no names to tell its columns by
    answer = np.asarray(session(make_input(probe)))
    if function.labels is None and answer.ndim == 2:
        function = replace(function, labels=session.find_labels(make_input(probe), answer.shape[1]))
    function = replace(function, scores=session)
    answer_format = infer_answer_format(function, answer)
    if session.label_output is not None and session.score_output is not None and answer_format.labels is not None:
        return LabellingOnnxModel(function, make_input, answer_format, session)
    return FunctionModel(function, make_input, answer_format)


def _wrap_session(session: Any) -> OnnxSession:
    scores = label_output = None
    for output in session.get_outputs():
        words = output.type == "tensor(string)" or "int" in output.type
        if words and not output.type.startswith("seq"):
            label_output = label_output or output.name
        elif scores is None or "prob" in output.name.lower():
            scores = output.name
    if scores is None and label_output is None:
        raise CapabilityError("an ONNX model must have an output", "this one has none", "export the model again")
    return OnnxSession(session, scores, label_output)


def _make_inputs(session: Any, rows: Any) -> dict[str, NDArray[Any]]:
    wanted = session.get_inputs()
    if len(wanted) == 1 and (len(wanted[0].shape) < 2 or wanted[0].shape[1] != 1 or rows.shape[1] == 1):
        return {wanted[0].name: _cast_input(np.asarray(rows), wanted[0])}
    if not isinstance(rows, pd.DataFrame) and len(wanted) == rows.shape[1]:
        return {entry.name: _cast_input(rows[:, [place]], entry) for place, entry in enumerate(wanted)}
    names = {str(name).replace(" ", "_"): name for name in getattr(rows, "columns", ())}
    absent = [entry.name for entry in wanted if entry.name.replace(" ", "_") not in names]
    if absent:
        raise InputError(
            "the reference must have a column for each input of the ONNX model",
            f"it has none for {', '.join(absent[:8])}",
            "give the reference the names that the model was exported with",
        )
    return {entry.name: _cast_input(rows[[names[entry.name.replace(" ", "_")]]].to_numpy(), entry) for entry in wanted}


def _cast_input(values: NDArray[Any], entry: Any) -> NDArray[Any]:
    if entry.type == "tensor(string)":
        return np.array(
            [["" if value is None else str(value) for value in row] for row in values.tolist()], dtype=object
        )
    if entry.type not in DTYPE_BY_ONNX_TYPE:
        raise CapabilityError(
            "an ONNX model's inputs must be numbers or text",
            f"{entry.name!r} is {entry.type}",
            "export the model with float inputs",
        )
    return values.astype(DTYPE_BY_ONNX_TYPE[entry.type])
