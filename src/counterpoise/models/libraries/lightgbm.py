"""LightGBM: LGBMClassifier, LGBMRegressor, LGBMRanker and Booster; native categories included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntFlag
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.models.inputs import find_model_columns, make_input_function, note_unknown_categories
from counterpoise.models.libraries.boosters import BoosterModel, as_outputs, make_label_function, match_column_names
from counterpoise.models.links import ToOutputs, exponential, keep_sums, logistic, two_outputs_zero_first
from counterpoise.models.sklearn.estimator import check_fitted
from counterpoise.models.trees.columns import ColumnReading, read_columns
from counterpoise.models.trees.ensemble import LibraryTrees, Tree
from counterpoise.models.trees.opened import open_trees
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.space.schema.tables_in import quote_names
from counterpoise.types import Array, Model

CLASS_OBJECTIVES = ("binary", "multiclass", "multiclassova")
LOGARITHMIC_OBJECTIVES = ("poisson", "gamma", "tweedie")
LINEAR_OBJECTIVES = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg")
ZERO_THRESHOLD = float(np.float32(1e-35))  # values this small are read as 0


class SplitBits(IntFlag):
    """The bits of a split's decision type in LightGBM's text; neither of the last two: missing cells are read as 0."""

    CATEGORICAL = 1
    DEFAULT_LEFT = 2
    ZERO_IS_MISSING = 4
    NAN_IS_MISSING = 8


def adapt(model: Any, schema: Schema, probe: Array) -> Model | None:
    """The Model of a fitted LightGBM estimator or Booster; None for a classifier with an objective of its own."""
    fitted = hasattr(model, "get_params")
    if fitted:
        check_fitted(model)
    booster = model.booster_ if fitted else model
    text = booster.model_to_string()
    head = dict(_parse_pairs(text.partition("\nTree=")[0]))
    objective, *options = head.get("objective", "").split()
    labels: tuple[Any, ...] | None = None
    if objective in CLASS_OBJECTIVES:
        labels = tuple(model.classes_.tolist()) if fitted else tuple(range(max(2, int(head["num_class"]))))
    elif type(model).__name__.endswith("Classifier"):
        return None
    raw = labels is not None

    def ask(rows: Any) -> Array:
        return as_outputs(booster.predict(rows, raw_score=raw), labels)

    names, width = match_column_names(booster.feature_name(), schema), booster.num_feature()
    columns = find_model_columns(schema, names, width)
    features = [schema.features[place] for place in columns]
    _check_category_columns(len(booster.pandas_categorical or ()), features, schema.frame)
    known = _known_categories(booster, head, schema, columns.tolist())
    make_input = make_input_function(schema, names, width, frame=bool(booster.pandas_categorical))
    own_model = BoosterModel(
        make_input, labels, ask, *_make_predictions(model, booster, labels), notes=_note_categories(features, known)
    )
    reading = read_columns(schema, columns, known)
    if reading is None:
        return own_model
    exact = labels is not None or (objective in LINEAR_OBJECTIVES and "sqrt" not in options)
    library = _make_library_outputs(ask, reading)
    return open_trees(
        own_model, _read_trees(text, head, raw), reading, probe, library=library, max_rows=None if exact else 0
    )


def _make_predictions(
    model: Any, booster: Any, labels: tuple[Any, ...] | None
) -> tuple[Callable[[Any], Any], Callable[[Any], Any] | None]:
    """What says the label or number of rows, and what their probabilities: the estimator itself, or a Booster."""
    if labels is None:
        return booster.predict, None
    if model is not booster:
        return model.predict, model.predict_proba
    return make_label_function(booster.predict, labels), booster.predict


def _note_categories(features: list[Feature], known: dict[int, Any]) -> tuple[str, ...]:
    """A note for each column of categories that has some the model never saw."""
    return tuple(
        note
        for column, levels in known.items()
        if not features[column].is_numeric
        for note in note_unknown_categories(features[column], levels, refused=False)
    )


def _make_library_outputs(ask: Callable[[Any], Array], reading: ColumnReading) -> Callable[[Array], Array]:
    return lambda x: ask(reading.to_model_rows(x))


def _check_category_columns(listed: int, features: list[Feature], frame: bool) -> None:
    coded = [feature.name for feature in features if isinstance(feature.dtype, pd.CategoricalDtype)]
    if frame and len(coded) != listed:
        raise InputError(
            f"the reference must have as many columns of dtype 'category' as the model was fitted on: {listed}",
            f"it has {len(coded)}{': ' if coded else ''}{quote_names(coded)}",
            "give the columns the dtypes of the training data, for instance astype('category')",
        )


def _known_categories(booster: Any, head: dict[str, str], schema: Schema, columns: list[int]) -> dict[int, Any]:
    """The categories of each categorical column, in the order of the model's numbers."""
    listed = iter(booster.pandas_categorical or [])
    known: dict[int, Any] = {}
    for column, (place, seen) in enumerate(zip(columns, head["feature_infos"].split(), strict=True)):
        if not schema.features[place].is_numeric and schema.features[place].kind != "boolean":
            levels = next(listed, None)  # one list for each category column of the frame it was fitted on, in order
            if levels is not None:
                known[column] = levels
        elif ":" in seen and not seen.startswith("["):
            known[column] = range(1 + max(int(code) for code in seen.split(":")))
    return known


