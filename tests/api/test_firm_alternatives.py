"""Alternatives under noise: as many as exhaustive search finds on small cases."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import counterpoise as cp

GRID = np.array(list(itertools.product(range(8), repeat=3)), dtype=float)
NOISE, KEEP = 0.1, 0.8


def _exhaustive_count(model, row, target, scales, most):
    """How many answers there are on the grid, each without something that a better one needs."""
    rng = np.random.default_rng(0)
    copies = np.clip(np.rint(GRID[:, None] + NOISE * scales * rng.standard_normal((1, 400, 3))), 0, 7)
    kept = (model.predict(copies.reshape(-1, 3)) == target).reshape(len(GRID), 400).mean(axis=1)
    firm = (kept > KEEP + 0.1) & (model.predict(GRID) == target)  # sure to be firm, whatever the draws
    changed = row != GRID
    effort = np.linalg.norm((GRID - row) / scales, axis=1) + 0.1 * changed.sum(axis=1)
    sets = []
    for place in np.argsort(effort, kind="stable"):
        own = set(np.flatnonzero(changed[place]).tolist())
        if firm[place] and not any(better <= own for better in sets):
            sets.append(own)
    return min(len(sets), most)


@pytest.mark.parametrize("seed", range(4))
def test_three_are_given_wherever_exhaustive_search_finds_them(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.integers(0, 8, size=(600, 3)), columns=list("abc"))
    hot = (table["a"] > 4) | (table["b"] > 5) | (table["c"] < 2) if seed % 2 else table.sum(axis=1) > 12
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(table.to_numpy(), hot)
    rows = table[~model.predict(table.to_numpy())][:6]
    explainer = cp.Explainer(model, reference=table.to_numpy())
    found = explainer(rows.to_numpy(), target=True, keep=KEEP, noise=NOISE, alternatives=3)
    scales = explainer.schema.scales
    wanted = [_exhaustive_count(model, row, True, scales, 3) for row in rows.to_numpy().astype(float)]
    assert max(wanted) == 3 or not seed % 2
    assert (found.count >= wanted).all(), (found.count.tolist(), wanted)
    table = found.answer_table
    assert (table["kept"] > KEEP - 0.12).all()
    others = table[table["alternative"] > 0]
    assert (others.groupby("position")["effort"].diff().dropna() >= 0).all()


def test_the_best_answer_is_the_same_with_and_without_alternatives():
    rng = np.random.default_rng(5)
    table = rng.normal(size=(400, 3))
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(table, table.sum(axis=1) > 0.5)
    rows = table[~model.predict(table)][:6]
    one, three = (
        cp.explain(model, rows, reference=table, target=True, keep=0.8, noise=0.1, alternatives=count)
        for count in (1, 3)
    )
    assert one.x.tolist() == three.x.tolist()
    assert one.tipping.x.tolist() == three.tipping.x.tolist()
    for method in (cp.NearestNeighbour(), cp.RandomSearch()):
        few, many = (
            cp.explain(model, rows, reference=table, target=True, method=method, alternatives=count) for count in (1, 3)
        )
        assert few.x.tolist() == many.x.tolist()
