"""What the arrays of a skops file hold: sizes as they are said to be, and indices that lead somewhere.

scikit-learn walks its trees without asking whether a child or a feature exists, and skops only checks types: a tree
made by hand can make a prediction run for ever or end the process. Each check raises ValueError.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterator
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from counterpoise.models.skops.neighbours import (
    CENTRE_CLASSES,
    NEIGHBOUR_CLASSES,
    check_centres,
    check_jobs,
    check_merged_columns,
    check_stored_rows,
)

WALKS_TREES_ITSELF = ("sklearn.ensemble._forest", "sklearn.ensemble._gb", "sklearn.ensemble._iforest")


def check_array(data: bytes, limit: int, max_empty_cell_bytes: int = 1024) -> None:
    """An array of NumPy's format has as many cells as it says, and no objects.

    Of an array without cells nothing else in the file says that its dtype is of sane size.
    """
    stream = io.BytesIO(data)
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError("an array is in an unknown version of NumPy's format")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream)
    cells, left = math.prod(shape), len(data) - stream.tell()
    if dtype.hasobject or min(shape, default=0) < 0 or cells * dtype.itemsize != left or (cells and not dtype.itemsize):
        raise ValueError("an array is not of the size that it says")
    if dtype.itemsize > max(len(data), max_empty_cell_bytes):
        raise ValueError("an array has cells that are larger than itself")


def check_sparse(data: bytes, limit: int) -> None:
    """A sparse array of SciPy's format is not packed beyond ``limit`` bytes, and its indices are inside its shape."""
    from scipy import sparse

    with ZipFile(io.BytesIO(data)) as packed:
        entries = packed.infolist()
        if sum(each.file_size for each in entries) > limit or not all(
            each.compress_type in (ZIP_STORED, ZIP_DEFLATED) for each in entries
        ):
            raise ValueError("a sparse array unpacks to too much")
        for each in entries:
            check_array(packed.read(each), limit)
    found: Any = sparse.load_npz(io.BytesIO(data))
    if found.format in ("csr", "csc", "bsr"):
        found.check_format(full_check=True)


def check_generator(node: dict[str, Any], max_pool_words: int = 64) -> None:
    """The seed of a random generator asks for a pool of sane size; those that NumPy makes have 4 words."""
    seed = node["content"].get("seed_seq")
    if seed is not None and not 0 <= int(json.loads(seed["content"]["pool_size"]["content"])) <= max_pool_words:
        raise ValueError("a random generator has a seed of absurd size")


def check_tree(node: dict[str, Any], source: ZipFile) -> None:
    """Check a decision tree: its counts are true, and children come after their parents."""
    features, classes, outputs = _plain(node["__reduce__"]["args"], source)
    state = _plain(node["content"], source)
    nodes, values = state["nodes"], state["values"]
    if not (type(features) is type(outputs) is int and features >= 0 and outputs == classes.size):
        raise ValueError("a tree has other outputs than it says")
    if classes.shape != (outputs,) or classes.dtype.kind not in "iu" or classes.min() < 1:
        raise ValueError("a tree has outputs without classes")
    if state["node_count"] != len(nodes) or values.shape != (len(nodes), outputs, classes.max()):
        raise ValueError("a tree has other nodes than it says")
    inner = np.flatnonzero(nodes["left_child"] != -1)
    _check_children(inner, nodes[inner], ("left_child", "right_child"), len(nodes))
    if len(inner) and not 0 <= nodes["feature"][inner].min() <= nodes["feature"][inner].max() < features:
        raise ValueError("a tree splits a feature that it does not have")


def check_model(model: Any) -> None:
    """The parts of a model that skops has built: boosted trees, trees of neighbours, splines and random states."""
    for part in _parts(model):
        kind = type(part)
        check = CHECKS.get(f"{kind.__module__}.{kind.__name__}")
        if check is not None:
            check(part)
        if hasattr(part, "__dict__") and kind.__module__.startswith("sklearn."):
            _check_width(part, vars(part))
            check_jobs(part)


def _parts(model: Any) -> Iterator[Any]:
    """Every object that a model is made of, each once."""
    todo, seen = [model], set()
    while todo:
        part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            todo.extend(part.values())
        elif isinstance(part, (list, tuple, set)):
            todo.extend(part)
        elif isinstance(part, np.ndarray) and part.dtype == object:
            todo.extend(part.ravel().tolist())
        if hasattr(part, "__dict__") and not isinstance(part, type):
            todo.extend(vars(part).values())


