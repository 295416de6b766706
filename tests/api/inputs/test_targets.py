"""Targets: every way to say what the decision should become."""

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise.api.inputs.targets import resolve_target
from counterpoise.models.goals import ClassGoal, RangeGoal, ThresholdGoal
from counterpoise.types import ModelBase


class Says(ModelBase):
    """As much of a model as an aim needs."""

    link = "identity"

    def __init__(self, *labels):
        self.labels = labels or None


ANIMALS = Says("cat", "dog", "eel", "fox")
NOW = np.array(["cat", "dog"])


@pytest.mark.parametrize(
    ("target", "wanted", "said"),
    [
        ("fox", [[0, 0, 0, 1], [0, 0, 0, 1]], ["fox", "fox"]),
        ("opposite", [[0, 1, 1, 1], [1, 0, 1, 1]], ["anything but cat", "anything but dog"]),
        (["eel", "fox"], [[0, 0, 1, 1], [0, 0, 1, 1]], ["eel or fox"] * 2),
        ({"fox"}, [[0, 0, 0, 1], [0, 0, 0, 1]], ["fox", "fox"]),
        (cp.AnythingBut("cat", "dog", "eel"), [[0, 0, 0, 1], [0, 0, 0, 1]], ["fox", "fox"]),
        (cp.AnythingBut("cat"), [[0, 1, 1, 1], [0, 1, 1, 1]], ["anything but cat"] * 2),
        (np.array(["dog", "eel"]), [[0, 1, 0, 0], [0, 0, 1, 0]], ["dog", "eel"]),
        (pd.Series(["dog", "eel"], index=[7, 9]), [[0, 1, 0, 0], [0, 0, 1, 0]], ["dog", "eel"]),
        (np.array("fox"), [[0, 0, 0, 1], [0, 0, 0, 1]], ["fox", "fox"]),
    ],
)
def test_classes(target, wanted, said):
    found = resolve_target(ANIMALS, target, None, NOW)
    assert isinstance(found.goal, ClassGoal)
    np.testing.assert_array_equal(found.goal.wanted_classes, np.array(wanted, dtype=bool))
    assert found.target.tolist() == said
    assert found.phrases[0] == f"that the model calls {said[0]}"


def test_few_of_many_are_named():
    assert resolve_target(Says(*"abcdef"), ["a", "b"], None, np.array(["c"])).target.tolist() == ["a or b"]


@pytest.mark.parametrize(
    ("labels", "target", "place"),
    [
        ((False, True), True, 1),
        ((False, True), np.True_, 1),
        ((False, True), 1, 1),
        ((0, 1), np.int64(1), 1),
        ((0, 1), 1.0, 1),
        ((0, 1), True, 1),
        (("0", "1"), "1", 1),
        ((1.5, 2.5), 2.5, 1),
    ],
)
def test_labels_of_any_kind_are_found_and_come_back_as_the_models_own(labels, target, place):
    found = resolve_target(Says(*labels), target, None, np.array([labels[0]]))
    assert found.goal.wanted_classes[0].tolist() == [place == 0, place == 1]
    assert found.target[0] is labels[place]


def test_a_class_called_opposite_is_a_class():
    found = resolve_target(Says("opposite", "same"), "opposite", None, np.array(["same"]))
    assert found.target.tolist() == ["opposite"]


def test_a_threshold_goes_with_a_class():
    found = resolve_target(ANIMALS, "fox", 0.8, NOW)
    assert isinstance(found.goal, ThresholdGoal)
    assert found.goal.min_probability.tolist() == [0.8, 0.8]
    assert found.phrases[0] == "that the model calls fox with a probability of at least 0.8"


@pytest.mark.parametrize(
    ("target", "ends", "said"),
    [
        ((10, 20), (10, 20), "[10, 20]"),
        ([10, 20], (10, 20), "[10, 20]"),
        ((0.9, None), (0.9, np.inf), "at least 0.9"),
        ((None, 5), (-np.inf, 5), "at most 5"),
        ((np.float32(2.0), np.inf), (2.0, np.inf), "at least 2"),
    ],
)
def test_ranges_of_a_number(target, ends, said):
    found = resolve_target(Says(), target, None, np.array([1.0, 2.0]))
    assert isinstance(found.goal, RangeGoal)
    assert (found.goal.low[0], found.goal.high[0]) == ends
    assert found.target.tolist() == [said, said]


def test_the_aim_of_some_rows():
    found = resolve_target(ANIMALS, "opposite", None, NOW).take(np.array([1]))
    assert found.target.tolist() == ["anything but dog"]
    assert len(found.goal.wanted_classes) == len(found.phrases) == 1
