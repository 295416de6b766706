"""Saved explanations that mean harm: each ends in an error, with little memory and time, and opens no other file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.space.schema.schema import Schema
from explanations import build
from hostile import is_refused, outcomes

ROWS = pd.DataFrame({"rate": [1.5, 2.5], "proto": ["tcp", "udp"]})
SCHEMA = Schema.infer(ROWS)
DOCUMENT = build(SCHEMA, ROWS, np.array([[[1.0, 0.0]], [[2.0, 1.0]]])).to_json()
WIDE = {"numpy": "<U250000000", "value": "a"}

WIDE_COLUMN = {"dtype": "U250000000", "values": ["a", "b"]}
START = '{"format": "counterpoise.explanation", "version": 1, "explanation": ['


def changed(path: str, value: Any) -> dict[str, Any]:
    """The document with one place of its explanation changed."""
    document: dict[str, Any] = json.loads(DOCUMENT)
    place: Any = document["explanation"]
    *way, last = path.split("/")
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    place[int(last) if isinstance(place, list) else last] = value
    return document


def array(dtype: str, shape: list[int], values: list[Any]) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "values": values}


HOSTILE: dict[str, dict[str, Any]] = {
    "a wide text": changed("target/values/0", WIDE),
    "many wide texts": changed("target/values", [{"tuple": [WIDE] * 20}] * 2),
    "wide bytes": changed("target/values/0", {"numpy": "S1000000000", "value": "a"}),
    "a wide record": changed("target/values/0", {"numpy": "V1000000000", "value": 0}),
    "a record of records": changed("target/values/0", {"numpy": "(1000000000,)f8", "value": 0}),
    "a wide array": changed("status", array("<U250000000", [2], ["valid", "valid"])),
    "an array of bytes": changed("status", array("S500000000", [2], ["valid", "valid"])),
    "a wide column": changed("rows/data/0/dtype", "U250000000"),
    "wide categories": changed("schema/features/1/dtype", {"category": WIDE_COLUMN, "ordered": False}),
    "a long range": changed("rows/index", {"name": None, "range": [0, 10**12, 1]}),
    "long ranges": changed("rows/index", {"levels": [{"name": None, "range": [0, 10**9, 1]}] * 2}),
    "a long range of columns": changed("rows/columns", {"levels": [{"name": None, "range": [0, 10**9, 1]}] * 2}),
    "a range for ever": changed("rows/index", {"name": None, "range": [0, 10**30, 1]}),
    "a shape": changed("x0/shape", [2**40, 0]),
    "a shape of nothing": changed("answers", array("float64", [2, 2**40, 0], [])),
    "a file as a zone": changed("target/values/0", {"timestamp": 0, "unit": "ns", "tz": "dateutil//dev/zero"}),
    "a file as a dtype": changed("rows/data/0/dtype", "datetime64[ns, dateutil//dev/zero]"),
    "a file above": changed("target/values/0", {"timestamp": 0, "unit": "ns", "tz": "../../../../dev/zero"}),
}


def test_an_archive_cannot_take_much_memory_or_time(tmp_path: Path) -> None:
    texts = {name: json.dumps(document) for name, document in HOSTILE.items()}
    texts |= {
        "deep lists": "[" * 10**6,
        "deep objects": '{"a":' * 10**6,
        "many lists": START + "[]," * 10**7 + "1]}",
        "many objects": START + '{"":{}},' * 10**7 + "1]}",
    }
    paths = []
    for number, text in enumerate(texts.values()):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(text, encoding="utf-8")
    (tmp_path / "honest.json").write_text(DOCUMENT, encoding="utf-8")
    questions = [("explanation", path) for path in paths]
    found = outcomes(questions, tmp_path, [("explanation", tmp_path / "honest.json")])
    for name, outcome in zip(texts, found, strict=True):
        assert is_refused(outcome), (name, outcome)


@pytest.mark.parametrize("zone", ["dateutil//dev/zero", "dateutil/Europe/Berlin", "/dev/zero", "tzlocal()"])
def test_a_time_zone_is_a_name_and_no_file(zone: str) -> None:
    document = changed("target/values/0", {"timestamp": 0, "unit": "ns", "tz": zone})
    with pytest.raises(InputError, match="cannot be read"):
        Explanation.from_json(json.dumps(document))
