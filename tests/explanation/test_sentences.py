"""What an explanation says reads as English, and no number in it says more, or less, than is true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterpoise.explanation.formats import format_label, format_pair, format_probability, format_value
from counterpoise.explanation.sentences import RowOutcome, compose_text
from counterpoise.explanation.tables import Change
from counterpoise.space.schema.schema import Feature, Schema

LOGINS = Feature("failed_auth", "integer", scale=5.0, label="failed logins")
PORTS = Feature("open_ports", "integer", scale=5.0, label="open ports")
LATENCY = Feature("latency", "continuous", decimals=1, unit="ms")
PROTOCOL = Feature("protocol", "categorical", object, ("tcp", "udp"))
ENCRYPTED = Feature("encrypted", "boolean", categories=(False, True))
SCHEMA = Schema((LOGINS, PORTS, LATENCY, PROTOCOL, ENCRYPTED))


def _text(*cells: tuple[str, Any, Any, float], schema: Schema = SCHEMA, **parts: Any) -> str:
    changes = [Change(0, 0, schema.position(name), before, after, size) for name, before, after, size in cells]
    own: dict[str, Any] = {"target": "benign", "after": "benign", "probability": 0.93, "valid": True}
    return compose_text(schema, changes, RowOutcome(**{**own, "status": "valid", "reason": "", **parts}))


def test_changes_are_told_with_the_largest_first() -> None:
    text = _text(("open_ports", 8, 2, 1.2), ("failed_auth", 20, 3, 3.4), kept=0.97)
    assert text == (
        "Had failed logins been 3 instead of 20 and open ports 2 instead of 8, the model would have said benign "
        "(0.93). It holds in 97 of 100 noisy copies."
    )


def test_units_decimals_categories_and_flags() -> None:
    text = _text(("latency", 40.0, 12, 3.0), ("protocol", "tcp", "udp", 2.0), ("encrypted", 0, True, 1.0))
    assert text.startswith(
        "Had latency been 12.0 ms instead of 40.0 ms, protocol udp instead of tcp and encrypted true instead of false,"
    )


@pytest.mark.parametrize("gone", [None, float("nan"), pd.NA])
def test_a_cell_that_is_missing_is_said_to_be(gone: Any) -> None:
    assert _text(("latency", gone, 12.0, 1.0)).startswith("Had latency, which is missing, been 12.0 ms, the model")
    second = _text(("open_ports", 8, 2, 3.0), ("latency", gone, 12.0, 1.0))
    assert "and latency, which is missing, 12.0 ms, the model" in second


def test_of_many_changes_eight_are_told() -> None:
    schema = Schema(tuple(Feature(f"f{number}", "integer") for number in range(12)))
    text = _text(*((f"f{number}", 0, 1, float(number)) for number in range(12)), schema=schema)
    assert text.startswith("Had f11 been 1 instead of 0, f10 1 instead of 0,")
    assert "f4 1 instead of 0 and 4 more features been different, the model" in text
    assert "f3" not in text
    assert "and 1 more feature been" in _text(*((f"f{n}", 0, 1, 1.0) for n in range(9)), schema=schema)


def test_a_row_that_is_already_there() -> None:
    assert _text() == "The model already says benign (0.93); nothing needs to change."
    assert _text(target="[10, 20]", after=14.25, probability=float("nan")) == (
        "The model already predicts 14.25, which lies in [10, 20]; nothing needs to change."
    )


def test_a_row_without_an_answer_tells_the_nearest_miss_and_why() -> None:
    text = _text(
        ("open_ports", 8, 2, 1.0),
        valid=False,
        status="not_found",
        reason="MaxChanges(count=1) stood in the way",
        after="attack",
        probability=0.41,
    )
    assert text == (
        "No change was found that makes the model say benign. MaxChanges(count=1) stood in the way. The nearest miss "
        "has open ports 2 instead of 8; with it the model says attack (benign: 0.41)."
    )


def test_a_row_without_an_answer_or_a_miss() -> None:
    text = _text(valid=False, status="not_found", reason="the budget ran out.", after="attack", probability=0.1)
    assert text == (
        "No change was found that makes the model say benign. The budget ran out. The model says attack (benign: 0.10)."
    )


def test_the_right_class_below_the_threshold_is_not_called_wrong() -> None:
    text = _text(valid=False, status="not_found", probability=0.61)
    assert text == "No change was found that makes the model sure enough of benign. The model says benign (0.61)."


def test_a_row_that_cannot_meet_the_constraints() -> None:
    text = _text(valid=False, status="infeasible", reason="Immutable('age') and Range('age', 0, 9) exclude each other")
    assert text == (
        "This row cannot meet the constraints, so there is no answer. "
        "Immutable('age') and Range('age', 0, 9) exclude each other."
    )


def test_ranges_of_a_predicted_number() -> None:
    number = {"target": "[10, 20]", "probability": float("nan")}
    text = _text(("open_ports", 8, 2, 1.0), after=np.float64(14.25), kept=0.999, **number)
    assert text == (
        "Had open ports been 2 instead of 8, the model would have predicted 14.25, which lies in [10, 20]. "
        "It holds in 99 of 100 noisy copies."
    )
    missed = _text(valid=False, status="not_found", after=9.7, **number)
    assert missed == "No change was found that gives a prediction that lies in [10, 20]. The model predicts 9.7."
    assert "14.25, which is at least 10." in _text(
        ("open_ports", 8, 2, 1.0), after=14.25, **{**number, "target": "at least 10"}
    )


def test_any_other_class_is_told_with_what_the_probability_is_of() -> None:
    text = _text(("open_ports", 8, 2, 1.0), target="anything but dog", after="cat")
    assert text.endswith("the model would have said cat (anything but dog: 0.93).")
    for target in ("anything but 3", "1 or 2"):
        assert _text(("open_ports", 8, 2, 1.0), target=target, after=1).endswith(f"said 1 ({target}: 0.93).")
    assert _text(("open_ports", 8, 2, 1.0), target="[10, 20]", after="[10, 20]").endswith("said [10, 20] (0.93).")


@pytest.mark.parametrize(
    ("target", "after"), [(1, np.int64(1)), (True, np.bool_(True)), ("1", 1), ("1.0", 1.0), ("True", True)]
)
def test_labels_of_any_kind_are_recognised(target: Any, after: Any) -> None:
    assert _text(("open_ports", 8, 2, 1.0), target=target, after=after).endswith(
        f"would have said {format_label(after)} (0.93)."
    )


@given(st.floats(0, 1))
def test_a_probability_is_never_called_certain_unless_it_is(probability: float) -> None:
    text = format_probability(probability)
    assert (text == "1.00") == (probability == 1)
    assert (text == "0.00") == (probability == 0)
    assert format_probability(float("nan")) == ""


@given(st.floats(0, 1))
def test_the_share_of_copies_is_never_overstated(kept: float) -> None:
    share = int(_text(kept=kept).split(" in ")[1].split(" of 100")[0])
    assert kept - 0.01 - 1e-9 <= share / 100 <= kept + 1e-9


@given(st.floats(-1e18, 1e18), st.floats(-1e18, 1e18), st.sampled_from([None, 0, 1, 3]))
def test_two_values_that_differ_are_written_differently(one: float, other: float, decimals: int | None) -> None:
    feature = Feature("a", "continuous", decimals=decimals)
    before, after = format_pair(feature, one, other)
    if one != other:
        assert before != after


@given(st.floats(-1e300, 1e300, allow_subnormal=False))
def test_four_digits_are_close_and_zero_has_no_sign(value: float) -> None:
    text = format_value(Feature("a", "continuous"), value)
    assert float(text) == pytest.approx(value, rel=6e-4)
    assert text != "-0"
    assert not format_value(Feature("a", "continuous", decimals=1), -0.01).startswith("-")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567.8, "1234568"),
        (12.345678, "12.35"),
        (0.0001234567, "0.0001235"),
        (1e-9, "1e-09"),
        (7, "7"),
        (20.0, "20"),
    ],
)
def test_numbers_without_decimals_in_the_schema(value: float, text: str) -> None:
    assert format_value(Feature("a", "continuous"), value) == text


def test_whole_numbers_are_exact_and_units_stand_where_people_put_them() -> None:
    assert format_value(Feature("a", "integer", decimals=0), 2**53 + 1) == str(2**53 + 1)
    assert format_value(Feature("a", "continuous", decimals=1, unit="%"), 12.34) == "12.3%"
    assert format_value(LATENCY, None) == "missing"


def test_text_whose_ends_cannot_be_seen_is_quoted_and_long_text_is_cut() -> None:
    assert [format_value(PROTOCOL, value) for value in ("", " tcp", "a b")] == ["''", "' tcp'", "a b"]
    assert len(format_value(PROTOCOL, "x" * 500)) == 60
    assert format_pair(PROTOCOL, 1, "1") == ("1", "'1'")


@pytest.mark.parametrize(
    ("agreeing", "models", "said"),
    [
        (0, 1, "The other model does not say so."),
        (1, 1, "The other model says so too."),
        (1, 8, "1 of 8 other models says so too."),
        (7, 8, "7 of 8 other models say so too."),
    ],
)
def test_what_other_models_say_is_grammatical(agreeing: int, models: int, said: str) -> None:
    assert _text(("open_ports", 8, 2, 1.2), agreeing=agreeing, models=models).endswith(said)
