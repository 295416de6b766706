"""A derived value is what its expression says, to the bit of its dtype, whatever the search and the table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import counterpoise as cp

COLUMNS = {
    "float": lambda rng: rng.normal(size=60) * 3,
    "tenths": lambda rng: (rng.normal(size=60) * 3).round(1),
    "whole numbers in floats": lambda rng: np.rint(rng.normal(size=60) * 3),
    "int64": lambda rng: np.rint(rng.normal(size=60) * 3).astype("int64"),
    "float32": lambda rng: (rng.normal(size=60) * 3).astype("float32"),
}
EXPRESSIONS = ("c4 - c3", "2 * c4 + c3", "c4 * c3")


def _compute(expression: str, frame: pd.DataFrame) -> pd.Series:
    return eval(expression, {}, {name: frame[name].astype(float) for name in ("c3", "c4")})


def _write(values: pd.Series, dtype: np.dtype) -> pd.Series:
    return (values.round() if dtype.kind == "i" else values).astype(dtype)


@pytest.mark.parametrize("lam", [0.0, 5.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_derived_value_is_what_the_expression_says(seed: int, lam: float) -> None:
    rng = np.random.default_rng(seed)
    kinds = [list(COLUMNS)[place] for place in rng.integers(len(COLUMNS), size=5)]
    table = pd.DataFrame({f"c{place}": COLUMNS[kind](rng) for place, kind in enumerate(kinds)})
    label = (table[["c0", "c1", "c3"]].astype(float).sum(axis=1) > 0).astype(int)
    model = GradientBoostingClassifier(n_estimators=8, random_state=0) if seed % 2 else LogisticRegression()
    expression = EXPRESSIONS[seed % len(EXPRESSIONS)]
    explanation = cp.explain(
        model.fit(table, label),
        table[:5],
        reference=table,
        constraints=[cp.Derived("c0", expression)],
        lam=lam,
        bounds=None,
    )
    answers, rows = explanation.frame, table[:5]
    told = np.isin(explanation.status, ["infeasible", "rejected"])
    untouched = (answers[["c0", "c3", "c4"]] == rows[["c0", "c3", "c4"]]).all(axis=1).to_numpy()
    wanted = _write(_compute(expression, answers), table["c0"].dtype)
    wrong = (answers["c0"] != wanted).to_numpy() & ~told & ~untouched
    assert not wrong.any(), pd.concat([answers, wanted.rename("wanted")], axis=1)[wrong]
    assert (~told & ~untouched).any()


def test_a_row_that_its_table_rounds_keeps_its_own_value() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"weight": rng.normal(70, 9, 60).round(1), "height": rng.normal(1.7, 0.1, 60).round(2)})
    table["bmi"] = (table["weight"] / table["height"] ** 2).round(1)
    table["age"] = rng.integers(20, 70, 60)
    model = LogisticRegression(max_iter=2000).fit(table, table["age"] > 45)
    explanation = cp.explain(
        model, table[:6], reference=table, constraints=[cp.Derived("bmi", "weight / height ** 2"), cp.Mutable("age")]
    )
    assert explanation.valid.all()
    assert (explanation.frame["bmi"] == table["bmi"][:6]).all()


@pytest.mark.parametrize("scale", [1e-12, 1.0])
@pytest.mark.parametrize("method", [None, cp.NearestNeighbour()], ids=["search", "nearest"])
def test_the_ends_of_an_observed_range_do_not_bend_a_derived_value(scale: float, method: object) -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"part": rng.normal(size=60) * scale, "whole": rng.integers(1, 4, size=60).astype(float)})
    table["share"] = 0.5 * table["part"] / table["whole"] + rng.normal(size=60) * 4e-7 * scale
    model = GradientBoostingClassifier(n_estimators=8, random_state=0).fit(table, table["part"] > 0)
    words = [cp.Derived("share", "part / whole")]
    found = cp.explain(model, table[:20], reference=table, constraints=words, values="any", method=method)
    wanted = found.frame["part"] / found.frame["whole"]
    moved = (found.frame != table[:20]).any(axis=1) & found.valid
    assert (found.frame["share"] - wanted).abs()[moved].max() <= 1e-15 * scale


def test_a_cell_that_is_not_what_a_tiny_column_is_made_of_does_not_pass_for_it() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"load": rng.normal(size=40), "drift": rng.normal(size=40) * 1e-13})
    schema = cp.Schema.infer(table)
    drift = cp.Derived("drift", "load - load").compile_relation(schema)
    x = np.array([[1.0, 1.0], [4e-13, 0.0]])
    assert drift.holds(x, x + 5.0).tolist() == [False, True]


def test_integer_does_not_round_a_derived_value() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"load": rng.normal(size=80).round(), "rate": rng.normal(size=80).round(1)})
    table["sum"] = table["load"] + table["rate"]
    model = GradientBoostingClassifier(n_estimators=8, random_state=0).fit(table, table["load"] > 0)
    whole = table[table["sum"] == table["sum"].round()].head(10)
    words = [cp.Derived("sum", "load + rate"), cp.Integer("sum")]
    found = cp.explain(model, whole, reference=table, constraints=words, relations=None)
    assert found.valid.any()
    assert np.allclose(found.frame["sum"], found.frame["load"] + found.frame["rate"], rtol=0, atol=1e-12)
    assert (found.frame["sum"] == found.frame["sum"].round()).all()
