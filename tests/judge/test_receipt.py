"""A receipt holds for whoever has the model, and a changed one does not."""

import hashlib
import json
from typing import Any

import pytest
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.errors import InputError
from web.subjects import detector, explainer


@pytest.fixture(scope="module")
def receipt() -> str:
    _, _, alerts = detector()
    return cp.write_receipt(explainer(constraints=[cp.Immutable("open_ports")])(alerts[:1], target="benign"))


def check(text: str, model: Any = None) -> Any:
    own, train, _ = detector()
    return cp.check_receipt(text, own if model is None else model, reference=train)


def forge(text: str, change: Any, *, digest: bool) -> str:
    """The receipt with its explanation changed; its digest made to fit, or left."""
    outer = json.loads(text)
    inner = json.loads(outer["explanation"])
    change(inner["explanation"])
    outer["explanation"] = json.dumps(inner)
    if digest:
        outer["sha256"] = hashlib.sha256(outer["explanation"].encode()).hexdigest()
    return json.dumps(outer)


def test_a_receipt_holds_for_its_model(receipt: str) -> None:
    found = check(receipt)
    assert found.holds, found.faults
    assert any("proven again" in line for line in found.said)


def test_another_model_is_noticed(receipt: str) -> None:
    _, train, _ = detector()
    other = DecisionTreeClassifier(max_depth=2).fit(train.drop(columns="maker"), train["latency"] > 40)
    model = cp.Function(lambda rows: other.predict_proba(rows.drop(columns="maker")), labels=("alert", "benign"))
    assert not check(receipt, model).holds


@pytest.mark.parametrize("digest", [True, False], ids=["digest made to fit", "digest left"])
def test_a_raised_bound_is_refused(receipt: str, digest: bool) -> None:
    def raise_bound(document: Any) -> None:
        document["bound"]["values"] = [1.5 * value for value in document["bound"]["values"]]

    assert not check(forge(receipt, raise_bound, digest=digest)).holds


@pytest.mark.parametrize("digest", [True, False], ids=["digest made to fit", "digest left"])
def test_a_changed_answer_is_refused(receipt: str, digest: bool) -> None:
    def undo_changes(document: Any) -> None:
        document["answers"]["values"] = document["x0"]["values"]

    assert not check(forge(receipt, undo_changes, digest=digest)).holds


def test_a_changed_question_is_refused(receipt: str) -> None:
    def free_the_ports(document: Any) -> None:
        document["question"]["constraints"] = []

    assert not check(forge(receipt, free_the_ports, digest=False)).holds


def _set_score(name: str, value: Any) -> Any:
    def change(document: Any) -> None:
        columns = document["scores"]["columns"]["values"]
        document["scores"]["data"][columns.index(name)]["values"][0] = value

    return change


def _set_shown_cell(document: Any) -> None:
    columns = document["rows"]["columns"]["values"]
    document["rows"]["data"][columns.index("latency")]["values"][0] += 1.0


@pytest.mark.parametrize(
    "change",
    [
        _set_score("before", "benign"),
        _set_score("after", "alert"),
        _set_score("probability_before", 0.75),
        _set_score("probability_after", 0.99),
        _set_shown_cell,
        lambda document: document["status"]["values"].__setitem__(0, "infeasible"),
        lambda document: document["valid"]["values"].__setitem__(0, False),
        lambda document: document["count"]["values"].__setitem__(0, 9),
        lambda document: document["question"].__setitem__("regularizers", ["x"]),
        lambda document: document["bound"]["values"].__setitem__(0, 0.25 * document["bound"]["values"][0]),
    ],
)
def test_whatever_is_told_is_checked_again(receipt: str, change: Any) -> None:
    try:
        assert not check(forge(receipt, change, digest=True)).holds
    except InputError:
        return


def test_receipts_of_other_questions_hold() -> None:
    _, _, alerts = detector()
    for words in ({"target": "benign", "threshold": 0.8}, {}, {"target": "benign", "keep": 0.6}):
        found = check(cp.write_receipt(explainer()(alerts[1:2], **words)))
        assert found.holds, (words, found.faults)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "counterpoise receipt"}', "[" * 100_000])
def test_what_is_no_receipt_is_a_clear_line(text: str) -> None:
    with pytest.raises(InputError, match="receipt"):
        check(text)


def test_a_row_without_an_answer_has_no_receipt() -> None:
    _, _, alerts = detector()
    fixed = explainer().schema.names
    with pytest.raises(InputError, match="valid answer"):
        cp.write_receipt(explainer(constraints=[cp.Immutable(*fixed)])(alerts[:1], target="benign"))
