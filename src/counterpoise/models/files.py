"""Fitted models from files: formats that hold only data are opened, those that can run code only on request."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from counterpoise.errors import CounterpoiseError, InputError, MissingExtra
from counterpoise.models.lightgbm_text import refuse_broken_text
from counterpoise.models.onnx_parts import refuse_external_data
from counterpoise.models.skops.read import load_skops


def load(path: str | Path, *, trust: bool = False, factory: str | Callable[[], Any] | None = None) -> Any:
    """The fitted model in a file, by its ending.

    .skops (scikit-learn), .onnx, .ubj and .json (XGBoost), .txt (LightGBM), .cbm (CatBoost), .pt and .pth (a PyTorch
    state_dict, put into the module that ``factory`` makes: a callable, or "package.module:name"). Pickle and joblib
    files can run any code when they are opened, so they, and skops files with foreign types, need ``trust=True``.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError("a model's file must exist", f"there is no file {str(path)!r}", "correct the path")
    ending = path.suffix.lower()
    if ending not in LOADER_BY_SUFFIX:
        raise InputError(
            f"a model's file must end in one of {', '.join(LOADER_BY_SUFFIX)}",
            f"{path.name!r} does not",
            "save the model in one of these formats; for scikit-learn skops is the safe one",
        )
    if factory is not None and ending not in (".pt", ".pth"):
        raise InputError("a factory belongs to a PyTorch file", f"{path.name!r} is not one", "leave the factory out")
    try:
        return LOADER_BY_SUFFIX[ending](path, trust, factory)
    except ImportError as error:
        if isinstance(error, MissingExtra) or ending not in EXTRA_BY_SUFFIX:
            raise
        raise MissingExtra(EXTRA_BY_SUFFIX[ending]) from error
    except CounterpoiseError:
        raise
    except Exception as error:  # each library refuses a broken file in its own way
        raise InputError(
            f"a file that ends in {ending} must hold a whole model of that format",
            f"{path.name!r} cannot be read ({type(error).__name__}: {_first_sentence(error)})",
            "save the model again with the library that made it",
        ) from error


def _first_sentence(error: Exception) -> str:
    """What an error of a library says first, without the colours some of them put into it."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
    return text.splitlines()[0][:200] if text else "no reason given"


def _load_skops(path: Path, trust: bool, factory: Any) -> Any:
    from skops.io import get_untrusted_types, load

    return load(path, trusted=get_untrusted_types(file=path)) if trust else load_skops(path)


def _load_onnx(path: Path, trust: bool, factory: Any) -> Any:
    from onnxruntime import InferenceSession

    if not trust:
        refuse_external_data(path)
    return InferenceSession(str(path), providers=["CPUExecutionProvider"])


def _load_xgboost(path: Path, trust: bool, factory: Any) -> Any:
    from xgboost import Booster

    booster = Booster()
    booster.load_model(path)
    return booster


def _load_lightgbm(path: Path, trust: bool, factory: Any) -> Any:
    from lightgbm import Booster

    refuse_broken_text(path)
    return Booster(model_file=str(path))


def _load_catboost(path: Path, trust: bool, factory: Any) -> Any:
    from catboost import CatBoost, CatBoostClassifier, CatBoostRegressor

    classes = CatBoost().load_model(str(path)).classes_
    return (CatBoostClassifier if len(classes) else CatBoostRegressor)().load_model(str(path))


def _load_torch(path: Path, trust: bool, factory: str | Callable[[], Any] | None) -> Any:
    if factory is None:
        raise InputError(
            "a state_dict needs the module that it belongs to",
            f"{path.name!r} came without a factory",
            'name a function that makes the module: factory="package.module:make_network"',
        )
    import torch

    module = (_import_factory(factory) if isinstance(factory, str) else factory)()
    state = torch.load(path, map_location="cpu", weights_only=True)
    module.load_state_dict(state)
    return module.eval()


def _load_pickle(path: Path, trust: bool, factory: Any) -> Any:
    if not trust:
        raise InputError(
            "a file that can run code must be trusted explicitly",
            f"{path.name!r} is a pickle, which may do anything on this machine as soon as it is opened",
            "if you know where it is from, give trust=True (--trust); better, save the model with skops",
        )
    import joblib

    return joblib.load(path)


def _import_factory(name: str) -> Callable[[], Any]:
    module, _, attribute = name.partition(":")
    try:
        found: Callable[[], Any] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            'a factory must be given as "package.module:name"', f"{name!r} ({error})", "correct it"
        ) from error
    return found


LOADER_BY_SUFFIX: dict[str, Callable[[Path, bool, Any], Any]] = {
    ".skops": _load_skops,
    ".onnx": _load_onnx,
    ".ubj": _load_xgboost,
    ".json": _load_xgboost,
    ".txt": _load_lightgbm,
    ".cbm": _load_catboost,
    ".pt": _load_torch,
    ".pth": _load_torch,
    ".pkl": _load_pickle,
    ".pickle": _load_pickle,
    ".joblib": _load_pickle,
}
EXTRA_BY_SUFFIX = {
    ".skops": "safe",
    ".onnx": "onnx",
    ".ubj": "boosting",
    ".json": "boosting",
    ".txt": "boosting",
    ".cbm": "boosting",
    ".pt": "torch",
    ".pth": "torch",
}
