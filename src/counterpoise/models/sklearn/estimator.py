"""scikit-learn classifiers, regressors, outlier detectors and pipelines, asked through their public methods."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from counterpoise.errors import CapabilityError, CounterpoiseError, InputError
from counterpoise.models.inputs import InputFunction, choose_input_function, find_model_columns, fitted_column_names
from counterpoise.models.registry import as_model
from counterpoise.models.sklearn.formulas.formula import (
    MAX_DIFFERENCE_FOR_SLOPES,
    MAX_DIFFERENCE_TO_REPLACE,
    adapt_formula,
    score_difference,
)
from counterpoise.models.sklearn.meta.members import adapt_meta_estimator
from counterpoise.models.sklearn.outputs import (
    OutputFunction,
    find_deciding_estimator,
    has_probabilities,
    list_output_functions,
    make_detection_outputs,
    make_regression_outputs,
)
from counterpoise.models.sklearn.pipeline.columnwise import ColumnwiseSteps
from counterpoise.models.sklearn.pipeline.last_step import LastStepModel, make_last_step_model
from counterpoise.models.sklearn.pipeline.projections import ColumnwiseThenMixing, is_mixing_step, read_mixing_step
from counterpoise.models.sklearn.pipeline.read import flatten_steps, read_columnwise_steps
from counterpoise.models.sklearn.pipeline.trees_behind import carry_trees_back
from counterpoise.models.trees.opened import MAX_ROUNDING_DIFFERENCE, TreeModel, make_tree_model, relative_difference
from counterpoise.space.schema.schema import Schema, numeric_schema
from counterpoise.types import Array, Index, Link, Model, ModelBase, Points

EstimatorKind = Literal["classifier", "regressor", "outlier_detector"]
OUTLIER_LABELS = ("outlier", "inlier")


@dataclass(frozen=True)
class SklearnModel(ModelBase):
    """A scikit-learn estimator as a Model. ``classes`` are its own, in the order of the outputs."""

    model: Any
    make_input: InputFunction
    kind: EstimatorKind
    classes: NDArray[Any] | None
    link: Link
    output_function: OutputFunction
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The classes in the order of the outputs; "outlier" and "inlier" for a detector; None for a regressor."""
        return None if self.classes is None else tuple(self.classes.tolist())

    def outputs(self, x: Points) -> Array:
        """Decision values where the estimator has them, else probabilities, else 1 for the class that it says."""
        with self._without_warnings():
            return self.output_function(self.make_input(x))

    def predict(self, x: Points) -> NDArray[Any]:
        """What the estimator's own ``predict`` says."""
        with self._without_warnings():
            predicted = np.asarray(self.model.predict(self.make_input(x)))
        if self.kind == "outlier_detector":
            return np.where(predicted == -1, *OUTLIER_LABELS)
        return predicted[:, 0] if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted

    def probabilities(self, x: Points) -> Array | None:
        """The estimator's own ``predict_proba``, or None where it has none."""
        if self.kind != "classifier" or not has_probabilities(self.model):
            return None
        with self._without_warnings():
            return np.asarray(self.model.predict_proba(self.make_input(x)), dtype=np.float64)

    def _without_warnings(self) -> AbstractContextManager[Any]:
        """Far from the data a model may overflow; its outputs are checked by the caller."""
        return _silence_warnings() if self._warns_about_names else np.errstate(all="ignore")

    @cached_property
    def _warns_about_names(self) -> bool:
        return type(find_deciding_estimator(self.model)).__name__ == "LocalOutlierFactor"


