"""PyTorch's files: a state_dict of tensors in a zip archive, whose pickle names tensors and nothing else."""

from __future__ import annotations

from pathlib import Path
from pickletools import genops
from typing import Any
from zipfile import ZIP_STORED, ZipFile

from counterpoise.models.file_checks.trial import DEFAULT_LIMITS, FileLimits

NAMES = {"collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"}
STORAGES = ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
NAMING = ("STACK_GLOBAL", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX", "EXT1", "EXT2", "EXT4")  # other ways to name something


def load_state(path: Path, limits: FileLimits = DEFAULT_LIMITS) -> Any:
    """The state_dict in a file, if it is tensors; a ValueError or PyTorch's own error if not."""
    import torch

    with ZipFile(path) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != ZIP_STORED for entry in entries):
            raise ValueError("it is packed, which torch.save does not do")
        if sum(entry.file_size for entry in entries) > path.stat().st_size:
            raise ValueError("its parts are longer than itself")
        pickles = [entry for entry in entries if entry.filename.endswith("data.pkl")]
        if len(pickles) != 1 or pickles[0].file_size > limits.pickle_bytes:
            raise ValueError("it must have one list of tensors (data.pkl) of at most the permitted size")
        _check(archive.read(pickles[0]))
    return torch.load(path, map_location="cpu", weights_only=True)


def _check(pickle: bytes) -> None:
    allowed = NAMES | {f"torch {kind}Storage" for kind in STORAGES}
    for operation, argument, _ in genops(pickle):
        if operation.name in NAMING or (operation.name == "GLOBAL" and argument not in allowed):
            raise ValueError(f"it names {argument or operation.name!s:.80}, which is no tensor")
