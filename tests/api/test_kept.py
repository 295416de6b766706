"""The share of noisy copies that keep each answer: what it says, what it costs, when it is left out."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.api.houses import FAST, MODEL, ROWS, TRAIN, explainer

import counterpoise as cp
from counterpoise.api.firmness.noise import fit_noise
from counterpoise.errors import InputError, ModelError
from counterpoise.objective.noise import RankNoise
from counterpoise.reference_rows import ReferenceRows

TREES = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(TRAIN[["area", "rooms"]], MODEL.predict(TRAIN))
NUMBERS = TRAIN[["area", "rooms"]]


def test_every_answer_has_a_share_inside_its_interval():
    e = explainer()(ROWS, alternatives=2)
    assert ((e.kept >= e.kept_interval[:, 0]) & (e.kept <= e.kept_interval[:, 1])).all()
    table = e.answer_table
    assert len(table) == e.count.sum()
    assert table["kept"].notna().all()
    assert table["effort"].is_monotonic_increasing or (table.groupby("position")["effort"].diff().dropna() >= 0).all()
    assert (table["probability"] >= 0.5).all()


def test_the_noise_of_other_constraints_does_not_leak():
    """Noise is calibrated on copies held to the constraints: a narrower copy of an explainer has a noise of its own."""
    alone, asked_before = (cp.Explainer(TREES, reference=NUMBERS) for _ in range(2))
    narrow = asked_before.with_constraints(cp.Immutable("area"))(NUMBERS[:6])
    first, second = alone(NUMBERS[:6]), asked_before(NUMBERS[:6])
    assert narrow.question.noise_levels != first.question.noise_levels
    assert second.question.noise_levels == first.question.noise_levels
    np.testing.assert_array_equal(second.kept, first.kept)


def test_the_share_is_that_of_fresh_copies():
    """200 copies and the 1000 others of a check agree within what chance allows."""
    e = cp.explain(TREES, NUMBERS[:20], reference=NUMBERS)
    again = cp.robustness(e, TREES, reference=NUMBERS)
    told = {f"rank noise {level:g}, as it was calibrated" for level in e.question.noise_levels.values()}
    assert set(again.noise.split(" / ")) == told
    off = np.abs(e.kept - again.table["kept"].to_numpy())
    assert off.max() < 0.16
    assert off.mean() < 0.05


def test_a_row_alone_has_the_share_that_it_has_in_a_batch():
    ask = explainer()
    together, alone = ask(ROWS), ask(ROWS[3:4])
    assert together.kept[3] == alone.kept[0]
    assert ask(ROWS, seed=1).kept.tolist() != together.kept.tolist()


def test_noise_auto_is_found_once_for_each_target_and_seed_and_stored():
    ask = explainer()
    e = ask(ROWS)
    assert set(e.question.noise_levels) == {"dear"}
    assert 0.001 <= e.question.noise_levels["dear"] <= 0.2
    assert ask(ROWS[:1]).question.noise_levels == e.question.noise_levels
    assert explainer()(ROWS[2:3]).question.noise_levels == e.question.noise_levels
    back = cp.Explanation.from_json(e.to_json())
    assert back.question.noise_levels == e.question.noise_levels
    assert back.kept.tolist() == e.kept.tolist()


def test_a_firm_answer_and_its_share_have_the_same_noise():
    firm = explainer()(ROWS[:2], keep=0.8, alternatives=2)
    assert firm.kept.tolist() == firm.firm["kept"].tolist()
    assert firm.tipping.kept.tolist() == explainer()(ROWS[:2]).kept.tolist()
    assert (firm.tipping.kept < firm.kept).all()


def test_its_model_rows_are_counted():
    ask = explainer()
    bare, measured = ask(ROWS, kept=False), ask(ROWS)
    assert measured.model_rows - bare.model_rows >= 200 * len(ROWS)
    assert measured.x.tolist() == bare.x.tolist()
    assert np.isnan(bare.kept).all()


def test_own_noise_needs_no_keep():
    ask = explainer()
    wide, narrow = (ask(ROWS, noise=width).kept for width in (1.0, 1e-6))
    assert narrow.mean() > wide.mean()
    with pytest.raises(InputError, match="noise must go with keep, temperature or kept"):
        ask(ROWS, noise=0.2, kept=False)
    with pytest.raises(InputError, match="kept must be 'auto', True or False"):
        ask(ROWS, kept="yes")


def test_without_a_row_of_the_target_the_noise_says_so():
    schema = cp.Schema.infer(TRAIN)
    e = cp.Explainer(MODEL, schema=schema)(ROWS[:1])
    assert "no reference to calibrate on" in e.measures.noise[0]
    assert 0 <= e.kept[0] <= 1


def test_close_calls_are_decided_by_predict():
    """A model whose predict asks for more than its outputs: copies near the boundary count as predict says."""

    class Strict(DecisionTreeClassifier):
        def predict(self, x):
            return np.where(self.predict_proba(x)[:, 1] > 0.6, 1, 0)

    rng = np.random.default_rng(0)
    x = rng.random((400, 2))
    model = Strict(max_depth=3, random_state=0).fit(x, (x[:, 0] + 0.3 * rng.random(400) > 0.6).astype(int))
    rows = x[model.predict(x) == 0][:10]
    e = cp.explain(model, rows, reference=x, target=1, noise=0.05)
    assert e.valid.all()
    again = model.predict(e.x)
    assert (again == 1).all()


def test_auto_leaves_it_out_where_the_model_fails_on_copies_and_says_so():
    seen = set(map(tuple, NUMBERS.round(1).to_numpy().tolist()))

    def brittle(x):
        x = np.asarray(x, dtype=float)
        if len(x) > 190 * 2 and not set(map(tuple, x.round(1).tolist())) <= seen:
            raise ValueError("too many rows")
        return TREES.predict_proba(pd.DataFrame(x, columns=NUMBERS.columns))

    ask = cp.Explainer(cp.Function(brittle, array=True), reference=NUMBERS)
    e = ask(NUMBERS[:3], method=FAST)
    assert e.valid.all()
    assert np.isnan(e.kept).all()
    assert [note for note in e.notes if "was not measured: the model fails on noisy copies" in note]
    with pytest.raises(ModelError):
        ask(NUMBERS[:3], method=FAST, kept=True)


def test_auto_leaves_it_out_for_remote_models():
    class Posted(cp.Remote):
        def __call__(self, rows):
            return TREES.predict_proba(rows)

    ask = cp.Explainer(Posted("https://example.org/score"), reference=NUMBERS)
    e = ask(NUMBERS[:2], method=FAST)
    assert np.isnan(e.kept).all()
    assert [note for note in e.notes if "the model is remote" in note]
    assert not np.isnan(ask(NUMBERS[:2], method=FAST, kept=True).kept).any()


def test_copies_stay_inside_the_constraints():
    """Noise that may not move a feature leaves it alone: with all but one fixed, a copy differs in that one."""
    rigid = explainer(constraints=[cp.Immutable("rooms", "heating", "garden")])(ROWS[:3])
    loose = explainer()(ROWS[:3])
    assert (rigid.kept[rigid.valid] >= 0).all()
    assert rigid.kept.tolist() != loose.kept.tolist()


def test_a_saved_answer_keeps_its_measures(tmp_path):
    e = explainer()(ROWS, alternatives=2)
    e.save(tmp_path / "e.json")
    back = cp.Explanation.load(tmp_path / "e.json")
    pd.testing.assert_frame_equal(back.answer_table, e.answer_table)
    document = json.loads((tmp_path / "e.json").read_text())
    del document["explanation"]["measures"]  # as the first documents of version 2
    assert np.isnan(cp.Explanation.from_json(json.dumps(document)).kept).all()


def test_ranks_of_a_reference_are_learnt_once():
    """Rank noise that a user gives is fitted once, and says what the noise fitted by hand says."""
    reference = ReferenceRows(np.random.default_rng(0).exponential(size=(50, 2)), np.zeros((50, 2)))
    first, second = fit_noise(RankNoise(0.02), reference), fit_noise(RankNoise(0.1, flips=0.2), reference)
    assert first.ranks is second.ranks
    by_hand = RankNoise(0.1, flips=0.2).fitted(reference.x)
    assert (second.level, second.flips) == (0.1, 0.2)
    assert np.array_equal(second.ranks.table, by_hand.ranks.table)
