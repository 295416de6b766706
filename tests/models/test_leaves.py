"""The table of leaves: it says of every single change what the trees themselves say."""

import pickle

import numpy as np
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

from counterpoise.models import leaves as module
from counterpoise.models.adapt import as_model
from counterpoise.models.leaves import Leaves
from counterpoise.models.trees import TreeEnsemble, above
from counterpoise.models.whitebox import TreeModel
from edges import schema_and_rows, table, target

PLAIN, MIXED = table(), table(missing=True, categories=True)


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


@pytest.fixture(scope="module", params=KINDS)
def case(request: pytest.FixtureRequest) -> tuple[TreeEnsemble, Leaves, np.ndarray]:
    trees, x = KINDS[request.param]()
    assert trees.leaves is not None
    return trees, trees.leaves, x


def inside(leaves: Leaves, cell: int) -> float:
    """A value of a cell."""
    if np.isnan(leaves.above[cell]):
        return float("nan")
    return float(leaves.above[cell] if np.isfinite(leaves.above[cell]) else above(leaves.below[cell]))


def every(points: int, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every point moved to every one of these cells."""
    return np.repeat(np.arange(points), len(kept)), np.tile(kept, points)


@given(seed=st.integers(0, 2**32 - 1))
def test_every_single_change_does_what_the_table_says(case: tuple, seed: int) -> None:
    trees, leaves, rows = case
    rng = np.random.default_rng(seed)
    x = rows[rng.integers(0, len(rows), 3)]
    kept = np.sort(rng.choice(int(leaves.first[-1]), min(40, int(leaves.first[-1])), replace=False))
    seen = leaves.survey(leaves.cells(x))
    sums, shifted = seen.sums, seen.at(*every(3, kept)).reshape(3, len(kept), -1)
    np.testing.assert_array_equal(sums, leaves.sums(leaves.cells(x)))
    np.testing.assert_allclose(sums, trees.sums(x), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(leaves.finish(sums), trees.outputs(x), rtol=1e-6, atol=1e-6)
    for place, cell in enumerate(kept.tolist()):
        feature = leaves.feature[cell]
        if np.isnan(leaves.above[cell]) and feature not in leaves.coded:
            continue  # missing numbers are not looked into
        moved = x.copy()
        moved[:, leaves.columns[feature]] = inside(leaves, cell)
        np.testing.assert_allclose(shifted[:, place], trees.sums(moved), rtol=1e-6, atol=1e-6)


def test_cells_without_a_mark_say_the_same_as_the_cell_before(case: tuple) -> None:
    _, leaves, rows = case
    seen = leaves.survey(leaves.cells(rows[:20]))
    still = ~seen.marks[:, 1:]
    np.testing.assert_array_equal(seen.shifts[:, :, 1:][:, still], seen.shifts[:, :, :-1][:, still])
    assert 0 < still.mean() < 1


def test_a_value_is_in_the_cell_whose_ends_hold_it(case: tuple) -> None:
    _, leaves, rows = case
    cells, values = leaves.cells(rows), rows[:, leaves.columns]
    there = ~np.isnan(values)
    assert (leaves.feature[cells] == np.arange(len(leaves.columns))).all()
    assert (values[there] > leaves.below[cells][there]).all()
    assert (values[there] <= leaves.above[cells][there]).all()
    assert np.isnan(leaves.above[cells][~there]).all()


def test_few_and_many_rows_are_surveyed_alike(case: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    _, leaves, rows = case
    together = leaves.survey(leaves.cells(rows[:50]))
    monkeypatch.setattr(module, "AT_ONCE", 1)
    monkeypatch.setattr(module, "COMPARED", 0)
    alone = leaves.survey(leaves.cells(rows[:50]))
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("limit", ["LARGEST", "MOST", "DEEPEST"])
def test_what_is_too_large_has_no_table(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    trees, _ = KINDS["forest"]()
    monkeypatch.setattr(module, limit, 1)
    assert Leaves.of(trees) is None


def test_blocks_of_few_trees_say_what_one_block_says(case: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    trees, leaves, rows = case
    monkeypatch.setattr(module, "BLOCK", 1000)
    apart = Leaves.of(trees)
    assert apart is not None
    assert len(apart.blocks) > len(leaves.blocks) == 1
    assert sum(block.shut.nbytes for block in apart.blocks) < leaves.blocks[0].shut.nbytes
    cells = leaves.cells(rows[:20])
    for one, other in zip(apart.survey(cells), leaves.survey(cells), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(apart.sums(cells), leaves.sums(cells))


def test_a_tree_that_splits_nothing_has_no_table() -> None:
    stump, _ = trees_of(DecisionTreeClassifier(min_samples_split=10_000), PLAIN, "classes")
    assert stump.leaves is None


def test_trees_are_sent_to_a_worker_without_their_table(case: tuple) -> None:
    trees, leaves, rows = case
    cells = leaves.cells(rows[:5])
    sent = pickle.loads(pickle.dumps(trees))
    assert "leaves" not in vars(sent)
    assert np.array_equal(sent.leaves.survey(cells).shifts, leaves.survey(cells).shifts)
