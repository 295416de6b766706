"""Fitted models from files: formats that hold only data are opened, those that can run code only on request."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from counterpoise.errors import CounterpoiseError, InputError, MissingExtra
from counterpoise.models.file_checks.lightgbm_files import read_lightgbm
from counterpoise.models.file_checks.onnx_files import open_onnx
from counterpoise.models.file_checks.torch_files import load_state
from counterpoise.models.file_checks.trial import try_apart
from counterpoise.models.file_checks.xgboost_files import read_xgboost
from counterpoise.models.skops.skops_files import load_skops

CATBOOST_TRIAL = """
model = catboost.CatBoost().load_model(blob=data)
if not (model.get_cat_feature_indices() or model.get_text_feature_indices() or model.get_embedding_feature_indices()):
    model.predict([[0.0] * len(model.feature_names_)], thread_count=1)
"""


def load(path: str | Path, *, trust: bool = False, factory: str | Callable[[], Any] | None = None) -> Any:
    """The fitted model in a file, by its ending.

    .skops (scikit-learn), .onnx, .ubj and .json (XGBoost), .txt (LightGBM), .cbm (CatBoost), .pt and .pth (a PyTorch
    state_dict, put into the module that ``factory`` makes: a callable, or "package.module:name"). Pickle and joblib
    files can run any code when they are opened, so they need ``trust=True``. Files of the other formats are checked
    before their libraries open them: types that are not known, parts that do not fit together and sizes that are only
    said are refused, unless ``trust=True``.

    A factory that is given by name is imported and called, as if you had written the import yourself: it is your code,
    and no file can name one.

    path: the file; its ending says what it is.
    trust: True opens it unchecked; False by default.
    factory: for .pt and .pth: what makes the module, a callable or "package.module:name".
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
    if ending in (".pt", ".pth"):
        return _load_torch(path, trust, factory)
    if factory is not None:
        raise InputError("a factory belongs to a PyTorch file", f"{path.name!r} is not one", "leave the factory out")
    return _open_checked(path, trust, lambda: LOADER_BY_SUFFIX[ending](path, trust))


def _open_checked(path: Path, trust: bool, open_file: Callable[[], Any]) -> Any:
    """What a library makes of a file; where the file is not trusted, its errors become one of ours."""
    ending = path.suffix.lower()
    try:
        return open_file()
    except (CounterpoiseError, Warning):
        raise
    except ImportError as error:
        if ending not in EXTRA_BY_SUFFIX:
            raise
        raise MissingExtra(EXTRA_BY_SUFFIX[ending]) from error
    except Exception as error:
        if trust:
            raise
        failure = f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')[:200]}"
        raise InputError(
            "a model's file must be whole, as its library wrote it",
            f"{path.name!r} cannot be read ({failure})",
            "save the model again; if you know where the file is from, trust=True (--trust) opens it unchecked",
        ) from error


def _load_skops(path: Path, trust: bool) -> Any:
    from skops.io import get_untrusted_types, load

    return load(path, trusted=get_untrusted_types(file=path)) if trust else load_skops(path)


def _load_onnx(path: Path, trust: bool) -> Any:
    from onnxruntime import InferenceSession

    return InferenceSession(str(path), providers=["CPUExecutionProvider"]) if trust else open_onnx(path)


def _load_xgboost(path: Path, trust: bool) -> Any:
    from xgboost import Booster

    booster = Booster()
    booster.load_model(path if trust else read_xgboost(path))
    return booster


def _load_lightgbm(path: Path, trust: bool) -> Any:
    from lightgbm import Booster

    return Booster(model_file=str(path)) if trust else Booster(model_str=read_lightgbm(path))


def _load_catboost(path: Path, trust: bool) -> Any:
    from catboost import CatBoost, CatBoostClassifier, CatBoostRegressor

    data = path.read_bytes()
    if not trust:
        try_apart("import catboost", CATBOOST_TRIAL, data)
    classes = CatBoost().load_model(blob=data).classes_
    return (CatBoostClassifier if len(classes) else CatBoostRegressor)().load_model(blob=data)


def _load_torch(path: Path, trust: bool, factory: str | Callable[[], Any] | None) -> Any:
    if factory is None:
        raise InputError(
            "a state_dict needs the module that it belongs to",
            f"{path.name!r} came without a factory",
            'name a function that makes the module: factory="package.module:make_network"',
        )
    state = _open_checked(path, trust, lambda: _load_state_dict(path, trust))
    module = (_import_factory(factory) if isinstance(factory, str) else factory)()
    if not hasattr(module, "load_state_dict"):
        raise InputError("a factory must make a PyTorch module", f"it made a {type(module).__name__}", "correct it")
    _open_checked(path, trust, lambda: module.load_state_dict(state))
    return module.eval()


def _load_state_dict(path: Path, trust: bool) -> Any:
    import torch

    return torch.load(path, map_location="cpu", weights_only=True) if trust else load_state(path)


def _load_pickle(path: Path, trust: bool) -> Any:
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


LOADER_BY_SUFFIX: dict[str, Callable[[Path, bool], Any]] = {
    ".skops": _load_skops,
    ".onnx": _load_onnx,
    ".ubj": _load_xgboost,
    ".json": _load_xgboost,
    ".txt": _load_lightgbm,
    ".cbm": _load_catboost,
    ".pt": _load_state_dict,
    ".pth": _load_state_dict,
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
