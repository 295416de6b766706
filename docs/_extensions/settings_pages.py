"""The directive `settings`: every frozen settings class of the package, its fields and values, read from the source."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import counterpoise

PACKAGE = Path(counterpoise.__file__).parent


class SettingsField(NamedTuple):
    """A field of a settings class: its name, its value as the source has it, and its sentence."""

    name: str
    value: str
    sentence: str


class SettingsClass(NamedTuple):
    """A settings class: the module it is in, its name, its first sentence, its fields."""

    module: str
    name: str
    sentence: str
    fields: list[SettingsField]


def find_settings() -> list[SettingsClass]:
    """Every dataclass of the package whose name ends in Settings."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "Settings" not in source:
            continue
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and node.name.endswith("Settings") and node.decorator_list:
                module = ".".join(("counterpoise", *path.relative_to(PACKAGE).with_suffix("").parts))
                doc = (ast.get_docstring(node) or "").split("\n\n")[0]
                fields = read_class(node, source.splitlines())
                found.append(SettingsClass(module.removesuffix(".__init__"), node.name, " ".join(doc.split()), fields))
    return [settings for settings in found if settings.fields]


def read_class(node: ast.ClassDef, lines: list[str]) -> list[SettingsField]:
    """Each annotated field, with the text under it, the comment beside or above it, or its line of the docstring."""
    fields = []
    documented = documented_fields(ast.get_docstring(node) or "")
    for place, part in enumerate(node.body):
        if not isinstance(part, ast.AnnAssign) or not isinstance(part.target, ast.Name):
            continue
        after = node.body[place + 1] if place + 1 < len(node.body) else None
        sentence = documented.get(part.target.id, "")
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            sentence = " ".join(str(after.value.value).split())
        elif "#" in (line := lines[(part.end_lineno or part.lineno) - 1]):
            sentence = line.partition("#")[2].strip()
        elif lines[part.lineno - 2].strip().startswith("#"):
            sentence = lines[part.lineno - 2].strip("# ")
        value = ast.unparse(part.value) if part.value is not None else ""
        fields.append(SettingsField(part.target.id, value, sentence))
    return fields


def read_fields(thing: type) -> list[SettingsField]:
    """The fields of any class of the package."""
    source = inspect.getsource(inspect.getmodule(thing) or thing)
    nodes_there = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    node = next((node for node in nodes_there if node.name == thing.__name__), None)
    return read_class(node, source.splitlines()) if node else []


def documented_fields(doc: str) -> dict[str, str]:
    """The `name: sentence` lines of a docstring."""
    found: dict[str, str] = {}
    last = ""
    for line in doc.splitlines():
        name, colon, text = line.partition(": ")
        if colon and not line.startswith(" ") and all(part.isidentifier() for part in name.split(", ")):
            last = name
            found |= dict.fromkeys(name.split(", "), text)
        elif last and line.startswith(" "):
            found |= {part: f"{found[part]} {line.strip()}" for part in last.split(", ")}
        else:
            last = ""
    return found


def describe_settings() -> str:
    """Markdown: a section for each class, with a table of its fields."""
    parts = []
    for settings in find_settings():
        parts += [f"### `{settings.name}`", "", f"`{settings.module}`. {settings.sentence}", ""]
        parts += ["| field | value | |", "|---|---|---|"]
        parts += [
            f"| `{field.name}` | `{field.value}` | {field.sentence.replace('|', chr(92) + '|')} |"
            for field in settings.fields
        ]
        parts.append("")
    return "\n".join(parts)


class SettingsList(SphinxDirective):
    """Put the description of every settings class where the directive stands."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(describe_settings(), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("settings", SettingsList)
    return {"version": "1", "parallel_read_safe": True}
