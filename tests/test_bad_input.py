"""Bad input: each kind of it ends in an answer or in one error, in one grammar, that names the culprit."""

from threading import Lock

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.cli.options import say_in_options

rng = np.random.default_rng(0)
TRAIN = pd.DataFrame(
    {
        "load": rng.normal(5, 2, 80).round(3),
        "ports": rng.integers(1, 20, 80),
        "spare": rng.normal(size=80),
    }
)
SAYS = np.where(TRAIN["load"] + TRAIN["ports"] / 4 > 7.5, "alert", "benign")
MODEL = LogisticRegression().fit(TRAIN, SAYS)
ALERTS = TRAIN[MODEL.predict(TRAIN) == "alert"][:4]
FAST = cp.Polished(cp.NearestNeighbour())


def explain(X=ALERTS, model=MODEL, reference=TRAIN, **settings):
    return cp.explain(model, X, reference=reference, **{"target": "benign", "method": FAST, **settings})


def refused(kind, *parts, X=ALERTS, **settings):
    """The error of this kind that a call ends in; its message has the three parts, and these words."""
    with pytest.raises(kind) as caught:
        explain(X, **{"on_error": "raise", **settings})
    error = caught.value
    assert type(error) is kind
    assert all(isinstance(part, str) and part for part in (error.must, error.given, error.todo))
    assert str(error) == f"{error.must}; {error.given}; {error.todo}"
    for part in parts:
        assert part in str(error)
    return error


@pytest.mark.parametrize("nothing", [ALERTS[:0], [], np.empty((0, 3))], ids=["frame", "list", "array"])
@pytest.mark.parametrize("on_error", ["reject", "raise"])
def test_no_rows_have_an_explanation_of_none(nothing, on_error):
    found = explain(nothing, keep=0.9, alternatives=2, on_error=on_error)
    assert len(found) == 0
    assert list(found) == []
    assert found.to_frame().empty
    assert list(found.to_frame().columns) == list(explain(ALERTS[:1], keep=0.9, alternatives=2).to_frame().columns)
    assert "0 rows" in repr(found)
    assert len(cp.Explanation.from_json(found.to_json())) == 0


def test_a_model_that_cannot_leave_its_process_is_named():
    lock = Lock()

    def locked(rows: pd.DataFrame) -> np.ndarray:
        with lock:
            return MODEL.predict_proba(rows)

    model = cp.Function(locked, labels=tuple(MODEL.classes_))
    error = refused(cp.InputError, "sent to other processes", "cannot pickle", "n_jobs=1", model=model, n_jobs=2)
    assert "give --jobs 1" in say_in_options(str(error))


def test_a_model_that_is_sure_of_every_class_has_no_probability_above_one():
    class Sure(LogisticRegression):
        def predict_proba(self, X):
            return np.ones((len(X), 3))

    table = pd.DataFrame({"load": np.arange(30.0), "ports": np.arange(30) % 7.0})
    model = Sure(max_iter=1000).fit(table, np.repeat(["a", "b", "c"], 10))
    found = cp.explain(model, table[:3], reference=table, target=cp.AnythingBut("a"), method=FAST)
    assert np.nanmax(found.scores[["probability_before", "probability_after"]].to_numpy()) <= 1
    assert len(cp.Explanation.from_json(found.to_json())) == 3


def test_no_rows_of_other_columns_are_refused():
    refused(cp.InputError, "no 'ports'", X=ALERTS[:0].drop(columns="ports"))


def test_no_rows_have_no_ensemble_and_no_curve():
    explainer = cp.Explainer(MODEL, reference=TRAIN)
    for look in (cp.ensemble, cp.frontier, cp.sensitivity):
        with pytest.raises(cp.InputError, match="at least one row; no rows; give one row or more"):
            look(explainer, ALERTS[:0], target="benign")


@pytest.mark.parametrize(
    ("wrong", "named", "todo"),
    [
        (None, "None was given", "DataFrame"),
        ("alerts.csv", "a text was given", "pd.read_csv('alerts.csv')"),
        (5, "an int was given", "DataFrame"),
        (object(), "an object was given", "DataFrame"),
    ],
)
def test_what_is_no_table_is_named(wrong, named, todo):
    refused(cp.InputError, "two-dimensional", named, todo, X=wrong)


