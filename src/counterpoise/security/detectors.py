"""Two detectors on the same rows: where they disagree, and whether answers of one hold in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from counterpoise.api.explainer import Explainer
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.question import AnythingBut
from counterpoise.explanation.stored_objects import StoredObject
from counterpoise.judge.review import Review, review
from counterpoise.readable import Readable, Summary
from counterpoise.space.constraints.words import Constraint


def check_validity(explanation: Explanation, model: Any, *, reference: pd.DataFrame) -> Review:
    """The valid answers of an explanation, judged by a model under the constraints that they were found under.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> labels = ["benign", "benign", "alert", "alert"]
    >>> found = explain(LogisticRegression().fit(train, labels), train[3:], reference=train)
    >>> later = LogisticRegression().fit(train - 3, labels)
    >>> check_validity(found, later, reference=train).table["valid"].tolist()
    [False]
    """
    held = explanation[explanation.valid]
    if not len(held):
        raise InputError("there must be an answer to check", "no row has a valid one", "see the reasons of the rows")
    question = held.question
    if isinstance(question.target, StoredObject) or any(
        isinstance(word, StoredObject) for word in question.binding_constraints
    ):
        raise InputError(
            "the whole question must be known",
            "the file holds objects of yours by their names only",
            "explain the rows again",
        )
    target: Any = question.target
    if not isinstance(target, (AnythingBut, tuple)):
        target = np.array(held.target.tolist(), dtype=object)
    return review(
        model,
        held.rows,
        held.frame,
        reference=reference,
        schema=held.schema,
        constraints=question.binding_constraints,
        target=target,
        threshold=question.threshold,
        new_categories=True,
    )


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Readable):
    """Two detectors on the same rows.

    table: a line a row: says_a, says_b, agree, probability_a, probability_b (of the target), effort_a, effort_b (NaN
        without an answer), kept_a, kept_b, and a_holds_in_b, b_holds_in_a: whether one's answer convinces the other.
    features: a line a feature: the share of answers of a and of b that change it.
    """

    table: pd.DataFrame
    features: pd.DataFrame

    def summarize(self) -> Summary:
        """How often they agree, how often answers carry over, and the features they lean on most."""
        answered = self.table[["effort_a", "effort_b"]].notna()
        carried = [
            f"{100 * self.table.loc[answered[f'effort_{one}'], f'{one}_holds_in_{other}'].mean():.0f} % of the answers "
            f"of {one} hold in {other}"
            for one, other in (("a", "b"), ("b", "a"))
            if answered[f"effort_{one}"].any()
        ]
        counts = "; ".join([f"agree on {100 * self.table['agree'].mean():.0f} % of {len(self.table)} rows", *carried])
        lines = [(str(line["feature"]), f"{line['a']:.0%}", f"{line['b']:.0%}") for _, line in self.features.iterrows()]
        return Summary(f"the models {counts}", ("feature", "changed in a", "in b"), lines)


def compare_models(
    first: Any,
    second: Any,
    rows: pd.DataFrame,
    *,
    reference: pd.DataFrame,
    target: Any,
    constraints: Sequence[Constraint] = (),
    seed: int = 0,
) -> ModelComparison:
    """Explain the same rows with two models, and judge the answers of each by the other.

    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"ports": [1, 2, 7, 9]})
    >>> labels = ["benign", "benign", "alert", "alert"]
    >>> models = (LogisticRegression().fit(train, labels), LogisticRegression().fit(train - 3, labels))
    >>> compare_models(*models, train[3:], reference=train, target="benign").table["a_holds_in_b"].tolist()
    [False]
    """
    explainers = [Explainer(model, reference=reference, constraints=constraints) for model in (first, second)]
    found = [each(rows, target=target, seed=seed, alternatives=1) for each in explainers]
    columns: dict[str, Any] = {}
    predictions = [each.model_scores.before for each in found]
    columns |= {
        "says_a": predictions[0],
        "says_b": predictions[1],
        "agree": np.asarray(predictions[0] == predictions[1], dtype=bool),
    }
    for name, each in zip("ab", found, strict=True):
        columns[f"probability_{name}"] = each.model_scores.probability_before
    for name, each in zip("ab", found, strict=True):
        columns |= {f"effort_{name}": np.where(each.valid, each.effort, np.nan), f"kept_{name}": each.kept}
    columns["a_holds_in_b"] = _holds_in(found[0], explainers[1], target)
    columns["b_holds_in_a"] = _holds_in(found[1], explainers[0], target)
    shares = [each.importance().set_index("feature")["share"] for each in found]
    features = pd.DataFrame({"a": shares[0], "b": shares[1]}).fillna(0.0)
    features = features[(features > 0).any(axis=1)].sort_values("a", ascending=False, kind="stable")
    return ModelComparison(pd.DataFrame(columns, index=rows.index), features.reset_index(names="feature"))


def _holds_in(found: Explanation, other: Explainer, target: Any) -> Any:
    """Whether the answers of one model have the target's label in another, ``(n,)``; False without an answer."""
    predicted = np.asarray(other.model.predict(found.x), dtype=object)
    wanted = np.asarray([str(label) for label in found.target], dtype=object)
    return found.valid & (np.array([str(label) for label in predicted.tolist()], dtype=object) == wanted)
