"""Whatever looks at an explanation later asks the question that was asked: nothing has to be repeated by hand."""

from __future__ import annotations

import json
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.api.replay import replay
from counterpoise.explanation.stored_objects import StoredObject

WORDS = (cp.Range("a", -0.3, 0.3), cp.Increasing("b"), cp.Rule("c <= 5"), cp.OneOf("d", [0.0, 1.0, 2.0]))


@cache
def setting() -> tuple[pd.DataFrame, LogisticRegression]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(300, 4)).round(2), columns=list("abcd")).assign(d=lambda t: t["d"].round())
    return table, LogisticRegression().fit(table, np.where(table.sum(axis=1) > 0, "yes", "no"))


@cache
def explained(*words: Any, target: Any = "opposite", **settings: Any) -> cp.Explanation:
    table, model = setting()
    rows = table[model.predict(table) == "no"][:4]
    return cp.explain(model, rows, reference=table, constraints=list(words), target=target, **settings)


def shown(explanation: cp.Explanation, **given: Any) -> list[np.ndarray]:
    """Every number that is said of an explanation later."""
    table, model = setting()
    row = explanation[int(np.flatnonzero(explanation.valid)[0])]
    robust = cp.robustness(explanation, model, reference=table, noise=0.5, copies=100, **given)
    seen = cp.landscape(row, model, ["b", "c"], size=6, T=0.1, **given)
    line = cp.profile(row, model, noise=0.5, **given)
    stable = cp.stability(explanation, model, samples=32, **given)
    proofs = cp.prove(explanation if explanation.firm is None else explanation.tipping, model, **given)
    return [
        proofs.table[["effort", "bound"]].to_numpy(dtype=float),
        robust.table.to_numpy(),
        robust.curve.to_numpy(),
        stable.table.to_numpy(dtype=float),
        np.stack([seen.energy, seen.margin]),
        np.stack([line.margin, line.kept, line.distance]),
    ]


def assert_same_numbers(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_constraints_bind_whether_they_are_repeated_or_not() -> None:
    explanation = explained(*WORDS)
    assert explanation.valid.any()
    assert_same_numbers(shown(explanation), shown(explanation, constraints=list(WORDS)))
    assert_same_numbers(shown(explanation), shown(explanation, constraints=list(reversed(WORDS))))


def test_noise_stays_inside_the_range_of_the_question() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400)})
    model = LogisticRegression().fit(table, np.where(3 * table["a"] + table["b"] > 0, 1, 0))
    rows, words = table[model.predict(table) == 0][:5], [cp.Range("a", -0.3, 0.3)]
    bound = cp.explain(model, rows, reference=table, constraints=words, target=1)
    free = cp.explain(model, rows, reference=table, target=1)
    plain, again = (
        cp.robustness(bound, model, reference=table, noise=0.5, **given).table for given in ({}, {"constraints": words})
    )
    pd.testing.assert_frame_equal(plain, again)
    asked = replay(bound, model).problem.region
    assert asked.lower[0, 0] == -0.3
    assert asked.upper[0, 0] == 0.3
    with pytest.raises(cp.InputError, match="constraints must be those of the explanation; it was made with none"):
        cp.robustness(free, model, constraints=words)
    with pytest.raises(cp.InputError, match="it was made with Range"):
        cp.robustness(bound, model, constraints=[cp.Range("a", -0.3, 0.4)])


def test_a_saved_explanation_says_the_same_as_before() -> None:
    explanation = explained(*WORDS, keep=0.7, noise=0.2)
    again = cp.Explanation.from_json(explanation.to_json())
    assert again.settings == explanation.settings
    assert again.to_json() == explanation.to_json()
    assert again.question.constraints == explanation.question.constraints
    assert again.question.noise == cp.Gaussian(0.2)
    assert_same_numbers(shown(explanation), shown(again))


def test_a_function_of_the_user_is_asked_for_again_and_another_is_refused() -> None:
    def few(frame: pd.DataFrame) -> Any:
        return frame["a"] < 2

    def fewer(frame: pd.DataFrame) -> Any:
        return frame["a"] < 1

    explanation = explained(cp.Increasing("b"), few)
    again = cp.Explanation.from_json(explanation.to_json())
    _, model = setting()
    kept = cp.robustness(explanation, model, noise=0.2, copies=50).table
    with pytest.raises(cp.InputError, match="constraints that a saved explanation cannot hold must be given again"):
        cp.robustness(again, model, noise=0.2, copies=50)
    with pytest.raises(cp.InputError, match="constraints must be those of the explanation"):
        cp.robustness(again, model, noise=0.2, copies=50, constraints=[cp.Increasing("b"), fewer])
    given = [cp.Increasing("b"), few]
    pd.testing.assert_frame_equal(kept, cp.robustness(again, model, noise=0.2, copies=50, constraints=given).table)


def test_an_explanation_crosses_a_process_boundary_whatever_its_constraints_are() -> None:
    explanation = explained(cp.Increasing("b"), lambda frame: frame["a"] < 2)
    again = pickle.loads(pickle.dumps(explanation))
    assert again.settings == explanation.settings
    first, second = again.question.constraints
    assert first == cp.Increasing("b")
    assert isinstance(second, StoredObject)


