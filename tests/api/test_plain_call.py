"""The plain call: few changes, values that the column can have, relations that the data obeys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp


def flows(seed: int = 0, rows: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns of every sort: few values, a small unit, single precision, a sum, an order, one-hot columns."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(list("abc"), rows)
    table = pd.get_dummies(pd.Series(kind), prefix="kind", dtype=int)
    table["ttl"] = rng.choice([31, 62, 254], rows)
    table["dur"] = (rng.integers(1, 5000, rows) * 1e-6).round(6)
    table["share"] = (rng.integers(0, 90, rows) / 10).astype(np.float32)
    table["fwd"], table["bwd"] = rng.integers(0, 40, rows), rng.integers(0, 40, rows)
    table["total"] = table["fwd"] + table["bwd"]
    label = table["total"] / 20 + table["share"] / 4 + (kind == "b") + (table["ttl"] == 62) > 4
    return table, label.to_numpy()


MODELS = {"linear": LogisticRegression(max_iter=3000), "tree": DecisionTreeClassifier(max_depth=5, random_state=0)}


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(list(MODELS)), st.sampled_from(["auto", "seen"]))
def test_no_answer_leaves_the_values_and_relations_of_the_reference(seed: int, kind: str, values: str) -> None:
    table, label = flows(seed)
    model = MODELS[kind].fit(table, label)
    found = cp.explain(model, table[:8], reference=table, values=values).frame
    assert (found[["kind_a", "kind_b", "kind_c"]].sum(axis=1) == 1).all()
    assert found[["kind_a", "kind_b", "kind_c"]].isin([0, 1]).all(axis=None)
    assert (found["total"] == found["fwd"] + found["bwd"]).all()
    assert found["ttl"].isin([31, 62, 254]).all()
    np.testing.assert_array_equal(found["dur"], found["dur"].round(6))
    np.testing.assert_array_equal(found["share"], found["share"].round(1).astype(np.float32))
    if values == "seen":
        for name in ("dur", "share", "fwd", "bwd"):
            assert found[name].isin(table[name]).all(), name


def test_each_default_is_lifted_by_a_word() -> None:
    table, label = flows()
    model = MODELS["linear"].fit(table, label)
    plain = cp.Explainer(model, reference=table)
    assert {found.sort for found in plain.relations} >= {"sum", "one-hot"}
    assert any("relations that every reference row obeys" in note for note in plain(table[:3]).notes)
    lifted = cp.Explainer(model, reference=table, relations=None)
    assert not len(lifted.relations)
    bare = cp.explain(model, table[:20], reference=table, relations=None, values="any", lam=0)
    assert np.median(plain(table[:20]).changed) < np.median(bare.changed)
    assert not bare.frame["ttl"].isin([31, 62, 254]).all()


def test_a_row_that_breaks_a_relation_is_let_off_and_said() -> None:
    table, label = flows()
    model = MODELS["tree"].fit(table, label)
    odd = table[:2].copy()
    odd.loc[odd.index[1], "total"] += 7
    found = cp.explain(model, odd, reference=table)
    assert any("does not bind row 1" in note and "total == fwd + bwd" in note for note in found.notes)
    assert (found.frame["total"].iloc[0] == found.frame["fwd"].iloc[0] + found.frame["bwd"].iloc[0]) or not found.valid[
        0
    ]


def test_relations_and_values_are_asked_again_from_a_saved_explanation() -> None:
    table, label = flows()
    found = cp.explain(MODELS["tree"].fit(table, label), table[:3], reference=table)
    again = cp.Explanation.from_json(found.to_json())
    assert again.question.relations == found.question.relations
    assert again.question.penalty == "changes"
    assert again.schema == found.schema


@pytest.mark.parametrize(
    ("lam", "distance"), [(0.1, "l2"), (0.1, "l1"), (0.1, "linf"), (0.1, "mad"), (0.1 / 9, "gower"), (0.0, "l0")]
)
def test_auto_lam_is_a_tenth_of_what_a_change_costs(lam: float, distance: str) -> None:
    table, label = flows()
    found = cp.explain(MODELS["tree"].fit(table, label), table[:2], reference=table, distance=distance)
    assert found.question.lam == pytest.approx(lam)
    assert found.valid.all()


def test_what_a_relation_moves_along_is_not_counted() -> None:
    table, label = flows()
    explainer = cp.Explainer(MODELS["linear"].fit(table, label), reference=table)
    found = explainer(table[:30])
    moved = (found.frame["total"] != table["total"][:30]).to_numpy()
    assert moved.any()
    counted = np.rint(found.terms.regularizer / 0.1 * 2) / 2
    assert (counted[moved] < found.changed[moved]).all()


@pytest.mark.parametrize("rows", [1, 3, 30])
def test_a_tiny_reference_shows_no_relations(rows: int) -> None:
    table, label = flows()
    model = MODELS["tree"].fit(table, label)
    assert not len(cp.Explainer(model, reference=table[:rows]).relations)


def test_ten_thousand_texts_decide_nothing() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"id": [f"t{k}" for k in range(10_000)], "load": rng.normal(size=10_000).round(2)})
    explainer = cp.Explainer(lambda frame: np.where(frame["load"] > 0, "yes", "no"), reference=table)
    assert not len(explainer.relations)


class Crooked:
    level, max_level, is_fitted = 0.1, np.inf, True

    def __init__(self, how: str) -> None:
        self.how = how

    def copies(self, x, draws, region, scales, numeric):
        made = np.repeat(x[:, :, None, :], draws.shape[1], axis=2)
        return made[..., :-1] if self.how == "shape" else np.full_like(made, np.nan)

    def scaled(self, level):
        return self

    def fitted(self, reference):
        return self


@pytest.mark.parametrize(("how", "words"), [("shape", "a noise must return"), ("nan", "returned NaN")])
def test_a_noise_that_returns_nonsense_is_refused(how: str, words: str) -> None:
    table, label = flows()
    explainer = cp.Explainer(MODELS["tree"].fit(table, label), reference=table)
    with pytest.raises(cp.InputError, match=words):
        explainer(table[:2], keep=0.6, noise=Crooked(how))


def test_noise_by_feature_moves_these_alone() -> None:
    table, label = flows()
    explainer = cp.Explainer(MODELS["tree"].fit(table, label), reference=table)
    found = explainer(table[:3], keep=0.6, noise={"fwd": cp.Gaussian(0.1), "share": cp.RankNoise(0.02), "dur": 0.1})
    assert found.firm is not None
    with pytest.raises(cp.InputError, match="must be a number or a Noise"):
        explainer(table[:1], keep=0.6, noise={"fwd": "loud"})
    with pytest.raises(cp.InputError, match="must be one of the schema's"):
        explainer(table[:1], keep=0.6, noise={"nothing": 0.1})


def test_a_distance_that_gives_no_number_is_refused() -> None:
    class Nothing(cp.Distance):
        def norm(self, delta, x0):
            return np.full(delta.shape[:-1], np.nan)

        def slopes(self, delta, x0):
            return np.zeros_like(delta)

    table, label = flows()
    explainer = cp.Explainer(MODELS["tree"].fit(table, label), reference=table)
    with pytest.raises(cp.InputError, match="finite number of at least 0"):
        explainer(table[:1], distance=Nothing)
    own = cp.Distance.of(explainer.schema, "l1")
    np.testing.assert_allclose(
        explainer(table[:4], distance=own).terms.distance, explainer(table[:4], distance="l1").terms.distance
    )


@pytest.mark.parametrize("model", [RandomForestClassifier(4, random_state=0), LinearRegression()])
def test_a_model_of_several_outputs_is_refused_with_what_to_do(model: Any) -> None:
    table, label = flows()
    fitted = model.fit(table, np.column_stack([label == label[0], table["fwd"] > 20]).astype(int))
    with pytest.raises(cp.CounterpoiseError, match=r"model\.predict\(rows\)\[:, 0\]"):
        cp.explain(fitted, table[:2], reference=table)
