"""explain() and Explainer: the stages of one call, in order.

frame -> encoded rows -> model -> aim -> region -> problem -> chunks -> method -> verification -> Explanation.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from counterpoise.api.evidence import fingerprint
from counterpoise.api.firm import parse_firmness
from counterpoise.api.importance import ImportanceMethod, importance_weights
from counterpoise.api.progress import ProgressSetting
from counterpoise.api.reference import PROBE_ROWS, Reference
from counterpoise.api.rows_in import InputRows, check_settings, read_rows
from counterpoise.api.run import ExplanationRun, Question
from counterpoise.api.unknown_categories import add_unknown_categories, note_unknown_categories
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.methods.base import Method
from counterpoise.methods.polish import Polished
from counterpoise.methods.search import Search
from counterpoise.models.probability import as_probability_model
from counterpoise.models.registry import as_model
from counterpoise.objective.measures import DistanceBuilder, check_regularizers
from counterpoise.objective.noise import Noise
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer
from counterpoise.space.constraints.between_features import ConstraintOrFunction, as_constraints
from counterpoise.space.constraints.words import Constraint, Immutable
from counterpoise.space.distance import Distance
from counterpoise.space.region.region import Bounds, Region, check_constraints
from counterpoise.space.schema.schema import Schema
from counterpoise.types import Array, Model, is_number

AUTO_LAM_TIMES_ROOT_D = 0.02  # lam of "auto" times the square root of the number of features: docs/choices.md


class Explainer:
    """A model with its reference data and constraints, ready to be asked about rows.

    ``weights`` says how much a change of a feature counts in the regulariser; infinity forbids it. "permutation" and
    "shap" take the weights from what the model makes of each feature. The reference is scored once, and its rows are
    not in the ``model_rows`` of an explanation. ``new_categories`` lets rows have categories that neither it nor the
    schema has, where the model takes them: no answer takes them.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.5, 1.25, 3.75, 4.5], "ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> explainer = Explainer(model, reference=train, constraints=[Immutable("load")])
    >>> explanation = explainer(train[2:3], target="benign")
    >>> explanation.valid.tolist(), explanation.changes["feature"].tolist()
    ([True], ['ports'])
    >>> explainer
    Explainer of LogisticRegression: 2 features, 4 reference rows, 1 constraint
    """

    def __init__(
        self,
        model: Any,
        *,
        reference: pd.DataFrame | Array | None = None,
        schema: Schema | None = None,
        constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction = (),
        bounds: Bounds = "observed",
        weights: Mapping[Hashable, float] | ImportanceMethod | None = None,
        new_categories: bool = False,
    ) -> None:
        self._user_model = model
        self.reference = Reference(model, reference, schema)
        self.schema = self.reference.schema
        self.bounds: Bounds = bounds
        self.new_categories = new_categories
        self.weights = self._check_weights({} if isinstance(weights, str) else weights)
        given = as_constraints(constraints)
        forbidden = [name for name, weight in self.weights.items() if np.isinf(weight)]
        self.constraints = (*given, Immutable(*forbidden)) if forbidden else given
        check_constraints(self.schema, self.constraints, bounds)  # contradictions are found before any row is seen
        self.held = _fixed_features(self.schema, self.constraints)
        self.model: Model = as_model(model, self.schema, self.reference.sample_rows(PROBE_ROWS))
        if isinstance(weights, str):
            found = importance_weights(weights, self.model, self.reference.x)
            self.weights = dict(zip(self.schema.names, found.tolist(), strict=True))
        self._distance_builder = DistanceBuilder(self.schema, self.constraints, self.weights)

    def __repr__(self) -> str:
        counts = {
            "feature": len(self.schema),
            "reference row": len(self.reference.x),
            "constraint": len(self.constraints),
        }
        said = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items())
        return f"Explainer of {type(self._user_model).__name__}: {said}"

    def __getstate__(self) -> dict[str, Any]:
        """What it was made of: the user's own model, and nothing that can be made again."""
        return {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("model", "fingerprint", "_distance_builder")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._distance_builder = DistanceBuilder(self.schema, self.constraints, self.weights)
        self.model = as_model(self._user_model, self.schema, self.reference.sample_rows(PROBE_ROWS))

    def __call__(
        self,
        X: Any,
        *,
        target: Any = "opposite",
        threshold: float | None = None,
        distance: str | Mapping[str, float] | type[Distance] = "l2",
        lam: float | Literal["auto"] = "auto",
        mu: float | Literal["auto"] = "auto",
        regularizers: Sequence[Regularizer | Fittable] = (),
        temperature: float = 0.0,
        keep: float | None = None,
        noise: float | Noise | Literal["auto"] = "auto",
        alternatives: int = 1,
        budget: float | None = None,
        method: Method | None = None,
        seed: int = 0,
        progress: ProgressSetting = None,
    ) -> Explanation:
        """Explain rows: the least change inside the constraints that gives each of them the target.

        ``X`` is a frame, an array, a Series, a dict or a list of dicts. ``target`` is "opposite", a label, a list of
        labels (any of them), an array of labels (one per row), `AnythingBut`, or a range (low, high) for a model that
        gives numbers. ``threshold`` asks for that probability of the target. ``keep`` asks for the nearest answer that
        keeps the target in that share of noisy copies, ``temperature`` for the one of least free energy; ``noise`` is
        "auto" (calibrated on the reference), a number (Gaussian, in feature scales) or a noise. ``budget`` is seconds
        for the whole call.
        """
        started = time.perf_counter()
        check_settings(lam, mu, alternatives, budget, seed)
        if method is not None and (not hasattr(method, "iterate") or isinstance(method, type)):
            raise InputError(
                "method must be a method", f"{method!r}", "for instance cp.Search() or cp.NearestNeighbour()"
            )
        asked, intake = self.prepare_rows(X)
        schema, model = asked.schema, asked.model
        measure, penalty = asked._distance_builder(distance)
        question = Question(
            model=model if threshold is None or model.labels is None else as_probability_model(model),
            schema=schema,
            reference=asked.reference,
            held=self.held,
            constraints=self.constraints,
            bounds=self.bounds,
            target=target,
            threshold=threshold,
            distance=measure,
            lam=AUTO_LAM_TIMES_ROOT_D / len(schema) ** 0.5 if isinstance(lam, str) else float(lam),
            mu=None if isinstance(mu, str) else float(mu),
            regularizers=(penalty, *check_regularizers(regularizers)),
            alternatives=int(alternatives),
            method=method if method is not None else _default_method(int(alternatives)),
            seed=int(seed),
            start_time=started,
            budget=None if budget is None else float(budget),
            firmness_request=parse_firmness(keep, temperature, noise),
            fingerprint=self.fingerprint,
        )
        return ExplanationRun(question, intake).run(progress)

    def prepare_rows(self, data: Any) -> tuple[Explainer, InputRows]:
        """The rows, and who is asked about them: an explainer that knows the categories of those rows as well."""
        try:
            return self, read_rows(data, self.schema)
        except InputError as error:
            wide = add_unknown_categories(self.schema, data, error)
            if wide is None:
                if self.new_categories and hasattr(error, "unknown"):
                    todo = f"{error.todo}; new ones have no place in an order, or in a dtype that lists its categories"
                    raise InputError(error.must, error.given, todo) from None
                raise
            if not self.new_categories:
                todo = f"{error.todo}, or allow them: new_categories=True, --new-categories"
                raise InputError(error.must, error.given, todo) from None
            asked = copy(self)
            asked.schema, asked.reference = wide, copy(self.reference)
            asked._distance_builder = DistanceBuilder(wide, self.constraints, self.weights)
            asked.reference.schema = wide
            asked.model = as_model(self._user_model, wide, self.reference.sample_rows(PROBE_ROWS))
            return asked, note_unknown_categories(asked.model, read_rows(data, wide), wide, error)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what the model says of up to 256 reference rows; empty without a reference."""
        return fingerprint(self.model, self.reference.sample_rows(PROBE_ROWS)) if len(self.reference.x) else ""

    def _check_weights(self, weights: Mapping[Hashable, float] | None) -> dict[Hashable, float]:
        if weights is not None and not isinstance(weights, Mapping):
            raise InputError(
                "weights must map feature names to numbers, or be 'permutation' or 'shap'",
                f"a {type(weights).__name__}",
                "for instance {'age': 2.0}",
            )
        for name, weight in (weights or {}).items():
            self.schema.position(name)
            if not is_number(weight) or not weight >= 0:
                raise InputError(
                    "weights must be numbers of at least 0",
                    f"{name!r} has {weight!r}",
                    "0 makes a change free of penalty, infinity forbids it",
                )
        return {name: float(weight) for name, weight in (weights or {}).items()}


@cache
def _default_method(alternatives: int) -> Method:
    """The method that is taken where none is given."""
    return Polished(Search(), answers=2 * alternatives - 1)


def _fixed_features(schema: Schema, constraints: Sequence[Constraint]) -> dict[Hashable, str]:
    """Features that no row may change, and why."""
    region = Region.build(schema, np.full((1, len(schema)), np.nan), constraints)
    out = {}
    for number, feature in enumerate(schema):
        if region.fixed[0, number]:
            words = [word for word in region.constraint_texts[number] if word.startswith(("Immutable", "Mutable"))]
            out[feature.name] = feature.fixed or " and ".join(words)
    return out


def explain(
    model: Any,
    X: Any,
    *,
    reference: pd.DataFrame | Array | None = None,
    schema: Schema | None = None,
    constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction = (),
    bounds: Bounds = "observed",
    target: Any = "opposite",
    threshold: float | None = None,
    distance: str | Mapping[str, float] | type[Distance] = "l2",
    lam: float | Literal["auto"] = "auto",
    mu: float | Literal["auto"] = "auto",
    weights: Mapping[Hashable, float] | ImportanceMethod | None = None,
    new_categories: bool = False,
    regularizers: Sequence[Regularizer | Fittable] = (),
    temperature: float = 0.0,
    keep: float | None = None,
    noise: float | Noise | Literal["auto"] = "auto",
    alternatives: int = 1,
    budget: float | None = None,
    method: Method | None = None,
    seed: int = 0,
    progress: ProgressSetting = None,
) -> Explanation:
    """The least change that turns the decision on each row: `Explainer` and its call in one.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.5, 1.25, 3.75, 4.5]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> explain(model, {"load": 4.0}, reference=train).scores["after"].tolist()
    ['benign']
    """
    explainer = Explainer(
        model,
        reference=reference,
        schema=schema,
        constraints=constraints,
        bounds=bounds,
        weights=weights,
        new_categories=new_categories,
    )
    return explainer(
        X,
        target=target,
        threshold=threshold,
        distance=distance,
        lam=lam,
        mu=mu,
        regularizers=regularizers,
        temperature=temperature,
        keep=keep,
        noise=noise,
        alternatives=alternatives,
        budget=budget,
        method=method,
        seed=seed,
        progress=progress,
    )
