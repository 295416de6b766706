"""The page on constraints has an example of every word; tests/docs runs them."""

from pathlib import Path

import counterpoise as cp

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "constraints.md"
WORDS = ["Immutable", "Mutable", "Increasing", "Decreasing", "Range", "OneOf", "Integer", "Step", "Within", "Cost"]
WORDS += ["MaxChanges", "Linked", "Rule", "Derived", "Lookup", "discover", "load_schema", "save_schema"]


def test_every_word_has_an_example_on_the_page():
    text = PAGE.read_text(encoding="utf-8")
    for word in WORDS:
        assert hasattr(cp, word)
        assert f"**`{word}`**" in text, word
        assert f"cp.{word}(" in text, word