@contextmanager
def _silence_warnings() -> Iterator[None]:
    """For an estimator that drops the columns' names before it asks its own parts."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


def adapt(model: Any, schema: Schema, probe: Array) -> Model:
    """The Model of a fitted estimator; the probing rows decide which of its methods gives the outputs.

    A parameter search stands for its best estimator. A pipeline whose first steps are arithmetic is asked through its
    last step, and an estimator with a formula through the formula, if they repeat its answers on the probing rows.
    """
    check_fitted(model)
    if hasattr(model, "best_estimator_"):
        return as_model(model.best_estimator_, schema, probe)
    plain = make_sklearn_model(model, choose_input_function(model, schema, probe), probe)
    columns = find_model_columns(schema, fitted_column_names(model), getattr(model, "n_features_in_", None))
    if isinstance(model, Pipeline):
        *first, last = flatten_steps(model)
        front = read_columnwise_steps(first, schema, columns)
        if front is not None:
            return _adapt_columnwise_pipeline(last, plain, front, schema, probe) or plain
        return _adapt_mixing_pipeline(first, last, plain, schema, columns, probe) or plain
    made_of_trees = adapt_meta_estimator(model, plain, schema, probe)
    if made_of_trees is not None:
        return made_of_trees
    numbers = all(schema.features[place].is_numeric or schema.features[place].kind == "boolean" for place in columns)
    return (adapt_formula(model, plain, columns, schema.numeric, probe) if numbers else None) or plain


def _adapt_mixing_pipeline(
    first: list[Any], last: Any, plain: Model, schema: Schema, columns: Index, probe: Array
) -> Model | None:
    """A pipeline whose first steps mix columns and whose later ones have a slope; None for any other."""
    place = next((number for number, step in enumerate(first) if is_mixing_step(step)), None)
    front = None if place is None else read_columnwise_steps(first[:place], schema, columns)
    if place is None or front is None:
        return None
    mixture = read_mixing_step(first[place], front(probe))
    if mixture is None:
        return None
    rest = first[place + 1 :]
    found = _make_last_step(
        make_pipeline(*rest, last) if rest else last, plain, ColumnwiseThenMixing(front, mixture), probe
    )
    return None if found is None or found.gradient is None else found


def _make_last_step(
    last: Any, plain: Model, front: ColumnwiseSteps | ColumnwiseThenMixing, probe: Array
) -> LastStepModel | None:
    """A pipeline asked through its last step; None if the two give different outputs."""
    z = front(probe)
    try:
        last_model = as_model(last, numeric_schema(z.shape[1]), z)
    except CounterpoiseError:
        return None  # fitted on something else than an array of numbers
    loose = last_model.gradient is not None or last_model.link != plain.link
    if score_difference(last_model.outputs(z), last_model.link, plain, probe) > (
        MAX_DIFFERENCE_FOR_SLOPES if loose else MAX_DIFFERENCE_TO_REPLACE
    ):
        return None
    return make_last_step_model(plain, front, last_model)


def _adapt_columnwise_pipeline(
    last: Any, plain: Model, front: ColumnwiseSteps, schema: Schema, probe: Array
) -> Model | None:
    found = _make_last_step(last, plain, front, probe)
    trees = (
        carry_trees_back(found.last_step.trees, front, schema)
        if found and isinstance(found.last_step, TreeModel)
        else None
    )
    if found is None or trees is None:
        return found
    # Trees in the row's own columns need no first steps: they answer if they repeat the pipeline to the bit.
    # Not behind curved steps: log of a non-positive value is NaN, for which these trees have no rule.
    away = relative_difference(trees.outputs, found.outputs, probe)
    if not away <= MAX_ROUNDING_DIFFERENCE:
        return found
    return make_tree_model(found, trees.outputs if away == 0 and not front.is_curved else found.outputs, trees, probe)


def make_sklearn_model(model: Any, make_input: InputFunction, probe: Array) -> SklearnModel:
    """A fitted estimator that reads what ``make_input`` makes; its outputs are the first kind that agrees with predict.

    In order: decision values, probabilities, and last a 1 for the class predicted beside a fraction of the score.
    """
    kind = kind_of(model)
    if kind == "regressor":
        found = SklearnModel(model, make_input, kind, None, "identity", make_regression_outputs(model))
        found.outputs(probe)  # one number a row, or an error that says so
        return found
    if kind == "outlier_detector":
        return SklearnModel(
            model, make_input, kind, np.array(OUTLIER_LABELS), "identity", make_detection_outputs(model)
        )
    classes = classes_of(model)
    *earlier, last = list_output_functions(model, classes)
    predicted = SklearnModel(model, make_input, kind, classes, *last).predict(probe)
    if predicted.ndim != 1:
        raise _make_several_targets_error(model, predicted.shape[1])
    for way in earlier:
        found = SklearnModel(model, make_input, kind, classes, *way)
        if np.array_equal(classes[found.outputs(probe).argmax(axis=1)], predicted):
            return found
    return SklearnModel(model, make_input, kind, classes, *last)


def check_fitted(model: Any) -> None:
    """An InputError for an estimator that was not fitted."""
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        name = type(model).__name__
        raise InputError("a model must be fitted", f"this {name} is not fitted", f"call {name}.fit first") from error
    except (AttributeError, TypeError):
        pass  # not one of scikit-learn's own: what it answers on the probing rows decides


def kind_of(model: Any) -> EstimatorKind:
    """Whether an estimator gives classes, numbers, or outliers."""
    tags = getattr(model, "__sklearn_tags__", None)
    found = tags().estimator_type if callable(tags) else getattr(model, "_estimator_type", None)
    if found in ("classifier", "regressor", "outlier_detector"):
        kind: EstimatorKind = found
        return kind
    if found is None and hasattr(model, "predict"):
        return "classifier" if hasattr(model, "classes_") else "regressor"
    raise CapabilityError(
        "a scikit-learn model must be a classifier, a regressor or an outlier detector with a predict",
        f"{type(model).__name__} is {'a ' + str(found) if found else 'none of them'}",
        "give the estimator that predicts, or a callable: lambda rows: model.predict(rows)",
    )


def classes_of(model: Any) -> NDArray[Any]:
    """The classes of a classifier ``(c,)``, two or more."""
    classes = getattr(model, "classes_", None)
    if isinstance(classes, list):
        raise _make_several_targets_error(model, len(classes))
    if classes is None or len(classes) < 2:
        raise InputError(
            "a classifier must know two classes or more",
            f"{type(model).__name__} knows {0 if classes is None else len(classes)}",
            "fit it on labelled rows of two classes or more",
        )
    return np.asarray(classes)


def _make_several_targets_error(model: Any, count: int) -> CapabilityError:
    return CapabilityError(
        "a classifier must answer one question",
        f"{type(model).__name__} answers {count} at once",
        "explain them one by one: lambda rows: model.predict(rows)[:, 0]",
    )
