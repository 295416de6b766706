"""What stands for an empty cell in a text table: `unset:` of a schema file, for all columns or for one.

unset: ['NA']               # in every column
columns:
- {name: rate, kind: continuous, unset: ['-', 'n/a']}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from counterpoise.space.yaml.column_entries import read_column, read_entries
from counterpoise.space.yaml.key_forms import TEXTS, read_keys
from counterpoise.space.yaml.load_save import COLUMN_EXAMPLE, read_yaml


@dataclass(frozen=True)
class UnsetMarks:
    """The texts that stand for an empty cell beside the empty text: in every column, and in single columns."""

    everywhere: tuple[str, ...] = ()
    by_column: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of_columns(self, names: Iterable[str]) -> dict[str, list[str]]:
        """The marks of each column.

        >>> UnsetMarks(("NA",), {"rate": ("-",)}).of_columns(["rate", "port"])
        {'rate': ['', 'NA', '-'], 'port': ['', 'NA']}
        """
        return {name: ["", *self.everywhere, *self.by_column.get(name, ())] for name in names}


def load_unset_marks(path: str | Path) -> UnsetMarks:
    """The marks listed in a schema file."""
    content = read_yaml(path)
    stated = read_keys("the file", {"unset": content.get("unset")}, {"unset": TEXTS}).get("unset", ())
    columns = [
        read_column(entry, f"entry {number} of columns:")
        for number, entry in enumerate(read_entries(content, "columns", COLUMN_EXAMPLE), start=1)
    ]
    return UnsetMarks(
        tuple(stated), {str(column["name"]): tuple(column["unset"]) for column in columns if "unset" in column}
    )
