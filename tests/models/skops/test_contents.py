"""Skops files of known types whose contents are not what they seem: refused, with little memory and time."""

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZipFile

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import FeatureAgglomeration, KMeans
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from counterpoise.errors import InputError
from counterpoise.models.files import load
from hostile import is_refused, outcomes
from models.skops.skops_nodes import Node, array, made, node, npy, plain, write

skops = pytest.importorskip("skops.io")

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
KERNEL = "sklearn.gaussian_process.kernels.RBF"
Change = Callable[[Node, dict[str, Any]], None]  # changes the description and the arrays of a file


def altered(model: Any, path: Path, change: Change) -> Path:
    """The file of a fitted model, changed by hand."""
    with ZipFile(io.BytesIO(skops.dumps(model))) as archive:
        schema = json.loads(archive.read("schema.json"))
        data = {name: archive.read(name) for name in archive.namelist() if name != "schema.json"}
    arrays: dict[str, Any] = {name: np.load(io.BytesIO(each), allow_pickle=False) for name, each in data.items()}
    change(schema, arrays)
    return write(path, schema, {name: npy(each) for name, each in arrays.items()})


def nodes_of(schema: Any, loader: str) -> list[Node]:
    """The nodes of a kind."""
    found = []
    if isinstance(schema, (dict, list)):
        for each in schema.values() if isinstance(schema, dict) else schema:
            found += nodes_of(each, loader)
        if isinstance(schema, dict) and schema.get("__loader__") == loader:
            found.append(schema)
    return found


def in_tree(field: str, value: Any) -> Change:
    """Change a field of the root of the first tree."""

    def change(schema: Node, arrays: dict[str, Any]) -> None:
        for values in arrays.values():
            if values.dtype.names and field in values.dtype.names:
                values[field][0] = value

    return change


def in_state(name: str, value: Any) -> Change:
    """Change a number that each tree says about itself."""

    def change(schema: Node, arrays: dict[str, Any]) -> None:
        for tree in nodes_of(schema, "TreeNode"):
            tree["content"]["content"][name] = value if isinstance(value, dict) else plain(value)

    return change


def in_arguments(place: int, value: Any) -> Change:
    """Change what the constructor of each tree is given."""

    def change(schema: Node, arrays: dict[str, Any]) -> None:
        for tree in nodes_of(schema, "TreeNode"):
            tree["__reduce__"]["args"]["content"][place] = plain(value)

    return change


def in_attributes(**values: Any) -> Change:
    """Set, or leave out, attributes of the model itself."""

    def change(schema: Node, arrays: dict[str, Any]) -> None:
        for name, value in values.items():
            schema["content"]["content"][name] = plain(value)

    return change


def in_array(name: str, alter: Callable[[Any], Any]) -> Change:
    """Change an array that is an attribute of the model itself."""

    def change(schema: Node, arrays: dict[str, Any]) -> None:
        file = schema["content"]["content"][name]["file"]
        arrays[file] = alter(arrays[file])

    return change


