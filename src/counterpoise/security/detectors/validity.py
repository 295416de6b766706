"""check_validity: which answers of an explanation hold in another model, such as a later one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.question import AnythingBut
from counterpoise.explanation.stored_objects import StoredObject
from counterpoise.judge.review import Review, review


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
            "what was asked must be known", "the file holds objects of one's own as records", "explain the rows again"
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