def test_a_sparse_matrix_is_told_how_to_become_a_table():
    refused(cp.InputError, "csr_array", "toarray", X=csr_array(ALERTS.to_numpy()))


def test_texts_that_no_file_can_hold():
    half = "\ud800"
    texts = TRAIN.assign(site=pd.Series(["a", half] * 40, dtype=object))
    refused(
        cp.InputError,
        "categories",
        "whole characters",
        r"'\ud800'",
        X=texts[:2],
        reference=texts,
        model=lambda rows: rows["load"] > 1,
    )
    refused(cp.InputError, "labels of a model", model=cp.Function(lambda rows: rows["load"] > 1, labels=("a", half)))


def test_unknown_column_in_a_constraint_or_a_weight():
    refused(cp.ConstraintError, "Immutable('prots')", "'ports'", constraints=[cp.Immutable("prots")])
    refused(cp.InputError, "'prots'", "'ports'", weights={"prots": 2.0})


def test_missing_column():
    refused(cp.InputError, "no 'ports'", X=ALERTS.drop(columns="ports"))
    refused(cp.InputError, "no 'ports'", "they have 'prots'", X=ALERTS.rename(columns={"ports": "prots"}))


def test_extra_column_is_carried_through_and_said_once():
    rows = ALERTS.assign(note="seen by Kim", when=pd.Timestamp("2024-01-01"))
    e = explain(rows)
    pd.testing.assert_frame_equal(e.frame[["note", "when"]], rows[["note", "when"]])
    assert [note for note in e.notes if "'note', 'when'" in note] == list(e.notes)
    assert len(e.notes) == 1
    assert e.valid.all()


def test_wrong_dtype():
    refused(cp.InputError, "'load' must hold numbers", "'fast'", X=ALERTS.assign(load="fast"))
    refused(cp.InputError, "'load' must hold numbers", X=ALERTS.assign(load=pd.Timestamp("2024-01-01")))
    refused(cp.InputError, "'ports' holds whole numbers", "2.5", X=ALERTS.assign(ports=2.5))
    dated = TRAIN.assign(spare=pd.Timestamp("2024-01-01"))
    refused(cp.ModelError, "must accept rows as the reference has them", reference=dated)
    refused(cp.InputError, "'spare' is complex128", reference=TRAIN.assign(spare=1j))


def test_infinite_value():
    rows = ALERTS.copy()
    rows.iloc[2, 0] = np.inf
    error = refused(cp.InputError, "finite", "'load' is inf", X=rows)
    assert repr(int(rows.index[2])) in error.given
    refused(cp.InputError, "finite", "'load'", reference=TRAIN.assign(load=np.inf))


def test_nan_where_the_model_refuses_it():
    rows = ALERTS.copy()
    rows.iloc[1, 0] = np.nan
    error = refused(cp.InputError, "'load' missing in row 1", "imputer", X=rows)
    assert error.row == 1


def test_category_never_seen_in_the_reference():
    def model(frame):
        return np.where(frame["proto"] == "tcp", "alert", "benign")

    reference = pd.DataFrame({"proto": ["tcp", "udp"] * 4})
    rows = pd.DataFrame({"proto": ["tcp", "icmp"]})
    refused(cp.InputError, "'proto' is 'icmp' in row 1", "'tcp', 'udp'", X=rows, model=model, reference=reference)


@pytest.mark.parametrize(
    "target", ["malware", 1, None, ["benign", "malware"], cp.AnythingBut("malware"), np.array(["x"] * 4)]
)
def test_target_label_that_the_model_does_not_know(target):
    refused(cp.InputError, "a class that the model knows", "it knows 'alert', 'benign'", target=target)


@pytest.mark.parametrize("target", [[], ["alert", "benign"], cp.AnythingBut("alert", "benign"), cp.AnythingBut()])
def test_target_that_asks_for_everything_or_nothing(target):
    refused(cp.InputError, "name at least one class and leave out at least one", target=target)


