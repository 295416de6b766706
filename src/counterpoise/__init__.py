"""Counterpoise: the least change that turns a model's decision, checked, and honest about how fragile it is."""

from counterpoise.api import Explainer, explain
from counterpoise.errors import (
    CapabilityError,
    ConstraintError,
    CounterpoiseError,
    InputError,
    Interrupted,
    MissingExtra,
    ModelError,
)
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.question import AnythingBut, Question
from counterpoise.judge.compare import compare
from counterpoise.judge.curves import frontier, sensitivity
from counterpoise.judge.robustness import robustness
from counterpoise.judge.stability import stability
from counterpoise.landscape.plane import landscape
from counterpoise.landscape.profile import profile
from counterpoise.landscape.trajectory import trajectory
from counterpoise.methods.baselines.algorithm1 import Algorithm1
from counterpoise.methods.baselines.gradient import GradientDescent
from counterpoise.methods.baselines.growing_spheres import GrowingSpheres
from counterpoise.methods.baselines.lime import Lime
from counterpoise.methods.baselines.nearest import NearestNeighbour
from counterpoise.methods.baselines.random_search import RandomSearch
from counterpoise.methods.polish import Polished
from counterpoise.methods.search import Annealing
from counterpoise.models.callables.agreement import Ensemble
from counterpoise.models.callables.function import Function
from counterpoise.models.callables.http import Remote
from counterpoise.models.files import load as load_model
from counterpoise.objective.noise import Gaussian, RankNoise
from counterpoise.objective.plausibility import LocalOutlier, Mahalanobis, NearTarget
from counterpoise.show import figures
from counterpoise.show.report import report
from counterpoise.space.constraints.between_features import Derived, Linked, Lookup, Rule
from counterpoise.space.constraints.relative_to_row import Cost, Step, Within
from counterpoise.space.constraints.words import (
    Decreasing,
    Immutable,
    Increasing,
    Integer,
    MaxChanges,
    Mutable,
    OneOf,
    Range,
)
from counterpoise.space.discover.discover import discover
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.space.yaml.load_save import load_schema, save_schema

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
    "Question",
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
