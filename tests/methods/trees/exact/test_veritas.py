"""Proofs against Veritas, another exact search over boxes of leaves; it knows the largest single difference alone."""

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp

veritas = pytest.importorskip("veritas", reason="dtai-veritas is not installed")


def test_bounds_agree_with_the_radius_that_veritas_proves():
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 5))
    x = pd.DataFrame(x / np.array(cp.Schema.infer(pd.DataFrame(x)).scales), columns=list("abcde"), dtype=np.float32)
    y = (x["a"] + np.sin(2 * x["b"]) * x["c"] > 0.1).astype(int)
    model = xgboost.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1, random_state=0).fit(x, y)
    rows = x[:12]
    found = cp.explain(model, rows, reference=x, lam=0, proof=True, bounds=None)
    assert set(found.status) == {"optimal"}
    trees = veritas.get_addtree(model, silent=True)
    farthest = np.abs(found.x - found.x0).max(axis=1) / found.schema.scales.mean()
    compared = 0
    for row, says in enumerate(model.predict(rows)):
        own = rows.iloc[row].to_numpy(dtype=np.float64)
        ends = (trees, None) if says else (None, trees)
        search = veritas.VeritasRobustnessSearch(own, 4.0, *ends, num_steps=20, silent=True)
        _, low, high = search.search()
        # nothing within the radius turns the row, ours included; and no example of theirs costs less than the bound
        assert farthest[row] >= low * (1 - 1e-3)
        assert found.bound[row] <= np.sqrt(5) * high * (1 + 1e-2)
        for example in search.generated_examples:
            if model.predict(np.asarray(example, dtype=np.float32)[None])[0] != says:
                compared += 1
                assert np.linalg.norm(np.asarray(example) - own) >= found.bound[row] * (1 - 1e-2)
    assert compared >= len(rows)