def _read_trees(text: str, head: dict[str, str], classifier: bool) -> LibraryTrees | None:
    per_round = int(head["num_tree_per_iteration"])
    trees: list[Tree] = []
    for number, block in enumerate(text.partition("\nend of trees")[0].split("\nTree=")[1:]):
        tree = _read_tree(dict(_parse_pairs(block)), number % per_round)
        if tree is None:
            return None
        trees.append(tree)
    objective = head.get("objective", "")
    finish: ToOutputs = keep_sums
    if classifier:
        finish = two_outputs_zero_first if per_round == 1 else keep_sums
    elif objective.startswith(LOGARITHMIC_OBJECTIVES):
        finish = exponential
    elif objective.startswith("cross_entropy"):
        finish = logistic
    # Raw scores are sums even of a forest; its predictions are means.
    mean = not classifier and "average_output" in text.partition("\nTree=")[0].split("\n")
    return LibraryTrees(trees, np.zeros(per_round), finish, averages_leaves=mean)


def _parse_pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        key, found, value = line.partition("=")
        if found:
            yield key, value


def _read_tree(block: dict[str, str], column: int) -> Tree | None:
    """One tree; None if it is not constant on boxes (linear leaves, zeros treated as missing)."""
    leaves = np.array(block["leaf_value"].split(), dtype=np.float64)
    inner = int(block["num_leaves"]) - 1
    if block.get("is_linear", "0") != "0":
        return None

    def ints(key: str) -> Any:
        return np.array(block[key].split() if inner else [], dtype=np.intp)

    kinds = ints("decision_type")
    by_category = kinds & SplitBits.CATEGORICAL > 0
    if (~by_category & (kinds & SplitBits.ZERO_IS_MISSING > 0)).any():
        return None
    written = np.array(block["threshold"].split() if inner else [], dtype=np.float64)
    threshold = np.where(
        np.abs(written) <= ZERO_THRESHOLD,
        np.where(written < 0, np.nextafter(-ZERO_THRESHOLD, -np.inf), ZERO_THRESHOLD),
        written,
    )
    reads_zero = kinds & (SplitBits.ZERO_IS_MISSING | SplitBits.NAN_IS_MISSING) == 0
    missing_left = np.where(reads_zero, threshold >= 0, kinds & SplitBits.DEFAULT_LEFT > 0)
    nothing = np.full(len(leaves), -1)
    return Tree(
        np.concatenate([ints("split_feature"), nothing]).astype(np.intp),
        np.concatenate([threshold, np.full(len(leaves), np.nan)]),
        np.concatenate([_child_places(ints("left_child"), inner), nothing]).astype(np.intp),
        np.concatenate([_child_places(ints("right_child"), inner), nothing]).astype(np.intp),
        np.concatenate([missing_left & ~by_category, nothing > 0]),
        np.concatenate([np.zeros(inner), leaves])[:, None],
        {
            node: (_read_category_codes(block, int(written[node])), True)
            for node in np.flatnonzero(by_category).tolist()
        },
        column,
    )


def _child_places(children: Any, inner: int) -> Any:
    """Inner nodes keep their number; a leaf, written as its complement, comes after them."""
    return np.where(children < 0, inner + ~children, children)


def _read_category_codes(block: dict[str, str], number: int) -> frozenset[int]:
    ends = [int(end) for end in block["cat_boundaries"].split()]
    words = np.array(block["cat_threshold"].split()[ends[number] : ends[number + 1]], dtype="<u4")
    return frozenset(np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist())
