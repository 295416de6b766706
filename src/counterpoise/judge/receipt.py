"""Receipts: an answer with its question, bound and model, as a document that anybody with the model can check again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterpoise.api.asking.confirm import meets_goal
from counterpoise.api.evidence import fingerprint
from counterpoise.api.inputs.reference import PROBE_ROWS, Reference
from counterpoise.api.replay import Replay, check_one_row, replay
from counterpoise.errors import CapabilityError, InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.formats import format_label
from counterpoise.judge.proof import prove
from counterpoise.methods.settings.proof import ProofSettings
from counterpoise.model_calls import Tally
from counterpoise.models.registry import as_model
from counterpoise.space.schema.encode import encode

KIND, VERSION = "counterpoise receipt", 1
WITH_ANSWER = ("optimal", "bounded", "valid")


@dataclass(frozen=True)
class ReceiptCheck:
    """What a check of a receipt found: ``faults`` is empty where all of it holds; ``said`` lists what does."""

    faults: tuple[str, ...]
    said: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing was found against the receipt."""
        return not self.faults


def write_receipt(explanation: Explanation) -> str:
    """A receipt of one answered row: the explanation, with its question, and a digest of it, as JSON.

    explanation: what `counterpoise.explain` returns, one row of it.

    >>> import pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from counterpoise.api import explain
    >>> train = pd.DataFrame({"load": [0.125, 0.25, 0.7, 0.9]})
    >>> model = DecisionTreeClassifier().fit(train, ["benign", "benign", "alert", "alert"])
    >>> receipt = write_receipt(explain(model, train[3:], reference=train))
    >>> check_receipt(receipt, model, reference=train).holds
    True
    """
    check_one_row(explanation)
    if not explanation.valid[0]:
        raise InputError("a receipt is of a valid answer", f"the row is {explanation.status[0]}", "choose another row")
    body = explanation.to_json()
    return json.dumps({"kind": KIND, "version": VERSION, "sha256": _digest(body), "explanation": body})


def check_receipt(receipt: str | bytes, model: Any, *, reference: Any) -> ReceiptCheck:
    """Check a receipt again: its digest, the model, what the model says, every constraint, the effort and the bound.

    The share of noisy copies that keep the answer is not measured again.

    receipt: the JSON text that `write_receipt` made.
    model: the fitted model that the receipt is about.
    reference: the data that the model was explained with, a frame.
    """
    explanation, faults = _open_receipt(receipt)
    confirmed: list[str] = []
    schema, known = explanation.schema, Reference(model, reference, explanation.schema)
    adapted = as_model(model, schema, known.sample_rows(PROBE_ROWS))
    stored = explanation.versions.get("model", "")
    if stored != fingerprint(adapted, known.sample_rows(PROBE_ROWS)):
        faults.append("the model says other things of the reference rows than the one that the receipt is about")
    else:
        confirmed.append("the model is the one that the receipt is about")
    replayed = replay(explanation, model, reference=reference)
    problem, x = replayed.problem, explanation.x
    predicted = np.asarray(problem.model.predict(x))
    if not meets_goal(problem.model, problem.goal, x, predicted, np.arange(1), Tally())[0]:
        faults.append(f"the model says {predicted[0]!r} of the answer, which does not reach the target")
    else:
        confirmed.append(f"the model says {predicted[0]} of the answer")
    _check_told(explanation, replayed, faults)
    broken = problem.region.violations(x)[0]
    faults += [f"the answer breaks {word}" for word in broken]
    confirmed += [] if broken else ["every constraint holds"]
    effort = float(problem.energy.effort(x[:, None, :], problem.x0)[0, 0])
    written = float(explanation.answer_table["effort"].iloc[0])
    if not np.isclose(effort, written, rtol=1e-9, atol=1e-12):
        faults.append(f"the answer costs {effort:.6g}, not the {written:.6g} that the receipt says")
    _check_bound(explanation, model, effort, faults, confirmed)
    return ReceiptCheck(tuple(faults), tuple(confirmed))


