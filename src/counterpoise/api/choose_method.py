"""Which method answers a question: the one given or the default, with a proof or one answer a basin where asked."""

from __future__ import annotations

from functools import cache
from typing import Any

from counterpoise.errors import InputError
from counterpoise.methods.base import Method
from counterpoise.methods.basin_search import BasinSearch
from counterpoise.methods.polish import Polished
from counterpoise.methods.proven import Proven
from counterpoise.methods.search import Search
from counterpoise.methods.settings.proof import ProofSettings

BASIN_ANSWERS = BasinSearch.answers  # answers of a row, at most, where one is given for each basin


def check_method(method: Any) -> None:
    """An error for a method that cannot be run; None stands for the default one."""
    if method is not None and (not hasattr(method, "iterate") or isinstance(method, type)):
        raise InputError("method must be a method", f"{method!r}", "for instance cp.Search() or cp.NearestNeighbour()")


def choose_method(given: Method | None, alternatives: int, proof: bool | str, gap: float) -> Method:
    """The method that is run: the one given, or the default one, with a proof where that is asked for."""
    if given is not None and proof is not True:
        return given
    method = _default_search(alternatives) if given is None else given
    if proof is False:
        return method
    settings = ProofSettings.to_the_end(gap) if proof is True else ProofSettings(gap=gap)
    return Proven(method, settings, alternatives, solves_first=given is None)


def search_basins(method: Method, keep: float | None, temperature: float) -> Method:
    """A method whose answers are the minima of separate basins; firm answers have no basins."""
    if keep is not None or temperature:
        raise InputError(
            "alternatives='basins' must not go with keep or temperature", "one of them was given", "ask twice"
        )
    return BasinSearch(method, answers=BASIN_ANSWERS)


@cache
def _default_search(alternatives: int) -> Method:
    """The search that is run where none is given."""
    return Polished(Search(), answers=2 * alternatives - 1)
