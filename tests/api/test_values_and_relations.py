"""Whatever the reference is made of: no answer leaves the values and the relations that it shows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.space.region.region import Region
from counterpoise.space.schema.encode import encode
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.values import resolve_values

ROWS = 240
Law = Callable[[pd.DataFrame], "pd.Series[bool]"]


def one_hot(table: pd.DataFrame, rng: np.random.Generator, name: str) -> Law:
    columns = [f"{name}{number}" for number in range(int(rng.integers(2, 5)))]
    chosen = rng.integers(0, len(columns), ROWS)
    for number, column in enumerate(columns):
        table[column] = (chosen == number).astype(rng.choice([np.int64, np.float64]))
    return lambda t: t[columns].isin([0, 1]).all(axis=1) & (t[columns].sum(axis=1) == 1)


def total(table: pd.DataFrame, rng: np.random.Generator, name: str) -> Law:
    a, b, c = f"{name}a", f"{name}b", f"{name}c"
    table[a], table[b] = rng.integers(0, 50, ROWS), rng.integers(0, 50, ROWS)
    table[c] = table[a] + table[b]
    return lambda t: t[c] == t[a] + t[b]


def product(table: pd.DataFrame, rng: np.random.Generator, name: str) -> Law:
    a, b, c = f"{name}a", f"{name}b", f"{name}c"
    table[a], table[b] = rng.integers(1, 30, ROWS), rng.integers(2, 9, ROWS)
    table[c] = table[a] * table[b]
    return lambda t: t[c] == t[a] * t[b]


def order(table: pd.DataFrame, rng: np.random.Generator, name: str) -> Law:
    low, high = f"{name}low", f"{name}high"
    table[low] = rng.uniform(0, 10, ROWS).round(2)
    table[high] = (table[low] + rng.uniform(0, 3, ROWS)).round(2)
    return lambda t: t[low] <= t[high]


def twins(table: pd.DataFrame, rng: np.random.Generator, name: str) -> Law:
    table[f"{name}x"] = rng.normal(size=ROWS).round(1)
    table[f"{name}y"] = table[f"{name}x"]
    return lambda t: t[f"{name}x"] == t[f"{name}y"]


def few(table: pd.DataFrame, rng: np.random.Generator, name: str) -> Law:
    seen = rng.choice(1000, 4, replace=False) * float(rng.choice([1.0, 0.25, 1e-6]))
    table[name] = rng.choice(seen, ROWS)
    return lambda t: t[name].isin(seen)


def decimals(table: pd.DataFrame, rng: np.random.Generator, name: str) -> Law:
    places = int(rng.integers(0, 7))
    table[name] = rng.exponential(3.0, ROWS).round(places)
    return lambda t: t[name] == t[name].round(places)


def mean(table: pd.DataFrame, rng: np.random.Generator, name: str) -> Law:
    size, count, average, decimals = f"{name}size", f"{name}count", f"{name}average", int(rng.integers(0, 3))
    table[count] = rng.integers(0, 40, ROWS)
    table[size] = np.where(table[count] > 0, rng.integers(300, 9000, ROWS), 0)
    table[average] = (table[size] / table[count].clip(lower=1)).round(decimals)
    if decimals == 0:
        table[average] = table[average].astype(int)
    half = 0.5 * 10.0**-decimals
    return lambda t: (t[size] - t[average] * t[count]).abs() <= half * t[count] * (1 + 1e-5) + 1e-9


SORTS = (one_hot, total, product, mean, order, twins, few, decimals)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.sampled_from(SORTS), min_size=2, max_size=4), st.booleans(), st.booleans())
def test_no_answer_leaves_what_every_reference_row_obeys(
    seed: int, sorts: list[Callable[..., Law]], is_linear: bool, is_strict: bool
) -> None:
    rng, table = np.random.default_rng(seed), pd.DataFrame(index=range(ROWS))
    laws = [sort(table, rng, f"{sort.__name__}{place}_") for place, sort in enumerate(sorts)]
    scaled = (table - table.mean()) / table.std().replace(0, 1)
    label = scaled.to_numpy() @ rng.normal(size=table.shape[1]) > 0
    model = LogisticRegression(max_iter=4000) if is_linear else DecisionTreeClassifier(max_depth=5, random_state=0)
    found = cp.explain(
        model.fit(table, label), table[:6], reference=table, values="seen" if is_strict else "auto", alternatives=2,
        kept=False,
    ).to_frame()  # fmt: skip
    for law, sort in zip(laws, sorts, strict=True):
        assert law(table).all(), sort.__name__
        kept = law(found)
        assert kept.all(), f"{sort.__name__} of seed {seed}: {found[~kept].to_dict('records')[:1]}"
    if is_strict:
        free = [name for name in table if not name.startswith(("total", "product", "mean"))]
        for name in free:
            assert found[name].isin(table[name]).all(), name


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=4, unique=True), st.integers(-200, 200), st.booleans())
def test_a_value_of_the_row_that_the_reference_never_has_may_stay(seen: list[int], own: int, is_whole: bool) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"few": rng.permutation(np.resize(seen, 100)), "free": rng.normal(size=100)})
    table["few"] = table["few"].astype(np.int64 if is_whole else np.float64)
    schema = resolve_values(Schema.infer(table), table, "auto", is_given=False)
    row = encode(schema, table.iloc[:1].assign(few=np.array([own], dtype=table["few"].dtype)))
    region = Region.build(schema, row)
    assert region.feasible.all()
    assert region.contains(row[:, None]).all()
    moved, inside = region.bring_inside(np.array([[[own + 3.0, 0.3], [own, 0.3]]]))
    assert inside.all()
    assert moved[0, 1, 0] == own, "what is not moved keeps its value"
    assert moved[0, 0, 0] in {own, *seen}, "what is moved takes a value that was seen"


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 3),
    st.integers(-300, 300),
    st.floats(-0.49, 0.49),
    st.lists(st.floats(-3, 3), min_size=1, max_size=8),
)
def test_no_change_is_smaller_than_what_is_printed(places: int, count: int, beside: float, steps: list[float]) -> None:
    unit = 10.0**-places
    table = pd.DataFrame({"a": (np.arange(-400, 401) * unit).round(places), "b": np.arange(801.0)})
    row = encode(Schema.infer(table), table.iloc[:1].assign(a=(count + beside) * unit))
    region = Region.build(Schema.infer(table), row)
    points = np.stack([row[0] + [step * unit, 0.0] for step in steps])[None]
    moved, inside = region.bring_inside(points)
    assert inside.all()
    gap = np.abs(moved[0, :, 0] - row[0, 0])
    assert ((gap == 0) | (gap >= 0.5 * unit * (1 - 1e-9))).all(), "a change is at least half a step"
    printed = np.array([[[round(row[0, 0], places), 0.0]]])
    assert region.contains(printed).all() == (printed[0, 0, 0] == row[0, 0])


def test_trees_that_tell_the_last_bits_apart_do_not_answer_with_them() -> None:
    rng = np.random.default_rng(0)
    near = np.repeat([0.9999998999999999, 0.9999999], 100)
    table = pd.DataFrame({"a": np.r_[near, rng.random(200).round(7)], "b": rng.normal(size=400).round(2)})
    label = np.r_[np.repeat([0, 1], 100), rng.integers(0, 2, 200)]
    model = HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=5).fit(table, label)
    assert model.predict(table.iloc[[0, 150]]).tolist() == [0, 1]
    for proof in (True, False):
        found = cp.explain(model, table[:3], reference=table, proof=proof, kept=False)
        assert found.valid.all()
        gap = (found.frame.a - table.a[:3]).abs()
        assert ((gap == 0) | (gap > 5e-8)).all()
