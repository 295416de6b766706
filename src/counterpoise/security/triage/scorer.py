"""Scorer: how likely an alert is a false alarm, learned from alerts whose verdict is known, with its cut-offs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import rankdata
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.exports.flat import real_rows
from counterpoise.types import Array, Mask

SIGNAL_COLUMNS = ("probability", "effort", "bound", "kept", "real_distance")


def measure_signals(explanation: Explanation) -> pd.DataFrame:
    """For each row the target's probability, effort, bound, share kept, and distance to the nearest real target row.

    Effort is infinite where no valid answer was found; NaN stands for what was not measured.
    """
    nearest = [min(apart.tolist(), default=np.nan) for _, apart in real_rows(explanation)]
    return pd.DataFrame(
        {
            "probability": explanation.model_scores.probability_before,
            "effort": np.where(explanation.valid, explanation.effort, np.inf),
            "bound": explanation.bound,
            "kept": explanation.kept,
            "real_distance": np.array(nearest, dtype=np.float64),
        },
        index=explanation.rows.index,
    )


def nearness_columns(signals: pd.DataFrame) -> Array:
    """The signals as columns ``(n, 4)`` that grow with nearness to the target; what is not known is NaN.

    Log-odds of the target, minus the logarithms of effort and of the distance to the nearest real row, share kept.
    """
    p = np.clip(signals["probability"].to_numpy(dtype=np.float64), 1e-6, 1 - 1e-6)
    effort = signals["effort"].to_numpy(dtype=np.float64)
    largest = np.max(effort[np.isfinite(effort)], initial=1.0)
    apart = _fill_unknown(signals["real_distance"].to_numpy(dtype=np.float64), np.nanmax)
    columns = [
        np.log(p / (1 - p)),
        -np.log1p(np.where(np.isfinite(effort), effort, 10 * largest)),
        -np.log1p(apart),
        _fill_unknown(signals["kept"].to_numpy(dtype=np.float64), lambda known: 0.0),
    ]
    return np.column_stack(columns)


def _fill_unknown(column: Array, far: Callable[[Array], float]) -> Array:
    """Fill a column: rows without an answer count as the farthest; a column of NaN alone stays."""
    return column if np.isnan(column).all() else np.where(np.isnan(column), far(column), column)


def rank_nearness(signals: pd.DataFrame) -> Array:
    """The mean rank of the signals that are known, from 0 (farthest) to 1 (nearest), ``(n,)``.

    >>> near = {"probability": [0.4, 0.1], "effort": [0.2, 2.0], "bound": [0, 0], "kept": [0.9, 0.9]}
    >>> rank_nearness(pd.DataFrame(near | {"real_distance": [1.0, 4.0]})).tolist()
    [0.8..., 0.1...]
    """
    columns = nearness_columns(signals)
    known = columns[:, ~np.isnan(columns).any(axis=0)]
    if not known.shape[1] or len(known) < 2:
        return np.full(len(columns), 0.5)
    ranks = (np.apply_along_axis(rankdata, 0, known) - 1) / (len(known) - 1)
    return np.asarray(ranks.mean(axis=1))


@dataclass(frozen=True)
class VerdictSettings:
    """How verdicts are learned from."""

    trees: int = 100  # of the model of the alerts
    leaf_alerts: int = 3  # of a leaf, at least
    columns_share: float = 0.3  # of the columns that a split is chosen among
    least_share: float = 1e-3  # shares of false alarms nearer to 0 or 1 count as this
    folds: int = 5  # of the cross-validation that scores each alert unseen


@dataclass(frozen=True, eq=False)
class VerdictModel:
    """Models of verdicts ``(n,)`` by signals ``(n, s)`` and by the alerts' cells ``(n, d)``."""

    by_signals: Pipeline
    by_cells: ExtraTreesClassifier
    known: Array  # signals and cells of the alerts with a verdict, each column sorted
    settings: VerdictSettings

    @classmethod
    def fit(cls, signals: Array, cells: Array, is_false_alarm: Mask, settings: VerdictSettings) -> VerdictModel:
        """Learn from alerts with a verdict; the same input gives the same model."""
        by_signals = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(signals, is_false_alarm)
        by_cells = ExtraTreesClassifier(
            settings.trees,
            min_samples_leaf=settings.leaf_alerts,
            max_features=settings.columns_share,
            random_state=0,
        )
        both = np.column_stack([signals, cells])
        known = np.sort(both, axis=0)
        return cls(by_signals, by_cells.fit(find_places(known, both), is_false_alarm), known, settings)

    def score(self, signals: Array, cells: Array) -> Array:
        """How likely each alert is a false alarm, ``(m,)``."""
        places = find_places(self.known, np.column_stack([signals, cells]))
        shares = self.by_signals.predict_proba(signals)[:, 1], self.by_cells.predict_proba(places)[:, 1]
        least = self.settings.least_share
        return np.asarray(expit(np.mean([logit(np.clip(share, least, 1 - least)) for share in shares], axis=0)))


def find_places(known: Array, columns: Array) -> Array:
    """Rank of each cell ``(m, d)`` among sorted reference cells ``(n, d)``, from 0 to 1; missing cells get 1.

    >>> find_places(np.array([[1.0], [5.0]]), np.array([[0.0], [3.0], [9.0]])).ravel().tolist()
    [0.0, 0.5, 1.0]
    """
    pairs = zip(known.T, columns.T, strict=True)
    return np.column_stack([np.searchsorted(sorted_cells, cells) / len(known) for sorted_cells, cells in pairs])


def score_unseen(signals: Array, cells: Array, is_false_alarm: Mask, settings: VerdictSettings) -> Array:
    """The score of each alert by a model that has not seen it, ``(n,)``."""
    scores = np.empty(len(signals))
    folds = StratifiedKFold(settings.folds, shuffle=True, random_state=0)
    for training, held in folds.split(signals, is_false_alarm):
        model = VerdictModel.fit(signals[training], cells[training], is_false_alarm[training], settings)
        scores[held] = model.score(signals[held], cells[held])
    return scores


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
    """The widest ranges at both ends of the score with the precision asked for; empty if impossible.

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
    """The class of each score; rows without a score are "not judged"."""
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
