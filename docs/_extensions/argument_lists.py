"""Docstrings of this project for Sphinx: `name: sentence` lines about arguments become a list of definitions."""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass
from typing import Any

from settings_pages import documented_fields, read_fields
from sphinx.application import Sphinx

ENTRY = re.compile(r"^([A-Za-z]\w*(?:, [A-Za-z]\w*)*): (\S.*)$")


def list_arguments(lines: list[str], names: set[str]) -> list[str]:
    """The lines of a docstring in which every `name: text` about one of the names is a definition of its own."""
    made: list[str] = []
    inside = False
    for line in lines:
        entry = ENTRY.match(line)
        if entry and names.issuperset(entry[1].split(", ")):
            terms = ", ".join(f"**{name}**" for name in entry[1].split(", "))
            made += ["", terms, f"    {entry[2]}"]
            inside = True
        else:
            if inside and line and not line.startswith(" "):
                made.append("")
                inside = False
            made.append(line)
    return made


def _argument_names(thing: Any) -> set[str]:
    try:
        return set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return set()


def _field_lines(thing: Any, lines: list[str], names: set[str]) -> list[str]:
    """Definitions of fields that the class explains beside them and not in its docstring."""
    documented = documented_fields("\n".join(lines))
    if not is_dataclass(thing) or not isinstance(thing, type):
        return []
    known = [field for field in read_fields(thing) if field.name in names and field.name not in documented]
    return [f"{field.name}: {field.sentence}" for field in known if field.sentence]


def _rewrite(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    names = _argument_names(thing)
    fields = _field_lines(thing, lines, names)
    lines[:] = list_arguments([*lines, "", *fields] if fields else lines, names)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("autodoc-process-docstring", _rewrite)
    return {"version": "1", "parallel_read_safe": True}
