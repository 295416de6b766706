"""A landscape shows the numbers of the explanation, and what the model says where it says it."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from alerts import alerts, detector, explained, training
from counterpoise.api.replay import replay
from counterpoise.landscape.directions import principal_plane
from explanations import build


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
    plain = cp.landscape(explanation, detector(), size=5)
    np.testing.assert_array_equal(plain.energy, cp.landscape(explanation, detector(), weights=weights, size=5).energy)
    with pytest.raises(cp.InputError, match="weights must be those of the explanation"):
        cp.landscape(explanation, detector(), weights={"latency": 4.0})


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
    assert 0 < seen.t_reached <= 1
    on_the_way = (seen.t >= seen.t_reached) & (seen.t <= 1)
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
            margin = replay(explanation[row], several).margins(explanation[row].x0)
            assert margin[0] == pytest.approx(explanation.scores["margin_before"].iloc[row])
    sure = cp.explain(detector(), alerts()[:1], reference=frame, target="benign", threshold=0.8)
    assert replay(sure, detector()).probabilities(sure.x)[0] >= 0.8
    number = LinearRegression().fit(frame, frame["latency"] + frame["cpu_usage"])
    for target in ((10.5, 20.25), (None, 5.125), (150, None)):
        ranged = cp.explain(number, frame[:1], reference=frame, target=target)
        found = replay(ranged, number).margins(ranged.x)[0]
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


@cache
def mixed() -> tuple[cp.Function, pd.DataFrame, cp.Explainer]:
    """A model of numbers and a category whose answers change both."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(0, 2, 300).round(2), "b": rng.normal(0, 1, 300).round(2)})
    frame["kind"] = pd.Categorical(rng.choice(["u", "v", "w"], 300))

    def says(table: pd.DataFrame) -> np.ndarray:
        return np.where((table["a"] + table["b"] > 0) & (table["kind"] != "w"), 0.9, 0.1)

    model = cp.Function(says, labels=("no", "yes"))
    return model, frame, cp.Explainer(model, reference=frame)


def test_row_and_answer_lie_in_the_plane_of_principal_directions() -> None:
    for row in range(3):
        explanation = explained()[row]
        seen = cp.landscape(explanation, detector(), "principal", reference=training()[0], size=11)
        assert seen.share_in_plane == pytest.approx(1)
        assert seen.start == (0.0, 0.0)
        assert seen.answer == (pytest.approx(explanation.energy["distance"].iloc[0]), 0.0)
        up = int(np.flatnonzero(seen.y == 0)[0])
        at = {place: int(np.flatnonzero(seen.x == place)[0]) for place in (seen.start[0], seen.answer[0])}
        scores = explanation.scores.iloc[0]
        assert seen.margin[up, at[seen.start[0]]] == pytest.approx(scores["margin_before"])
        assert seen.margin[up, at[seen.answer[0]]] == scores["margin_after"], "the answer itself, to the bit"
        assert seen.energy[up, at[seen.answer[0]]] == pytest.approx(explanation.energy["total"].iloc[0])


def test_a_length_on_the_plane_is_a_distance() -> None:
    explanation = cp.explain(detector(), alerts()[:1], reference=training()[0], target="benign", lam=0)
    seen = cp.landscape(explanation, detector(), "principal", reference=training()[0], size=7)
    inside = seen.margin >= 0  # where the decision adds nothing, E is the distance alone
    assert seen.energy[inside] == pytest.approx(np.hypot(*np.meshgrid(seen.x, seen.y))[inside])


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(0, 2))
@settings(max_examples=25)
def test_directions_are_orthonormal_in_feature_scales_whatever_the_rows(seed: int, d: int, held: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(0, 10.0 ** rng.integers(-3, 4, d), (20, d)), columns=[f"c{k}" for k in range(d)])
    schema = cp.Schema.infer(frame)
    answers = frame[:1].to_numpy().copy()
    answers[0, rng.random(d) < 0.6] += 1.0
    names = [f"c{k}" for k in range(min(held, d - 2))]
    answers[0, : len(names)] = frame.to_numpy()[0, : len(names)]
    explanation = build(schema, frame[:1], answers, held=dict.fromkeys(names, "held"))
    plane = principal_plane(explanation, frame.to_numpy(), "rows")
    unit = plane.step / schema.scales
    assert unit @ unit.T == pytest.approx(np.eye(2), abs=1e-6)
    assert not plane.step[:, : len(names)].any(), "what is held does not step"
    there = rng.normal(0, 1, (5, 2))
    back = plane.project_rows(plane.points(*there.T, explanation.x[0]))
    assert back == pytest.approx(there, abs=1e-6)


