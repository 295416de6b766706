"""Claim and its two verdicts, and the rules by which numbers become words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from counterpoise.paper.paired import Interval

HOLDS, PARTLY, FAILS, OPEN, NONE = "holds", "holds partly", "does not hold", "cannot be judged", "–"
VERDICTS = (HOLDS, PARTLY, FAILS, OPEN)
OURS = "Counterpoise"
RIVALS = ("LIME", "Gradient")
CHECKED = "Algorithm 1, corrected, ξ = 0.1"
PAPER_FORMS = ("Algorithm 1, as printed", "Algorithm 1, corrected", "Algorithm 1, Langevin")
"""The paper's method: the listing; corrected; and with the noise and the rising beta that its text speaks of."""

Facts = Mapping[str, float]


@dataclass(frozen=True)
class VerdictRules:
    """Where a number turns into a word."""

    most: float = 0.9  # share of the draws from which something holds
    least: float = 0.1  # share up to which it does not
    near: float = 1.1  # times the least length; a longer answer is not the smallest change
    infeasible_seconds: float = 60.0  # a row, from which a method is of no use
    slightly: float = 1.25  # times; more is not "slightly" more
    tells: float = 0.7  # rank correlation from which one thing tells the other
    hints: float = 0.3  # and up to which it does not
    same_exponent: float = 0.4  # a measured exponent is the paper's if it is nearer than this


RULES = VerdictRules()


class Claim(NamedTuple):
    """A claim of the paper: where it is, in our words, what we measured, both verdicts, the exhibit that shows it.

    A verdict of "–" says that the claim is not about that method.
    """

    place: str
    claim: str
    measured: str
    paper: str
    ours: str
    shown: str  # the name of an exhibit


def judge_shares(shares: Iterable[float]) -> str:
    """Shares of the draws in which a claim holds, one for each choice that the paper leaves open.

    >>> judge_shares([1.0, 0.95]), judge_shares([0.0, 1.0]), judge_shares([0.6, 0.9]), judge_shares([0.0, 0.05])
    ('holds', 'cannot be judged', 'holds partly', 'does not hold')
    """
    found = list(shares)
    if min(found) >= RULES.most:
        return HOLDS
    if max(found) <= RULES.least:
        return FAILS
    return OPEN if min(found) < 0.5 <= max(found) else PARTLY


def judge_all(wins: Iterable[bool]) -> str:
    """Holds if every one does, partly if some do.

    >>> judge_all([True, True]), judge_all([True, False]), judge_all([False])
    ('holds', 'holds partly', 'does not hold')
    """
    found = list(wins)
    return HOLDS if all(found) else PARTLY if any(found) else FAILS


def shares_by_score(facts: Facts, key: str) -> list[float]:
    """``key`` for each f of the scene that was tried."""
    return [value for name, value in facts.items() if name.startswith(f"{key}, f")]


def format_shares(shares: Iterable[float]) -> str:
    """Shares in words.

    >>> format_shares([0.5, 1.0])
    '50 %, 100 %'
    """
    return ", ".join(f"{100 * share:.0f} %" for share in shares)


def interval(facts: Facts, key: str) -> Interval:
    """The mean and its interval, as three facts say them."""
    return Interval(*(facts[f"{key}{end}"] for end in ("", " low", " high")))


def put_interval(key: str, found: Interval) -> dict[str, float]:
    """The inverse of `interval`.

    >>> put_interval("kept", Interval(1.0, 0.5, 1.5))
    {'kept': 1.0, 'kept low': 0.5, 'kept high': 1.5}
    """
    return {f"{key}{end}": value for end, value in zip(("", " low", " high"), found, strict=True)}


def intervals_by_score(facts: Facts, key: str) -> list[Interval]:
    """The interval ``key`` of each f of the scene that was tried; of one without rows every number may be true.

    >>> len(intervals_by_score(put_interval("kept, f1", Interval(1.0, 0.5, 1.5)), "kept"))
    1
    """
    names = [name for name in facts if name.startswith(f"{key}, f") and f"{name} low" in facts]
    found = [interval(facts, name) for name in names]
    return [one if one.mean == one.mean else Interval(one.mean, -np.inf, np.inf) for one in found]


def format_intervals(found: Iterable[Interval], form: str) -> str:
    """Intervals in words, one for each f.

    >>> format_intervals([Interval(1.0, 0.5, 1.5), Interval(2.0, 1.5, 2.5)], ".1f")
    '1.0 [0.5, 1.5], 2.0 [1.5, 2.5]'
    """
    return ", ".join(one.to_text(form) for one in found)


def judge_above(found: Iterable[Interval], limit: float = 0.0) -> str:
    """Whether every interval lies above the limit: an interval that has the limit inside says neither yes nor no.

    Holds if all are above, partly if some are, fails if none is and one at least is below. Otherwise it cannot be
    judged.

    >>> judge_above([Interval(0.2, 0.1, 0.3), Interval(0.1, -0.1, 0.3)]), judge_above([Interval(0.1, -0.1, 0.3)])
    ('holds partly', 'cannot be judged')
    >>> judge_above([Interval(-0.2, -0.3, -0.1), Interval(0.1, -0.1, 0.3)])
    'does not hold'
    """
    known = [one for one in found if not np.isnan(one.low)]
    above = [one.low > limit for one in known]
    if any(above):
        return HOLDS if all(above) else PARTLY
    return FAILS if any(one.high < limit for one in known) else OPEN
