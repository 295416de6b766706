"""The sampler against sums over all points: marginals, mean effort, detailed balance of every move, swaps."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.methods.sampler.chains import Chains
from counterpoise.methods.sampler.moves import MOVES
from counterpoise.methods.sampler.places import Places
from counterpoise.methods.sampler.sample import Sampler, sample
from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.problem import Problem
from counterpoise.streams import Streams
from enumerated import Exact, count_weights, enumerate_points
from problems import problem_of

SMALL = SamplerSettings(ladders=4, temperatures=3, adaptation_sweeps=15, adaptation_rounds=2, max_sweeps=250)
COST = {"l2": 1.0, "l0": 0.1}  # the distance of these tests: L2, and 0.1 a changed feature


@dataclass
class Case:
    problem: Problem
    exact: Exact
    row: np.ndarray

    @property
    def temperature(self) -> float:
        return 0.15 * self.exact.effort.min()


def _effort(row: np.ndarray, scale: np.ndarray, nominal: Any = ()) -> Any:
    def cost(x: np.ndarray) -> float:
        delta = np.abs(x - row) / scale
        delta[list(nominal)] = x[list(nominal)] != row[list(nominal)]
        return float(np.sqrt(delta @ delta) + 0.1 * np.count_nonzero(delta))

    return cost


def _integers(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame({name: rng.integers(0, high, rows) for name, high in (("a", 6), ("b", 5), ("c", 7))})


def _frame_predict(model: Any, names: list[str], label: object = 1) -> Any:
    return lambda x: model.predict(pd.DataFrame(x, columns=names)) == label


def whole_numbers(constraints: Any = (), allowed: Any = None, box: Any = lambda column, own: (0, 99)) -> Case:
    """Three columns of whole numbers and a plane between the classes."""
    frame = _integers()
    names = list(frame)
    model = LogisticRegression(C=100).fit(frame, (frame["a"] + frame["b"] + 0.5 * frame["c"] > 6).astype(int))
    row = frame[model.predict(frame) == 0].iloc[:1]
    own = row.to_numpy(float)[0]
    problem = problem_of(model, frame, row, target=1, distance=COST, lam=0, constraints=constraints)
    reached = _frame_predict(model, names)
    menus = []
    for column, name in enumerate(names):
        low, high = box(name, own[column])
        menus.append(
            count_weights(
                range(max(low, frame[name].min()), min(high, frame[name].max()) + 1), own[column], frame[name]
            )
        )
    valid = reached if allowed is None else lambda x: reached(x) & np.array([allowed(point, own) for point in x])
    return Case(problem, enumerate_points(own, menus, _effort(own, frame.std(ddof=0).to_numpy()), valid), own)


def cells_of_trees() -> Case:
    """Real columns under a small tree: each cell stands for its value nearest to the row."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.integers(0, 1000, 80) / 100 for name in "abc"})
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame, (frame.sum(axis=1) > 16).astype(int))
    row = frame[model.predict(frame) == 0].iloc[:1]
    own = row.to_numpy(float)[0]
    problem = problem_of(model, frame, row, target=1, distance=COST, lam=0)
    menus = []
    for column, name in enumerate(frame):
        edges = sorted({t for f, t in zip(model.tree_.feature, model.tree_.threshold, strict=True) if f == column})
        ends = [-np.inf, *edges, np.inf]
        grid = np.round(np.arange(round(frame[name].min() * 100), round(frame[name].max() * 100) + 1) / 100, 2)
        counts = {}
        for low, high in itertools.pairwise(ends):
            inside = grid[(np.float32(grid) > low) & (np.float32(grid) <= high)]  # trees read numbers in this precision
            if len(inside) and not low < np.float32(own[column]) <= high:
                value = inside[np.abs(inside - own[column]).argmin()]
                counts[value] = np.count_nonzero(np.isin(frame[name], inside)) + 0.5
        menus.append({value: count / sum(counts.values()) for value, count in counts.items()})
    exact = enumerate_points(own, menus, _effort(own, frame.std(ddof=0).to_numpy()), _frame_predict(model, list(frame)))
    return Case(problem, exact, own)


