"""scikit-learn's HistGradientBoostingClassifier and HistGradientBoostingRegressor, native categories included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from counterpoise.models import sklearn
from counterpoise.models.boosting import strangers
from counterpoise.models.feeding import columns_of
from counterpoise.models.links import as_is, first_and_second
from counterpoise.models.reading import plain
from counterpoise.models.trees import Grove, Tree
from counterpoise.models.whitebox import open_up
from counterpoise.space.features import Schema
from counterpoise.types import Array, Index, Model

NAMES = ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor")


def adapt(model: Any, schema: Schema, probe: Array) -> Model | None:
    """The Model of a fitted histogram boosting, or None where the object is something else."""
    if type(model).__name__ not in NAMES or not hasattr(model, "_predictors"):
        return None
    own = sklearn.adapt(model, schema, probe)
    columns = columns_of(schema, getattr(model, "feature_names_in_", None), model.n_features_in_)
    ordered, known = layout(model, columns)
    features = {column: schema.features[ordered[column]] for column in known}
    notes = [
        note
        for column, feature in features.items()
        if not feature.numeric
        for note in strangers(feature, known[column], refused=False)
    ]
    if notes and isinstance(own, sklearn.Estimator):
        own = replace(own, notes=tuple(notes))
    return open_up(own, grove(model), plain(schema, ordered, known), probe)


def grove(model: Any) -> Grove | None:
    """The trees of a fitted histogram boosting, or None; columns are those that its own encoder puts out."""
    if type(model).__name__ not in NAMES:
        return None
    trees = [_tree(predictor, k) for stage in model._predictors for k, predictor in enumerate(stage)]
    base = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    if type(model).__name__ == "HistGradientBoostingRegressor":
        return Grove(trees, base, _Inverse(model._loss.link))
    return Grove(trees, base, first_and_second if len(base) == 1 else as_is)


def layout(model: Any, columns: Index) -> tuple[Index, dict[int, list[Any]]]:
    """The columns as its trees count them, those with categories first, and the categories that it knows."""
    if model.is_categorical_ is None:
        return columns, {}
    categorical = np.asarray(model.is_categorical_, dtype=bool)
    seen = model._preprocessor.named_transformers_["encoder"].categories_
    known = {column: [v for v in levels.tolist() if v is not None and v == v] for column, levels in enumerate(seen)}
    return np.concatenate([columns[categorical], columns[~categorical]]), known


class _Inverse:
    """Summed leaves to predictions: the inverse of the loss's link (exp for counts, nothing for squares)."""

    def __init__(self, link: Any) -> None:
        self.link = link

    def __call__(self, outputs: Array) -> Array:
        return np.asarray(self.link.inverse(outputs.ravel())).reshape(-1, 1)


def _tree(predictor: Any, column: int) -> Tree:
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
