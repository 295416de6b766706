"""CatBoost: CatBoostClassifier, CatBoostRegressor, CatBoostRanker and CatBoost.

A model that splits numbers alone shows its trees. One that splits by category statistics, texts or hashed categories is
not cut along the columns: it is asked through its own methods, and has no thresholds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from counterpoise.errors import InputError
from counterpoise.models.inputs import find_model_columns, make_input_function
from counterpoise.models.libraries.boosters import BoosterModel, as_outputs, match_column_names
from counterpoise.models.links import ToOutputs, exponential, keep_sums, two_outputs_zero_first
from counterpoise.models.trees.columns import ColumnReading, read_columns
from counterpoise.models.trees.ensemble import LibraryTrees, Tree
from counterpoise.models.trees.opened import open_trees
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Model

LOGARITHMIC_OBJECTIVES = ("Poisson", "Tweedie")


def adapt(model: Any, schema: Schema, probe: Array) -> Model | None:
    """The Model of a fitted CatBoost model; None for several labels at once, or a threshold of the user's own."""
    if not model.is_fitted():
        name = type(model).__name__
        raise InputError("a model must be fitted", f"this {name} is not fitted", f"call {name}.fit first")
    objective = str(model.get_all_params().get("loss_function", ""))
    if objective.startswith(("MultiLogloss", "MultiCrossEntropy", "MultiRMSE")):
        return None
    labels = tuple(np.asarray(model.classes_).tolist()) or None
    if labels and len(labels) == 2 and model.get_probability_threshold() != 0.5:
        return None

    def ask(rows: Any) -> Array:
        if labels is None:
            return as_outputs(model.predict(rows), None)
        return as_outputs(model.predict(rows, prediction_type="RawFormulaVal"), labels)

    names = match_column_names(list(model.feature_names_), schema)
    width = len(model.feature_names_)
    columns = find_model_columns(schema, names, width)
    mixed = bool(model.get_cat_feature_indices())
    make_input = make_input_function(schema, names, width, frame=mixed)
    if labels is None:
        own_model = BoosterModel(make_input, None, ask, model.predict)
    else:
        own_model = BoosterModel(
            make_input, labels, ask, _make_label_function(model), _make_probability_function(model)
        )
    reading = None if mixed else read_columns(schema, columns)
    if reading is None:
        return own_model
    # up to 128 rows the trees are quicker (0.05 against 0.14 ms for 16 rows), above it the library is
    return open_trees(
        own_model, read_trees(model), reading, probe, library=_make_library_outputs(ask, reading), max_rows=128
    )


