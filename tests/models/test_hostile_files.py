"""Files of every other format that are broken, or made to do harm: each ends in a line that says what is wrong."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hostile import is_refused, outcomes

onnx = pytest.importorskip("onnx")
torch = pytest.importorskip("torch")
xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")
catboost = pytest.importorskip("catboost")

import counterpoise as cp  # noqa: E402
from counterpoise.errors import InputError  # noqa: E402

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)), np.arange(40) % 2


class Harm:
    """What a pickle runs when it is opened."""

    def __reduce__(self) -> Any:
        return (exec, ("raise SystemExit(7)",))


def onnx_model(location: str | None, shape: tuple[int, ...] = (3, 2)) -> bytes:
    weights = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=shape)
    if location is None:
        weights.raw_data = b"\0" * 24
    else:
        weights.data_location = onnx.TensorProto.EXTERNAL
        weights.external_data.add(key="location", value=location)
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "g",
        [onnx.helper.make_tensor_value_info("x", 1, [None, 3])],
        [onnx.helper.make_tensor_value_info("y", 1, [None, 2])],
        [weights],
    )
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    made.ir_version = 9
    return bytes(made.SerializeToString())


def booster_files(folder: Path) -> dict[str, bytes]:
    """A whole file of each library."""
    own = xgboost.XGBClassifier(n_estimators=3, max_depth=2).fit(X, Y).get_booster()
    own.save_model(folder / "whole.json")
    own.save_model(folder / "whole.ubj")
    light = lightgbm.LGBMClassifier(n_estimators=3, min_child_samples=2, verbose=-1).fit(X, Y)
    light.booster_.save_model(str(folder / "whole.txt"))
    cat = catboost.CatBoostClassifier(iterations=3, depth=2, verbose=0, allow_writing_files=False).fit(X, Y)
    cat.save_model(str(folder / "whole.cbm"))
    return {ending: (folder / f"whole.{ending}").read_bytes() for ending in ("json", "ubj", "txt", "cbm")}


def hostile_files(folder: Path) -> list[Path]:
    whole = booster_files(folder)
    texts: dict[str, bytes] = {}
    for ending, content in whole.items():
        texts[f"empty.{ending}"] = b""
        texts[f"cut.{ending}"] = content[: len(content) // 2]
        texts[f"noise.{ending}"] = bytes(RNG.integers(0, 256, 2000, dtype=np.uint8))
    texts["deep.json"] = b"[" * 100_000
    document = json.loads(whole["json"])
    document["learner"]["learner_model_param"]["num_feature"] = "999999999999"
    texts["wide.json"] = json.dumps(document).encode()
    texts["outside.onnx"] = onnx_model("../secret.bin")
    texts["absolute.onnx"] = onnx_model("/etc/passwd")
    texts["beside.onnx"] = onnx_model("beside.bin")
    texts["large.onnx"] = onnx_model(None, (2**31, 2**31))
    texts["noise.onnx"] = bytes(RNG.integers(0, 256, 2000, dtype=np.uint8))
    texts["harm.pkl"] = pickle.dumps(Harm())
    texts["harm.joblib"] = pickle.dumps(Harm())
    texts["harm.pt"] = pickle.dumps(Harm())
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    return [folder / name for name in texts]


def test_no_file_runs_code_reads_another_file_or_takes_a_gigabyte(tmp_path: Path) -> None:
    paths = hostile_files(tmp_path)
    (tmp_path / "beside.bin").write_bytes(b"\0" * 24)
    (tmp_path / "whole.onnx").write_bytes(onnx_model(None))
    honest = [("model", tmp_path / f"whole.{ending}") for ending in ("json", "ubj", "txt", "cbm", "onnx")]
    for path, outcome in zip(paths, outcomes([("model", path) for path in paths], tmp_path, honest), strict=True):
        assert is_refused(outcome), (path.name, outcome)


def test_weights_of_another_file_are_read_where_the_file_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "beside.onnx").write_bytes(onnx_model("beside.bin"))
    (tmp_path / "beside.bin").write_bytes(b"\0" * 24)
    assert cp.load_model(tmp_path / "beside.onnx", trust=True).get_inputs()[0].name == "x"


def test_weights_of_torch_are_data_alone(tmp_path: Path) -> None:
    torch.save({"weight": Harm()}, tmp_path / "harm.pt")
    with pytest.raises(InputError, match="cannot be read"):
        cp.load_model(tmp_path / "harm.pt", factory=lambda: torch.nn.Linear(1, 1))
