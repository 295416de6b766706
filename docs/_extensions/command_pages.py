"""The directive `commands`: every command of the program with its options, read from the program itself."""

from __future__ import annotations

import re
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from counterpoise.cli.program import app as program


def describe_commands() -> str:
    """Markdown: a section for each command, with a table of its arguments and options."""
    root = typer.main.get_command(program)
    parts = []
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        parts += [f"## `counterpoise {name}`", "", _mark_code(command.help or ""), ""]
        parts += ["| option | default | |", "|---|---|---|"]
        parts += [_line(option) for option in command.params if not getattr(option, "hidden", False)]
        parts.append("")
    return "\n".join(parts)


def _mark_code(text: str) -> str:
    """Help for a terminal as Markdown: options and the lines of examples are code.

    >>> _mark_code("Example: counterpoise demo --serve")
    'Example:\\n\\n    counterpoise demo --serve'
    """
    parts = []
    for part in text.strip().split("\n\n"):
        example = re.fullmatch(r"(Examples?:)\s+(counterpoise .*)", part, re.DOTALL)
        if example:
            lines = [" ".join(line.split()) for line in re.split(r"\n\s*(?=counterpoise )", example[2])]
            parts += [example[1], "\n".join(f"    {line}" for line in lines)]
        else:
            texts = part.split("`")  # every second one is code already
            texts[::2] = [re.sub(r"(?<![\w-])(--\w[\w-]*)", r"`\1`", text) for text in texts[::2]]
            parts.append("`".join(texts))
    return "\n\n".join(parts)


def _line(option: Any) -> str:
    names = " ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    if option.param_type_name == "argument":
        names = f"`{option.name.upper()}`"
    takes_several = option.multiple or option.nargs == -1
    many = " Repeatable." if takes_several and "repeat" not in (option.help or "") else ""
    default = "required" if option.required else _default(option)
    text = _mark_code(" ".join((option.help or "").split())).replace("|", "\\|")
    return f"| {names} | {default} | {text}{many} |"


def _default(option: Any) -> str:
    value = option.default
    if value is None or value == () or value == [] or value is False or callable(value):
        return ""
    return f"`{value}`"


class Commands(SphinxDirective):
    """Put the description of every command where the directive stands."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes(describe_commands(), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("commands", Commands)
    return {"version": "1", "parallel_read_safe": True}
