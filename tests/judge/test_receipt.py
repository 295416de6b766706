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


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"kind": "counterpoise receipt"}', "[" * 100_000])
def test_what_is_no_receipt_is_a_clear_line(text: str) -> None:
    with pytest.raises(InputError, match="receipt"):
        check(text)


def test_a_row_without_an_answer_has_no_receipt() -> None:
    _, _, alerts = detector()
    fixed = explainer().schema.names
    with pytest.raises(InputError, match="valid answer"):
        cp.write_receipt(explainer(constraints=[cp.Immutable(*fixed)])(alerts[:1], target="benign"))
