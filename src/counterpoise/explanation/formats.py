"""Values as people write them: numbers with their units, categories, classes, probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.plain_text import escape_controls
from counterpoise.space.schema.schema import Feature
from counterpoise.space.schema.tables_in import as_python_value

ATTACHED_UNITS = ("%", "°", "′", "″")  # units that stand next to their number


@dataclass(frozen=True)
class FormatSettings:
    """How long a value may be."""

    significant_digits: int = 4  # of a number whose feature gives no decimals
    max_category_letters: int = 60  # longer names of categories are cut
    max_padded_decimals: int = 3  # decimals up to which zeros are written at the end, as in 12.50


FORMATS = FormatSettings()


def format_value(feature: Feature, value: Any) -> str:
    """A value as people read it: the schema's decimals, else four significant digits, and the unit.

    >>> format_value(Feature("latency", "continuous", decimals=1, unit="ms"), 12)
    '12.0 ms'
    >>> format_value(Feature("rate", "continuous"), 0.123456)
    '0.1235'
    >>> format_value(Feature("load", "continuous", decimals=6), 57e6)
    '57000000'
    >>> format_value(Feature("encrypted", "boolean", categories=(False, True)), True)
    'true'
    """
    if is_missing(value):
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
    if pair[0] != pair[1] or is_missing(before) or is_missing(after):
        return pair
    if not feature.is_numeric:
        return repr(before), repr(after)
    for digits in range(FORMATS.significant_digits + 1, 18):
        one, other = _format_digits(before, digits), _format_digits(after, digits)
        if one != other:
            return _add_unit(feature, one), _add_unit(feature, other)
    return pair


def format_label(label: Any) -> str:
    """A class, or a predicted number, as people say it.

    >>> format_label("benign"), format_label(np.int64(1)), format_label(True), format_label(12.34567)
    ('benign', '1', 'True', '12.35')
    """
    return _format_number(label, None) if is_real(label) and not is_missing(label) else _quote(label)


def name_label(label: Any) -> str:
    """A row's label as people write it; one of several levels has plain numbers.

    >>> name_label((np.int64(1), "a")), name_label("host 7")
    ("(1, 'a')", 'host 7')
    """
    return str(as_python_value(label))


def format_own_cell(feature: Feature, value: Any) -> str:
    """A cell of a row as it was given, even if the feature cannot hold it.

    >>> load = Feature("load", "continuous", unit="%")
    >>> format_own_cell(load, "n/a"), format_own_cell(load, np.inf), format_own_cell(load, 2)
    ('n/a', 'inf', '2%')
    """
    fits = isinstance(value, (bool, np.bool_)) if feature.kind == "boolean" else is_real(value)
    if is_missing(value) or (fits and (feature.kind == "boolean" or _is_finite(value))):
        return format_value(feature, value)
    return _quote(value)


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(float(value)))
    except OverflowError:  # a whole number of hundreds of digits
        return False


def format_probability(probability: float) -> str:
    """A probability with two decimals, never rounded to 0 or 1; empty if unknown.

    >>> format_probability(0.934), format_probability(0.9999), format_probability(0.0001)
    ('0.93', '>0.99', '<0.01')
    """
    if isnan(probability):
        return ""
    if 0 < probability < 0.005:
        return "<0.01"
    return ">0.99" if 0.995 <= probability < 1 else f"{probability:.2f}"


def is_real(value: Any) -> bool:
    """Whether a value is a number; True and False are none."""
    return isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))


def is_missing(value: Any) -> bool:
    """Whether a cell has no value."""
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _quote(value: Any) -> str:
    """Text as it is, or in quotation marks where a reader could not see where it begins and ends."""
    text = str(value)
    if len(text) > FORMATS.max_category_letters:
        text = text[: FORMATS.max_category_letters - 1] + "…"
    return text if text and text == " ".join(text.split()) == escape_controls(text) else repr(text)


def _format_number(value: Any, decimals: int | None) -> str:
    if isinstance(value, (int, np.integer)) and not decimals:
        return str(int(value))
    if decimals is None:
        return _format_digits(value, FORMATS.significant_digits)
    text = f"{float(value):.{decimals}f}"
    if decimals > FORMATS.max_padded_decimals:  # 57000000.000000 says no more than 57000000
        text = text.rstrip("0").rstrip(".")
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


def format_times(factor: float) -> str:
    """How many times as far, in words that stay short where the answer is next to the row.

    >>> format_times(12.3), format_times(9e9)
    ('12', 'over 1000')
    """
    return "over 1000" if factor > 1000 else f"{factor:.0f}"