TREE = DecisionTreeClassifier().fit(X, Y)
CENTRES = KMeans(2, n_init=1, random_state=0).fit(X)
MERGED = FeatureAgglomeration(2).fit(X)
BRUTE = KNeighborsClassifier(algorithm="brute").fit(X, Y)
FOREST = RandomForestClassifier(2, random_state=0).fit(X, Y)
HISTOGRAMS = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
NEIGHBOURS = KNeighborsClassifier(algorithm="kd_tree", leaf_size=5).fit(X, Y)
NETWORK = MLPClassifier((2,), max_iter=300, tol=1, random_state=np.random.RandomState(0)).fit(X, Y)
ISOLATION = IsolationForest(n_estimators=2, random_state=0).fit(X)
ENCODER = OneHotEncoder(sparse_output=False).fit([["tcp"], ["udp"], ["icmp"]])
MACHINE = SVC().fit(X, Y)
REGRESSION = SVR().fit(X, Y)
ALTERED: dict[str, tuple[Any, Change, str]] = {
    "a tree in a circle": (TREE, in_tree("left_child", 0), "leads back or nowhere"),
    "a tree that leads nowhere": (TREE, in_tree("right_child", 10**6), "leads back or nowhere"),
    "a tree that leads below": (TREE, in_tree("right_child", -7), "leads back or nowhere"),
    "a feature that is not there": (TREE, in_tree("feature", 3), "splits a feature"),
    "a feature below": (FOREST, in_tree("feature", -2), "splits a feature"),
    "more nodes than there are": (TREE, in_state("node_count", 10**9), "other nodes"),
    "no nodes": (TREE, in_state("node_count", 0), "other nodes"),
    "nodes of another kind": (TREE, in_state("nodes", made(KERNEL)), "holds a ObjectNode"),
    "outputs that are not there": (TREE, in_arguments(2, 10**12), "other outputs"),
    "wider trees than rows": (TREE, in_arguments(0, 10**6), "other features"),
    "wider trees than the forest": (FOREST, in_attributes(n_features_in_=4), "other features"),
    "wider trees than the isolation": (ISOLATION, in_attributes(estimators_features_=[[0], [0]]), "other features"),
    "a boosted tree in a circle": (HISTOGRAMS, in_tree("left", 0), "leads back or nowhere"),
    "a boosted tree to nowhere": (HISTOGRAMS, in_tree("right", 10**6), "leads back or nowhere"),
    "a boosted feature": (HISTOGRAMS, in_tree("feature_idx", 50), "splits a feature"),
    "categories of no feature": (HISTOGRAMS, in_tree("is_categorical", 1), "asks for categories"),
    "neighbours from nowhere": (NEIGHBOURS, in_tree("idx_end", 10**6), "leads nowhere"),
    "neighbours without children": (NEIGHBOURS, lambda schema, arrays: leafless(arrays), "leads nowhere"),
    "a random state outside itself": (NETWORK, lambda schema, arrays: far_ahead(schema), "random state"),
    "words without columns": (CountVectorizer().fit(["ab cd"]), in_attributes(vocabulary_={"ab": 9}), "puts words"),
    "categories without columns": (ENCODER, in_attributes(_n_features_outs=[1]), "puts categories"),
    "vectors without coefficients": (MACHINE, in_attributes(_n_support=[2, 900]), "parts of different sizes"),
    "a regression of many classes": (
        REGRESSION,
        in_array("_n_support", lambda each: each.repeat(9)),
        "different sizes",
    ),
    "a machine for other rows": (MACHINE, in_attributes(n_features_in_=2), "parts of different sizes"),
    "centres of other rows": (CENTRES, in_array("cluster_centers_", lambda each: each[:, :1]), "another size"),
    "no centres": (CENTRES, in_array("cluster_centers_", lambda each: each[:0]), "another size"),
    "centres of whole numbers": (CENTRES, in_array("cluster_centers_", lambda each: each.astype(int)), "cannot be"),
    "clusters of columns": (MERGED, in_array("labels_", lambda each: each + 2**62), "into clusters that cannot be"),
    "a million threads": (CENTRES, in_attributes(_n_threads=10**6), "cannot be"),
    "a million jobs": (BRUTE, in_attributes(n_jobs=10**6), "jobs"),
    "a class that is not listed": (BRUTE, in_array("_y", lambda each: each + 10**6), "does not list"),
    "a class below": (BRUTE, in_array("_y", lambda each: each - 7), "does not list"),
    "a class that is a fraction": (BRUTE, in_array("_y", lambda each: each + 0.5), "does not list"),
    "outcomes of other rows": (NEIGHBOURS, in_array("_y", lambda each: each[:9]), "other rows"),
    "neighbours of other rows": (BRUTE, in_array("_fit_X", lambda each: each[:, :2]), "other sizes"),
    "fewer neighbours than said": (BRUTE, in_attributes(n_samples_fit_=10**6), "other sizes"),
    "a vectorizer of files": (CountVectorizer().fit(["a bc"]), in_attributes(input="filename"), "open the files"),
}


def leafless(arrays: dict[str, Any]) -> None:
    """No node of a tree of neighbours is a leaf."""
    for values in arrays.values():
        if values.dtype.names:
            values["is_leaf"] = 0


def far_ahead(schema: Node) -> None:
    """Random states stand far behind their last number."""
    for state in nodes_of(schema, "RandomStateNode"):
        state["content"]["content"]["state"]["content"]["pos"] = plain(10**6)


@pytest.mark.parametrize("name", ALTERED)
def test_contents_that_do_not_fit_together_are_refused(tmp_path: Path, name: str) -> None:
    model, change, message = ALTERED[name]
    load(altered(model, tmp_path / "honest.skops", lambda schema, arrays: None))
    with pytest.raises(InputError, match=message):
        load(altered(model, tmp_path / "model.skops", change))


def test_a_sparse_array_whose_indices_leave_it_is_refused(tmp_path: Path) -> None:
    matrix = sparse.csr_matrix(np.eye(3))
    root = node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="a.npz")
    for column, refused in ((2, False), (10**6, True)):
        matrix.indices[2] = column
        stream = io.BytesIO()
        sparse.save_npz(stream, matrix)
        path = write(tmp_path / "model.skops", root, {"a.npz": stream.getvalue()})
        if refused:
            with pytest.raises(InputError, match="indices must be"):
                load(path)
        else:
            assert load(path).shape == (3, 3)


def test_attributes_that_numpy_reads_as_an_address_are_refused(tmp_path: Path) -> None:
    somewhere = {"data": (4096, False), "shape": (3,), "typestr": "<f8", "version": 3}
    for attributes in (
        plain({"__array_interface__": somewhere}),
        node("JsonNode", "builtins.str", content='{"__a": 1}'),
    ):
        root = node("ObjectNode", KERNEL, content=attributes)
        with pytest.raises(InputError, match=r"begins with __|hides some"):
            load(write(tmp_path / "model.skops", root))


