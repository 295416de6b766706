"""Functions given as constraints, asked about all digits of whole numbers that the search sees rounded."""

from __future__ import annotations

import numpy as np
import pandas as pd

from counterpoise.api.asking.row_form import RowForm
from counterpoise.problem import Problem
from counterpoise.space.rules.relations import FunctionRelation
from counterpoise.space.schema.tables_in import is_exact_whole
from counterpoise.types import Array, Index, Mask


def obeys_functions(problem: Problem, form: RowForm, rows: Index, x: Array) -> Mask:
    """Which of ``x`` ``(p, d)``, answers to ``rows`` ``(p,)``, the user's functions allow as they are returned.

    All of them where double precision holds every digit: the region has asked the functions about such cells itself.
    """
    obeyed = np.ones(len(x), dtype=bool)
    functions = [each for each in problem.region.system.relations if isinstance(each, FunctionRelation)]
    if not functions or not len(x) or not _has_hidden_digits(form):
        return obeyed
    points = form.write(rows, x)
    if isinstance(points, pd.DataFrame):
        for function in functions:
            obeyed &= function.judge(points[list(form.schema.names)].copy())
    return obeyed


def _has_hidden_digits(form: RowForm) -> bool:
    """Whether a cell of the rows is a whole number that double precision does not tell from its neighbours."""
    large: Mask = np.any(~is_exact_whole(form.x0) & ~np.isnan(form.x0), axis=0)
    names = [name for name, reaches in zip(form.schema.names, large.tolist(), strict=True) if reaches]
    return any(getattr(form.table[name].dtype, "kind", "") in ("i", "u", "O") for name in names)
