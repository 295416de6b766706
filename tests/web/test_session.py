"""What the page is told: verdicts, answers under wishes, the list; each the same as the library says."""

import json
import re
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.web.questions import answer_question
from counterpoise.web.session import Session
from web.subjects import TRICK, detector, explainer, make_session


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    found = make_session()
    yield found
    found.close()


def test_the_verdict_on_edited_cells_is_the_models_own(session: Session) -> None:
    model, _, alerts = detector()
    column = session.explainer.schema.names.index("latency")
    edited = alerts.iloc[[0]].drop(columns="device").assign(latency=12.0)
    found = answer_question(session, "verdict", {"place": 0, "cells": {str(column): 12.0}})
    assert found["verdict"] == str(model.predict(edited)[0])
    share = model.predict_proba(edited)[0, list(model.classes_).index("benign")]
    assert found["probability"] == pytest.approx(share)


def test_a_cell_outside_the_constraints_is_said(session: Session) -> None:
    column = session.explainer.schema.names.index("latency")
    assert answer_question(session, "verdict", {"place": 0, "cells": {str(column): 1e9}})["broken"]


def test_the_answer_is_that_of_the_library(session: Session) -> None:
    asked = explainer()(detector()[2][:1], target="benign", alternatives=3)
    found = answer_question(session, "complete", {"place": 0, "wishes": {}})
    assert found["text"] == asked.text()
    assert found["answers"][0]["cells"] == asked.x[0].tolist()


@pytest.mark.parametrize("place", range(3))
def test_wishes_bind(session: Session, place: int) -> None:
    first = answer_question(session, "answer", {"place": place, "wishes": {}})["answers"][0]
    column = first["changed"][0]
    locked = answer_question(session, "answer", {"place": place, "wishes": {"locked": [column]}})
    assert all(column not in each["changed"] for each in locked["answers"])
    few = answer_question(session, "answer", {"place": place, "wishes": {"max_changes": 2}})
    assert all(len(each["changed"]) <= 2 for each in few["answers"])
    out = answer_question(
        session, "answer", {"place": place, "wishes": {"excluded": {column: [first["cells"][column]]}}}
    )
    assert all(each["cells"][column] != first["cells"][column] for each in out["answers"])
    own = answer_question(session, "row", {"place": place})["cells"][column]
    span = sorted([own, (own + first["cells"][column]) / 2])
    ranged = answer_question(session, "answer", {"place": place, "wishes": {"ranges": {column: span}}})
    assert all(span[0] <= each["cells"][column] <= span[1] for each in ranged["answers"])


def test_a_harder_feature_costs_more(session: Session) -> None:
    first = answer_question(session, "answer", {"place": 0, "wishes": {}})["answers"][0]
    prices = {str(column): "harder" for column in first["changed"]}
    dearer = answer_question(session, "answer", {"place": 0, "wishes": {"prices": prices}})["answers"][0]
    assert dearer["effort"] > first["effort"]


def test_a_firm_answer_comes_with_its_tipping_point(session: Session) -> None:
    found = answer_question(session, "answer", {"place": 0, "wishes": {"keep": 0.8}})
    assert found["tipping"]["effort"] <= found["answers"][0]["effort"]


