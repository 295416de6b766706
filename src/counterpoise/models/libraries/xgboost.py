"""XGBoost: XGBClassifier, XGBRegressor, XGBRanker, their forests, and Booster; native categories included."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.inputs import find_model_columns, make_input_function, note_unknown_categories
from counterpoise.models.libraries.boosters import BoosterModel, as_outputs, make_label_function, match_column_names
from counterpoise.models.links import ToOutputs, exponential, keep_sums, logistic, two_outputs_zero_first
from counterpoise.models.sklearn.estimator import check_fitted
from counterpoise.models.trees.columns import ColumnReading, read_columns
from counterpoise.models.trees.ensemble import LibraryTrees, Tree
from counterpoise.models.trees.opened import open_trees
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Index, Model

TWO_CLASS_OBJECTIVES = ("binary:logistic", "reg:logistic", "binary:hinge")
LOGARITHMIC_OBJECTIVES = ("count:poisson", "reg:gamma", "reg:tweedie")
LINEAR_OBJECTIVES = (
    "reg:squarederror",
    "reg:absoluteerror",
    "reg:pseudohubererror",
    "rank:pairwise",
    "rank:ndcg",
    "rank:map",
)


@dataclass(frozen=True, eq=False)
class BoosterCall:
    """A call of a Booster: its first ``rounds`` rounds (0: all), with the number that stands for a missing cell."""

    booster: Any
    rounds: int
    missing_value: float

    def __call__(self, rows: Any, wanted: str) -> Any:
        """What the trees say, as ``wanted``: "margin" for sums, "value" for predictions."""
        return self.booster.inplace_predict(
            rows,
            predict_type=wanted,
            iteration_range=(0, self.rounds),
            missing=self.missing_value,
            validate_features=False,
        )


def adapt(model: Any, schema: Schema, probe: Array) -> Model | None:
    """The Model of a fitted XGBoost estimator or Booster; None for lines, and for classes decided otherwise."""
    fitted = hasattr(model, "get_booster")
    if fitted:
        check_fitted(model)
    booster = model.get_booster() if fitted else model
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    objective = learner["objective"]["name"]
    labels = _read_labels(model, learner)
    if learner["gradient_booster"]["name"] == "gblinear" or labels == ():
        return None
    # a number of the user's own may stand for a missing cell
    ask = BoosterCall(booster, _count_rounds_used(model) if fitted else 0, getattr(model, "missing", np.nan))

    def raw(rows: Any) -> Array:
        return as_outputs(ask(rows, "value" if labels is None else "margin"), labels)

    names, width = match_column_names(booster.feature_names, schema), booster.num_features()
    columns = find_model_columns(schema, names, width)
    known = _known_categories(learner, booster.feature_types, schema, columns)
    make_input = make_input_function(schema, names, width, frame=bool(known))
    own_model = BoosterModel(make_input, labels, raw, *_make_predictions(model, ask, objective, labels))
    reading = read_columns(schema, columns, known)
    if reading is None:
        return own_model
    found = _read_trees(learner, ask.rounds, labels is not None) if np.isnan(ask.missing_value) else None
    exact = labels is not None or objective in LINEAR_OBJECTIVES
    # up to 256 rows the trees are quicker (0.06 against 0.16 ms for 16 rows), above it the library is
    max_rows = 256 if exact else 0
    return open_trees(own_model, found, reading, probe, library=_make_library_outputs(raw, reading), max_rows=max_rows)


def _read_labels(model: Any, learner: Any) -> tuple[Any, ...] | None:
    """The classes; None for a regression or a ranking, and () for classes decided by another objective."""
    objective = learner["objective"]["name"]
    classes = int(learner["learner_model_param"]["num_class"])
    fitted = hasattr(model, "get_booster")
    decides = objective in TWO_CLASS_OBJECTIVES or objective.startswith("multi:")
    if fitted and type(model).__name__.endswith("Classifier"):
        return tuple(model.classes_.tolist()) if decides else ()
    if fitted or not (objective in TWO_CLASS_OBJECTIVES or classes > 1):
        return None
    return tuple(range(max(classes, 2))) if decides else ()


def _make_predictions(
    model: Any, ask: BoosterCall, objective: str, labels: tuple[Any, ...] | None
) -> tuple[Callable[[Any], Any], Callable[[Any], Any] | None]:
    """What says the label or number of rows, and what their probabilities: the estimator itself, or a Booster."""
    if hasattr(model, "get_booster"):
        return model.predict, None if labels is None else model.predict_proba
    if labels is None:
        return (lambda rows: ask(rows, "value")), None
    chances = _make_probability_function(ask, objective)
    return make_label_function(chances, labels), chances


def _make_library_outputs(raw: Callable[[Any], Array], reading: ColumnReading) -> Callable[[Array], Array]:
    return lambda x: raw(np.ascontiguousarray(reading.to_model_rows(x)))


def _make_probability_function(ask: Any, objective: str) -> Callable[[Any], Any]:
    if objective == "multi:softmax":  # its values are the classes themselves: the largest margin wins

        def softmax(rows: Any) -> Any:
            margins = np.asarray(ask(rows, "margin"), dtype=np.float64)
            shares = np.exp(margins - margins.max(axis=1, keepdims=True))
            return shares / shares.sum(axis=1, keepdims=True)

        return softmax
    return lambda rows: ask(rows, "value")


def _count_rounds_used(model: Any) -> int:
    """How many rounds the estimator's own predict uses; 0 for all."""
    try:
        return int(model.best_iteration) + 1
    except AttributeError:
        return 0


