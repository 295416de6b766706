"""The reference is whole: every public name, argument, option, schema key and setting is in it."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise import paper, telemetry
from counterpoise.cli.output import format_json_lines
from counterpoise.cli.program import app
from counterpoise.space.constraints.packing import EXAMPLES
from counterpoise.space.yaml.column_entries import COLUMN_FORMS

pytest.importorskip("sphinx")
ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
from argument_lists import list_arguments  # noqa: E402
from command_pages import describe_commands  # noqa: E402
from settings_pages import describe_settings, documented_fields, find_settings, read_fields  # noqa: E402

# Shapes of what others write, what comes back, what is raised; figures are drawn in the gallery.
WITHOUT_EXAMPLE = {"Cooling", "Method", "Noise", "Regularizer", "Ensemble", "Explanation", "check_receipt"}
WITHOUT_EXAMPLE |= {
    "scale.explain",
    "scale.explain_to_folder",
    "scale.read_folder",
    "scale.report_folder",
}  # docs/scale.md runs them
WITHOUT_EXAMPLE |= {"row_widget", "load_model", "load_schema", "paper.write"}
WITHOUT_EXAMPLE |= {"InputError", "ConstraintError", "CapabilityError", "Interrupted"}


def _public() -> dict[str, Any]:
    """Every public name; those of a public module with its name before them."""
    found: dict[str, Any] = {}
    for name in cp.__all__:
        value = getattr(cp, name)
        if isinstance(value, ModuleType):
            found |= {f"{name}.{inner}": getattr(value, inner) for inner in value.__all__}
        else:
            found[name] = value
    return found | _documented_elsewhere()


def _documented_elsewhere() -> dict[str, Any]:
    """Functions of modules that are not among the public names, but that pages tell people to call."""
    return {
        "telemetry.simulate": telemetry.simulate,
        "telemetry.describe": telemetry.describe,
        "paper.write": paper.write,
    }


def _documented(thing: Any) -> set[str]:
    """The arguments that a docstring explains, or that a class explains beside its fields."""
    beside = {field.name for field in read_fields(thing) if field.sentence} if inspect.isclass(thing) else set()
    return set(documented_fields(inspect.getdoc(thing) or "")) | beside


def _arguments(thing: Any) -> list[str]:
    try:
        names = list(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        return []
    protocol = getattr(thing, "_is_protocol", False) or inspect.isabstract(thing)
    return [] if protocol else [name for name in names if name not in ("args", "kwargs")]


def test_every_public_name_is_on_a_page() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in REFERENCE.glob("*.md"))
    listed = re.findall(r"\.\. auto\w+:: counterpoise\.([\w.]+)", text)
    assert sorted(listed) == sorted(_public())


@pytest.mark.parametrize("name", _public())
def test_every_argument_is_explained(name: str) -> None:
    thing = _public()[name]
    assert set(_arguments(thing)) - _documented(thing) == set()


def test_every_argument_of_a_call_of_an_explainer_is_explained() -> None:
    names = set(inspect.signature(cp.Explainer.__call__).parameters) - {"self"}
    assert names - _documented(cp.Explainer.__call__) == set()


def test_every_public_name_has_an_example() -> None:
    bare = {name for name, thing in _public().items() if ">>>" not in (inspect.getdoc(thing) or "")}
    figures = {name for name in bare if name.startswith("figures.")}
    assert bare - figures <= WITHOUT_EXAMPLE
    drawn = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("plot_*.py"))
    drawn += "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md"))
    assert {name for name in figures if f"cp.{name}(" not in drawn} == set()


def test_every_option_of_every_command_is_on_the_page() -> None:
    text = describe_commands()
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    options = [option for command in commands.values() for option in command.params if option.name != "help"]
    assert len(options) > 50
    names = [name for option in options for name in option.opts if name.startswith("-")]
    assert [name for name in names if f"`{name}`" not in text] == []
    assert [option.name for option in options if not getattr(option, "help", None)] == []


def test_every_key_of_schema_files_is_on_the_page() -> None:
    text = (REFERENCE / "constraints.md").read_text(encoding="utf-8")
    assert [key for key in COLUMN_FORMS if f"`{key}`" not in text] == []
    assert [type(word).__name__ for word in EXAMPLES if f"word: {type(word).__name__}" not in text] == []


def test_every_column_of_a_table_of_answers_is_on_the_page() -> None:
    text = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    train, label, _ = telemetry.simulate(rows=300, seed=0)
    model = LogisticRegression(max_iter=2000).fit(train, label)
    alerts = train[model.predict(train) == "alert"][:2]
    answers = cp.explain(model, alerts, reference=train, target="benign").to_frame()
    added = [name for name in answers.columns if str(name).startswith("cp_")]
    assert len(added) > 20
    assert [name for name in (*added, "cp_text") if f"`{name}`" not in text] == []


def test_every_key_of_a_line_of_answers_is_on_the_page() -> None:
    text = (REFERENCE / "command-line.md").read_text(encoding="utf-8")
    train, label, _ = telemetry.simulate(rows=300, seed=0)
    model = LogisticRegression(max_iter=2000).fit(train, label)
    alerts = train[model.predict(train) == "alert"][:1].assign(device="cam-17")
    asked = {"target": "benign", "alternatives": 2, "keep": 0.6}
    line = json.loads(next(format_json_lines(cp.explain(model, alerts, reference=train, **asked), redact=False)))
    inner = [*line["changes"][0], *line["tipping"], *line["evidence"][0]]
    inner += [key for answer in line["alternatives_measured"] for key in answer]
    assert len(line) > 20
    assert [key for key in (*line, *inner) if not re.search(f'[`"]{key}[`"]', text)] == []


def test_every_setting_has_a_sentence_on_the_page() -> None:
    text = describe_settings()
    everything = [(found.name, field) for found in find_settings() for field in found.fields]
    assert len(everything) > 250
    assert [f"{name}.{field.name}" for name, field in everything if not field.sentence] == []
    assert [field.name for _, field in everything if f"| `{field.name}` | `{field.value}` |" not in text] == []


def test_arguments_become_a_list_of_definitions() -> None:
    said = ["What it does.", "", "low, high: the ends;", "    in metres.", "", "note: none."]
    made = list_arguments(said, {"low", "high"})
    assert made == [*said[:2], "", "**low**, **high**", "    the ends;", "    in metres.", "", "", "note: none."]
