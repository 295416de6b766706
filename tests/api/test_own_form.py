"""The user's own model is asked about rows and answers in the very form in which the user has them."""

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp

RNG = np.random.default_rng(0)


def claims_hold(model, rows, reference, **asked):
    """Whether every answer called valid differs in what the model says of the row; how many there are."""
    found = cp.explain(model, rows, reference=reference, **asked)
    before, after = np.asarray(model(rows.copy())), np.asarray(model(found.frame.copy()))
    alone = np.concatenate([np.asarray(model(found.frame.iloc[[place]].copy())) for place in range(len(rows))])
    assert (before != after)[found.valid].all()
    assert (before != alone)[found.valid].all()
    assert after[found.valid].tolist() == found.scores["after"][found.valid].tolist()
    return found


def test_none_and_object_dtype_reach_the_model():
    reference = pd.DataFrame({"load": RNG.normal(size=60), "kind": pd.Series(["a", "b", None] * 20, dtype=object)})

    def model(frame):
        seen = [cell is None for cell in frame["kind"].tolist()]
        is_object = 0.4 if frame["kind"].dtype == object else -0.4
        return np.where(frame["load"].to_numpy() + is_object + np.where(seen, 0.9, 0.0) > 0.5, "yes", "no")

    assert claims_hold(model, reference[:20], reference).valid.all()


def test_categories_in_the_order_of_the_rows():
    kinds = pd.CategoricalDtype(["red", "green", "blue"])
    reference = pd.DataFrame(
        {"load": RNG.normal(size=60), "kind": pd.Series(["red", "green", "blue"] * 20, dtype=kinds)}
    )
    rows = reference[:30].assign(kind=reference["kind"][:30].cat.reorder_categories(["blue", "green", "red"]))

    def model(frame):
        return np.where(frame["load"].to_numpy() + frame["kind"].cat.codes.to_numpy() > 1.0, "yes", "no")

    found = claims_hold(model, rows, reference)
    assert found.valid.sum() > 10
    assert list(found.frame["kind"].cat.categories) == ["blue", "green", "red"]


def test_columns_in_the_order_of_the_rows():
    reference = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"])

    def model(frame):
        return np.where(frame.iloc[:, 0].to_numpy() + 0.3 * frame["b"].to_numpy() > 0, "yes", "no")

    found = claims_hold(model, reference[:30].iloc[:, ::-1], reference)
    assert any("another order" in note for note in found.notes)


def test_a_model_that_refuses_the_order_is_asked_in_the_references_and_a_note_says_so():
    reference = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"])

    def model(frame):
        if list(frame.columns) != ["a", "b"]:
            raise ValueError("a must come first")
        return np.where(frame["a"].to_numpy() > 0, "yes", "no")

    found = cp.explain(model, reference[["b", "a"]][:5], reference=reference)
    assert found.valid.all()
    assert any("cannot read the columns in the order of the rows" in note for note in found.notes)


def test_a_model_that_cannot_read_a_dtype_is_asked_in_the_references_and_a_note_names_the_column():
    kinds = pd.CategoricalDtype(["tcp", "udp"])
    reference = pd.DataFrame({"load": RNG.normal(size=40), "kind": pd.Series(["tcp", "udp"] * 20, dtype=kinds)})

    def model(frame):
        return np.where(frame["load"].to_numpy() + frame["kind"].cat.codes.to_numpy() > 0.5, "yes", "no")

    found = cp.explain(model, {"load": 0.1, "kind": "tcp"}, reference=reference)
    assert found.valid.all()
    assert any("'kind' is" in note for note in found.notes)


def test_the_sign_of_zero_is_the_rows():
    reference = pd.DataFrame({"a": [-0.0, 0.0, 1.5, -1.5] * 10, "b": RNG.normal(size=40)})

    def model(frame):
        return np.where(frame["b"].to_numpy() + np.where(np.signbit(frame["a"].to_numpy()), 0.7, -0.7) > 0, "yes", "no")

    claims_hold(model, reference[:20], reference)
    same_row = cp.explain(model, reference[:1], reference=reference, target=model(reference[:1])[0])
    assert same_row.valid.all()
    assert np.signbit(same_row.x[0, 0])


