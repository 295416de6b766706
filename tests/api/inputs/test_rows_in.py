"""Rows as they come: what is unusual about them is said, and nothing is taken silently."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

import counterpoise as cp

REFERENCE = pd.DataFrame(
    {
        "load": [0.5, 1.5, 2.5, 3.5] * 5,
        "service": ["dns", "web", "mail", "web"] * 5,
        "zone": pd.Categorical(["in", "out"] * 10),
        "rate": [1.0, np.nan, 2.0, 3.0] * 5,
        "note": ["a", None, "b", "c"] * 5,
    }
)


def is_heavy(frame):
    """A model that takes whatever it is given."""
    return np.where(frame["load"].fillna(0.0) + (frame["service"] == "web") > 2.0, "heavy", "light")


@given(gaps=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(list(REFERENCE))), max_size=6))
def test_a_cell_that_is_missing_as_in_no_reference_row_is_always_said(gaps):
    rows = REFERENCE.iloc[[0, 2, 4, 6]].set_axis(list("abcd"), axis=0)
    for row, name in gaps:
        rows.loc["abcd"[row], name] = None
    said = " ".join(cp.explain(is_heavy, rows, reference=REFERENCE, relations=None).notes)
    for name in ("load", "service", "zone"):
        gone = [row for row in range(4) if (row, name) in gaps]
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        assert (f"'{name}' of row" in said) == bool(gone)
        assert not gone or f"'{name}' of row '{'abcd'[gone[0]]}'{more}" in said
    assert "'rate'" not in said
    assert "'note'" not in said
