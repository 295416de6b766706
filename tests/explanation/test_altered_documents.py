"""Saved explanations altered at random: each is refused with a clear line, or read and shown."""

import copy
import json
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "load": RNG.normal(size=40),
        "ports": RNG.integers(0, 9, size=40),
        "kind": pd.Categorical(RNG.choice(list("xyz"), size=40)),
        "side": RNG.choice(["in", "out"], size=40),
    }
)
ODD = (None, -1, 0, 2**62, 10**400, 1e308, float("inf"), "", "x", "object", "category", "V1000000000", [], {}, [1, 2])
DRAWS = 120


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from _places(part, (*path, key))


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found = cp.explain(
        lambda frame: np.where(frame["load"] + 0.2 * frame["ports"] > 1, "yes", "no"),
        TABLE[:4],
        reference=TABLE,
        constraints=[cp.Rule("load <= ports")],
        alternatives=2,
    )
    return json.loads(found.to_json())


@pytest.mark.parametrize("seed", range(4))
def test_an_altered_document_is_refused_or_shown(document: dict[str, Any], seed: int) -> None:
    rng, places, refused = np.random.default_rng(seed), list(_places(document)), 0
    for _ in range(DRAWS):
        altered = copy.deepcopy(document)
        path = places[int(rng.integers(len(places)))]
        part = altered
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = ODD[int(rng.integers(len(ODD)))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = cp.Explanation.from_json(json.dumps(altered))
                for shown in (repr(found), found.text(), found.to_json(), found.table()):
                    assert len(shown) > 0
            except cp.CounterpoiseError:
                refused += 1
    assert refused > DRAWS / 2


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("rows", "data", 0, "values", 1), "9" * 400),
        (("quantiles", 0, "values", 1), "9" * 400),
        (("quantiles", 0, "dtype"), "object"),
        (("question", "target"), "\ud800"),
        (("versions", "model"), -1),
        (("answers", "values", 0), None),
        (("energy", "data", 0, "values", 0), None),
    ],
)
def test_what_no_page_could_show_is_refused(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    altered = copy.deepcopy(document)
    part = altered["explanation"]
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    with pytest.raises(cp.InputError, match="saved explanation must be"):
        cp.Explanation.from_json(json.dumps(altered))
