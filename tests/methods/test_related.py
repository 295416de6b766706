"""Searches under relations: what has an answer gets one, in every distance, and words that it obeys cost nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

import counterpoise as cp
from counterpoise.methods.model_kinds import starts_at_row
from problems import problem_of

DISTANCES = ["l2", "l1", "l0", "gower"]


def plane(seed: int, slope: list[int], rows: int = 200) -> tuple[pd.DataFrame, LogisticRegression]:
    """Rows of three columns and a linear model."""
    table = pd.DataFrame(np.random.default_rng(seed).normal(size=(rows, 3)), columns=list("abc"))
    return table, LogisticRegression().fit(table, table.to_numpy() @ slope > 0)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize(
    "rules",
    [["0.63*b + 1.43*a == 0.96", "1.09*b - 0.65*a == 1"], ["a + b == c", "2.07*a + 1.16*b + 0.45*c == 2"]],
    ids=["two columns settled", "one way left"],
)
def test_equations_that_share_columns_leave_every_row_its_answer(rules: list[str], distance: str) -> None:
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)) * [4, 2, 1], columns=list("abc"))
    model = LogisticRegression().fit(table, table["a"] + table["b"] + 2 * table["c"] > 0)
    rows = table[~model.predict(table)][:20]
    found = cp.explain(model, rows, reference=table, constraints=[*map(cp.Rule, rules)], distance=distance)
    assert found.valid.all()


@pytest.mark.parametrize("distance", ["l1", "l0"])
def test_what_has_an_answer_in_l2_has_one_in_every_distance(distance: str) -> None:
    table, model = plane(5658, [2, -2, -1])
    words = [cp.Rule("2*a + b - c <= 1"), cp.Rule("-2*a + b + c <= -0.5")]
    asking = {"reference": table, "constraints": words, "bounds": None, "values": "any"}
    assert cp.explain(model, table[:12], **asking).valid.all()
    assert cp.explain(model, table[:12], distance=distance, **asking).valid.all()


def test_a_ceiling_that_the_answer_obeys_does_not_move_it_away() -> None:
    table, model = plane(17, [-1, -2, -1], rows=300)
    words = [cp.Rule("a + 2*b <= -0.5"), cp.Rule("a - b + 2*c <= -0.5")]
    asking = {"reference": table, "bounds": None, "distance": "l1"}
    free = cp.explain(model, table[1:8], constraints=words, **asking)
    few = cp.explain(model, table[1:8], constraints=[*words, cp.MaxChanges(2)], **asking)
    same = free.valid & (free.changed <= 2)
    assert same.any()
    assert (few.energy["distance"][same] <= free.energy["distance"][same] * 1.01).all()


@pytest.mark.parametrize(
    ("seed", "slope", "rule", "row"),
    [(5001, [1, 2, 1], "2*b - 2*c <= 0", 10), (5009, [2, 1, 2], "-a + 2*b - 2*c <= 1", 2)],
)
def test_a_row_that_breaks_a_rule_is_mended_and_turned_by_one_change_where_one_does(seed, slope, rule, row) -> None:
    table, model = plane(seed, slope)
    found = cp.explain(model, table[row : row + 1], reference=table, constraints=cp.Rule(rule), distance="l0")
    assert found.changed.tolist() == [1]


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("model", [LogisticRegression(), SVC(), MLPClassifier((8,), max_iter=2000, random_state=0)])
@pytest.mark.parametrize(
    "word", [cp.Derived("rate", "total / duration"), cp.Rule("rate == total / duration")], ids=["derived", "rule"]
)
def test_a_quotient_that_is_undefined_somewhere_is_stepped_around(word, model, distance: str) -> None:
    rng = np.random.default_rng(0)
    flows = pd.DataFrame({"total": rng.integers(0, 50, 200), "duration": rng.integers(0, 9, 200)})
    flows["rate"] = np.where(flows["duration"] > 0, flows["total"] / flows["duration"].clip(1), 0.0)
    model.fit(flows, flows["total"] + flows["rate"] > 30)
    rows = flows[flows["duration"] > 0][:10]
    found = cp.explain(model, rows, reference=flows, constraints=word, distance=distance).frame
    assert (model.predict(found) != model.predict(rows)).all()
    np.testing.assert_allclose(found["rate"], found["total"] / found["duration"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("words", [[cp.Rule("fwd + bwd == total")], [cp.Linked("fwd", "bwd"), cp.MaxChanges(3)]])
def test_trees_under_relations_set_out_from_reference_rows_too(words: list) -> None:
    """The row itself leads nowhere near where a relation leaves little room."""
    rng = np.random.default_rng(105)
    table = pd.DataFrame({"fwd": rng.integers(1, 50, 250), "bwd": rng.integers(1, 50, 250)})
    table["total"], table["dur"] = table["fwd"] + table["bwd"], rng.uniform(1, 9, 250).round(3)
    label = (table["total"] / table["dur"] + table["fwd"] + rng.normal(0, 3, 250) > 42).astype(int)
    model = HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5, random_state=0).fit(table, label)
    found = cp.explain(model, table[:20], reference=table, constraints=words, distance="l1")
    assert found.valid.all()
    assert not starts_at_row(problem_of(model, table, table[:1], constraints=words))
    assert starts_at_row(problem_of(model, table, table[:1]))


@pytest.mark.parametrize("distance", ["l2", "l1"])
def test_trees_see_what_is_computed_from_a_column(distance: str) -> None:
    """Leaves tell what a column does by itself alone: the answers are about as near as those of the same black box."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"fwd": rng.gamma(2, 20, 1500), "bwd": rng.gamma(2, 20, 1500), "z": rng.normal(size=1500)})
    table["dur"] = rng.gamma(3, 2, 1500) + 0.5
    table["total"] = table["fwd"] + table["bwd"]
    table["rate"] = table["total"] / table["dur"]
    label = (table["rate"] > 18) ^ ((table["fwd"] > 60) & (table["z"] > 0))
    model = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(table, label)
    rows = table[model.predict(table)][:40]
    asked = {
        "reference": table,
        "constraints": [cp.Derived("total", "fwd + bwd"), cp.Derived("rate", "total / dur")],
        "distance": distance,
    }
    opened, blind = (cp.explain(one, rows, **asked) for one in (model, lambda rows: model.predict_proba(rows)))
    assert opened.valid.all()
    assert opened.terms.distance.mean() < 1.04 * blind.terms.distance.mean()