def test_target_that_does_not_fit_the_model_or_the_rows():
    refused(cp.InputError, "range", target=(0, 1))
    refused(cp.InputError, "as many as the rows", "(3,) for 4 rows", target=np.array(["benign"] * 3))
    refused(cp.InputError, "between 0 and 1", threshold=1.5)
    number = {"model": lambda frame: frame["load"] * 1.0}
    refused(cp.InputError, "range (low, high)", "'benign'", **number)
    refused(cp.InputError, "low before high", target=(3, 1), **number)
    refused(cp.InputError, "at most one of them None", target=(None, None), **number)
    refused(cp.InputError, "threshold must go with a class", target=(0, 1), threshold=0.5, **number)


def test_row_already_of_the_target_is_answered_at_once_without_a_change():
    class Never:
        def iterate(self, problem, streams):
            raise AssertionError("there is nothing to search")

    benign = TRAIN[MODEL.predict(TRAIN) == "benign"][:3]
    e = explain(benign, method=Never())
    assert e.valid.all()
    pd.testing.assert_frame_equal(e.frame, benign)
    assert set(e.reason) == {"the model already says benign"}
    assert (e.energy["total"] == 0).all()
    mixed = explain(pd.concat([ALERTS[:2], benign]))
    assert mixed.changed.tolist()[2:] == [0, 0, 0]
    assert (mixed.changed[:2] > 0).all()


def test_reference_without_any_row_of_the_target_is_said_and_the_search_goes_on():
    alerts = TRAIN[MODEL.predict(TRAIN) == "alert"]
    e = cp.explain(MODEL, ALERTS, reference=alerts, bounds=None, target="benign")
    assert any("no reference row is benign" in note for note in e.notes)
    assert e.valid.all()
    nearest = explain(reference=alerts)
    assert set(nearest.status) == {"not_found"}
    assert all("no reference row is one" in reason for reason in nearest.reason)


def test_model_not_fitted():
    refused(cp.InputError, "LogisticRegression", "fit", model=LogisticRegression())
    refused(cp.InputError, "class LogisticRegression", model=LogisticRegression)


class Fragile:
    """A model that fails on rows with a certain value of 'spare'."""

    classes_ = np.array(["alert", "benign"])

    def __init__(self, poison, answer=None):
        self.poison, self.answer = poison, answer

    def fails(self, frame):
        return np.isclose(frame["spare"].to_numpy(dtype=float), self.poison, rtol=0, atol=1e-12)

    def __call__(self, frame):
        bad = self.fails(frame)
        if bad.any() and self.answer is None:
            raise ZeroDivisionError("out of paper")
        p = 1 / (1 + np.exp(7.5 - frame["load"] - frame["ports"] / 4).to_numpy(dtype=float))
        p[bad] = self.answer
        return np.column_stack([p, 1 - p])


@pytest.mark.parametrize("answer", [None, np.nan], ids=["raises", "NaN"])
def test_model_that_fails_in_the_middle_names_the_first_row_and_keeps_the_finished(answer):
    rows = ALERTS.assign(spare=[0.1, 0.2, 0.3, 0.4])
    fixed = {"constraints": [cp.Immutable("spare")], "target": 1}
    whole = explain(rows, model=Fragile(99.0), **fixed)
    error = refused(cp.ModelError, "row 2", X=rows, model=Fragile(0.3, answer), **fixed)
    assert error.row == 2
    assert len(error.partial) == 2
    np.testing.assert_array_equal(error.partial.x, whole.x[:2])
    if answer is None:
        assert "ZeroDivisionError" in error.given
        assert "out of paper" in error.given
        assert isinstance(error.__cause__, ZeroDivisionError)


def test_model_that_fails_only_on_what_the_search_proposes():
    class Later(Fragile):
        def fails(self, frame):  # row 2 has 0.3 there; the answers may not touch it, but 'load' moves
            return super().fails(frame) & (frame["load"].to_numpy() != rows["load"].iloc[2])

    rows = ALERTS.assign(spare=[0.1, 0.2, 0.3, 0.4])
    error = refused(cp.ModelError, "row 2", X=rows, model=Later(0.3), constraints=[cp.Immutable("spare")], target=1)
    assert error.row == 2
    assert error.partial.valid.tolist() == [True, True]


