"""Files of boosters that are cut off, or whose parts do not fit together: an error of ours, and no crash of theirs."""

import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoise.errors import InputError
from counterpoise.models.files import load
from hostile import is_refused, outcomes

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = RNG.integers(0, 3, 200)
TABLE = pd.DataFrame(X, columns=["rate", "count of packets", "größe"]).assign(
    proto=pd.Categorical(RNG.choice(list("pqrst"), 200))
)


def refused(paths: list[Path], honest: Path, folder: Path) -> None:
    found = outcomes([("model", path) for path in paths], folder, [("model", honest)])
    for path, outcome in zip(paths, found, strict=True):
        assert is_refused(outcome), (path.name, outcome)


def test_every_kind_of_xgboost_opens(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    trees: dict[str, Any] = {"n_estimators": 3, "max_depth": 3}
    models = {
        "classes": xgboost.XGBClassifier(**trees).fit(X, Y),
        "dart": xgboost.XGBClassifier(booster="dart", **trees).fit(X, Y > 0),
        "linear": xgboost.XGBClassifier(n_estimators=3, booster="gblinear").fit(X, Y),
        "categories": xgboost.XGBClassifier(enable_categorical=True, max_cat_to_onehot=1, **trees).fit(TABLE, Y),
        "targets": xgboost.XGBRegressor(**trees).fit(X, np.c_[Y, Y]),
        "vectors": xgboost.XGBRegressor(multi_strategy="multi_output_tree", **trees).fit(X, np.c_[Y, Y]),
        "forest": xgboost.XGBRFClassifier(**trees).fit(X, Y),
        "pruned": xgboost.XGBRegressor(gamma=20, tree_method="exact", **trees).fit(X, Y),
    }
    for name, model in models.items():
        rows = xgboost.DMatrix(TABLE if name == "categories" else X, enable_categorical=True)
        for ending in ("json", "ubj"):
            model.get_booster().save_model(tmp_path / f"{name}.{ending}")
            found = load(tmp_path / f"{name}.{ending}").predict(rows)
            assert np.array_equal(found, model.get_booster().predict(rows)), (name, ending)


def test_every_kind_of_lightgbm_opens(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    trees: dict[str, Any] = {"n_estimators": 3, "verbose": -1, "min_child_samples": 2}
    categories = {"max_cat_to_onehot": 1, "cat_smooth": 0, "min_data_per_group": 1}
    models = {
        "classes": lightgbm.LGBMClassifier(**trees).fit(X, Y),
        "two": lightgbm.LGBMClassifier(**trees).fit(X, Y > 0),
        "linear": lightgbm.LGBMRegressor(linear_tree=True, **trees).fit(X, Y),
        "categories": lightgbm.LGBMClassifier(**categories, **trees).fit(TABLE, Y),
        "dart": lightgbm.LGBMClassifier(boosting_type="dart", **trees).fit(X, Y),
        "stump": lightgbm.LGBMRegressor(**{**trees, "min_child_samples": 500}).fit(X, Y),
    }
    for name, model in models.items():
        rows = TABLE if name == "categories" else X
        model.booster_.save_model(tmp_path / f"{name}.txt")
        assert np.array_equal(load(tmp_path / f"{name}.txt").predict(rows), model.booster_.predict(rows)), name


def put(*way: Any) -> Callable[[Any], None]:
    """Write the last of these at the place that the others lead to."""

    def change(document: Any) -> None:
        *steps, last, value = way
        for step in steps:
            document = document[step]
        document[last] = value

    return change


BOOSTER = ("learner", "gradient_booster")
TREE = (*BOOSTER, "model", "trees", 0)
SIZE = ("learner", "learner_model_param")
ALTERED = {
    "a circle": put(*TREE, "left_children", 2, 1),
    "itself": put(*TREE, "right_children", 0, 0),
    "nowhere": put(*TREE, "left_children", 0, 10**6),
    "below": put(*TREE, "left_children", 0, -5),
    "a feature": put(*TREE, "split_indices", 0, 10**6),
    "nodes": put(*TREE, "tree_param", "num_nodes", str(2**30)),
    "no nodes": put(*TREE, "left_children", []),
    "a vector of weights": put(*TREE, "tree_param", "size_leaf_vector", str(2**30)),
    "categories": put(*TREE, "categories_sizes", [2**30]),
    "features": put(*SIZE, "num_feature", str(2**31 - 1)),
    "classes": put(*SIZE, "num_class", str(2**31 - 1)),
    "targets": put(*SIZE, "num_target", str(2**31 - 1)),
    "trees": put(*BOOSTER, "model", "gbtree_model_param", "num_trees", str(2**31 - 1)),
    "trees together": put(*BOOSTER, "model", "gbtree_model_param", "num_parallel_tree", str(2**31 - 1)),
    "a class": put(*BOOSTER, "model", "tree_info", [2**30, 0, 0]),
    "a booster": put(*BOOSTER, "name", "other"),
    "an objective": put("learner", "objective", "name", "other"),
}


def test_hostile_files_of_xgboost_are_refused(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.XGBClassifier(n_estimators=3, max_depth=3).fit(X, Y > 0).get_booster()
    honest = tmp_path / "honest.ubj"
    booster.save_model(honest)
    booster.save_model(tmp_path / "honest.json")
    text, data = (tmp_path / "honest.json").read_text(), honest.read_bytes()
    first = data.index(b"[$") + 5  # the length of the first array of numbers
    name = b"{L" + struct.pack(">q", 1) + b"a"
    written: dict[str, bytes] = {
        "cut.json": text.encode()[: len(text) // 2],
        "empty.json": b"",
        "deep.json": b'{"a":' * 10**6,
        "lists.json": b'{"a":[' + b"[]," * 10**7,
        "number.json": b'{"a":' + b"9" * 10**6 + b"}",
        "twice.json": text.replace('{"learner":', '{"learner":{},"learner":', 1).encode(),
        "cut.ubj": data[: len(data) // 2],
        "empty.ubj": b"",
        "deep.ubj": name * 300_000,
        "array.ubj": data[:first] + struct.pack(">q", 2**34) + data[first + 8 :],
        "arrays.ubj": name + b"[$d#L" + struct.pack(">q", 2**60),
        "negative.ubj": name + b"[$d#L" + struct.pack(">q", -1),
        "name.ubj": b"{L" + struct.pack(">q", 2**40),
        "text.ubj": name + b"SL" + struct.pack(">q", 2**40),
    }
    for number, change in enumerate(ALTERED.values()):
        document = json.loads(text)
        change(document)
        written[f"altered {number}.json"] = json.dumps(document).encode()
    for file, content in written.items():
        (tmp_path / file).write_bytes(content)
    refused([tmp_path / file for file in written], honest, tmp_path)


def test_bytes_of_an_xgboost_file_that_are_changed_crash_nothing(tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost")
    honest = tmp_path / "honest.ubj"
    xgboost.XGBClassifier(n_estimators=2, max_depth=2).fit(X, Y > 0).get_booster().save_model(honest)
    data = honest.read_bytes()
    rng = np.random.default_rng(1)
    paths = []
    for number in range(40):
        changed = bytearray(data)
        for place in rng.integers(0, len(data), rng.integers(1, 4)):
            changed[place] = rng.integers(0, 256)
        paths.append(tmp_path / f"{number}.ubj")
        paths[-1].write_bytes(changed)
    for outcome in outcomes([("model", path) for path in paths], tmp_path, [("model", honest)]):
        assert outcome["error"] in (None, "InputError"), outcome
        assert outcome["signal"] == 0, outcome


LINES = {  # what stands at the beginning of a line of a LightGBM file, and what takes its place
    "leaves": (r"num_leaves=\d+", "num_leaves=2147483647"),
    "fewer leaves": (r"num_leaves=\d+", "num_leaves=-5"),
    "sets": (r"num_cat=\d+", "num_cat=2147483647"),
    "a circle": (r"left_child=\S+", "left_child=0"),
    "nowhere": (r"right_child=\S+", "right_child=1000000"),
    "below": (r"left_child=\S+", "left_child=-1000000"),
    "too few": (r"left_child=.*", "left_child=1"),
    "a feature": (r"split_feature=\S+", "split_feature=1000000"),
    "classes": (r"num_class=\d+", "num_class=2147483647"),
    "trees in a round": (r"num_tree_per_iteration=\d+", "num_tree_per_iteration=2147483647"),
    "features": (r"max_feature_idx=\d+", "max_feature_idx=2147483647"),
    "sizes": (r"tree_sizes=.*", "tree_sizes=9999999999 1 1"),
    "sizes below": (r"tree_sizes=.*", "tree_sizes=-1 -1 -1"),
    "small sizes": (r"tree_sizes=.*", "tree_sizes=1 1 1"),
    "a setting": (r"\[objective: .*\]", "[obj"),
}


def test_hostile_files_of_lightgbm_are_refused(tmp_path: Path) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    honest = tmp_path / "honest.txt"
    lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, min_child_samples=2).fit(X, Y > 0).booster_.save_model(honest)
    text = honest.read_text()
    written = {
        name: re.sub(rf"^{there}$" if there.endswith("*") else rf"^{there}", instead, text, count=1, flags=re.MULTILINE)
        for name, (there, instead) in LINES.items()
    }
    assert text not in written.values()
    written |= {"empty": "", "zeros": "\0" * 1000, "one word": "tree\n", "long": "tree\n" + "a" * 10**7}
    written |= {f"cut at {share} %": text[: len(text) * share // 100] for share in (5, 20, 40, 60, 95)}
    for name, content in written.items():
        (tmp_path / f"{name}.txt").write_text(content)
    refused([tmp_path / f"{name}.txt" for name in written], honest, tmp_path)


def test_hostile_files_of_catboost_are_refused(tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    honest = tmp_path / "honest.cbm"
    model = catboost.CatBoostClassifier(n_estimators=3, verbose=0, allow_writing_files=False).fit(X, Y > 0)
    model.save_model(str(honest))
    data = honest.read_bytes()
    written = {
        "cut": data[: len(data) // 2],
        "empty": b"",
        "head": b"CBM1",
        "size": b"CBM1" + struct.pack("<I", 2**32 - 1) + data[8:],
        "no size": b"CBM1" + bytes(4) + data[8:],
        "zeros": bytes(1000),
    }
    for name, content in written.items():
        (tmp_path / f"{name}.cbm").write_bytes(content)
        with pytest.raises(InputError, match="cannot be read"):
            load(tmp_path / f"{name}.cbm")
    assert np.array_equal(load(honest).predict(X), model.predict(X))
