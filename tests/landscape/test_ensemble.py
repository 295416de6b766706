"""cp.ensemble: what people get of the landscape, and a clear line for every question that makes no sense."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.landscape.ensemble_words import count_ways
from counterpoise.methods.sampler.settings import SamplerSettings

QUICK = SamplerSettings(ladders=4, temperatures=3, adaptation_sweeps=15, max_sweeps=300)


@cache
def world() -> tuple[pd.DataFrame, cp.Explainer]:
    """Alerts that need few ports, and either a low load or no root: one change necessary, one of two others."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "ports": rng.integers(0, 10, 300),
            "load": rng.integers(0, 50, 300) / 10,
            "root": rng.choice(["yes", "no"], 300),
            "age": rng.integers(0, 5, 300),
        }
    )

    def is_benign(table: pd.DataFrame) -> np.ndarray:
        easy = (table["load"].to_numpy(float) <= 2) | (table["root"].astype(str) == "no").to_numpy()
        return ((table["ports"].to_numpy(float) <= 4) & easy).astype(float)

    return frame, cp.Explainer(is_benign, reference=frame)


def alerts(count: int = 1) -> pd.DataFrame:
    frame, _ = world()
    worst = frame[(frame["ports"] > 6) & (frame["load"] > 3) & (frame["root"] == "yes")]
    return worst.iloc[:count]


@cache
def found(count: int = 1) -> cp.Ensemble:
    return cp.ensemble(world()[1], alerts(count), target=(0.5, None), samples=300, settings=QUICK, seed=5)


def test_what_is_necessary_what_is_one_choice_among_others_and_what_is_idle() -> None:
    table = found().importance.set_index("feature")
    assert table.loc["ports", "role"] == "necessary"
    assert table.loc["ports", "direction"] == "down"
    assert table.loc["ports", "mean_change"] < 0
    assert table.loc["age", "p_change"] < 0.3
    either = table.loc[["load", "root"], "p_change"]
    assert either.sum() > 0.95, "one of the two is needed"
    assert (table["p_error"] > 0).all()


def test_features_that_take_each_others_place_are_seldom_changed_together() -> None:
    together = found().together
    assert np.diag(together) == pytest.approx(1.0)
    assert together.to_numpy() == pytest.approx(together.to_numpy().T)
    if {"load", "root"} <= set(together):
        assert together.loc["load", "root"] < 0


def test_every_sample_is_valid_and_in_the_dtypes_of_the_rows() -> None:
    samples = found().samples
    rows = alerts()
    assert samples.dtypes.equals(rows.dtypes)
    assert len(samples) == 300
    easy = (samples["load"] <= 2) | (samples["root"] == "no")
    assert ((samples["ports"] <= 4) & easy).all()


def test_the_two_ways_out_are_two_basins_with_a_barrier_between_them() -> None:
    basins, barriers = found().basins, found().barriers
    assert {"load", "root"} <= {word for text in basins["changes"] for word in text.split(", ")}
    assert basins["valid"].all()
    assert basins["weight"].sum() == pytest.approx(1.0)
    assert basins["free_energy"].is_monotonic_increasing
    assert (barriers["barrier"] > basins["effort"].min()).all()
    assert len(barriers) == len(basins) - 1


@pytest.mark.parametrize("seed", range(6))
def test_a_way_out_that_the_search_knows_is_a_basin_whatever_the_seed(seed: int) -> None:
    ways = cp.ensemble(world()[1], alerts(), target=(0.5, None), samples=20, settings=QUICK, seed=seed)
    changed = {frozenset(text.split(", ")) for text in ways.basins["changes"]}
    assert {frozenset({"ports", "load"}), frozenset({"ports", "root"})} <= changed
    assert ways.basins["weight"].sum() == pytest.approx(1.0)
    assert "NaN" not in ways.to_json()


def test_mean_effort_and_heat_capacity_rise_and_the_ground_is_below() -> None:
    energy = found().energy
    assert energy["mean"].is_monotonic_increasing
    assert energy["mean"].iloc[0] >= found().rows[0].least * (1 - 1e-9)
    assert energy["heat_capacity"].to_numpy() == pytest.approx((energy["variance"] / energy["T"] ** 2).to_numpy())


def test_the_same_seed_gives_the_same_alone_and_in_a_batch() -> None:
    both = cp.ensemble(world()[1], alerts(3), target=(0.5, None), samples=100, settings=QUICK, seed=1)
    alone = cp.ensemble(world()[1], alerts(3).iloc[[2]], target=(0.5, None), samples=100, settings=QUICK, seed=1)
    assert both[2].importance["p_change"].tolist() == alone.importance["p_change"].tolist()
    assert both[2].basins["weight"].tolist() == alone.basins["weight"].tolist()