def test_everything_that_is_told_is_plain_json(session: Session) -> None:
    columns = [session.explainer.schema.names.index(name) for name in ("latency", "packet_loss")]
    for what, more in (
        ("setup", {}),
        ("list", {}),
        ("row", {}),
        ("way", {}),
        ("plane", {"columns": columns}),
        ("ways", {}),
        *(("export", {"kind": kind}) for kind in ("report", "ticket", "json", "receipt")),
    ):
        json.dumps(answer_question(session, what, {"place": 0, **more}), allow_nan=False)


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("nothing", {}),
        ("row", {}),
        ("row", {"place": 99}),
        ("row", {"place": True}),
        ("verdict", {"place": 0, "cells": []}),
        ("verdict", {"place": 0, "cells": {"99": 1}}),
        ("verdict", {"place": 0, "cells": {"0": float("inf")}}),
        ("answer", {"place": 0, "wishes": []}),
        ("answer", {"place": 0, "wishes": {"tame": 1}}),
        ("answer", {"place": 0, "wishes": {"keep": 2}}),
        ("answer", {"place": 0, "wishes": {"max_changes": 0}}),
        ("answer", {"place": 0, "wishes": {"locked": [99]}}),
        ("answer", {"place": 0, "wishes": {"prices": {"0": "free"}}}),
        ("answer", {"place": 0, "wishes": {"ranges": {"0": [1]}}}),
        ("answer", {"place": 0, "wishes": {"ranges": []}}),
        ("way", {"place": 0, "stage": "third"}),
        ("plane", {"place": 0, "columns": [0, 99]}),
        ("ways", {"place": 0, "wishes": {"keep": 0.9}}),
        ("export", {"place": 0, "kind": "film"}),
        ("list", {"sort": "; drop table rows"}),
        ("list", {"limit": 10**9}),
        ("list", {"equal": {"words": "x"}}),
    ],
)
def test_a_wrong_question_is_one_line(session: Session, what: str, body: dict[str, object]) -> None:
    with pytest.raises(InputError):
        answer_question(session, what, body)


def test_the_list_searches_filters_and_sorts() -> None:
    session = make_session(rows_ahead=4)
    for step in session.steps_ahead():
        step()
    found = session.list_rows({"sort": "effort", "descending": True})
    efforts = [line["effort"] for line in found["lines"] if line["effort"] is not None]
    assert found["answered"] == found["total"] == 12
    assert efforts == sorted(efforts, reverse=True)
    assert len(efforts) > 6
    assert session.list_rows({"search": "onerror dev7"})["matching"] == 1
    assert session.list_rows({"search": "100%"})["matching"] == 0
    way = found["values"]["way"][0]
    assert {line["way"] for line in session.list_rows({"equal": {"way": way}})["lines"]} == {way}
    session.close()


def test_an_answer_ahead_is_the_answer_when_opened() -> None:
    session = make_session(rows_ahead=5)
    for step in session.steps_ahead():
        step()
    ahead = session.list_rows({})["lines"][3]
    alone = explainer()(detector()[2][3:4], target="benign")
    assert ahead["effort"] == pytest.approx(float(alone.answer_table["effort"].iloc[0]))
    session.close()


def test_the_first_stage_is_a_verified_answer_that_the_complete_one_may_only_better(session: Session) -> None:
    for place in range(3):
        first = answer_question(session, "answer", {"place": place})
        complete = answer_question(session, "complete", {"place": place})
        assert first["isValid"]
        assert first["proof"] == ""
        assert complete["answers"][0]["effort"] <= first["answers"][0]["effort"] + 1e-12
        cells = {str(column): first["answers"][0]["cells"][column] for column in first["answers"][0]["changed"]}
        assert answer_question(session, "verdict", {"place": place, "cells": cells})["isReached"]


def test_models_without_probabilities_have_a_workbench() -> None:
    from sklearn.linear_model import Ridge
    from sklearn.svm import LinearSVC

    _, train, alerts = detector()
    numbers = train.drop(columns="maker")
    rows = alerts.drop(columns=["maker", "device"])[:3]
    marked = numbers["latency"] > numbers["latency"].median()
    for model, target in ((LinearSVC(), "opposite"), (Ridge(), (None, 0.2))):
        session = Session(cp.Explainer(model.fit(numbers, marked), reference=numbers), rows, target=target)
        opened = answer_question(session, "row", {"place": 0})
        assert opened["probability"] is None
        assert answer_question(session, "answer", {"place": 0, "wishes": {}})["isValid"]
        assert not answer_question(session, "plane", {"place": 0, "columns": [0, 1]})["isProbability"]
        session.close()


def test_missing_cells_and_one_feature() -> None:
    import pandas as pd

    train = pd.DataFrame({"load": [0.1, 0.2, np.nan, 0.7, 0.8, 0.9] * 5})
    from sklearn.ensemble import HistGradientBoostingClassifier

    model = HistGradientBoostingClassifier(min_samples_leaf=2).fit(train, [0, 0, 0, 1, 1, 1] * 5)
    session = Session(cp.Explainer(model, reference=train), train[2:4])
    assert answer_question(session, "row", {"place": 0})["cells"] == [None]
    assert answer_question(session, "verdict", {"place": 1, "cells": {"0": None}})["verdict"] == "0"
    session.close()


