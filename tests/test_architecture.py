"""How the project is built, held by machine: the ladder, the size of files, their names and their words."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "counterpoise"
MODULES = sorted(PACKAGE.rglob("*.py"))
WRITTEN = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".html", ".ipynb"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
NO_FEATURES = {"all", "docs", "dev"}  # extras that add nothing to the library
PLACES = ("src", "tests", "docs", "examples", "benchmarks", ".ci")


def _named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _texts() -> list[Path]:
    """Every file that people read: those at the root, and those in the project's own folders."""
    made = {"__pycache__", ".envs", ".cache", "gallery", "jupyter_execute"}  # by tools and benchmarks, not by people
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
        ("errors.py", "from counterpoise.space.schema import schema"),
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


def test_a_module_can_be_read_in_one_sitting() -> None:
    texts = {_named(path): path.read_text(encoding="utf-8") for path in MODULES}
    assert [name for name, text in texts.items() if len(text.splitlines()) >= 320] == []
    assert [name for name, text in texts.items() if not ast.get_docstring(ast.parse(text))] == []


def test_names_say_what_a_thing_is() -> None:
    vague = {"utils", "util", "helpers", "helper", "core", "common", "misc", "base_classes"}
    parts = {_named(path): {part.removesuffix(".py") for part in path.relative_to(PACKAGE).parts} for path in MODULES}
    assert {name: found for name, words in parts.items() if (found := words & vague)} == {}
    classes = [(_named(path), node.name) for path in MODULES for node in _nodes(path) if isinstance(node, ast.ClassDef)]
    assert [found for found in classes if found[1].endswith(("Manager", "Wrapper", "Helper"))] == []


def test_no_text_knows_the_machine_it_was_written_on() -> None:
    machine = re.compile(r"(?<![\w.])/(?:root|home|work|Users|tmp)/\w")
    texts = {_named(path): path.read_text(encoding="utf-8") for path in _texts()}
    assert {name: found for name, text in texts.items() if (found := machine.findall(text))} == {}


def test_every_extra_that_an_error_names_can_be_installed() -> None:
    named = {
        (_named(path), argument.value)
        for path in MODULES
        for node in _nodes(path)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("MissingExtra")
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }
    assert {(path, extra) for path, extra in named if extra not in EXTRAS} == set()


def test_the_extra_all_holds_every_other_one() -> None:
    (everything,) = EXTRAS["all"]
    assert set(everything.removeprefix("counterpoise[").removesuffix("]").split(",")) == set(EXTRAS) - NO_FEATURES


def test_every_extra_is_imported_by_some_module() -> None:
    imported = {name for path in MODULES for node in _nodes(path) for name in _imports(node)}
    idle = [
        extra
        for extra, requirements in EXTRAS.items()
        if extra not in NO_FEATURES and not imported & {_distribution(each).replace("-", "_") for each in requirements}
    ]
    assert idle == []


def test_every_core_dependency_is_imported_by_some_module() -> None:
    imported = {name for path in MODULES for node in _nodes(path) for name in _imports(node)}
    modules = {"scikit-learn": "sklearn", "PyYAML": "yaml", "Jinja2": "jinja2"}
    needed = {_distribution(requirement) for requirement in PROJECT["project"]["dependencies"]}
    assert {package for package in needed if modules.get(package, package) not in imported} == set()


def test_every_rung_of_every_ladder_exists() -> None:
    missing = []
    for contract in PROJECT["tool"]["importlinter"]["contracts"]:
        for container in contract.get("containers", ()):
            place = PACKAGE.joinpath(*container.split(".")[1:])
            rungs = [name.strip() for layer in contract["layers"] for name in re.split("[|:]", layer)]
            missing += [f"{container}.{name}" for name in rungs if not _is_module(place / name)]
    assert missing == []


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_and_folder_that_a_page_names_exists(page: str) -> None:
    known = [path for path in (*_texts(), *PACKAGE.rglob("template/*")) if path.is_file()]
    known += [folder for path in known for folder in path.parents if ROOT in folder.parents]
    ends = {tuple(path.relative_to(ROOT).parts[-depth:]) for path in known for depth in range(1, 8)}
    text = (ROOT / page).read_text(encoding="utf-8")
    file, folder = r"\w\.(?:py|md|toml|txt|html|css|js)\b", r"\w/(?=[`\s,;.)])"
    named = re.findall(rf"(?<![\w./<-])[\w./-]*(?:{file}|{folder})", text)
    assert len(named) > 5
    assert [name for name in dict.fromkeys(named) if tuple(name.strip("/").split("/")) not in ends] == []


def test_the_figures_in_the_architecture_are_those_of_the_code() -> None:
    shape = _load_shape()
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert shape.is_current(page, shape.measure()), f"the code has changed; run: {shape.COMMAND}"


def test_the_counts_behind_the_figures(tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "models").mkdir()
    text = (
        "A, B = 1, 2.5\nC: int = 1 << 3\nD = 'no'\nE = True\nF = (1, 2)\nG = [len('x')]\n\n\n"
        "def f(model, x):\n    if x and model or hasattr(model, 'leaves'):\n        return [y for y in x if y]\n"
        "    return getattr(x, 'size', None) if x else 0\n"
    )
    for folder in ("api", "models"):
        (tmp_path / folder / "one.py").write_text(text, encoding="utf-8")
    figures = {figure.name: figure for figure in _load_shape().measure(tmp_path)}
    assert figures["modules"].value == "2"
    assert figures["numbers at the level of a module"].worst[:4] == tuple(f"api/one.py: {name}" for name in "ABCF")
    assert figures["`hasattr` or `getattr` on a model outside `models/`"].worst == (
        "api/one.py: hasattr(model, 'leaves')",
    )
    assert _load_shape().complexity(ast.parse(text)) == 7  # one; if, and, or; for and if of the list; if else


def _load_shape() -> ModuleType:
    """benchmarks/shape.py, which is no part of a package."""
    spec = spec_from_file_location("shape", ROOT / "benchmarks" / "shape.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def _imports(node: ast.AST) -> set[str]:
    """The packages that a statement imports, or looks for because another package (pandas, of pyarrow) imports them."""
    if isinstance(node, ast.Import):
        return {name.name.partition(".")[0] for name in node.names}
    if isinstance(node, ast.ImportFrom):
        return {(node.module or "").partition(".")[0]}
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "find_spec")) and node.args:
        first = node.args[0]
        return {first.value.partition(".")[0]} if isinstance(first, ast.Constant) else set()
    return set()


def _distribution(requirement: str) -> str:
    """The name in a requirement: "torch>=2.4" is of torch."""
    return re.split(r"[^\w-]", requirement)[0]


def _is_module(place: Path) -> bool:
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()