def _known_categories(learner: Any, types: list[str] | None, schema: Schema, columns: Index) -> dict[int, list[Any]]:
    """The categories of each categorical column, in the order of the model's numbers."""
    stored = learner["gradient_booster"].get("model", {}).get("cats", {}).get("enc", [])
    known: dict[int, list[Any]] = {}
    for column in [number for number, kind in enumerate(types or []) if kind == "c"]:
        feature = schema.features[columns[column]]
        code = stored[column] if column < len(stored) else {}
        values = code.get("values", [])
        if "offsets" in code and values:
            text, ends = bytes(value % 256 for value in values), code["offsets"]
            values = [text[a:b].decode() for a, b in pairwise(ends)]
        # Older versions keep no categories: their numbers are those of the frame's own dtype.
        known[column] = list(values) or list(feature.categories) or list(range(256))
        note_unknown_categories(feature, known[column], refused=True)
    return known


def _read_trees(learner: Any, end: int, classifier: bool) -> LibraryTrees | None:
    booster, weights = learner["gradient_booster"], None
    if booster["name"] == "dart":
        booster, weights = booster["gbtree"], booster["weight_drop"]
    model = booster.get("model", {})
    if booster["name"] != "gbtree" or any(int(t["tree_param"]["size_leaf_vector"]) > 1 for t in model["trees"]):
        return None
    ends = model.get("iteration_indptr")
    count = len(model["trees"]) if not end or not ends else ends[end]
    trees = [
        _read_tree(tree, column, 1.0 if weights is None else weights[number])
        for number, (tree, column) in enumerate(zip(model["trees"][:count], model["tree_info"], strict=False))
    ]
    start = _base_margins(learner)
    base = np.broadcast_to(start, (max(1, *(tree.first_sum + 1 for tree in trees), len(start)),)).astype(np.float64)
    objective = learner["objective"]["name"]
    finish: ToOutputs = keep_sums
    if classifier:
        finish = two_outputs_zero_first if len(base) == 1 else keep_sums
    elif objective in LOGARITHMIC_OBJECTIVES:
        finish = exponential
    elif objective == "reg:logistic":
        finish = logistic
    return LibraryTrees(trees, base, finish, is_strict=True, compares_in_single=True, sums_in_single_precision=True)


def _base_margins(learner: Any) -> NDArray[np.float32]:
    """The base score on the scale of the margins, in the library's single precision."""
    score = np.atleast_1d(np.asarray(json.loads(learner["learner_model_param"]["base_score"]), dtype=np.float32))
    objective = learner["objective"]["name"]
    with np.errstate(divide="ignore", invalid="ignore"):
        if objective in ("binary:logistic", "reg:logistic"):
            odds = np.float32(1) / score - np.float32(1)
            # The logarithm in double precision, rounded: NumPy's own in single precision is not always the nearest.
            return (-np.log(odds.astype(np.float64))).astype(np.float32)
        return np.log(score.astype(np.float64)).astype(np.float32) if objective in LOGARITHMIC_OBJECTIVES else score


def _read_tree(tree: Any, column: int, weight: float) -> Tree:
    left, right = np.array(tree["left_children"], dtype=np.intp), np.array(tree["right_children"], dtype=np.intp)
    numbers = np.array(tree["split_conditions"], dtype=np.float32)
    sets = {}
    for node, first, size in zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    ):
        sets[node] = (frozenset(tree["categories"][first : first + size]), False)
    return Tree(
        np.where(left < 0, -1, np.array(tree["split_indices"], dtype=np.intp)),
        numbers.astype(np.float64),
        left,
        right,
        np.array(tree["default_left"], dtype=bool),
        (numbers * np.float32(weight)).astype(np.float64)[:, None],
        sets,
        column,
    )
