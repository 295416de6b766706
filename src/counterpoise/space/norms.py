"""The norms that a distance is made of, by name and with their weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import numpy as np

from counterpoise.errors import InputError
from counterpoise.types import is_number

Norm = Literal["l2", "l1", "l0", "gower", "mad"]
NORMS: tuple[Norm, ...] = get_args(Norm)


def name_mixture(mixture: tuple[tuple[Norm, float], ...]) -> str:
    """How people write a mixture of norms."""
    if len(mixture) == 1 and mixture[0][1] == 1.0:
        return mixture[0][0]
    return " + ".join(f"{weight:g} {norm}" for norm, weight in mixture)


def check_mixture(spec: object) -> tuple[tuple[Norm, float], ...]:
    """The norms that a name or a mapping asks for, with their weights; those of weight 0 are left out."""
    weights = dict(spec) if isinstance(spec, Mapping) else {spec: 1.0} if isinstance(spec, str) else {}
    known = all(
        name in NORMS and is_number(weight) and 0 <= weight < np.inf for name, weight in weights.items()
    ) and any(weights.values())
    if not known:
        raise InputError(
            f"distance must be one of {', '.join(NORMS)}, linf, weights >= 0, or a subclass of Distance",
            f"{spec!r}",
            "for instance 'l1' or {'l2': 1.0, 'l0': 0.1}",
        )
    return tuple((name, float(weights[name])) for name in NORMS if weights.get(name))
