"""Figures draw the numbers that the tables list, on any axes they are given."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from matplotlib import pyplot as plt
from scipy.interpolate import RegularGridInterpolator

import counterpoise as cp
from alerts import alerts, detector, explained, many, training
from counterpoise.explanation.formats import format_pair
from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.show import figures
from counterpoise.show.figures.changes import LANES
from counterpoise.show.overview import build_overview
from explanations import build, cases

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@cache
def _drawn(name: str) -> Any:
    """What a figure draws."""
    one = explained()[0]
    made = {
        "landscape": lambda: cp.landscape(one, detector(), size=15),
        "boundary": lambda: cp.profile(one, detector()),
        "frequency": explained,
        "robustness": lambda: cp.robustness(explained(), detector(), noise=0.2, copies=50),
        "frontier": lambda: cp.frontier(explainer(), alerts()[:2], keep=[0.9], noise=0.2, target="benign"),
        "sensitivity": lambda: cp.sensitivity(explainer(), alerts()[:2], lam=[0, 1], target="benign"),
        "trajectory": lambda: cp.trajectory(explainer(), alerts()[:1], target="benign"),
    }
    if name in ("disconnectivity", "importance", "thermodynamics", "together"):
        return _ensemble()
    return made.get(name, lambda: one)()


@cache
def _ensemble() -> cp.Ensemble:
    quick = SamplerSettings(ladders=4, temperatures=3, adaptation_sweeps=15, max_sweeps=200)
    return cp.ensemble(explainer(), alerts()[:1], target="benign", samples=100, settings=quick)


@cache
def explainer() -> cp.Explainer:
    return cp.Explainer(detector(), reference=training()[0])


def _texts(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


@pytest.mark.parametrize("name", figures.__all__)
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_every_figure_draws_on_its_own_axes_or_on_those_given(name: str, style: str) -> None:
    with plt.style.context(style):
        draw = getattr(figures, name)
        alone = draw(_drawn(name))
        given_ax = plt.figure().add_subplot()
        assert draw(_drawn(name), given_ax) is given_ax
        for ax in (alone, given_ax):
            assert any(panel.has_data() for panel in (ax, *ax.child_axes))
            ax.figure.canvas.draw()


@pytest.mark.parametrize("name", figures.__all__)
def test_a_figure_of_the_wrong_thing_says_what_it_draws(name: str) -> None:
    with pytest.raises(cp.InputError, match=r"this figure draws (one row|an [AEIO]\w+|a [B-DF-HJ-NP-Z]\w+); "):
        getattr(figures, name)(explained() if name in ("changes", "parallel") else "something else")


def _wide(changes: int) -> cp.Explanation:
    """One row of ten numbers, so many of which go up and down in turn."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(0, 10, (20, 10)).round(2), columns=[f"c{number}" for number in range(10)])
    answers = table[:1].to_numpy().copy()
    answers[0, :changes] += np.resize([3.25, -4.5], changes)
    return build(cp.Schema.infer(table), table[:1], answers)


@pytest.mark.parametrize("number", [1, LANES.max_lanes])
def test_changes_show_both_values_of_every_change(number: int) -> None:
    explanation = _wide(number)
    ax = figures.changes(explanation)
    listed = explanation.changes
    assert len(listed) == number
    for feature, before, after in zip(listed["feature"], listed["from"], listed["to"], strict=True):
        assert set(format_pair(explanation.schema[feature], before, after)) <= set(_texts(ax))
    assert {label.get_text() for label in ax.get_yticklabels()} == set(listed["feature"])


def test_a_lane_keeps_the_order_of_values() -> None:
    ax = figures.changes(_wide(6))
    places = [line.get_xdata()[0] for line in ax.lines if line.get_marker() in ("o", "D")]
    drawn = [np.sign(after - before) for before, after in zip(places[::2], places[1::2], strict=True)]
    assert sorted(drawn) == [-1, -1, -1, 1, 1, 1]


@pytest.mark.parametrize(
    ("status", "bound", "said"),
    [
        ("valid", np.nan, "nothing needs to change"),
        ("not_found", np.nan, "no answer was found"),
        ("infeasible", np.inf, "no legal change turns it (proven)"),
        ("rejected", np.nan, "the row was rejected"),
    ],
)
def test_only_a_row_at_its_target_is_said_to_need_no_change(status: str, bound: float, said: str) -> None:
    one = explained()[0]
    found = np.array([status == "valid"])
    scores = {"before": np.array(["attack"], dtype=object), "after": np.array(["attack"], dtype=object)}
    unread = {name: np.array([None], dtype=object) for name in scores}
    explanation = replace(
        one,
        answers=one.x0[:, None].copy(),
        count=found.astype(np.intp),
        valid=found,
        status=np.array([status], dtype=object),
        bound=np.array([bound]),
        model_scores=replace(one.model_scores, **(unread if status == "rejected" else scores)),
        measures=None,
        firm=None,
    )
    ax = figures.changes(explanation)
    legend = ax.get_legend()
    assert legend is not None
    keys = [text.get_text() for text in legend.get_texts()]
    assert [text.get_text() for text in ax.texts] == [said]
    assert any("the answer" in key for key in keys) == (status == "valid")
    assert any("the row" in key for key in keys) == (status != "rejected")


def test_changes_that_do_not_fit_are_counted() -> None:
    assert figures.changes(_wide(LANES.max_lanes + 1)).get_xlabel() == "and one smaller change"
    assert figures.changes(_wide(LANES.max_lanes + 2)).get_xlabel() == "and 2 smaller changes"
    assert figures.changes(_wide(LANES.max_lanes)).get_xlabel() == ""


