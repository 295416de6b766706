"""Proof: how near to the least the answers are, for models of trees: a bound below every valid answer's effort."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.asking.row_form import choose_form
from counterpoise.api.asking.steadiness import Steadiness
from counterpoise.api.inputs.rows_in import read_rows
from counterpoise.api.replay import Constraints, replay
from counterpoise.api.verify import verify
from counterpoise.errors import CapabilityError, InputError
from counterpoise.explanation.explanation import Explanation, check_explanation
from counterpoise.explanation.fields import gap_to_bound
from counterpoise.methods.base import Run
from counterpoise.methods.proven import prove_run
from counterpoise.methods.settings.proof import ProofSettings
from counterpoise.types import is_number

STATUSES = ("optimal", "bounded", "valid", "infeasible", "not_found")
OPTIMAL_TOLERANCE = 1e-6  # relative: an answer that costs this little more than the bound is the least there is


@dataclass(frozen=True, eq=False, repr=False)
class Proofs:
    """What is proven of the answers; ``table`` has a line for each row.

    effort: what the cheapest answer known costs, ``d + lam R``, in standard deviations: the explanation's, or a nearer
    one that the proof met; infinite where there is none. bound:
    no valid answer inside the constraints costs less. gap: ``effort / bound - 1``; 0 where the answer is proven to be
    the least, infinite where the bound is 0, NaN without an answer. status: "optimal", "bounded", "valid" where the
    bound is 0, "infeasible" where it is proven that nothing legal turns the decision, "not_found" where the search for
    a row without an answer did not end. nearer: whether the proof met an answer that costs less; ``answers`` has those,
    with the columns and dtypes of the rows: your own ``predict`` and every constraint confirm them.
    """

    table: pd.DataFrame
    answers: pd.DataFrame
    settings: ProofSettings

    def __repr__(self) -> str:
        counts = self.table["status"].value_counts()
        counted = ", ".join(f"{counts[name]} {name}" for name in STATUSES if name in counts)
        finite = self.table["gap"].to_numpy(dtype=np.float64)
        finite = finite[np.isfinite(finite)]
        middle = f"; gap {np.median(finite):.2%} (median)" if len(finite) else ""
        nearer = int(self.table["nearer"].sum())
        found = f"; {nearer} nearer answer{'s' if nearer != 1 else ''} met" if nearer else ""
        return f"{len(self.table)} answer{'s' if len(self.table) != 1 else ''}: {counted or 'none'}{middle}{found}"


def prove(
    explanation: Explanation,
    model: Any,
    *,
    settings: ProofSettings | None = None,
    budget: float | None = None,
    constraints: Constraints = (),
    weights: Mapping[Hashable, float] | None = None,
) -> Proofs:
    """How far the answers can be from the least, by an exact search over the leaves of the model's trees.

    The search is best-first branch and bound over boxes of leaves: it goes on until nothing cheaper is left, or until
    its ``settings`` (numbers of boxes, never a clock) or the ``budget`` in seconds for the whole call end it; what is
    then known is a bound. Relations between features are left out of the bound, which so only gets lower.

    explanation: answers of this model.
    model: the model that was explained.
    settings: how much work a proof may take, in boxes; None: to the end.
    budget: seconds for the whole call; None: no limit.
    constraints, weights: those of the explanation, needed only where it was saved and could not hold them.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = DecisionTreeClassifier().fit(train, ["benign", "benign", "alert", "alert"])
    >>> prove(explain(model, train[3:], reference=train), model)
    1 answer: 1 optimal; gap 0.00% (median)
    """
    if budget is not None and not (is_number(budget) and budget > 0):
        raise InputError("budget must be seconds above 0", f"{budget!r}", "for instance 10.0, or None")
    check_explanation(explanation)
    if explanation.firm is not None:
        raise InputError(
            "a proof is of the least effort of an answer",
            "these answers were asked to withstand noise",
            "prove the minimal ones: explanation.tipping",
        )
    played = replay(explanation, model, constraints=constraints, weights=weights)
    deadline = np.inf if budget is None else time.perf_counter() + float(budget)
    problem = replace(played.problem, deadline=deadline)
    effort = np.where(explanation.valid, problem.energy.effort(played.x[:, None, :], problem.x0)[:, 0], np.inf)
    done = np.zeros(len(effort), dtype=bool)
    start = Run(played.x[:, None, :], np.where(explanation.valid, 0.0, -np.inf)[:, None], effort[:, None], done, 0)
    run = prove_run(problem, start, settings or ProofSettings())
    if run.bound is None or run.is_infeasible is None:
        raise CapabilityError(
            "a proof needs to know what the model computes, and a distance and a penalty that add up over features",
            f"{type(problem.model).__name__} with {problem.energy.distance.name}",
            "explain trees, a linear model or a network of known layers with l2, l1, l0, gower or mad",
        )
    schema, tally = explanation.schema, problem.tally
    rows = read_rows(explanation.rows, schema)
    form = choose_form(problem.model, rows, schema, Steadiness(), tally).form  # trees answer the same in every call
    verdict = verify(problem, form, run, 1, explanation.model_scores.before)
    verified = np.where(verdict.holds[:, 0], problem.energy.effort(verdict.x, problem.x0)[:, 0], np.inf)
    nearer = verified < effort * (1 - OPTIMAL_TOLERANCE)
    least = np.minimum(effort, verified)
    bound = np.minimum(np.where(run.is_infeasible, np.inf, run.bound), least)
    gap = gap_to_bound(least, bound)
    status = np.where(gap == 0, "optimal", np.where(bound > 0, "bounded", "valid")).astype(object)
    status[np.isinf(least)] = "not_found"
    status[run.is_infeasible & np.isinf(least)] = "infeasible"
    table = pd.DataFrame(
        {"effort": least, "bound": bound, "gap": gap, "status": status, "nearer": nearer},
        index=explanation.rows.index,
    )
    found = np.where(nearer[:, None, None], verdict.x, explanation.answers[:, :1])
    answers = replace(explanation, answers=found, tipping=None).frame[nearer]
    return Proofs(table, answers, settings or ProofSettings())