def read_trees(model: Any, max_nodes: int = 5_000_000) -> LibraryTrees | None:
    """The trees of a CatBoost model that splits numbers alone; None for others, and for more than ``max_nodes``.

    A symmetric tree of depth k stands for 2^(k+1) nodes.
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        written = json.loads(path.read_text(encoding="utf-8"))
    features = written["features_info"].get("float_features", [])
    place = {f["feature_index"]: (f["flat_feature_index"], f["nan_value_treatment"] != "AsTrue") for f in features}
    trees: list[Tree] = []
    for written_tree in written.get("oblivious_trees") or written.get("trees") or []:
        leaves = len(written_tree.get("leaf_values", ()))
        tree = None if len(trees) * leaves > max_nodes else _read_tree(written_tree, place)
        if tree is None:
            return None
        trees.append(tree)
    if not trees:
        return None
    scale, bias = written["scale_and_bias"]
    last = _ScaleAndBias(float(scale), np.atleast_1d(np.asarray(bias, dtype=np.float64)))
    binary = trees[0].value.shape[1] == 1 and len(getattr(model, "classes_", ())) == 2
    objective = str(model.get_all_params().get("loss_function", ""))
    then: ToOutputs = (
        two_outputs_zero_first if binary else exponential if objective.startswith(LOGARITHMIC_OBJECTIVES) else keep_sums
    )
    return LibraryTrees(trees, np.zeros(trees[0].value.shape[1]), ScaledToOutputs(last, then), compares_in_single=True)


def _read_tree(written: Any, place: dict[int, tuple[int, bool]]) -> Tree | None:
    """One tree, symmetric or nested; None if it splits anything but numbers."""
    symmetric = "leaf_values" in written
    splits = written.get("splits") or [] if symmetric else _iterate_splits(written)
    if any(split["split_type"] != "FloatFeature" for split in splits):
        return None
    return (_read_symmetric_tree if symmetric else _read_nested_tree)(written, place)


class _ScaleAndBias:
    """Sums of leaves to raw values: ``scale * sum + bias``."""

    def __init__(self, scale: float, bias: Array) -> None:
        self.scale, self.bias = scale, bias

    def __call__(self, sums: Array) -> Array:
        return self.scale * sums + self.bias


class ScaledToOutputs:
    """A scale and a bias, ``first``, then the step from sums to outputs, ``second``."""

    def __init__(self, first: ToOutputs, second: ToOutputs) -> None:
        self.first, self.second = first, second

    def __call__(self, values: Array) -> Array:
        return self.second(self.first(values))


def _make_label_function(model: Any) -> Callable[[Any], Any]:
    return lambda rows: model.predict(rows, prediction_type="Class")


def _make_probability_function(model: Any) -> Callable[[Any], Any]:
    return lambda rows: model.predict(rows, prediction_type="Probability")


def _make_library_outputs(ask: Callable[[Any], Array], reading: ColumnReading) -> Callable[[Array], Array]:
    return lambda x: ask(np.ascontiguousarray(reading.to_model_rows(x)))


def _read_symmetric_tree(tree: Any, place: dict[int, tuple[int, bool]]) -> Tree:
    """A tree with one split for each level, unfolded; the leaf's number has one bit for each split."""
    splits = tree.get("splits") or []
    depth = len(splits)
    inner = 2**depth - 1
    level = np.repeat(np.arange(depth), 2 ** np.arange(depth))
    column = np.array([place[split["float_feature_index"]][0] for split in splits], dtype=np.intp)[level]
    missing = np.array([place[split["float_feature_index"]][1] for split in splits], dtype=bool)[level]
    border = np.array([split["border"] for split in splits], dtype=np.float64)[level]
    values = np.array(tree["leaf_values"], dtype=np.float64).reshape(2**depth, -1)
    path = np.arange(2**depth)  # its highest bit is the first level's side
    leaf = sum((((path >> (depth - 1 - k)) & 1) << k for k in range(depth)), np.zeros_like(path))
    below = np.full(2**depth, -1, dtype=np.intp)
    nodes = np.arange(inner, dtype=np.intp)
    return Tree(
        np.concatenate([column, below]),
        np.concatenate([border, np.full(2**depth, np.nan)]),
        np.concatenate([2 * nodes + 1, below]),
        np.concatenate([2 * nodes + 2, below]),
        np.concatenate([missing, below > 0]),
        np.concatenate([np.zeros((inner, values.shape[1])), values[leaf]]),
        {},
        0,
    )


def _read_nested_tree(tree: Any, place: dict[int, tuple[int, bool]]) -> Tree:
    """A tree of any shape, written as splits within splits."""
    nodes: list[Any] = [tree]
    left, right = [], []
    for node in nodes:  # grows while it is read
        if "split" in node:
            left.append(len(nodes))
            right.append(len(nodes) + 1)
            nodes += [node["left"], node["right"]]
        else:
            left.append(-1)
            right.append(-1)
    where = [place[n["split"]["float_feature_index"]] if "split" in n else (-1, False) for n in nodes]
    width = next(np.size(n["value"]) for n in nodes if "value" in n)
    return Tree(
        np.array([column for column, _ in where], dtype=np.intp),
        np.array([n["split"]["border"] if "split" in n else np.nan for n in nodes], dtype=np.float64),
        np.array(left, dtype=np.intp),
        np.array(right, dtype=np.intp),
        np.array([gone for _, gone in where], dtype=bool),
        np.array([np.reshape(n.get("value", np.zeros(width)), -1) for n in nodes], dtype=np.float64),
        {},
        0,
    )


def _iterate_splits(tree: Any) -> Iterator[Any]:
    if "split" in tree:
        yield tree["split"]
        yield from _iterate_splits(tree["left"])
        yield from _iterate_splits(tree["right"])
