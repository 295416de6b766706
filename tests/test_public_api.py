"""The package's face: `__all__` says what there is, and there is what it says."""

from types import ModuleType

import counterpoise


def _exported() -> set[str]:
    """Public names that the package really has; its own modules are reachable anyway and need no listing."""
    return {
        name
        for name, value in vars(counterpoise).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }


def test_all_is_sorted_and_has_no_name_twice() -> None:
    assert list(counterpoise.__all__) == sorted(set(counterpoise.__all__))


def test_every_name_in_all_is_there() -> None:
    assert [name for name in counterpoise.__all__ if not hasattr(counterpoise, name)] == []


def test_all_equals_what_the_package_exports() -> None:
    listed = {name for name in counterpoise.__all__ if not isinstance(getattr(counterpoise, name), ModuleType)}
    assert {name for name in listed if not name.startswith("_")} == _exported()


def test_a_star_import_brings_exactly_all() -> None:
    space: dict[str, object] = {}
    exec("from counterpoise import *", space)
    assert set(space) - {"__builtins__"} == set(counterpoise.__all__)


def test_every_public_name_is_documented() -> None:
    public = {name: getattr(counterpoise, name) for name in counterpoise.__all__}
    assert [name for name, value in public.items() if callable(value) and not value.__doc__] == []
