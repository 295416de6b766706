"""Rows with few points, by kind of column and constraint: the problem, and all of its valid points."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp
from counterpoise.methods.sampler.places import Places
from counterpoise.methods.sampler.settings import SamplerSettings
from counterpoise.problem import Problem
from enumerated import Exact, count_weights, enumerate_points
from problems import problem_of

SMALL = SamplerSettings(ladders=4, temperatures=3, adaptation_sweeps=15, adaptation_rounds=2, max_sweeps=250)
COST = {"l2": 1.0, "l0": 0.1}  # the distance of these tests: L2, and 0.1 a changed feature


@dataclass
class Case:
    problem: Problem
    exact: Exact
    row: np.ndarray
    menus: Any  # for each free column its other values, with their weights

    @property
    def steps(self) -> list[list[float]]:
        """The values of each column, in order; of a computed one none."""
        own = self.row if len(self.menus) == len(self.row) else self.row[[0, 1, 3]]
        found = [sorted({*menu, value}) for menu, value in zip(self.menus, own.tolist(), strict=True)]
        return found if len(found) == len(self.row) else [*found[:2], [], found[2]]

    @property
    def temperature(self) -> float:
        return 0.15 * self.exact.effort.min()


def _effort(row: np.ndarray, scale: np.ndarray, nominal: Any = ()) -> Any:
    def cost(x: np.ndarray) -> float:
        delta = np.abs(x - row) / scale
        delta[list(nominal)] = x[list(nominal)] != row[list(nominal)]
        return float(np.sqrt(delta @ delta) + 0.1 * np.count_nonzero(delta))

    return cost


def integer_table(rows: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    return pd.DataFrame({name: rng.integers(0, high, rows) for name, high in (("a", 6), ("b", 5), ("c", 7))})


def _frame_predict(model: Any, names: list[str], label: object = 1) -> Any:
    return lambda x: model.predict(pd.DataFrame(x, columns=names)) == label


def whole_numbers(constraints: Any = (), allowed: Any = None, box: Any = lambda column, own: (0, 99)) -> Case:
    """Three columns of whole numbers and a plane between the classes."""
    frame = integer_table()
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
    return Case(problem, enumerate_points(own, menus, _effort(own, frame.std(ddof=0).to_numpy()), valid), own, menus)


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
        for low, high in pairwise(ends):
            inside = grid[(np.float32(grid) > low) & (np.float32(grid) <= high)]  # trees read numbers in this precision
            if len(inside) and not low < np.float32(own[column]) <= high:
                value = inside[np.abs(inside - own[column]).argmin()]
                counts[value] = np.count_nonzero(np.isin(frame[name], inside)) + 0.5
        menus.append({value: count / sum(counts.values()) for value, count in counts.items()})
    exact = enumerate_points(own, menus, _effort(own, frame.std(ddof=0).to_numpy()), _frame_predict(model, list(frame)))
    return Case(problem, exact, own, menus)


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

    return Case(problem, enumerate_points(own, menus, _effort(own, scale, [0]), reached), own, menus)


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
    return Case(problem, exact, own, menus)


def sums_of_sums() -> Case:
    """A total that is stated before the subtotal that it is made of: both are computed from the parts."""
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 60), "b": rng.integers(0, 5, 60), "c": rng.integers(0, 4, 60)})
    frame["part"] = frame["a"] + frame["b"]
    frame["total"] = frame["part"] + frame["c"]

    def model(table: pd.DataFrame) -> np.ndarray:
        return (table["total"].to_numpy(float) + table["a"].to_numpy(float) > 9).astype(float)

    row = frame[model(frame) == 0].iloc[:1]
    own = row.to_numpy(float)[0]
    rules = [cp.Rule("part + c == total"), cp.Rule("a + b == part")]
    problem = problem_of(model, frame, row, target=(0.5, None), distance=COST, lam=0, constraints=rules)
    menus = [
        count_weights(range(int(frame[c].min()), int(frame[c].max()) + 1), row[c].iloc[0], frame[c]) for c in "abc"
    ]
    low, high = (np.stack([ends, own]) for ends in (frame.min().to_numpy(), frame.max().to_numpy()))
    exact = enumerate_points(
        own[:3],
        menus,
        _effort(own, frame.std(ddof=0).to_numpy()),
        lambda x: (x[:, 4] + x[:, 0] > 9) & ((x >= low.min(axis=0)) & (x <= high.max(axis=0))).all(axis=1),
        lambda cells: (*cells, cells[0] + cells[1], sum(cells)),
    )
    return Case(problem, exact, own, menus)


def missing_cells() -> Case:
    """A missing cell that can be filled with any of 150 whole numbers, which lie in intervals: none may be left out."""
    rng = np.random.default_rng(12)
    frame = pd.DataFrame({"a": rng.integers(0, 150, 301).astype(float), "b": rng.integers(0, 4, 301)})
    frame.loc[::8, "a"] = np.nan
    frame.loc[frame.index[1:4], "a"] = np.nanmedian(frame["a"])

    def model(table: pd.DataFrame) -> np.ndarray:
        return (np.nan_to_num(table["a"].to_numpy(float)) + 30 * table["b"].to_numpy(float) >= 60).astype(float)

    row = frame[(model(frame) == 0) & frame["a"].isna()].iloc[:1]
    own = row.to_numpy(float)[0]
    problem = problem_of(model, frame, row, target=(0.5, None), distance=COST, lam=0)
    places = Places.of(problem, np.array([1.0]), SMALL)
    menus: list[dict[float, float]] = [{}, count_weights(range(4), own[1], frame["b"])]
    for place in range(1, places.count[0, 0] + 1):
        ends = sorted([places.near[0, 0, place], places.far[0, 0, place]])
        inside = np.arange(ends[0], ends[1] + 1)
        menus[0] |= {value: np.exp(places.log_weight[0, 0, place]) / len(inside) for value in inside.tolist()}
    assert sorted(menus[0]) == list(range(int(frame["a"].min()), int(frame["a"].max()) + 1))
    scale = frame["b"].std(ddof=0)

    def effort(x: np.ndarray) -> float:
        delta = np.array([~np.isnan(x[0]), abs(x[1] - own[1]) / scale], dtype=float)
        return float(np.sqrt(delta @ delta) + 0.1 * np.count_nonzero(delta))

    exact = enumerate_points(own, menus, effort, lambda x: np.nan_to_num(x[:, 0]) + 30 * x[:, 1] >= 60)
    return Case(problem, exact, own, menus)


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

LAW_CASES = CASES | {"sums of sums": sums_of_sums, "missing cells": missing_cells}
"""Those whose points are summed up too, and whose neighbours are not written out."""
