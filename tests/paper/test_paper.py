"""The quick form of the reproduction, once: the page is whole, stands alone, and its numbers are in the folder."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise import paper, telemetry
from counterpoise.paper import datasets, paired, scene
from counterpoise.paper.build import EXHIBIT_ORDER
from counterpoise.paper.claims import landscape, verdict
from counterpoise.paper.exhibit import RunSize
from counterpoise.paper.exhibits import figure6_complexity, local_minima, real_data, table1_devices
from counterpoise.paper.exhibits.claims import PAPER_COLUMN
from counterpoise.paper.exhibits.figure1_surface import free_energies

HEADINGS = ["Claims", *(f"Figure {n}." for n in range(1, 7)), "Table I.", "Table II.", "Real data", "Choices made"]


class Seen(HTMLParser):
    """What a page asks for from outside, its sections, and whether its tags close."""

    def __init__(self) -> None:
        super().__init__()
        self.outside: list[str] = []
        self.sections: list[str] = []
        self.images = 0
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "section":
            self.sections.append(named["id"] or "")
        self.images += tag in ("img", "canvas")
        self.outside += [v for k, v in attrs if k in ("src", "href") and v and not v.startswith(("data:", "#"))]
        if tag == "img":
            assert named["alt"]
        if tag not in ("meta", "img", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


Made = tuple[Path, list[tuple[int, int, str]]]


def made_in(tmp_path_factory: pytest.TempPathFactory) -> Made:
    told: list[tuple[int, int, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path_factory.mktemp("empty")))  # a clean clone has no tables
        page = paper.write(
            tmp_path_factory.mktemp("paper"), quick=True, progress=lambda *parts: told.append(parts), seed=0
        )
    return page, told


def the_page_has_every_figure_and_table_and_stands_alone(made: Made) -> None:
    text = made[0].read_text(encoding="utf-8")
    seen = Seen()
    seen.feed(text)
    assert seen.open == []
    assert tuple(seen.sections) == EXHIBIT_ORDER
    assert seen.outside == []
    assert seen.images >= 16
    for heading in HEADINGS:
        assert f"<h2>{heading}" in text
    assert not re.search(r"https?://", re.sub(r"data:image/png;base64,[\w+/=]+", "", text))


def every_exhibit_says_its_command_seed_and_settings(made: Made) -> None:
    text = made[0].read_text(encoding="utf-8")
    assert text.count("Command: <code>counterpoise paper --quick --seed 0") == len(EXHIBIT_ORDER)
    assert text.count("Settings: ") == len(EXHIBIT_ORDER)
    assert "seed 0" in text


def tables_that_are_not_at_hand_are_skipped_with_a_line(made: Made) -> None:
    assert "unsw_nb15 is not at hand and was skipped" in made[0].read_text(encoding="utf-8")


def data_of_every_figure_is_beside_the_page(made: Made) -> None:
    folder = made[0].parent
    text = made[0].read_text(encoding="utf-8")
    listed = re.findall(r"[\w-]+\.csv", text[text.index("<main>") :])
    files = {path.name for path in folder.glob("*.csv")}
    assert {name for name in listed if not name.endswith("gz")} >= files
    assert files >= {"figure-1-surface.csv", "figure-3-grid.csv", "figure-6-times.csv", "table-1-answers.csv"}
    assert len(list(folder.glob("*.png"))) >= 15
    assert all(len(pd.read_csv(folder / name)) for name in files)


def every_claim_has_a_measure_a_verdict_and_an_exhibit(made: Made) -> None:
    listed = pd.read_csv(made[0].parent / "claims-table-1.csv")
    assert len(listed) >= 30
    both = listed[[PAPER_COLUMN, verdict.OURS]]
    assert set(both.to_numpy().ravel()) <= {*verdict.VERDICTS, verdict.NONE}
    assert (both != verdict.NONE).any(axis=1).all()  # every claim is judged
    assert set(listed["shown"]) <= set(EXHIBIT_ORDER)
    assert listed["measured"].str.contains(r"\d").all()
    assert not listed["measured"].str.contains("nan").any()


def real_flips_are_in_table_one_and_none_as_printed(made: Made) -> None:
    runs = pd.read_csv(made[0].parent / "table-1-table-2.csv").set_index("method")
    printed, corrected, langevin = verdict.PAPER_FORMS
    assert runs.loc[verdict.OURS, "flipped"] == 1
    assert runs.loc[corrected, "flipped"] == 1
    assert runs.loc[langevin, "flipped"] == 1
    assert runs.loc[printed, "flipped"] == 0
    firm, thin = runs.loc[f"{verdict.OURS}, keep = 0.9"], runs.loc[verdict.OURS]
    assert firm["kept under noise 0.1"] > thin["kept under noise 0.1"]
    assert firm["L2"] > thin["L2"]


def both_budgets_are_compared_on_the_same_rows(made: Made) -> None:
    table = pd.read_csv(made[0].parent / "comparison-comparison.csv")
    assert table["budget"].nunique() == 2
    assert set(table["method"]) == set(real_data.METHODS)
    assert (table["feasibility"] >= table["validity"]).all()
    each = pd.read_csv(made[0].parent / "comparison-answers.csv")
    asked = each.groupby(["table", "model", "budget", "method", "seed"])["row"].agg(list)
    assert verdict.PAPER_FORMS[0] not in set(each[each["model"] == "forest"]["method"])  # it needs a slope
    assert asked.apply(lambda rows: rows == asked.iloc[0]).all()
    assert each["seed"].nunique() == len(real_data.COMPARISON.seeds)


def progress_is_told_from_none_to_all(made: Made) -> None:
    told = made[1]
    assert told[0][0] == 0
    assert told[-1][0] == told[-1][1]
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)


CHECKS = (
    the_page_has_every_figure_and_table_and_stands_alone,
    every_exhibit_says_its_command_seed_and_settings,
    tables_that_are_not_at_hand_are_skipped_with_a_line,
    data_of_every_figure_is_beside_the_page,
    every_claim_has_a_measure_a_verdict_and_an_exhibit,
    real_flips_are_in_table_one_and_none_as_printed,
    both_budgets_are_compared_on_the_same_rows,
    progress_is_told_from_none_to_all,
)


def test_the_quick_form(tmp_path_factory):
    """Once for all checks: tests run on several workers, and it is the longest of all."""
    made = made_in(tmp_path_factory)
    for check in CHECKS:
        check(made)


def test_the_scene_has_the_slope_that_it_says():
    x = np.random.default_rng(0).uniform(-3, 4, (20, 2))
    score, step = scene.SceneScore(), 1e-6
    ones = np.ones((20, 1))
    for column in (0, 1):
        ahead, behind = x.copy(), x.copy()
        ahead[:, column] += step
        behind[:, column] -= step
        slope = (score.outputs(ahead) - score.outputs(behind))[:, 0] / (2 * step)
        np.testing.assert_allclose(score.gradient(x, ones)[:, column], slope, atol=1e-4)


def test_the_surface_is_the_energy_where_it_is_cold_and_smooth_where_it_is_hot():
    x = np.array([[3.0, 3.0], [1.0, 2.0]])
    energy = scene.energies(x, 0)
    np.testing.assert_allclose(free_energies(x, 1e-6, 0), energy, rtol=0.25)  # the cloud's mean
    assert (free_energies(x, 100.0, 0) < free_energies(x, 1e-6, 0)).all()  # soft minimum below the mean


def test_exponents_are_fitted_to_what_was_timed():
    values = np.array([2.0, 4.0, 8.0, 16.0])
    times = pd.DataFrame({"method": "LIME", "over": "d", "value": values, "seconds": 3e-3 * values**2})
    assert figure6_complexity._fit_exponents(times)["measured"].iloc[0] == pytest.approx(2.0)


def answered(method: str, l2: list[float], valid: list[bool], budget: str = "b") -> pd.DataFrame:
    lines = pd.DataFrame({"method": method, "l2": l2, "valid": valid, "row": range(len(l2))})
    return lines.assign(feasible=True, seed=0, table="t", model="m", budget=budget)


def test_methods_are_compared_on_the_rows_that_both_turn_alone():
    lines = pd.concat(
        [answered("near", [1.0, 2.0, 90.0], [True, True, False]), answered("far", [3.0, 6.0, 1.0], [True] * 3)]
    )
    found = paired.mean_ratio(lines, "l2", "far", "near")
    assert found.mean == pytest.approx(3.0)
    assert (found.low, found.high) == (0, np.inf)  # two rows say nothing of others
    assert paired.mean_difference(lines, "l2", "far", "near").mean == pytest.approx(3.0)
    assert np.isnan(paired.mean_difference(lines, "l2", "far", "nobody").mean)


def test_an_interval_has_the_mean_inside_and_narrows_with_rows():
    values = np.random.default_rng(0).normal(1.0, 1.0, 400)
    few, many = paired.bootstrap_mean(values[:20]), paired.bootstrap_mean(values)
    for found in (few, many):
        assert found.low < found.mean < found.high
    assert many.high - many.low < 0.5 * (few.high - few.low)
    assert many.low < 1 < many.high


def test_a_row_counts_once_whatever_the_budgets():
    near, far = [1.0, 1.0, 1.0], [2.0, 2.0, 8.0]
    one = pd.concat([answered("near", near, [True] * 3), answered("far", far, [True] * 3)])
    again = pd.concat([answered("near", near, [True] * 3, "c"), answered("far", far, [True] * 3, "c")])
    assert paired.mean_ratio(one, "l2", "far", "near") == paired.mean_ratio(
        pd.concat([one, again]), "l2", "far", "near"
    )


def test_five_tables_are_five_tables_however_many_rows_they_have():
    means = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    few, many = (paired.bootstrap_mean(np.repeat(means, n), np.repeat(list("abcde"), n)) for n in (2, 200))
    assert few.mean == many.mean == 2
    assert many.high - many.low > 1.5


def test_what_the_choice_of_f_decides_cannot_be_judged():
    assert verdict.judge_shares([1.0, 0.0, 1.0]) == verdict.OPEN
    assert verdict.judge_shares([1.0, 1.0, 0.95]) == verdict.HOLDS


def test_no_verdict_goes_beyond_its_interval():
    above, below, open_ = (paired.Interval(mean, mean - 0.1, mean + 0.1) for mean in (0.2, -0.2, 0.0))
    few = paired.bootstrap_mean(np.ones(3))
    nothing = paired.Interval(np.nan, np.nan, np.nan)
    assert verdict.judge_above([above, above]) == verdict.HOLDS
    assert verdict.judge_above([above, below]) == verdict.judge_above([above, open_]) == verdict.PARTLY
    assert verdict.judge_above([below, open_]) == verdict.FAILS
    assert {verdict.judge_above([one]) for one in (open_, few, nothing)} == {verdict.OPEN}
    lacking = {**verdict.put_interval("key, f1", above), **verdict.put_interval("key, f2", nothing)}
    assert verdict.judge_above(verdict.intervals_by_score(lacking, "key")) == verdict.PARTLY  # f2: nothing


def test_rows_that_a_method_was_not_asked_count_as_not_turned():
    asked = answered("one", [1.0] * 6, [True] * 3 + [False] * 3)
    other = answered("two", [1.0] * 3, [True] * 3)
    assert paired.success_share_difference(asked, "one", "two").mean == 0.5
    assert paired.success_share_difference(pd.concat([asked, other]), "one", "two").mean == 0.0


def test_the_nearest_valid_cell_is_no_farther_than_any_valid_answer():
    score = scene.SCORES[0]
    rows = local_minima.draw_rows(score, 6, 0)
    least = local_minima.nearest_valid(score, rows)
    problem = scene.build_problem(rows, np.full(6, 5.0), 0.0, 0, score)
    run = cp.Search()(problem, scene.build_streams(6, 0))
    length = np.linalg.norm(run.x[:, 0] - rows, axis=1)
    assert run.valid[:, 0].all()
    assert (length >= least - local_minima.MINIMA.cell).all()


@pytest.mark.parametrize(("share", "word"), [(1.0, verdict.FAILS), (0.0, verdict.HOLDS), (0.5, verdict.PARTLY)])
def test_large_and_small_beta_are_judged_by_one_rule(share, word):
    facts = {f"{key}, f1": share for key in ("small converge", "large converge", "path falls", "path reaches")}
    facts |= {f"{key}, f1": share for key in ("path hill", "path left", "stable widens", "stable middle")}
    facts |= {"slower, f1": share, "stable somewhere, f1": share}
    facts |= {f"{key}, f1": share for key in ("small fresh converge", "large fresh converge", *landscape.GRID_ENDS)}
    claims = {claim.claim: claim.paper for claim in landscape.judge_figures(facts)}
    assert claims["For β between 1 and 10 the algorithm oscillates and does not converge."] == word
    assert claims["For β of 0.001 to 0.1 the gradient norm goes to 0."] == verdict.judge_shares([share])


def test_what_one_cloud_and_fresh_ones_disagree_on_cannot_be_judged():
    facts = {f"{key}, f1": 1.0 for key in ("path falls", "path reaches", "path hill", "path left", "slower")}
    facts |= {f"stable {key}, f1": 1.0 for key in ("widens", "middle", "somewhere")}
    facts |= {f"{key}, f1": 1.0 for key in ("small converge", "large converge", *landscape.GRID_ENDS)}
    facts |= {"small fresh converge, f1": 0.0, "large fresh converge, f1": 0.0}
    claims = {claim.claim: claim.paper for claim in landscape.judge_figures(facts)}
    assert claims["For β of 0.001 to 0.1 the gradient norm goes to 0."] == verdict.OPEN
    assert claims["For β between 1 and 10 the algorithm oscillates and does not converge."] == verdict.OPEN


def test_a_rank_correlation_that_may_be_either_cannot_be_judged():
    words = {
        (0.8, 0.9): verdict.HOLDS,
        (0.4, 0.9): verdict.PARTLY,
        (0.1, 0.9): verdict.OPEN,
        (0.0, 0.2): verdict.FAILS,
        (-np.inf, np.inf): verdict.OPEN,
    }
    for (low, high), word in words.items():
        facts = dict.fromkeys(("basin pairs", "basin rows"), 9.0)
        for key in ("heavier kept", "wider kept", "gradient rank"):
            facts |= verdict.put_interval(key, paired.Interval(0.5, low, high))
        assert landscape.judge_basins(facts)[1].paper == word


def test_a_boundary_through_the_alert_is_seen_within_the_papers_reach():
    """Where the alert lies on a boundary, points within the paper's ± are benign: the box tells the two apart."""
    devices = telemetry.simulate(300, 0)
    row = table1_devices.paper_alert(devices.frame)

    class Cut:
        def predict(self, table: pd.DataFrame) -> np.ndarray:
            return np.where(table["latency"] < 180.0, "benign", "alert")

    shares = table1_devices.try_paper_box(Cut(), devices, row)
    assert 0.3 < shares["network"] < 0.7
    assert {shares[kind] for kind in ("logistic", "forest", "boosted")} == {0.0}


def test_a_seed_must_be_a_number(tmp_path):
    for wrong in ({"seed": -1}, {"rows": 0}, {"rows": True}):
        with pytest.raises(cp.InputError):
            paper.write(tmp_path, **wrong)


def test_the_quick_form_measures_less():
    assert RunSize(quick=True).pick(1, 2) == 1
    assert RunSize().pick(1, 2) == 2
