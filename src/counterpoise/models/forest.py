"""scikit-learn's trees: single trees, forests, bagged trees, isolation forests and classic gradient boosting.

`grove` recognises DecisionTree*, ExtraTree*, RandomForest*, ExtraTrees*, Bagging* of trees, AdaBoostClassifier,
IsolationForest and GradientBoosting*; for anything else, or for several targets at once, it gives None.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from counterpoise.models import sklearn
from counterpoise.models.feeding import columns_of
from counterpoise.models.links import as_is, first_and_second, zero_is_second
from counterpoise.models.reading import plain
from counterpoise.models.trees import Grove, Tree
from counterpoise.models.whitebox import open_up
from counterpoise.space.features import Schema
from counterpoise.types import Array, Index, Model

SINGLE = ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor")
FORESTS = ("RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier", "ExtraTreesRegressor")
BAGGED = ("BaggingClassifier", "BaggingRegressor")
BOOSTED = ("GradientBoostingClassifier", "GradientBoostingRegressor")
NAMES = (*SINGLE, *FORESTS, *BAGGED, *BOOSTED, "AdaBoostClassifier", "IsolationForest")


def adapt(model: Any, schema: Schema, probe: Array) -> Model | None:
    """The Model of a fitted scikit-learn tree or ensemble of trees, or None where the object is something else."""
    if type(model).__name__ not in NAMES or not hasattr(model, "n_features_in_"):
        return None
    own = sklearn.adapt(model, schema, probe)
    columns = columns_of(schema, getattr(model, "feature_names_in_", None), model.n_features_in_)
    return open_up(own, grove(model), plain(schema, columns), probe, tolerance=1e-12)


def grove(model: Any) -> Grove | None:
    """The trees of a fitted scikit-learn tree or ensemble of trees, or None."""
    name = type(model).__name__
    if name not in NAMES or getattr(model, "n_outputs_", 1) != 1:
        return None
    if name in SINGLE:
        return _mean([_tree(model.tree_)])
    if name in FORESTS:
        return _mean([_tree(estimator.tree_) for estimator in model.estimators_])
    if name in BAGGED:
        return _bagged(model)
    if name == "AdaBoostClassifier":
        return _weighted(model)
    return _isolation(model) if name == "IsolationForest" else _boosted(model)


def _tree(tree: Any, value: Array | None = None, features: Index | None = None, column: int = 0) -> Tree:
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


def _mean(trees: Iterable[Tree]) -> Grove:
    found = list(trees)
    base = np.zeros(found[0].value.shape[1])
    return Grove(found, base, as_is, mean=True, single=True)


def _bagged(model: Any) -> Grove | None:
    classes = getattr(model, "n_classes_", None)
    for estimator in model.estimators_:
        if type(estimator).__name__ not in SINGLE or getattr(estimator, "n_classes_", classes) != classes:
            return None  # a tree that has not seen every class: its columns are not the ensemble's
    pairs = zip(model.estimators_, model.estimators_features_, strict=True)
    return _mean([_tree(estimator.tree_, features=features) for estimator, features in pairs])


def _boosted(model: Any) -> Grove | None:
    initial = model.init_
    if not (isinstance(initial, str) or type(initial).__name__ in ("DummyClassifier", "DummyRegressor")):
        return None  # starts from a model of the user's own
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]
    trees = [_tree(estimator.tree_, column=k) for stage in model.estimators_ for k, estimator in enumerate(stage)]
    binary = type(model).__name__ == "GradientBoostingClassifier" and len(base) == 1
    finish = zero_is_second if binary else as_is
    return Grove(trees, np.asarray(base, dtype=np.float64), finish, model.learning_rate, single=True)


def _weighted(model: Any) -> Grove | None:
    """Trees that each speak for one class, with a weight (SAMME; Zhu, Zou, Rosset and Hastie, 2009)."""
    classes, trees = len(model.classes_), []
    weights = model.estimator_weights_ / model.estimator_weights_.sum()
    for estimator, weight in zip(model.estimators_, weights.tolist(), strict=False):
        if type(estimator).__name__ not in SINGLE:
            return None
        said = estimator.classes_.take(estimator.tree_.value[:, 0, :].argmax(axis=1))
        value = np.where(said[:, None] == model.classes_, weight, -weight / (classes - 1))
        trees.append(_tree(estimator.tree_, 2 * value[:, 1:] if classes == 2 else value))
    base = np.zeros(1 if classes == 2 else classes)
    return Grove(trees, base, first_and_second if classes == 2 else as_is, single=True)


def _isolation(model: Any) -> Grove:
    """Depths of leaves, and what scikit-learn makes of their sum: positive for an inlier."""
    parts = zip(
        model.estimators_, model.estimators_features_, model._decision_path_lengths,
        model._average_path_length_per_tree, strict=True,
    )  # fmt: skip
    trees = [
        _tree(estimator.tree_, (path + below - 1.0)[:, None], features) for estimator, features, path, below in parts
    ]
    return Grove(trees, np.zeros(1), _Isolation(len(trees), model._max_samples, model.offset_), single=True)


class _Isolation:
    """Summed depths ``(p, 1)`` to the two outputs of an isolation forest, outlier and inlier."""

    def __init__(self, trees: int, samples: int, offset: float) -> None:
        self.expected = trees * _path_length(samples)
        self.offset = offset

    def __call__(self, depths: Array) -> Array:
        shares = depths[:, 0] / self.expected if self.expected else np.ones(len(depths))
        return zero_is_second((-(2.0**-shares) - self.offset)[:, None])


def _path_length(samples: int) -> float:
    """Expected depth of an isolation tree of so many samples (Liu, Ting and Zhou, Isolation Forest, 2008)."""
    if samples <= 2:
        return float(max(samples - 1, 0))
    return float(2.0 * (np.log(samples - 1.0) + np.euler_gamma) - 2.0 * (samples - 1.0) / samples)
