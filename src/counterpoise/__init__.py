"""Counterpoise: the least change that turns a model's decision, checked, and honest about how fragile it is."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for type checkers; at run time a name is imported when it is first used
    from counterpoise import scale, security
    from counterpoise.api.explainer import Explainer
    from counterpoise.api.load_explainer import load_explainer
    from counterpoise.api.one_call import explain
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
    from counterpoise.judge.proof import prove
    from counterpoise.judge.receipt import check_receipt, write_receipt
    from counterpoise.judge.robustness import robustness
    from counterpoise.judge.stability import stability
    from counterpoise.landscape.ensemble import ensemble
    from counterpoise.landscape.ensemble_result import Ensemble
    from counterpoise.landscape.plane import landscape
    from counterpoise.landscape.profile import profile
    from counterpoise.landscape.trajectory import trajectory
    from counterpoise.methods.annealing import Annealing
    from counterpoise.methods.base import Method
    from counterpoise.methods.baselines.algorithm1 import Algorithm1
    from counterpoise.methods.baselines.gradient import GradientDescent
    from counterpoise.methods.baselines.growing_spheres import GrowingSpheres
    from counterpoise.methods.baselines.lime import Lime
    from counterpoise.methods.baselines.nearest import NearestNeighbour
    from counterpoise.methods.baselines.random_search import RandomSearch
    from counterpoise.methods.polish import Polished
    from counterpoise.methods.proven import Proven
    from counterpoise.methods.search import Search
    from counterpoise.methods.settings.proof import ProofSettings
    from counterpoise.models.callables.agreement import Agreement
    from counterpoise.models.callables.function import Function
    from counterpoise.models.callables.http import Remote
    from counterpoise.models.files import load as load_model
    from counterpoise.objective.noise import Gaussian, Noise, RankNoise
    from counterpoise.objective.plausibility import LocalOutlier, Mahalanobis, NearTarget
    from counterpoise.objective.regularizers import Regularizer
    from counterpoise.physics.cooling import Cooling
    from counterpoise.security.triage.triage import triage
    from counterpoise.show import figures
    from counterpoise.show.report import report
    from counterpoise.space.constraints.between_features import Derived, Linked, Lookup, OneHot, Rule
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
    from counterpoise.space.distance import Distance
    from counterpoise.space.schema.schema import Feature, Schema
    from counterpoise.space.yaml.load_save import load_schema, save_schema
    from counterpoise.web.widget import row_widget
    from counterpoise.web.workbench import workbench

__version__: str

__all__ = [
    "Agreement",
    "Algorithm1",
    "Annealing",
    "AnythingBut",
    "CapabilityError",
    "ConstraintError",
    "Cooling",
    "Cost",
    "CounterpoiseError",
    "Decreasing",
    "Derived",
    "Distance",
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
    "Method",
    "MissingExtra",
    "ModelError",
    "Mutable",
    "NearTarget",
    "NearestNeighbour",
    "Noise",
    "OneHot",
    "OneOf",
    "Polished",
    "ProofSettings",
    "Proven",
    "Question",
    "RandomSearch",
    "Range",
    "RankNoise",
    "Regularizer",
    "Remote",
    "Rule",
    "Schema",
    "Search",
    "Step",
    "Within",
    "check_receipt",
    "compare",
    "discover",
    "ensemble",
    "explain",
    "figures",
    "frontier",
    "landscape",
    "load_explainer",
    "load_model",
    "load_schema",
    "profile",
    "prove",
    "report",
    "robustness",
    "row_widget",
    "save_schema",
    "scale",
    "security",
    "sensitivity",
    "stability",
    "trajectory",
    "triage",
    "workbench",
    "write_receipt",
]

_HOME_BY_NAME = {  # "module:attribute" below this package, or a module that is public itself
    "Agreement": "models.callables.agreement:Agreement",
    "Algorithm1": "methods.baselines.algorithm1:Algorithm1",
    "Annealing": "methods.annealing:Annealing",
    "AnythingBut": "explanation.question:AnythingBut",
    "CapabilityError": "errors:CapabilityError",
    "ConstraintError": "errors:ConstraintError",
    "Cooling": "physics.cooling:Cooling",
    "Cost": "space.constraints.relative_to_row:Cost",
    "CounterpoiseError": "errors:CounterpoiseError",
    "Decreasing": "space.constraints.words:Decreasing",
    "Derived": "space.constraints.between_features:Derived",
    "Distance": "space.distance:Distance",
    "Ensemble": "landscape.ensemble_result:Ensemble",
    "Explainer": "api.explainer:Explainer",
    "Explanation": "explanation.explanation:Explanation",
    "Feature": "space.schema.schema:Feature",
    "Function": "models.callables.function:Function",
    "Gaussian": "objective.noise:Gaussian",
    "GradientDescent": "methods.baselines.gradient:GradientDescent",
    "GrowingSpheres": "methods.baselines.growing_spheres:GrowingSpheres",
    "Immutable": "space.constraints.words:Immutable",
    "Increasing": "space.constraints.words:Increasing",
    "InputError": "errors:InputError",
    "Integer": "space.constraints.words:Integer",
    "Interrupted": "errors:Interrupted",
    "Lime": "methods.baselines.lime:Lime",
    "Linked": "space.constraints.between_features:Linked",
    "LocalOutlier": "objective.plausibility:LocalOutlier",
    "Lookup": "space.constraints.between_features:Lookup",
    "Mahalanobis": "objective.plausibility:Mahalanobis",
    "MaxChanges": "space.constraints.words:MaxChanges",
    "Method": "methods.base:Method",
    "MissingExtra": "errors:MissingExtra",
    "ModelError": "errors:ModelError",
    "Mutable": "space.constraints.words:Mutable",
    "NearTarget": "objective.plausibility:NearTarget",
    "NearestNeighbour": "methods.baselines.nearest:NearestNeighbour",
    "Noise": "objective.noise:Noise",
    "OneHot": "space.constraints.between_features:OneHot",
    "OneOf": "space.constraints.words:OneOf",
    "Polished": "methods.polish:Polished",
    "ProofSettings": "methods.settings.proof:ProofSettings",
    "Proven": "methods.proven:Proven",
    "Question": "explanation.question:Question",
    "RandomSearch": "methods.baselines.random_search:RandomSearch",
    "Range": "space.constraints.words:Range",
    "RankNoise": "objective.noise:RankNoise",
    "Regularizer": "objective.regularizers:Regularizer",
    "Remote": "models.callables.http:Remote",
    "Rule": "space.constraints.between_features:Rule",
    "Schema": "space.schema.schema:Schema",
    "Search": "methods.search:Search",
    "Step": "space.constraints.relative_to_row:Step",
    "Within": "space.constraints.relative_to_row:Within",
    "check_receipt": "judge.receipt:check_receipt",
    "compare": "judge.compare:compare",
    "discover": "space.discover.discover:discover",
    "ensemble": "landscape.ensemble:ensemble",
    "explain": "api.one_call:explain",
    "figures": "show.figures",
    "frontier": "judge.curves:frontier",
    "landscape": "landscape.plane:landscape",
    "load_explainer": "api.load_explainer:load_explainer",
    "load_model": "models.files:load",
    "load_schema": "space.yaml.load_save:load_schema",
    "profile": "landscape.profile:profile",
    "prove": "judge.proof:prove",
    "report": "show.report:report",
    "robustness": "judge.robustness:robustness",
    "row_widget": "web.widget:row_widget",
    "save_schema": "space.yaml.load_save:save_schema",
    "scale": "scale",
    "security": "security",
    "sensitivity": "judge.curves:sensitivity",
    "stability": "judge.stability:stability",
    "trajectory": "landscape.trajectory:trajectory",
    "triage": "security.triage.triage:triage",
    "workbench": "web.workbench:workbench",
    "write_receipt": "judge.receipt:write_receipt",
}


class _Face(ModuleType):
    """This module, which keeps its public names when a package of the same name is imported below it."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Python binds every package it imports to its parent: without this `cp.landscape`, a function, would turn into
        # the package counterpoise.landscape as soon as anything imports that.
        if name in _HOME_BY_NAME and isinstance(value, ModuleType) and value.__name__ == f"{__name__}.{name}":
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Face


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, and keep it."""
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("counterpoise")
    elif name in _HOME_BY_NAME:
        module, _, attribute = _HOME_BY_NAME[name].partition(":")
        home = import_module(f"{__name__}.{module}")
        value = getattr(home, attribute) if attribute else home
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every public name, whether it has been used or not."""
    return sorted({*globals(), *__all__, "__version__"})
