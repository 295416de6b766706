"""The model of a saved explainer, in a format of its own library that holds data alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from counterpoise.errors import CounterpoiseError, InputError, MissingExtra
from counterpoise.models.file_checks.xgboost_files import read_xgboost
from counterpoise.models.files import load

XGBOOST_CLASSES = ("XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor")


def write_model(model: Any, folder: Path) -> Path:
    """The file in ``folder`` that holds a model, written by its library and read back to see that it opens.

    scikit-learn's go into .skops, XGBoost's into .ubj, LightGBM's boosters into .txt, CatBoost's into .cbm.
    """
    kind = type(model)
    library = kind.__module__.partition(".")[0]
    if library == "sklearn":
        path = folder / "model.skops"
        try:
            from skops.io import dump
        except ImportError as error:
            raise MissingExtra("safe") from error
        dump(model, path)
    elif library == "xgboost" and kind.__name__ in (*XGBOOST_CLASSES, "Booster"):
        path = folder / "model.ubj"
        model.save_model(path)
    elif library == "lightgbm" and kind.__name__ == "Booster":
        path = folder / "model.txt"
        model.save_model(path)
    elif library == "catboost":
        path = folder / "model.cbm"
        model.save_model(str(path))
    else:
        raise _refuse(f"a {kind.__module__}.{kind.__qualname__} has none")
    try:
        read_model(path, kind.__name__)
    except CounterpoiseError as error:
        raise _refuse(f"{kind.__qualname__} holds what a {path.suffix} file cannot hold safely ({error})") from error
    return path


def read_model(path: Path, class_name: str) -> Any:
    """The model in a file that `write_model` wrote, of the class that was saved; nothing in the file is run."""
    if path.suffix == ".ubj" and class_name in XGBOOST_CLASSES:
        import xgboost

        load(path)  # says what is wrong with a file that is not whole
        model = getattr(xgboost, class_name)()
        model.load_model(read_xgboost(path))
        return model
    return load(path)


def _refuse(given: str) -> InputError:
    return InputError(
        "a model that is saved with its explainer must have a file format that holds data alone",
        given,
        "save without it, save(path, with_model=False), and give it again: cp.load_explainer(path, model=model)",
    )
