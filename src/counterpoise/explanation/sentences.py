"""The text about one row, in plain English: a sentence or two."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, inf, isnan
from typing import Any, NamedTuple

import pandas as pd

from counterpoise.explanation.formats import (
    format_label,
    format_pair,
    format_probability,
    format_times,
    is_missing,
    is_real,
)
from counterpoise.explanation.tables import Change
from counterpoise.plain_text import escape_controls
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import as_python_value

RANGE_STARTS = ("[", "(", "at least ", "at most ")  # how the range of a predicted number begins


@dataclass(frozen=True)
class SentenceSettings:
    """How much a sentence spells out."""

    max_changes: int = 8  # changes of an answer
    max_unusual: int = 4  # features with unusual values
    max_reason_letters: int = 120  # of why a row was rejected


SENTENCES = SentenceSettings()
_ADDRESS = re.compile(r"\S*\w://\S+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")


class OtherAnswer(NamedTuple):
    """An alternative: what it changes, and how well it holds."""

    changes: Sequence[Change]
    kept: float = float("nan")
    is_fragile: bool = False
    agreeing: int = 0  # further models that give it the target too,
    models: int = 0  # of so many


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
    copies: float = float("nan")  # on how many copies it was measured; NaN where that is not known
    share_asked: float = float("nan")  # the share that was asked for
    is_fragile: bool = False  # surely less than half of the copies keep it
    unusual: tuple[str, ...] = ()  # features whose new values hardly any row of the target has
    far: float = float("nan")  # where no real row is near: how many times as far as the answer the nearest is
    others: tuple[OtherAnswer, ...] = ()  # the alternatives
    effort: float = float("nan")  # what the answer costs
    bound: float = float("nan")  # what every valid answer costs at least; infinite where it is proven that none exists
    agreeing: int = 0  # further models that give the answer the target too,
    models: int = 0  # of so many


def name_row(index: pd.Index[Any], position: int) -> str:
    """A row in a message: by its label and its place, or by its place alone where the label is the same number.

    >>> name_row(pd.Index(["A7", "A9"]), 1), name_row(pd.RangeIndex(5), 3)
    ("row 'A9' (position 1, counted from 0)", 'row 3 (counted from 0)')
    """
    label = as_python_value(index[position])
    if isinstance(label, int) and not isinstance(label, bool) and label == position:
        return f"row {position} (counted from 0)"
    return f"row {label!r} (position {position}, counted from 0)"


def shorten_reason(reason: str) -> str:
    """The first sentence of a reason in one line, without the web addresses that errors of libraries contain.

    >>> shorten_reason("the model must predict; it raised ValueError: Input X has NaN.\\nSee https://a.org/b for more.")
    'the model must predict; it raised ValueError: Input X has NaN'
    """
    line = next((line for line in reason.strip().splitlines() if line.strip()), "")
    line = " ".join(_ADDRESS.sub("", line).split())
    sentence = _SENTENCE_END.split(line, maxsplit=1)[0].rstrip(" .:;,(")
    most = SENTENCES.max_reason_letters
    return escape_controls(sentence if len(sentence) <= most else sentence[: most - 1].rstrip() + "…")


def sort_by_size(changes: Sequence[Change]) -> list[Change]:
    """The changes of an answer, the largest first."""
    return sorted(changes, key=lambda change: -change.size)


def compose_text(schema: Schema, changes: Sequence[Change], verdict: RowOutcome) -> str:
    """The answer to one row, in a sentence or two.

    >>> from counterpoise.space.schema.schema import Feature
    >>> schema = Schema((Feature("ports", "integer", label="open ports"),))
    >>> changes = [Change(0, 0, 0, 8, 2, 1.0)]
    >>> print(compose_text(schema, changes, RowOutcome("benign", "benign", 0.93, True, "valid", "", 0.97)))
    Had open ports been 2 instead of 8, the model would have said benign (0.93). It holds in 97 of 100 noisy copies.
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
    return _join_sentences(
        first,
        _say_bound(verdict) if changes else "",
        _say_firmness(verdict),
        _say_agreement(verdict),
        *_say_oddities(verdict),
        _say_others(schema, verdict.others),
    )


def say_proof(gap: float) -> str:
    """How near to the least an answer is, in a few words; "" where nothing is known.

    >>> say_proof(0.0), say_proof(0.0312), say_proof(float("inf"))
    ('proven least', 'at most 3.1 % above the least', '')
    >>> say_proof(1.5), say_proof(1799.0)
    ('at most 2.5 times the least', 'at most 1,800 times the least')
    """
    if not gap < inf:
        return ""
    if gap == 0:
        return "proven least"
    if gap < 0.995:
        return f"at most {100 * gap:.2g} % above the least"
    return f"at most {1 + gap:{'.2g' if gap < 8.95 else ',.0f'}} times the least"


