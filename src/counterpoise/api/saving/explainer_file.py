"""The file of a saved explainer: a zip of one JSON document and, where there is one, the model's own file.

The document has the schema, the encoded reference rows, the relations found in them, and the part of a question that an
explainer decides: constraints, bounds, weights. Entries are stored as they are, so that a file cannot unfold to more
than its own size.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import ZIP_STORED, BadZipFile, ZipFile

from counterpoise.api.inputs.reference import Reference
from counterpoise.errors import CounterpoiseError, InputError, MissingExtra
from counterpoise.explanation.json import json_question, json_tables, json_values
from counterpoise.explanation.question import Question
from counterpoise.explanation.stored_objects import StoredObject
from counterpoise.models.file_checks.xgboost_files import read_xgboost
from counterpoise.models.files import load
from counterpoise.space.discover.discover import Discoveries
from counterpoise.space.discover.patterns import FoundRelation

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


FORMAT_NAME, FORMAT_VERSION = "counterpoise.explainer", 1
DOCUMENT = "explainer.json"


class SavedExplainer(NamedTuple):
    """The content of an explainer file: question, reference, model, and a hash of its outputs on the reference."""

    question: Question
    reference: Reference
    model: Any | None
    model_name: str
    fingerprint: str


def write_explainer_file(path: Path, saved: SavedExplainer) -> None:
    """Write an explainer; ``model`` None leaves the model out."""
    packed = json_question.pack_question(saved.question)
    unpacked = json_question.unpack_question(packed)
    stored_objects = [part.text for part in unpacked.constraints if isinstance(part, StoredObject)]
    if stored_objects:
        raise InputError(
            "constraints of a saved explainer must be data",
            f"{stored_objects[0]} is a function of your own",
            "leave it out, and give it after loading: cp.load_explainer(path).with_constraints(function)",
        )
    document = {
        "format": FORMAT_NAME,
        "version": FORMAT_VERSION,
        "question": packed,
        "schema": json_tables.pack_schema(saved.reference.schema),
        "reference": json_values.pack_array(saved.reference.x),
        "notes": list(saved.reference.notes),
        "relations": [[found.sort, found.holds, found.support] for found in saved.reference.relations],
        "model": saved.model_name,
        "fingerprint": saved.fingerprint,
    }
    with TemporaryDirectory() as folder:
        model = None if saved.model is None else write_model(saved.model, Path(folder))
        try:
            with ZipFile(path, "w", ZIP_STORED) as archive:
                archive.writestr(DOCUMENT, json.dumps(document, allow_nan=False))
                if model is not None:
                    archive.write(model, model.name)
        except OSError as error:
            raise InputError("the path must be writable", f"{path}: {error.strerror}", "give another path") from error


def read_explainer_file(path: Path) -> SavedExplainer:
    """What `write_explainer_file` wrote; an error says what is wrong with any other file."""
    must, todo = "a saved explainer must be whole, as Explainer.save wrote it", "save it again"
    if not path.is_file():
        raise InputError("a saved explainer must exist", f"there is no file {str(path)!r}", "correct the path")
    try:
        with ZipFile(path) as archive, TemporaryDirectory() as folder:
            if any(entry.compress_type != ZIP_STORED for entry in archive.infolist()):
                raise InputError(must, f"{path.name!r} has parts that unfold", todo)
            document = json.loads(archive.read(DOCUMENT))
            if document["format"] != FORMAT_NAME or document["version"] != FORMAT_VERSION:
                given = f"{path.name!r} is version {document['version']!r} of {document['format']!r}"
                raise InputError(f"a saved explainer must have version {FORMAT_VERSION}", given, todo)
            names = [name for name in archive.namelist() if name.startswith("model.") and "/" not in name]
            model = None
            if names:
                held = Path(folder) / names[0]
                held.write_bytes(archive.read(names[0]))
                model = read_model(held, str(document["model"]))
            return _unpack(document, model)
    except CounterpoiseError:
        raise
    except (BadZipFile, KeyError, OSError) as error:
        raise InputError(must, f"{path.name!r} is something else ({error})", todo) from error
    except Exception as error:  # a file that was changed by hand can be wrong in any way
        raise InputError(must, f"{path.name!r} cannot be read ({type(error).__name__}: {error})", todo) from error


def _unpack(document: dict[str, Any], model: Any | None) -> SavedExplainer:
    question = json_question.unpack_question(document["question"])
    found = (
        FoundRelation(sort, constraint, float(holds), int(support))
        for (sort, holds, support), constraint in zip(document["relations"], question.relations, strict=True)
    )
    reference = Reference.from_parts(
        json_tables.unpack_schema(document["schema"]),
        json_values.unpack_array(document["reference"]),
        Discoveries(tuple(found)),
        tuple(map(str, document["notes"])),
    )
    return SavedExplainer(question, reference, model, str(document["model"]), str(document["fingerprint"]))
