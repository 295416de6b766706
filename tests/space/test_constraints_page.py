"""The page on constraints: every example in it does what it says."""

import doctest
from pathlib import Path

import counterpoise as cp

PAGE = Path(__file__).parents[2] / "docs" / "constraints.md"
WORDS = ["Immutable", "Mutable", "Increasing", "Decreasing", "Range", "OneOf", "Integer", "Step", "Within", "Cost"]
WORDS += ["MaxChanges", "Linked", "Rule", "Derived", "Lookup", "discover", "load_schema", "save_schema"]


def test_every_example_on_the_page_does_what_it_says():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    results = doctest.testfile(str(PAGE), module_relative=False, optionflags=flags, encoding="utf-8")
    assert results.attempted > 60
    assert results.failed == 0


def test_every_word_has_an_example_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    for word in WORDS:
        assert hasattr(cp, word)
        assert f"**`{word}`**" in text, word
        assert f"cp.{word}(" in text, word
