"""Schema files: what is written reads back the same, plain files mean what they say, and mistakes are pointed out."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.errors import ConstraintError, InputError
from counterpoise.space.region.region import Region, check_constraints
from counterpoise.space.schema.encode import decode, encode
from counterpoise.space.schema.schema import Schema
from worlds import constraints, tables

DATA = Path(os.environ.get("COUNTERPOISE_DATA", Path(__file__).parents[4] / "shared" / "data"))
PLAIN = """
name: flows
target: {column: target, desired_class: 0}
relations:
- rule: "fwd + bwd == `total packets`"
  tolerance: 0.001
  holds: 0.9991
columns:
- {name: fwd, kind: integer, observed_min: 0, observed_max: 9, min: 0, immutable: false, monotone: increase}
- {name: bwd, kind: integer, observed_min: 0, observed_max: 9, min: 0, immutable: false}
- {name: total packets, kind: integer, observed_min: 0, observed_max: 18, unit: packets, label: Packets}
- {name: rate, kind: continuous, observed_min: 0.5, observed_max: 8.5, max: 100, decimals: 2, description: per second}
- {name: proto, kind: categorical, categories: [icmp, tcp, udp], immutable: true, why: set by the application}
- {name: size, kind: categorical, ordinal: true, order: [small, large]}
- {name: ftp, kind: binary, observed_min: 0, observed_max: 1, min: 0, max: 1}
"""
TABLE = pd.DataFrame(
    {
        "fwd": [1, 2, 3],
        "bwd": [4, 0, 2],
        "total packets": [5, 2, 5],
        "rate": [0.5, 8.25, 3.0],
        "proto": ["tcp", "udp", "tcp"],
        "size": ["small", "large", "large"],
        "ftp": [0, 1, 0],
    }
)


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "flows.yaml"
    path.write_text(PLAIN)
    return path


def test_a_plain_file_means_what_it_says(plain):
    file = cp.load_schema(plain)
    kinds = [feature.kind for feature in file.schema]
    assert kinds == ["integer", "integer", "integer", "continuous", "categorical", "ordinal", "boolean"]
    assert file.constraints == (
        cp.Immutable("proto"),
        cp.Increasing("fwd"),
        cp.Range("fwd", 0),
        cp.Range("bwd", 0),
        cp.Range("rate", high=100),
        cp.Rule("fwd + bwd == `total packets`", tolerance=0.001),
    )
    assert (file.schema["rate"].lower, file.schema["rate"].upper, file.schema["rate"].scale) == (0.5, 8.5, 8.0)
    assert file.schema["rate"].decimals == 2
    assert file.schema["total packets"].unit == "packets"
    assert file.schema["total packets"].title == "Packets"
    assert file.schema["proto"].description == "set by the application"
    assert file.schema["size"].categories == ("small", "large")
    assert file.about["target"]["desired_class"] == 0
    check_constraints(file.schema, file.constraints)
    x = encode(file.schema, TABLE)
    assert decode(file.schema, x)["ftp"].tolist() == [0, 1, 0]


def test_reference_data_gives_what_the_file_does_not(plain):
    file = cp.load_schema(plain, TABLE)
    inferred = Schema.infer(TABLE)
    assert file.schema["fwd"].scale == inferred["fwd"].scale
    assert file.schema["proto"].dtype == inferred["proto"].dtype
    assert file.schema["proto"].categories == ("icmp", "tcp", "udp")  # the file knows one that was not seen
    assert file.schema["rate"].upper == 8.5
    back = decode(file.schema, encode(file.schema, TABLE))
    pd.testing.assert_frame_equal(back, TABLE)


def test_a_file_explains(plain):
    model = LogisticRegression().fit(TABLE[["fwd", "bwd", "total packets", "rate"]], [0, 1, 0])
    text = PLAIN.split("- {name: proto")[0]
    plain.write_text(text)
    file = cp.load_schema(plain, TABLE[["fwd", "bwd", "total packets", "rate"]])
    found = cp.explain(model, TABLE, reference=TABLE, schema=file.schema, constraints=file.constraints)
    frame = found.frame
    assert found.valid.any()
    assert (frame.fwd + frame.bwd == frame["total packets"]).all()
    assert (frame.fwd >= TABLE.fwd).all()


WORDS = [
    cp.Rule("a <= b", relax=True),
    cp.Derived("c", "a / b", tolerance=0.01),
    cp.Linked("a", "b"),
    cp.Lookup("b", "a", {1: 2, "x": 3.5}),
    cp.Step("a", 7),
    cp.Within(["a", "b"], percent=10),
    cp.Cost("a", up=1.0, down=float("inf")),
    cp.MaxChanges(3),
    cp.OneOf("a", [1, "x", 2.5, True]),
    cp.Range("a", 0),
    cp.Mutable("a", "b"),
    cp.Integer("c"),
]


def test_every_word_reads_back(tmp_path):
    schema = Schema.infer(pd.DataFrame({"a": [1, 2], "b": [1.5, 2.0], "c": [1.0, 2.0]}))
    cp.save_schema(tmp_path / "s.yaml", schema, WORDS, {"name": "words"})
    file = cp.load_schema(tmp_path / "s.yaml")
    assert list(map(repr, file.constraints)) == list(map(repr, WORDS))
    assert file.about == {"name": "words"}


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(tables(), constraints({"int64_0": "int64", "text_1": "text"}))
def test_any_schema_reads_back_the_same(tmp_path, case, words):
    schema = Schema.infer(case[1])
    cp.save_schema(tmp_path / "any.yaml", schema, words)
    file = cp.load_schema(tmp_path / "any.yaml")
    assert file.schema == schema
    assert file.constraints == tuple(words)


def test_an_array_schema_stays_one(tmp_path):
    schema = Schema.infer(np.array([[1.0, 2.0], [3.5, 4.0]]))
    cp.save_schema(tmp_path / "array.yaml", schema)
    assert cp.load_schema(tmp_path / "array.yaml").schema == schema


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: integer, observed_min: 0, observed_max: 9, min: 0, immutable", "kind: number, immutable", "kind"),
        ("immutable: false}", "imutable: false}", "imutable"),
        ("monotone: increase", "monotone: up", "monotone"),
        ("columns:", "rows:", "columns"),
        ("fwd + bwd ==", "fwd + + * bwd ==", "at character"),
        ("name: flows", "name: [", "YAML"),
        ("{name: bwd,", "{", "name and a kind"),
    ],
)
def test_a_mistake_is_pointed_out(plain, old, new, said):
    assert old in PLAIN
    plain.write_text(PLAIN.replace(old, new, 1))
    with pytest.raises((InputError, ConstraintError), match=said):
        cp.load_schema(plain)


def test_what_is_no_data_cannot_be_written(tmp_path):
    schema = Schema.infer(TABLE)
    for word in (lambda frame: frame.fwd > 0, object()):
        with pytest.raises(InputError, match="must be data"):
            cp.save_schema(tmp_path / "f.yaml", schema, [word])
    (tmp_path / "w.yaml").write_text("columns: [{name: a, kind: integer}]\nconstraints: [{word: Forbid}]\n")
    with pytest.raises(InputError, match="MaxChanges"):
        cp.load_schema(tmp_path / "w.yaml")
    with pytest.raises(InputError, match="readable"):
        cp.load_schema(tmp_path / "nowhere.yaml")


@pytest.mark.skipif(not DATA.exists(), reason="the data sets are not here")
@pytest.mark.parametrize("path", sorted(DATA.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_files_of_real_data_are_read_as_they_are(path):
    listed = yaml.safe_load(path.read_text())
    table = pd.read_csv(path.with_suffix(".csv.gz"), keep_default_na=False)
    table = table[[column["name"] for column in listed["columns"]]].iloc[:2000]
    file = cp.load_schema(path, table)
    assert [word.text for word in file.constraints if isinstance(word, cp.Rule)] == [
        r["rule"] for r in listed["relations"]
    ]
    x0 = encode(file.schema, table)
    region = Region.build(file.schema, x0, file.constraints)
    held = [name for name, fixed in zip(file.schema.names, region.fixed.all(axis=0), strict=True) if fixed]
    assert {column["name"] for column in listed["columns"] if column["immutable"]} <= set(held)
    shares = region.system.holds_each(x0[:, None, :])[:, 0].mean(axis=0)
    for share, relation in zip(shares, listed["relations"], strict=True):
        assert share == pytest.approx(relation["holds"], abs=2e-3)
