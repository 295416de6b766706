"""The summary counts what the table of changes lists."""

import numpy as np
from hypothesis import given, settings

from alerts import explained, many
from counterpoise.show.overview import look_over
from explanations import build, cases


def test_counts_are_those_of_the_table_of_changes() -> None:
    explanation = explained()
    best = explanation.changes.query("alternative == 0")
    counted = best.groupby("feature")["row"].nunique().to_dict()
    seen = look_over(explanation)
    assert {explanation.schema.features[feature.column].name: feature.rows for feature in seen.features} == counted
    assert [feature.rows for feature in seen.features] == sorted(counted.values(), reverse=True)


def test_rows_without_an_answer_do_not_count_as_answers() -> None:
    explanation = many(100)
    seen = look_over(explanation)
    assert seen.valid == int(explanation.valid.sum()) == 98
    assert len(seen.distances) == 98
    assert max(feature.rows for feature in seen.features) <= 98


@given(cases())
@settings(max_examples=40)
def test_ways_add_up(case) -> None:
    schema, rows, answers = case
    explanation = build(schema, rows, answers)
    seen = look_over(explanation)
    assert seen.rows == len(rows) == seen.valid
    assert seen.already + len(seen.distances) == len(rows)
    changed = explanation.changed
    assert sum(feature.rows for feature in seen.features) == changed.sum()
    assert np.array_equal(seen.changed, changed[changed > 0])
