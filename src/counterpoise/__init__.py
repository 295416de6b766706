"""Counterpoise: the least change that turns a model's decision, checked, and honest about how fragile it is."""

from counterpoise.api import Explainer, explain
from counterpoise.api.targets import AnythingBut
from counterpoise.errors import (
    CapabilityError,
    ConstraintError,
    CounterpoiseError,
    InputError,
    Interrupted,
    MissingExtra,
    ModelError,
)
from counterpoise.explanation import Explanation
from counterpoise.judge.landscape import landscape, profile
from counterpoise.methods.annealing import Annealing
from counterpoise.methods.nearest import NearestNeighbour
from counterpoise.methods.polish import Polished
from counterpoise.models.function import Function
from counterpoise.show import figures
from counterpoise.show.report import report
from counterpoise.space.constraints import (
    Decreasing,
    Immutable,
    Increasing,
    Integer,
    MaxChanges,
    Mutable,
    OneOf,
    Range,
)
from counterpoise.space.features import Feature, Schema

__all__ = [
    "Annealing",
    "AnythingBut",
    "CapabilityError",
    "ConstraintError",
    "CounterpoiseError",
    "Decreasing",
    "Explainer",
    "Explanation",
    "Feature",
    "Function",
    "Immutable",
    "Increasing",
    "InputError",
    "Integer",
    "Interrupted",
    "MaxChanges",
    "MissingExtra",
    "ModelError",
    "Mutable",
    "NearestNeighbour",
    "OneOf",
    "Polished",
    "Range",
    "Schema",
    "explain",
    "figures",
    "landscape",
    "profile",
    "report",
]
