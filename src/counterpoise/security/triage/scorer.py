"""Scorer: how likely an alert is a false alarm, learned from alerts whose verdict is known, with its cut-offs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from counterpoise.security.triage.signals import nearness_columns
from counterpoise.security.triage.verdict_model import VerdictModel, VerdictSettings, score_unseen
from counterpoise.types import Array, Mask

CLASSES = ("likely false alarm", "close call", "stands")
NOT_JUDGED = "not judged"
"""The class of a row that was rejected: nothing is known of it."""


@dataclass(frozen=True)
class TriageSettings:
    """How alerts are put into classes."""

    least_verdicts: int = 10  # alerts of either verdict that calibration needs; fewer: ranks
    false_alarm_precision: float = 0.5  # of those called likely false alarms, the share that must be
    stands_precision: float = 0.95  # of those said to stand, the share that must be true alerts
    stands_false_alarms: float = 0.25  # and at most this part of the share of false alarms among all
    false_alarm_share: float = 0.2  # without verdicts: the share of alerts nearest to the target
    stands_share: float = 0.5  # without verdicts: the share farthest from it
    learning: VerdictSettings = field(default_factory=VerdictSettings)  # how verdicts are learned from


@dataclass(frozen=True, eq=False)
class Quality:
    """What the classes are worth on alerts with a verdict, each scored by a model that has not seen it."""

    rows: int
    auc: float  # of the score, for "is a false alarm"
    auc_probability: float  # of the model's own probability alone
    classes: pd.DataFrame  # by class: alerts, precision, recall


@dataclass(frozen=True, eq=False)
class Scorer:
    """What was learned from verdicts, its cut-offs, and its worth; it can score alerts of another day."""

    model: VerdictModel
    features: tuple[str, ...]  # of the alerts, in order
    columns: Mask  # of `nearness_columns`: those that were known
    cut_offs: tuple[float, float]  # at most the first: stands; at least the second: likely false alarm
    quality: Quality

    def score(self, signals: pd.DataFrame, cells: Array) -> Array:
        """How likely each alert is a false alarm, ``(n,)``; ``cells`` ``(n, d)`` are the alerts as numbers."""
        return self.model.score(_known(signals, self.columns), cells)


def learn_scorer(
    signals: pd.DataFrame, cells: Array, features: tuple[str, ...], is_false_alarm: Mask, settings: TriageSettings
) -> tuple[Scorer, Array]:
    """A scorer from ``n`` alerts with a verdict and ``d`` features, and their scores ``(n,)``, each by others that have
    not seen it; the same input gives the same.
    """
    columns: Mask = np.asarray(~np.isnan(nearness_columns(signals)).any(axis=0))
    x, y = _known(signals, columns), np.asarray(is_false_alarm, dtype=bool)
    unseen = score_unseen(x, cells, y, settings.learning)
    cut_offs = choose_cut_offs(unseen, y, settings)
    model = VerdictModel.fit(x, cells, y, settings.learning)
    return Scorer(model, features, columns, cut_offs, judge_classes(unseen, signals, y, cut_offs)), unseen


def choose_cut_offs(score: Array, is_false_alarm: Mask, settings: TriageSettings) -> tuple[float, float]:
    """The widest ends of the score whose precision is what the settings ask for; an end that has none is empty.

    >>> choose_cut_offs(np.array([0.1, 0.2, 0.6, 0.9]), np.array([False, False, False, True]), TriageSettings())
    (0.6, 0.9)
    """
    order = np.argsort(score, kind="stable")
    ranked, verdict = score[order], np.asarray(is_false_alarm)[order]
    below = np.cumsum(~verdict) / np.arange(1, len(order) + 1)
    above = (np.cumsum(verdict[::-1]) / np.arange(1, len(order) + 1))[::-1]
    ends_below = np.append(ranked[1:] > ranked[:-1], True)  # a cut-off does not part equal scores
    ends_above = np.append(True, ranked[1:] > ranked[:-1])
    pure = max(settings.stands_precision, 1 - settings.stands_false_alarms * float(verdict.mean()))
    low = np.flatnonzero((below >= pure) & ends_below)
    stands = float(ranked[low[-1]]) if len(low) else -np.inf
    high = np.flatnonzero((above >= settings.false_alarm_precision) & ends_above & (ranked > stands))
    return stands, float(ranked[high[0]]) if len(high) else np.inf


def put_into_classes(score: Array, cut_offs: tuple[float, float]) -> list[str]:
    """The class of each score; that of a row without one says that it was not judged."""
    stands, false_alarm = cut_offs
    return [
        NOT_JUDGED
        if np.isnan(each)
        else CLASSES[0]
        if each >= false_alarm
        else CLASSES[2]
        if each <= stands
        else CLASSES[1]
        for each in score
    ]


def judge_classes(score: Array, signals: pd.DataFrame, is_false_alarm: Mask, cut_offs: tuple[float, float]) -> Quality:
    """Precision and recall of the classes, and the area under the curve of the score beside the probability alone."""
    verdict = np.asarray(is_false_alarm, dtype=bool)
    classes = np.array(put_into_classes(score, cut_offs), dtype=object)
    lines = []
    for name, right in ((CLASSES[0], verdict), (CLASSES[2], ~verdict)):
        inside = classes == name
        precision = float(right[inside].mean()) if inside.any() else np.nan
        recall = float(inside[right].mean()) if right.any() else np.nan
        lines.append((name, int(inside.sum()), precision, recall))
    table = pd.DataFrame(lines, columns=["class", "alerts", "precision", "recall"]).set_index("class")
    p = signals["probability"].to_numpy(dtype=np.float64)
    both = verdict.any() and not verdict.all()
    alone = float(roc_auc_score(verdict, p)) if both and not np.isnan(p).any() else np.nan
    return Quality(len(verdict), float(roc_auc_score(verdict, score)) if both else np.nan, alone, table)


def _known(signals: pd.DataFrame, columns: Mask) -> Array:
    x = nearness_columns(signals)[:, columns]
    return np.asarray(np.where(np.isnan(x), 0.0, x))
