"""One random question: a table, a model, constraints, a target and the settings of a call, all from one seed."""

from __future__ import annotations

import inspect
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np

import counterpoise as cp
from fuzz.models import draw_subject
from fuzz.schemas import draw_schema
from fuzz.subject import Subject
from fuzz.tables import LATEST, Rng, Table, draw_table
from fuzz.word import Word
from fuzz.words import draw_words


@dataclass(frozen=True)
class Case:
    """Everything that is asked, and of what."""

    seed: int
    table: Table
    subject: Subject
    words: list[Word]
    explainer_settings: dict[str, Any]
    settings: dict[str, Any]
    is_saved: bool = False  # the explainer is written to a file and read again before it is asked

    def describe(self) -> str:
        """What was drawn, on one line."""
        order = (
            ""
            if list(self.table.rows.columns)[: len(self.table.kinds)] == list(self.table.kinds)
            else " in another order"
        )
        return (
            f"model: {self.subject.name}; columns: {self.table.kinds}; {len(self.table.reference)} reference rows, "
            f"{len(self.table.rows)} rows{order}; labels {self.subject.labels}; constraints: {self.words}; "
            f"{self.explainer_settings} {self.settings}"
        )

    def ask(self) -> cp.Explanation:
        """Have the library answer."""
        explainer = cp.Explainer(
            self.subject.model,
            reference=self.table.reference,
            constraints=[word.given for word in self.words if word.given is not None],
            **self.explainer_settings,
        )
        if self.is_saved and all(isinstance(word.given, cp.Immutable | cp.Range | cp.Rule) for word in self.words):
            with tempfile.TemporaryDirectory() as folder:
                explainer.save(f"{folder}/saved", with_model=False)
                explainer = cp.load_explainer(f"{folder}/saved", model=self.subject.model)
        return explainer(self.table.rows.copy(), **self.settings)


def draw_case(seed: int, edition: int = LATEST) -> Case:
    """The question that a seed stands for in an edition."""
    rng = np.random.default_rng(seed)
    table = draw_table(rng, edition)
    subject = draw_subject(rng, table, edition)
    words = draw_words(rng, table, edition)
    target, threshold = _draw_target(rng, table, subject)
    method = _draw_method(rng)
    given: dict[str, Any] = {
        "bounds": [None, "observed"][int(rng.random() < 0.8)],
        "weights": _draw_weights(rng, table),
        "values": rng.choice(["auto", "any", "seen"]).item(),
        "relations": ["discovered", None][int(rng.random() < 0.5)],
    }
    asked: dict[str, Any] = {
        "target": target,
        "threshold": threshold,
        "distance": _often(rng, "l2", ["l1", "l0", "gower", {"l2": 1.0, "l0": 0.1}, {"l1": 1.0, "gower": 2.0}]),
        "lam": _often(rng, "auto", [0.0, 0.1, 5.0]),
        "mu": _often(rng, "auto", [0.0, 1.0]),
        "penalty": _often(rng, "changes", ["l1"]),
        "keep": _often(rng, None, [0.6, 0.9], 0.95),
        "temperature": _often(rng, 0.0, [0.5], 0.97),
        "noise": _often(rng, "auto", [0.2]),
        "kept": _often(rng, "auto", [True, False]),
        "proof": _often(rng, "auto", [True, False]),
        "gap": _often(rng, 0.0, [0.1]),
        "alternatives": int(_often(rng, 1, [2, 3])),
        "regularizers": _often(rng, (), [(cp.NearTarget(),)], 0.95),
        "method": method,
        "seed": int(rng.integers(100)),
        "progress": False,
        "on_error": "raise",
    }
    asked["budget"] = 20.0 if asked["proof"] is True else None  # which goes on to the end, or to the budget's
    if asked["keep"] is not None:
        asked["temperature"] = 0.0
    if asked["keep"] is None and asked["temperature"] == 0:
        asked["noise"] = "auto"
    if edition > 1:
        words += _draw_later_settings(rng, table, subject, given, asked)
    explainer_settings, settings = _keep_known(given, cp.Explainer.__init__), _keep_known(asked, cp.Explainer.__call__)
    return Case(seed, table, subject, words, explainer_settings, settings, edition > 1 and rng.random() < 0.04)


