"""The table of leaves: it says of every single change what the trees themselves say."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from counterpoise.models.registry import as_model
from counterpoise.models.trees.ensemble import TreeEnsemble
from counterpoise.models.trees.leaf_bits import LeafTable
from counterpoise.models.trees.leaf_ranges import CellWindow
from counterpoise.models.trees.leaf_walk import LeafWalk
from counterpoise.models.trees.leaves import Leaves
from counterpoise.models.trees.opened import TreeModel
from counterpoise.models.trees.settings import LeafSettings
from edges import schema_and_rows, target
from edges import table as table_of

PLAIN, MIXED = table_of(), table_of(missing=True, categories=True)


def trees_of(model: object, frame: object, kind: str | None) -> tuple[TreeEnsemble, np.ndarray]:
    """The trees of a model fitted on a table, and the table's encoded rows."""
    schema, x = schema_and_rows(frame)
    fitted = model.fit(frame, target(frame, kind)) if kind else model.fit(frame)  # type: ignore[attr-defined]
    adapted = as_model(fitted, schema, x[:20])
    assert isinstance(adapted, TreeModel)
    return adapted.trees, x


KINDS = {
    "forest": lambda: trees_of(RandomForestClassifier(8, random_state=0), PLAIN, "classes"),
    "regression": lambda: trees_of(ExtraTreesRegressor(5, max_depth=6, random_state=0), PLAIN, "numbers"),
    "boosted": lambda: trees_of(GradientBoostingClassifier(n_estimators=6, random_state=0), PLAIN, "classes"),
    "isolation": lambda: trees_of(IsolationForest(n_estimators=10, random_state=0), PLAIN, None),
    "categories": lambda: trees_of(
        HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype"), MIXED, "classes"
    ),
}


def leaves_of(trees: TreeEnsemble, **limits: int) -> Leaves:
    leaves = Leaves.of(trees, LeafSettings(**limits))
    assert leaves is not None
    return leaves


def many_levels() -> tuple[TreeEnsemble, np.ndarray]:
    """Categories of more levels than a word has bits, split again and again."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: pd.Categorical(rng.integers(0, 90, 900).astype(str)) for name in ("port", "host")})
    frame["rate"] = rng.normal(size=900)
    frame.loc[:30, "port"] = None
    alert = (frame["port"].cat.codes % 7 + frame["host"].cat.codes % 5 + frame["rate"] > 5).astype(int)
    schema, x = schema_and_rows(frame)
    model = HistGradientBoostingClassifier(max_iter=6, categorical_features="from_dtype", min_samples_leaf=2)
    adapted = as_model(model.fit(frame, alert), schema, x[:20])
    assert isinstance(adapted, TreeModel)
    return adapted.trees, x


KINDS["many levels"] = many_levels


@pytest.fixture(scope="module", params=KINDS)
def table(request: pytest.FixtureRequest) -> tuple[TreeEnsemble, Leaves, np.ndarray]:
    trees, x = KINDS[request.param]()
    return trees, leaves_of(trees), x


@pytest.fixture(scope="module", params=[(kind, way) for kind in KINDS for way in ("table", "walk")], ids="-".join)
def case(request: pytest.FixtureRequest) -> tuple[TreeEnsemble, Leaves, np.ndarray]:
    kind, way = request.param
    trees, x = KINDS[kind]()
    return trees, leaves_of(trees, **({"max_table_ranges": 0} if way == "walk" else {})), x


def inside(leaves: Leaves, cell: int) -> float:
    """A value of a cell."""
    if np.isnan(leaves.upper_ends[cell]):
        return float("nan")
    return float(
        leaves.upper_ends[cell]
        if np.isfinite(leaves.upper_ends[cell])
        else np.nextafter(leaves.lower_ends[cell], np.inf)
    )


def looked_up(leaves: Leaves, x: np.ndarray, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sums of rows, and what they are with any one of these cells in place of their own."""
    cells = leaves.find_cells(x)
    seen = leaves.survey_single_changes(cells, cells)
    out = np.full((len(x), len(kept), len(leaves.base)), np.nan)
    for place, cell in enumerate(kept.tolist()):
        piece = np.flatnonzero((seen.first_cell <= cell) & (cell <= seen.last_cell))
        assert np.array_equal(seen.point[piece], np.arange(len(x))), "each cell is in one piece"
        out[:, place] = seen.sums + seen.added_sums[piece]
    return seen.sums, out


