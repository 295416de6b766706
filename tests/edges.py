"""Tables to fit trees on, and rows that lie exactly on the edges of their boxes or one float beyond."""

from typing import Any

import numpy as np
import pandas as pd

from counterpoise.models.trees.opened import ShortcutModel
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array

KINDS = ("binary", "classes", "numbers")


def table(*, missing: bool = False, categories: bool = False, rows: int = 300, seed: int = 0) -> pd.DataFrame:
    """Columns of several dtypes: double and single precision, whole numbers, truth values, categories."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "flow rate": rng.normal(size=rows),
            "packets": rng.integers(0, 9, rows),
            "load": rng.normal(size=rows).astype(np.float32),
            "age": rng.exponential(size=rows),
        }
    )
    if categories:  # one level is in the dtype but in no row, and the levels are not in the order of the alphabet
        levels = rng.choice(list("uvwxyz"), rows)
        frame.insert(1, "service", pd.Categorical(levels, categories=list("zyxwvut")))
        frame["state"] = pd.Categorical(rng.choice(["new", "open", "shut"], rows))
    if missing:
        frame.loc[::7, "flow rate"] = np.nan
        frame.loc[::11, "age"] = np.nan
    return frame


def target(frame: pd.DataFrame, kind: str, seed: int = 1) -> Any:
    """What to learn: two classes, three classes, or positive numbers."""
    rng = np.random.default_rng(seed)
    score = frame["flow rate"].fillna(0.3).to_numpy() + frame["load"].to_numpy() * (frame["packets"].to_numpy() > 4)
    if "service" in frame:
        score = score + 1.5 * frame["service"].isin(list("uvx")).to_numpy() - 0.7
    score = score + 0.2 * rng.normal(size=len(frame))
    if kind == "numbers":
        return np.exp(score / 3)
    return np.where(score > 0, 1, 0) if kind == "binary" else np.digitize(score, [-0.5, 0.5])


def schema_and_rows(frame: Any) -> tuple[Schema, Array]:
    """The schema of a table or an array, and its encoded rows."""
    schema = Schema.infer(frame)
    return schema, encode(schema, frame) if isinstance(frame, pd.DataFrame) else np.asarray(frame, dtype=np.float64)


def edge_rows(model: Any, schema: Schema, x: Array, count: int = 10_000, seed: int = 2) -> Array:
    """Rows of which a third of the cells lie on a split point or on the next float above it."""
    rng = np.random.default_rng(seed)
    rows = x[rng.integers(0, len(x), count)].copy()
    for place, feature in enumerate(schema):
        chosen = rng.random(count) < 0.35
        if not feature.is_numeric:
            rows[chosen, place] = rng.integers(0, len(feature.categories), count)[chosen]
            continue
        seen = x[:, place]
        points = model.thresholds[place] if len(model.thresholds[place]) else seen[~np.isnan(seen)]
        values = rng.choice(points, count)
        values = np.where(rng.random(count) < 0.5, values, np.nextafter(values, np.inf))
        rows[chosen, place] = (np.rint(values) if feature.kind == "integer" else values)[chosen]
        if feature.missing:
            rows[rng.random(count) < 0.1, place] = np.nan
    return rows


def check_bits(model: ShortcutModel, rows: Array) -> None:
    """The outputs are the library's own to the bit, in a large batch and in small ones, and so are the decisions."""
    theirs = model.own_model.outputs(rows)
    np.testing.assert_array_equal(model.outputs(rows), theirs)
    for start in range(0, 400, 40):
        part = slice(start, start + 40)
        np.testing.assert_array_equal(model.outputs(rows[part]), theirs[part])
    np.testing.assert_array_equal(model.outputs(rows[:1]), theirs[:1])
    said = model.predict(rows)
    if model.labels is None:
        np.testing.assert_array_equal(theirs[:, 0], said)
    else:
        np.testing.assert_array_equal(np.array(model.labels)[theirs.argmax(axis=1)], said)
