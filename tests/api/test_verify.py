"""Verification: claims of a method are believed as far as the user's own model and every constraint confirm them."""

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise.api.inputs.rows_in import model_predictions
from counterpoise.methods.base import Run
from counterpoise.model_calls import Tally

TRAIN = pd.DataFrame({"a": np.linspace(0, 10, 41), "b": np.arange(41) % 5})
ROWS = pd.DataFrame({"a": [1.0, 2.0], "b": [1, 2]})


class Claims:
    """A method that calls these points valid, whatever they are; efforts are those it likes to give."""

    def __init__(self, *points, effort=None):
        self.points, self.effort = points, effort

    def iterate(self, problem, streams):
        n, k = len(problem), len(self.points)
        x = np.tile(np.array(self.points, dtype=float), (n, 1, 1))
        effort = np.zeros((n, k)) if self.effort is None else np.tile(self.effort, (n, 1))
        yield Run(x=x, margin=np.ones((n, k)), effort=effort, done=np.ones(n, dtype=bool), steps=1)


def explain(*points, model=lambda frame: frame["a"] > 5, words=(), **settings):
    method = Claims(*points, effort=settings.pop("effort", None))
    return cp.explain(model, ROWS, reference=TRAIN, constraints=list(words), target=True, method=method, **settings)


def test_a_true_claim_is_confirmed():
    e = explain([6.0, 1])
    assert e.valid.all()
    assert e.frame["a"].tolist() == [6.0, 6.0]


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ([4.0, 1], []),
        ([6.0, 1], [cp.Range("a", 0, 5.5)]),
        ([6.0, 1.5], []),
        ([11.0, 1], []),
        ([6.0, 4], [cp.OneOf("b", [1, 2])]),
        ([6.0, np.nan], []),
    ],
    ids=["not the target", "outside a range", "half a number", "outside the data", "not listed", "gone missing"],
)
def test_a_false_claim_is_never_called_valid(point, words):
    e = explain(point, words=words)
    assert not (e.x == np.array(point)).all(axis=1).any(), "the claim itself is no answer"
    assert not np.isnan(e.x).any()
    assert (e.frame["a"][e.valid] > 5).all(), "what is called valid instead reaches the target"
    assert e.frame["a"].between(0, 5.5 if any(isinstance(word, cp.Range) for word in words) else 10).all()
    assert e.frame["b"].isin([1, 2] if any(isinstance(word, cp.OneOf) for word in words) else range(5)).all()


def test_the_best_true_claim_is_taken_by_its_real_effort():
    e = explain([9.0, 1], [4.0, 1], [6.0, 2], [7.0, 3], effort=[0.1, 0.2, 0.3, 0.4])
    assert e.frame["a"].tolist() == [6.0, 6.0]


def test_alternatives_are_true_claims_with_other_changes():
    e = explain([6.0, 1], [7.0, 1], [6.5, 3], [4.0, 4], alternatives=3)
    # the third claim changes what the first does and more: no alternative; the last is not true
    assert e.count.tolist() == [1, 1]
    assert (e.alternatives["a"] > 5).all()
    assert e.alternatives.loc[0].to_numpy().tolist() == [[6.0, 1.0]]


def test_where_scores_and_predict_disagree_the_answer_goes_on_until_predict_agrees():
    class Two:
        """Scores that turn at 5, a predict that turns at 5.005: a little farther out."""

        classes_ = np.array([False, True])
        labels = (False, True)
        link = "identity"

        def outputs(self, x):
            return np.stack([np.zeros(len(x)), x[:, 0] - 5.0], axis=1)

        def predict(self, x):
            return x[:, 0] > 5.005

        def probabilities(self, x):
            return None

    e = explain([5.001, 1], model=Two(), bounds=None)
    assert e.valid.all()
    assert (e.x[:, 0] > 5.005).all()
    assert (e.x[:, 0] < 5.2).all()


def test_a_miss_stays_inside_the_region():
    words = [cp.Range("a", 3, 4)]
    e = explain([20.0, 99], words=words)
    assert set(e.status) == {"not_found"}
    assert e.frame["a"].between(3, 4).all()


def test_a_miss_that_reaches_the_target_after_all_is_valid():
    class Shy(Claims):
        def iterate(self, problem, streams):
            for run in super().iterate(problem, streams):
                yield run._replace(effort=np.full_like(run.effort, np.inf))

    e = cp.explain(lambda frame: frame["a"] > 5, ROWS, reference=TRAIN, target=True, method=Shy([6.0, 1]))
    assert e.valid.all()


def test_another_way_out_is_an_alternative():
    e = explain([6.0, 1], [1.0, 4], [7.0, 4], model=lambda frame: (frame["a"] > 5) | (frame["b"] == 4), alternatives=3)
    assert e.count.tolist()[0] == 2
    assert sorted(e.alternatives.loc[0].to_numpy().tolist()) == [[1.0, 4.0], [6.0, 1.0]]


def test_a_label_that_is_none_is_quoted_with_its_own_row():
    class Babbling:
        labels = ("a", "b")

        def predict(self, x):
            return np.array(["far", "near"])

    with pytest.raises(cp.ModelError, match="it predicted 'near' for row 0"):
        model_predictions(Babbling(), np.zeros((2, 2)), np.array([2, 0]), Tally())
