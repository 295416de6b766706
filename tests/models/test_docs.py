"""docs/models.md tells the truth: its examples run, and say what they say."""

import doctest
import re
from pathlib import Path

import pytest

import counterpoise as cp

for library in ("lightgbm", "torch", "onnxruntime", "skl2onnx"):
    pytest.importorskip(library)

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_examples_say_what_the_page_says() -> None:
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
    shown = "\n".join(block for block in blocks if block.startswith(">>>"))
    said: list[str] = []
    runner.run(doctest.DocTestParser().get_doctest(shown, {}, "models.md", str(PAGE), 0), out=said.append)
    assert not runner.failures, "".join(said)
    assert runner.tries > 20


def test_every_name_and_link_of_the_page_is_there() -> None:
    assert [name for name in re.findall(r"\bcp\.(\w+)", TEXT) if not hasattr(cp, name)] == []
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    assert [link for link in links if not (PAGE.parent / link).exists()] == []
