"""The summary counts what the table of changes lists."""

import numpy as np
from hypothesis import given, settings

from alerts import explained, many
from counterpoise.show.overview import build_overview
from explanations import build, cases


def test_counts_are_those_of_the_table_of_changes() -> None:
    explanation = explained()
    best = explanation.changes.query("alternative == 0")
    counted = best.groupby("feature")["row"].nunique().to_dict()
    seen = build_overview(explanation)
    assert {explanation.schema.features[feature.column].name: feature.row_count for feature in seen.features} == counted
    assert [feature.row_count for feature in seen.features] == sorted(counted.values(), reverse=True)


def test_rows_without_an_answer_do_not_count_as_answers() -> None:
    explanation = many(100)
    seen = build_overview(explanation)
    assert seen.valid_count == int(explanation.valid.sum()) == 98
    assert len(seen.distances) == 98
    assert max(feature.row_count for feature in seen.features) <= 98


@given(cases())
@settings(max_examples=40)
def test_ways_add_up(case) -> None:
    schema, rows, answers = case
    explanation = build(schema, rows, answers)
    seen = build_overview(explanation)
    assert seen.row_count == len(rows) == seen.valid_count
    assert seen.already_count + len(seen.distances) == len(rows)
    changed = explanation.changed
    assert sum(feature.row_count for feature in seen.features) == changed.sum()
    assert np.array_equal(seen.change_counts, changed[changed > 0])
