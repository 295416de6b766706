"""What settings have in common: each field is a number with a range, and the repr shows what was changed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from counterpoise.errors import InputError
from counterpoise.types import is_number


@dataclass(frozen=True, repr=False)
class Settings:
    """What all families share: numbers are checked when they are set, and the repr shows what is not the default."""

    def __post_init__(self) -> None:
        for each in fields(self):
            given = getattr(self, each.name)
            for number in given if isinstance(given, tuple) else (given,):
                whole = isinstance(each.default, int) and not isinstance(given, tuple)
                if not is_number(number) or not number >= 0 or (whole and number % 1):
                    raise InputError(
                        f"{each.name} must be {'a whole number' if whole else 'a number'} of at least 0",
                        f"{given!r}",
                        f"the default is {each.default!r}",
                    )

    def __repr__(self) -> str:
        return show_changed_fields(self)


def show_changed_fields(settings: Any) -> str:
    """The repr of settings: their fields that differ from the defaults."""
    changed = ((each.name, getattr(settings, each.name)) for each in fields(settings))
    changed_words = [
        f"{name}={given!r}" for name, given in changed if given != type(settings).__dataclass_fields__[name].default
    ]
    return f"{type(settings).__name__}({', '.join(changed_words)})"
