"""ONNX and PyTorch files that mean harm: they load nothing from elsewhere, and run nothing when they are opened."""

import os
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
import pytest

from counterpoise.errors import InputError
from counterpoise.models.files import load
from hostile import is_refused, outcomes

WEIGHTS = np.arange(6, dtype=np.float32)


def graph(nodes: list[Any], arrays: list[Any]) -> bytes:
    """A model that takes rows of three numbers."""
    from onnx import TensorProto, helper

    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [None, 3]), ("y", None))
    )
    made = helper.make_graph(nodes, "graph", [x], [y], arrays)
    data: bytes = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    return data


def weighted(**place: Any) -> bytes:
    """A model whose weights are in another file, or in none."""
    from onnx import TensorProto, helper

    array = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3, 2], data_location=TensorProto.EXTERNAL)
    for key, value in place.items():
        array.external_data.add(key=key, value=str(value))
    return graph([helper.make_node("MatMul", ["x", "w"], ["y"])], [array])


def doubling(times: int) -> bytes:
    """A model with a part of 2ⁿ numbers that does not depend on the rows."""
    from onnx import helper, numpy_helper

    nodes = [helper.make_node("Concat", [f"k{n}", f"k{n}"], [f"k{n + 1}"], axis=0) for n in range(times)]
    nodes += [
        helper.make_node("ReduceSum", [f"k{times}"], ["z"], keepdims=0),
        helper.make_node("Add", ["x", "z"], ["y"]),
    ]
    return graph(nodes, [numpy_helper.from_array(np.ones(1, np.float32), "k0")])


def nested(levels: int) -> bytes:
    """Graphs in graphs, as protobuf writes them."""

    def field(number: int, content: bytes) -> bytes:
        length, size = b"", len(content)
        while size > 127:
            length, size = length + bytes([size & 127 | 128]), size >> 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + content

    inner = b""
    for _ in range(levels):
        inner = field(1, field(5, field(6, inner)))
    return field(7, inner)


def test_an_onnx_file_loads_only_what_is_beside_it_and_computes_nothing(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(WEIGHTS.tobytes())
    (folder / "near.bin").write_bytes(WEIGHTS.tobytes())
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    honest = weighted(location="near.bin")
    written = {
        "above": weighted(location="../secret.bin"),
        "around": weighted(location="../folder/../secret.bin"),
        "absolute": weighted(location=tmp_path / "secret.bin"),
        "linked": weighted(location="link.bin"),
        "device": weighted(location="/dev/zero"),
        "memory": weighted(location="*/_ORT_MEM_ADDR_/*", offset=4096, length=24),
        "nowhere": weighted(),
        "beyond": weighted(location="near.bin", offset=2**60),
        "before": weighted(location="near.bin", offset=-8),
        "long": weighted(location="near.bin", length=2**40),
        "cut": honest[: len(honest) // 2],
        "empty": b"",
        "zeros": bytes(1000),
        "deep": nested(5000),
    }
    for name, data in {**written, "honest": honest, "doubling": doubling(34)}.items():
        (folder / f"{name}.onnx").write_bytes(data)
    paths = [folder / f"{name}.onnx" for name in (*written, "doubling")]
    *found, opened = outcomes([("model", path) for path in paths], tmp_path, [("model", folder / "honest.onnx")])
    for path, outcome in zip(paths, found, strict=False):
        assert is_refused(outcome), (path.name, outcome)
    assert (opened["error"], opened["signal"]) == (None, 0)  # 64 GiB, if it had been computed
    rows = np.eye(3, dtype=np.float32)
    (answer,) = load(folder / "honest.onnx").run(None, {"x": rows})
    assert np.array_equal(answer, WEIGHTS.reshape(3, 2))


class Calls:
    """Pickled, it is a call of something."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def archive(path: Path, files: Mapping[str, bytes], packing: int = ZIP_STORED) -> Path:
    with ZipFile(path, "w", packing) as written:
        for name, data in files.items():
            written.writestr(name, data)
    return path


def test_a_state_dict_runs_nothing_and_takes_no_more_than_it_holds(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    honest, sprung = tmp_path / "honest.pt", tmp_path / "sprung"
    torch.save(torch.nn.Linear(3, 2).state_dict(), honest)
    with ZipFile(honest) as source:
        files = {name: source.read(name) for name in source.namelist()}
    (place,) = (name for name in files if name.endswith("data.pkl"))
    listed, most = files[place], b"J\xff\xff\xff\x7f"
    command = f"{sys.executable} -c \"open({str(sprung)!r}, 'w')\""
    pickles = {
        "system": pickle.dumps({"weight": Calls(os.system, command)}, 2),
        "system again": pickle.dumps({"weight": Calls(os.system, command)}, 4),
        "memory": pickle.dumps({"weight": Calls(bytearray, 10**10)}, 2),
        "more memory": pickle.dumps({"weight": Calls(bytearray, 10**10)}, 4),
        "numbers": listed.replace(b"K\x06t", most + b"t", 1),
        "shape": listed.replace(b"K\x02K\x03\x86", most + most + b"\x86", 1),
        "strides": listed.replace(b"K\x03K\x01\x86", most + b"K\x01\x86", 1),
        "offset": listed.replace(b"QK\x00K\x02", b"Q" + most + b"K\x02", 1),
        "a long text": b"\x80\x02X\xff\xff\xff\x7f",
        "deep": b"\x80\x02" + b"(" * 10**6 + b"t" * 10**6 + b".",
        "empty": b"",
    }
    assert listed not in pickles.values()
    paths = [archive(tmp_path / f"{name}.pt", {**files, place: data}) for name, data in pickles.items()]
    paths.append(archive(tmp_path / "packed.pt", {**files, "archive/data/9": bytes(2**28)}, ZIP_DEFLATED))
    paths.append(archive(tmp_path / "twice.pt", {**files, f"other/{Path(place).name}": listed}))
    for name, data in {"pickle": pickles["system"], "cut": honest.read_bytes()[:700], "zeros": bytes(100)}.items():
        paths.append(tmp_path / f"{name}.pt")
        paths[-1].write_bytes(data)
    found = outcomes([("torch", path) for path in paths], tmp_path, [("torch", honest)])
    for path, outcome in zip(paths, found, strict=True):
        assert is_refused(outcome), (path.name, outcome)
    assert not sprung.exists()


def test_a_factory_makes_a_module(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Linear(3, 2).state_dict(), tmp_path / "model.pt")
    assert load(tmp_path / "model.pt", factory="hostile:make_network").weight.shape == (2, 3)
    with pytest.raises(InputError, match="a factory must make a PyTorch module; it made a dict"):
        load(tmp_path / "model.pt", factory="builtins:dict")
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "model.pt", factory=lambda: torch.nn.Linear(4, 2))
