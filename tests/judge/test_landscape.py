"""A landscape shows the numbers of the explanation, and what the model says where it says it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from alerts import alerts, detector, explained, training
from counterpoise.judge.decisions import recall


def test_the_energy_at_the_answer_is_that_of_the_explanation() -> None:
    for row in range(3):
        explanation = explained()[row]
        seen = cp.landscape(explanation, detector(), size=15)
        column, line = (
            int(np.flatnonzero(axis == end)[0]) for axis, end in zip((seen.x, seen.y), seen.answer, strict=True)
        )
        assert seen.energy[line, column] == pytest.approx(explanation.energy["total"].iloc[0])


def test_the_boundary_is_where_the_model_changes_its_mind() -> None:
    explanation = explained()[0]
    seen = cp.landscape(explanation, detector(), size=12)
    frame = pd.concat([explanation.frame] * seen.margin.size, ignore_index=True)[list(training()[0].columns)]
    frame[seen.features[0].name] = np.tile(seen.x, len(seen.y))
    frame[seen.features[1].name] = np.repeat(seen.y, len(seen.x))
    said = detector().predict(frame).reshape(seen.margin.shape)
    assert np.array_equal(seen.margin > 0, said == "benign")
    likely = detector().predict_proba(frame)[:, 1].reshape(seen.margin.shape)
    assert seen.probability == pytest.approx(likely)


def test_features_can_be_chosen() -> None:
    seen = cp.landscape(explained()[0], detector(), ["latency", "open_ports"], size=10)
    assert [feature.name for feature in seen.features] == ["latency", "open_ports"]
    assert np.array_equal(seen.y, np.rint(seen.y)), "an integer feature takes whole numbers"


@pytest.mark.parametrize("features", [["latency"], ["latency", "latency"], []])
def test_two_different_features_are_needed(features: list[str]) -> None:
    with pytest.raises(cp.InputError, match="a landscape needs two different features that hold numbers"):
        cp.landscape(explained()[0], detector(), features)


def test_another_model_is_noticed() -> None:
    other = DecisionTreeClassifier(max_depth=2).fit(*training())
    with pytest.raises(cp.InputError, match="must be those of the explanation"):
        cp.landscape(explained()[0], other)


def test_weights_must_be_those_of_the_explanation() -> None:
    weights = {"latency": 5.0}
    explanation = cp.explain(detector(), alerts()[:1], reference=training()[0], weights=weights, lam=0.1)
    with pytest.raises(cp.InputError, match="the weights and the regularizers"):
        cp.landscape(explanation, detector())
    assert cp.landscape(explanation, detector(), weights=weights, size=5).energy.size


def test_one_row_is_needed() -> None:
    with pytest.raises(cp.InputError, match="an explanation of one row is needed; this one has 6"):
        cp.landscape(explained(), detector())


def test_a_profile_goes_from_the_row_through_the_answer() -> None:
    explanation = explained()[0]
    seen = cp.profile(explanation, detector())
    here, there = int(np.flatnonzero(seen.t == 0)[0]), int(np.flatnonzero(seen.t == 1)[0])
    scores = explanation.scores.iloc[0]
    assert seen.margin[here] == pytest.approx(scores["margin_before"])
    assert seen.probability[there] == pytest.approx(scores["probability_after"])
    assert seen.distance[there] == pytest.approx(explanation.energy["distance"].iloc[0])
    assert 0 < seen.turn <= 1
    on_the_way = (seen.t >= seen.turn) & (seen.t <= 1)
    assert (seen.margin[on_the_way] >= 0).all()


def test_a_profile_needs_an_answer() -> None:
    benign = training()[0][detector().predict(training()[0]) == "benign"][:1]
    already = cp.explain(detector(), benign, reference=training()[0], target="benign")
    with pytest.raises(cp.InputError, match="a profile needs an answer that changes something"):
        cp.profile(already, detector())


def test_the_same_question_is_put_to_the_model_whatever_the_target() -> None:
    frame, _ = training()
    several = DecisionTreeClassifier(max_depth=5, random_state=0).fit(frame, pd.qcut(frame["latency"], 4, labels=False))
    for target in ("opposite", [1, 2], cp.AnythingBut(0), 3):
        explanation = cp.explain(several, frame[:3], reference=frame, target=target)
        for row in range(3):
            margin = recall(explanation[row], several).margins(explanation[row].x0)
            assert margin[0] == pytest.approx(explanation.scores["margin_before"].iloc[row])
    sure = cp.explain(detector(), alerts()[:1], reference=frame, target="benign", threshold=0.8)
    assert recall(sure, detector()).probabilities(sure.x)[0] >= 0.8
    number = LinearRegression().fit(frame, frame["latency"] + frame["cpu_usage"])
    for target in ((10.5, 20.25), (None, 5.125), (150, None)):
        ranged = cp.explain(number, frame[:1], reference=frame, target=target)
        found = recall(ranged, number).margins(ranged.x)[0]
        assert found == pytest.approx(ranged.scores["margin_after"].iloc[0])


def test_the_free_energy_lies_below_the_mean_and_meets_the_energy_where_the_cloud_is_small() -> None:
    explanation = explained()[0]
    energy = cp.landscape(explanation, detector(), size=8).energy
    close = cp.landscape(explanation, detector(), size=8, T=0.1, sigma=1e-6).energy
    assert close == pytest.approx(energy, abs=1e-3)
    hot, cold = (cp.landscape(explanation, detector(), size=8, T=T, sigma=0.3).energy for T in (10.0, 0.1))
    assert (cold <= hot + 1e-9).all(), "F falls as T does: the cloud's lowest points win"


def test_a_temperature_below_zero_is_refused() -> None:
    with pytest.raises(cp.InputError, match="T must be at least 0"):
        cp.landscape(explained()[0], detector(), T=-1)


def test_noise_undoes_less_the_farther_the_change_goes() -> None:
    explanation = explained()[0]
    seen = cp.profile(explanation, detector(), noise=0.3)
    at = {share: seen.kept[int(np.argmin(np.abs(seen.t - share)))] for share in (0.0, 1.0, 1.6)}
    assert at[0.0] < at[1.0] < at[1.6]
    told = cp.robustness(explanation, detector(), noise=0.3).table["kept"].iloc[0]
    assert at[1.0] == pytest.approx(told, abs=0.1)
    assert np.isnan(cp.profile(explanation, detector()).kept).all()