def test_categories_are_held_at_the_answer_and_that_is_said() -> None:
    model, frame, explainer = mixed()
    rows = frame[(frame["kind"] == "w") & (frame["a"] + frame["b"] < -1)][:1]
    explanation = explainer(rows, target="yes", lam=0)
    seen = cp.landscape(explanation, model, "principal", reference=frame, size=9)
    assert [feature.name for feature in seen.features] == ["a", "b"]
    change = explanation.energy["distance"].iloc[0]
    assert seen.share_in_plane == pytest.approx(1 - 1 / change**2), "a category that changes is 1 away"
    held = explanation.frame["kind"].iloc[0]
    assert f"the row is projected, with kind at {held}" in seen.note
    assert (seen.margin >= 0).any(), "with the answer's category the target can be reached"


def test_the_states_of_a_search_are_projected_onto_the_plane() -> None:
    forest = RandomForestClassifier(20, random_state=0).fit(*training())
    explainer = cp.Explainer(forest, reference=training()[0])
    rows = training()[0][forest.predict(training()[0]) == "alert"][:2]
    explanation = explainer(rows[:1], target="benign")
    path = cp.trajectory(explainer, rows[:1], target="benign")
    names = list(explanation.schema.names)
    seen = cp.landscape(explanation, forest, ["latency", "throughput"], path=path, size=9)
    assert seen.path is not None
    assert np.array_equal(seen.path.x, path.visited_states[..., names.index("latency")])
    assert np.array_equal(seen.path.y, path.visited_states[..., names.index("throughput")])
    turned = cp.landscape(explanation, forest, "principal", path=path, size=9)
    assert turned.path is not None
    assert 0 < turned.path.share_in_plane <= 1
    assert turned.path.share_in_plane > seen.path.share_in_plane, (
        "the second direction is where these very states spread"
    )
    assert "states of Annealing, projected" in turned.note
    with pytest.raises(cp.InputError, match="path must be of the same row and target"):
        cp.landscape(explainer(rows[1:], target="benign"), forest, path=path)
    with pytest.raises(cp.InputError, match="path must be a Trajectory"):
        cp.landscape(explanation, forest, path=path.table)


def test_costs_must_be_those_of_the_explanation() -> None:
    word = cp.Cost("latency", down=3)
    explanation = cp.explain(detector(), alerts()[:1], reference=training()[0], target="benign", constraints=word)
    with pytest.raises(cp.InputError, match="constraints must be those of the explanation"):
        cp.landscape(explanation, detector(), constraints=cp.Cost("latency", down=2))
    plain, again = (cp.landscape(explanation, detector(), size=5, constraints=words) for words in ((), word))
    np.testing.assert_array_equal(plain.energy, again.energy)


def test_what_cannot_be_a_plane_is_said() -> None:
    one = explained()[0]
    with pytest.raises(cp.InputError, match="features must be two names, or 'principal'"):
        cp.landscape(one, detector(), "latency")  # type: ignore[arg-type]
    with pytest.raises(cp.InputError, match="a reference is what principal directions are found from"):
        cp.landscape(one, detector(), reference=training()[0])
    model, frame, _ = mixed()
    narrow = cp.explain(model, frame[frame["kind"] == "w"][:1], reference=frame, constraints=cp.Immutable("a"))
    with pytest.raises(cp.InputError, match="principal directions need two numbers that may change; this row has 1"):
        cp.landscape(narrow, model, "principal")


def test_a_model_is_met_again_with_rows_from_both_sides() -> None:
    frame, _ = training()

    def chance(table: pd.DataFrame) -> np.ndarray:
        return np.clip(detector().predict_proba(table)[:, 1], 0.0, 1.0)

    model = cp.Function(chance, labels=("alert", "benign"))
    asked: list[int] = []

    def counted(table: pd.DataFrame) -> np.ndarray:
        asked.append(len(table))
        return chance(table)

    explanation = cp.explain(model, alerts()[:1], reference=frame, target="benign", alternatives=2)
    decision = replay(explanation, cp.Function(counted, labels=("alert", "benign")))
    assert asked[0] == 1 + explanation.count[0] + len(explanation.evidence[0]), "the row, its answers, real rows"
    assert decision.margins(explanation.x)[0] == pytest.approx(explanation.scores["margin_after"].iloc[0])