@pytest.mark.parametrize("new_categories", [False, True])
def test_a_row_that_cannot_be_asked_about_costs_the_others_nothing(new_categories: bool) -> None:
    """A new category, a word among numbers, a row that the model fails on: listed as rejected, and never asked."""
    alerts = detector()[2]
    broken = alerts.astype({"maker": object, "latency": object}).reset_index(drop=True)
    broken.loc[2, "maker"] = "unheard of"
    broken.loc[5, "latency"] = "slow"
    asked = explainer(new_categories=new_categories)
    session, whole = Session(asked, broken, target="benign"), make_session()
    for step in session.steps_ahead():
        step()
    lines = session.list_rows({})["lines"]
    assert [line["place"] for line in lines if line["status"] == "rejected"] == [2, 5]
    others = whole.list_rows({})["lines"]
    for line, other in zip(lines, others, strict=True):
        if line["status"] != "rejected":
            assert (line["verdict"], line["probability"]) == (other["verdict"], other["probability"])
            assert line["effort"] is not None
    assert session.list_rows({"equal": {"status": "rejected"}})["matching"] == 2
    for what in ("row", "verdict", "answer", "way"):
        with pytest.raises(InputError, match="slow"):
            answer_question(session, what, {"place": 5})
    assert answer_question(session, "row", {"place": 6})["verdict"] == others[6]["verdict"]
    session.close()
    whole.close()


def test_rows_that_the_model_fails_on_are_rejected_and_a_model_that_is_down_is_an_error() -> None:
    train = pd.DataFrame({"load": [0.1, 0.2, 0.7, 0.9], "ports": [1, 2, 3, 4]})
    good = LogisticRegression().fit(train, [0, 0, 1, 1])
    fails_from = [3.5]

    def scores(rows: object) -> object:
        if np.asarray(rows)[:, 1].max() > fails_from[0]:
            raise RuntimeError("the accelerator is on fire")
        return good.predict_proba(pd.DataFrame(np.asarray(rows), columns=train.columns))

    asked = cp.Explainer(cp.Function(scores, labels=(0, 1)), reference=train[:3])
    session = Session(asked, train)
    assert list(session.rejected) == [3]
    assert "on fire" in session.rejected[3]
    session.close()
    fails_from[0] = -1
    with pytest.raises(cp.ModelError, match="on fire"):
        Session(asked, train)


def test_a_sample_that_takes_too_long_ends_and_says_so() -> None:
    session = make_session(sample_seconds=0.001)
    found = answer_question(session, "ways", {"place": 0})
    assert not found["isConverged"]
    assert found["basins"]
    session.close()


def test_names_and_notes_are_no_markup_in_a_ticket(session: Session) -> None:
    hostile = detector()[2][:1].set_axis([f"{TRICK} [x](javascript:1)"])
    other = Session(explainer(), hostile, target="benign")
    ticket = answer_question(other, "export", {"place": 0, "kind": "ticket", "note": "<b>**mine**"})["text"]
    assert "onerror" in ticket
    assert "mine" in ticket
    assert re.findall(r"(?<!\\)(?:<[a-z/]|\[|\*)", ticket) == []
    other.close()


def test_no_rows_is_a_clear_line() -> None:
    with pytest.raises(InputError, match="at least one"):
        Session(explainer(), detector()[2][:0])


def test_a_further_constraint_is_that_of_a_new_explainer() -> None:
    _, train, alerts = detector()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        train.drop(columns="maker"), train["latency"] > 60
    )
    rows = alerts.drop(columns=["maker", "device"])[:4]
    words = [cp.Immutable("latency"), cp.MaxChanges(3)]
    whole = cp.Explainer(model, reference=train.drop(columns="maker"), constraints=words)(rows)
    later = cp.Explainer(model, reference=train.drop(columns="maker")).with_constraints(*words)(rows)
    np.testing.assert_array_equal(whole.answers, later.answers)
    assert whole.question.constraints == later.question.constraints
