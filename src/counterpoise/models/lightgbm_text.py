"""LightGBM's text files, checked before the library reads them: it ends the process where a file is cut or bent."""

from __future__ import annotations

from pathlib import Path

from counterpoise.errors import InputError

MARK_OF_END = "end of trees"
NODE_FIELDS = ("split_feature", "threshold", "decision_type", "left_child", "right_child")


def refuse_broken_text(path: Path) -> None:
    """Refuse a file whose trees are not those that its header promises, or point to nodes that they do not have."""
    try:
        text = path.read_bytes().decode("utf-8")
        head, *rest = text.split("\nTree=0\n", 1)
        header = _fields(head)
        sizes = [int(size) for size in header["tree_sizes"].split()]
        features = int(header["max_feature_idx"]) + 1
        named = len(header["feature_names"].split(" "))
        if named != features or int(header["num_class"]) < 1 or not head.startswith("tree"):
            raise ValueError("its header is not whole")
        blocks = _blocks(rest[0] if rest else "", len(sizes))
        for number, block in enumerate(blocks):
            _check_tree(number, _fields(block), features)
    except (KeyError, ValueError, UnicodeDecodeError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)[:200]
        raise InputError(
            "a file that ends in .txt must hold a whole LightGBM model",
            f"{path.name!r} does not: {reason}",
            "save the model again with Booster.save_model",
        ) from error


def _fields(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _blocks(text: str, count: int) -> list[str]:
    """The text of each tree; ``text`` begins inside the first."""
    trees, mark, _ = text.partition(MARK_OF_END)
    if count and not mark:
        raise ValueError(f"it has no {MARK_OF_END!r}")
    blocks = ("Tree=0\n" + trees).split("Tree=")[1:] if count else []
    if [block.split("\n", 1)[0] for block in blocks] != [str(number) for number in range(count)]:
        raise ValueError(f"its header promises {count} trees, it has {len(blocks)}")
    return blocks


def _check_tree(number: int, fields: dict[str, str], features: int) -> None:
    leaves = int(fields["num_leaves"])
    if leaves < 1 or len(fields["leaf_value"].split()) != leaves:
        raise ValueError(f"tree {number} has other than {leaves} leaves")
    if leaves == 1:
        return
    for name in NODE_FIELDS:
        if len(fields[name].split()) != leaves - 1:
            raise ValueError(f"tree {number} has other than {leaves - 1} entries of {name}")
    children = [int(child) for name in ("left_child", "right_child") for child in fields[name].split()]
    if sorted(children) != sorted([*range(1, leaves - 1), *range(-leaves, 0)]):
        raise ValueError(f"tree {number} is no tree")
    if not all(0 <= int(column) < features for column in fields["split_feature"].split()):
        raise ValueError(f"tree {number} splits a column that it does not have")
    categories = int(fields.get("num_cat", "0"))
    if categories:
        ends = [int(end) for end in fields["cat_boundaries"].split()]
        if len(ends) != categories + 1 or ends != sorted(ends) or ends[-1] != len(fields["cat_threshold"].split()):
            raise ValueError(f"tree {number} has categories that do not fit together")
