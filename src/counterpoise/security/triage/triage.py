"""triage: for each alert how near it is to benign and what to make of it; alerts that share a way out; evasion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import REJECTED
from counterpoise.explanation.formats import format_label, format_pair
from counterpoise.readable import Readable, Summary
from counterpoise.security.groups import AlertGroup, group_alerts, share_grouped
from counterpoise.security.triage.scorer import (
    CLASSES,
    NOT_JUDGED,
    Quality,
    Scorer,
    TriageSettings,
    learn_scorer,
    measure_signals,
    put_into_classes,
    rank_nearness,
)
from counterpoise.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Triage(Readable):
    """What was made of each alert.

    explanation: what the triage is of.
    table: a line an alert: probability (of the target, before), effort, bound, kept, real_distance, score (from 0,
        stands, to 1, a false alarm), class, group (its place in ``groups``, -1: none), and verdict where one was given.
        A row that was rejected has no score, and is not judged.
    groups: alerts with the same way out, the largest first.
    evasion: what somebody who wants to pass would move: `Explanation.importance` over all alerts.
    cut_offs: scores at most the first stand, those of at least the second are likely false alarms.
    scorer: what was learned from verdicts, for alerts of another day; None: the classes are ranks.
    """

    explanation: Explanation
    table: pd.DataFrame
    groups: tuple[AlertGroup, ...]
    evasion: pd.DataFrame
    cut_offs: tuple[float, float]
    scorer: Scorer | None
    note: str

    @property
    def quality(self) -> Quality | None:
        """Precision and recall of the classes on alerts with a verdict; None where there are too few."""
        return None if self.scorer is None else self.scorer.quality

    @property
    def share_grouped(self) -> float:
        """The share of alerts that are in a group."""
        return share_grouped(self.groups, len(self.table))

    @property
    def group_table(self) -> pd.DataFrame:
        """A line a group: alerts, way_out, and the median values before and after of each feature that it moves."""
        return pd.DataFrame([self._describe_group(group) for group in self.groups])

    def _describe_group(self, group: AlertGroup) -> dict[str, Any]:
        rows = list(group.rows)
        line: dict[str, Any] = {"alerts": len(rows), "way_out": group.title}
        verdicts = self.table["verdict"].iloc[rows].dropna().tolist() if "verdict" in self.table else []
        if verdicts:  # how pure the group is
            largest, count = Counter(verdicts).most_common(1)[0]
            line["largest_verdict"] = count / len(verdicts)
            line["verdicts"] = f"{100 * count / len(verdicts):.0f} % {largest} of {len(verdicts)} with a verdict"
        elif "verdict" in self.table:
            line["verdicts"] = "none has a verdict"
        values = []
        for move in group.moves:
            place = [str(name) for name in self.explanation.schema.names].index(move.feature)
            feature = self.explanation.schema.features[place]
            if feature.is_numeric:
                cells = self.explanation.x0[rows, place], self.explanation.x[rows, place]
                before, after = format_pair(feature, *(float(np.nanmedian(column)) for column in cells))
                values.append(f"{move.feature} {before} → {after}")
            else:
                values.append(f"{move.feature} → {move.part}")
        return line | {"median": ", ".join(values)}

    def summarize(self) -> Summary:
        """How many alerts each class has, and the groups."""
        counts = self.table["class"].value_counts()
        shown = [*CLASSES, *([NOT_JUDGED] if NOT_JUDGED in counts else [])]
        words = ", ".join(f"{counts.get(name, 0)} {name}" for name in shown)
        lines = [(str(len(group.rows)), group.title) for group in self.groups]
        return Summary(f"{len(self.table)} alerts: {words}; {self.note}", ("alerts", "way out"), lines)

    def save(self, path: str | Path, *, redact: bool = False, title: str = "Alert triage", **about: str) -> Path:
        """Write the triage as one HTML page that needs nothing but a browser; gives the path.

        redact: leave out values, carried columns and texts made of them. about: what the header says beside the date
        and the question, such as ``model="detector.skops"``.
        """
        from counterpoise.security.triage.page import write_triage_page

        return write_triage_page(self, path, redact=redact, title=title, about=about)


def triage(
    explanation: Explanation,
    verdicts: Sequence[Any] | pd.Series[Any] | None = None,
    *,
    scorer: Scorer | None = None,
    settings: TriageSettings = TriageSettings(),
) -> Triage:
    """What to make of alerts that were explained against benign: likely false alarm, close call, or stands.

    explanation: of the alerts, with the benign class as its target.
    verdicts: what each alert turned out to be, missing where nobody knows; one that equals the target is a false alarm.
        With at least ten of either sort the score is learned from them, from what the explanation measured and from the
        alerts themselves, and the cut-offs are calibrated on them; an alert with a verdict is scored by what the
        others taught. Otherwise the classes are ranks of nearness.
    scorer: of an earlier triage with verdicts, used in place of learning one.
    settings: from where on an alert is in which class.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 3, 6, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign"] * 3 + ["alert"] * 3)
    >>> found = triage(explain(model, train[3:], reference=train, target="benign"))
    >>> found.table["class"].tolist()
    ['likely false alarm', 'stands', 'stands']
    """
    if not isinstance(explanation, Explanation):
        raise InputError("triage is of an Explanation", f"{explanation!r}", "give what explain returns")
    signals = measure_signals(explanation)
    known = _read_verdicts(explanation, verdicts)
    judged = explanation.status != REJECTED
    features = tuple(map(str, explanation.schema.names))
    note = "ranks alone: no verdicts were given"
    has = np.zeros(len(explanation), dtype=bool)
    unseen = np.empty(0)
    if scorer is None and verdicts is not None:
        has = judged & np.array([verdict is not None for verdict in known], dtype=bool)
        false_alarm = np.array(
            [verdict == format_label(target) for verdict, target in zip(known, explanation.target, strict=True)],
            dtype=bool,
        )
        counts = int(false_alarm[has].sum()), int((~false_alarm[has]).sum())
        note = f"ranks alone: {counts[0]} false alarms and {counts[1]} true ones are too few to learn from"
        if min(counts) >= max(settings.least_verdicts, settings.learning.folds):
            scorer, unseen = learn_scorer(signals[has], explanation.x0[has], features, false_alarm[has], settings)
    score = np.full(len(explanation), np.nan)
    if scorer is None:
        score[judged], cut_offs = _score_by_rank(signals[judged], settings)
    else:
        _check_features(scorer, features)
        cut_offs = scorer.cut_offs
        if judged.any():
            score[judged] = scorer.score(signals[judged], explanation.x0[judged])
        if len(unseen):
            score[has] = unseen
        note = f"calibrated on {scorer.quality.rows} alerts with a verdict"
    groups = group_alerts(explanation)
    group_of = np.full(len(explanation), -1)
    for place, group in enumerate(groups):
        group_of[list(group.rows)] = place
    table = signals.assign(score=score, group=group_of)
    table["class"] = pd.Series(put_into_classes(score, cut_offs), index=table.index, dtype=object)
    if verdicts is not None:
        table["verdict"] = pd.Series(known, index=table.index, dtype=object)
    return Triage(explanation, table, groups, explanation.importance(), cut_offs, scorer, note)


def _score_by_rank(signals: pd.DataFrame, settings: TriageSettings) -> tuple[Array, tuple[float, float]]:
    score = rank_nearness(signals)
    if not len(score):
        return score, (-np.inf, np.inf)
    low, high = np.quantile(score, [settings.stands_share, 1 - settings.false_alarm_share])
    return score, (float(min(low, np.nextafter(high, -np.inf))), float(high))


def _check_features(scorer: Scorer, features: tuple[str, ...]) -> None:
    if scorer.features != features:
        differing = sorted(set(scorer.features) ^ set(features)) or ["their order"]
        raise InputError(
            "a scorer is for alerts with the features that it was learned from",
            f"they differ in {', '.join(differing[:5])}",
            "learn another from alerts of this detector",
        )


def _read_verdicts(explanation: Explanation, verdicts: Any) -> list[str | None]:
    if verdicts is None:
        return [None] * len(explanation)
    listed = list(verdicts)
    if len(listed) != len(explanation):
        raise InputError("there must be a verdict for each alert", f"{len(listed)} for {len(explanation)}", "give all")
    return [None if pd.isna(verdict) or verdict == "" else format_label(verdict) for verdict in listed]