def test_whole_numbers_that_the_schema_calls_continuous_come_back_as_floats():
    reference = pd.DataFrame({"a": np.arange(40), "b": RNG.normal(size=40)})
    schema = cp.Schema.infer(reference).edit("a", kind="continuous", decimals=None, values="any")

    def model(frame):
        return np.where(frame["a"].to_numpy(dtype=float) > 20.25, "yes", "no")

    found = cp.explain(model, reference[:5], reference=reference, schema=schema)
    assert found.valid.all()
    assert found.frame["a"].dtype == np.float64


def test_float_labels_are_labels():
    reference = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"])

    def model(frame):
        return np.where(frame["a"].to_numpy() > 0, 2.0, 1.0)

    found = cp.explain(cp.Function(model, labels=(1.0, 2.0)), reference[:20], reference=reference)
    assert found.valid.all()
    assert (model(found.frame) != model(reference[:20])).all()


def large_numbers():
    return pd.DataFrame({"id": 2**53 + np.arange(40), "load": RNG.normal(size=40)})


def reads_the_last_digit(frame):
    return np.where(frame["load"].to_numpy() + frame["id"].to_numpy() % 2 > 0.5, "yes", "no")


def test_whole_numbers_above_2_53_are_held_to_the_digit_and_a_note_says_so():
    reference = large_numbers()
    found = claims_hold(reads_the_last_digit, reference[:20], reference)
    assert found.frame["id"].equals(reference["id"][:20])
    assert "id" in found.held
    assert any("2**53" in note for note in found.notes)


def test_what_only_a_row_has_above_2_53_is_held_too():
    reference = pd.DataFrame({"id": np.arange(40), "load": RNG.normal(size=40)})
    row = pd.DataFrame({"id": [2**53 + 1], "load": [-2.0]})
    found = claims_hold(reads_the_last_digit, row, reference)
    assert found.frame["id"].tolist() == [2**53 + 1]
    assert any("2**53" in note for note in found.notes)


def test_a_function_judges_all_digits_of_what_is_returned():
    """Two rows that double precision does not tell apart: the function allows the number of one alone."""
    reference = large_numbers()
    rows = pd.DataFrame({"id": [2**53, 2**53 + 1], "load": [-2.0, -2.0]})
    found = cp.explain(
        lambda frame: np.where(frame["load"] > 0, "yes", "no"),
        rows,
        reference=reference,
        constraints=[lambda frame: (frame["id"] % 2 == 0).to_numpy()],
    )
    assert found.valid.tolist() == [True, False]
    assert found.frame["id"].tolist() == rows["id"].tolist()
    assert found.frame["load"][1] == -2.0


@pytest.mark.parametrize(
    "word",
    [
        cp.OneOf("id", [2**53 + 1]),
        cp.Range("id", 2**53 + 1, None),
        cp.Rule("id > 0"),
        cp.Lookup("id", of="load", table={1.0: 2**53 + 1}),
    ],
)
def test_a_constraint_on_numbers_that_lose_digits_is_refused(word):
    with pytest.raises(cp.ConstraintError, match=r"2\*\*53"):
        cp.Explainer(reads_the_last_digit, reference=large_numbers(), constraints=[word])


def test_a_listed_number_that_loses_digits_is_refused():
    reference = pd.DataFrame({"id": np.arange(40)})
    with pytest.raises(cp.ConstraintError, match="double precision"):
        cp.Explainer(lambda frame: frame["id"] > 5, reference=reference, constraints=[cp.OneOf("id", [2**53 + 1])])