class Pull:
    """A regulariser of the user's own."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    def __call__(self, x: np.ndarray, x0: np.ndarray, delta: np.ndarray) -> np.ndarray:
        return self.weight * np.abs(x[..., 2] - 1.0)

    def gradient(self, x: np.ndarray, x0: np.ndarray, delta: np.ndarray) -> np.ndarray:
        slope = np.zeros_like(x)
        slope[..., 2] = self.weight * np.sign(x[..., 2] - 1.0)
        return slope


def test_a_regulariser_of_the_user_is_stored_by_name_and_settings() -> None:
    _, model = setting()
    explanation = explained(regularizers=(Pull(2.0),), lam=0.1)
    again = cp.Explanation.from_json(explanation.to_json())
    (stored,) = again.question.regularizers
    assert isinstance(stored, StoredObject)
    assert stored.name.endswith("Pull")
    with pytest.raises(cp.InputError, match="must be given again"):
        cp.stability(again, model)
    with pytest.raises(cp.InputError, match="regularizers must be those of the explanation"):
        cp.stability(again, model, regularizers=[Pull(3.0)])
    one = cp.stability(explanation, model).table
    pd.testing.assert_frame_equal(one, cp.stability(again, model, regularizers=[Pull(2.0)]).table)
    seen = cp.landscape(explanation[0], model, size=5)
    np.testing.assert_array_equal(seen.energy, cp.landscape(again[0], model, size=5, regularizers=[Pull(2.0)]).energy)


def test_plausibility_is_fitted_again_to_the_reference() -> None:
    table, model = setting()
    explanation = explained(regularizers=(cp.NearTarget(),), lam=0.5)
    with pytest.raises(cp.InputError, match="no reference was given"):
        cp.landscape(explanation[0], model, size=5)
    seen = cp.landscape(explanation[0], model, ["a", "b"], size=5, reference=table)
    assert np.isfinite(seen.energy).all()
    again = cp.Explanation.from_json(explanation.to_json())
    assert again.question.regularizers == (cp.NearTarget(),)


def test_a_target_for_each_row_goes_with_its_row() -> None:
    table, model = setting()
    rows = table[:3]
    targets = np.where(model.predict(rows) == "yes", "no", "yes")
    explanation = cp.explain(model, rows, reference=table, target=pd.Series(targets))
    assert explanation[1].question.target.tolist() == [targets[1]]
    assert explanation[[2, 0]].question.target.tolist() == [targets[2], targets[0]]
    again = cp.Explanation.from_json(explanation[1].to_json())
    whole = cp.robustness(explanation, model, noise=0.3, copies=50).table
    pd.testing.assert_frame_equal(cp.robustness(again, model, noise=0.3, copies=50).table, whole.iloc[[1]])


@pytest.mark.parametrize("target", ["opposite", "yes", ["yes"], cp.AnythingBut("no")])
@pytest.mark.parametrize("threshold", [None, 0.7])
def test_every_target_is_asked_again(target: Any, threshold: float | None) -> None:
    table, model = setting()
    rows = table[model.predict(table) == "no"][:2]
    explanation = cp.explain(model, rows, reference=table, target=target, threshold=threshold)
    again = cp.Explanation.from_json(explanation.to_json())
    for row in range(2):
        found = replay(again[row], model).margins(again[row].x)
        assert found[0] == pytest.approx(again.scores["margin_after"].iloc[row])


def as_version_1(explanation: cp.Explanation) -> str:
    """The document that version 1 would have written."""
    document = json.loads(explanation.to_json())
    parts = [document["explanation"]]
    parts += [document["explanation"]["tipping"]] if document["explanation"]["tipping"] else []
    for part in parts:
        part["seed"] = part.pop("question")["seed"]
    return json.dumps({**document, "version": 1})


@pytest.mark.parametrize(
    "target", ["opposite", "yes", ["yes"], cp.AnythingBut("no"), np.array(["yes"] * 4)], ids=lambda target: str(target)
)
def test_a_document_of_version_1_is_read_as_far_as_it_tells(target: Any) -> None:
    _, model = setting()
    table, _ = setting()
    rows = table[model.predict(table) == "no"][:4]
    given = {
        "distance": {"l1": 1.0, "l0": 0.5},
        "threshold": 0.6,
        "keep": 0.6,
        "noise": 0.1,
        "seed": 3,
        "penalty": "l1",
    }
    explanation = cp.explain(model, rows, reference=table, constraints=list(WORDS), target=target, **given)
    old = cp.Explanation.from_json(as_version_1(explanation))
    assert not old.question.is_complete
    assert old.settings == explanation.settings
    assert old.seed == 3
    assert old.is_firm_enough.tolist() == explanation.is_firm_enough.tolist()
    with pytest.raises(cp.InputError, match="must be given again; it was made with Range"):
        cp.robustness(old, model, noise=0.3)
    settings = {"noise": 0.3, "copies": 50}
    again = cp.robustness(old, model, constraints=list(WORDS), **settings).table
    pd.testing.assert_frame_equal(again, cp.robustness(explanation, model, **settings).table)
    with pytest.raises(cp.InputError, match="constraints must be those of the explanation"):
        cp.robustness(old, model, constraints=[cp.Range("a", -1, 1)], **settings)


def test_the_question_is_the_call(tmp_path: Path) -> None:
    table, model = setting()
    weights = {"a": 2.0, "b": float("inf")}
    explainer = cp.Explainer(model, reference=table, constraints=cp.Immutable("c"), weights=weights, bounds=None)
    question = explainer(table[:2], lam=0.3, mu=2.0, alternatives=2, seed=5, budget=60.0).question
    assert (question.lam, question.mu, question.alternatives, question.seed, question.budget) == (0.3, 2.0, 2, 5, 60.0)
    assert question.weights == weights
    assert question.bounds is None
    assert question.binding_constraints == (cp.Immutable("c"), cp.Immutable("b"))
    explanation = explainer(table[:2])
    explanation.save(tmp_path / "e.json")
    loaded = cp.Explanation.load(tmp_path / "e.json").question
    assert loaded.weights == weights
    assert loaded.settings == explanation.settings
