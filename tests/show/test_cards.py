"""Cards say what the explanation holds, and a redacted one says no value."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterpoise as cp
from alerts import explained, many
from counterpoise.explanation.cards.cards import build_cards, compared_labels, direction_of, say_directions
from counterpoise.show.terminal import draw_card, write_card
from explanations import build, cases, firmness, objects


def test_a_card_shows_every_change_that_the_table_of_changes_lists() -> None:
    explanation = explained()
    table = explanation.changes
    for row, card in enumerate(build_cards(explanation)):
        for number, answer in enumerate((card.best_answer, *card.other_answers)):
            listed = table[(table["row"] == explanation.rows.index[row]) & (table["alternative"] == number)]
            names = {explanation.schema.features[change.column].name for change in answer.changes}
            assert names == set(listed["feature"])


def test_the_largest_change_comes_first() -> None:
    for card in build_cards(explained()):
        sizes = [change.size for change in card.best_answer.changes]
        assert sizes == sorted(sizes, reverse=True)


@given(cases())
@settings(max_examples=40)
def test_every_explanation_has_a_card_for_each_row(case) -> None:
    schema, rows, answers = case
    explanation = build(schema, rows, answers)
    for redact in (False, True):
        cards = build_cards(explanation, redact=redact)
        assert [card.row for card in cards] == [str(label) for label in rows.index]
        for card in cards:
            assert write_card(card)


@given(st.floats(1e3, 1e7), st.floats(-1e7, 0))
@settings(max_examples=20)
def test_a_redacted_card_does_not_depend_on_values(before: float, after: float) -> None:
    base = many(4)
    x0, answers = base.x0.copy(), np.repeat(base.x0[:, None, :], 2, axis=1)
    x0[:, 0], answers[:, :, 0] = before, after
    other = replace(base, rows=base.rows.assign(load=before), x0=x0, answers=answers)
    answers = answers.copy()
    answers[:, :, 0] -= 7.0
    farther = replace(other, answers=answers)
    assert repr(build_cards(other, redact=True)) == repr(build_cards(farther, redact=True))
    assert repr(build_cards(other)) != repr(build_cards(farther))


def test_a_redacted_card_names_features_and_directions() -> None:
    plain, redacted = (build_cards(explained(), redact=redact)[0] for redact in (False, True))
    ways = [(change.title, change.direction) for change in plain.best_answer.changes]
    assert [(change.title, change.direction) for change in redacted.best_answer.changes] == ways
    assert (
        redacted.best_answer.text
        == f"With {say_directions(redacted.best_answer.changes)} the model would have said benign."
    )


def test_columns_that_the_model_does_not_see_are_carried() -> None:
    assert build_cards(explained())[0].carried_columns == (("source", "10.0.0.7"),)


def test_values_are_placed_among_the_rows_of_what_was_and_of_what_would_be() -> None:
    explanation = explained()[0]
    assert compared_labels(explanation, 0) == ["alert", "benign"]
    for change in build_cards(explanation)[0].best_answer.changes:
        name = explanation.schema.features[change.column].name
        assert change.end_values is not None
        expected = [
            (label, *(explanation.percentile(name, end, label) for end in change.end_values))
            for label in ("alert", "benign")
        ]
        assert list(change.percentiles) == expected


def test_the_firm_answer_stands_beside_the_tipping_point() -> None:
    explanation = explained()[:2]
    firm = firmness(explanation.rows, 0.97)
    card = build_cards(replace(explanation, firm=firm, tipping=explanation[:2]))[0]
    assert card.tipping is not None
    assert card.firmness.startswith("97 of 100 noisy copies")
    assert "tipping point" in write_card(card)


def test_no_firmness_is_claimed_for_a_row_without_an_answer() -> None:
    explanation = explained()[:1]
    missed = replace(explanation, valid=np.array([False]), status=objects(["not_found"]))
    assert build_cards(replace(missed, firm=firmness(missed.rows, 0.97)))[0].firmness == ""


@pytest.mark.parametrize(
    ("kind", "before", "after", "way"),
    [
        ("integer", 8, 2, "down"),
        ("continuous", 1.0, 1.5, "up"),
        ("continuous", None, 1.5, "given"),
        ("categorical", "a", "b", "other"),
        ("ordinal", "a", "b", "up"),
        ("boolean", False, True, "other"),
    ],
)
def test_directions(kind, before, after, way) -> None:
    categories = () if kind in ("integer", "continuous") else ("a", "b") if kind != "boolean" else (False, True)
    assert direction_of(cp.Feature("f", kind, categories=categories), before, after) == way


def test_a_terminal_takes_names_as_they_are() -> None:
    from io import StringIO

    from rich.console import Console

    explanation = explained()[0]
    schema = explanation.schema
    for name in schema.names:
        schema = schema.edit(name, label=f"[red]{name}[/bad]")
    stream = StringIO()
    card = build_cards(replace(explanation, schema=schema))[0]
    Console(file=stream, width=200).print(draw_card(card, ["[/nothing]"]))
    assert f"[red]{card.best_answer.changes[0].title[5:]}" in stream.getvalue()
    assert "[/nothing]" in stream.getvalue()


def test_evidence_is_shown_where_it_changes_or_differs_and_not_when_redacted() -> None:
    explanation = explained()
    plain, redacted = (build_cards(explanation, redact=redact)[0] for redact in (False, True))
    assert not redacted.evidence.lines
    real = explanation.real_rows
    assert list(plain.evidence.distances) == real[real.position == 0]["distance"].tolist()
    changed = [change.column for change in plain.best_answer.changes][:8]
    assert [line.column for line in plain.evidence.lines][: len(changed)] == changed
    nearest = real[(real.position == 0) & (real["rank"] == 1)].iloc[0]
    for line in plain.evidence.lines:
        name = explanation.schema.names[line.column]
        assert bool(line.answer) == (line.column in changed)
        assert len(line.real) == 3
        if not line.answer:
            assert nearest[name] != explanation.rows[name].iloc[0], "where else it is another row"
    assert "nearest real benign row" in write_card(plain)
    assert "nearest real" not in write_card(redacted)


def test_a_card_names_each_alternative_once() -> None:
    explanation = explained()
    several = [card for card in build_cards(explanation) if card.other_answers]
    assert several
    for card in several:
        assert write_card(card).count("or: ") == len(card.other_answers)
        assert "Or: " not in write_card(card)
    assert "Or: " in explanation.text()
