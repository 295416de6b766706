"""One call in chunks: cuts do not show, time is shared out, and what is finished survives."""

import time
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from api.houses import FAST, MODEL, ROWS, TRAIN, explainer
from counterpoise.api.batch.workers import ChunkSettings

ASK = explainer()


def in_pairs(asked: cp.Explainer) -> cp.Explainer:
    """The explainer, with chunks of two rows."""
    asked.chunks = ChunkSettings(rows=2)
    return asked


@pytest.fixture
def pairs(monkeypatch):
    """Chunks of two rows."""
    monkeypatch.setattr(ASK, "chunks", ChunkSettings(rows=2))


def test_answers_do_not_depend_on_how_the_rows_are_cut(monkeypatch):
    whole = ASK(ROWS, method=FAST, alternatives=2)
    for size in (1, 2, 4):
        monkeypatch.setattr(ASK, "chunks", ChunkSettings(rows=size))
        cut = ASK(ROWS, method=FAST, alternatives=2)
        np.testing.assert_array_equal(cut.answers, whole.answers)
        pd.testing.assert_frame_equal(cut.scores, whole.scores)
        pd.testing.assert_frame_equal(cut.energy, whole.energy)


@pytest.mark.parametrize("threshold", [None, 0.6])
def test_rows_of_large_trees_are_worked_on_in_small_chunks(threshold):
    sizes = []

    class Counting:
        def iterate(self, problem, streams):
            sizes.append(len(problem))
            yield FAST(problem, streams)

    rng = np.random.default_rng(0)
    x = rng.normal(size=(80, 2))
    forest = RandomForestClassifier(5, random_state=0).fit(x, x[:, 0] > 0)
    asked = cp.Explainer(forest, reference=x)
    asked.chunks = ChunkSettings(slow_rows=3)
    asked(x[:9], method=Counting(), threshold=threshold)
    assert max(sizes) > 3
    sizes.clear()
    asked.chunks = ChunkSettings(slow_rows=3, slow_tree_nodes=10)
    asked(x[:9], method=Counting(), threshold=threshold)
    assert max(sizes) <= 3


class Stopped:
    """A method that is interrupted when it meets a row, after a step."""

    def __init__(self, at):
        self.at = at

    def iterate(self, problem, streams):
        run = FAST(problem, streams)
        yield run
        if self.at in problem.row_numbers:
            raise KeyboardInterrupt
        yield run


@pytest.mark.usefixtures("pairs")
def test_an_interrupt_keeps_the_finished_rows():
    with pytest.raises(cp.Interrupted) as caught:
        ASK(ROWS, method=Stopped(at=4))
    assert "after 4 of 6 rows" in caught.value.given
    whole = ASK(ROWS, method=FAST)
    np.testing.assert_array_equal(caught.value.partial.x, whole.x[:4])
    pd.testing.assert_frame_equal(caught.value.partial.frame, whole.frame[:4])


def test_an_interrupt_before_anything_is_finished_gives_an_empty_explanation():
    with pytest.raises(cp.Interrupted) as caught:
        ASK(ROWS, method=Stopped(at=0))
    assert len(caught.value.partial) == 0
    assert len(caught.value.partial.frame) == 0


@pytest.mark.usefixtures("pairs")
def test_a_model_that_dies_leaves_what_was_finished():
    calls = []

    def model(frame):
        calls.append(len(frame))
        if len(calls) > limit:
            raise ConnectionError("gone")
        return MODEL.predict_proba(frame)

    limit = 10**9
    whole = in_pairs(cp.Explainer(model, reference=TRAIN))(ROWS, method=FAST)
    limit = len(calls) - 4
    calls.clear()
    with pytest.raises(cp.ModelError, match="gone") as caught:
        in_pairs(cp.Explainer(model, reference=TRAIN))(ROWS, method=FAST)
    assert 0 < len(caught.value.partial) < 6
    np.testing.assert_array_equal(caught.value.partial.x, whole.x[: len(caught.value.partial)])


@pytest.mark.usefixtures("pairs")
def test_the_budget_is_shared_out_among_the_chunks():
    shares = []

    class Slow:
        def iterate(self, problem, streams):
            shares.append(problem.deadline)
            yield FAST(problem, streams)

    ASK(ROWS, method=Slow(), budget=1000.0)
    assert len(shares) == 3
    # a third of all, then half of what is left, then the rest
    np.testing.assert_allclose(np.diff(shares), [1000 / 2 - 1000 / 3, 1000 / 2], atol=5)


@pytest.mark.usefixtures("pairs")
def test_when_the_time_is_over_reference_rows_answer_the_rest():
    seen = []

    class Noted:
        def iterate(self, problem, streams):
            seen.extend(problem.row_numbers.tolist())
            yield FAST(problem, streams)

    e = ASK(ROWS, method=Noted(), budget=0.0)
    assert seen == [0, 1]
    assert e.valid.all()
    assert ((e.answers[2:, 0, None, :] == e.evidence[2:]).all(axis=2)).any(axis=1).all(), "as they are"
    assert e.notes


def test_when_the_time_is_over_minimal_answers_stand_in_for_firm_ones():
    e = ASK(ROWS, keep=0.9, noise=0.2, budget=0.0)
    pd.testing.assert_frame_equal(e.frame, e.tipping.frame)
    assert e.firm["kept"].between(0, 1).all(), "and how firm they are is measured all the same"
    assert e.notes