def categories() -> Case:
    """A category, a column of listed values and one of whole numbers."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "kind": rng.choice(["tcp", "udp", "icmp"], 70, p=[0.6, 0.3, 0.1]),
            "a": rng.integers(0, 5, 70),
            "b": rng.integers(0, 9, 70),
        }
    )
    codes = {value: code for code, value in enumerate(sorted(frame["kind"].unique()))}

    def model(table: pd.DataFrame) -> np.ndarray:
        odd = (table["kind"].astype(str) == "udp").to_numpy()
        return (table["a"].to_numpy(float) + table["b"].to_numpy(float) + 3 * odd >= 9).astype(float)

    row = frame[model(frame) == 0].iloc[:1]
    own = np.array([codes[row["kind"].iloc[0]], *row[["a", "b"]].to_numpy(float)[0]])
    problem = problem_of(
        model,
        frame,
        row,
        target=(0.5, None),
        distance=COST,
        lam=0,
        constraints=[cp.OneOf("b", [0, 2, 4, 8, int(own[2])])],
    )
    menus = [
        count_weights(range(3), own[0], frame["kind"].map(codes)),
        count_weights(range(int(frame["a"].min()), int(frame["a"].max()) + 1), own[1], frame["a"]),
        count_weights([0, 2, 4, 8], own[2], frame["b"]),
    ]
    scale = np.array([1.0, *frame[["a", "b"]].std(ddof=0)])
    words = sorted(codes)

    def reached(x: np.ndarray) -> np.ndarray:
        kinds = [words[int(code)] for code in x[:, 0]]
        return np.asarray(model(pd.DataFrame({"kind": kinds, "a": x[:, 1], "b": x[:, 2]})) > 0.5)

    return Case(problem, enumerate_points(own, menus, _effort(own, scale, [0]), reached), own)


def sums() -> Case:
    """Two parts and their sum, which is a function of the parts and has no weight of its own."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"fwd": rng.integers(0, 6, 60), "bwd": rng.integers(0, 6, 60)})
    frame["all"], frame["c"] = frame["fwd"] + frame["bwd"], rng.integers(0, 4, 60)
    model = LogisticRegression(C=100).fit(frame, (frame["fwd"] + frame["all"] + frame["c"] > 9).astype(int))
    row = frame[model.predict(frame) == 0].iloc[:1]
    own = row.to_numpy(float)[0]
    rule = cp.Rule("fwd + bwd == all")
    problem = problem_of(model, frame, row, target=1, distance=COST, lam=0, constraints=[rule])
    menus = [
        count_weights(range(int(frame[c].min()), int(frame[c].max()) + 1), row[c].iloc[0], frame[c])
        for c in ("fwd", "bwd", "c")
    ]
    reached, most = _frame_predict(model, list(frame)), frame["all"].max()
    exact = enumerate_points(
        own[[0, 1, 3]],
        menus,
        _effort(own, frame.std(ddof=0).to_numpy()),
        lambda x: reached(x) & (x[:, 2] <= max(most, own[2])) & (x[:, 2] >= min(frame["all"].min(), own[2])),
        lambda cells: (cells[0], cells[1], cells[0] + cells[1], cells[2]),
    )
    return Case(problem, exact, own)


CASES = {
    "whole numbers": whole_numbers,
    "bounds": lambda: whole_numbers(
        [cp.Range("a", 1, 4), cp.Increasing("b")],
        lambda x, own: x[0] >= 1,
        box=lambda name, own: {"a": (1, 4), "b": (int(own), 99)}.get(name, (0, 99)),
    ),
    "at most two changes": lambda: whole_numbers([cp.MaxChanges(2)], lambda x, own: (x != own).sum() <= 2),
    "a rule": lambda: whole_numbers([cp.Rule("a <= b + 2")], lambda x, own: x[0] <= x[1] + 2),
    "cells of trees": cells_of_trees,
    "categories": categories,
    "a sum": sums,
}


def _sample_seeds(case: Case, seeds: int, wanted: int) -> list[Any]:
    """The same row under so many seeds, all in one batch."""
    streams = Streams(tuple(case.problem.make_streams(seed).row_streams[0] for seed in range(seeds)))
    starts = np.repeat(case.exact.x[case.exact.effort.argsort()[:4]][None], seeds, axis=0)
    many = case.problem.take([0] * seeds)
    draws = sample(many, streams, starts, np.full(seeds, case.temperature), wanted, SMALL)
    assert all(each is not None for each in draws)
    return draws


@pytest.mark.parametrize("name", CASES)
def test_marginals_efforts_and_points_are_those_of_the_sum_over_all_points(name: str) -> None:
    case, seeds = CASES[name](), 24
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
        points = [(x == point).all(axis=1).mean() for point in case.exact.x[likely]]
        found.append([*each.is_changed.mean(axis=(0, 1)), effort.mean(), *points])
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)
    moving = spread > 1e-12
    assert mean[~moving] == pytest.approx(known[~moving], abs=1e-3)
    z = (mean - known)[moving] / (spread[moving] / np.sqrt(seeds))
    # over 24 seeds a mean is normal about the truth: chi-square over marginals, effort and the likeliest points
    assert float((z**2).sum()) < 1.5 * chi2.ppf(1 - 1e-5, len(z)), dict(zip(known[moving], mean[moving], strict=True))


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
@pytest.mark.parametrize("name", ["whole numbers", "categories", "a sum", "at most two changes"])
def test_every_move_satisfies_detailed_balance(name: str, move: Any) -> None:
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
    tables = sampler.tables._replace(slots=np.zeros(count, dtype=np.intp))
    taken = chains.step(move, tables, np.full((1, count), case.temperature), rng.random((1, count, 7)))
    number = {tuple(point): place for place, point in enumerate(case.exact.x)}
    after = np.array([number[tuple(point)] for point in chains.x[0]])
    flow = np.zeros((len(law), len(law)))
    np.add.at(flow, (before, after), 1)
    assert taken.any()
    there, back = flow[np.triu_indices(len(law), 1)], flow.T[np.triu_indices(len(law), 1)]
    often = there + back >= 10
    statistic = float(((there - back)[often] ** 2 / (there + back)[often]).sum())
    assert statistic < chi2.ppf(1 - 1e-6, max(int(often.sum()), 1)), (move.__name__, statistic, int(often.sum()))


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


def test_a_row_alone_draws_what_it_draws_in_a_batch() -> None:
    frame = _integers()
    model = LogisticRegression(C=100).fit(frame, (frame["a"] + frame["b"] + 0.5 * frame["c"] > 6).astype(int))
    rows = frame[model.predict(frame) == 0].drop_duplicates().iloc[:3]
    problem = problem_of(model, frame, rows, target=1, distance=COST, lam=0)
    starts = cp.explain(model, rows, reference=frame, target=1, distance=COST, lam=0).answers
    T = np.full(3, 0.2)
    together = sample(problem, problem.make_streams(4), starts, T, 200, SMALL)
    part = problem.take([1])
    alone = sample(part, part.make_streams(4), starts[[1]], T[:1], 200, SMALL)[0]
    assert alone is not None
    assert together[1] is not None
    assert np.array_equal(alone.x, together[1].x)
