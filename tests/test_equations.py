"""The table of equations in docs/understand/equations.md against the tags in the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "counterpoise"
TAG = re.compile(r"Eq\. \((\d+)\)")
REFERENCE = re.compile(r"`([\w/]+\.py):([\w.]+)`")
COMPUTING = ("physics/", "space/", "methods/", "problem.py")
"""Where a tag says that an equation is computed; further up the ladder it may only be spoken of."""


class Row(NamedTuple):
    """One line of the table."""

    number: int
    code: list[tuple[str, str]]
    tests: list[tuple[str, str]]
    planned: bool


def table() -> list[Row]:
    rows = []
    for line in (ROOT / "docs" / "understand" / "equations.md").read_text(encoding="utf-8").splitlines():
        if re.match(r"\| \d+ \|", line):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            assert len(cells) == 5, f"row {cells[0]} has {len(cells)} cells: write a bar inside a formula as ∣"
            number, _, code, tests, _ = cells
            planned = "planned" in code or "planned" in tests
            rows.append(Row(int(number), REFERENCE.findall(code), REFERENCE.findall(tests), planned))
    return rows


def definitions(path: Path) -> dict[str, str]:
    """Docstrings of the functions and classes of a file, methods as Class.method."""
    found: dict[str, str] = {}

    def walk(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                found[prefix + child.name] = ast.get_docstring(child) or ""
                walk(child, f"{prefix}{child.name}.")

    walk(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


def test_the_table_has_every_equation_once_and_in_order():
    assert [row.number for row in table()] == list(range(1, 32))


@pytest.mark.parametrize("row", table(), ids=lambda row: str(row.number))
def test_what_the_table_names_exists_and_is_tagged(row):
    assert row.code or row.planned, f"equation {row.number} names no code"
    assert row.tests or row.planned, f"equation {row.number} names no test"
    for file, name in row.code:
        known = definitions(SOURCE / file)
        assert name in known, f"{file} has no {name}"
        assert str(row.number) in TAG.findall(known[name]), f"the docstring of {file}:{name} lacks Eq. ({row.number})"
    for file, name in row.tests:
        assert name in definitions(ROOT / file), f"{file} has no {name}"


def test_every_tag_in_the_code_is_in_the_table():
    listed = {(row.number, file, name) for row in table() for file, name in row.code}
    missing = []
    for path in sorted(SOURCE.rglob("*.py")):
        file = path.relative_to(SOURCE).as_posix()
        assert all(1 <= int(n) <= 31 for n in TAG.findall(path.read_text(encoding="utf-8"))), (
            f"{file}: no such equation"
        )
        if file.startswith(COMPUTING):
            missing += [
                f"{number} {file}:{name}"
                for name, text in definitions(path).items()
                for number in sorted(set(TAG.findall(text)), key=int)
                if (int(number), file, name) not in listed
            ]
    assert not missing, "add to docs/understand/equations.md: " + ", ".join(missing)


def test_nothing_is_left_to_plan():
    planned = [row.number for row in table() if row.planned]
    if planned:
        pytest.skip(f"equations still planned: {planned}")