@pytest.mark.usefixtures("pairs")
def test_progress_is_told_and_ends_at_the_number_of_rows():
    told = []
    ASK(ROWS, method=FAST, progress=lambda done, rows: told.append((done, rows)))
    assert told[-1] == (6, 6)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_rows_that_need_no_search_are_not_searched_and_not_scored_again():
    seen = []

    class Noted:
        def iterate(self, problem, streams):
            seen.extend(problem.row_numbers.tolist())
            yield FAST(problem, streams)

    dear = TRAIN[MODEL.predict(TRAIN) == "dear"][:2]
    rows = pd.concat([dear, ROWS[:2]])
    e = ASK(rows, target="dear", method=Noted())
    assert seen == [2, 3]
    assert e.valid.all()
    assert ASK(dear, target="dear", method=Noted(), kept=False).model_rows <= 4 * len(dear)


def test_a_row_outside_a_range_comes_inside_although_it_has_the_target():
    dear = TRAIN[MODEL.predict(TRAIN) == "dear"][:3].assign(area=500.0)
    e = explainer(constraints=[cp.Range("area", 20, 200)])(dear, target="dear", method=FAST)
    assert e.valid.all()
    assert (e.frame["area"] <= 200).all()


def test_a_budget_that_ended_a_search_is_told():
    hurried = "the budget of 0 s ended the search of 6 of the 6 rows: more time may find nearer answers"
    assert hurried in ASK(ROWS, budget=0.0).notes
    assert "the budget of 0 s ended the search of the row" in " ".join(ASK(ROWS[:1], budget=0.0).notes)
    for relaxed in ({}, {"budget": 1000.0}):
        assert not any("budget" in note for note in ASK(ROWS, method=FAST, **relaxed).notes)


class Wilful(LogisticRegression):
    """Says the opposite of its own scores where the first number is beyond 4, which no row of its reference is."""

    asked: ClassVar[list[int]] = []
    from_here = 4.0

    def predict(self, X):
        self.asked.append(len(X))
        said = super().predict(X)
        return np.where(X[:, 0] > self.from_here, ~said, said)


@pytest.mark.parametrize("target", ["opposite", True, False])
def test_what_a_row_is_called_is_what_predict_says(target):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)).clip(-3, 3)
    model = Wilful().fit(x, x.sum(axis=1) > 0)
    asked = cp.Explainer(model, reference=x, bounds=None)
    model.asked.clear()
    alone = asked(x[:1])
    assert model.asked == [2], "the row and its answer, in one call"
    rows = np.vstack([x[:3], [[5.0, 1.0], [6.0, -9.0]], x[3:6]])
    found = asked(rows, target=target)
    np.testing.assert_array_equal(found.scores["before"].astype(bool), model.predict(rows))
    np.testing.assert_array_equal(found.scores["after"].astype(bool), model.predict(found.x))
    wanted = ~model.predict(rows) if target == "opposite" else np.full(len(rows), target)
    np.testing.assert_array_equal(found.target.astype(bool), wanted)
    np.testing.assert_array_equal(model.predict(found.x)[found.valid], wanted[found.valid])
    assert found.valid.all()
    stays = wanted == model.predict(rows)
    assert (found.x[stays] == rows[stays]).all()
    assert found.valid[stays].all()
    for row in range(len(rows)):
        np.testing.assert_array_equal(asked(rows[[row]], target=target).x, found.x[[row]])
    np.testing.assert_array_equal(alone.x, asked(rows).x[:1])


@settings(max_examples=20)
@given(st.floats(-2, 3), st.integers(0, 1000), st.sampled_from(["opposite", True, False]), st.booleans())
def test_before_and_after_are_always_what_predict_says(from_here, seed, target, box):
    x = np.random.default_rng(seed).normal(size=(60, 2))
    model = Wilful().fit(x, x.sum(axis=1) > 0)
    asked = cp.Explainer(
        model, reference=x[x[:, 0] < from_here], bounds="observed" if box else None
    )  # not where it lies
    model.from_here = from_here
    found = asked(x[:6], target=target)
    np.testing.assert_array_equal(found.scores["before"].astype(bool), model.predict(x[:6]))
    np.testing.assert_array_equal(found.scores["after"].astype(bool), model.predict(found.x))
    wanted = ~model.predict(x[:6]) if target == "opposite" else np.full(6, target)
    np.testing.assert_array_equal(found.valid, model.predict(found.x) == wanted)


def test_a_budget_holds_for_firm_answers_of_a_model_whose_rows_are_slow():
    asked: list[int] = []

    def answer(table):
        asked.append(len(table))
        time.sleep(0.002 * len(table))
        return MODEL.predict_proba(table)

    explainer = cp.Explainer(cp.Function(answer, labels=MODEL.classes_.tolist()), reference=TRAIN)
    explainer(ROWS[:1], budget=0.5)  # what is made once
    asked.clear()
    firm = explainer(ROWS, keep=0.9, noise=0.2, budget=1.0, kept=False)
    assert firm.firm["copies"].between(1, 999).all()  # a thousand of each row would take twelve seconds
    assert 0.002 * sum(asked) < 2.5
    unhurried = explainer(ROWS[:1], keep=0.9, noise=0.2, kept=False)
    assert unhurried.firm["copies"].eq(1000).all()


def test_a_search_that_had_ended_by_itself_is_not_said_to_have_been_ended():
    may_wait = False

    def answer(table):
        if may_wait and len(table) > 500:  # noisy copies, after the search
            time.sleep(6.0)
        return MODEL.predict_proba(table)

    explainer = cp.Explainer(cp.Function(answer, labels=MODEL.classes_.tolist()), reference=TRAIN)
    explainer(ROWS, method=FAST)  # what is made once
    may_wait = True
    found = explainer(ROWS, method=FAST, kept=True, budget=6.0)
    assert not np.isnan(found.kept[found.valid]).any()
    assert not any("budget" in note for note in found.notes)
