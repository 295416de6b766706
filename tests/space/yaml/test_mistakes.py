"""Slips in schema files: each ends in an error that names the key, and nothing that is read fails later."""

import copy
import re
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.errors import ConstraintError, CounterpoiseError, InputError
from counterpoise.space.region.region import check_constraints
from counterpoise.space.schema.encode import decode, encode
from counterpoise.space.yaml.constraint_entries import CONSTRAINT_SPELLINGS
from counterpoise.space.yaml.load_save import SchemaFile

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "constraints.md"
COLUMNS, ENTRIES = (
    yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
)
TABLE = pd.DataFrame(
    {
        "age": [21, 34, 45, 52],
        "rate": [0.5, 1.5, 2.5, 3.0],
        "total": [21.5, 35.5, 47.5, 55.0],
        "proto": ["tcp", "udp", "tcp", "udp"],
        "size": ["small", "large", "large", "small"],
        "ftp": [0, 1, 0, 1],
    }
)
WHOLE = yaml.safe_load("""
frame: true
columns:
- {name: age, kind: integer, observed_min: 18, observed_max: 70, min: 0, max: 99, monotone: increase, dtype: int64}
- {name: rate, kind: continuous, unit: kB/s, label: Rate, description: how fast, decimals: 2, scale: 0.5}
- {name: total, kind: continuous, immutable: false, missing: false, fixed: "", mark: nan, why: it is the sum}
- {name: proto, kind: categorical, categories: [icmp, tcp, udp], unseen: [icmp], dtype: object, immutable: true}
- {name: size, kind: ordinal, ordinal: true, order: [small, large], categories: [large, small], max: large}
- {name: ftp, kind: binary, min: 0, max: 1}
relations:
- age + rate == total
- {rule: age >= rate, tolerance: 0.001, relax: true, holds: 1.0}
constraints:
- {word: Mutable, names: [age, rate, total, size, ftp]}
- {word: Decreasing, names: [size]}
- {word: Linked, names: [age, total]}
- {word: Range, name: rate, low: 0, high: 9}
- {word: OneOf, name: ftp, values: [0, 1]}
- {word: MaxChanges, count: 4}
- {word: Step, name: age, size: 1}
- {word: Within, name: [rate, total], distance: 99}
- {word: Cost, name: age, up: 2, down: .inf}
- {word: Derived, name: total, text: age + rate, tolerance: 0.001, relax: true}
- {word: Lookup, name: ftp, of: size, table: {small: 0, large: 1}, relax: true}
""")


def load(folder: Path, said: object, reference: pd.DataFrame | None = None) -> SchemaFile:
    path = folder / "said.yaml"
    path.write_text(said if isinstance(said, str) else yaml.safe_dump(said, sort_keys=False), encoding="utf-8")
    return cp.load_schema(path, reference)


def column(**keys: object) -> dict[str, object]:
    return {"columns": [{"name": "age", "kind": "integer", **keys}]}


def stated(heading: str, entry: object) -> dict[str, object]:
    return {**column(), heading: entry}


def test_the_page_describes_a_file_that_is_read_as_it_is(tmp_path):
    file = load(tmp_path, COLUMNS)
    kinds = [feature.kind for feature in file.schema]
    assert kinds == [*["integer"] * 3, "continuous", "continuous", "categorical", "ordinal", "boolean"]
    assert file.constraints == (
        cp.Immutable("proto"),
        cp.Increasing("duration"),
        cp.Range("fwd", 0, 100),
        cp.Range("size", high="medium"),
        cp.Rule("fwd + bwd == total"),
        cp.Rule("proto == 'udp' implies fwd >= 1", tolerance=0.001, relax=True),
        cp.Rule("`fwd` <= x0.fwd + 20"),
    )
    check_constraints(file.schema, file.constraints)


@pytest.mark.parametrize("entry", ENTRIES["constraints"], ids=lambda entry: entry["word"])
def test_every_constraint_on_the_page_is_read_and_fits_its_columns(tmp_path, entry):
    file = load(tmp_path, {"columns": COLUMNS["columns"], "constraints": [entry]})
    assert type(file.constraints[-1]).__name__ == entry["word"]
    check_constraints(file.schema, file.constraints[-1:])


