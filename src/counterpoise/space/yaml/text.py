"""YAML from untrusted sources: plain values only, with limits on length, aliases and digits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SIGNS = ",:[{?\n"  # each value of a YAML text has one of them beside it
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")


@dataclass(frozen=True)
class YamlLimits:
    """How much a YAML text may hold. Reading takes some seconds at most, and a fraction of a GiB."""

    characters: int = 2**21
    """The length of the text; a schema of 10,000 columns has half of it."""
    signs: int = 250_000
    """Commas, colons, brackets and ends of lines."""
    values: int = 500_000
    """Values, where an alias counts as all that it stands for."""
    digits: int = 1000
    """The length of a number."""


def load_yaml(text: str, limits: YamlLimits | None = None) -> Any:
    """The value that a YAML text describes; anything but plain data within the limits is a ValueError or YAMLError.

    >>> load_yaml("a: [1, yes, tcp]")
    {'a': [1, True, 'tcp']}
    >>> load_yaml("a: &more [1, 2]\\nb: [*more, *more]", YamlLimits(values=9))
    Traceback (most recent call last):
    ValueError: it holds more than 9 values, counting each alias (*) as all that it stands for
    """
    limits = limits or YamlLimits()
    if len(text) > limits.characters or sum(map(text.count, SIGNS)) > limits.signs:
        raise ValueError(f"it is longer than {limits.characters:,} characters, or has more than {limits.signs:,} signs")
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _check(root, limits)
        return loader.construct_document(root)
    finally:
        loader.dispose()


def load_yaml_file(path: str | Path) -> Any:
    """The value in a YAML file; an OSError where it cannot be opened, a ValueError where it is no such plain data."""
    with Path(path).open(encoding="utf-8") as file:
        try:
            return load_yaml(file.read(YamlLimits().characters + 1))  # what is longer is refused unread
        except Exception as error:  # a date that is none, a wrong tag or deep nesting is refused in as many ways
            raise ValueError(str(error)[:500]) from error  # some name what they met at its whole length


class _Loader(yaml.SafeLoader):
    """Plain YAML; a key that is given twice is an error, rather than a rule that never binds."""

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        known: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if (key.tag, key.value) in known:
                    raise yaml.MarkedYAMLError(problem=f"{key.value!r} is given twice", problem_mark=key.start_mark)
                known.add((key.tag, key.value))
        return node


def _check(root: yaml.Node, limits: YamlLimits) -> None:
    """Count values as if each alias were written out; a list inside itself has no end."""
    sizes: dict[int, int] = {}
    begun: set[int] = set()
    todo = [root]
    while todo:
        node = todo[-1]
        parts = _parts(node)
        open_parts = [part for part in parts if id(part) not in sizes]
        if open_parts and id(node) in begun:
            raise ValueError("it has an alias (*) inside of what it stands for")
        if open_parts:
            begun.add(id(node))
            todo.extend(open_parts)
            continue
        todo.pop()
        sizes[id(node)] = 1 + sum(sizes[id(part)] for part in parts)
        if sizes[id(node)] > limits.values:
            raise ValueError(
                f"it holds more than {limits.values:,} values, counting each alias (*) as all that it stands for"
            )
        if node.tag in NUMBERS and len(str(node.value)) > limits.digits:
            raise ValueError(f"it has a number of more than {limits.digits} digits")


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []
