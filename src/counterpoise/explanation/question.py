"""Question: what was asked of the rows, as data.

Who owns what:

- `Question` (here): what was asked. Data only: no model, no reference, no rows. `Explainer` makes one for each call,
  `Explanation` carries it, a saved explanation holds it, and whatever looks at the answers later asks it again.
- `counterpoise.api.problem_parts.problems.ExplainedModel`: who answers: the model, the schema and the distances of one
  explainer.
- `counterpoise.problem.Problem`: what a method reads to search for some rows. It is built from the two above, in
  `counterpoise.api.problem_parts.problems.build_problem` and nowhere else.
- `counterpoise.api.solve.AnswerTask`: what it takes to answer one chunk of rows: its Problem, table and predictions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

import numpy as np

from counterpoise.explanation.stored_objects import as_picklable
from counterpoise.objective.measures import Penalty
from counterpoise.objective.noise import Noise
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer
from counterpoise.space.constraints.words import Constraint, Immutable
from counterpoise.space.distance import Distance, name_of_distance
from counterpoise.space.region.region import Bounds
from counterpoise.types import Index

Target: TypeAlias = "Hashable | list[Any] | set[Any] | frozenset[Any] | np.ndarray[Any, Any] | AnythingBut"
"""What the decision should become: "opposite", a label, several labels, one label per row, `AnythingBut`, a range."""

DistanceSpec: TypeAlias = str | Mapping[str, float] | type[Distance] | Distance
"""A distance as the user names it: "l2", "l1", "l0", "gower", "mad", "linf", weights of them, or the user's own."""


@dataclass(frozen=True, init=False)
class AnythingBut:
    """A target: any class except these.

    labels: one or more classes.

    >>> AnythingBut("attack")
    AnythingBut(labels=('attack',))
    """

    labels: tuple[Hashable, ...]

    def __init__(self, *labels: Hashable) -> None:
        object.__setattr__(self, "labels", labels)


@dataclass(frozen=True, eq=False, kw_only=True)
class Question:
    """The question of one explanation: everything that was asked, as data.

    target: what the decision should become (`Target`); an array holds one label per row.
    threshold: the probability that the target must have; None: the model's own decision counts.
    distance: the distance, by name, or weights of several.
    lam: the weight of the penalty in Eq. (3); a number, also where "auto" was asked for.
    penalty: "changes", the number of changed features, or "l1", Eq. (9).
    mu: the weight of the decision in Eq. (3); None: chosen row by row.
    weights: how much a change of a feature counts in the penalty; infinity forbids it. Empty: 1 each.
    regularizers: the user's own, beside the penalty.
    constraints: those that the user gave; `binding_constraints` has those that the weights add.
    relations: those that every reference row obeys, which were discovered; they bind the answers too.
    bounds: "observed" keeps numbers inside the range of the reference, None does not.
    keep, temperature: the share of noisy copies that must keep the target, or the price of those that do not.
    noise: what the answers should withstand; None: calibrated on the reference.
    noise_levels: where noise is calibrated, by target, the level of rank noise that was found; empty: not yet.
    kept: whether the share of noisy copies that keep each answer was to be measured.
    alternatives: how many answers a row gets at most.
    seed: of all random numbers.
    method: the search; None where it is not known.
    proof: "auto" (a fixed amount of work a row), True (to the end) or False: how long a bound of the least effort is
        sought. None: it is not known.
    gap: the proof of a row ends where its answer costs at most this share more than the bound.
    budget: seconds for the whole call; None: no limit.
    model_rows: how many rows the model may be asked about for each row that is answered; None: no limit.
    new_categories: whether rows may have categories that the reference does not have.
    is_complete: False where the question was read from a document of version 1, which told less than all of it.

    >>> Question(target="benign", constraints=(Immutable("port"),), weights={"age": np.inf}).settings["constraints"]
    "Immutable('port'), Immutable('age')"
    """

    target: Target = "opposite"
    threshold: float | None = None
    distance: DistanceSpec = "l2"
    lam: float = 0.0
    penalty: Penalty = "changes"
    mu: float | None = None
    weights: Mapping[Hashable, float] = field(default_factory=dict)
    regularizers: tuple[Regularizer | Fittable, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    relations: tuple[Constraint, ...] = ()
    bounds: Bounds = "observed"
    keep: float | None = None
    temperature: float = 0.0
    noise: Noise | None = None
    noise_levels: Mapping[str, float] = field(default_factory=dict)
    kept: bool | Literal["auto"] = False
    alternatives: int = 1
    seed: int = 0
    method: object = None
    proof: bool | Literal["auto"] | None = None
    gap: float = 0.0
    budget: float | None = None
    model_rows: int | None = None
    new_categories: bool = False
    is_complete: bool = True

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle: an object that cannot be pickled, such as a lambda, is replaced by its record."""
        state = dict(vars(self))
        for name in ("constraints", "relations", "regularizers"):
            state[name] = tuple(map(as_picklable, state[name]))
        return state | {name: as_picklable(state[name]) for name in ("method", "noise")}

    @property
    def binding_constraints(self) -> tuple[Constraint, ...]:
        """All that bind an answer: the user's constraints, relations, `Immutable` for infinite weights."""
        forbidden = [name for name, weight in self.weights.items() if np.isinf(weight)]
        return (*self.constraints, *self.relations, *([Immutable(*forbidden)] if forbidden else []))

    @property
    def _stated_constraints(self) -> tuple[Constraint, ...]:
        return replace(self, relations=()).binding_constraints

    @property
    def asks_for_firmness(self) -> bool:
        """Whether answers should withstand noise."""
        return self.keep is not None or self.temperature > 0

    @property
    def has_target_per_row(self) -> bool:
        """Whether the target is an array with one label per row."""
        return isinstance(self.target, np.ndarray) and self.target.ndim == 1

    @property
    def settings(self) -> dict[str, str]:
        """The question as people read it in a report: a text for each setting."""
        settings = {
            "target": "one per row" if self.has_target_per_row else str(self.target),
            "distance": name_of_distance(self.distance),
            "lam": f"{self.lam:g}",
            "penalty": self.penalty,
            "mu": "auto" if self.mu is None else f"{self.mu:g}",
            "regularizers": ", ".join(map(repr, self.regularizers)) or "none",
            "bounds": str(self.bounds),
            "constraints": ", ".join(map(repr, self._stated_constraints)) or "none",
            "relations": f"{len(self.relations)} discovered" if self.relations else "none",
            "alternatives": str(self.alternatives),
            "method": "not known" if self.method is None else repr(self.method),
        }
        settings |= {} if self.proof is None else {"proof": str(self.proof)}
        settings |= {"gap": f"{self.gap:g}"} if self.gap else {}
        settings |= self._firmness_settings
        settings |= {} if self.threshold is None else {"threshold": f"{self.threshold:g}"}
        settings |= {} if self.model_rows is None else {"model_rows": f"{self.model_rows} a row"}
        return settings | ({} if self.budget is None else {"budget": f"{self.budget:g} s"})

    @property
    def _firmness_settings(self) -> dict[str, str]:
        """What was asked of noise, as texts; empty where noise plays no part."""
        settings: dict[str, str] = {}
        if self.asks_for_firmness:
            settings |= {"keep": f"{self.keep:g}"} if self.keep else {"temperature": f"{self.temperature:g}"}
        if self.asks_for_firmness or self.kept:
            found = ", ".join(f"{level:g} for {target}" for target, level in self.noise_levels.items())
            settings["noise"] = repr(self.noise) if self.noise is not None else f"auto{found and f': {found}'}"
        return settings

    def take(self, rows: Index) -> Question:
        """The question of some of the rows, by position: a target per row goes with its row."""
        if isinstance(self.target, np.ndarray) and self.target.ndim == 1:
            return replace(self, target=self.target[rows])
        return self
