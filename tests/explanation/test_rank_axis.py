"""An axis by rank rises strictly, leads back, and spreads what a straight axis would crowd."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterpoise as cp
from counterpoise.explanation.rank_axis import RankAxis, is_crowded
from counterpoise.explanation.tables import QUANTILE_SHARES

numbers = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda value: round(value, 3))
populations = st.lists(
    st.lists(numbers, min_size=len(QUANTILE_SHARES), max_size=len(QUANTILE_SHARES)).map(lambda v: np.array(sorted(v))),
    min_size=1,
    max_size=3,
)


@given(populations, numbers, numbers)
def test_places_rise_with_values_and_lead_back(levels: list[np.ndarray], one: float, other: float) -> None:
    axis = RankAxis.of(levels, [one, other])
    if axis is None:
        assert len({one, other, *np.concatenate(levels).tolist()}) == 1
        return
    assert (np.diff(axis.places) > 0).all()
    assert axis.places[0] == 0.0
    np.testing.assert_allclose(axis.places[-1], 1.0)
    if one < other:
        assert axis.place(np.array([one]))[0] < axis.place(np.array([other]))[0]
    np.testing.assert_allclose(axis.value(axis.place(axis.values)), axis.values, rtol=1e-6, atol=1e-6)


def test_a_heavy_tail_goes_by_rank_and_even_values_do_not() -> None:
    heavy = np.array([0.0, 1, 2, 5, 10, 20, 60, 200, 900, 5e4, 8e6])
    axis = RankAxis.of([heavy], [17.0, 240.0])
    assert axis is not None
    assert is_crowded(axis, 0.0, 8e6, (17.0, 240.0))
    assert np.ptp(axis.place(np.array([17.0, 240.0]))) > 0.2
    even = np.quantile(np.linspace(0, 10, 1000), QUANTILE_SHARES)
    straight = RankAxis.of([even], [2.0, 5.0])
    assert straight is not None
    assert not is_crowded(straight, 0.0, 10.0, (2.0, 5.0))


def test_without_a_population_there_is_no_rank() -> None:
    assert RankAxis.of([], [1.0, 2.0]) is None
    assert RankAxis.of([np.full(11, np.nan)], [1.0, 2.0]) is None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # distances and ranges may overflow
@pytest.mark.parametrize("size", [1e-320, 1e-310, 1e300, 1.7e308])
def test_reports_hold_columns_of_any_size(size: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"tiny": rng.uniform(-1, 1, 40) * size, "plain": rng.normal(size=40)})
    found = cp.explain(
        lambda rows: np.where(rows["tiny"] / size + rows["plain"] / 5 > 0.1, "yes", "no"), table[:4], reference=table
    )
    assert found.valid.all()
    page = cp.report(found, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Infinity" not in page.partition('id="data"')[2].partition("</script>")[0]
    assert len(found.text()) > 0