def test_model_that_breaks_down_for_good_still_gives_back_what_was_finished():
    calls = []

    def dying(frame):
        calls.append(len(frame))
        if len(calls) > 3:
            raise ConnectionError("gone")
        return Fragile(99.0)(frame)

    error = refused(cp.ModelError, "ConnectionError", "gone", model=dying, target=1)
    assert error.partial is None  # not even the rows themselves could be scored


@pytest.mark.parametrize(
    "answer",
    [
        lambda n: np.zeros((n, 2, 1)),
        lambda n: np.zeros((n + 1, 2)),
        lambda n: "benign",
        lambda n: None,
    ],
    ids=["cube", "one too many", "text", "nothing"],
)
def test_model_that_returns_the_wrong_shape(answer):
    refused(cp.ModelError, "return", "shape", model=lambda frame: answer(len(frame)))


def test_model_whose_shape_changes_in_the_middle():
    def turning(frame):
        p = Fragile(99.0)(frame)
        return p if len(frame) > 40 else np.column_stack([p, p])

    error = refused(cp.ModelError, "2 columns", ", 4)", model=turning, target=1)
    assert error.partial is None or len(error.partial) == 0


def test_contradictory_constraints_are_found_before_any_row():
    words = [cp.Range("load", 0, 2), cp.Range("load", 3, 4)]
    with pytest.raises(cp.ConstraintError) as caught:
        cp.Explainer(MODEL, reference=TRAIN, constraints=words)
    assert all(repr(word) in caught.value.given for word in words)
    assert "'load'" in caught.value.given


def test_fixed_feature_that_makes_a_row_infeasible():
    words = [cp.Immutable("ports"), cp.Range("ports", 0, int(ALERTS["ports"].max()) - 1)]
    e = explain(constraints=words)
    stuck = (ALERTS["ports"] == ALERTS["ports"].max()).to_numpy()
    assert (e.status[stuck] == "infeasible").all()
    assert (e.status[~stuck] != "infeasible").all()
    for reason in e.reason[stuck]:
        assert "'ports'" in reason
        assert all(repr(word) in reason for word in words)
    pd.testing.assert_frame_equal(e.frame[stuck], ALERTS[stuck])


def test_no_reference_and_no_schema():
    refused(cp.InputError, "a reference or a schema is needed", "neither", reference=None)


@pytest.mark.parametrize("what", ["rows", "reference"])
def test_duplicate_column_names(what):
    twice = {"rows": ALERTS, "reference": TRAIN}[what].set_axis(["load", "load", "spare"], axis=1)
    settings = {"X": twice} if what == "rows" else {"reference": twice}
    refused(cp.InputError, what, "given twice: 'load'", **settings)


@pytest.mark.parametrize("what", ["rows", "reference"])
def test_columns_with_several_levels(what):
    table = {"rows": ALERTS, "reference": TRAIN}[what]
    deep = table.set_axis(pd.MultiIndex.from_product([["a"], table.columns]), axis=1)
    settings = {"X": deep} if what == "rows" else {"reference": deep}
    refused(cp.InputError, what, "MultiIndex with 2 levels", **settings)


@pytest.mark.parametrize(
    ("setting", "value", "part"),
    [
        ("lam", -1, "lam must be"),
        ("lam", np.nan, "lam must be"),
        ("mu", "car", "mu must be"),
        ("mu", -2.0, "mu must be"),
        ("alternatives", 0, "alternatives must be"),
        ("alternatives", 1.5, "alternatives must be"),
        ("alternatives", 10**9, "from 1 to 1000"),
        ("budget", -1.0, "budget must be"),
        ("budget", "long", "budget must be"),
        ("seed", 0.5, "seed must be"),
        ("seed", True, "seed must be"),
        ("distance", "euclid", "distance must be"),
        ("bounds", "wide", "bounds must be"),
        ("weights", {"load": -1.0}, "weights must be"),
        ("weights", {"load": "much"}, "weights must be"),
        ("regularizers", [len], "regularizers must be"),
        ("schema", {"load": "float"}, "schema must be"),
    ],
)
def test_settings_that_make_no_sense(setting, value, part):
    refused(cp.InputError, part, **{setting: value})


