"""What is called valid holds however the model is asked: alone, reversed, among others, again."""

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.api.asking.steadiness import Steadiness, measure_steadiness
from counterpoise.models.registry import as_model

RNG = np.random.default_rng(3)
SINGLE = pd.DataFrame(RNG.normal(50, 20, size=(200, 9)).astype("float32"), columns=list("abcdefghi"))
SUMS = SINGLE.to_numpy() @ RNG.normal(size=9)
LABELS = np.where(np.median(SUMS) < SUMS, "yes", "no")


def is_refuted(predict, found, rows):
    """Answers called valid that some way of asking refutes."""
    before, frame = np.asarray(predict(rows)), found.frame
    ways = {
        "batch": np.asarray(predict(frame)),
        "reversed": np.asarray(predict(frame[::-1]))[::-1],
        "alone": np.concatenate([predict(frame[place : place + 1]) for place in range(len(frame))]),
        "after a file": np.asarray(predict(pd.DataFrame({name: frame[name].to_numpy(copy=True) for name in frame}))),
    }
    return {way: int((found.valid & (said == before)).sum()) for way, said in ways.items()}


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(max_iter=300),
        RidgeClassifier(),
        GaussianNB(),
        LinearDiscriminantAnalysis(),
        make_pipeline(StandardScaler(), LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_answers_on_single_precision_hold_in_every_call(model):
    model.fit(SINGLE, LABELS)
    rows = SINGLE[:60]
    found = cp.explain(model, rows, reference=SINGLE, lam=0)
    assert not any(is_refuted(model.predict, found, rows).values()), is_refuted(model.predict, found, rows)
    assert found.valid.mean() > 0.9


def test_answers_of_a_module_in_single_precision_hold_in_every_call():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(9, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).eval()

    def predict(frame):
        with torch.no_grad():
            return module(torch.tensor(frame.to_numpy())).argmax(dim=1).numpy()

    rows = SINGLE[:60]
    found = cp.explain(module, rows, reference=SINGLE)
    assert not any(is_refuted(predict, found, rows).values()), is_refuted(predict, found, rows)
    assert found.valid.mean() > 0.9


def test_a_row_that_a_model_decides_within_its_rounding_has_no_opposite_and_a_named_target_is_still_reached():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 2).double()
    with torch.no_grad():  # large terms that cancel: what is left of the outputs are steps of 1/8
        module.weight[:] = torch.tensor([[2.0**9, 1.0], [2.0**9, -1.0]])
        module.bias[:] = -(2.0**49)
    load = np.random.default_rng(0).normal(0, 3, 60)
    reference = pd.DataFrame({"count": np.full(60, 2**40), "load": load})
    close = reference.iloc[[0]].assign(load=0.01)
    found = cp.explain(module, close, reference=reference)
    assert not found.valid.any()
    assert "within the model's rounding" in found.reason[0]
    assert cp.explain(module, close, reference=reference, target=1).valid.all()


def test_what_is_measured_of_a_model():
    schema, probe = cp.Schema.infer(SINGLE), SINGLE.to_numpy(dtype=float)
    trees = as_model(DecisionTreeClassifier(max_depth=3).fit(SINGLE, LABELS), schema, probe)
    assert measure_steadiness(trees.own, probe) == Steadiness(asked=200)
    line = as_model(LogisticRegression(max_iter=300).fit(SINGLE, LABELS), schema, probe)
    seen = measure_steadiness(line.own, probe)
    assert (seen.changed, seen.jumps) == (0, 0)
    assert 1e-8 < seen.rounding < 1e-3


def test_a_tree_model_is_asked_about_a_row_and_its_answer_in_one_call_and_never_again():
    asked = []

    class Counts(HistGradientBoostingClassifier):
        def predict(self, X):
            asked.append(len(X))
            return super().predict(X)

    model = Counts(max_iter=10).fit(SINGLE, LABELS)
    explain = cp.Explainer(model, reference=SINGLE)
    asked.clear()
    assert explain(SINGLE[:1]).valid.all()
    assert asked == [2]


def make_moody(share):
    moods = np.random.default_rng(0)

    def model(frame):
        total = frame["a"].to_numpy() - 50
        return np.where(np.where(moods.random(len(frame)) < share, -total, total) > 0, "yes", "no")

    return model


def test_a_model_that_answers_differently_each_time_is_noticed_and_nothing_is_claimed_that_it_takes_back():
    found = cp.explain(make_moody(0.3), SINGLE[:10], reference=SINGLE)
    assert any("differently each time" in note for note in found.notes)
    assert not found.valid.any()
    assert any("of the askings" in reason for reason in found.reason)


def test_a_model_that_wavers_near_its_boundary_is_answered_beyond_it_and_the_share_is_told():
    moods = np.random.default_rng(0)

    def model(frame):
        total = frame["a"].to_numpy(dtype=float) - 50
        return np.where(total + moods.uniform(-4, 4, len(frame)) > 0, "yes", "no")

    rows = SINGLE[:12]
    found = cp.explain(cp.Function(model, labels=("no", "yes")), rows, reference=SINGLE, target="yes")
    assert found.valid.any()
    assert any("differently each time" in note for note in found.notes)
    assert all("100% of the askings" in reason for reason in found.reason[found.valid])
    for _ in range(20):
        assert (model(found.frame) == "yes")[found.valid].mean() > 0.9


@pytest.mark.parametrize("width", [1.0, 1e12])
def test_probabilities_and_predictions_are_the_models_own(width):
    table = pd.DataFrame(RNG.normal(size=(150, 3)) * [1.0, width, 1e-9], columns=["a", "b", "c"])
    wanted = (table["a"] + table["b"] / width > 0).map({True: "yes", False: "no"})
    stack = StackingClassifier([("t", DecisionTreeClassifier(max_depth=2)), ("n", GaussianNB())], cv=2)
    for model in (stack, LinearDiscriminantAnalysis(), LogisticRegression()):
        model.fit(table, wanted)
        found = cp.explain(model, table[:20], reference=table, target="yes")
        place = list(model.classes_).index("yes")
        own = model.predict_proba(found.frame)[:, place]
        np.testing.assert_allclose(found.scores["probability_after"], own, rtol=1e-12, atol=1e-12)
        assert found.scores["after"].tolist() == model.predict(found.frame).tolist()


def test_labels_alone_hide_rounding_so_answers_are_asked_about_in_other_company():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["load", "rate"])

    def model(frame):
        rounding = {1: 1e-4, 6: -1e-4}.get(len(frame), 0.0)
        return np.where(frame["load"].to_numpy() + rounding > 0.1, "yes", "no")

    found = cp.explain(model, table[:6], reference=table, values="any")
    before, after = model(table[:6]), model(found.frame)
    alone = np.concatenate([model(found.frame[place : place + 1]) for place in range(6)])
    assert found.valid.any()
    assert (before != after)[found.valid].all()
    assert (before != alone)[found.valid].all()


@pytest.mark.parametrize("size", [2, 3])
def test_rounding_that_only_calls_of_few_rows_show_is_measured_too(size):
    """Matrix products take another way for two or three rows than for one, and for many."""
    rows = RNG.normal(50, 20, size=(40, 2))

    def model(x):
        return x[:, 0] * (1 - 1e-12) if len(x) == size else x[:, 0]

    own = as_model(cp.Function(model, array=True), cp.Schema.infer(rows), rows).own
    found = measure_steadiness(own, rows)
    assert 1e-12 < found.rounding < 1e-9
    assert not found.is_plain
