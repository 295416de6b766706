"""Table II, with numbers in place of adjectives."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from counterpoise.paper.claims.methods import best_form
from counterpoise.paper.claims.verdict import OURS, RIVALS
from counterpoise.paper.exhibit import Exhibit


def build_table_two(facts: Mapping[str, float]) -> Exhibit:
    """Table II: the aspects that can be measured."""
    form = best_form(facts)
    methods = (form, OURS, *RIVALS)
    lines = []

    def line(aspect: str, paper: tuple[str, str, str], key: str, form_of: str) -> None:
        paper_cells = dict(zip((form, *RIVALS), paper, strict=True))
        cells = {name: _format_number(facts.get(key.format(name)), form_of) for name in methods}
        lines.append({"aspect": aspect} | {name: _join(cells[name], paper_cells.get(name, "")) for name in methods})

    none = ("", "", "")
    line("Rows turned, networks", none, "network {} validity", ".0%")
    line("Rows turned, forests", none, "forest {} validity", ".0%")
    line("L2 of the rows that it turns", none, "real {} l2", ".2f")
    line("Features changed", none, "real {} l0", ".1f")
    line("Robustness: copies that keep the target", ("high", "low", "medium to high"), "real {} robustness", ".0%")
    line("Instability over seeds (std. deviations)", ("stable", "low", "medium"), "real {} instability", ".2f")
    line("Model rows for a row", none, "real {} model_rows", ".0f")
    lines += [_cost_line(facts, form, methods, letter) for letter in "dKT"]
    seconds = {
        name: facts.get(f"usual seconds {key}")
        for name, key in ((form, "Algorithm 1"), *zip(RIVALS, RIVALS, strict=True))
    }
    word = dict(zip((form, *RIVALS), ("moderate to high", "low", "low to moderate"), strict=True))
    lines.append(
        {"aspect": f"Seconds at d = {facts['usual most d']:.0f} (Figure 6)"}
        | {name: _join(_format_number(seconds.get(name), ".2f"), word.get(name, "")) for name in methods}
    )
    return Exhibit(
        "table-2",
        "Table II. The methods, in numbers",
        (
            (
                "In parentheses what the paper's table says of the same aspect, where it says anything. Optimisation "
                "goal, formulation and interpretability are not numbers and are left out. Constraints: here every "
                "method runs under the same region and is verified in the same way, so none breaks any. Seconds are "
                "those of Figure 6, without a budget: on the traffic tables a budget of time may end a method."
            ),
        ),
        f"means over all tables, seeds and both budgets of the comparison, over the rows that each method turns; the "
        f"paper's method in the form that turns most rows, “{form}”; and the exponents of Figure 6",
        tables={"Measured, and the paper's word": pd.DataFrame(lines)},
    )


def _cost_line(facts: Mapping[str, float], form: str, methods: tuple[str, ...], letter: str) -> dict[str, str]:
    """The exponent of d, K or T: that of Algorithm 1 is the same in every form; ours has no K and no T."""
    paper_cells = {"d": ("1, at worst 2", "2", "1"), "K": ("1", "1", "0"), "T": ("1", "0", "1")}[letter]
    words = dict(zip((form, *RIVALS), paper_cells, strict=True))
    keys = {form: "Algorithm 1"} | {name: name for name in RIVALS}
    cells = {
        name: _join(_format_number(facts.get(f"exponent {keys.get(name)} {letter}"), ".2f"), words.get(name, ""))
        for name in methods
    }
    return {"aspect": f"Exponent of {letter}"} | cells


def _join(number: str, word: str) -> str:
    return f"{number} ({word})" if word else number


def _format_number(value: float | None, form: str) -> str:
    return "–" if value is None or np.isnan(value) else format(value, form)
