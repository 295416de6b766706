"""What is odd about an answer is marked, and nothing else is."""

import numpy as np
import pandas as pd

import counterpoise as cp
from counterpoise.explanation.odd_marks import find_odd_marks
from counterpoise.explanation.tables import population_quantiles

TABLE = pd.DataFrame({"a": np.linspace(0.0, 100.0, 201), "b": np.linspace(0.0, 1.0, 201)})
SCHEMA = cp.Schema.infer(TABLE)
LEVELS = {"yes": population_quantiles(SCHEMA, TABLE.to_numpy())}


def _marks(answers, evidence=None, kept_high=np.nan, x0=(50.0, 0.5)):
    answers = np.array([answers], dtype=float)
    listed = ~np.isnan(answers[..., 0])
    high = np.full(answers.shape[:2], kept_high)
    real = None if evidence is None else np.array([[evidence]], dtype=float)
    return find_odd_marks(SCHEMA, np.array([x0]), answers, listed, ["yes"], LEVELS, real, high)


def test_a_value_beyond_the_percentiles_is_unusual_where_it_is_changed():
    marks = _marks([[99.5, 0.5], [98.5, 0.999], [0.5, 0.6]])
    assert marks.unusual[0].tolist() == [[True, False], [False, True], [True, False]]
    same = _marks([[100.0, 0.6]], x0=(100.0, 0.5))
    assert not same.unusual.any()


def test_an_edge_is_where_the_nearest_real_row_is_ten_times_as_far():
    far = _marks([[51.0, 0.5], [70.0, 0.5]], evidence=(90.0, 0.5))
    assert far.is_edge[0].tolist() == [True, False]
    assert round(far.far[0, 0]) == 40
    assert not _marks([[51.0, 0.5]]).is_edge.any()
    assert not _marks([[50.0, 0.5]], evidence=(90.0, 0.5)).is_edge.any()


def test_fragile_is_what_surely_keeps_less_than_half():
    assert _marks([[51.0, 0.5]], kept_high=0.49).is_fragile.all()
    assert not _marks([[51.0, 0.5]], kept_high=0.51).is_fragile.any()
    assert not _marks([[51.0, 0.5]]).is_fragile.any()


def test_marks_are_in_words_cards_and_columns():
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    x = pd.DataFrame({"load": np.exp(rng.normal(0, 2, 500)).round(3), "ports": rng.integers(0, 9, 500)})
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(x, np.where(rng.random(500) < 0.5, "b", "a"))
    e = cp.explain(model, x[:40], reference=x)
    table = e.answer_table
    fragile = table[table["fragile"]]
    assert len(fragile)
    assert (fragile["kept_high"] < 0.5).all()
    first = int(fragile["position"].iloc[0])
    assert "noisy copies: fragile." in e[first].text()
    edge = table[table["edge"]]
    assert len(edge)
    assert "an edge of the model, not a path that data takes" in e[int(edge["position"].iloc[0])].text()
