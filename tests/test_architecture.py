"""How the project is built, held by machine: the ladder, the size of files, their names and their words."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "counterpoise"
MODULES = sorted(PACKAGE.rglob("*.py"))
WRITTEN = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".html", ".ipynb"}
PLACES = ("src", "tests", "docs", "examples", "benchmarks", ".ci")


def _named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _texts() -> list[Path]:
    """Every file that people read: those at the root, and those in the project's own folders."""
    made = {"__pycache__", ".envs", ".cache"}  # by tools and benchmarks, not by people
    inside = (path for place in PLACES for path in (ROOT / place).rglob("*") if not made & set(path.parts))
    return sorted(
        path
        for path in (*ROOT.iterdir(), *inside)
        if path.is_file() and (path.suffix in WRITTEN or path.name in {"Makefile", "run"})
    )


def _lint_imports(directory: Path) -> subprocess.CompletedProcess[str]:
    """Run the import contracts of the project laid out in ``directory``, with this interpreter's own import-linter."""
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    arguments = ["--no-cache", "--config", str(ROOT / "pyproject.toml")]
    search = f"import sys; sys.path.insert(0, {str(directory / 'src')!r}); "
    return subprocess.run(
        [sys.executable, "-c", search + command, *arguments], cwd=directory, capture_output=True, text=True
    )


def test_the_ladder_holds() -> None:
    run = _lint_imports(ROOT)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("errors.py", "from counterpoise.space import features"),
        ("errors.py", "import counterpoise.telemetry"),
        ("errors.py", "import counterpoise"),
        ("drawer.py", '"""A module without a place on the ladder."""'),
    ],
    ids=["upwards", "sideways", "through the face", "no place"],
)
def test_the_ladder_is_not_held_by_chance(tmp_path: Path, module: str, line: str) -> None:
    copy = shutil.copytree(PACKAGE, tmp_path / "src" / "counterpoise", ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / module).open("a") as file:
        file.write(f"\n{line}\n")
    run = _lint_imports(tmp_path)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "BROKEN" in run.stdout


@pytest.mark.parametrize("path", MODULES, ids=_named)
def test_a_module_can_be_read_in_one_sitting(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 320
    assert ast.get_docstring(ast.parse(text)), "a module says in its first line what it is about"


@pytest.mark.parametrize("path", MODULES, ids=_named)
def test_names_say_what_a_thing_is(path: Path) -> None:
    vague = {"utils", "util", "helpers", "helper", "core", "common", "misc", "base_classes"}
    assert not vague & {part.removesuffix(".py") for part in path.relative_to(PACKAGE).parts}
    classes = [
        node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ClassDef)
    ]
    assert [name for name in classes if name.endswith(("Manager", "Wrapper", "Helper"))] == []


@pytest.mark.parametrize("path", _texts(), ids=_named)
def test_no_text_knows_the_machine_it_was_written_on(path: Path) -> None:
    machine = re.compile(r"(?<![\w.])/(?:root|home|work|Users|tmp)/\w")
    assert machine.findall(path.read_text(encoding="utf-8")) == []


def test_every_extra_that_an_error_names_can_be_installed() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {
        (_named(path), argument.value)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("MissingExtra")
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }
    assert {(path, extra) for path, extra in named if extra not in extras} == set()


def test_the_extra_all_holds_every_other_one() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (everything,) = extras["all"]
    assert set(everything.removeprefix("counterpoise[").removesuffix("]").split(",")) == set(extras) - {"all", "dev"}
