"""What an ONNX file may not hold without being trusted: weights that lie in other files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from counterpoise.errors import InputError


def refuse_external_data(path: Path) -> None:
    """Refuse a model that reads weights from another file: the file could name any that this user may read."""
    import onnx

    model = onnx.load_model(str(path), load_external_data=False)
    for tensor in _tensors(model.graph):
        if tensor.data_location == onnx.TensorProto.EXTERNAL or tensor.external_data:
            raise InputError(
                "an ONNX model must have its weights in its own file",
                f"{path.name!r} reads {tensor.name!r:.80} from another file",
                "save it in one file, or, if you know where it is from, allow that with trust=True (--trust)",
            )


def _tensors(graph: Any) -> Iterator[Any]:
    """Every tensor of a graph and of the graphs inside its nodes."""
    graphs = [graph]
    while graphs:
        here = graphs.pop()
        yield from here.initializer
        for sparse in here.sparse_initializer:
            yield from (sparse.values, sparse.indices)
        for node in here.node:
            for attribute in node.attribute:
                yield from (attribute.t, *attribute.tensors)
                for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                    yield from (sparse.values, sparse.indices)
                graphs.extend(([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs))