def test_text_card_and_json_say_the_same() -> None:
    ensemble = found()
    assert "necessary: ports" in repr(ensemble)
    assert "separate ways out" in ensemble.text()
    assert "ports" in ensemble._repr_html_()
    stored = json.loads(ensemble.to_json())
    assert stored["importance"][0]["feature"] == "ports"
    assert len(stored["basins"]) == len(ensemble.basins)


def test_constraints_bind_every_sample() -> None:
    frame, _ = world()
    explainer = cp.Explainer(
        world()[1]._user_model,
        reference=frame,
        constraints=[cp.Immutable("root"), cp.MaxChanges(2), cp.Rule("age <= ports")],
    )
    row = alerts()
    samples = cp.ensemble(explainer, row, target=(0.5, None), samples=100, settings=QUICK).samples
    assert (samples["root"] == row["root"].iloc[0]).all()
    assert (samples["age"] <= samples["ports"]).all()
    assert ((samples != row.iloc[0]).sum(axis=1) <= 2).all()


def test_a_computed_column_is_said_to_be_one() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"fwd": rng.integers(0, 20, 200), "bwd": rng.integers(0, 20, 200)})
    frame["all"] = frame["fwd"] + frame["bwd"]
    model = LogisticRegression().fit(frame, frame["all"] > 18)
    explainer = cp.Explainer(model, reference=frame, constraints=[cp.Rule("fwd + bwd == all")])
    ensemble = cp.ensemble(explainer, frame[frame["all"] > 25][:1], samples=100, settings=QUICK)
    assert "all is computed from fwd, bwd" in ensemble.diagnostics["note"].iloc[0]
    samples = ensemble.samples
    assert (samples["fwd"] + samples["bwd"] == samples["all"]).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"T": 0}, "T must be a share of the answer's effort, above 0"),
        ({"T": -0.1}, "T must be a share"),
        ({"T": "warm"}, "T must be a share"),
        ({"samples": 0}, "samples must be a whole number of at least 1"),
        ({"samples": 2.5}, "samples must be a whole number"),
        ({"settings": 5}, "settings must be of the kind SamplerSettings"),
        ({"basin_settings": "deep"}, "basin_settings must be of the kind BasinSettings"),
    ],
)
def test_wrong_wishes_are_named(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(cp.InputError, match=said):
        cp.ensemble(world()[1], alerts(), target=(0.5, None), **wrong)


def test_a_model_in_place_of_an_explainer_is_named() -> None:
    with pytest.raises(cp.InputError, match="explainer must be of the kind Explainer"):
        cp.ensemble(world()[1]._user_model, alerts(), target=(0.5, None))


def test_a_temperature_at_which_far_points_win_is_said_with_one_that_would_do() -> None:
    ensemble = cp.ensemble(world()[1], alerts(), target=(0.5, None), T=5.0, samples=50, settings=QUICK)
    note = ensemble.diagnostics["note"].iloc[0]
    assert "so hot that the number of far points wins" in note
    T = float(re.search(r"T = ([0-9.e-]+) would do", note)[1])
    cooler = cp.ensemble(world()[1], alerts(), target=(0.5, None), T=T, samples=50, settings=QUICK).diagnostics.iloc[0]
    assert cooler["mean_effort"] <= 1.5 * cooler["least_effort"]


def test_rows_without_an_answer_and_rows_that_have_the_target_cost_the_others_nothing() -> None:
    frame, explainer = world()
    fine = frame[(frame["ports"] <= 4) & (frame["root"] == "no")].iloc[:1]
    rows = pd.concat([fine, alerts()])
    ensemble = cp.ensemble(explainer, rows, target=(0.5, None), samples=50, settings=QUICK)
    assert ensemble.rows[0].draws is None
    assert ensemble.rows[1].draws is not None
    assert "already" in ensemble[0].text()
    with pytest.raises(cp.InputError, match="the row must have an answer"):
        ensemble[0].together  # noqa: B018


def test_everything_fixed_and_one_feature() -> None:
    frame, explainer = world()
    stuck = cp.Explainer(explainer._user_model, reference=frame, constraints=[cp.Immutable(name) for name in frame])
    ensemble = cp.ensemble(stuck, alerts(), target=(0.5, None), samples=50, settings=QUICK)
    assert "held fixed" in ensemble.text()
    assert ensemble.importance.empty
    one = frame[["ports"]]
    forest = RandomForestClassifier(5, random_state=0).fit(one, one["ports"] > 4)
    single = cp.ensemble(cp.Explainer(forest, reference=one), one[one["ports"] > 7][:1], samples=50, settings=QUICK)
    assert single.importance["role"].tolist() == ["necessary"]


def test_a_budget_ends_the_sampling_and_says_so() -> None:
    ensemble = cp.ensemble(
        world()[1], alerts(), target=(0.5, None), samples=10**6, settings=SamplerSettings(), budget=1.5
    )
    assert not ensemble.diagnostics["converged"].iloc[0]
    assert "not converged" in ensemble.text()


def test_a_nearer_point_than_the_answer_is_told() -> None:
    _frame, explainer = world()
    far = cp.ensemble(explainer, alerts(), target=(0.5, None), samples=50, settings=QUICK, method=cp.NearestNeighbour())
    assert len(far.improved) == 1
    assert "beats the answer" in far.text()


def test_a_row_that_the_model_fails_on_while_it_is_sampled_costs_no_other_row() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.normal(size=200).round(2) for name in ("a", "b")}).assign(device=range(200))

    def model(frame: pd.DataFrame) -> np.ndarray:
        if ((frame["device"] == 1) & (frame["b"] != table["b"][1]) & (frame["b"].abs() > 1.5)).any():
            raise RuntimeError("no such point")
        return np.where(frame["a"] + frame["b"] > 0, "yes", "no")

    explainer = cp.Explainer(model, reference=table, constraints=[cp.Immutable("device")])
    found = cp.ensemble(explainer, table[:4], samples=60)
    assert "no such point" in found.text()
    drawn = [each.draws is not None for each in found.rows]
    assert drawn[0]
    assert not drawn[1]
    assert drawn[3]