def test_threshold_without_probabilities():
    refused(
        cp.CapabilityError,
        "a threshold needs a model with probabilities",
        model=lambda f: SAYS[f.index % 80],
        threshold=0.8,
    )


@pytest.mark.parametrize(
    "word",
    [
        lambda: cp.Range("a", -(10**400), 1),
        lambda: cp.Cost("a", up=10**400),
        lambda: cp.Step("a", 10**400),
        lambda: cp.Within("a", percent=10**400),
        lambda: cp.Rule("a < " + "9" * 400),
        lambda: cp.Rule("a < 1e999"),
    ],
)
def test_numbers_that_no_double_holds_are_refused(word):
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.0]})
    model = LogisticRegression().fit(table, [0, 0, 1, 1])
    with pytest.raises(cp.CounterpoiseError):
        cp.explain(model, table[:1], reference=table, constraints=[word()])


@pytest.mark.parametrize("word", [cp.Range("a", -(10**30), 10**30), cp.Cost("a", down=10**30), cp.MaxChanges(10**30)])
def test_whole_numbers_beyond_those_of_a_machine_are_numbers(word):
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.0]})
    model = LogisticRegression().fit(table, [0, 0, 1, 1])
    assert cp.explain(model, table[:1], reference=table, constraints=[word]).valid.all()


@pytest.mark.parametrize(
    ("call", "given", "todo"),
    [
        (lambda ex, e: ex("rows.csv"), "a text was given", "read the file first, for instance pd.read_csv('rows.csv')"),
        (lambda ex, e: explain(X=None), "None was given", "give a pandas DataFrame"),
        (lambda ex, e: explain(reference="train.csv"), "a text was given", "pd.read_csv('train.csv')"),
        (lambda ex, e: explain(agree=[LogisticRegression()]), "this LogisticRegression is not fitted", "give fitted"),
        (lambda ex, e: explain(regularizers=[cp.NearTarget]), "the class NearTarget was given", "give NearTarget()"),
        (lambda ex, e: cp.stability(ex, ALERTS), "an Explainer was given", "give what it returns for the rows"),
        (lambda ex, e: cp.robustness(ex, ALERTS), "an Explainer was given", "give what it returns for the rows"),
        (lambda ex, e: cp.landscape(ex, ALERTS[:1]), "an Explainer was given", "give what it returns for the rows"),
        (lambda ex, e: cp.profile(ex, ALERTS[:1]), "an Explainer was given", "give what it returns for the rows"),
        (lambda ex, e: cp.prove(ex, ALERTS), "an Explainer was given", "give what it returns for the rows"),
        (lambda ex, e: cp.save_schema(ex.schema, "f.yaml"), "a Schema and a text were given", "save_schema("),
        (lambda ex, e: cp.ensemble(MODEL, ALERTS[:1]), "a LogisticRegression was given", "give an Explainer: cp.Expl"),
        (
            lambda ex, e: cp.frontier(MODEL, ALERTS),
            "a LogisticRegression was given",
            "give an Explainer: cp.Explainer(",
        ),
        (lambda ex, e: cp.sensitivity(MODEL, ALERTS), "a LogisticRegression was given", "give an Explainer: cp.Expl"),
        (lambda ex, e: cp.figures.together(e), "an Explanation was given", "compute it first: cp.ensemble("),
    ],
)
def test_a_wrong_argument_is_named_in_one_line(call, given, todo):
    explainer = cp.Explainer(MODEL, reference=TRAIN)
    with pytest.raises(cp.InputError) as caught:
        call(explainer, explain(ALERTS[:1]))
    assert given in caught.value.given
    assert todo in caught.value.todo
    assert len(str(caught.value)) < 200
