"""alternatives="basins": one verified answer for each separate way out; entropy and free energy of every answer."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import counterpoise as cp


@cache
def world() -> tuple[pd.DataFrame, cp.Explainer]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 12, (400, 4)), columns=["ports", "load", "age", "cost"])
    label = (table["ports"] > 3) & ((table["load"] > 5) | (table["cost"] > 8))
    model = RandomForestClassifier(10, max_depth=5, random_state=0).fit(table, np.where(label, "alert", "benign"))
    return table, cp.Explainer(model, reference=table)


def alerts() -> pd.DataFrame:
    table, explainer = world()
    return table[np.asarray(explainer.model.predict(table.to_numpy(float))) == "alert"][:4]


@cache
def found() -> cp.Explanation:
    return world()[1](alerts(), target="benign", alternatives="basins")


def test_every_basin_is_a_valid_answer_and_none_occurs_twice() -> None:
    explanation = found()
    assert explanation.valid.all()
    assert explanation.count.max() >= 2
    for row in range(len(explanation)):
        answers = explanation.answers[row, : explanation.count[row]]
        assert len(np.unique(answers, axis=0)) == len(answers)
        assert (world()[1].model.predict(answers) == "benign").all()


def test_one_of_the_basins_is_at_least_as_near_as_the_usual_answer() -> None:
    usual = world()[1](alerts(), target="benign")
    assert (np.nanmin(found().measures.effort, axis=1) <= usual.effort * (1 + 1e-9)).all()


def test_a_row_alone_has_the_basins_that_it_has_in_a_batch() -> None:
    alone = world()[1](alerts().iloc[[2]], target="benign", alternatives="basins")
    assert np.array_equal(alone.answers[0], found().answers[2], equal_nan=True)


def test_basins_do_not_go_with_firm_answers_and_other_words_are_refused() -> None:
    with pytest.raises(cp.InputError, match="must not go with keep"):
        world()[1](alerts(), target="benign", alternatives="basins", keep=0.9)
    with pytest.raises(cp.InputError, match="alternatives must be"):
        world()[1](alerts(), target="benign", alternatives="valleys")


def test_free_energy_is_effort_less_t_times_the_logarithm_of_what_is_kept() -> None:
    explanation = world()[1](alerts(), target="benign")
    table = explanation.energy
    some = explanation.kept > 0
    assert some.any()
    assert table["entropy"].to_numpy()[some] == pytest.approx(np.log(explanation.kept[some]))
    assert table["free_energy"].to_numpy() == pytest.approx(explanation.effort - table["T"] * table["entropy"])
    assert (table["free_energy"] >= explanation.effort - 1e-12).all(), "fragility costs"
    again = cp.Explanation.from_json(explanation.to_json())
    assert again.energy["free_energy"].to_numpy() == pytest.approx(table["free_energy"].to_numpy())


def test_an_answer_of_which_no_copy_was_kept_has_no_room_at_all() -> None:
    frame = pd.DataFrame({"a": np.arange(100) / 10})
    crack = cp.Explainer(lambda table: (table["a"].to_numpy(float) == 3.0).astype(float), reference=frame)
    explanation = crack(frame[50:51], target=(0.5, None), noise=0.5)
    assert explanation.valid.all()
    assert explanation.kept[0] == 0
    assert explanation.energy["entropy"].iloc[0] == -np.inf
    assert explanation.energy["free_energy"].iloc[0] == np.inf
    assert "Infinity" not in explanation.to_json()