@settings(max_examples=6)
@given(seed=st.integers(0, 10_000))
def test_no_basin_lies_above_what_is_known_and_each_minimum_is_what_it_says(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(150, 3)), columns=list("abc"))
    weights = rng.normal(size=3)
    model = LogisticRegression(C=100).fit(table, table.to_numpy() @ weights + table["a"] * table["b"] > 0)
    explainer = cp.Explainer(model, reference=table)
    ensemble = cp.ensemble(explainer, table[:2], samples=20, settings=QUICK, seed=seed)
    for row, part in zip(ensemble.rows, ensemble, strict=True):
        assert row.basins is not None
        assert row.draws is not None
        known = min(float(part.explanation.effort[0]), row.draws.best_effort)
        assert row.basins.effort[0] <= known * (1 + 1e-9)
        assert row.basin_valid.all()
        assert (row.basins.tree.barriers() >= row.basins.effort[:, None] - 1e-12).all()
        improved = row.least_known < row.least * (1 - 1e-6)
        assert len(part.improved) == improved


def test_a_target_that_no_end_of_an_interval_reaches_has_its_ways_out_all_the_same() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.uniform(0, 10, (300, 2)), columns=["a", "b"])
    table.loc[:100, "a"] = 12.0 - table.loc[:100, "b"]

    def is_in_band(rows: pd.DataFrame) -> np.ndarray:
        return (np.abs(rows["a"].to_numpy(float) + rows["b"].to_numpy(float) - 12.0) < 1e-4).astype(float)

    explainer = cp.Explainer(is_in_band, reference=table)
    ensemble = cp.ensemble(explainer, table[101:102], target=(0.5, None), samples=20, settings=QUICK)
    assert ensemble.basins["valid"].all()
    assert ensemble.basins["weight"].sum() == pytest.approx(1.0)


def test_the_width_of_a_basin_does_not_depend_on_the_codes_of_categories() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.choice([f"{name}{i}" for i in range(40)], 400) for name in ("device", "city")})

    def is_benign(rows: pd.DataFrame) -> np.ndarray:
        return (rows["device"] != "device0").to_numpy(float)

    rows = table[table["device"] == "device0"][:1]
    ensemble = cp.ensemble(
        cp.Explainer(is_benign, reference=table), rows, target=(0.5, None), samples=50, settings=QUICK
    )
    assert (ensemble.basins["width"].dropna() <= np.sqrt(0.25 * 2)).all()


def test_what_is_remembered_of_points_changes_nothing_but_the_rows_that_the_model_is_asked_about() -> None:
    found = {
        most: cp.ensemble(
            world()[1], alerts(2), target=(0.5, None), samples=50, settings=replace(QUICK, max_known_points=most)
        )
        for most in (0, 100_000)
    }
    assert found[0].importance.equals(found[100_000].importance)
    assert found[0].samples.equals(found[100_000].samples)
    assert found[100_000].model_rows < found[0].model_rows


def test_the_sentence_counts_every_way_once_and_those_that_hold_next_to_nothing_apart() -> None:
    for row in found(3).rows:
        assert row.basins is not None
        text = count_ways(row)
        wide = 1 if text.startswith("one way out") else int(text.split()[0])
        rare = int(text.split("; ")[-1].split()[0]) if "more" in text.split("; ")[-1] else 0
        assert wide + rare == len(row.basins.effort)
        assert wide == (row.basins.weight >= 0.01).sum()
