"""What a person asks for on the page, read from JSON: what is locked, ranges, costs, caps; as constraints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from counterpoise.errors import InputError
from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.constraints.relative_to_row import Cost
from counterpoise.space.constraints.words import Constraint, Immutable, MaxChanges, OneOf, Range
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import is_number, is_whole_number

PRICES = {"harder": 3.0, "easier": 1 / 3}
"""How many times a change counts where a person says that it is harder, or easier, than others."""


@dataclass(frozen=True)
class Wishes:
    """What an answer must heed beside the explainer's own constraints; columns by their place in the schema.

    locked: columns that stay as they are.
    ranges: by column the least and the greatest value; None: open.
    prices: by column "harder" or "easier".
    excluded: by column the values, or the codes of categories, that no answer takes.
    max_changes: how many features may change; None: any number.
    keep: the share of noisy copies that must keep the target; None: the least change.

    >>> Wishes.read({"locked": [0], "max_changes": 2}).locked
    (0,)
    """

    locked: tuple[int, ...] = ()
    ranges: Mapping[int, tuple[float | None, float | None]] = field(default_factory=dict)
    prices: Mapping[int, str] = field(default_factory=dict)
    excluded: Mapping[int, tuple[float, ...]] = field(default_factory=dict)
    max_changes: int | None = None
    keep: float | None = None

    @classmethod
    def read(cls, data: Any) -> Wishes:
        """The wishes that the page sends; what is none of them is refused by name."""
        if not isinstance(data, Mapping):
            raise InputError("wishes must be an object", f"{type(data).__name__}", "send {} for none")
        unknown = sorted(set(data) - set(cls.__dataclass_fields__))
        if unknown:
            raise InputError(
                f"wishes must be among {', '.join(cls.__dataclass_fields__)}", f"{', '.join(unknown)}", "leave it out"
            )
        if not all(isinstance(data.get(name, {}), Mapping) for name in ("ranges", "prices", "excluded")):
            raise InputError("ranges, prices and excluded must be objects", "one is not", "reload the page")
        return cls(
            tuple(sorted(int(place) for place in data.get("locked", ()))),
            {int(place): _read_range(ends) for place, ends in data.get("ranges", {}).items()},
            {int(place): _read_price(word) for place, word in data.get("prices", {}).items()},
            {int(place): tuple(map(float, codes)) for place, codes in data.get("excluded", {}).items()},
            _read_max_changes(data.get("max_changes")),
            _read_keep(data.get("keep")),
        )

    def constraints(self, schema: Schema) -> list[Constraint]:
        """The wishes as constraint words."""

        def feature(place: int) -> Feature:
            if not 0 <= place < len(schema):
                raise InputError(f"a column must be a place below {len(schema)}", f"{place}", "reload the page")
            return schema.features[place]

        words: list[Constraint] = [Immutable(feature(place).name) for place in self.locked]
        words += [Range(feature(place).name, low, high) for place, (low, high) in self.ranges.items()]
        words += [Cost(feature(place).name, PRICES[word], PRICES[word]) for place, word in self.prices.items()]
        for place, codes in self.excluded.items():
            words += _exclude_values(feature(place), codes)
        return words + ([] if self.max_changes is None else [MaxChanges(self.max_changes)])


def _read_range(ends: Any) -> tuple[float | None, float | None]:
    if not (isinstance(ends, (list, tuple)) and len(ends) == 2):
        raise InputError("a range must be [low, high]", f"{ends!r}", "write null for an open end")
    low, high = (None if end is None else float(end) for end in ends)
    return low, high


def _read_price(word: Any) -> str:
    if word not in PRICES:
        raise InputError("a price must be 'harder' or 'easier'", f"{word!r}", "choose one")
    return str(word)


def _read_max_changes(most: Any) -> int | None:
    if most is not None and not (is_whole_number(most) and most >= 1):
        raise InputError("max_changes must be a whole number of at least 1", f"{most!r}", "for instance 3")
    return None if most is None else int(most)


def _read_keep(keep: Any) -> float | None:
    if keep is not None and not (is_number(keep) and 0 < keep < 1):
        raise InputError("keep must be between 0 and 1", f"{keep!r}", "for instance 0.9")
    return None if keep is None else float(keep)


def _exclude_values(feature: Feature, codes: tuple[float, ...]) -> list[Constraint]:
    if not feature.is_numeric:
        left = [value for code, value in enumerate(feature.categories) if code not in codes]
        if not left:
            raise InputError(
                "at least one category must be left", f"all of {feature.title} are excluded", "allow one again"
            )
        return [OneOf(feature.name, left)]
    if "`" in str(feature.name):
        raise InputError("a value of this feature cannot be excluded", "its name holds a backquote", "set its range")
    return [Rule(f"`{feature.name}` != {code!r}") for code in codes]
