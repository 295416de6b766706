"""LightGBM: LGBMClassifier, LGBMRegressor, LGBMRanker and Booster; native categories included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.models.boosting import Boosted, as_outputs, most_likely, names_of, strangers
from counterpoise.models.feeding import columns_of, feed
from counterpoise.models.links import Finish, as_is, exponential, first_and_second, logistic
from counterpoise.models.reading import Reading, plain
from counterpoise.models.sklearn import check_fitted
from counterpoise.models.trees import Grove, Tree
from counterpoise.models.whitebox import open_up
from counterpoise.space.features import Feature, Schema
from counterpoise.space.frames import quoted
from counterpoise.types import Array, Model

CLASSES = ("binary", "multiclass", "multiclassova")
LOGARITHMIC = ("poisson", "gamma", "tweedie")
LINEAR = ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg")
CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of a split's decision type; the next two say what counts as missing
MISSING_NONE, MISSING_ZERO = 0, 1
ZERO = float(np.float32(1e-35))  # values this small are read as 0


def adapt(model: Any, schema: Schema, probe: Array) -> Model | None:
    """The Model of a fitted LightGBM estimator or Booster; None for a classifier with an objective of its own."""
    fitted = hasattr(model, "get_params")
    if fitted:
        check_fitted(model)
    booster = model.booster_ if fitted else model
    text = booster.model_to_string()
    head = dict(_pairs(text.partition("\nTree=")[0]))
    objective, *options = head.get("objective", "").split()
    labels: tuple[Any, ...] | None = None
    if objective in CLASSES:
        labels = tuple(model.classes_.tolist()) if fitted else tuple(range(max(2, int(head["num_class"]))))
    elif type(model).__name__.endswith("Classifier"):
        return None
    raw = labels is not None

    def ask(rows: Any) -> Array:
        return as_outputs(booster.predict(rows, raw_score=raw), labels)

    names, width = names_of(booster.feature_name(), schema), booster.num_feature()
    columns = columns_of(schema, names, width)
    _check_categories(
        len(booster.pandas_categorical or ()), [schema.features[place] for place in columns], schema.frame
    )
    known = _known(booster, head, schema, columns.tolist())
    notes = tuple(
        note
        for column, levels in known.items()
        if not schema.features[columns[column]].numeric
        for note in strangers(schema.features[columns[column]], levels, refused=False)
    )
    give = feed(schema, names, width, frame=bool(booster.pandas_categorical))
    if labels is None:
        own = Boosted(give, None, ask, booster.predict, notes=notes)
    elif fitted:
        own = Boosted(give, labels, ask, model.predict, model.predict_proba, notes=notes)
    else:
        own = Boosted(give, labels, ask, most_likely(booster.predict, labels), booster.predict, notes=notes)
    reading = plain(schema, columns, known)
    if reading is None:
        return own
    exact = labels is not None or (objective in LINEAR and "sqrt" not in options)
    library = _library(ask, reading)
    return open_up(own, _grove(text, head, raw), reading, probe, library=library, most=None if exact else 0)


def _library(ask: Callable[[Any], Array], reading: Reading) -> Callable[[Array], Array]:
    return lambda x: ask(reading.rows(x))


def _check_categories(listed: int, features: list[Feature], frame: bool) -> None:
    coded = [feature.name for feature in features if isinstance(feature.dtype, pd.CategoricalDtype)]
    if frame and len(coded) != listed:
        raise InputError(
            f"the reference must have as many columns of dtype 'category' as the model was fitted on: {listed}",
            f"it has {len(coded)}{': ' if coded else ''}{quoted(coded)}",
            "give the columns the dtypes of the training data, for instance astype('category')",
        )


def _known(booster: Any, head: dict[str, str], schema: Schema, columns: list[int]) -> dict[int, Any]:
    """The categories of each categorical column, in the order of the model's numbers."""
    listed = iter(booster.pandas_categorical or [])
    known: dict[int, Any] = {}
    for column, (place, seen) in enumerate(zip(columns, head["feature_infos"].split(), strict=True)):
        if not schema.features[place].numeric and schema.features[place].kind != "boolean":
            levels = next(listed, None)  # one list for each category column of the frame it was fitted on, in order
            if levels is not None:
                known[column] = levels
        elif ":" in seen and not seen.startswith("["):
            known[column] = range(1 + max(int(code) for code in seen.split(":")))
    return known


def _grove(text: str, head: dict[str, str], classifier: bool) -> Grove | None:
    per_round = int(head["num_tree_per_iteration"])
    trees: list[Tree] = []
    for number, block in enumerate(text.partition("\nend of trees")[0].split("\nTree=")[1:]):
        tree = _tree(dict(_pairs(block)), number % per_round)
        if tree is None:
            return None
        trees.append(tree)
    objective = head.get("objective", "")
    finish: Finish = as_is
    if classifier:
        finish = first_and_second if per_round == 1 else as_is
    elif objective.startswith(LOGARITHMIC):
        finish = exponential
    elif objective.startswith("cross_entropy"):
        finish = logistic
    # Raw scores are sums even of a forest; its predictions are means.
    mean = not classifier and "average_output" in text.partition("\nTree=")[0].split("\n")
    return Grove(trees, np.zeros(per_round), finish, mean=mean)


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for line in text.split("\n"):
        key, found, value = line.partition("=")
        if found:
            yield key, value


def _tree(block: dict[str, str], column: int) -> Tree | None:
    """One tree, or None where it is not constant on boxes: linear leaves, or zeros that count as missing."""
    leaves = np.array(block["leaf_value"].split(), dtype=np.float64)
    inner = int(block["num_leaves"]) - 1
    if block.get("is_linear", "0") != "0":
        return None

    def ints(key: str) -> Any:
        return np.array(block[key].split() if inner else [], dtype=np.intp)

    kinds = ints("decision_type")
    if (((kinds >> 2) & 3 == MISSING_ZERO) & (kinds & CATEGORICAL == 0)).any():
        return None
    written = np.array(block["threshold"].split() if inner else [], dtype=np.float64)
    threshold = np.where(np.abs(written) <= ZERO, np.where(written < 0, np.nextafter(-ZERO, -np.inf), ZERO), written)
    by_category = kinds & CATEGORICAL == 1
    missing_left = kinds & DEFAULT_LEFT == DEFAULT_LEFT
    missing_left = np.where((kinds >> 2) & 3 == MISSING_NONE, threshold >= 0, missing_left)  # missing is read as 0
    nothing = np.full(len(leaves), -1)
    return Tree(
        np.concatenate([ints("split_feature"), nothing]).astype(np.intp),
        np.concatenate([threshold, np.full(len(leaves), np.nan)]),
        np.concatenate([_places(ints("left_child"), inner), nothing]).astype(np.intp),
        np.concatenate([_places(ints("right_child"), inner), nothing]).astype(np.intp),
        np.concatenate([missing_left & ~by_category, nothing > 0]),
        np.concatenate([np.zeros(inner), leaves])[:, None],
        {node: (_codes(block, int(written[node])), True) for node in np.flatnonzero(by_category).tolist()},
        column,
    )


def _places(children: Any, inner: int) -> Any:
    """Inner nodes keep their number; a leaf, written as its complement, comes after them."""
    return np.where(children < 0, inner + ~children, children)


def _codes(block: dict[str, str], number: int) -> frozenset[int]:
    ends = [int(end) for end in block["cat_boundaries"].split()]
    words = np.array(block["cat_threshold"].split()[ends[number] : ends[number + 1]], dtype="<u4")
    return frozenset(np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little")).tolist())
