"""XGBoost: XGBClassifier, XGBRegressor, XGBRanker, their forests, and Booster; native categories included."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterpoise.models.boosting import Boosted, as_outputs, most_likely, names_of, strangers
from counterpoise.models.feeding import columns_of, feed
from counterpoise.models.links import Finish, as_is, exponential, first_and_second, logistic
from counterpoise.models.reading import Reading, plain
from counterpoise.models.sklearn import check_fitted
from counterpoise.models.trees import Grove, Tree
from counterpoise.models.whitebox import open_up
from counterpoise.space.features import Schema
from counterpoise.types import Array, Index, Model

HALVES = ("binary:logistic", "reg:logistic", "binary:hinge")
LOGARITHMIC = ("count:poisson", "reg:gamma", "reg:tweedie")
LINEAR = ("reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "rank:pairwise", "rank:ndcg", "rank:map")
MOST = 256  # rows: below it the trees are quicker (0.06 against 0.16 ms for 16 rows), above it the library is


def adapt(model: Any, schema: Schema, probe: Array) -> Model | None:
    """The Model of a fitted XGBoost estimator or Booster; None for lines, and for classes decided otherwise."""
    fitted = hasattr(model, "get_booster")
    if fitted:
        check_fitted(model)
    booster = model.get_booster() if fitted else model
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    if learner["gradient_booster"]["name"] == "gblinear":
        return None
    objective = learner["objective"]["name"]
    classes = int(learner["learner_model_param"]["num_class"])
    end = _end(model) if fitted else 0
    labels: tuple[Any, ...] | None = None
    if type(model).__name__.endswith("Classifier") or (not fitted and (objective in HALVES or classes > 1)):
        if not (objective in HALVES or objective.startswith("multi:")):
            return None
        labels = tuple(model.classes_.tolist()) if fitted else tuple(range(max(classes, 2)))
    kind = "value" if labels is None else "margin"

    gone = getattr(model, "missing", np.nan)  # a number of the user's own may stand for a missing cell

    def ask(rows: Any, wanted: str) -> Any:
        return booster.inplace_predict(
            rows, predict_type=wanted, iteration_range=(0, end), missing=gone, validate_features=False
        )

    names, width = names_of(booster.feature_names, schema), booster.num_features()
    columns = columns_of(schema, names, width)
    known = _known(learner, booster.feature_types, schema, columns)
    give = feed(schema, names, width, frame=bool(known))

    def raw(rows: Any) -> Array:
        return as_outputs(ask(rows, kind), labels)

    if labels is None:
        own = Boosted(give, None, raw, model.predict if fitted else lambda rows: ask(rows, kind))
    elif fitted:
        own = Boosted(give, labels, raw, model.predict, model.predict_proba)
    else:
        chances = _chances(ask, objective)
        own = Boosted(give, labels, raw, most_likely(chances, labels), chances)
    reading = plain(schema, columns, known)
    if reading is None:
        return own
    found = _grove(learner, end, labels is not None) if np.isnan(gone) else None
    exact = labels is not None or objective in LINEAR
    return open_up(own, found, reading, probe, library=_library(raw, reading), most=MOST if exact else 0)


def _library(raw: Callable[[Any], Array], reading: Reading) -> Callable[[Array], Array]:
    return lambda x: raw(np.ascontiguousarray(reading.rows(x)))


def _chances(ask: Any, objective: str) -> Callable[[Any], Any]:
    if objective == "multi:softmax":  # its values are the classes themselves: the largest margin wins

        def softmax(rows: Any) -> Any:
            margins = np.asarray(ask(rows, "margin"), dtype=np.float64)
            shares = np.exp(margins - margins.max(axis=1, keepdims=True))
            return shares / shares.sum(axis=1, keepdims=True)

        return softmax
    return lambda rows: ask(rows, "value")


def _end(model: Any) -> int:
    """How many rounds the estimator's own predict uses; 0 for all."""
    try:
        return int(model.best_iteration) + 1
    except AttributeError:
        return 0


def _known(learner: Any, types: list[str] | None, schema: Schema, columns: Index) -> dict[int, list[Any]]:
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
        strangers(feature, known[column], refused=True)
    return known


def _grove(learner: Any, end: int, classifier: bool) -> Grove | None:
    booster, weights = learner["gradient_booster"], None
    if booster["name"] == "dart":
        booster, weights = booster["gbtree"], booster["weight_drop"]
    model = booster.get("model", {})
    if booster["name"] != "gbtree" or any(int(t["tree_param"]["size_leaf_vector"]) > 1 for t in model["trees"]):
        return None
    ends = model.get("iteration_indptr")
    count = len(model["trees"]) if not end or not ends else ends[end]
    trees = [
        _tree(tree, column, 1.0 if weights is None else weights[number])
        for number, (tree, column) in enumerate(zip(model["trees"][:count], model["tree_info"], strict=False))
    ]
    start = _start(learner)
    base = np.broadcast_to(start, (max(1, *(tree.column + 1 for tree in trees), len(start)),)).astype(np.float64)
    objective = learner["objective"]["name"]
    finish: Finish = as_is
    if classifier:
        finish = first_and_second if len(base) == 1 else as_is
    elif objective in LOGARITHMIC:
        finish = exponential
    elif objective == "reg:logistic":
        finish = logistic
    return Grove(trees, base, finish, strict=True, single=True, single_sums=True)


def _start(learner: Any) -> NDArray[np.float32]:
    """The base score on the scale of the margins, in the library's single precision."""
    score = np.atleast_1d(np.asarray(json.loads(learner["learner_model_param"]["base_score"]), dtype=np.float32))
    objective = learner["objective"]["name"]
    with np.errstate(divide="ignore", invalid="ignore"):
        if objective in ("binary:logistic", "reg:logistic"):
            odds = np.float32(1) / score - np.float32(1)
            # The logarithm in double precision, rounded: NumPy's own in single precision is not always the nearest.
            return (-np.log(odds.astype(np.float64))).astype(np.float32)
        return np.log(score.astype(np.float64)).astype(np.float32) if objective in LOGARITHMIC else score


def _tree(tree: Any, column: int, weight: float) -> Tree:
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