def test_bars_are_the_counts() -> None:
    explanation = many(100)
    ax = figures.frequency(explanation)
    seen = build_overview(explanation)
    width = sum(patch.get_width() for patch in ax.patches)
    assert width == pytest.approx(100 * sum(feature.row_count for feature in seen.features) / len(seen.distances))


def test_the_boundary_shows_what_noise_undoes() -> None:
    seen = cp.profile(explained()[0], detector(), noise=0.2)
    ax = figures.boundary(seen)
    assert any(np.array_equal(line.get_ydata(), seen.kept) for line in ax.lines)
    assert "share of noisy copies that keep it" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_curve_of_robustness_ends_in_its_table() -> None:
    found = _drawn("robustness")
    ax = figures.robustness(found)
    thick = max(ax.lines, key=lambda line: line.get_linewidth())
    middle = found.curve.groupby("noise")["kept"].median()
    assert thick.get_xdata().tolist() == middle.index.tolist()
    assert thick.get_ydata().tolist() == middle.tolist()


def test_the_frontier_shows_every_question() -> None:
    found = _drawn("frontier")
    ax = figures.frontier(found)
    assert _texts(ax) == found.table["asked"].tolist()
    places = [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines[1:]]
    assert places == list(zip(found.table["kept"], found.table["distance"], strict=True))


def test_several_mu_make_a_map() -> None:
    asked = {"method": cp.Algorithm1(iterations=60), "target": "benign"}
    found = cp.sensitivity(explainer(), alerts()[:2], lam=[0.01, 0.1, 1], mu=["auto", 1e-4], **asked)
    ax = figures.sensitivity(found)
    assert np.array_equal(ax.images[0].get_array(), found.table["valid"].to_numpy().reshape(3, 2).T)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["auto", "0.0001"]


def test_a_trajectory_shows_every_step() -> None:
    seen = _drawn("trajectory")
    ax = figures.trajectory(seen)
    assert ax.lines[0].get_ydata().tolist() == seen.table["energy"].tolist()
    assert len(ax.figure.axes) == 2, "temperature and acceptance have a scale of their own"


def test_a_free_energy_is_called_one() -> None:
    ax = plt.figure().add_subplot(projection="3d")
    seen = cp.landscape(explained()[0], detector(), size=8, T=0.1)
    assert figures.landscape(seen, ax).get_zlabel() == "free energy F, T = 0.1"  # type: ignore[attr-defined]


def test_a_surface_is_drawn_on_axes_with_three_dimensions() -> None:
    ax = plt.figure().add_subplot(projection="3d")
    assert figures.landscape(_drawn("landscape"), ax) is ax
    assert ax.get_zlabel() == "energy E"


@pytest.mark.parametrize("projection", [None, "3d"])
def test_a_landscape_shows_the_states_of_a_search_and_says_which_plane_it_is(projection: str | None) -> None:
    walk = _drawn("trajectory")
    seen = cp.landscape(explained()[0], detector(), "principal", reference=training()[0], path=walk, size=15)
    ax: Any = plt.figure().add_subplot(projection=projection)
    figures.landscape(seen, ax)
    lines = [line.get_data_3d()[0] if projection else line.get_xdata() for line in ax.lines]
    assert any(np.array_equal(np.asarray(x), seen.path.x[:, 0]) for x in lines)
    assert [len(dots.get_offsets()) for dots in ax.collections if len(dots.get_offsets()) == seen.path.x.size]
    assert "states of Algorithm1" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(seen.note.split(";")[0] in " ".join(text.split()) for text in _texts(ax))
    assert ax.get_xlabel() == seen.labels[0]
    ax.figure.canvas.draw()


def test_the_boundary_lies_on_the_surface_where_the_margin_is_zero() -> None:
    ax: Any = plt.figure().add_subplot(projection="3d")
    seen = _drawn("landscape")
    figures.landscape(seen, ax)
    x, y, height = ax.lines[0].get_data_3d()
    assert len(x) > 2, "a line, not a point"
    margin = RegularGridInterpolator((seen.y, seen.x), seen.margin)(np.column_stack([y, x]))
    assert margin == pytest.approx(0, abs=1e-6)
    energy = RegularGridInterpolator((seen.y, seen.x), seen.energy)(np.column_stack([y, x]))
    assert height == pytest.approx(energy, abs=0.02 * np.ptp(seen.energy))


def test_axes_carry_units() -> None:
    explanation = explained()[0]
    schema = explanation.schema
    for name in schema.names:
        schema = schema.edit(name, unit="ms")
    named = replace(explanation, schema=schema)
    assert all(label.get_text().endswith("(ms)") for label in figures.changes(named).get_yticklabels())
    ax = figures.landscape(cp.landscape(named, detector(), size=10))
    assert ax.get_xlabel().endswith("(ms)")
    assert ax.get_ylabel().endswith("(ms)")


@given(cases())
@settings(max_examples=10)
def test_any_explanation_can_be_drawn(case: Any) -> None:
    schema, rows, answers = case
    explanation = build(schema, rows, answers)
    named = replace(explanation, schema=schema.edit(schema.names[0], label=r"$\frac{1}"))
    drawn = [figures.frequency(named)]
    for row in range(min(len(rows), 2)):
        drawn += [figures.changes(named[row]), figures.parallel(named[row])]
    for ax in drawn:
        ax.figure.canvas.draw()
    plt.close("all")


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(cp.MissingExtra, match=r"pip install 'counterpoise\[plots\]'"):
        figures.changes(explained()[0])