def test_python_integers_of_any_size_give_a_clear_line_or_an_answer():
    reference = pd.DataFrame(
        {"a": RNG.normal(size=20), "big": pd.Series([10**30 + k for k in range(20)], dtype=object)}
    )

    def model(frame):
        return np.where(frame["a"].to_numpy() > 0, "yes", "no")

    found = cp.explain(model, reference[:3], reference=reference)
    assert found.frame["big"].tolist() == reference["big"][:3].tolist()
    with pytest.raises(cp.InputError, match=r"below 1\.8e308"):
        cp.explain(model, reference[:3].assign(big=10**400), reference=reference)
    with pytest.raises(cp.InputError, match=r"below 1\.8e308"):
        cp.Explainer(model, reference=reference.assign(big=10**400))


@pytest.mark.parametrize("method", [None, cp.Annealing(chains=3, steps=4)])
def test_a_text_column_that_is_empty_throughout(method):
    reference = pd.DataFrame({"nothing": pd.Series([None] * 40, dtype=object), "a": RNG.normal(size=40)})

    def model(frame):
        return np.where(frame["a"].to_numpy() > 0, "yes", "no")

    assert cp.explain(model, reference[:3], reference=reference, method=method).valid.all()


def test_an_object_that_changes_what_it_is_given_gets_a_copy():
    class Changes:
        labels, link = ("no", "yes"), "identity"

        def outputs(self, x):
            said = np.stack([np.zeros(len(x)), x[:, 0]], axis=1)
            x[:] = 7.0
            return said

        def predict(self, x):
            return np.array(self.labels)[self.outputs(x).argmax(axis=1)]

        def probabilities(self, x):
            return None

    reference = pd.DataFrame(RNG.normal(size=(40, 2)), columns=["a", "b"])
    found = cp.explain(Changes(), reference[:10], reference=reference)
    assert found.valid.all()
    assert ((found.frame["a"] > 0) != (reference["a"][:10] > 0)).all()


def test_a_model_that_dislikes_one_row_is_not_asked_about_rounded_digits_instead():
    reference = pd.DataFrame({"load": np.uint64(2**63) + RNG.integers(0, 4000, 40).astype("uint64")})
    reference["size"] = RNG.normal(size=40)
    disliked = int(reference["load"][1])

    def model(frame):
        if (frame["load"] == disliked).any():
            raise RuntimeError("not this one")
        return np.where(frame["load"] % 2 + frame["size"] > 0.5, "yes", "no")

    with pytest.raises(cp.ModelError, match="not this one"):
        cp.explain(model, reference[:3], reference=reference[2:], on_error="raise")


def test_a_note_says_in_which_order_a_model_without_names_is_asked():
    from sklearn.linear_model import LogisticRegression

    reference = pd.DataFrame(RNG.normal(size=(60, 2)) * [1, 5], columns=[7, ("a", 1)])
    model = LogisticRegression().fit(reference, reference[7] + reference[("a", 1)] > 1)
    found = cp.explain(model, reference[:10].iloc[:, ::-1], reference=reference)
    assert (model.predict(found.frame[list(reference.columns)]) != model.predict(reference[:10]))[found.valid].all()
    assert any("fitted without names in that of the reference" in note for note in found.notes)


def test_an_answer_to_the_rows_that_is_of_no_use_is_told_and_no_other_form_is_tried():
    kinds = pd.Series(["a", "b", None] * 20, dtype=object)
    reference = pd.DataFrame({"load": RNG.normal(size=60), "kind": kinds.where(kinds.notna(), np.nan)})

    def model(frame):
        said = np.where(frame["load"] > 0, "yes", "no").astype(object)
        return np.where([cell is None for cell in frame["kind"].tolist()], "unset", said)

    rows = reference[:20].assign(kind=kinds[:20])
    with pytest.raises(cp.ModelError, match="the model returned 'unset'"):
        cp.explain(model, rows, reference=reference, on_error="raise")
    found = cp.explain(model, rows, reference=reference)
    assert ((found.status == "rejected") == rows["kind"].isna()).all()
    assert all("the model returned 'unset'" in reason for reason in found.reason[found.status == "rejected"])
