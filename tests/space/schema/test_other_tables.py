"""Tables of Polars and Arrow give the answers that the same table of pandas gives."""

import numpy as np
import pandas as pd
import pytest

import counterpoise as cp
from counterpoise.errors import InputError

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {"load": RNG.normal(size=60).round(2), "ports": RNG.integers(0, 9, 60), "proto": RNG.choice(["tcp", "udp"], 60)}
)


def is_alert(rows):
    return (rows["load"].to_numpy() + rows["ports"].to_numpy() + (rows["proto"] == "udp").to_numpy() > 4).astype(float)


def _made(library, table):
    other = pytest.importorskip(library)
    return other.from_pandas(table) if library == "polars" else other.Table.from_pandas(table)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_answers_are_the_same(library):
    rows = TABLE[:4].assign(ticket=["a", "b", "c", "d"])
    plain = cp.explain(is_alert, rows, reference=TABLE, target=(None, 0.5))
    other = cp.explain(is_alert, _made(library, rows), reference=_made(library, TABLE), target=(None, 0.5))
    assert other.x.tolist() == plain.x.tolist()
    assert other.frame["ticket"].tolist() == rows["ticket"].tolist()
    back = other.to_frame(library)
    assert type(back).__module__.startswith(library)
    assert len(back) == len(other.to_frame())
    named = [str(name) for name in (back.columns if library == "polars" else back.column_names)]
    assert named == list(other.to_frame().columns)


def test_what_is_no_table_is_told():
    polars = pytest.importorskip("polars")
    with pytest.raises(InputError, match="a LazyFrame of Polars is a plan for one"):
        cp.explain(is_alert, polars.from_pandas(TABLE[:2]), reference=polars.from_pandas(TABLE).lazy())
    found = cp.explain(is_alert, TABLE[:1], reference=TABLE, target=(None, 0.5))
    with pytest.raises(InputError, match="library must be 'pandas', 'polars' or 'pyarrow'"):
        found.to_frame("dask")
