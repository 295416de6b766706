"""--config: the options of a command in a YAML file; what the command line says as well wins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from counterpoise.errors import InputError


def load_config(context: typer.Context, path: str | None) -> None:
    """Take the options in a file as those that the command line does not give."""
    if path is None:
        return
    import yaml

    must = "--config must name a YAML file of options"
    try:
        found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        first = next(iter(str(error).strip().splitlines()), "")
        raise InputError(must, f"{path!r}: {first}", "for instance model: detector.skops") from None
    if not isinstance(found, dict):
        raise InputError(must, f"{path!r} holds a {type(found).__name__}", "for instance model: detector.skops")
    names = _names_of_options(context)
    defaults: dict[str, Any] = {}
    for key, value in found.items():
        word = str(key).lstrip("-").replace("_", "-")
        if word not in names:
            raise InputError(
                "--config must hold options of the command", f"{path!r} has {key!r}", "see counterpoise --help"
            )
        name, takes_several = names[word]
        defaults[name] = (value if isinstance(value, list) else [value]) if takes_several else value
    context.default_map = {**(context.default_map or {}), **defaults}


def _names_of_options(context: typer.Context) -> dict[str, tuple[str, bool]]:
    """By the long name of each option, its parameter, and whether it may be given several times."""
    return {
        option.lstrip("-"): (str(parameter.name), bool(getattr(parameter, "multiple", False)))
        for parameter in context.command.params
        for option in parameter.opts
        if option.startswith("--") and option not in ("--config", "--help")
    }


ConfigOption = Annotated[
    str | None,
    typer.Option(
        "--config",
        help="A YAML file of options, such as model: detector.skops; the command line wins.",
        callback=load_config,
        is_eager=True,
        expose_value=False,
    ),
]
