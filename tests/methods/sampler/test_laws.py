"""The sampler against sums over all points: marginals, mean effort, detailed balance of every move, swaps."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.methods.sampler.chains import Chains
from counterpoise.methods.sampler.darts import Darts
from counterpoise.methods.sampler.jumps import Jumps
from counterpoise.methods.sampler.moves import MOVES
from counterpoise.methods.sampler.places import Places
from counterpoise.methods.sampler.sample import Sampler, sample
from counterpoise.streams import Streams
from ensemble_cases import CASES, COST, LAW_CASES, SMALL, Case, integer_table, whole_numbers
from problems import problem_of


def _sample_seeds(case: Case, seeds: int, wanted: int) -> list[Any]:
    """The same row under so many seeds, all in one batch."""
    streams = Streams(tuple(case.problem.make_streams(seed).row_streams[0] for seed in range(seeds)))
    starts = np.repeat(case.exact.x[case.exact.effort.argsort()[:4]][None], seeds, axis=0)
    many = case.problem.take([0] * seeds)
    draws = sample(many, streams, starts, np.full(seeds, case.temperature), wanted, SMALL)
    assert all(each is not None for each in draws)
    return draws


@pytest.mark.parametrize("name", LAW_CASES)
def test_marginals_efforts_and_points_are_those_of_the_sum_over_all_points(name: str) -> None:
    case, seeds = LAW_CASES[name](), 24
    draws = _sample_seeds(case, seeds, 300)
    law = case.exact.law(case.temperature)
    likely = np.argsort(-law)[:8]
    found, known = (
        [],
        np.concatenate(
            [
                case.exact.change_shares(case.row, case.temperature),
                [case.exact.mean_effort(case.temperature)],
                law[likely],
            ]
        ),
    )
    for each in draws:
        x, effort = each.flat()
        points = [((x == point) | np.isnan(x) & np.isnan(point)).all(axis=1).mean() for point in case.exact.x[likely]]
        found.append([*each.is_changed.mean(axis=(0, 1)), effort.mean(), *points])
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    moving = spread > 1e-12
    assert mean[~moving] == pytest.approx(known[~moving], abs=1e-3)
    z = (mean - known)[moving] / (spread[moving] / np.sqrt(seeds))
    # over 24 seeds a mean is normal about the truth: chi-square over marginals, effort and the likeliest points
    assert float((z**2).sum()) < 1.5 * chi2.ppf(1 - 1e-5, len(z)), dict(zip(known[moving], mean[moving], strict=True))


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("name", ["whole numbers", "categories", "a sum", "at most two changes"])
def test_every_move_satisfies_detailed_balance(name: str, move: str) -> None:
    case = CASES[name]()
    law = case.exact.law(case.temperature)
    rng = np.random.default_rng(0)
    count = 60_000
    before = rng.choice(len(law), count, p=law)
    places = Places.of(case.problem, np.array([1.0]), SMALL)
    streams = case.problem.make_streams(1)
    chains = Chains.at_points(case.problem, places, streams, case.exact.x[before][None])
    sampler = Sampler(
        Chains.at_points(case.problem, places, streams, case.exact.x[before][None, : SMALL.chains]),
        np.array([case.temperature]),
        SMALL,
    )
    visited = places.locate(case.exact.x[rng.choice(len(law), 40, p=law)][None])
    usual = np.exp(sampler.tables.proposals.log_probabilities[:, :, 0])
    uneven = np.rint(2.0**31 / np.arange(1, sampler.tables.proposals.setting_weights.size + 1)).astype(np.int64)
    uneven = uneven.reshape(sampler.tables.proposals.setting_weights.shape)  # how often each column is chosen
    tables = sampler.tables._replace(
        proposals=replace(sampler.tables.proposals, setting_weights=uneven),
        slots=np.zeros(count, dtype=np.intp),
        darts=Darts.between([places.locate(case.exact.x[None])[0]]),
        jumps=Jumps.between(visited, places, usual),
    )
    taken = chains.step(MOVES[move], tables, np.full((1, count), case.temperature), rng.random((1, count, 20)))
    number = {tuple(point): place for place, point in enumerate(case.exact.x)}
    after = np.array([number[tuple(point)] for point in chains.x[0]])
    flow = np.zeros((len(law), len(law)))
    np.add.at(flow, (before, after), 1)
    assert taken.any() or (move == "transfer" and name != "a sum")  # there is nothing to transfer without an equation
    there, back = flow[np.triu_indices(len(law), 1)], flow.T[np.triu_indices(len(law), 1)]
    often = there + back >= 10
    statistic = float(((there - back)[often] ** 2 / (there + back)[often]).sum())
    assert statistic < chi2.ppf(1 - 1e-6, max(int(often.sum()), 1)), (move, statistic, int(often.sum()))


def test_swaps_between_two_levels_are_taken_as_often_as_they_should_be() -> None:
    case = whole_numbers()
    low, high = case.exact.effort.argmin(), case.exact.effort.argmax()
    rise, T = case.exact.effort[high] - case.exact.effort[low], np.array([0.5, 1.0])
    ladders, rng = 20_000, np.random.default_rng(0)
    law = [np.exp(-rise / t) / (1 + np.exp(-rise / t)) for t in T]  # of the upper of two levels
    upper = rng.random((ladders, 2)) < law
    points = np.where(upper[..., None], case.exact.x[high], case.exact.x[low]).reshape(1, -1, 3)
    chains = Chains.at_points(
        case.problem, Places.of(case.problem, np.array([1.0]), SMALL), case.problem.make_streams(0), points
    )
    _, taken = chains.swap(np.tile(T, ladders)[None], 2, 0, rng.random((1, 2 * ladders)))
    unlike = np.exp(-(1 / T[0] - 1 / T[1]) * rise)  # the colder one is low, the hotter one high: against the law
    expected = 1 - law[1] * (1 - law[0]) * (1 - unlike)
    assert taken.mean() == pytest.approx(expected, abs=5 * np.sqrt(expected * (1 - expected) / ladders))
    after = (chains.effort.reshape(ladders, 2) > case.exact.effort[low]).mean(axis=0)
    assert after == pytest.approx(np.array(law), abs=0.02)  # a swap leaves both laws as they were


@pytest.mark.parametrize("far_r_hat", [1.04, 1.015, 0.0])  # of rows that adapt again: few, some, all
def test_a_row_alone_draws_what_it_draws_in_a_batch(far_r_hat: float) -> None:
    settings = replace(SMALL, far_r_hat=far_r_hat, relearning_sweeps=(10, 20))
    frame = integer_table()
    model = LogisticRegression(C=100).fit(frame, (frame["a"] + frame["b"] + 0.5 * frame["c"] > 6).astype(int))
    rows = frame[model.predict(frame) == 0].drop_duplicates().iloc[:3]
    problem = problem_of(model, frame, rows, target=1, distance=COST, lam=0)
    starts = cp.explain(model, rows, reference=frame, target=1, distance=COST, lam=0).answers
    T = np.full(3, 0.2)
    together = sample(problem, problem.make_streams(4), starts, T, 300, settings)
    part = problem.take([1])
    alone = sample(part, part.make_streams(4), starts[[1]], T[:1], 300, settings)[0]
    assert alone is not None
    assert together[1] is not None
    assert np.array_equal(alone.x, together[1].x)
