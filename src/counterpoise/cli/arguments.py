"""What the texts of options mean: constraints, noise, models and targets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Literal

import pandas as pd

from counterpoise.cli.batch.output_places import is_folder
from counterpoise.cli.table_files import explain_wrong_name
from counterpoise.errors import InputError
from counterpoise.explanation.question import AnythingBut
from counterpoise.models import files
from counterpoise.objective.noise import Noise, RankNoise
from counterpoise.security.traffic.flow_rules import flow_rules
from counterpoise.space.constraints.words import Constraint, Decreasing, Immutable, Increasing, MaxChanges, Mutable
from counterpoise.space.schema.schema import Schema
from counterpoise.space.yaml.load_save import SchemaFile, load_schema
from counterpoise.space.yaml.unset_marks import UnsetMarks, load_unset_marks

RELATIONS_HEADING = "relations:, with entries such as - rule: a <= b"
HEADING_BY_WORD = {  # what people write, and what is meant
    "columns": "columns:",
    "features": "columns:",
    "relations": RELATIONS_HEADING,
    "rules": RELATIONS_HEADING,
    "constraints": "constraints:",
}


def read_constraints(
    path: str | None,
    reference: pd.DataFrame,
    fixed: list[str] | None,
    increasing: list[str] | None,
    decreasing: list[str] | None,
    max_changes: int | None,
    only: list[str] | None = None,
) -> tuple[Schema | None, list[Constraint]]:
    """The schema and constraints of the file at ``path``, or None, and the constraints that the options add."""
    found = None if path is None else open_schema(path, reference)
    named = (
        ("--fixed", Immutable, fixed),
        ("--increasing", Increasing, increasing),
        ("--decreasing", Decreasing, decreasing),
        ("--only", Mutable, only),
    )
    known = list(reference.columns if found is None else found.schema.names)
    words: list[Constraint] = [] if found is None else [*found.constraints]
    for option, word, names in named:
        for name in names or ():
            if name not in known:
                raise InputError(f"{option} must name a feature", *explain_wrong_name(name, known, option))
        words += [word(*names)] if names else []
    return None if found is None else found.schema, [
        *words,
        *([MaxChanges(max_changes)] if max_changes is not None else []),
    ]


def read_flow_rules(text: str | None, schema: Schema | None, reference: pd.DataFrame) -> list[Constraint]:
    """The rules of traffic that --flow-rules asks for; none without it."""
    if text is None:
        return []
    if text not in ("any", "attacker", "operator"):
        raise InputError("--flow-rules must be any, attacker or operator", f"{text!r}", "choose one")
    known = Schema.infer(reference) if schema is None else schema
    return flow_rules(known, reference, changeable=None if text == "any" else text).constraints  # type: ignore[arg-type]


def read_unset_marks(schema: str | None, unset: list[str] | None) -> UnsetMarks:
    """What stands for an empty cell in CSV: what the schema file names, and what --unset does."""
    stated = UnsetMarks() if schema is None else load_unset_marks(schema)
    return replace(stated, everywhere=(*stated.everywhere, *(unset or ())))


def open_schema(path: str, reference: pd.DataFrame | None = None) -> SchemaFile:
    """Load a schema file; a misspelt heading is an error, because the rules under it would never bind."""
    found = load_schema(path, reference)
    for key in found.about:
        near = get_close_matches(str(key).lower(), HEADING_BY_WORD, n=1, cutoff=0.75)
        if near:
            heading = HEADING_BY_WORD[near[0]]
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
        "--noise must be auto, a number of standard deviations, or rank:SHARE", f"{text!r}", "for instance rank:0.02"
    )


def parse_lam(text: str) -> float | Literal["auto"]:
    """What the text of --lam means.

    >>> parse_lam("auto"), parse_lam("0")
    ('auto', 0.0)
    """
    if text == "auto":
        return "auto"
    try:
        return float(text)
    except ValueError:
        raise InputError("--lam must be auto or a number of at least 0", f"{text!r}", "for instance 0.1") from None


def check_seconds(seconds: float | None, option: str = "--budget") -> None:
    """Raise an error unless ``seconds`` is None or a finite number of at least 0."""
    if seconds is not None and not 0 <= seconds < math.inf:
        raise InputError(f"{option} must be seconds, of at least 0", f"{seconds!r}", "for instance 10")


def check_on_error(text: str) -> str:
    """The setting of --on-error, if it is one."""
    if text not in ("reject", "raise"):
        raise InputError("--on-error must be reject or raise", f"{text!r}", "leave it at reject")
    return text


def check_jobs(jobs: int) -> int:
    """The number of processes of --jobs, if it is one."""
    if jobs == 0:
        raise InputError("--jobs must be a number of processes, or -1", "0", "for instance 2; -1: one for each core")
    return jobs


def check_limit(limit: int | None) -> None:
    """Raise an error for a --limit below 0."""
    if limit is not None and limit < 0:
        raise InputError("--limit must be a number of rows, of at least 0", f"{limit}", "for instance 100")


def check_folder_words(out: str | None, given: Mapping[str, object]) -> None:
    """Raise an error for options ``given`` that go with a folder of parts where --out is none."""
    named = [option for option, value in given.items() if value]
    if named and not is_folder(out):
        raise InputError(f"{named[0]} goes with a folder of parts", f"--out is {out!r}", "for instance --out answers/")


def open_model(path: str, *, trust: bool, factory: str | None) -> Any:
    """Load the fitted model in a file; raise an error that names the file if it holds none."""
    try:
        return files.load(path, trust=trust, factory=factory)
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
        return _parse_range(text)
    named = {str(label): label for label in labels}
    if text in named:
        return named[text]
    if text == "opposite":
        return text
    if text.startswith("not "):
        return AnythingBut(*(_parse_class(name, named) for name in text.removeprefix("not ").split(",")))
    return [_parse_class(name, named) for name in text.split(",")]


def _parse_class(name: str, named: dict[str, Any]) -> Any:
    if name.strip() in named:
        return named[name.strip()]
    shown = ", ".join(list(named)[:12]) + (" …" if len(named) > 12 else "")
    raise InputError("--target must be a class that the model knows", f"{name!r}; it knows {shown}", "choose one")


def _parse_range(text: str) -> tuple[float | None, float | None]:
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
