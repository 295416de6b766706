"""Names: no two public classes of the package share one."""

import ast
from collections import Counter
from pathlib import Path

SOURCES = sorted((Path(__file__).parents[1] / "src" / "counterpoise").rglob("*.py"))


def test_no_two_public_classes_share_a_name() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES]
    names = [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    assert len(names) > 100
    assert [name for name, count in Counter(names).items() if count > 1 and not name.startswith("_")] == []