@given(seed=st.integers(0, 2**32 - 1))
def test_every_single_change_does_what_the_leaves_say(case: tuple, seed: int) -> None:
    trees, leaves, rows = case
    rng = np.random.default_rng(seed)
    x = rows[rng.integers(0, len(rows), 3)]
    kept = np.sort(rng.choice(int(leaves.first_cells[-1]), min(40, int(leaves.first_cells[-1])), replace=False))
    sums, shifted = looked_up(leaves, x, kept)
    np.testing.assert_array_equal(sums, leaves.sums_at(leaves.find_cells(x)))
    np.testing.assert_allclose(sums, trees.sums(x), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(leaves.to_outputs(sums), trees.outputs(x), rtol=1e-6, atol=1e-6)
    for place, cell in enumerate(kept.tolist()):
        feature = leaves.place_of_cell[cell]
        if np.isnan(leaves.upper_ends[cell]) and feature not in leaves.categorical_places:
            continue  # missing numbers are not looked into
        moved = x.copy()
        moved[:, leaves.columns[feature]] = inside(leaves, cell)
        np.testing.assert_allclose(shifted[:, place], trees.sums(moved), rtol=1e-6, atol=1e-6)


def test_pieces_are_of_one_column_and_own_cells_are_alone(case: tuple) -> None:
    _, leaves, rows = case
    home = leaves.find_cells(rows[20:40])
    seen = leaves.survey_single_changes(leaves.find_cells(rows[:20]), home)
    assert (leaves.place_of_cell[seen.first_cell] == leaves.place_of_cell[seen.last_cell]).all()
    own = home[seen.point, leaves.place_of_cell[seen.first_cell]]
    assert ((seen.first_cell <= own) & (own <= seen.last_cell)).sum() == home.size
    assert (
        seen.first_cell[(seen.first_cell <= own) & (own <= seen.last_cell)]
        == seen.last_cell[(seen.first_cell <= own) & (own <= seen.last_cell)]
    ).all()
    assert len(seen.first_cell) < len(leaves.place_of_cell) * 20, "most cells say what those beside them do"


@given(seed=st.integers(0, 2**32 - 1))
def test_a_window_shows_what_is_inside_it_and_nothing_else(case: tuple, seed: int) -> None:
    _, leaves, rows = case
    rng = np.random.default_rng(seed)
    cells, home = (leaves.find_cells(rows[rng.integers(0, len(rows), 4)]) for _ in range(2))
    ends = rng.integers(leaves.first_cells[:-1], leaves.first_cells[1:], (2, *home.shape))
    window = CellWindow(
        np.minimum(ends.min(axis=0), home).astype(np.int32),
        np.maximum(ends.max(axis=0), home).astype(np.int32) + np.int32(1),
    )
    every, seen = leaves.survey_single_changes(cells, home), leaves.survey_single_changes(cells, home, window)
    np.testing.assert_array_equal(seen.sums, every.sums)
    told = np.full((4, len(leaves.place_of_cell)), np.nan)
    for point, first, last, added in zip(seen.point, seen.first_cell, seen.last_cell, seen.added_sums, strict=True):
        assert np.isnan(told[point, first : last + 1]).all(), "each cell is in one piece"
        told[point, first : last + 1] = added[0]
    number = np.arange(len(leaves.place_of_cell))
    inside = (number >= window.first[:, leaves.place_of_cell]) & (number < window.end[:, leaves.place_of_cell])
    np.testing.assert_array_equal(~np.isnan(told), inside)
    for point, first, last, added in zip(every.point, every.first_cell, every.last_cell, every.added_sums, strict=True):
        there = inside[point, first : last + 1]
        np.testing.assert_allclose(told[point, first : last + 1][there], added[0], atol=1e-9)


def test_walks_down_the_trees_say_what_the_table_says(table: tuple) -> None:
    trees, leaves, rows = table
    walked = leaves_of(trees, max_table_ranges=0)
    assert isinstance(leaves.finder, LeafTable)
    assert isinstance(walked.finder, LeafWalk)
    cells, home = leaves.find_cells(rows[:40]), leaves.find_cells(rows[40:80])
    one, other = leaves.survey_single_changes(cells, home), walked.survey_single_changes(cells, home)
    for name in ("point", "first_cell", "last_cell"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_allclose(one.added_sums, other.added_sums, atol=1e-12)
    np.testing.assert_allclose(one.sums, other.sums, atol=1e-12)


def test_a_value_is_in_the_cell_whose_ends_hold_it(case: tuple) -> None:
    _, leaves, rows = case
    cells, values = leaves.find_cells(rows), rows[:, leaves.columns]
    there = ~np.isnan(values)
    assert (leaves.place_of_cell[cells] == np.arange(len(leaves.columns))).all()
    assert (values[there] > leaves.lower_ends[cells][there]).all()
    assert (values[there] <= leaves.upper_ends[cells][there]).all()
    assert np.isnan(leaves.upper_ends[cells][~there]).all()


def test_few_and_many_rows_are_surveyed_alike(case: tuple) -> None:
    _, leaves, rows = case
    cells = leaves.find_cells(rows[:50])
    together = leaves.survey_single_changes(cells, cells)
    one_by_one = replace(leaves, settings=replace(leaves.settings, max_cells_together=1, max_comparisons=0))
    np.testing.assert_array_equal(one_by_one.find_cells(rows[:50]), cells)
    alone = one_by_one.survey_single_changes(cells, cells)
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)


@given(seed=st.integers(0, 2**32 - 1))
def test_sums_of_leaves_are_the_same_in_any_order(case: tuple, seed: int) -> None:
    _, leaves, _ = case
    rng = np.random.default_rng(seed)
    some = leaves.value[rng.integers(0, len(leaves.value), leaves.tree_count)]
    one, other = (np.add.accumulate(some[rng.permutation(len(some))], axis=0)[-1] for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("limit", ["max_table_ranges", "max_table_bytes"])
def test_what_is_too_large_for_a_table_is_walked(limit: str) -> None:
    trees, _ = KINDS["forest"]()
    assert isinstance(leaves_of(trees, **{limit: 1}).finder, LeafWalk)


def test_blocks_of_few_trees_say_what_one_block_says(table: tuple) -> None:
    trees, leaves, rows = table
    apart = leaves_of(trees, max_block_bits=1000)
    assert len(apart.finder.blocks) > len(leaves.finder.blocks) == 1
    cells = leaves.find_cells(rows[:20])
    for one, other in zip(
        apart.survey_single_changes(cells, cells), leaves.survey_single_changes(cells, cells), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(apart.sums_at(cells), leaves.sums_at(cells))


def test_a_tree_that_splits_nothing_has_no_table() -> None:
    stump, _ = trees_of(DecisionTreeClassifier(min_samples_split=10_000), PLAIN, "classes")
    assert stump.leaves is None


def test_trees_are_sent_to_a_worker_without_their_table(table: tuple) -> None:
    trees, leaves, rows = table
    cells = leaves.find_cells(rows[:5])
    sent = pickle.loads(pickle.dumps(trees))
    assert "leaves" not in vars(sent)
    assert np.array_equal(
        sent.leaves.survey_single_changes(cells, cells).added_sums,
        leaves.survey_single_changes(cells, cells).added_sums,
    )