def _say_bound(verdict: RowOutcome) -> str:
    if not 0 < verdict.bound < inf:
        return ""
    bound, effort = (f"{value:.3g}" for value in (verdict.bound, verdict.effort))
    if verdict.status == "optimal":
        return f"Its effort is {effort}, and no valid answer takes less: that is proven."
    return f"Its effort is {effort}; no valid answer takes less than {bound}."


def _join_clauses(schema: Schema, changes: Sequence[Change], been: str) -> str:
    """The largest changes, "open ports been 2 instead of 8 and latency 10 ms instead of 40 ms"."""
    largest = sort_by_size(changes)[: SENTENCES.max_changes]
    parts = []
    for place, change in enumerate(largest):
        feature = schema.features[change.column]
        before, after = format_pair(feature, change.before, change.after)
        verb = "" if place else been
        if is_missing(change.before):
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


def say_share(kept: float, *, is_fragile: bool, copies: float = inf) -> str:
    """A share of noisy copies, rounded down: one that is not quite all is not called all.

    Of fewer than a hundred ``copies`` it is said how many there were.

    >>> say_share(0.278, is_fragile=True)
    '27 of 100 noisy copies: fragile'
    >>> say_share(1.0, is_fragile=False, copies=10)
    '10 of 10 noisy copies'
    """
    total = int(copies) if copies < 100 else 100
    return f"{floor(total * kept + 1e-9)} of {total} noisy copies{': fragile' if is_fragile else ''}"


def _say_firmness(verdict: RowOutcome) -> str:
    if isnan(verdict.kept):
        return ""
    missed = ""
    if verdict.kept_low < verdict.share_asked:
        asked, could_be = f"{100 * verdict.share_asked:g}", verdict.kept >= verdict.share_asked
        missed = f", not {'surely ' if could_be else ''}in the {asked} asked for"
        if verdict.copies < 100:
            missed = f", {'too few to be sure of' if could_be else 'not in'} {asked} %"
    is_fragile = verdict.is_fragile and not missed
    return f"It holds in {say_share(verdict.kept, is_fragile=is_fragile, copies=verdict.copies)}{missed}."


def _say_agreement(verdict: RowOutcome) -> str:
    if not verdict.models:
        return ""
    if verdict.models == 1:
        return f"The other model {'says so too' if verdict.agreeing else 'does not say so'}."
    verb = "says" if verdict.agreeing == 1 else "say"
    return f"{say_models(verdict.agreeing, verdict.models)} {verb} so too."


def say_models(agreeing: int, models: int) -> str:
    """How many of further models agree.

    >>> say_models(7, 8), say_models(0, 1)
    ('7 of 8 other models', '0 of 1 other model')
    """
    return f"{agreeing} of {models} other model{'' if models == 1 else 's'}"


def _say_oddities(verdict: RowOutcome) -> list[str]:
    """What is odd about an answer, a sentence each."""
    out = []
    if verdict.unusual:
        named = _join_words(verdict.unusual, SENTENCES.max_unusual)
        out.append(f"Hardly any {format_label(verdict.after)} row of the reference has such {named}.")
    if not isnan(verdict.far):
        out.append(
            f"The nearest real row of the target is {format_times(verdict.far)} times as far: an edge of the model, "
            "not a path that data takes."
        )
    return out


def _say_others(schema: Schema, other_answers: Sequence[OtherAnswer]) -> str:
    """The alternatives, "Or: open ports 3 instead of 8 (holds in 80 of 100 noisy copies)."."""
    parts = []
    for other in (other for other in other_answers if other.changes):
        held = [] if isnan(other.kept) else [say_share(other.kept, is_fragile=other.is_fragile)]
        held += [say_models(other.agreeing, other.models)] if other.models else []
        parts.append(_join_clauses(schema, other.changes, "") + (f" (holds in {', in '.join(held)})" if held else ""))
    return f"Or: {'; or: '.join(parts)}." if parts else ""


def _join_words(words: Sequence[str], most: int) -> str:
    """ "a, b and c"; beyond ``most`` the rest are counted."""
    parts = [*words[:most], *([f"{len(words) - most} more"] if len(words) > most else [])]
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _has_number_target(verdict: RowOutcome) -> bool:
    """Whether the model predicts a number and the target is a range of it, rather than a class."""
    return isinstance(verdict.target, str) and verdict.target.startswith(RANGE_STARTS) and is_real(verdict.after)


def _is_target(verdict: RowOutcome) -> bool:
    """Whether the prediction is the very class that was asked for, given as the label or in words."""
    return str(verdict.after) == str(verdict.target) or format_label(verdict.after) == format_label(verdict.target)


def _join_sentences(*sentences: str) -> str:
    return escape_controls(" ".join(sentence for sentence in sentences if sentence))


def _to_sentence(text: str) -> str:
    """A reason with a capital letter and a full stop."""
    text = text.strip()
    return text and text[0].upper() + text[1:] + ("" if text[-1] in ".!?" else ".")
