"""What verdicts teach: a model of the signals, and one of the alerts themselves, whose log-odds are averaged.

The first carries over from few verdicts; the second learns which kinds of alerts turn out to be false.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from counterpoise.types import Array, Mask


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
    """Where each cell ``(m, d)`` stands among the sorted ones ``(n, d)``, from 0 to 1; a missing one stands last.

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
