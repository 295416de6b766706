"""What the boosting libraries share: models asked through their own methods, and names of columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.inputs import InputFunction
from counterpoise.models.links import as_two_outputs
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Link, ModelBase, Points

AUTOMATIC_NAME_PATTERN = re.compile(r"(Column_|f)?\d+")  # what the libraries call the columns of an array


@dataclass(frozen=True, eq=False)
class BoosterModel(ModelBase):
    """A boosted model, asked through functions of the input that ``make_input`` makes of encoded rows.

    ``output_function`` gives decision values or a regression's numbers, ``label_function`` labels,
    ``probability_function`` probabilities.
    """

    make_input: InputFunction
    labels: tuple[Any, ...] | None
    output_function: Callable[[Any], Array]
    label_function: Callable[[Any], Any]
    probability_function: Callable[[Any], Any] | None = None
    link: Link = "identity"
    notes: tuple[str, ...] = ()

    def outputs(self, x: Points) -> Array:
        """Decision values ``(p, c)``, or predictions ``(p, 1)``."""
        return self.output_function(self.make_input(x))

    def predict(self, x: Points) -> NDArray[Any]:
        """What the model's own ``predict`` says."""
        return np.asarray(self.label_function(self.make_input(x))).reshape(-1)

    def probabilities(self, x: Points) -> Array | None:
        """The model's own probabilities, or None."""
        if self.probability_function is None:
            return None
        found = np.asarray(self.probability_function(self.make_input(x)), dtype=np.float64)
        return found if found.ndim == 2 else np.stack([1.0 - found, found], axis=1)


def as_outputs(values: Any, labels: tuple[Any, ...] | None) -> Array:
    """Margins or predictions as a library returns them, ``(p,)`` or ``(p, c)``, as outputs."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim == 1:
        return array[:, None] if labels is None else as_two_outputs(array)
    return array


def make_label_function(likely: Callable[[Any], Any], labels: tuple[Any, ...]) -> Callable[[Any], NDArray[Any]]:
    """The prediction of a booster without classes of its own: the label of the largest probability."""

    def predict_labels(rows: Any) -> NDArray[Any]:
        found = np.asarray(likely(rows))
        chosen = (found > 0.5).astype(np.intp) if found.ndim == 1 else found.argmax(axis=1)
        return np.asarray(np.array(labels)[chosen])

    return predict_labels


def match_column_names(names: Sequence[str] | None, schema: Schema) -> list[Hashable] | None:
    """The schema's names of the columns that a booster remembers by name, or None where it was fitted on an array.

    >>> import pandas as pd
    >>> match_column_names(["flow_rate"], Schema.infer(pd.DataFrame({"flow rate": [0.5, 1.5]})))
    ['flow rate']
    """
    if names is None:
        return None
    known: dict[str, Hashable] = {str(name).replace(" ", "_"): name for name in schema.names}
    known |= {str(name): name for name in schema.names}  # LightGBM writes blanks as underscores
    if not any(name in known for name in names) and all(AUTOMATIC_NAME_PATTERN.fullmatch(name) for name in names):
        return None
    return [known.get(name, name) for name in names]
