"""Objects that a file cannot hold, such as a user's own regulariser: their name, repr and a hash of their settings.

The hash tells whether an object that is given later is the one that was stored. Nothing here runs code from a file.
"""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pandas as pd

_MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, repr=False)
class StoredObject:
    """What a saved explanation knows of an object: enough to show it and to recognise it, not to use it.

    name: module and name of its class.
    text: its repr.
    settings_hash: `hash_settings` of it; empty where only the text is known, as in documents of version 1.

    >>> StoredObject("my.Noise", "Noise(3)", "")
    Noise(3)
    """

    name: str
    text: str
    settings_hash: str

    @classmethod
    def of(cls, value: object) -> StoredObject:
        """The record of an object; of a record, itself."""
        if isinstance(value, StoredObject):
            return value
        return cls(name_of_class(value), _MEMORY_ADDRESS.sub("", repr(value)), hash_settings(value))

    def __repr__(self) -> str:
        return self.text

    def matches(self, value: object) -> bool:
        """Whether an object is the one that was stored: by its settings where they are known, else by its repr."""
        other = StoredObject.of(value)
        if self.settings_hash and other.settings_hash:
            return self.settings_hash == other.settings_hash
        return self.text == other.text


def name_of_class(value: object) -> str:
    """Module and name of an object's class; of a function, its own.

    >>> name_of_class(1.5)
    'builtins.float'
    """
    named = value if isinstance(value, (FunctionType, type)) else type(value)
    return f"{named.__module__}.{named.__qualname__}"


def as_picklable(value: object) -> object:
    """The object itself, or its record where it cannot be pickled, such as a function made on the spot."""
    try:
        pickle.dumps(value)
    except Exception:  # whatever an object of the user's own raises
        return StoredObject.of(value)
    return value


def hash_settings(value: object) -> str:
    """A hash of an object's class and all of its settings: equal for objects that are set the same way.

    A dataclass counts with the fields that it compares by, any other object with its attributes, a function with its
    code and the values that it holds.

    >>> from counterpoise.space.constraints.words import Range
    >>> hash_settings(Range("a", 0, 1)) == hash_settings(Range("a", 0, 1)) != hash_settings(Range("a", 0, 2))
    True
    """
    return sha256(repr(_settings_of(value, ())).encode()).hexdigest()


def is_same(one: object, other: object) -> bool:
    """Whether two objects are set the same way."""
    return one is other or StoredObject.of(one).matches(other)


def are_same(stored: Sequence[object], given_objects: Sequence[object]) -> bool:
    """Whether two lists hold the same objects, in any order."""
    if len(stored) != len(given_objects):
        return False
    records, given = [StoredObject.of(value) for value in stored], [StoredObject.of(value) for value in given_objects]
    if all(record.settings_hash for record in (*records, *given)):
        return Counter(record.settings_hash for record in records) == Counter(record.settings_hash for record in given)
    return Counter(record.text for record in records) == Counter(record.text for record in given)


def _settings_of(value: object, above: tuple[int, ...]) -> Any:
    """Plain data that is equal for equal settings; ``above`` are the ids of the objects that hold this one."""
    if isinstance(value, (np.generic, np.ndarray)):
        return _array_settings(np.asarray(value), above)
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if id(value) in above:
        return "itself"
    inner = (*above, id(value))
    if isinstance(value, (pd.DataFrame, pd.Series, pd.Index)):
        labels = list(value.columns) if isinstance(value, pd.DataFrame) else [value.name]
        return "table", _settings_of(value.to_numpy(), inner), list(map(repr, labels))
    if isinstance(value, Mapping):
        return "map", sorted((repr(_settings_of(key, inner)), _settings_of(part, inner)) for key, part in value.items())
    if isinstance(value, (set, frozenset)):
        return "set", sorted(repr(_settings_of(part, inner)) for part in value)
    if isinstance(value, (list, tuple)):
        return "list", [_settings_of(part, inner) for part in value]
    if isinstance(value, CodeType):
        return "code", value.co_code, value.co_names, [_settings_of(part, inner) for part in value.co_consts]
    return name_of_class(value), _attributes_of(value, inner)


def _array_settings(array: Any, above: tuple[int, ...]) -> Any:
    if array.dtype.kind == "O":
        return "array", array.shape, [_settings_of(part, above) for part in array.ravel()]
    if not array.ndim:
        return repr(array.item())  # a number is the same number in every dtype
    return "array", array.dtype.str, array.shape, array.tobytes()


def _attributes_of(value: object, above: tuple[int, ...]) -> Any:
    if isinstance(value, type):
        return None
    if isinstance(value, FunctionType):
        held = [cell.cell_contents for cell in value.__closure__ or ()]
        return [_settings_of(part, above) for part in (value.__code__, value.__defaults__, held)]
    if is_dataclass(value):
        names = [item.name for item in fields(value) if item.compare or not _is_compared(value)]
        return [(name, _settings_of(getattr(value, name), above)) for name in names]
    if hasattr(value, "__dict__"):
        return [(name, _settings_of(part, above)) for name, part in sorted(vars(value).items())]
    try:  # compiled classes, such as scikit-learn's trees, tell their state where they are pickled
        return _settings_of(value.__reduce_ex__(2)[1:3], above)
    except Exception:
        return _MEMORY_ADDRESS.sub("", repr(value))


def _is_compared(value: object) -> bool:
    """Whether a dataclass compares by its fields, or by an ``__eq__`` of its own."""
    return type(value).__eq__ is not object.__eq__
