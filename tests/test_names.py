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


def test_no_two_modules_of_one_package_share_a_name() -> None:
    package = SOURCES[0].parents[[p.name for p in SOURCES[0].parents].index("counterpoise")]
    for folder in sorted(package.glob("*/")):
        names = [path.stem for path in folder.rglob("*.py") if path.stem != "__init__"]
        assert [name for name, count in Counter(names).items() if count > 1] == [], folder.name
