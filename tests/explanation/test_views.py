"""The views that people expect: wide table, importance, Markdown, Excel, cards in notebooks."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.api.houses import MODEL, ROWS, TRAIN

import counterpoise as cp
from counterpoise.errors import InputError
from counterpoise.explanation.cards.cards import build_cards
from counterpoise.explanation.sentences import shorten_reason
from counterpoise.show.report import render_page
from counterpoise.show.terminal import write_card

E = cp.explain(MODEL, ROWS, reference=TRAIN, alternatives=2)


def test_the_wide_table_dashes_what_stays():
    table = E.table()
    assert len(table) == len(E) + E.count.sum()
    changed = set(E.changes["feature"])
    assert set(table.columns) == changed | {"prediction", "p(target)", "kept"}
    assert set(E.table(all_features=True).columns) >= set(TRAIN.columns)
    listed = E.changes.groupby(["position", "alternative"])["feature"].apply(set)
    for (position, alternative), features in listed.items():
        line = table.loc[(str(E.rows.index[position]), str(alternative))]
        assert {name for name in changed if line[name] != "–"} == features
    assert table.loc[(str(E.rows.index[0]), "row"), "prediction"] == "cheap"


def test_a_notebook_shows_the_wide_table_with_its_text_escaped():
    rows = ROWS[:1].set_axis(["<b>host</b>"])
    page = cp.explain(MODEL, rows, reference=TRAIN).table()._repr_html_()
    assert "<b>host" not in page
    assert "font-weight:600" in page.replace(": ", ":")
    assert type(E.table()[:1]) is pd.DataFrame


def test_one_row_is_a_card_in_a_notebook_and_several_are_a_table():
    card = E[0]._repr_html_()
    assert "percentile of" in card
    assert E[0].text().split(".")[0] in card
    assert "noisy copies" in card
    assert "<thead>" in E._repr_html_()
    assert "percentile of" not in E._repr_html_()
    nasty = cp.explain(MODEL, ROWS[:1].set_axis(["<script>"]), reference=TRAIN)._repr_html_()
    assert "<script>" not in nasty


def test_importance_counts_rows_or_alternatives():
    table = E.importance().set_index("feature")
    best = E.changes[E.changes["alternative"] == 0]
    for name in TRAIN.columns:
        assert table.loc[name, "share"] == pytest.approx((best["feature"] == name).mean() * len(best) / len(E))
    assert np.allclose(table["up"] + table["down"] + table["other"], table["share"])
    assert table["share"].is_monotonic_decreasing
    one = E[0].importance().set_index("feature")
    mine = E.changes[E.changes["position"] == 0]
    for name in TRAIN.columns:
        assert one.loc[name, "share"] == pytest.approx((mine["feature"] == name).sum() / E.count[0])
    areas = best[best["feature"] == "area"]
    if len(areas):
        assert table.loc["area", "mean_difference"] == pytest.approx((areas["to"] - areas["from"]).mean())


def test_markdown_has_a_line_for_each_line_of_the_table():
    lines = E.to_markdown().splitlines()
    assert len(lines) == 2 + len(E.table())
    assert lines[0].startswith("| row | answer |")
    widths = {line.replace("\\|", "").count("|") for line in lines}
    assert len(widths) == 1


def test_the_flat_frame_is_what_csv_has():
    frame = E.to_frame()
    assert len(frame) == E.count.sum()
    assert set(TRAIN.columns) < set(frame.columns)
    assert {"cp_status", "cp_kept", "cp_fragile", "cp_unusual", "cp_effort"} < set(frame.columns)
    assert MODEL.predict(frame[TRAIN.columns.tolist()]).tolist() == ["dear"] * len(frame)


def test_excel_has_the_answers_and_no_formulas(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    rows = ROWS[:2].assign(note=["=1+1", "plain"])
    e = cp.explain(MODEL, rows, reference=TRAIN)
    e.to_excel(tmp_path / "answers.xlsx")
    book = openpyxl.load_workbook(tmp_path / "answers.xlsx")
    assert book.sheetnames == ["answers", "changes", "importance"]
    cells = [cell for sheet in book for line in sheet.iter_rows() for cell in line]
    assert not [cell for cell in cells if cell.data_type == "f"]
    assert "'=1+1" in {cell.value for cell in cells}
    with pytest.raises(InputError, match=r"must end in \.xlsx"):
        e.to_excel(tmp_path / "answers.csv")


def test_views_of_no_rows_and_of_rows_without_an_answer():
    none = E[:0]
    assert none.table().empty
    assert len(none.importance()) == len(TRAIN.columns)
    held = cp.explain(MODEL, ROWS[:1], reference=TRAIN, constraints=[cp.Immutable(*TRAIN.columns)])
    assert (held.importance()["share"] == 0).all()
    assert held.table().shape[0] == 2
    assert "held fixed" in held._repr_html_() or "No change" in held._repr_html_()


def test_a_rejected_row_shows_its_own_values_and_why_in_a_line():
    rows = ROWS[:2].copy().astype(object)
    column = TRAIN.columns[0]
    rows.iloc[1, 0] = np.inf
    rows.index = pd.MultiIndex.from_tuples([(1, "a"), (2, "b")])
    e = cp.explain(MODEL, rows, reference=TRAIN)
    assert e.status.tolist()[1] == "rejected"
    own = e.table(all_features=True).loc["2 / b"]
    assert own["prediction"].tolist() == ["rejected"]
    assert own[column].tolist() == ["inf"]
    (card,) = build_cards(e[1])
    report = render_page(e)
    for seen in (repr(e), e.text(), e.to_markdown(), e._repr_html_(), e[1]._repr_html_(), write_card(card)):
        assert "rejected" in seen
        assert not [word for word in ("nan", "None", "missing", "np.int64") if word in seen]
    assert f"rejected: {shorten_reason(e.reason[1])}" in html.unescape(report)
    assert repr(e).splitlines()[3].startswith("(2, 'b')")


@pytest.mark.parametrize("break_sign", ["\n", "\r\n"])
def test_a_long_reason_is_cut_to_one_line_without_addresses(break_sign):
    reason = f"the model fails: no. See https://example.org/help{break_sign}and more"
    assert shorten_reason(reason) == "the model fails: no"
    assert shorten_reason("it needs https://example.org/help to run") == "it needs to run"
    assert len(shorten_reason("word " * 200)) <= 120


def test_the_wide_table_has_a_prediction_in_the_line_of_every_answer():
    e = cp.explain(MODEL, ROWS[:1], reference=TRAIN, alternatives=3, target="dear")
    assert len(e.table()) > 2
    assert e.table()["prediction"].tolist()[1:] == ["dear"] * int(e.count[0])


def test_changes_show_the_digits_that_each_column_holds_whatever_stands_before_it():
    tenths = np.linspace(0, 1, 41).round(1)
    train = pd.DataFrame({"b": tenths[::-1], "a": tenths.astype(np.float32)})
    model = LogisticRegression().fit(train, train["a"] > 0.5)
    rows = pd.DataFrame({"note": ["first"], "b": [0.9], "a": np.float32([0.1])})
    (written,) = cp.explain(model, rows, reference=train, target=True, constraints=[cp.Immutable("b")]).to_frame()[
        "cp_changes"
    ]
    assert re.fullmatch(r"a 0\.1 -> \d\.\d", written)
