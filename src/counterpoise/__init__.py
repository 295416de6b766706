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
from counterpoise.judge.checks import robustness, stability
from counterpoise.judge.compare import compare
from counterpoise.judge.curves import frontier, sensitivity
from counterpoise.judge.landscape import landscape, profile
from counterpoise.judge.trajectory import trajectory
from counterpoise.methods.algorithm1 import Algorithm1
from counterpoise.methods.annealing import Annealing
from counterpoise.methods.gradient import GradientDescent
from counterpoise.methods.lime import Lime
from counterpoise.methods.nearest import NearestNeighbour
from counterpoise.methods.polish import Polished
from counterpoise.methods.random_search import RandomSearch
from counterpoise.methods.spheres import GrowingSpheres
from counterpoise.models.disk import load as load_model
from counterpoise.models.ensemble import Ensemble
from counterpoise.models.function import Function
from counterpoise.models.remote import Remote
from counterpoise.physics.noise import Gaussian, RankNoise
from counterpoise.physics.plausibility import LocalOutlier, Mahalanobis, NearTarget
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
from counterpoise.space.departing import Cost, Step, Within
from counterpoise.space.discover import discover
from counterpoise.space.features import Feature, Schema
from counterpoise.space.files import load_schema, save_schema
from counterpoise.space.relating import Derived, Linked, Lookup, Rule

__all__ = [
    "Algorithm1",
    "Annealing",
    "AnythingBut",
    "CapabilityError",
    "ConstraintError",
    "Cost",
    "CounterpoiseError",
    "Decreasing",
    "Derived",
    "Ensemble",
    "Explainer",
    "Explanation",
    "Feature",
    "Function",
    "Gaussian",
    "GradientDescent",
    "GrowingSpheres",
    "Immutable",
    "Increasing",
    "InputError",
    "Integer",
    "Interrupted",
    "Lime",
    "Linked",
    "LocalOutlier",
    "Lookup",
    "Mahalanobis",
    "MaxChanges",
    "MissingExtra",
    "ModelError",
    "Mutable",
    "NearTarget",
    "NearestNeighbour",
    "OneOf",
    "Polished",
    "RandomSearch",
    "Range",
    "RankNoise",
    "Remote",
    "Rule",
    "Schema",
    "Step",
    "Within",
    "compare",
    "discover",
    "explain",
    "figures",
    "frontier",
    "landscape",
    "load_model",
    "load_schema",
    "profile",
    "report",
    "robustness",
    "save_schema",
    "sensitivity",
    "stability",
    "trajectory",
]
