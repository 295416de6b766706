"""What an explanation says, in plain English: values as people write them, and a row's answer in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, inf, isnan
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from counterpoise.explanation.tables import Change
from counterpoise.plain_text import escape_controls
from counterpoise.space.schema.schema import Feature, Schema

SIGNIFICANT_DIGITS = 4  # significant digits of a number whose feature gives no decimals
MAX_CLAUSES = 5  # changes that a sentence spells out
MAX_CATEGORY_LETTERS = 60  # of a category
RANGE_STARTS = ("[", "(", "at least ", "at most ")  # how the range of a predicted number begins
ATTACHED_UNITS = ("%", "°", "′", "″")  # units that stand next to their number


class RowOutcome(NamedTuple):
    """The target of one row and the outcome of its search."""

    target: Any  # the label, or what people say: "anything but dog", "[10, 20]"
    after: Any  # what the model predicts for the answer, or for the nearest miss
    probability: float  # of the target there; NaN where the model has none
    valid: bool
    status: str
    reason: str
    kept: float = float("nan")  # share of noisy copies that keep the target
    kept_low: float = float("nan")  # the lower end of its confidence interval
    share_asked: float = float("nan")  # the share that was asked for
    effort: float = float("nan")  # what the answer costs
    bound: float = float("nan")  # what every valid answer costs at least; infinite where it is proven that none exists


def format_value(feature: Feature, value: Any) -> str:
    """A value as people read it: the schema's decimals, else four significant digits, and the unit.

    >>> format_value(Feature("latency", "continuous", decimals=1, unit="ms"), 12)
    '12.0 ms'
    >>> format_value(Feature("rate", "continuous"), 0.123456)
    '0.1235'
    >>> format_value(Feature("encrypted", "boolean", categories=(False, True)), True)
    'true'
    """
    if _is_missing(value):
        return "missing"
    if feature.kind == "boolean":
        return "true" if value else "false"
    if not feature.is_numeric:
        return _quote(value)
    return _add_unit(feature, _format_number(value, feature.decimals))


def format_pair(feature: Feature, before: Any, after: Any) -> tuple[str, str]:
    """Two different values, written with as many digits as it takes to tell them apart.

    >>> format_pair(Feature("rate", "continuous", unit="Hz"), 0.123456, 0.123451)
    ('0.12346 Hz', '0.12345 Hz')
    """
    pair = format_value(feature, before), format_value(feature, after)
    if pair[0] != pair[1] or _is_missing(before) or _is_missing(after):
        return pair
    if not feature.is_numeric:
        return repr(before), repr(after)
    for digits in range(SIGNIFICANT_DIGITS + 1, 18):
        one, other = _format_digits(before, digits), _format_digits(after, digits)
        if one != other:
            return _add_unit(feature, one), _add_unit(feature, other)
    return pair


def format_label(label: Any) -> str:
    """A class, or a predicted number, as people say it.

    >>> format_label("benign"), format_label(np.int64(1)), format_label(True), format_label(12.34567)
    ('benign', '1', 'True', '12.35')
    """
    return _format_number(label, None) if _is_real(label) and not _is_missing(label) else _quote(label)


def format_probability(probability: float) -> str:
    """Two decimals that never claim certainty where there is none; empty where there is no probability.

    >>> format_probability(0.934), format_probability(0.9999), format_probability(0.0001)
    ('0.93', '>0.99', '<0.01')
    """
    if isnan(probability):
        return ""
    if 0 < probability < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 <= probability < 1 else f"{probability:.2f}"


def name_row(index: pd.Index[Any], position: int) -> str:
    """A row in a message: by its label and its place, or by its place alone where the label is the same number.

    >>> name_row(pd.Index(["A7", "A9"]), 1), name_row(pd.RangeIndex(5), 3)
    ("row 'A9' (position 1, counted from 0)", 'row 3 (counted from 0)')
    """
    label = index[position]
    label = label.item() if isinstance(label, np.generic) else label
    if isinstance(label, int) and not isinstance(label, bool) and label == position:
        return f"row {position} (counted from 0)"
    return f"row {label!r} (position {position}, counted from 0)"


def sort_by_size(changes: Sequence[Change]) -> list[Change]:
    """The changes of an answer, the largest first."""
    return sorted(changes, key=lambda change: -change.size)


def compose_text(schema: Schema, changes: Sequence[Change], verdict: RowOutcome) -> str:
    """The answer to one row, in a sentence or two.

    >>> schema = Schema((Feature("ports", "integer", label="open ports"),))
    >>> changes = [Change(0, 0, 0, 8, 2, 1.0)]
    >>> print(compose_text(schema, changes, RowOutcome("benign", "benign", 0.93, True, "valid", "", 0.97)))
    Had open ports been 2 instead of 8, the model would have said benign (0.93). It keeps saying so in 97 of 100 noisy
    copies.
    """
    number = _has_number_target(verdict)
    if verdict.status == "infeasible":
        proven = verdict.bound == inf  # else the constraints contradict each other
        first = (
            "It is proven that there is no answer."
            if proven
            else "This row cannot meet the constraints, so there is no answer."
        )
        return _join_sentences(first, _to_sentence(verdict.reason))
    if not verdict.valid:
        return _join_sentences(
            f"No change was found that {_say_goal(verdict, number)}.",
            _to_sentence(verdict.reason),
            _say_miss(schema, changes, verdict, number),
        )
    reached = f"which {_say_range(verdict.target)}" if number else ""
    if changes:
        verb = "would have predicted" if number else "would have said"
        clauses = _join_clauses(schema, changes, " been")
        first = f"Had {clauses}, the model {_say_prediction(verdict, verb, reached)}."
    else:
        verb = "already predicts" if number else "already says"
        first = f"The model {_say_prediction(verdict, verb, reached)}; nothing needs to change."
    return _join_sentences(first, _say_firmness(verdict, number))


def _join_clauses(schema: Schema, changes: Sequence[Change], been: str) -> str:
    """The largest changes, "open ports been 2 instead of 8 and latency 10 ms instead of 40 ms"."""
    largest = sort_by_size(changes)[:MAX_CLAUSES]
    parts = []
    for place, change in enumerate(largest):
        feature = schema.features[change.column]
        before, after = format_pair(feature, change.before, change.after)
        verb = "" if place else been
        if _is_missing(change.before):
            parts.append(f"{feature.title}, which is missing,{verb} {after}")
        else:
            parts.append(f"{feature.title}{verb} {after} instead of {before}")
    if len(changes) > len(largest):
        more = len(changes) - len(largest)
        parts.append(f"{more} more {'features' if more > 1 else 'feature'}{been} different")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _say_prediction(verdict: RowOutcome, verb: str, reached: str = "") -> str:
    """ "says benign (0.93)"; where the prediction is not the target itself, the target is named too."""
    odds = format_probability(verdict.probability)
    if odds:
        odds = f" ({odds})" if _is_target(verdict) else f" ({format_label(verdict.target)}: {odds})"
    return f"{verb} {format_label(verdict.after)}{odds}" + (f", {reached}" if reached else "")


def _say_goal(verdict: RowOutcome, number: bool) -> str:
    target = format_label(verdict.target)
    if number:
        return f"gives a prediction that {_say_range(target)}"
    if _is_target(verdict):  # the class is right, but not as probable as was asked
        return f"makes the model sure enough of {target}"
    return f"makes the model say {target}"


def _say_range(target: str) -> str:
    return f"lies in {target}" if target.startswith(("[", "(")) else f"is {target}"


def _say_miss(schema: Schema, changes: Sequence[Change], verdict: RowOutcome, number: bool) -> str:
    says = _say_prediction(verdict, "predicts" if number else "says")
    if not changes:
        return f"The model {says}."
    return f"The nearest miss has {_join_clauses(schema, changes, '')}; with it the model {says}."


def _say_firmness(verdict: RowOutcome, number: bool) -> str:
    if isnan(verdict.kept):
        return ""
    share = floor(100 * verdict.kept + 1e-9)  # rounded down: a share that is not quite all is not called all
    missed = ""
    if verdict.kept_low < verdict.share_asked:
        doubt = "surely " if verdict.kept >= verdict.share_asked else ""
        missed = f", not {doubt}in the {100 * verdict.share_asked:g} asked for"
    return f"It {'stays there' if number else 'keeps saying so'} in {share} of 100 noisy copies{missed}."


def _has_number_target(verdict: RowOutcome) -> bool:
    """Whether the model predicts a number and the target is a range of it, rather than a class."""
    return isinstance(verdict.target, str) and verdict.target.startswith(RANGE_STARTS) and _is_real(verdict.after)


def _is_target(verdict: RowOutcome) -> bool:
    """Whether the prediction is the very class that was asked for, given as the label or in words."""
    return str(verdict.after) == str(verdict.target) or format_label(verdict.after) == format_label(verdict.target)


def _is_real(value: Any) -> bool:
    return isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))


def _join_sentences(*sentences: str) -> str:
    return escape_controls(" ".join(sentence for sentence in sentences if sentence))


def _to_sentence(text: str) -> str:
    """A reason with a capital letter and a full stop."""
    text = text.strip()
    return text and text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")


def _is_missing(value: Any) -> bool:
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _quote(value: Any) -> str:
    """Text as it is, or in quotation marks where a reader could not see where it begins and ends."""
    text = str(value)
    if len(text) > MAX_CATEGORY_LETTERS:
        text = text[: MAX_CATEGORY_LETTERS - 1] + "…"
    return text if text and text == " ".join(text.split()) == escape_controls(text) else repr(text)


def _format_number(value: Any, decimals: int | None) -> str:
    if isinstance(value, (int, np.integer)) and not decimals:
        return str(int(value))
    if decimals is None:
        return _format_digits(value, SIGNIFICANT_DIGITS)
    text = f"{float(value):.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _format_digits(value: Any, digits: int) -> str:
    """A number with so many significant digits, or all those before the point."""
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    size = abs(float(value))
    if size != 0 and not 1e-4 <= size < 1e15:
        return f"{float(value):.{digits}g}"
    if size >= 10**digits:
        return f"{float(value):.0f}"
    return str(np.format_float_positional(float(value) + 0.0, digits, fractional=False, trim="-"))


def _add_unit(feature: Feature, text: str) -> str:
    if not feature.unit:
        return text
    return text + ("" if feature.unit.startswith(ATTACHED_UNITS) else " ") + feature.unit
