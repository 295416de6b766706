"""Table II, with numbers in place of adjectives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from counterpoise.paper.exhibit import Exhibit
from counterpoise.paper.exhibits.claims import THREE_METHODS


def build_table_two(facts: Mapping[str, float]) -> Exhibit:
    """Table II: the aspects that can be measured."""
    lines = []

    def line(aspect: str, paper: tuple[str, str, str], key: str, form: str) -> None:
        cells = {name: _format_number(facts.get(key.format(name)), form) for name in THREE_METHODS}
        claimed = dict(zip(THREE_METHODS, paper, strict=True))
        shown = {name: f"{cells[name]} ({claimed[name]})" if claimed[name] else cells[name] for name in THREE_METHODS}
        lines.append({"aspect": aspect, **shown})

    none = ("", "", "")
    line("Rows turned, real and simulated data", none, "real {} validity", ".0%")
    line("L2 over the free energy's, rows that both turn", none, "real {} nearness", ".2f")
    line("Features changed", none, "real {} l0", ".1f")
    line("Robustness: copies that keep the target", ("high", "low", "medium to high"), "real {} robustness", ".0%")
    line(
        "Instability over seeds (std. deviations)", ("stable", "low robustness", "medium"), "real {} instability", ".2f"
    )
    line("Time for a row (ms)", ("moderate to high", "low", "low to moderate"), "real {} ms", ".0f")
    line("Model rows for a row", none, "real {} model_rows", ".0f")
    line("Exponent of d", ("1, at worst 2", "2", "1"), "exponent {} d", ".2f")
    line("Exponent of K", ("1", "1", "0"), "exponent {} K", ".2f")
    line("Exponent of T", ("1", "0", "1"), "exponent {} T", ".2f")
    return Exhibit(
        "table-2",
        "Table II. The three methods, in numbers",
        (
            (
                "In parentheses what the paper's table says of the same aspect, where it says anything. Optimisation "
                "goal, formulation and interpretability are not numbers and are left out. Constraints: here every "
                "method runs under the same region and is verified in the same way, so none breaks any."
            ),
        ),
        "means over all tables, seeds and both budgets of the comparison, over the rows that each method turns unless "
        "it says otherwise, and the exponents of Figure 6",
        tables={"Measured, and the paper's word": pd.DataFrame(lines)},
    )


def _format_number(value: float | None, form: str) -> str:
    return "?" if value is None or np.isnan(value) else format(value, form)
