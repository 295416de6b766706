"""The page on extending the package: its examples run, and their assertions hold."""

import re
from collections.abc import Callable
from pathlib import Path

import counterpoise as cp

PAGE = (Path(__file__).parents[1] / "docs" / "extend.md").read_text(encoding="utf-8")
PROTOCOLS: dict[str, type | Callable[..., object]] = {
    name: getattr(cp, name) for name in ("Cooling", "Distance", "Method", "Noise", "Regularizer")
}


def test_every_example_of_the_page_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) == 7
    names: dict[str, object] = {"__name__": "extend"}
    for block in blocks:
        exec(compile(block, "docs/extend.md", "exec"), names)
    noise = names["RelativeNoise"](0.1)  # type: ignore[operator]
    assert isinstance(noise, cp.Noise)
    assert isinstance(names["apart"], cp.Regularizer)


def test_the_page_speaks_of_every_protocol() -> None:
    for name, protocol in PROTOCOLS.items():
        assert f"`cp.{name}`" in PAGE
        assert protocol.__doc__
