"""A trajectory is what the search did, and watching it changes nothing."""

from functools import cache

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from alerts import alerts, detector, training
from counterpoise.landscape.trajectory import RecordingMethod


@cache
def smooth() -> cp.Explainer:
    return cp.Explainer(detector(), reference=training()[0])


@cache
def stepped() -> cp.Explainer:
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(*training())
    return cp.Explainer(tree, reference=training()[0])


def test_algorithm_1_goes_downhill_at_one_temperature() -> None:
    seen = cp.trajectory(smooth(), alerts()[:1], target="benign")
    assert seen.method == "Algorithm1"
    assert seen.table["energy"].iloc[-1] < seen.table["energy"].iloc[0]
    assert seen.table["temperature"].nunique() == 1
    assert np.isnan(seen.table["acceptance"].iloc[0])
    assert seen.table["acceptance"].iloc[1:].between(0, 1).all()


def test_annealing_cools() -> None:
    seen = cp.trajectory(stepped(), alerts()[:1], target="benign")
    assert seen.method == "Annealing"
    assert seen.table["temperature"].is_monotonic_decreasing
    assert seen.table["step"].tolist() == list(range(len(seen.table)))


@pytest.mark.parametrize("method", [cp.Annealing(), cp.Algorithm1()])
def test_watching_changes_nothing(method: cp.Annealing | cp.Algorithm1) -> None:
    rows = alerts()[:1]
    alone = stepped()(rows, method=method, target="benign", seed=5)
    watched = stepped()(rows, method=RecordingMethod(method, 5), target="benign", seed=5)
    assert alone.x.tolist() == watched.x.tolist()


def test_the_states_are_those_of_the_search() -> None:
    rows = alerts()[:1]
    walked = cp.trajectory(smooth(), rows, target="benign")
    assert walked.visited_states.shape == (len(walked.table), 1, len(smooth().schema))
    assert np.array_equal(walked.visited_states[0, 0], walked.x0), "the walker sets out from the row"
    annealed = cp.trajectory(stepped(), rows, target="benign", method=cp.Annealing())
    found = stepped()(rows, target="benign", method=cp.Annealing())
    assert np.array_equal(annealed.visited_states[-1, 0], found.x[0]), "the last best state is what is answered"


def test_what_has_no_trajectory_is_said() -> None:
    with pytest.raises(cp.InputError, match="a trajectory is of an Algorithm1 or an Annealing"):
        cp.trajectory(smooth(), alerts()[:1], method=cp.Lime())
    with pytest.raises(cp.InputError, match="a trajectory is of one row"):
        cp.trajectory(smooth(), alerts()[:2], target="benign")
    with pytest.raises(cp.InputError, match="the model already says alert"):
        cp.trajectory(smooth(), alerts()[:1], target="alert")