def test_the_page_and_the_errors_have_an_example_of_every_word(tmp_path):
    assert {entry["word"] for entry in ENTRIES["constraints"]} == set(CONSTRAINT_SPELLINGS)
    words = {name for name in cp.__all__ if hasattr(getattr(cp, name), "apply")}
    assert set(CONSTRAINT_SPELLINGS) == words
    for word, spelling in CONSTRAINT_SPELLINGS.items():
        file = load(tmp_path, stated("constraints", [yaml.safe_load(spelling.example)]))
        assert type(file.constraints[0]).__name__ == word


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("immutable", ["no", "false", "maybe", 1, 0, None, [], {}]),
        ("missing", ["no", 1]),
        ("ordinal", ["yes", 1]),
        ("label", [["a"], 5, True]),
        ("unit", [5, ["ms"], False]),
        ("description", [{"a": 1}]),
        ("why", [3]),
        ("fixed", [True]),
        ("decimals", ["x", 2.5, -1, 400, True]),
        ("scale", ["x", 0, -1, float("nan"), float("inf"), True, 10**400]),
        ("observed_min", ["x", [1], float("nan"), True, 10**400]),
        ("observed_max", ["x", {}, float("inf")]),
        ("min", ["x", [1], True, float("inf"), float("nan")]),
        ("max", ["x", -float("inf")]),
        ("monotone", ["up", ["increase"], True]),
        ("categories", ["tcp", [1, 2], [None], [[1]], {"a": 1}]),
        ("unseen", ["tcp", [1]]),
        ("dtype", [5, "no dtype", "category", "datetime64[ns]"]),
        ("mark", ["gone", 5]),
        ("kind", ["number", ["integer"], 5]),
        ("name", [["age"], True, float("nan"), {"a": 1}]),
    ],
)
def test_a_key_of_a_column_holds_what_it_says(tmp_path, key, values):
    for value in values:
        with pytest.raises(InputError, match=f"{key}.* must .*; .*; "):
            load(tmp_path, column(**{key: value}))


@pytest.mark.parametrize(
    ("kind", "keys", "said"),
    [
        ("integer", {"min": 5, "max": 3}, "min must not be above max"),
        ("integer", {"observed_min": 5, "observed_max": 3}, "observed_min must not be above"),
        ("categorical", {"categories": ["a", "b"], "min": 0}, "values have an order"),
        ("categorical", {"categories": ["a", "a"]}, "each once"),
        ("categorical", {"categories": [1, True]}, "each once"),
        ("categorical", {"categories": ["a"], "order": ["a"]}, "ordinal feature"),
        ("categorical", {"categories": ["a", "b"], "unseen": ["c"]}, "unseen must name categories"),
        ("categorical", {"categories": ["a", "b"], "dtype": "int64"}, "dtype"),
        ("ordinal", {"categories": ["a", "b"], "order": ["a"]}, "same values"),
        ("ordinal", {"categories": ["a", "b"], "min": "c"}, "min must name categories"),
        ("ordinal", {"categories": ["a", "b"], "min": "b", "max": "a"}, "min must not be above max"),
        ("boolean", {"categories": [True, False]}, "0 and 1"),
        ("binary", {"categories": ["no", "yes"]}, "0 and 1"),
        ("binary", {"min": 1}, "min: 1; .* OneOf"),
    ],
)
def test_the_keys_of_a_column_fit_each_other(tmp_path, kind, keys, said):
    with pytest.raises(InputError, match=said):
        load(tmp_path, column(kind=kind, **keys))


def test_what_columns_say_of_their_ends_binds(tmp_path):
    ordinal = column(kind="ordinal", categories=["low", "mid", "high"], max="mid")
    assert load(tmp_path, ordinal).constraints == (cp.Range("age", high="mid"),)
    rising = load(tmp_path, column(kind="binary", monotone="increase"))
    assert rising.constraints == (cp.Increasing("age"), cp.Range("age", 0, 1))
    assert load(tmp_path, "columns: [{name: age, kind: integer, max: 1e3}]").constraints[0].high == 1000


@pytest.mark.parametrize(
    ("said", "matched"),
    [
        ({"rule": "age > 3"}, r"relations: must be a list .* begin each entry with a dash"),
        (5, "relations: must be a list"),
        ("age > 3", "relations: must be a list"),
        (False, "relations: must be a list"),
        ([{"rul": "age > 3"}], r"entry 1 of relations: is \{'rul': 'age > 3'\}; write the text alone, or \{rule: "),
        ([["age > 3"]], "entry 1 of relations:"),
        ([None], "entry 1 of relations:"),
        ([{"rule": 5}], "rule must be a text; entry 1 of relations:"),
        (
            [{"rule": "age > 3", "tolerance": "x"}],
            "tolerance must be a number; entry 1 of relations: has tolerance: 'x'",
        ),
        ([{"rule": "age > 3", "tolerance": 2}], "from 0 to below 1; entry 1 of relations:"),
        ([{"rule": "age > 3", "relax": "no"}], "relax must be true or false"),
        ([{"rule": "age > 3", "tolerence": 0.1}], "tolerence"),
        (["age > 3", "age >"], "entry 2 of relations: it cannot be read at character 6"),
    ],
)
def test_a_slip_in_a_relation_is_pointed_out(tmp_path, said, matched):
    with pytest.raises((InputError, ConstraintError), match=matched):
        load(tmp_path, stated("relations", said))


