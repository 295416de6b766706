"""The page on extending the package speaks of every protocol; tests/docs runs its examples."""

from collections.abc import Callable
from pathlib import Path

import counterpoise as cp

PAGE = (Path(__file__).parents[1] / "docs" / "how-to" / "extend.md").read_text(encoding="utf-8")
PROTOCOLS: dict[str, type | Callable[..., object]] = {
    name: getattr(cp, name) for name in ("Cooling", "Distance", "Method", "Noise", "Regularizer")
}


def test_the_page_speaks_of_every_protocol() -> None:
    for name, protocol in PROTOCOLS.items():
        assert f"`cp.{name}`" in PAGE
        assert protocol.__doc__
