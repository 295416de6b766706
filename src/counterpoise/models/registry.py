"""as_model: the table that finds the adapter of a fitted model without importing any library that it might be from."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, cast

import numpy as np

from counterpoise.errors import CapabilityError, CounterpoiseError, InputError, ModelError
from counterpoise.models.inputs import make_up_rows
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import require_whole_characters
from counterpoise.types import Array, MinimalModel, Model, ModelBase


def make_class_test(*classes: str) -> Callable[[Any], bool]:
    """A test: does the class of an object, or a class it inherits from, have one of these full names?

    A name ending in a dot stands for every class of that package. Nothing is imported: an object's ancestors are
    loaded already.

    >>> make_class_test("collections.OrderedDict")({}), make_class_test("builtins.")({})
    (False, True)
    """

    def recognise(model: Any) -> bool:
        ancestors = [f"{cls.__module__}.{cls.__qualname__}" for cls in type(model).__mro__ if cls is not object]
        return any(
            name == wanted or (wanted.endswith(".") and name.startswith(wanted))
            for name in ancestors
            for wanted in classes
        )

    return recognise


FUNCTION_CLASS = "counterpoise.models.callables.function.Function"
MODEL_LIST_CLASSES = ("builtins.list", "builtins.tuple", "counterpoise.models.callables.agreement.Agreement")


def _has_scores_of_class(model: Any, wanted: str) -> bool:
    """Whether a model, or the scores of a Function, are of a class."""
    return make_class_test(wanted)(model.scores if make_class_test(FUNCTION_CLASS)(model) else model)


def _is_predict_method(method: Any) -> bool:
    """Whether an object is the method of a fitted model by which it decides."""
    return getattr(method, "__name__", "") in ("predict", "predict_proba") and hasattr(method, "__self__")


class Adapter(NamedTuple):
    """One kind of model: what people call it, how it is recognised, and where its ``adapt`` lives.

    ``adapt(model, schema, probe)`` of the named module gives the Model, or None where the object turns out not to be
    one of its kind: the table is then read on.
    """

    kind: str
    recognises: Callable[[Any], bool]
    module: str


ADAPTERS: tuple[Adapter, ...] = (
    Adapter(
        "objects with labels, link, outputs, predict and probabilities of encoded rows",
        lambda model: isinstance(model, MinimalModel),
        "callables.model_object",
    ),
    Adapter(
        "several models that must agree: a list, or cp.Agreement",
        make_class_test(*MODEL_LIST_CLASSES),
        "callables.agreement",
    ),
    Adapter(
        "PyTorch modules",
        lambda model: _has_scores_of_class(model, "torch.nn.modules.module.Module"),
        "libraries.torch",
    ),
    Adapter("ONNX sessions", lambda model: _has_scores_of_class(model, "onnxruntime."), "libraries.onnx"),
    Adapter("cp.Function", make_class_test(FUNCTION_CLASS), "callables.function"),
    Adapter("XGBoost models and boosters", make_class_test("xgboost."), "libraries.xgboost"),
    Adapter("LightGBM models and boosters", make_class_test("lightgbm."), "libraries.lightgbm"),
    Adapter("CatBoost models", make_class_test("catboost."), "libraries.catboost"),
    Adapter(
        "scikit-learn's trees and forests", make_class_test("sklearn.tree.", "sklearn.ensemble."), "sklearn.forest"
    ),
    Adapter("scikit-learn's histogram boosting", make_class_test("sklearn.ensemble."), "sklearn.hist_boosting"),
    Adapter(
        "scikit-learn classifiers, regressors, outlier detectors and pipelines",
        make_class_test("sklearn.base.BaseEstimator"),
        "sklearn.estimator",
    ),
    Adapter(
        "objects with scikit-learn's predict",
        lambda model: callable(getattr(model, "predict", None)),
        "sklearn.estimator",
    ),
    Adapter("model.predict_proba or model.predict of trees", _is_predict_method, "sklearn.bound_method"),
    Adapter("any callable that takes rows and returns probabilities, scores or labels", callable, "callables.function"),
)
"""Read from the top: the special before the general."""


def as_model(model: Any, schema: Schema, probe: Array | None = None) -> Model:
    """The Model of any supported object; one that an adapter made already comes back as it is.

    ``probe`` ``(r, d)`` holds a few encoded reference rows, on which the object may be called once to learn what it
    returns; without any, rows are made up from the schema.

    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"rate": [0.0, 2.5]}))
    >>> as_model(lambda rows: rows["rate"] > 1, schema, np.array([[0.0], [2.5]])).labels
    (False, True)
    """
    if isinstance(model, type):
        raise InputError(
            "a model must be a fitted object",
            f"the class {model.__name__} was given",
            f"make and fit one, then give it: {model.__name__}(…).fit(X, y)",
        )
    if isinstance(model, ModelBase) and isinstance(model, MinimalModel):
        return cast(Model, model)
    rows = make_up_rows(schema) if probe is None or not len(probe) else probe
    complete = ~np.isnan(rows).any(axis=1)  # a model need not accept missing cells
    rows = rows[complete] if complete.any() else rows
    for adapter in ADAPTERS:
        if adapter.recognises(model):
            found = _try_adapter(adapter, model, schema, rows)
            if found is not None:
                require_whole_characters(found.labels or (), "labels of a model")
                return found
    raise CapabilityError(
        "a model must be one of: " + "; ".join(adapter.kind for adapter in ADAPTERS),
        f"{type(model).__module__}.{type(model).__qualname__} is none of them",
        "give a callable that scores rows, for instance: lambda rows: model.score_rows(rows)",
    )


def _try_adapter(adapter: Adapter, model: Any, schema: Schema, rows: Array) -> Model | None:
    try:
        found: Model | None = import_module(f"counterpoise.models.{adapter.module}").adapt(model, schema, rows)
    except CounterpoiseError:
        raise
    except Exception as error:
        raise ModelError(
            "a model must accept rows as the reference has them",
            f"on {len(rows)} of them {type(model).__name__} raised {type(error).__name__}: {error}",
            "try it on the reference itself; a function of arrays enters as cp.Function(scores=…, array=True)",
        ) from error
    return found
