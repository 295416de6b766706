"""The table of docs/reference/conformance.md: some of its cells, run again, and nothing left out of it."""

import sys
from pathlib import Path
from types import ModuleType

import pytest
from sklearn.utils import all_estimators

for library in ("xgboost", "torch", "onnxruntime", "skl2onnx"):
    pytest.importorskip(library)

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "conformance.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def table() -> ModuleType:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import conformance
    finally:
        sys.path.pop(0)
    return conformance


@pytest.mark.parametrize(
    ("kind", "data", "task"),
    [
        ("the same in a Pipeline with encoders", "missing", "binary"),
        ("RandomForest* in a Pipeline", "mixed", "regression"),
        ("XGBClassifier, XGBRegressor, native categories", "mixed", "multi-class"),
        ("PyTorch module", "numeric", "binary"),
        ("ONNX session", "mixed", "multi-class"),
        ("cp.Function with a gradient", "missing", "regression"),
        ("several models that must agree", "mixed", "binary"),
    ],
)
def test_a_cell_works(table: ModuleType, kind: str, data: str, task: str) -> None:
    assert table.run(kind, data, task) == (True, "")


def test_a_cell_that_does_not_work_says_why(table: ModuleType) -> None:
    assert "these hold categories: proto" in table.run("PyTorch module", "mixed", "binary").why
    assert "contains NaN" in table.run("LogisticRegression, Ridge", "missing", "binary").why


@pytest.mark.parametrize(
    ("name", "task"), [("QuadraticDiscriminantAnalysis", "multi-class"), ("KNeighborsRegressor", "regression")]
)
def test_an_estimator_works(table: ModuleType, name: str, task: str) -> None:
    assert table.estimated(name, dict(all_estimators())[name], task).works


def test_the_page_has_every_kind_and_every_estimator(table: ModuleType) -> None:
    names = [*table.KINDS, *(name for kind in ("classifier", "regressor") for name, _ in all_estimators(kind))]
    assert [name for name in names if f"| {name} |" not in PAGE] == []
