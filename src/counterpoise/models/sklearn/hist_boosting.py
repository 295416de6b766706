"""scikit-learn's HistGradientBoostingClassifier and HistGradientBoostingRegressor, native categories included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise.models.inputs import find_model_columns, fitted_column_names, note_unknown_categories
from counterpoise.models.links import ToOutputs, keep_sums, two_outputs_zero_first
from counterpoise.models.sklearn.estimator import SklearnModel
from counterpoise.models.sklearn.estimator import adapt as adapt_estimator
from counterpoise.models.trees.columns import read_columns
from counterpoise.models.trees.ensemble import LibraryTrees, Tree
from counterpoise.models.trees.opened import open_trees
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Model

SUPPORTED_CLASSES = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")


def adapt(model: Any, schema: Schema, probe: Array) -> Model | None:
    """The Model of a fitted histogram boosting, or None where the object is something else."""
    if type(model).__name__ not in SUPPORTED_CLASSES or not hasattr(model, "_predictors"):
        return None
    own_model = adapt_estimator(model, schema, probe)
    columns = find_model_columns(schema, fitted_column_names(model), model.n_features_in_)
    ordered, known = read_layout(model, columns)
    features = {column: schema.features[ordered[column]] for column in known}
    notes = [
        note
        for column, feature in features.items()
        if not feature.is_numeric
        for note in note_unknown_categories(feature, known[column], refused=False)
    ]
    if notes and isinstance(own_model, SklearnModel):
        own_model = replace(own_model, notes=tuple(notes))
    return open_trees(own_model, read_trees(model), read_columns(schema, ordered, known), probe)


def read_trees(model: Any) -> LibraryTrees | None:
    """The trees of a fitted histogram boosting, or None; columns are those that its own encoder puts out."""
    if type(model).__name__ not in SUPPORTED_CLASSES:
        return None
    trees = [_read_tree(predictor, k) for stage in model._predictors for k, predictor in enumerate(stage)]
    base = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    if type(model).__name__ == "HistGradientBoostingRegressor":
        return LibraryTrees(trees, base, _InverseLink(model._loss.link))
    return LibraryTrees(trees, base, two_outputs_zero_first if len(base) == 1 else keep_sums)


def read_regression_trees(model: Any, to_outputs: ToOutputs) -> LibraryTrees:
    """The trees of a histogram boosting fitted to squared errors; ``to_outputs`` makes outputs of their sums."""
    trees = [_read_tree(stage[0], 0) for stage in model._predictors]
    return LibraryTrees(trees, np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1), to_outputs)


def read_layout(model: Any, columns: Index) -> tuple[Index, dict[int, list[Any]]]:
    """The columns as its trees count them, those with categories first, and the categories that it knows."""
    if model.is_categorical_ is None:
        return columns, {}
    categorical = np.asarray(model.is_categorical_, dtype=bool)
    seen = model._preprocessor.named_transformers_["encoder"].categories_
    known = {column: [v for v in levels.tolist() if v is not None and v == v] for column, levels in enumerate(seen)}
    return np.concatenate([columns[categorical], columns[~categorical]]), known


class _InverseLink:
    """Summed leaves to predictions: the inverse of the loss's link (exp for counts, nothing for squares)."""

    def __init__(self, link: Any) -> None:
        self.link = link

    def __call__(self, outputs: Array) -> Array:
        return np.asarray(self.link.inverse(outputs.ravel())).reshape(-1, 1)


def _read_tree(predictor: Any, column: int) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    sets = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf).tolist():
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        bits = np.unpackbits(np.ascontiguousarray(words, dtype="<u4").view(np.uint8), bitorder="little")
        sets[node] = (frozenset(np.flatnonzero(bits).tolist()), True)
    return Tree(
        np.where(leaf, -1, nodes["feature_idx"].astype(np.intp)),
        nodes["num_threshold"].astype(np.float64),
        nodes["left"].astype(np.intp),
        nodes["right"].astype(np.intp),
        nodes["missing_go_to_left"].astype(bool),
        nodes["value"].astype(np.float64)[:, None],
        sets,
        column,
    )
