"""How near to the least answers are, as people and programs see it."""

import json

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import counterpoise as cp
from counterpoise.cli.output import format_json_lines
from counterpoise.explanation.cards.cards import build_cards
from counterpoise.explanation.exports.flat import tabulate_flat
from counterpoise.judge.review import review
from counterpoise.space.distance import Distance

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(200, 4)).round(2), columns=list("abcd"))
LABELS = np.where(TABLE["a"] + TABLE["b"] * TABLE["c"] > 0.2, "alert", "benign")
BOOSTED = GradientBoostingClassifier(n_estimators=15, max_depth=2, random_state=0).fit(TABLE, LABELS)
FOREST = RandomForestClassifier(60, max_depth=8, random_state=0).fit(TABLE, LABELS)
PROVEN = cp.explain(BOOSTED, TABLE[:4], reference=TABLE)
HARD = cp.explain(FOREST, TABLE[:30], reference=TABLE, method=cp.Proven(cp.Search(), cp.ProofSettings(nodes=3)))


def test_sentences_tell_effort_and_bound():
    assert "and no valid answer takes less: that is proven." in PROVEN[0].text()
    some = HARD[HARD.status == "bounded"]
    assert len(some)
    assert f"no valid answer takes less than {some.bound[0]:.3g}"[:36] in some[0].text()
    assert "proven" not in cp.explain(BOOSTED, TABLE[:1], reference=TABLE, proof=False).text()


def test_tables_and_lines_have_effort_bound_and_gap():
    table = tabulate_flat(HARD, Distance.of(HARD.schema))
    np.testing.assert_array_equal(table["cp_bound"], HARD.bound)
    np.testing.assert_array_equal(table["cp_gap"], HARD.gap)
    np.testing.assert_allclose(table["cp_effort"], HARD.effort)
    lines = [json.loads(line) for line in format_json_lines(HARD, redact=False)]
    assert [line["status"] for line in lines] == HARD.status.tolist()
    assert [line["bound"] for line in lines] == HARD.bound.tolist()


def test_cards_have_a_badge_and_the_report_a_summary(tmp_path):
    assert {card.proof for card in build_cards(PROVEN)} == {"proven least"}
    for card, gap in zip(build_cards(HARD), HARD.gap, strict=True):
        assert bool(card.proof) == bool(gap < np.inf)
    cp.report(HARD, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"{100 * np.mean(HARD.gap == 0):.0f}%</b><span>proven to be the least" in page
    cp.report(cp.explain(BOOSTED, TABLE[:2], reference=TABLE, proof=False), tmp_path / "page.html")
    assert "proven to be the least" not in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_methods_are_compared_with_the_bound():
    methods = {"search": cp.Search(), "nearest": cp.NearestNeighbour(), "theirs": PROVEN.frame}
    found = cp.compare(methods, BOOSTED, TABLE[:4], reference=TABLE)
    assert (found["effort_to_bound"] >= 1 - 1e-6).all()
    assert found.loc["theirs", "effort_to_bound"] < 1 + 1e-6
    assert found.loc["nearest", "effort_to_bound"] > found.loc["search", "effort_to_bound"]


def test_answers_from_elsewhere_are_held_against_the_bound():
    far = cp.explain(BOOSTED, TABLE[:4], reference=TABLE, method=cp.NearestNeighbour()).frame
    ours = cp.explain(BOOSTED, TABLE[:4], reference=TABLE, bounds=None)
    assert (review(BOOSTED, TABLE[:4], far, reference=TABLE).table["gap"] > 0).all()
    np.testing.assert_allclose(review(BOOSTED, TABLE[:4], ours.frame, reference=TABLE).table["gap"], 0, atol=1e-5)
