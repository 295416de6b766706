"""Skops files without trust: fitted models of scikit-learn open, and nothing that a file names is run."""

import builtins
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from counterpoise.errors import InputError
from counterpoise.models.files import load
from counterpoise.models.skops.allowed_types import ENTRIES, allowed_names
from hostile import outcomes
from models.skops.skops_nodes import called, made, node, plain, write

pytest.importorskip("skops")

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "rate": RNG.normal(size=90) + 5,
        "count": RNG.integers(0, 9, 90),
        "proto": RNG.choice(["tcp", "udp", "icmp"], 90),
        "zone": pd.Categorical(RNG.choice(["a", "b"], 90)),
    }
)
LABELS = np.where(TABLE["count"] + RNG.normal(size=90) > 4, "alert", "normal")
LOADERS = sorted(
    {entry.loader for entry in ENTRIES}
    | {"ConstructorFromReduceNode", "MethodNode", "OperatorFuncNode", "PartialNode", "DefaultDictNode", "CachedNode"}
    | {"BytesNode", "BytearrayNode", "QuantileForestNode", "NewNode"}
)


def columns(*steps: Any) -> ColumnTransformer:
    """A usual beginning of a pipeline."""
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), *steps), ["rate", "count"]),
            ("texts", OneHotEncoder(handle_unknown="ignore"), ["proto"]),
            ("zone", TargetEncoder(cv=2), make_column_selector(dtype_include="category")),
        ]
    )


MODELS = {
    "logistic regression": make_pipeline(columns(StandardScaler()), LogisticRegression()),
    "logarithms": make_pipeline(columns(FunctionTransformer(np.log1p)), SGDClassifier(random_state=0)),
    "splines": make_pipeline(columns(SplineTransformer()), GaussianNB()),
    "selection": make_pipeline(columns(KBinsDiscretizer(3)), SelectKBest(k=3), SVC()),
    "neighbours": make_pipeline(columns(), KNeighborsClassifier(algorithm="kd_tree")),
    "other neighbours": make_pipeline(columns(), KNeighborsClassifier(algorithm="ball_tree", p=3)),
    "forest": make_pipeline(columns(), RandomForestClassifier(5, random_state=0)),
    "bag": make_pipeline(columns(), BaggingClassifier(DecisionTreeClassifier(), 5, max_features=0.5, random_state=0)),
    "boosting": make_pipeline(columns(), GradientBoostingClassifier(n_estimators=5)),
    "histograms": HistGradientBoostingClassifier(max_iter=5, categorical_features=["proto", "zone"]),
    "outliers": make_pipeline(columns(), IsolationForest(n_estimators=5, random_state=0)),
    "network": make_pipeline(columns(StandardScaler()), MLPClassifier((4,), max_iter=200, tol=0.1, random_state=0)),
    "process": make_pipeline(columns(StandardScaler()), GaussianProcessClassifier(1.0 * RBF() + WhiteKernel())),
    "calibrated": CalibratedClassifierCV(make_pipeline(columns(), GaussianNB()), method="isotonic", cv=2),
    "stack": StackingClassifier([("a", make_pipeline(columns(), RandomForestClassifier(3, random_state=0)))], cv=2),
    "search": GridSearchCV(
        make_pipeline(columns(), DecisionTreeClassifier()),
        {"decisiontreeclassifier__max_depth": [1, 2]},
        scoring="f1_macro",
        cv=RepeatedStratifiedKFold(n_splits=2, n_repeats=1),
    ),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_fitted_model_opens_without_trust_and_predicts_the_same(tmp_path: Path, name: str) -> None:
    from skops.io import dump

    model = MODELS[name].fit(TABLE, LABELS)
    dump(model, tmp_path / "model.skops")
    assert np.array_equal(load(tmp_path / "model.skops").predict(TABLE), model.predict(TABLE))


def test_a_target_behind_a_logarithm_opens_without_trust(tmp_path: Path) -> None:
    from skops.io import dump

    x, y = TABLE[["rate"]].to_numpy(), TABLE["count"].to_numpy()
    model = TransformedTargetRegressor(LinearRegression(), func=np.log1p, inverse_func=np.expm1).fit(x, y)
    dump(model, tmp_path / "model.skops")
    assert np.array_equal(load(tmp_path / "model.skops").predict(x), model.predict(x))


def runs(path: Path) -> dict[str, dict[str, Any]]:
    """Files that create a file as soon as they are opened, or when the model predicts."""
    code = f"open({str(path)!r}, 'w').close()"
    shell = f"{sys.executable} -c {code!r}"
    transformer = "sklearn.preprocessing._function_transformer.FunctionTransformer"
    calling = node("OperatorFuncNode", "operator.methodcaller", attrs=plain(("touch",)))
    key = node("ListNode", "builtins.list", content=[node("TypeNode", "builtins.exec")])
    return {
        "exec": called("builtins.exec", code),
        "eval": called("builtins.eval", code),
        "runstring": called("numpy.testing._private.utils.runstring", code, {}),
        "check_output": called("sklearn.utils._testing.check_output", [sys.executable, "-c", code]),
        "os.system": called("os.system", shell),
        "exec as a key": node("DictNode", "builtins.dict", content={code: plain(1)}, key_types=key),
        "exec as a list": node("ListNode", "builtins.exec", content=[plain(code)]),
        "exec as an array": node("RandomStateNode", "builtins.exec", content=plain(code)),
        "exec as a loss": node("LossNode", "builtins.exec", content=plain({}), __reduce__={"args": plain((code,))}),
        "a transformer": made(transformer, func=node("FunctionNode", "builtins.exec")),
        "a partial": node(
            "PartialNode",
            "functools.partial",
            content={
                "func": node("FunctionNode", "builtins.exec"),
                "args": plain((code,)),
                "kwds": plain({}),
                "namespace": plain(None),
            },
        ),
        "a method": node("MethodNode", "pathlib.Path", content={"func": "touch", "obj": called("pathlib.Path", "x")}),
        "an operator": calling,
        "operator.call": node("OperatorFuncNode", "operator.call", attrs=plain((code,))),
        "a list of calls": plain([1, [called("builtins.exec", code)]]),
    }


@pytest.mark.parametrize("name", runs(Path()))
def test_a_file_that_would_run_code_is_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / "model.skops", runs(tmp_path / "sprung")[name])
    with pytest.raises(InputError, match="also names"):
        load(path)
    assert not (tmp_path / "sprung").exists()