def test_a_relation_may_be_its_text_alone(tmp_path):
    said = "columns: [{name: age, kind: integer}]\nrelations:\n- age > 3\n- {rule: age < 9, tolerance: 1e-3}\n"
    assert load(tmp_path, said).constraints == (cp.Rule("age > 3"), cp.Rule("age < 9", tolerance=0.001))


@pytest.mark.parametrize(
    ("said", "matched"),
    [
        ({"Immutable": ["age"]}, "constraints: must be a list .* begin each entry with a dash"),
        (["age"], r"entry 1 of constraints: is 'age'; write for instance \{word: "),
        ([{"Range": ["age", 0, 9]}], r"write for instance \{word: Range, name: age, low: 18, high: 65\}"),
        ([{"word": "immutable", "names": ["age"]}], r"the words are Cost, .*; for instance \{word: Immutable"),
        ([{"word": ["Range"]}], "the words are"),
        ([{"word": "Range"}], "must have at least one end|word with all that it takes"),
        ([{"word": "Range", "name": "age"}], "entry 1 of constraints: Range"),
        ([{"word": "Range", "name": "age", "lo": 3}], "it has lo; the words are high, low, name"),
        ([{"word": "Range", "name": "age", "low": [1]}], "low must be one number"),
        ([{"word": "Range", "name": {"a": 1}, "low": 1}], "name must be the name of a column"),
        ([{"word": "Immutable", "names": [["age"]]}], "names must be the name of a column, or a list"),
        ([{"word": "Immutable", "name": "age"}], "it has name; the words are names"),
        ([{"word": "OneOf", "name": "age", "values": 3}], "values must be a list"),
        ([{"word": "MaxChanges", "count": "4"}], "count must be a whole number"),
        ([{"word": "Step", "name": "age", "size": "x"}], "size must be a number"),
        ([{"word": "Cost", "name": "age", "up": -1}], "entry 1 of constraints: Cost"),
        ([{"word": "Lookup", "name": "age", "of": "b", "table": [1, 2]}], "table must be a table"),
        ([{"word": "Lookup", "name": "age", "of": "b", "table": [[1, 2], [1, 3]]}], "each once"),
        ([{"word": "Linked", "names": ["age"]}], "at least two"),
        ([{"word": "Derived", "name": ["age"], "text": "b"}], "name must be the name of a column"),
        ([{"word": "Rule", "text": "age > 3", "relax": 1}], "relax must be true or false"),
    ],
)
def test_a_slip_in_a_constraint_is_pointed_out(tmp_path, said, matched):
    with pytest.raises((InputError, ConstraintError), match=matched):
        load(tmp_path, stated("constraints", said))


def test_one_name_is_as_good_as_a_list_of_one(tmp_path):
    said = [{"word": "Immutable", "names": "age"}, {"word": "Lookup", "name": "age", "of": "b", "table": {"x": 80}}]
    assert load(tmp_path, stated("constraints", said)).constraints == (
        cp.Immutable("age"),
        cp.Lookup("age", "b", {"x": 80}),
    )


@pytest.mark.parametrize(
    "text",
    [
        "columns: [{name: a, kind: integer}]\nrelations: [a > 1]\nrelations: [a < 9]\n",
        "columns: [{name: a, kind: integer, immutable: true, immutable: false}]",
        "columns: [{name: a, kind: integer, min: 2024-99-99}]",
        "columns: [{name: a, kind: integer, immutable: !!bool maybe}]",
        "columns: [{name: a, kind: integer, min: !!timestamp x}]",
        "columns: " + "[" * 3000,
        "[]",
        "",
        "5",
        "columns: {age: {kind: integer}}",
        "columns: [age]",
        "columns: []",
        "columns: [{name: a, kind: integer}]\nframe: 'no'",
        "columns: &a [*a]",
        "columns: [{name: a, kind: integer}, {name: a, kind: integer}]",
    ],
)
def test_a_file_of_another_shape_is_refused(tmp_path, text):
    with pytest.raises(InputError):
        load(tmp_path, text)


def test_anchors_and_merges_are_no_doubles(tmp_path):
    text = "about: &base {kind: integer, min: 0}\ncolumns:\n- {<<: *base, name: a}\n- {<<: *base, name: b, min: 5}\n"
    assert load(tmp_path, text).constraints == (cp.Range("a", 0), cp.Range("b", 5))


