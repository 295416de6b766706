"""scikit-learn's trees: single trees, forests, bagged trees, isolation forests and classic gradient boosting.

`read_trees` recognises DecisionTree*, ExtraTree*, RandomForest*, ExtraTrees*, Bagging* of trees, AdaBoostClassifier,
IsolationForest and GradientBoosting*; for anything else, or for several targets at once, it gives None.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from counterpoise.models.inputs import find_model_columns, fitted_column_names
from counterpoise.models.links import keep_sums, two_outputs_zero_first, two_outputs_zero_second
from counterpoise.models.sklearn.estimator import adapt as adapt_estimator
from counterpoise.models.trees.columns import read_columns
from counterpoise.models.trees.ensemble import LibraryTrees, Tree
from counterpoise.models.trees.opened import open_trees
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Model

SINGLE_TREE_CLASSES = ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
FOREST_CLASSES = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
BAGGING_CLASSES = ("BaggingClassifier", "BaggingRegressor")
GRADIENT_BOOSTING_CLASSES = ("GradientBoostingClassifier", "GradientBoostingRegressor")
SUPPORTED_CLASSES = (
    *SINGLE_TREE_CLASSES,
    *FOREST_CLASSES,
    *BAGGING_CLASSES,
    *GRADIENT_BOOSTING_CLASSES,
    "AdaBoostClassifier",
    "IsolationForest",
)


def adapt(model: Any, schema: Schema, probe: Array) -> Model | None:
    """The Model of a fitted scikit-learn tree or ensemble of trees, or None where the object is something else."""
    if type(model).__name__ not in SUPPORTED_CLASSES or not hasattr(model, "n_features_in_"):
        return None
    own_model = adapt_estimator(model, schema, probe)
    columns = find_model_columns(schema, fitted_column_names(model), model.n_features_in_)
    return open_trees(own_model, read_trees(model), read_columns(schema, columns), probe, tolerance=1e-12)


def read_trees(model: Any) -> LibraryTrees | None:
    """The trees of a fitted scikit-learn tree or ensemble of trees, or None."""
    name = type(model).__name__
    if name not in SUPPORTED_CLASSES or getattr(model, "n_outputs_", 1) != 1:
        return None
    if name in SINGLE_TREE_CLASSES:
        return _average_trees([_read_tree(model.tree_)])
    if name in FOREST_CLASSES:
        return _average_trees([_read_tree(estimator.tree_) for estimator in model.estimators_])
    if name in BAGGING_CLASSES:
        return _read_bagging(model)
    if name == "AdaBoostClassifier":
        return _read_adaboost(model)
    return _read_isolation_forest(model) if name == "IsolationForest" else _read_gradient_boosting(model)


def _read_tree(tree: Any, value: Array | None = None, features: Index | None = None, column: int = 0) -> Tree:
    """One compiled tree; ``features`` are the model's columns that it sees, where those are not all."""
    leaf = tree.children_left < 0
    feature = np.where(leaf, 0, tree.feature)
    feature = feature if features is None else np.asarray(features)[feature]
    nodes = tree.__getstate__()["nodes"]
    missing_left = nodes["missing_go_to_left"][: len(leaf)].astype(bool)
    value = tree.value[:, 0, :] if value is None else value
    return Tree(
        np.where(leaf, -1, feature),
        tree.threshold,
        tree.children_left,
        tree.children_right,
        missing_left,
        value,
        {},
        column,
    )


def _average_trees(trees: Iterable[Tree]) -> LibraryTrees:
    found = list(trees)
    base = np.zeros(found[0].value.shape[1])
    return LibraryTrees(found, base, keep_sums, averages_leaves=True, compares_in_single=True)


def _read_bagging(model: Any) -> LibraryTrees | None:
    classes = getattr(model, "n_classes_", None)
    for estimator in model.estimators_:
        if type(estimator).__name__ not in SINGLE_TREE_CLASSES or getattr(estimator, "n_classes_", classes) != classes:
            return None  # a tree that has not seen every class: its columns are not the ensemble's
    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    return _average_trees([_read_tree(estimator.tree_, features=features) for estimator, features in pairs])


def _read_gradient_boosting(model: Any) -> LibraryTrees | None:
    initial = model.init_
    if not (isinstance(initial, str) or type(initial).__name__ in ("DummyClassifier", "DummyRegressor")):
        return None  # starts from a model of the user's own
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]
    trees = [_read_tree(estimator.tree_, column=k) for stage in model.estimators_ for k, estimator in enumerate(stage)]
    binary = type(model).__name__ == "GradientBoostingClassifier" and len(base) == 1
    finish = two_outputs_zero_second if binary else keep_sums
    return LibraryTrees(trees, np.asarray(base, dtype=np.float64), finish, model.learning_rate, compares_in_single=True)


def _read_adaboost(model: Any) -> LibraryTrees | None:
    """Trees that each speak for one class, with a weight (SAMME; Zhu, Zou, Rosset and Hastie, 2009)."""
    classes, trees = len(model.classes_), []
    weights = model.estimator_weights_ / model.estimator_weights_.sum()
    for estimator, weight in zip(model.estimators_, weights.tolist(), strict=False):
        if type(estimator).__name__ not in SINGLE_TREE_CLASSES:
            return None
        leaf_labels = estimator.classes_.take(estimator.tree_.value[:, 0, :].argmax(axis=1))
        value = np.where(leaf_labels[:, None] == model.classes_, weight, -weight / (classes - 1))
        trees.append(_read_tree(estimator.tree_, 2 * value[:, 1:] if classes == 2 else value))
    base = np.zeros(1 if classes == 2 else classes)
    return LibraryTrees(trees, base, two_outputs_zero_first if classes == 2 else keep_sums, compares_in_single=True)


def _read_isolation_forest(model: Any) -> LibraryTrees:
    """Depths of leaves, and what scikit-learn makes of their sum: positive for an inlier."""
    parts = zip(
        model.estimators_, model.estimators_features_, model._decision_path_lengths,
        model._average_path_length_per_tree, strict=True,
    )  # fmt: skip
    trees = [
        _read_tree(estimator.tree_, (path + below - 1.0)[:, None], features)
        for estimator, features, path, below in parts
    ]
    return LibraryTrees(
        trees, np.zeros(1), DepthsToOutputs(len(trees), model._max_samples, model.offset_), compares_in_single=True
    )


class DepthsToOutputs:
    """Summed depths ``(p, 1)`` to the two outputs of an isolation forest, outlier and inlier."""

    def __init__(self, trees: int, samples: int, offset: float) -> None:
        self.expected_depth = trees * _expected_path_length(samples)
        self.offset = offset

    def __call__(self, depths: Array) -> Array:
        shares = depths[:, 0] / self.expected_depth if self.expected_depth else np.ones(len(depths))
        return two_outputs_zero_second((-(2.0**-shares) - self.offset)[:, None])


def _expected_path_length(samples: int) -> float:
    """Expected depth of an isolation tree of so many samples (Liu, Ting and Zhou, Isolation Forest, 2008)."""
    if samples <= 2:
        return float(max(samples - 1, 0))
    return float(2.0 * (np.log(samples - 1.0) + np.euler_gamma) - 2.0 * (samples - 1.0) / samples)
