"""A lean start: help and version import nothing that only the work needs."""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
WORKERS = ("numpy", "pandas", "scipy", "sklearn", "joblib", "yaml", "jinja2", "matplotlib", "torch", "xgboost", "shap")


def _imported_by(program: str, *arguments: str) -> set[str]:
    """The packages that a program in a new interpreter has imported by its end."""
    whole = (
        f"import sys; sys.path.insert(0, {str(SOURCE)!r})\n"
        f"try:\n    {program}\nexcept SystemExit as stop:\n    assert not stop.code\n"
        "print(*{name.partition('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", whole, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("explain", "--help"), ("compare", "--help")])
def test_help_and_version_import_none_of_the_workers(arguments: tuple[str, ...]) -> None:
    found = _imported_by("from counterpoise.cli import main; main(sys.argv[1:])", *arguments)
    assert "counterpoise" in found
    assert not found & set(WORKERS)


def test_the_package_imports_nothing_until_a_name_is_used() -> None:
    assert not _imported_by("import counterpoise; counterpoise.__version__") & {*WORKERS, "typer", "rich"}


def test_errors_and_constraints_need_no_model_library() -> None:
    found = _imported_by("import counterpoise as cp; cp.InputError; cp.Immutable('age')")
    assert not found & {"matplotlib", "torch", "xgboost", "lightgbm", "catboost", "onnxruntime", "shap", "typer"}
