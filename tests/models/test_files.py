"""Models from files: formats that only hold data are opened, those that can run code only when they are trusted."""

import pickle
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.errors import InputError, MissingExtra
from counterpoise.models.files import load
from counterpoise.models.registry import as_model
from counterpoise.space.schema.schema import Schema

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] > 0).astype(int)
SCHEMA = Schema.infer(X)


class Foreign(ClassifierMixin, BaseEstimator):
    def fit(self, x, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, x):
        return np.zeros(len(x), dtype=int)


def test_skops_files_of_scikit_learn_are_opened(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    for own in (make_pipeline(StandardScaler(), LogisticRegression()), HistGradientBoostingClassifier(max_iter=3)):
        skops.dump(own.fit(X, Y), tmp_path / "model.skops")
        assert np.array_equal(load(tmp_path / "model.skops").predict(X), own.predict(X))


def test_skops_files_with_other_types_must_be_trusted(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    skops.dump(Foreign().fit(X, Y), tmp_path / "model.skops")
    with pytest.raises(InputError, match=r"also names .*Foreign; .*--trust"):
        load(tmp_path / "model.skops")


@pytest.mark.parametrize("ending", ["pkl", "pickle", "joblib"])
def test_a_pickle_is_not_opened_unless_it_is_trusted(tmp_path: Path, ending: str) -> None:
    class Trap:
        def __reduce__(self):
            return (Path.touch, (tmp_path / "sprung",))

    path = tmp_path / f"model.{ending}"
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(InputError, match=r"may do anything .*--trust"):
        load(path)
    assert not (tmp_path / "sprung").exists()
    joblib.dump(LogisticRegression().fit(X, Y), path)
    assert np.array_equal(load(path, trust=True).classes_, [0, 1])


def test_boosters_are_opened_in_their_own_formats(tmp_path: Path) -> None:
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    catboost = pytest.importorskip("catboost")
    first = xgboost.XGBClassifier(n_estimators=3).fit(X, Y)
    second = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, min_child_samples=2).fit(X, Y)
    third = catboost.CatBoostClassifier(n_estimators=3, verbose=0, allow_writing_files=False).fit(X, Y)
    first.get_booster().save_model(tmp_path / "model.ubj")
    first.get_booster().save_model(tmp_path / "model.json")
    second.booster_.save_model(tmp_path / "model.txt")
    third.save_model(str(tmp_path / "model.cbm"))
    for own, ending in ((first, "ubj"), (first, "json"), (second, "txt"), (third, "cbm")):
        model = as_model(load(tmp_path / f"model.{ending}"), SCHEMA, X)
        assert np.array_equal(model.outputs(X).argmax(1), own.predict(X))


def test_onnx_files_are_opened(tmp_path: Path) -> None:
    skl2onnx = pytest.importorskip("skl2onnx")
    pytest.importorskip("onnxruntime")
    own = LogisticRegression().fit(X, Y)
    (tmp_path / "model.onnx").write_bytes(
        skl2onnx.to_onnx(own, X[:1].astype(np.float32), target_opset=17).SerializeToString()
    )
    assert np.array_equal(as_model(load(tmp_path / "model.onnx"), SCHEMA, X).predict(X), own.predict(X))


def test_a_state_dict_is_put_into_the_module_that_a_factory_makes(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    own = torch.nn.Linear(3, 2)
    torch.save(own.state_dict(), tmp_path / "model.pt")
    module = load(tmp_path / "model.pt", factory=lambda: torch.nn.Linear(3, 2))
    assert torch.equal(module.weight, own.weight)
    with pytest.raises(InputError, match="without a factory"):
        load(tmp_path / "model.pt")
    with pytest.raises(InputError, match=r"package\.module:name"):
        load(tmp_path / "model.pt", factory="nowhere:make")
    torch.save(own, tmp_path / "whole.pt")
    with pytest.raises(InputError, match=r"names torch\.nn\.modules\.linear Linear, which is no tensor"):
        load(tmp_path / "whole.pt", factory=lambda: torch.nn.Linear(3, 2))


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        load(tmp_path / "model.onnx")
    (tmp_path / "model.h5").touch()
    with pytest.raises(InputError, match=r"must end in one of \.skops"):
        load(tmp_path / "model.h5")
    (tmp_path / "model.onnx").touch()
    with pytest.raises(InputError, match="a factory belongs to a PyTorch file"):
        load(tmp_path / "model.onnx", factory="a:b")


def test_a_missing_library_is_named_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    (tmp_path / "model.onnx").touch()
    with pytest.raises(MissingExtra, match=r"counterpoise\[onnx\]"):
        load(tmp_path / "model.onnx")