def test_a_function_of_the_first_protocol_is_refused(tmp_path: Path) -> None:
    function = node("FunctionNode", "numpy.log1p", content={"module_path": "builtins", "function": "exec"})
    with pytest.raises(InputError, match="protocol 1 or 2"):
        load(write(tmp_path / "model.skops", function, protocol=0))


def callables(folder: Path) -> set[str]:
    """Every callable of builtins, scikit-learn, NumPy and SciPy, by the module and the name that reach it."""
    code = """
import builtins, importlib, json, pkgutil, sys, warnings
warnings.simplefilter("ignore")
found = {f"builtins.{name}" for name in dir(builtins) if callable(getattr(builtins, name))}
for package in map(importlib.import_module, ("sklearn", "numpy", "scipy")):
    walk = pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=lambda name: None)
    for name in (package.__name__, *(each.name for each in walk)):
        if {"tests", "conftest", "__main__"} & set(name.split(".")):
            continue
        try:
            module = importlib.import_module(name)
        except BaseException:  # a part of another package that is not installed
            continue
        for attribute in dir(module):
            try:
                found |= {f"{name}.{attribute}"} if callable(getattr(module, attribute)) else set()
            except BaseException:
                pass
open(sys.argv[1], "w").write(json.dumps(sorted(found)))
"""
    subprocess.run(
        [sys.executable, "-c", code, str(folder / "names.json")], check=True, capture_output=True, cwd=folder
    )
    return set(json.loads((folder / "names.json").read_text()))


def test_of_all_callables_only_those_on_the_list_can_be_named(tmp_path: Path) -> None:
    names = callables(tmp_path)
    assert len(names) > 20_000
    assert {"builtins.exec", "numpy.testing._private.utils.runstring", "sklearn.utils._testing.check_output"} <= names
    for loader in LOADERS:
        nodes = [node(loader, name) for name in sorted(names)]
        with pytest.raises(InputError) as refused:
            load(write(tmp_path / "model.skops", plain(nodes)))
        assert vars(refused.value)["names"] == sorted(names - allowed_names().get(loader, frozenset())), loader


def test_what_is_on_the_list_is_of_the_kinds_that_it_should_be() -> None:
    """Classes of scikit-learn, types of values and arrays, ufuncs of one number, and statistics of arrays."""
    statistics = {
        entry.module for entry in ENTRIES if entry.loader == "FunctionNode" and ".special" not in entry.module
    }
    for entry in ENTRIES:
        assert entry.reason
        assert entry.module != "builtins" or all(
            getattr(builtins, name) in (str, int, float, bool, object, list, tuple, set, dict, slice)
            for name in entry.names
        )
    for loader, names in allowed_names().items():
        for name in names:
            module, _, said = name.rpartition(".")
            try:
                found = getattr(importlib.import_module(module), said)
            except (ImportError, AttributeError):
                continue  # of another version
            if loader == "FunctionNode":
                is_ufunc = isinstance(found, np.ufunc)
                assert found.nin == found.nout == 1 if is_ufunc else module in statistics, name
            else:
                assert isinstance(found, type), name
            if loader == "ObjectNode" and not any(name == f"{entry.module}.{said}" for entry in ENTRIES):
                assert issubclass(found, BaseEstimator), name


def _honest(folder: Path) -> Path:
    """A file that imports what opening files imports."""
    from skops.io import dump

    dump(SplineTransformer().fit(TABLE[["rate"]]), folder / "honest.skops")
    return folder / "honest.skops"


def test_what_is_on_the_list_does_nothing_whatever_it_is_made_of(tmp_path: Path) -> None:
    code = f"open({str(tmp_path / 'sprung')!r}, 'w').close()"
    fillings: list[dict[str, Any]] = [
        {},
        {"content": plain((code,))},
        {"content": plain({"func": code, "predict": code, "steps": [code]})},
        {"content": [plain(code)], "type": "json", "shape": plain((1,)), "__reduce__": {"args": plain((code,))}},
    ]
    paths = [
        write(tmp_path / f"{loader} {name} {place}.skops", node(loader, name, **filling))
        for loader, names in allowed_names().items()
        for name in names
        for place, filling in enumerate(fillings)
    ]
    questions = [("models", *paths[start : start + 100]) for start in range(0, len(paths), 100)]
    for outcome in outcomes(questions, tmp_path, [("model", _honest(tmp_path))]):
        assert (outcome["error"], outcome["events"], outcome["signal"]) == (None, [], 0), outcome
    assert not (tmp_path / "sprung").exists()
