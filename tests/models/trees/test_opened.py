"""Trees answer in place of the library only where they agree with it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from counterpoise.models.sklearn import forest
from counterpoise.models.sklearn.estimator import adapt as adapt_as_any
from counterpoise.models.trees.columns import read_columns
from counterpoise.models.trees.compiled import CompiledTrees
from counterpoise.models.trees.ensemble import TreeEnsemble
from counterpoise.models.trees.opened import TreeModel, open_trees
from edges import schema_and_rows, table, target

FRAME = table()
SCHEMA, X = schema_and_rows(FRAME)
FOREST = RandomForestClassifier(5, random_state=0).fit(FRAME, target(FRAME, "binary"))
GROVE = forest.read_trees(FOREST)
assert GROVE is not None
READING = read_columns(SCHEMA, np.arange(len(SCHEMA)))


def test_trees_whose_sums_differ_by_rounding_give_thresholds_only() -> None:
    rounded = [tree._replace(value=tree.value * (1 + 1e-9)) for tree in GROVE.trees]
    found = open_trees(adapt_as_any(FOREST, SCHEMA, X[:20]), replace(GROVE, trees=rounded), READING, X[:20])
    assert isinstance(found, TreeModel)
    np.testing.assert_array_equal(found.outputs(X), FOREST.predict_proba(FRAME))
    assert sum(map(len, found.thresholds)) > 0


def test_trees_that_were_misread_are_left_aside() -> None:
    wrong = [tree._replace(threshold=tree.threshold + 1.0) for tree in GROVE.trees]
    own = adapt_as_any(FOREST, SCHEMA, X[:20])
    assert open_trees(own, replace(GROVE, trees=wrong), READING, X[:20]) is own


def test_a_scikit_learn_without_the_compiled_parts_still_gives_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(cls: type[CompiledTrees], trees: TreeEnsemble) -> CompiledTrees:
        raise ImportError("cannot import name 'predict_stages'")

    monkeypatch.setattr(CompiledTrees, "of", classmethod(gone))
    found = forest.adapt(FOREST, SCHEMA, X[:20])
    assert isinstance(found, TreeModel)
    np.testing.assert_array_equal(found.outputs(X), FOREST.predict_proba(FRAME))


def test_categories_without_numbers_keep_the_trees_closed() -> None:
    frame = table(categories=True)
    assert read_columns(schema_and_rows(frame)[0], np.arange(6)) is None
