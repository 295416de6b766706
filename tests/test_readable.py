"""Results say what they are, in a repr and in HTML that nothing from data can break."""

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import counterpoise as cp

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"<b>load": RNG.normal(size=80), "ports": RNG.integers(1, 9, 80)})
TABLE["twice"] = 2 * TABLE["ports"]
MODEL = LogisticRegression().fit(TABLE, np.where(TABLE["ports"] + TABLE["<b>load"] > 5, "alert", "benign"))


def test_results_are_readable_and_escaped():
    explainer = cp.Explainer(MODEL, reference=TABLE)
    rows = TABLE[MODEL.predict(TABLE) == "alert"][:2]
    found = explainer(rows, target="benign")
    results = {
        "Schema of 3 features": explainer.schema,
        "relation": cp.discover(TABLE),
        "Landscape of the energy": cp.landscape(found[0], MODEL),
        "Trajectory of": cp.trajectory(explainer, rows[:1], target="benign"),
        "noisy copies": cp.robustness(found, MODEL, reference=TABLE),
    }
    for words, result in results.items():
        assert words in repr(result)
        assert len(repr(result).splitlines()) < 30
        page = result._repr_html_()
        assert words in page
        assert "<b>" not in page
