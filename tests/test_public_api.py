"""The package's face: `__all__` says what there is, and there is what it says."""

import ast
import subprocess
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import counterpoise

FACE = Path(counterpoise.__file__)


def _names_that_type_checkers_see() -> set[str]:
    tree = ast.parse(FACE.read_text(encoding="utf-8"))
    imports = [node for block in tree.body if isinstance(block, ast.If) for node in block.body]
    return {name.asname or name.name for node in imports if isinstance(node, ast.ImportFrom) for name in node.names}


def test_all_is_sorted_and_has_no_name_twice() -> None:
    assert list(counterpoise.__all__) == sorted(set(counterpoise.__all__))


def test_every_name_in_all_is_there() -> None:
    assert [name for name in counterpoise.__all__ if not hasattr(counterpoise, name)] == []


def test_type_checkers_and_users_see_the_same_names() -> None:
    assert _names_that_type_checkers_see() == set(counterpoise.__all__)


def test_a_name_is_the_thing_that_type_checkers_take_it_for() -> None:
    space: dict[str, object] = {}
    tree = ast.parse(FACE.read_text(encoding="utf-8"))
    for block in tree.body:
        if isinstance(block, ast.If):
            exec(compile(ast.Module(block.body, []), str(FACE), "exec"), space)
    assert [name for name in counterpoise.__all__ if getattr(counterpoise, name) is not space[name]] == []


def test_a_star_import_brings_exactly_all() -> None:
    space: dict[str, object] = {}
    exec("from counterpoise import *", space)
    assert set(space) - {"__builtins__"} == set(counterpoise.__all__)


def test_dir_lists_every_public_name_and_the_version() -> None:
    assert {*counterpoise.__all__, "__version__"} <= set(dir(counterpoise))


def test_the_version_is_that_of_the_installed_package() -> None:
    assert counterpoise.__version__ == version("counterpoise")


def test_a_name_that_there_is_none_of_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'explian'"):
        _ = counterpoise.explian  # type: ignore[attr-defined]


def test_no_public_name_turns_into_a_package_that_is_imported_later() -> None:
    packages = [path.stem for path in FACE.parent.iterdir() if path.is_dir() or path.suffix == ".py"]
    modules = [f"counterpoise.{name}" for name in packages if not name.startswith("_")]
    program = (
        f"import sys; sys.path.insert(0, {str(FACE.parents[1])!r})\n"
        f"import importlib, types, counterpoise as cp\nfor name in {modules!r}:\n    importlib.import_module(name)\n"
        "print(*[name for name in cp.__all__ if isinstance(getattr(cp, name), types.ModuleType)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    public = {name for name in counterpoise.__all__ if isinstance(getattr(counterpoise, name), ModuleType)}
    assert set(done.stdout.split()) == public == {"figures", "scale", "security"}
    assert counterpoise.figures is import_module("counterpoise.show.figures")


def test_every_public_name_is_documented() -> None:
    public = {name: getattr(counterpoise, name) for name in counterpoise.__all__}
    assert [name for name, value in public.items() if callable(value) and not value.__doc__] == []
