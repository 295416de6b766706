"""ONNX files: their arrays are in the file itself, or in files beside it, and nothing is computed on opening."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def open_onnx(path: Path) -> Any:
    """An onnxruntime session of a file, if what it loads is beside it; a ValueError or onnxruntime's own if not.

    Parts that do not depend on the rows are computed with the first rows rather than on opening: such a part can be
    made to fill the memory.
    """
    from onnx import load
    from onnxruntime import InferenceSession

    for tensor in _tensors(load(str(path), load_external_data=False)):
        if tensor.data_location == tensor.EXTERNAL:
            _check_place(path, tensor)
    return InferenceSession(str(path), providers=["CPUExecutionProvider"], disabled_optimizers=["ConstantFolding"])


def _tensors(message: Any) -> Iterator[Any]:
    """Every array of a model, those inside nested graphs included."""
    todo = [message]
    while todo:
        message = todo.pop()
        if type(message).__name__ == "TensorProto":
            yield message
        for field, value in message.ListFields():
            if field.message_type is not None:
                todo.extend([value] if hasattr(value, "ListFields") else value)


def _check_place(path: Path, tensor: Any) -> None:
    location = {entry.key: entry.value for entry in tensor.external_data}
    folder = path.resolve().parent
    place = (folder / location.get("location", "")).resolve()
    if not place.is_relative_to(folder) or not place.is_file():
        raise ValueError(f"it loads {location.get('location', '')!r:.80}, which is not a file beside it")
    start, size = int(location.get("offset", 0)), int(location.get("length", 0))
    if start < 0 or size < 0 or start + size > place.stat().st_size:
        raise ValueError(f"it loads more of {location['location']!r:.80} than there is")
