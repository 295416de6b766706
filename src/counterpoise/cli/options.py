"""Options that several commands share, and what their text means."""

from __future__ import annotations

import math
from difflib import get_close_matches
from typing import Annotated, Any, Literal

import pandas as pd
import typer

from counterpoise.api.targets import AnythingBut
from counterpoise.cli.tables import misnamed
from counterpoise.errors import InputError
from counterpoise.models import disk
from counterpoise.physics.noise import Noise, RankNoise
from counterpoise.space.constraints import Constraint, Decreasing, Immutable, Increasing, MaxChanges
from counterpoise.space.features import Schema
from counterpoise.space.files import SchemaFile, load_schema

Model = Annotated[
    str, typer.Option("--model", "-m", help="The fitted model: .skops, .onnx, .ubj, .json, .txt, .cbm, .pt, .pkl.")
]
Data = Annotated[
    str, typer.Option("--data", "-d", help="The data it was trained on, or a sample: CSV, Parquet, NDJSON.")
]
Rows = Annotated[
    str, typer.Option("--rows", "-r", help="The rows to explain, in the same formats; - for standard input.")
]
Target = Annotated[
    str,
    typer.Option(
        "--target", "-t", help="A class, several with commas, 'not CLASS', LOW:HIGH for a number, or opposite."
    ),
]
Threshold = Annotated[float | None, typer.Option("--threshold", help="The probability that the target must reach.")]
File = Annotated[str | None, typer.Option("--schema", "-s", help="YAML: kinds, units, ranges, what may change, rules.")]
Label = Annotated[
    str | None, typer.Option("--label", "-l", help="The column of the data that holds the class: left out.")
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Open the model unchecked; a pickle can run any code: only if you know its origin."),
]
Factory = Annotated[
    str | None, typer.Option("--factory", help="For .pt: package.module:function that makes the module.")
]
Fixed = Annotated[list[str] | None, typer.Option("--fixed", help="A feature that must not change; may be repeated.")]
Rising = Annotated[list[str] | None, typer.Option("--increasing", help="A feature that may only go up; repeatable.")]
Falling = Annotated[list[str] | None, typer.Option("--decreasing", help="A feature that may only go down; repeatable.")]
Most = Annotated[int | None, typer.Option("--max-changes", help="At most so many features change.")]
NewCategories = Annotated[
    bool, typer.Option("--new-categories", help="Rows may have categories that the data has not, if the model may.")
]
Redact = Annotated[bool, typer.Option("--redact", help="Names and directions only, no values of features.")]


RULES = "relations:, with entries such as - rule: a <= b"
HEADINGS = {  # what people write, and what is meant
    "columns": "columns:",
    "features": "columns:",
    "relations": RULES,
    "rules": RULES,
    "constraints": "constraints:",
}


def given(
    path: str | None,
    reference: pd.DataFrame,
    fixed: list[str] | None,
    rising: list[str] | None,
    falling: list[str] | None,
    most: int | None,
) -> tuple[Schema | None, list[Constraint]]:
    """The schema and the constraints of a file, if one is given, and the constraints of the options."""
    found = None if path is None else open_schema(path, reference)
    named = (("--fixed", Immutable, fixed), ("--increasing", Increasing, rising), ("--decreasing", Decreasing, falling))
    known = list(reference.columns if found is None else found.schema.names)
    words: list[Constraint] = [] if found is None else [*found.constraints]
    for option, word, names in named:
        for name in names or ():
            if name not in known:
                raise InputError(f"{option} must name a feature", *misnamed(name, known, option))
        words += [word(*names)] if names else []
    return None if found is None else found.schema, [*words, *([MaxChanges(most)] if most is not None else [])]


def open_schema(path: str, reference: pd.DataFrame | None = None) -> SchemaFile:
    """A schema file; a heading that is nearly a known one is an error, rather than a rule that never binds."""
    found = load_schema(path, reference)
    for key in found.about:
        near = get_close_matches(str(key).lower(), HEADINGS, n=1, cutoff=0.75)
        if near:
            heading = HEADINGS[near[0]]
            raise InputError(
                "a schema file has features under columns:, rules under relations:, other words under constraints:",
                f"{path} has {key}:",
                f"write {heading}",
            )
    return found


def parse_noise(text: str) -> float | Noise | Literal["auto"]:
    """What the text of --noise means.

    >>> parse_noise("auto"), parse_noise("0.2"), parse_noise("rank:0.02")
    ('auto', 0.2, RankNoise(level=0.02, flips=0.0))
    """
    if text == "auto":
        return "auto"
    try:
        kind, _, level = text.rpartition(":")
        if kind in ("", "rank"):
            return RankNoise(float(level)) if kind else float(level)
    except ValueError:
        pass
    raise InputError(
        "--noise must be auto, a number of feature scales, or rank:SHARE", f"{text!r}", "for instance rank:0.02"
    )


def check_seconds(seconds: float | None, option: str = "--budget") -> None:
    """An error for a time that is none."""
    if seconds is not None and not 0 <= seconds < math.inf:
        raise InputError(f"{option} must be seconds, of at least 0", f"{seconds!r}", "for instance 10")


def load_model(path: str, *, trust: bool, factory: str | None) -> Any:
    """The fitted model in a file; a file of the wrong kind ends in an error that says so."""
    try:
        return disk.load(path, trust=trust, factory=factory)
    except (InputError, ImportError):
        raise
    except Exception as error:  # each library has its own ways to refuse a file
        first = next(iter(str(error).strip().splitlines()), "")
        raise InputError(
            "--model must name a fitted model",
            f"{path!r} cannot be opened as one ({type(error).__name__}: {first})",
            "give the file that the model was saved to, with the ending of its format",
        ) from error


def parse_target(text: str, labels: tuple[Any, ...] | None) -> Any:
    """What the text of --target means for a model with these classes, or for one that gives numbers.

    >>> parse_target("1", (0, 1)), parse_target("not 2", (0, 1, 2)), parse_target(":5", None)
    (1, AnythingBut(labels=(2,)), (None, 5.0))
    """
    if labels is None:
        return _range(text)
    named = {str(label): label for label in labels}
    if text in named:
        return named[text]
    if text == "opposite":
        return text
    if text.startswith("not "):
        return AnythingBut(*(_known(name, named) for name in text.removeprefix("not ").split(",")))
    return [_known(name, named) for name in text.split(",")]


def _known(name: str, named: dict[str, Any]) -> Any:
    if name.strip() in named:
        return named[name.strip()]
    shown = ", ".join(list(named)[:12]) + (" …" if len(named) > 12 else "")
    raise InputError("--target must be a class that the model knows", f"{name!r}; it knows {shown}", "choose one")


def _range(text: str) -> tuple[float | None, float | None]:
    ends = [part.strip() for part in text.split(":")]
    try:
        low, high = (float(end) if end else None for end in ends)
        if not any(end is not None and math.isnan(end) for end in (low, high)):
            return low, high
    except ValueError:
        pass
    raise InputError(
        "--target of a model that gives numbers must be a range LOW:HIGH", f"{text!r}", "for instance 0.9: or 10:20"
    )
