"""The shape of the source, in figures: how large, how deep, how many numbers; the table in ARCHITECTURE.md.

python benchmarks/shape.py            print the table, and the worst of each kind
python benchmarks/shape.py --write    renew the table in ARCHITECTURE.md
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "counterpoise"
PAGE = ROOT / "ARCHITECTURE.md"
COMMAND = "python benchmarks/shape.py --write"
START, END = "<!-- the shape of the source: renewed by benchmarks/shape.py -->", "<!-- end of the shape -->"


class Figure(NamedTuple):
    """One line of the table: what is counted, the count, the most that is asked for, and what stands behind it."""

    name: str
    value: str
    limit: str
    worst: tuple[str, ...] = ()


class Function(NamedTuple):
    """A function or method: where it is, how many lines it has, how many ways lead through it."""

    place: str
    lines: int
    complexity: int


def measure(package: Path = PACKAGE) -> list[Figure]:
    """Every figure of the table, in its order."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(package.rglob("*.py"))}
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in trees)
    functions = [found for path, tree in trees.items() for found in _functions(str(path.relative_to(package)), tree)]
    longest = max(functions, key=lambda one: one.lines)
    folders = Counter(path.parent for path in trees)
    largest, files = folders.most_common(1)[0]
    numbers = [f"{path.relative_to(package)}: {name}" for path, tree in trees.items() for name in _numbers(tree)]
    asked = [
        f"{path.relative_to(package)}: {ast.unparse(call)}"
        for path, tree in trees.items()
        if path.relative_to(package).parts[0] != "models"
        for call in _questions_about_models(tree)
    ]
    return [
        Figure("modules", str(len(trees)), ""),
        Figure("lines, to the next hundred", f"{-(-lines // 100) * 100:,}", ""),
        Figure("files in the largest folder", f"{files} ({largest.relative_to(package).as_posix()})", "16"),
        Figure("lines of the longest function", f"{longest.lines} ({longest.place})", ""),
        *(_complex_functions(functions, limit, asked_for) for limit, asked_for in ((12, ""), (15, "0"))),
        Figure("numbers at the level of a module", str(len(numbers)), "40", tuple(numbers)),
        Figure("`hasattr` or `getattr` on a model outside `models/`", str(len(asked)), "0", tuple(asked)),
    ]


def write_table(figures: list[Figure]) -> str:
    """The figures as a table in Markdown, between its two marks."""
    rows = [f"| {one.name} | {one.value} | {one.limit} |" for one in figures]
    return "\n".join([START, "| what | now | at most |", "|---|---|---|", *rows, END])


def replace_table(page: str, table: str) -> str:
    """The page with this table in place of the one between the marks."""
    before, rest = page.split(START, 1)
    return before + table + rest.split(END, 1)[1]


def is_current(page: str, figures: list[Figure]) -> bool:
    """Whether the page has the table that these figures make."""
    return write_table(figures) in page


def complexity(function: ast.AST) -> int:
    """Ways through a function: one, and one more for each branch, loop, handler, condition and comprehension."""
    ways = 1
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.IfExp | ast.For | ast.While | ast.ExceptHandler | ast.match_case):
            ways += 1
        elif isinstance(node, ast.BoolOp):
            ways += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            ways += 1 + len(node.ifs)
    return ways


def _functions(name: str, tree: ast.Module) -> Iterator[Function]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            size = (node.end_lineno or node.lineno) - node.lineno + 1
            yield Function(f"{name}: {node.name}", size, complexity(node))


def _complex_functions(functions: list[Function], limit: int, asked_for: str) -> Figure:
    above = sorted((one for one in functions if one.complexity > limit), key=lambda one: -one.complexity)
    worst = tuple(f"{one.place}, {one.complexity}" for one in above)
    return Figure(f"functions of complexity above {limit}", str(len(above)), asked_for, worst)


def _numbers(tree: ast.Module) -> Iterator[str]:
    """The names at the level of a module that stand for a number, or for several."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            pairs = [(node.target, node.value)]
        else:
            continue
        for target, value in pairs:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                together = zip(target.elts, value.elts, strict=True)
                yield from (ast.unparse(name) for name, one in together if _is_number(one))
            elif _is_number(value):
                yield ast.unparse(target)


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is a number, an operation on numbers, or a tuple of numbers."""
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    return isinstance(value, ast.Tuple) and bool(value.elts) and all(map(_is_number, value.elts))


def _questions_about_models(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        is_question = isinstance(node, ast.Call) and ast.unparse(node.func) in {"hasattr", "getattr"}
        if is_question and isinstance(node, ast.Call) and "model" in ast.unparse(node.args[0]).lower():
            yield node


def main() -> None:
    words = argparse.ArgumentParser(description="The shape of the source, in figures.")
    words.add_argument("--write", action="store_true", help="renew the table in ARCHITECTURE.md")
    given = words.parse_args()
    figures = measure()
    if given.write:
        PAGE.write_text(replace_table(PAGE.read_text(encoding="utf-8"), write_table(figures)), encoding="utf-8")
        return
    for figure in figures:
        print(f"{figure.name}: {figure.value}" + (f" (at most {figure.limit})" if figure.limit else ""))
        for line in figure.worst:
            print(f"    {line}")


if __name__ == "__main__":
    main()
