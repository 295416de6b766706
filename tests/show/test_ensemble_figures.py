"""The figures of an ensemble: what is drawn is what the tables say."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import counterpoise as cp
from counterpoise.methods.sampler.settings import SamplerSettings

pytest.importorskip("matplotlib")
NAMES = ("disconnectivity", "importance", "thermodynamics", "together")


@cache
def found() -> cp.Ensemble:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(0, 12, (300, 4)), columns=["ports", "load", "age", "cost in $"])
    model = RandomForestClassifier(10, max_depth=4, random_state=0).fit(table, table["ports"] + table["load"] > 11)
    rows = table[model.predict(table)][:2]
    settings = SamplerSettings(ladders=4, temperatures=3, adaptation_sweeps=15, max_sweeps=200)
    return cp.ensemble(cp.Explainer(model, reference=table), rows, samples=100, settings=settings)


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_draws_one_row_on_axes_of_its_own_or_given_ones(name: str) -> None:
    from matplotlib import pyplot

    draw = getattr(cp.figures, name)
    ax = pyplot.subplots()[1]
    assert draw(found()[0], ax) is ax
    draw(found()[0]).figure.canvas.draw()
    pyplot.close("all")
    with pytest.raises(cp.InputError, match="choose one: ensemble\\[0\\]"):
        draw(found())
    with pytest.raises(cp.InputError, match="this figure draws an Ensemble"):
        draw(3)


@pytest.mark.parametrize("redact", [False, True])
def test_the_report_of_an_ensemble_says_on_each_card_how_many_ways_out_there_are(tmp_path, redact: bool) -> None:
    page = cp.report(found(), tmp_path / "ways.html", redact=redact).read_text("utf-8")
    rows = json.loads(re.search(r"<script[^>]*application/json[^>]*>(.*?)</script>", page, re.S).group(1))["rows"]
    assert [(found()[place].basins["weight"] >= 0.01).sum() for place in range(2)] == [
        1 if row["ways"][0].startswith("one way") else int(row["ways"][0].split()[0]) for row in rows
    ]
    plain = cp.report(found().explanation, tmp_path / "plain.html").read_text("utf-8")
    assert '"ways": []' in plain or '"ways":[]' in plain


def test_bars_are_as_long_as_the_features_change_often() -> None:
    from matplotlib import pyplot

    ax = cp.figures.importance(found()[0])
    widths = sorted(bar.get_width() for bar in ax.patches)
    assert widths == pytest.approx(sorted(found()[0].importance["p_change"]))
    pyplot.close("all")


def test_lines_of_the_tree_end_at_the_minima_and_meet_at_the_barriers() -> None:
    from matplotlib import pyplot

    ensemble = found()[0]
    heights = {round(float(y), 9) for line in cp.figures.disconnectivity(ensemble).lines for y in line.get_ydata()}
    finite = ensemble.barriers["barrier"].replace(np.inf, np.nan).dropna()
    assert {round(float(y), 9) for y in [*ensemble.basins["effort"], *finite]} <= heights
    pyplot.close("all")


def test_a_way_that_no_draw_went_to_is_not_said_to_hold_nothing() -> None:
    from matplotlib import pyplot

    row = found()[0].rows[0]
    assert row.basins is not None
    weight = np.zeros_like(row.basins.weight)
    weight[0] = 1.0
    rare = replace(found()[0], rows=(replace(row, basins=replace(row.basins, weight=weight)),))
    shares = [text.get_text().split("\n")[0] for text in cp.figures.disconnectivity(rare).texts]
    pyplot.close("all")
    assert sorted(shares) == sorted(["100%"] + ["< 1%"] * (len(weight) - 1))
