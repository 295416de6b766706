"""Steps under relations see what a change of one column does with all that moves along."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import counterpoise as cp
from counterpoise.methods.smooth.followed_steps import expand_followers
from counterpoise.space.constraints.between_features import Rule
from counterpoise.space.region.region import Region
from counterpoise.space.schema.schema import Schema


def traffic(rows: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"fwd": rng.integers(1, 40, rows), "bwd": rng.integers(1, 40, rows)})
    table["total"], table["size"] = table["fwd"] + table["bwd"], rng.integers(1, 9, rows)
    table["bytes"] = table["total"] * table["size"]
    return table


def test_slopes_of_followers_are_those_of_differences() -> None:
    schema, row = Schema.infer(traffic()), np.array([[10.0, 20.0, 30.0, 5.0, 150.0], [7.0, 2.0, 9.0, 3.0, 27.0]])
    region = Region.build(schema, row, [Rule("total == fwd + bwd"), Rule("bytes == total * size")])
    x, scales = row[:, None, :], schema.scales
    slopes = expand_followers(region.system, x, region.free, scales)
    for place, follower in enumerate(region.system.clause_set.followers):
        for column in (0, 1, 3):
            ahead = x.copy()
            ahead[..., column] += 1.0
            moved, _ = region.bring_inside(ahead)
            expected = (moved - x)[..., follower.column] / scales[follower.column] * scales[column]
            np.testing.assert_allclose(slopes[:, :, place, column], expected, atol=1e-9)


def test_answers_are_near_the_best_of_all_that_obey_the_relations() -> None:
    table = traffic()
    model = LogisticRegression().fit(table, table["bytes"] > 160)
    model.coef_, model.intercept_ = np.array([[0, 0, 0, 0, 0.1]]), np.array([-16.0])  # it reads what follows, alone
    rows = table[:20]
    found = cp.explain(model, rows, reference=table, kept=False)
    assert found.valid.all()
    fwd, bwd, size = (part.ravel() for part in np.meshgrid(np.arange(1, 40), np.arange(1, 40), np.arange(1, 9)))
    every = np.stack([fwd, bwd, fwd + bwd, size, (fwd + bwd) * size], axis=1)
    scales, efforts = Schema.infer(table).scales, []
    for place, row in enumerate(rows.to_numpy()):
        other = model.predict(pd.DataFrame(every, columns=table.columns)) != model.predict(rows[place : place + 1])[0]
        effort = np.sqrt(np.square((every - row) / scales).sum(axis=1)) + 0.1 * (every != row)[:, [0, 1, 3]].sum(axis=1)
        efforts.append(effort[other].min())
    ratio = found.terms.total / np.array(efforts)
    assert (ratio > 1 - 1e-9).all()
    assert ratio.max() < 1.015  # 1.022 where steps do not see what follows
