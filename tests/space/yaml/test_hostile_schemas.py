"""Schema files that mean harm: each ends in an error, with little memory and time, and runs nothing."""

from pathlib import Path

import pytest

from counterpoise.errors import InputError
from counterpoise.space.yaml.load_save import load_schema
from hostile import is_refused, outcomes

COLUMNS = "columns:\n- {name: age, kind: integer}\n"


def laughs(heading: str) -> str:
    """Aliases that stand for 9¹⁰ values, in a few hundred characters."""
    lines = "".join(f"l{n + 1}: &l{n + 1} [{', '.join([f'*l{n}'] * 9)}]\n" for n in range(9))
    return f"{COLUMNS}l0: &l0 [a, a, a, a, a, a, a, a, a]\n{lines}{heading}:\n- [*l9]\n"


def merged() -> str:
    """Keys that are merged twice at each level."""
    return "l0: &l0 {a: 1}\n" + "".join(f"l{n + 1}: &l{n + 1}\n  <<: [*l{n}, *l{n}]\n" for n in range(40)) + COLUMNS


HOSTILE = {
    "laughs under constraints": laughs("constraints"),
    "laughs under relations": laughs("relations"),
    "laughs under columns": laughs("other").replace("columns:\n", "columns:\n- *l9\n").replace("- *l9\n- {", "- {"),
    "laughs about the data": laughs("about"),
    "merged keys": merged(),
    "a list in itself": COLUMNS + "constraints: &a [*a]\n",
    "a number to the base of 60": COLUMNS + "about: 1" + ":59" * 500_000,
    "a number of a million digits": COLUMNS + "about: " + "1" * 10**6,
    "a text of a million digits": "columns:\n- {name: age, kind: integer, min: '" + "1" * 10**6 + "'}\n",
    "deep lists": COLUMNS + "constraints: " + "[" * 100_000,
    "deep dashes": "columns:\n" + "- " * 100_000,
    "deep questions": "? " * 100_000,
    "many entries": COLUMNS + "constraints:\n" + "- a\n" * 400_000,
    "a long entry": COLUMNS + "constraints:\n- [" + "a, " * 100_000 + "a]\n",
    "a long word": COLUMNS + "constraints:\n- {word: " + "a" * 2_000_000 + "}\n",
    "a long text": COLUMNS + "constraints: " + "b " * 2**21,
    "a call": COLUMNS + "constraints: !!python/object/apply:os.system [touch sprung]\n",
    "a module": COLUMNS + "about: !!python/module:antigravity\n",
    "a new object": COLUMNS + "about: !!python/object/new:subprocess.Popen [[touch, sprung]]\n",
    "a deep rule": COLUMNS + "relations:\n- " + "(" * 2000 + "age" + ")" * 2000 + " > 1\n",
    "a rule of many signs": COLUMNS + "relations:\n- age > " + "-" * 4000 + "1\n",
    "a rule of powers": COLUMNS + "relations:\n- age > " + "9**" * 1500 + "9\n",
}


def test_a_schema_file_cannot_take_much_memory_or_time_or_run_code(tmp_path: Path) -> None:
    paths = []
    for number, text in enumerate(HOSTILE.values()):
        paths.append(tmp_path / f"{number}.yaml")
        paths[-1].write_text(text, encoding="utf-8")
    (tmp_path / "honest.yaml").write_text(COLUMNS, encoding="utf-8")
    found = outcomes([("schema", path) for path in paths], tmp_path, [("schema", tmp_path / "honest.yaml")])
    rules = [name for name in HOSTILE if "rule" in name]  # are read when they meet the data
    for name, outcome in zip(HOSTILE, found, strict=True):
        assert is_refused(outcome) or name in rules, (name, outcome)
        assert (outcome["events"], outcome["signal"]) == ([], 0), (name, outcome)
    assert not (Path.cwd() / "sprung").exists()


def test_aliases_that_stand_for_little_are_read(tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text("columns:\n- &a {name: a, kind: integer}\n- {<<: *a, name: b}\n", encoding="utf-8")
    assert load_schema(path).schema.names == ("a", "b")


def test_the_entry_that_was_meant_is_found_still(tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    path.write_text(COLUMNS + "constraints:\n- {immutable: age}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"write for instance \{word: Immutable"):
        load_schema(path)