def _check_told(explanation: Explanation, replayed: Replay, faults: list[str]) -> None:
    """Compare the row and prediction in a receipt with the row asked about and its prediction now."""
    x0, scores = replayed.problem.x0, explanation.model_scores
    shown = encode(explanation.schema, explanation.rows[list(explanation.schema.names)], "row")
    if not np.array_equal(shown, x0, equal_nan=True):
        faults.append("the row that the receipt shows is not the one that was asked about")
    both = np.concatenate([x0, replayed.x])
    probabilities = replayed.probabilities(both)
    for place, (name, label, written) in enumerate(
        (
            ("row", scores.before[0], scores.probability_before[0]),
            ("answer", scores.after[0], scores.probability_after[0]),
        )
    ):
        predicted = format_label(np.asarray(replayed.problem.model.predict(both[place : place + 1]))[0])
        has_label = replayed.problem.model.labels is not None
        if has_label and explanation.question.threshold is None and predicted != format_label(label):
            faults.append(
                f"the model says {predicted} of the {name}, not the {format_label(label)} that the receipt says"
            )
        if not np.isclose(probabilities[place], written, rtol=1e-6, atol=1e-9, equal_nan=True):
            faults.append(f"the {name} has probability {probabilities[place]:.6g}, not {written:.6g}")


def _open_receipt(receipt: str | bytes) -> tuple[Explanation, list[str]]:
    """The explanation inside, and a fault where its digest is not the one written."""
    try:
        document = json.loads(receipt)
    except (ValueError, RecursionError) as error:
        raise InputError("a receipt must be JSON", str(error), "give the file that the workbench wrote") from None
    keys = {"kind", "version", "sha256", "explanation"}
    if not (isinstance(document, Mapping) and set(document) == keys and document["kind"] == KIND):
        raise InputError(f"a receipt must have {', '.join(sorted(keys))}", "this has not", "give a receipt")
    if document["version"] != VERSION:
        raise InputError(f"a receipt must have version {VERSION}", f"{document['version']!r}", "use a newer version")
    body = document["explanation"]
    if not isinstance(body, str):
        raise InputError("a receipt must hold its explanation as text", f"{type(body).__name__}", "give a receipt")
    explanation = Explanation.from_json(body)
    if len(explanation) != 1:
        raise InputError("a receipt is of one row", f"this has {len(explanation)}", "give a receipt")
    if not explanation.valid[0] or explanation.status[0] not in WITH_ANSWER:
        raise InputError("a receipt is of a valid answer", f"the row is {explanation.status[0]}", "give a receipt")
    changed = _digest(body) != document["sha256"]
    return explanation, ["the receipt was changed after it was written: its digest differs"] if changed else []


def _check_bound(explanation: Explanation, model: Any, effort: float, faults: list[str], confirmed: list[str]) -> None:
    """Run the proof of the stored question again, and hold the stored bound against it."""
    bound = float(explanation.bound[0])
    if explanation.firm is not None or np.isnan(bound):
        confirmed.append("the receipt claims no bound")
        return
    question = explanation.question
    settings = ProofSettings.to_the_end(question.gap) if question.proof is True else ProofSettings(gap=question.gap)
    try:
        found = prove(explanation, model, settings=settings)
    except CapabilityError:
        faults.append("the receipt claims a bound that this model's kind does not allow to prove")
        return
    again = float(found.table["bound"].iloc[0])
    if explanation.status[0] == "optimal" and effort > bound * (1 + 1e-6) + 1e-12:
        faults.append(f"the receipt calls the answer optimal at {effort:.6g} with a bound of {bound:.6g}")
    if bound > again * (1 + 1e-6) + 1e-12:
        faults.append(f"the receipt claims that no answer costs less than {bound:.6g}; the proof gives {again:.6g}")
    elif bound > effort * (1 + 1e-6) + 1e-12:
        faults.append(f"the bound of {bound:.6g} is above what the answer costs, {effort:.6g}")
    else:
        confirmed.append(f"no valid answer costs less than {bound:.6g}: proven again")


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