def _draw_later_settings(
    rng: Rng, table: Table, subject: Subject, given: dict[str, Any], asked: dict[str, Any]
) -> list[Word]:
    """Changes to the settings, and the constraints that a schema file brings along."""
    asked["distance"] = _often(rng, asked["distance"], ["linf", "mad", {"l2": 1.0, "mad": 0.5}], 0.9)
    asked["regularizers"] = _often(
        rng,
        asked["regularizers"],
        [(cp.Mahalanobis(),), (cp.LocalOutlier(3),), (cp.NearTarget(2), cp.Mahalanobis())],
        0.95,
    )
    if asked["keep"] is None and asked["temperature"] == 0:
        if rng.random() < 0.06:
            asked["keep"] = float(rng.choice([0.3, 0.7, 0.99]))
        elif rng.random() < 0.04:
            asked["temperature"] = float(rng.choice([0.05, 0.2, 2.0]))
    if asked["keep"] is not None or asked["temperature"]:
        asked["noise"] = _often(rng, asked["noise"], [cp.Gaussian(0.3, flips=0.1), cp.RankNoise(0.1), 0.05], 0.5)
    elif rng.random() < 0.03 and asked["method"] is None:
        asked["alternatives"] = "basins"
    if rng.random() < 0.05:
        asked["model_rows"] = int(rng.choice([1, 5, 60, 500, 4000]))
    if rng.random() < 0.03:
        asked["budget"] = float(rng.choice([0.0, 0.02, 0.3]))
    if rng.random() < 0.03:
        asked["agree"] = [subject.model]
    if rng.random() < 0.01:
        asked["n_jobs"] = 2
    asked["method"] = _often(rng, asked["method"], [*METHODS], 0.96)
    if rng.random() < 0.1:
        given["schema"], words = draw_schema(rng, table)
        return words
    return []


METHODS = (
    cp.GrowingSpheres(samples=30, shells=8),
    cp.RandomSearch(samples=40, rounds=3),
    cp.Algorithm1(iterations=40),
    cp.Lime(samples=60, rounds=3),
    cp.Proven(cp.NearestNeighbour()),
)


def _draw_weights(rng: Rng, table: Table) -> dict[Any, float] | None:
    """What changes count, mostly as usual; infinity forbids one."""
    if rng.random() < 0.85:
        return None
    return {
        name: float(rng.choice([0.5, 2.5, np.inf], p=[0.45, 0.45, 0.1])) for name in table.kinds if rng.random() < 0.5
    }


def _often(rng: Rng, usual: Any, others: list[Any], share: float = 0.7) -> Any:
    chance, place = rng.random(), int(rng.integers(len(others)))
    return usual if chance < share else others[place]


def _keep_known(settings: dict[str, Any], function: Any) -> dict[str, Any]:
    """The settings that the function has."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in settings.items() if name in known}


def _draw_method(rng: Rng) -> Any:
    methods = [cp.NearestNeighbour(), cp.Polished(cp.NearestNeighbour()), cp.Annealing(chains=3, steps=4)]
    return _often(rng, None, methods, 0.9)


def _draw_target(rng: Rng, table: Table, subject: Subject) -> tuple[Any, float | None]:
    """What is asked of each row, and the threshold."""
    if subject.labels is None:
        said = np.sort(np.asarray(subject.predict(table.reference.copy()), dtype=float))
        low, high = np.quantile(said, [0.6, 0.9])
        return [(float(low), None), (None, float(low)), (float(low), float(max(high, low)))][int(rng.integers(3))], None
    label = subject.labels[int(rng.integers(len(subject.labels)))]
    target = [
        "opposite",
        label,
        cp.AnythingBut(label),
        list(subject.labels[:-1]),
        np.array([label] * len(table.rows)),
    ][int(rng.choice(5, p=[0.5, 0.3, 0.08, 0.06, 0.06]))]
    wants_odds = subject.probabilities is not None and rng.random() < 0.25 and target is label
    return target, float(rng.choice([0.3, 0.5, 0.8])) if wants_odds else None
