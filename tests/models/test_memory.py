"""Memory: what a call holds does not grow with the product of rows and levels. The rest: benchmarks/memory.py."""

import tracemalloc

import numpy as np
import pandas as pd

import counterpoise as cp

ROWS = 128  # as many as are worked on together


def held(levels: int) -> int:
    """The most bytes that a call holds whose table has a category of so many levels, half of which are allowed."""
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(levels), rng.integers(0, levels, 10_000 - levels)])
    names = [f"host{number:05d}" for number in range(levels)]
    table = pd.DataFrame({"rate": rng.normal(size=10_000), "host": pd.Categorical.from_codes(codes, names)})

    def model(frame):
        return np.where(frame["rate"] + frame["host"].cat.codes / levels > 0.5, "attack", "benign")

    tracemalloc.start()
    try:
        words = [cp.OneOf("host", names[: levels // 2])]
        assert cp.explain(model, table[:ROWS], reference=table, constraints=words).valid.all()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_category_of_many_levels_is_not_held_once_for_each_row() -> None:
    assert held(10_000) - held(10) < ROWS * 10_000 * 4