def test_two_nodes_of_one_number_are_two(tmp_path: Path) -> None:
    """skops takes a number that it has seen for the node that had it, whatever stands there now."""
    first, second = ({**made(KERNEL, length_scale=value), "__id__": 5} for value in (1.0, 2.0))
    one, other = load(write(tmp_path / "model.skops", plain([first, second])))
    assert (one.length_scale, other.length_scale) == (1.0, 2.0)


def deep(levels: int) -> str:
    """A description of lists in lists, too deep to be built by writing a Python object."""
    opening = '{"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": ['
    return opening * levels + "]}" * levels


def test_a_file_cannot_take_much_memory_or_time(tmp_path: Path) -> None:
    def described(name: str, text: str) -> Path:
        with ZipFile(tmp_path / name, "w", ZIP_DEFLATED) as archive:
            archive.writestr("schema.json", text)
        return tmp_path / name

    def doubled() -> Node:
        """Each level has the next one twice, by its number: 2⁶⁰ nodes for whoever counts them."""
        root = plain([])
        for level in range(60):
            root = {**plain([root, {**plain([]), "__id__": level}]), "__id__": level + 1}
        return root

    def header(shape: tuple[int, ...], dtype: str) -> bytes:
        stream = io.BytesIO()
        np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
        return stream.getvalue()

    def packed(zeros: int) -> bytes:
        stream = io.BytesIO()
        with ZipFile(stream, "w", ZIP_DEFLATED) as archive, archive.open("data.npy", "w") as entry:
            entry.write(header((zeros,), "|u1"))
            for _ in range(zeros // 2**20):
                entry.write(bytes(2**20))
        return stream.getvalue()

    def seeded(pool: int) -> Node:
        state = {"entropy": 1, "spawn_key": (), "pool_size": pool, "n_children_spawned": 0}
        generator = {"bit_generator": "PCG64", "state": {"state": 1, "inc": 1}, "has_uint32": 0, "uinteger": 0}
        content = {"bit_generator": plain(generator), "seed_seq": plain(state)}
        return node("RandomGeneratorNode", "numpy.random._generator.Generator", content=content)

    def with_zeros(name: str, mebibytes: int, others: Sequence[Node] = (), roots: int = 1) -> Path:
        nodes = [*others, *({**array("a.npy"), "__id__": 1 + number} for number in range(roots))]
        data = header((mebibytes * 2**20,), "|u1") + bytes(mebibytes * 2**20)
        return write(tmp_path / name, plain(nodes), {"a.npy": data}, packing=ZIP_DEFLATED)

    sparse_root = node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="a.npz")
    refused = [
        described("long.skops", " " * (200 * 2**20)),
        described("values.skops", "[" + "[]," * (20 * 2**20) + "1]"),
        described("deep.skops", deep(200_000)),
        described("text.skops", '{"protocol": 2, "a": "' + "[" * 10**7),
        write(tmp_path / "nodes.skops", plain([plain([]) for _ in range(150_000)])),
        with_zeros("zeros.skops", 1100),
        write(tmp_path / "claimed.skops", array("a.npy"), {"a.npy": header((2**40,), "|u1")}),
        write(tmp_path / "empty.skops", array("a.npy"), {"a.npy": header((2**34,), "<U0")}),
        write(tmp_path / "cells.skops", array("a.npy"), {"a.npy": header((0,), "<U500000000")}),
        write(tmp_path / "sparse.skops", sparse_root, {"a.npz": packed(1100 * 2**20)}),
        write(tmp_path / "seed.skops", seeded(10**9)),
        write(tmp_path / "bzip2.skops", plain([]), {"a.bin": b"a"}, packing=ZIP_BZIP2),
        write(tmp_path / "zip.skops", array("a.npy"), {"a.npy": packed(2**20)}),
        write(tmp_path / "pickle.skops", array("a.npy"), {"a.npy": b"cos\nsystem\n(S'true'\ntR."}),
    ]
    opened = [
        write(tmp_path / "doubled.skops", doubled()),
        with_zeros("large.skops", 250, roots=400),
        with_zeros("everything.skops", 250, [made(KERNEL, a=[1] * 12) for _ in range(14_000)]),
        write(tmp_path / "seeds.skops", seeded(4)),
    ]
    honest = altered(FOREST, tmp_path / "honest.skops", lambda schema, arrays: None)
    found = outcomes([("model", path) for path in (*refused, *opened)], tmp_path, [("model", honest)])
    for path, outcome in zip(refused, found, strict=False):
        assert is_refused(outcome), (path.name, outcome)
    for path, outcome in zip(opened, found[len(refused) :], strict=True):
        assert (outcome["error"], outcome["signal"]) == (None, 0), (path.name, outcome)