def _plain(node: dict[str, Any], source: ZipFile) -> Any:
    """The value of a node that holds numbers, arrays, and tuples and dicts of them."""
    loader = node["__loader__"]
    if loader == "JsonNode":
        return json.loads(node["content"])
    if loader == "NdArrayNode" and node["type"] == "numpy" and node["__class__"] == "ndarray":
        data = source.read(node["file"])
        check_array(data, len(data))
        return np.load(io.BytesIO(data), allow_pickle=False)
    if loader == "TupleNode":
        return tuple(_plain(each, source) for each in node["content"])
    if loader == "DictNode":
        return {key: _plain(each, source) for key, each in node["content"].items()}
    raise ValueError(f"a tree holds a {loader}")


def _check_children(inner: NDArray[Any], nodes: NDArray[Any], sides: tuple[str, str], count: int) -> None:
    """Children come after their parents, as every fitted tree lists them: so that no walk goes round in circles."""
    for side in sides:
        children = nodes[side].astype(np.int64)
        if count < 1 or (children <= inner).any() or (children >= count).any():
            raise ValueError("a tree has a node that leads back or nowhere")


def _check_width(part: Any, attributes: dict[str, Any]) -> None:
    """An estimator that walks trees takes rows of as many features as the trees split."""
    if type(part).__module__ in WALKS_TREES_ITSELF and "estimators_" in attributes:
        trees = [each.tree_ for each in np.ravel(np.asarray(attributes["estimators_"], dtype=object))]
        chosen = attributes.get("estimators_features_")
        widths = [len(each) for each in chosen] if chosen is not None else [attributes["n_features_in_"]] * len(trees)
    elif type(attributes.get("tree_")).__module__ == "sklearn.tree._tree":
        trees, widths = [attributes["tree_"]], [attributes["n_features_in_"]]
    else:
        return
    if [tree.n_features for tree in trees] != widths:
        raise ValueError("a tree splits other features than its model has")


def _check_boosting(part: Any) -> None:
    """The boosted trees of a histogram gradient boosting, if it is fitted."""
    if "_predictors" not in vars(part):
        return
    categorical = np.asarray(part._bin_mapper.is_categorical_)
    if categorical.shape != (part.n_features_in_,):
        raise ValueError("boosted trees have bins for other features than the model has")
    for tree in (tree for stage in part._predictors for tree in stage):
        nodes, sets = tree.nodes, tree.raw_left_cat_bitsets
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        _check_children(inner, nodes[inner], ("left", "right"), len(nodes))
        by_set = nodes[inner][nodes["is_categorical"][inner] != 0]
        if (nodes["feature_idx"][inner] >= len(categorical)).any() or (nodes["feature_idx"][inner] < 0).any():
            raise ValueError("a boosted tree splits a feature that it does not have")
        if len(by_set) and not (
            (by_set["bitset_idx"] < len(sets)).all() and categorical[by_set["feature_idx"]].all() and sets.shape[1] == 8
        ):
            raise ValueError("a boosted tree asks for categories that it does not have")


def _check_neighbours(part: Any) -> None:
    """Check a neighbour tree: its nodes refer to existing rows and have their children."""
    data, order, nodes, bounds, *_ = state = part.__getstate__()
    rows, width = data.shape
    count, metric, weights = state[6], state[11], state[12]
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    if (
        order.shape != (rows,)
        or nodes.shape != (count,)
        or bounds.shape[1:] != (count, width)
        or (weights is not None and len(weights) != rows)
        or ((order < 0) | (order >= rows)).any()
        or (nodes["idx_start"] < 0).any()
        or (nodes["idx_start"] > nodes["idx_end"]).any()
        or (nodes["idx_end"] > rows).any()
        or (2 * inner + 2 >= count).any()
    ):
        raise ValueError("a tree of neighbours has a node that leads nowhere")
    if type(metric).__name__.startswith("Minkowski") and len(metric.__getstate__()[1]) not in (0, width):
        raise ValueError("a distance has weights for other features")


def _check_spline(part: Any) -> None:
    from scipy.interpolate import BSpline

    BSpline(part.t, part.c, part.k)  # the constructor, which skops does not run, raises where they do not fit


