"""From the settings of a call to the question that it asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from counterpoise.api.choose_method import BASIN_ANSWERS, check_method, choose_method, search_basins
from counterpoise.api.firmness.firm import check_firmness
from counterpoise.api.firmness.kept import KeptSetting, check_kept
from counterpoise.api.firmness.noise import NoiseWish, parse_noise
from counterpoise.api.inputs.rows_in import check_settings
from counterpoise.api.inputs.targets import as_target
from counterpoise.errors import InputError
from counterpoise.explanation.question import DistanceSpec, Question, Target
from counterpoise.methods.base import Method
from counterpoise.objective.measures import Penalty, check_distance, check_regularizers, choose_lam
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer


def make_question(
    explainer: Any,
    *,
    target: Target = "opposite",
    threshold: float | None = None,
    distance: DistanceSpec = "l2",
    lam: float | Literal["auto"] = "auto",
    penalty: Penalty = "changes",
    mu: float | Literal["auto"] = "auto",
    regularizers: Sequence[Regularizer | Fittable] = (),
    temperature: float = 0.0,
    keep: float | None = None,
    noise: NoiseWish = "auto",
    kept: KeptSetting = "auto",
    alternatives: int | Literal["basins"] = 1,
    budget: float | None = None,
    method: Method | None = None,
    proof: bool | Literal["auto"] = "auto",
    gap: float = 0.0,
    model_rows: int | None = None,
    seed: int = 0,
) -> Question:
    """The settings of a call of an Explainer, checked, as the question that is asked of its rows."""
    wants_basins = isinstance(alternatives, str) and alternatives == "basins"
    alternatives = BASIN_ANSWERS if wants_basins else alternatives
    check_settings(lam, penalty, mu, alternatives, budget, seed, proof, gap, model_rows)
    check_method(method)
    withstand = parse_noise(noise, explainer.schema)
    check_firmness(keep, temperature)
    kept = check_kept(kept)
    if keep is None and not temperature and withstand is not None and kept is False:
        raise InputError(
            "noise must go with keep, temperature or kept", "none of them was given", "for instance keep=0.9"
        )
    measure, _ = explainer._distance_builder(distance, penalty)  # a name that is none is refused here
    check_distance(measure, explainer.reference.x)
    method = choose_method(method, int(alternatives), proof, float(gap))
    if wants_basins:
        method = search_basins(method, keep, temperature)
    return Question(
        target=as_target(target),
        threshold=threshold,
        distance=dict(distance) if isinstance(distance, Mapping) else distance,
        lam=choose_lam(measure) if isinstance(lam, str) else float(lam),
        penalty=penalty,
        mu=None if isinstance(mu, str) else float(mu),
        weights=explainer.weights,
        regularizers=tuple(check_regularizers(regularizers)),
        constraints=explainer._given_constraints,
        relations=explainer.relations.constraints,
        bounds=explainer.bounds,
        keep=None if keep is None else float(keep),
        temperature=float(temperature),
        noise=withstand,
        kept=kept,
        alternatives=int(alternatives),
        seed=int(seed),
        method=method,
        proof=proof,
        gap=float(gap),
        budget=None if budget is None else float(budget),
        model_rows=None if model_rows is None else int(model_rows),
        new_categories=explainer.new_categories,
    )
