"""Text from data as it may stand on a terminal: signs that steer one are written out, not sent."""

from __future__ import annotations

import unicodedata

STEERING_CATEGORIES = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, marks of direction, halves of pairs, ends of lines
HARMLESS_SIGNS = "\u00ad\u200c\u200d"  # hyphens that may be needed, and what joins or parts letters in many scripts


def escape_controls(text: str, *, keep: str = "") -> str:
    r"""The text with every sign that a terminal obeys, such as escape or a mark of direction, written as \x1b is.

    >>> print(escape_controls("red \x1b[31m, title \x9d0;x\x07, turned \u202e, kept: naïve 价格"))
    red \x1b[31m, title \x9d0;x\x07, turned \u202e, kept: naïve 价格
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() or sign in keep or not _is_steering(sign) else ascii(sign)[1:-1] for sign in text
    )


def _is_steering(sign: str) -> bool:
    return unicodedata.category(sign) in STEERING_CATEGORIES and sign not in HARMLESS_SIGNS
