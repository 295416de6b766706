"""PyTorch modules: scores, gradients and Hessian-vector products by autograd; their layers, where they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from counterpoise.errors import CapabilityError, InputError
from counterpoise.models.affine import AffineOutputs
from counterpoise.models.callables.function import AnswerFormat, Function, FunctionModel, infer_answer_format
from counterpoise.models.inputs import make_encoded_input_function
from counterpoise.models.layers import KnownActivation, LayerOutputs
from counterpoise.models.links import softmax
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Model, Points

ACTIVATIONS: dict[type[torch.nn.Module], KnownActivation] = {
    torch.nn.ReLU: "relu",
    torch.nn.Tanh: "tanh",
    torch.nn.Sigmoid: "logistic",
}
IDLE = (torch.nn.Identity, torch.nn.Dropout)  # in evaluation


def read_layers(module: torch.nn.Module, against_zero: bool) -> LayerOutputs | None:
    """The layers of a module, or None if it is no plain network; ``against_zero``: its one output becomes two."""
    found = _read_steps(module)
    if found is None:
        return None
    linear, activation = found
    weights = [_as_array(step.weight) for step in linear]
    biases = [np.zeros(step.out_features) if step.bias is None else _as_array(step.bias) for step in linear]
    if against_zero and len(biases[-1]) == 1:
        weights[-1], biases[-1] = np.pad(weights[-1], ((1, 0), (0, 0))), np.pad(biases[-1], (1, 0))
    rounding = float(torch.finfo(linear[0].weight.dtype).eps)
    first = AffineOutputs.of(weights[0], biases[0], rounding=rounding)
    if activation is None:
        return LayerOutputs(first)
    return LayerOutputs(first, tuple(weight.T for weight in weights[1:]), tuple(biases[1:]), activation)


def _read_steps(module: torch.nn.Module) -> tuple[list[Any], KnownActivation | None] | None:
    """The linear layers and the one activation between them (None for a single layer); None for any other module."""
    steps = [step for step in _flatten(module) if type(step) not in IDLE]
    linear = [step for step in steps if type(step) is torch.nn.Linear]
    between = {ACTIVATIONS.get(type(step)) for step in steps[1::2]}
    if steps[::2] != linear or len(steps) != 2 * len(linear) - 1 or len(between) > 1 or None in between:
        return None
    return linear, between.pop() if between else None


def _flatten(module: torch.nn.Module) -> list[Any]:
    if type(module) is not torch.nn.Sequential:
        return [module]
    return [step for part in module for step in _flatten(part)]


def _as_array(values: torch.Tensor) -> Array:
    return values.detach().to("cpu", torch.float64).numpy()


TRAINING_NOTE = "the module is in training mode: it is switched to evaluation for each call and back afterwards"
GUESSED_LABELS_NOTE = "the module's one output is read as that of label 1 against 0; for a number: cp.Function(module)"


@dataclass(frozen=True)
class TorchModel(FunctionModel):
    """A PyTorch module as a Model with derivatives. ``module`` is asked in evaluation mode and left as it was."""

    module: torch.nn.Module
    has_guessed_labels: bool  # nobody said what its one output is
    known_layers: LayerOutputs | None = None  # that repeat the module

    @property
    def layers(self) -> LayerOutputs | None:
        """The layers of a Linear, or of a Sequential of Linear and one activation."""
        return self.known_layers

    @property
    def has_softmax_probabilities(self) -> bool:
        """Whether the probabilities are the softmax of the outputs: they are logits."""
        return self.labels is not None and self.link == "identity"

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how the module is asked."""
        found = []
        if any(part.training for part in self.module.modules()):
            found.append(TRAINING_NOTE)
        if self.has_guessed_labels:
            found.append(GUESSED_LABELS_NOTE)
        return tuple(found)

    def probabilities(self, x: Points) -> Array | None:
        """The outputs where they are probabilities; the softmax of logits; None for a score."""
        if self.labels is None:
            return None
        outputs = self.outputs(x)
        return softmax(outputs) if self.has_softmax_probabilities else outputs

    def gradient(self, x: Array, weights: Array) -> Array:
        """Gradient ``(p, d)`` of the outputs summed with ``weights`` ``(p, c)``."""
        return run_in_batches(self.module, self._gradient_of_batch, x, self.pull_weights(weights))

    def hvp(self, x: Array, weights: Array, v: Array) -> Array:
        """``(p, d)``: the Hessian of the outputs summed with ``weights``, times ``v``, by differentiating twice."""
        return run_in_batches(self.module, self._hvp_of_batch, x, self.pull_weights(weights), v)

    def _gradient_of_batch(self, x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        x.requires_grad_()
        return _differentiate(_as_columns(self.module(x)), weights, x)

    def _hvp_of_batch(self, x: torch.Tensor, weights: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        x.requires_grad_()
        return _differentiate(_differentiate(_as_columns(self.module(x)), weights, x, keep=True), v, x)


def adapt(model: Any, schema: Schema, probe: Array) -> Model:
    """The Model of a module, or of a Function whose scores are a module; probe rows show the format of its output.

    A bare module with one output column gives the logit of the second of the labels 0 and 1; for a module that gives a
    number as such, ``cp.Function(module)``.
    """
    function = model if isinstance(model, Function) else Function(model)
    module: torch.nn.Module = function.scores  # type: ignore[assignment]
    words = [str(feature.name) for feature in schema if not feature.is_numeric and feature.kind != "boolean"]
    if words:
        raise CapabilityError(
            "a PyTorch module must be given columns of numbers",
            f"these hold categories: {', '.join(words[:8])}",
            "give a callable that prepares the rows as in training: lambda rows: module(prepare(rows)).detach()",
        )

    def scores(x: Array) -> Array:
        return run_in_batches(module, _make_forward(module), x)

    answer = _call_on_probe(scores, probe, module)
    single = answer.shape[1] == 1
    guessed = single and not isinstance(model, Function)
    if guessed:
        function = replace(function, labels=(0, 1))
    answer_format: AnswerFormat = infer_answer_format(function, answer[:, 0] if single else answer)
    make_input = make_encoded_input_function(schema)
    found = TorchModel(replace(function, scores=scores), make_input, answer_format, module, guessed)
    return replace(found, known_layers=_check_layers(found, schema, probe))


def _check_layers(model: TorchModel, schema: Schema, probe: Array, max_difference: float = 1e-4) -> LayerOutputs | None:
    """The layers of a module whose outputs are decision values or a number, if they repeat it on the probing rows."""
    known = read_layers(model.module, against_zero=model.labels is not None and len(model.labels) == 2)
    if known is None or model.link != "identity" or len(known.first.weights.T) != len(schema):
        return None
    known = known.spread(np.arange(len(schema)), len(schema), schema.numeric)
    rows = probe[np.isfinite(probe).all(axis=1)]
    outputs, layer_outputs = model.outputs(rows), known(rows)
    if outputs.shape != layer_outputs.shape or not len(rows):
        return None
    return (
        known if np.abs(outputs - layer_outputs).max() <= max_difference * max(np.abs(outputs).max(), 1e-300) else None
    )


def _call_on_probe(scores: Callable[[Array], Array], probe: Array, module: torch.nn.Module) -> Array:
    try:
        return scores(probe)
    except RuntimeError as error:
        dtypes = {str(t.dtype).removeprefix("torch.") for t in module.parameters() if t.is_floating_point()}
        if len(dtypes) < 2:
            raise
        raise InputError(
            "a module must compute in one floating dtype",
            f"its parameters have {', '.join(sorted(dtypes))}, and on rows in the first one's it raised: {error}",
            "convert the whole module, for instance module.float()",
        ) from error


def _make_forward(module: torch.nn.Module) -> Callable[[torch.Tensor], torch.Tensor]:
    def forward(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            return _as_columns(module(x))

    return forward


def _as_columns(out: torch.Tensor) -> torch.Tensor:
    return out[:, None] if out.ndim == 1 else out


def _differentiate(out: torch.Tensor, weights: torch.Tensor, x: torch.Tensor, *, keep: bool = False) -> torch.Tensor:
    if not out.requires_grad:  # flat along every row: a piecewise linear module differentiated twice
        return torch.zeros_like(x)
    (found,) = torch.autograd.grad((out * weights).sum(), x, create_graph=keep, allow_unused=True)
    return torch.zeros_like(x) if found is None else found


def run_in_batches(
    module: torch.nn.Module,
    ask: Callable[..., torch.Tensor],
    *arrays: NDArray[Any],
    max_numbers_together: int = 2**22,
) -> Array:
    """The results ``(p, c)`` of ``ask`` on batches of the arrays ``(p, d)``, with the module in evaluation mode.

    ``max_numbers_together`` numbers of an array are given at a time; half as many wherever memory does not suffice.
    """
    like = next((t for t in (*module.parameters(), *module.buffers()) if t.is_floating_point()), torch.empty(0))
    size = max(1, max_numbers_together // max(1, arrays[0].shape[1]))
    with _evaluation_mode(module):
        while True:
            try:
                parts = [
                    ask(*(torch.as_tensor(a[start : start + size]).to(like, copy=True) for a in arrays))
                    for start in range(0, max(1, len(arrays[0])), size)
                ]
                return torch.cat(parts).detach().to("cpu", torch.float64).numpy()
            except RuntimeError as error:
                if size == 1 or "out of memory" not in str(error):
                    raise
                size = max(1, min(size, len(arrays[0])) // 2)


@contextmanager
def _evaluation_mode(module: torch.nn.Module) -> Iterator[None]:
    training = [part for part in module.modules() if part.training]
    for part in training:
        part.training = False
    try:
        yield
    finally:
        for part in training:
            part.training = True