def test_a_reference_of_categories_takes_on_those_of_the_file(tmp_path):
    table = pd.DataFrame({"proto": pd.Categorical(["tcp", "udp"]), "code": pd.Categorical([3, 5])})
    proto = {"name": "proto", "kind": "categorical", "categories": ["icmp", "tcp", "udp"]}
    schema = load(tmp_path, {"columns": [proto, {"name": "code", "kind": "integer"}]}, table).schema
    assert decode(schema, encode(schema, table)).astype(object).equals(table.astype(object))
    assert decode(schema, np.array([[0.0, 4.0]])).iloc[0].tolist() == ["icmp", 4]


def test_a_reference_that_a_file_does_not_fit_is_refused(tmp_path):
    table = pd.DataFrame({"age": [1, 2, 3], "size": ["small", "large", "small"]})
    with pytest.raises(InputError, match="dtype"):  # no column of whole numbers can hold it
        load(tmp_path, column(kind="categorical", categories=[1, 2, 3, "more"]), table)
    with pytest.raises(InputError, match="observed_min"):
        load(tmp_path, column(observed_min=7), table)
    with pytest.raises(InputError, match="categories"):  # the alphabet is no order of sizes
        load(tmp_path, {"columns": [{"name": "size", "kind": "ordinal"}]}, table)
    assert load(tmp_path, column(min=7), table).constraints == (cp.Range("age", 7),)


def test_arrays_hold_numbers_and_categories_that_count_from_zero(tmp_path):
    numbers = np.array([[0.0, 1.5], [1.0, 2.5], [2.0, 3.5]])
    levels = {"name": "f0", "kind": "categorical", "categories": [0, 1, 2]}
    said = {"columns": [levels, {"name": "f1", "kind": "continuous"}]}
    schema = load(tmp_path, said, numbers).schema
    assert decode(schema, encode(schema, pd.DataFrame(numbers, columns=["f0", "f1"]))).tolist() == numbers.tolist()
    for wrong in ({"categories": [1, 2, 0]}, {"dtype": "category"}, {"dtype": "Int64"}):
        with pytest.raises(InputError, match="the columns of an array must"):
            load(tmp_path, put(said, ("columns", 0), levels | wrong), numbers)
    with pytest.raises(InputError, match=r"the columns of an array must .* 'age' is ordinal"):
        load(tmp_path, {"frame": False, **column(kind="ordinal", categories=["a", "b"])})


def test_categories_that_yaml_cannot_write_are_refused(tmp_path):
    for values in (pd.cut([1.0, 2.0, 3.0], 2), pd.Categorical(pd.to_datetime(["2024-01-01", "2024-01-02"]))):
        schema = cp.Schema.infer(pd.DataFrame({"a": values}))
        with pytest.raises(InputError, match=r"numbers, texts and booleans; .* is a (Interval|Timestamp); convert"):
            cp.save_schema(tmp_path / "s.yaml", schema)
        assert not (tmp_path / "s.yaml").exists()


def adult(frame):
    """A model of two columns that answers whatever it is asked."""
    p = 1 / (1 + np.exp(4.0 - frame["age"].to_numpy(float) / 10 - frame["rate"].to_numpy(float)))
    return np.column_stack([1 - p, p])


def places(node: object, at: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """Where something stands in a file, however deep."""
    inside = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [at, *(place for key, value in inside for place in places(value, (*at, key)))]


def put(said: object, at: tuple[object, ...], value: object) -> object:
    if not at:
        return value
    said = copy.deepcopy(said)
    inner = said
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = value
    return said


scalars = st.one_of(
    st.sampled_from([None, True, False, float("nan"), float("inf"), -float("inf"), 10**30, 10**400, b"x"]),
    st.sampled_from(["age", "rate", "proto", "tcp", "small", "no", "age > 3", "1e3", "category", "int8", "float32"]),
    st.integers(-3, 70),
    st.floats(-1e6, 1e6, allow_subnormal=False),
    st.text(max_size=3),
    st.dates(),
)
anything = st.one_of(
    scalars,
    st.lists(st.one_of(scalars, st.lists(scalars, max_size=2)), max_size=3),
    st.dictionaries(st.text(), scalars),
)
changed = st.builds(put, st.just(WHOLE), st.sampled_from(places(WHOLE)), anything)


def test_a_whole_file_is_read_and_explains(tmp_path):
    for reference in (TABLE, None):
        file = load(tmp_path, WHOLE, reference)
        found = cp.explain(adult, TABLE[:1], reference=TABLE, schema=file.schema, constraints=file.constraints)
        assert found.valid.all()


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changed, st.booleans())
def test_what_is_read_never_fails_later_but_with_an_error_of_ours(tmp_path, said, seen):
    with suppress(CounterpoiseError):
        file = load(tmp_path, said, TABLE if seen else None)
        cp.explain(adult, TABLE[:1], reference=TABLE, schema=file.schema, constraints=file.constraints)
