"""An explanation as its user meets it: taken apart, read, shown, and passed on."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import ENERGY_COLUMNS, SCORE_COLUMNS, AnswerEnergies, ModelScores
from counterpoise.explanation.question import Question
from counterpoise.explanation.tables import population_quantiles
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array
from explanations import assert_same, build, cases, firmness, objects

REFERENCE = pd.DataFrame({"ports": [8, 2, 5], "proto": ["tcp", "udp", "tcp"], "rate": [0.5, 1.5, 2.5]})
SCHEMA = Schema.infer(REFERENCE)
ROWS = REFERENCE.assign(id=["a", "b", "c"]).set_axis(["h1", "h2", "h3"], axis=0)
ANSWERS = np.array(
    [
        [[2.0, 0.0, 0.5], [8.0, 1.0, 2.5]],
        [[2.0, 1.0, 1.5], [np.nan, np.nan, np.nan]],
        [[3.0, 0.0, 2.5], [np.nan, np.nan, np.nan]],
    ]
)


def _three(**parts: Any) -> Explanation:
    """Three rows: one with two answers, one already there, one without an answer."""
    own = {
        "count": np.array([2, 1, 0]),
        "valid": np.array([True, True, False]),
        "status": objects(["valid", "valid", "not_found"]),
        "reason": objects(["", "", "the budget ran out"]),
    }
    return build(SCHEMA, ROWS, ANSWERS, **{**own, **parts})


def test_changes_name_row_alternative_feature_and_both_values() -> None:
    changes = _three().changes
    assert changes.columns.tolist() == ["row", "alternative", "feature", "from", "to", "position"]
    assert list(changes.itertuples(index=False, name=None)) == [
        ("h1", 0, "ports", 8, 2, 0),
        ("h1", 1, "proto", "tcp", "udp", 0),
        ("h1", 1, "rate", 0.5, 2.5, 0),
    ]
    assert type(changes["to"].iloc[0]) is int
    assert [changes[name].dtype for name in ("from", "to")] == [object, object]


def test_alternatives_are_indexed_by_row_and_number() -> None:
    frame = _three().alternatives
    assert frame.index.tolist() == [("h1", 0), ("h1", 1), ("h2", 0)]
    assert frame.index.names == ["row", "alternative"]
    assert frame.loc[("h1", 1)].tolist() == [8, "udp", 2.5, "a"]
    assert frame.dtypes.tolist() == ROWS.dtypes.tolist()


@settings(max_examples=40)
@given(cases())
def test_the_first_alternative_is_the_frame(case: tuple[Schema, pd.DataFrame, Array]) -> None:
    explanation = build(*case)
    alternatives = explanation.alternatives
    first = alternatives[alternatives.index.get_level_values("alternative") == 0].droplevel("alternative")
    pd.testing.assert_frame_equal(first, explanation.frame, check_names=False, check_index_type=False)
    assert explanation.changed.tolist() == [
        (explanation[row].changes["alternative"] == 0).sum() for row in range(len(explanation))
    ]


def test_rows_with_several_index_levels() -> None:
    rows = ROWS.set_index("id", append=True)
    explanation = build(SCHEMA, rows, ANSWERS, count=np.array([2, 1, 1]))
    assert explanation.frame.index.equals(rows.index)
    assert explanation.changes["row"].iloc[0] == ("h1", "a")
    assert explanation.alternatives.index.nlevels == 3


def test_rows_that_share_a_label_are_told_apart_by_their_position() -> None:
    explanation = build(SCHEMA, ROWS.set_axis(["h", "h", "h"]), ANSWERS, count=np.array([2, 1, 1]))
    changes = explanation.changes
    assert set(changes["row"]) == {"h"}
    for position in range(3):
        alone = explanation[position].changes
        mine = changes[changes["position"] == position]
        assert mine.drop(columns="position").to_numpy().tolist() == alone.drop(columns="position").to_numpy().tolist()


def test_an_array_in_is_an_array_of_the_same_shape_out() -> None:
    array = np.array([[0.5, 1.0], [2.0, 3.0]])
    rows = pd.DataFrame(array, columns=["f0", "f1"])
    explanation = build(Schema.infer(array), rows, np.array([[0.5, 2.0], [2.0, 3.0]]))
    out = np.asarray(explanation.frame)
    assert (out.shape, out.dtype) == (array.shape, array.dtype)
    assert out.tolist() == [[0.5, 2.0], [2.0, 3.0]]


@settings(max_examples=25)
@given(cases(), st.data())
def test_a_part_is_what_its_rows_are(case: tuple[Schema, pd.DataFrame, Array], data: st.DataObject) -> None:
    schema, rows, x = case
    n = len(rows)
    terms = AnswerEnergies(np.arange(n, dtype=float), *np.ones((len(ENERGY_COLUMNS) - 1, n)))
    whole = build(schema, rows, x, terms=terms, firm=firmness(rows, 0.9), tipping=build(schema, rows, x[:, :1]))
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=bool)
    part = whole[mask]
    for same in (whole[np.flatnonzero(mask)], whole[np.flatnonzero(mask).tolist()], whole[pd.array(mask)]):
        assert_same(part, same)
    assert part.energy["distance"].tolist() == np.flatnonzero(mask).tolist()
    pd.testing.assert_frame_equal(part.frame, whole.frame[mask])
    assert part.tipping is not None
    assert part.firm is not None
    assert len(part) == len(part.tipping) == len(part.firm) == mask.sum()
    if n:
        row = data.draw(st.integers(0, n - 1))
        single = list(whole)[row]
        for same in (whole[row], whole[row - n], whole[row : row + 1]):
            assert_same(single, same)


def test_rows_that_are_not_there() -> None:
    explanation = _three()
    for key in (3, -4, [0, 3]):
        with pytest.raises(IndexError, match="3 explained"):
            explanation[key]
    for wrong in ([True, False], ["h1"], [[0]], 0.5):
        with pytest.raises(InputError, match="positions, a slice or a mask of 3"):
            explanation[wrong]  # type: ignore[index]
    assert len(explanation[[]]) == 0


def test_text_has_a_line_for_each_of_several_rows() -> None:
    lines = _three().text().splitlines()
    assert [line.split(":")[0] for line in lines] == ["Row h1", "Row h2", "Row h3"]
    assert lines[1].endswith("nothing needs to change.")
    assert "The budget ran out. The nearest miss has ports 3 instead of 5" in lines[2]
    firm = _three(firm=firmness(ROWS, 0.97))[0].text()
    assert firm == (
        "Had ports been 2 instead of 8, the model would have said benign (0.93). It holds in 97 of 100 noisy copies. "
        "Or: rate 2.5 instead of 0.5 and proto udp instead of tcp."
    )


@pytest.mark.parametrize(
    ("kept", "low", "enough", "words"),
    [
        (0.93, 0.91, True, "in 93 of 100 noisy copies."),
        (0.91, 0.89, False, "in 91 of 100 noisy copies, not surely in the 90 asked for."),
        (0.17, 0.15, False, "in 17 of 100 noisy copies, not in the 90 asked for."),
    ],
)
def test_a_share_that_was_asked_for_is_kept_or_not(kept: float, low: float, enough: bool, words: str) -> None:
    firm = firmness(ROWS, kept).assign(kept_low=low)
    asked = _three(firm=firm, question=Question(keep=0.9))
    assert asked.is_firm_enough.tolist() == [enough, enough, False]
    assert words in asked[0].text()
    # without a share to keep, to be valid is enough
    for free in (_three(firm=firm, question=Question(temperature=0.1)), _three(question=Question(keep=0.9))):
        assert free.is_firm_enough.tolist() == [True, True, False]
        assert "asked for" not in free[0].text()


def test_the_repr_of_a_few_rows_is_a_table_and_of_many_a_count() -> None:
    few = repr(_three())
    assert "3 rows: 2 valid, 1 not found; median distance 1.5, median changes 0.5" in few
    assert "ports 8 → 2" in few
    assert "attack  benign  0.93 → 0.93" in few
    many = repr(_three()[np.zeros(500, dtype=int)])
    assert many == "Explanation of 500 rows: 500 valid; median distance 1.5, median changes 1"


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.closed: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.closed.append(tag)


def test_the_notebook_table_is_small_whole_and_escaped() -> None:
    evil = "<script>alert('x')</script>"
    rows = pd.DataFrame({evil: ["<b>", "&"]}, index=[evil, "<i>"])
    explanation = build(
        Schema.infer(rows), rows, np.array([[0.0], [1.0]]), status=objects([evil] * 2), target=objects([evil] * 2)
    )
    explanation.scores["after"] = objects([evil] * 2)
    page = explanation[np.zeros(300, dtype=int)]._repr_html_()
    tags = _Tags()
    tags.feed(page)
    assert set(tags.opened) == {"div", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert sorted(tags.opened) == sorted(tags.closed)
    assert tags.opened.count("tr") == 21
    assert "and 280 more" in page


def test_an_explanation_of_no_rows_works_everywhere() -> None:
    none = _three()[:0]
    assert len(none) == 0
    assert list(none) == []
    assert none.text() == "No rows were explained."
    assert repr(none) == "Explanation of 0 rows"
    assert "0 rows" in none._repr_html_()
    assert none.x.shape == (0, 3)
    assert none.changed.shape == (0,)
    assert none.frame.dtypes.tolist() == ROWS.dtypes.tolist()
    assert none.changes.columns.tolist() == ["row", "alternative", "feature", "from", "to", "position"]
    assert len(none.changes) == len(none.alternatives) == 0
    assert_same(Explanation.from_json(none.to_json()), none)
    assert_same(none[np.zeros(0, dtype=bool)], none)


def test_it_crosses_a_process_boundary() -> None:
    explanation = _three(firm=firmness(ROWS, 0.9), tipping=_three())
    assert_same(pickle.loads(pickle.dumps(explanation)), explanation)


def test_what_is_read_off_can_be_changed_without_changing_the_explanation() -> None:
    explanation = _three()
    frame = explanation.frame
    frame.loc["h1", "ports"] = 99
    assert explanation.frame.loc["h1", "ports"] == 2
    assert explanation.rows.loc["h1", "ports"] == 8


def test_percentiles_are_asked_for_by_feature_and_label() -> None:
    levels = population_quantiles(SCHEMA, np.column_stack([np.arange(101.0), np.zeros(101), np.zeros(101)]))
    explanation = _three(quantiles={"benign": levels})
    assert explanation.percentile("ports", 25, "benign") == pytest.approx(25)
    assert np.isnan(explanation.percentile("proto", 0, "benign"))
    with pytest.raises(InputError, match="'attack'; there are 'benign'"):
        explanation.percentile("ports", 25, "attack")
    with pytest.raises(InputError, match="'port' is not among"):
        explanation.percentile("port", 25, "benign")


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("x0", np.zeros((2, 3)), "x0 must have the shape"),
        ("answers", np.zeros((3, 3)), "answers must have the shape"),
        ("answers", np.zeros((3, 0, 3)), "answers must have the shape"),
        ("answers", np.zeros((3, 1, 2)), "answers must have the shape"),
        ("valid", np.ones(2, dtype=bool), "valid must have an entry for each of the 3 rows"),
        ("model_scores", _three().model_scores[np.arange(2)], "model_scores must have an entry for each of the 3 rows"),
        ("firm", pd.DataFrame({"kept": [1.0] * 3}), "firm must have the columns"),
    ],
)
def test_parts_that_do_not_belong_together_are_refused(part: str, value: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        replace(_three(), **{part: value})


def test_what_the_model_says_is_whole() -> None:
    said = _three().model_scores
    with pytest.raises(InputError, match="before not given"):
        ModelScores.of(said.to_frame(pd.RangeIndex(3)).drop(columns="before"))
    document = json.loads(_three().to_json())
    for name in ("scores", "energy"):
        gone = {**document, "explanation": {**document["explanation"], name: None}}
        with pytest.raises(InputError, match=f"{name} must have the columns"):
            Explanation.from_json(json.dumps(gone))
    with pytest.raises(InputError, match="after must have an entry for each of the 3 rows"):
        replace(said, after=said.after[:2])
    assert list(said.to_frame(pd.RangeIndex(3))) == list(SCORE_COLUMNS)