def _check_random(part: Any) -> None:
    """A random state stands inside the numbers that it has drawn ahead."""
    state = part.get_state(legacy=False) if hasattr(part, "get_state") else part.bit_generator.state
    ahead = state["state"].get("pos", 0) if isinstance(state["state"], dict) else 0
    if not 0 <= ahead <= 624 or not 0 <= state.get("buffer_pos", 0) <= 4:
        raise ValueError("a random state stands outside its own numbers")


def _check_vectorizer(part: Any) -> None:
    """A vectorizer reads texts, not the files that they name, and has a column for each word."""
    if vars(part).get("input", "content") != "content":
        raise ValueError("a vectorizer would open the files that rows name")
    words = vars(part).get("vocabulary_", {})
    if not all(isinstance(place, (int, np.integer)) and 0 <= place < len(words) for place in words.values()):
        raise ValueError("a vectorizer puts words into columns that it does not have")


def _check_encoder(part: Any) -> None:
    """A one-hot encoder, if it is fitted, has a column for each category."""
    if "_n_features_outs" not in vars(part):
        return
    groups = part._default_to_infrequent_mappings if part._infrequent_enabled else [None] * len(part.categories_)
    dropped = part._drop_idx_after_grouping
    for place, categories in enumerate(part.categories_):
        codes = np.arange(len(categories)) if groups[place] is None else np.asarray(groups[place])
        count = int(codes.max()) + 1 if len(codes) else 0
        left_out = None if dropped is None else dropped[place]
        fits = codes.shape == (len(categories),) and (codes >= 0).all() and (left_out is None or 0 <= left_out < count)
        if not fits or part._n_features_outs[place] != count - (left_out is not None):
            raise ValueError("an encoder puts categories into columns that it does not have")


def _check_machine(part: Any) -> None:
    """A support vector machine, if it is fitted, has coefficients and offsets for all of its classes and vectors."""
    if "support_vectors_" not in vars(part):
        return
    by_rows = part.kernel == "precomputed"  # its vectors are rows of the kernel, which is what it is given
    vectors, width = (len(part.support_), part.n_features_in_) if by_rows else part.support_vectors_.shape
    classes = len(part._n_support) if "classes_" in vars(part) else 2
    pairs = classes * (classes - 1) // 2
    coefficients = [part._dual_coef_.shape, part.dual_coef_.shape]
    offsets = [np.shape(part._intercept_), np.shape(part.intercept_)]
    chances = {np.shape(part._probA), np.shape(part._probB)}
    if (
        np.shape(part.support_) != (vectors,)
        or np.shape(part._n_support) != (classes,)  # compiled code takes its length for the number of classes
        or ("classes_" in vars(part) and int(np.sum(part._n_support)) != vectors)
        or (np.asarray(part._n_support) < 0).any()
        or coefficients != [(classes - 1, vectors)] * 2
        or offsets != [(pairs,)] * 2
        or not chances <= {(0,), (pairs,)}
        or part.n_features_in_ != width
        or (by_rows and not ((part.support_ >= 0) & (part.support_ < width)).all())
    ):
        raise ValueError("a support vector machine has parts of different sizes")


CHECKS: dict[str, Callable[[Any], None]] = {
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingClassifier": _check_boosting,
    "sklearn.ensemble._hist_gradient_boosting.gradient_boosting.HistGradientBoostingRegressor": _check_boosting,
    "sklearn.neighbors._kd_tree.KDTree": _check_neighbours,
    "sklearn.neighbors._ball_tree.BallTree": _check_neighbours,
    **{f"sklearn.neighbors.{name}": check_stored_rows for name in NEIGHBOUR_CLASSES},
    **{f"sklearn.cluster.{name}": check_centres for name in CENTRE_CLASSES},
    "sklearn.cluster._agglomerative.FeatureAgglomeration": check_merged_columns,
    "scipy.interpolate._bsplines.BSpline": _check_spline,
    "numpy.random.mtrand.RandomState": _check_random,
    "numpy.random._generator.Generator": _check_random,
    **{
        f"sklearn.feature_extraction.{name}": _check_vectorizer
        for name in ("text.CountVectorizer", "text.HashingVectorizer", "text.TfidfVectorizer")
    },
    "sklearn.feature_extraction._dict_vectorizer.DictVectorizer": _check_vectorizer,
    "sklearn.preprocessing._encoders.OneHotEncoder": _check_encoder,
    **{f"sklearn.svm._classes.{name}": _check_machine for name in ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")},
}
