"""explain(): an Explainer and its call in one."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd

from counterpoise.api.batch.rejected import OnError
from counterpoise.api.explainer import Explainer
from counterpoise.api.firmness.kept import KeptSetting
from counterpoise.api.firmness.noise import NoiseWish
from counterpoise.api.inputs.importance import ImportanceMethod
from counterpoise.api.inputs.reference import RelationsSetting
from counterpoise.api.inputs.rows_in import Rows
from counterpoise.api.progress import ProgressSetting
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.question import DistanceSpec, Target
from counterpoise.methods.base import Method
from counterpoise.objective.measures import Penalty
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer
from counterpoise.space.constraints.between_features import ConstraintOrFunction
from counterpoise.space.region.region import Bounds
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.values import ValuesSetting
from counterpoise.types import Array


def explain(
    model: Any,
    X: Rows,
    *,
    reference: pd.DataFrame | Array | None = None,
    schema: Schema | None = None,
    constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction = (),
    bounds: Bounds = "observed",
    values: ValuesSetting = "auto",
    relations: RelationsSetting = "discovered",
    target: Target = "opposite",
    threshold: float | None = None,
    distance: DistanceSpec = "l2",
    lam: float | Literal["auto"] = "auto",
    penalty: Penalty = "changes",
    mu: float | Literal["auto"] = "auto",
    weights: Mapping[Hashable, float] | ImportanceMethod | None = None,
    new_categories: bool = False,
    regularizers: Sequence[Regularizer | Fittable] = (),
    temperature: float = 0.0,
    keep: float | None = None,
    noise: NoiseWish = "auto",
    kept: KeptSetting = "auto",
    agree: Sequence[Any] = (),
    alternatives: int | Literal["basins"] = 1,
    budget: float | None = None,
    model_rows: int | None = None,
    method: Method | None = None,
    proof: bool | Literal["auto"] = "auto",
    gap: float = 0.0,
    seed: int = 0,
    progress: ProgressSetting = None,
    on_error: OnError = "reject",
    n_jobs: int | None = 1,
) -> Explanation:
    """The least change that turns the decision on each row: `Explainer` and its call in one.

    model: the fitted model: a scikit-learn estimator or pipeline, a model of another library, or a callable.
    X: the rows: a frame, an array ``(n, d)``, a list of dicts; one row may be a Series or a dict.
    target: what the decision should become: "opposite" (the default: another class than now), a label, a list of labels
        (any of them), an array of labels (one per row), `AnythingBut`, or a range (low, high) of a model that gives
        numbers.
    threshold: the probability, between 0 and 1, that the target must have; None: the model's own decision counts.
    distance: "l2" (the default), "l1", "l0", "gower", "mad" (L1 in median absolute deviations), "linf", or weights
        of them such as {"l2": 1, "l0": 0.1}. Differences are in standard deviations of the reference.
    lam: the weight of the penalty in Eq. (3), at least 0; "auto": 0.1, so that a further change has to save a tenth of
        a standard deviation (Gower: 0.1/d, L0: 0); 0: the bare distance.
    penalty: what lam multiplies: "changes" (the default), the number of changed features without those that a relation
        moves along, or "l1", the weighted sum of differences, Eq. (9).
    mu: the weight of the decision in Eq. (3), at least 0; "auto": chosen row by row.
    regularizers: further terms of the regulariser, such as `NearTarget`; none by default.
    temperature: the price of fragility, in units of the energy: above 0, answers of least free energy are sought; 0 by
        default.
    keep: the share of noisy copies, between 0 and 1, that must keep the target; None: the least change, firm or not.
    noise: what ``keep``, ``temperature`` and ``kept`` are about: a number (Gaussian noise, in standard deviations), a
        noise, or "auto": rank noise calibrated on the reference, once for each target and seed.
    kept: whether the share of noisy copies of each answer that keep the target is measured, on 200 copies; "auto" (the
        default) leaves it out for remote models and where the time is up.
    agree: further fitted models, such as refits on other draws of the data: the share of them that give an answer its
        target too is in ``explanation.agree``. Valid is what the model itself says; a model that fails is left out,
        with a note. None by default.
    alternatives: how many answers a row gets at most, each without something that a better one needs; 1 by default.
        "basins": one answer for each separate way out, up to 5, by free energy: the widest first.
    budget: seconds for the whole call; None: no limit.
    model_rows: how many rows the model may be asked about for each row, its own and the noisy copies of its answers
        included; never more. ``kept="auto"`` is left out where it would take over a third of them. None: no limit.
    method: the search; None: the default one, which looks at what the model is.
    proof: how long a bound of the least effort is sought: "auto" (the default: a fixed amount of work a row, never
        a clock), True (to the end, or until the budget is over), False (not at all). A method of your own is only
        proven with True; nearer answers that the proof meets then take the place of its own.
    gap: the proof of a row ends where its answer costs at most this share more than the bound; 0 by default.
    seed: of all random numbers; the same seed gives the same answers. 0 by default.
    progress: True shows a bar, False does not, a function is called with (rows done, rows in all); None: a bar on a
        terminal where there are many rows.
    on_error: what happens to a row that cannot be read, or that the model fails on: "reject" (the default) gives it the
        status "rejected" and its reason, and answers the others; "raise" ends the call in an error. Where no row at all
        can be answered, the call ends in an error too.
    n_jobs: how many processes answer the rows; -1: one for each core. 1 by default. Answers do not depend on it.
    reference: the data that the model was trained on, or a sample of it: scales, ranges, categories, rows to start
        from. A frame or an array ``(r, d)``; None: the schema must tell scales and ranges.
    schema: the features; None: inferred from the reference.
    constraints: what an answer may change and how: one constraint or a list; a function of a frame that says for each
        row whether it is allowed counts too. None by default.
    bounds: "observed" (the default) keeps numbers inside the range of the reference; None does not.
    values: what a changed number may be: "auto" (the default) a value on its column's own grid, and one that was seen
        where a column has few; "any" number; or only "seen" ones. What the schema gives of a feature wins.
    relations: "discovered" (the default) keeps the relations that every reference row obeys, as `discover` finds them:
        sums, products, rounded quotients, orders, lookups and one-hot groups; None does not.
    weights: by feature, how much a change counts in the penalty: 1 by default, infinity forbids it. "permutation"
        and "shap" take the weights from how much the model depends on each feature.
    new_categories: whether rows may have categories that neither reference nor schema has, where the model takes
        them; no answer takes them. False by default.

    >>> import pandas as pd
    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.5, 1.25, 3.75, 4.5]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> explain(model, {"load": 4.0}, reference=train).scores["after"].tolist()
    ['benign']
    """
    explainer = Explainer(
        model,
        reference=reference,
        schema=schema,
        constraints=constraints,
        bounds=bounds,
        values=values,
        relations=relations,
        weights=weights,
        new_categories=new_categories,
    )
    return explainer(
        X,
        target=target,
        threshold=threshold,
        distance=distance,
        lam=lam,
        penalty=penalty,
        mu=mu,
        regularizers=regularizers,
        temperature=temperature,
        keep=keep,
        noise=noise,
        kept=kept,
        agree=agree,
        alternatives=alternatives,
        budget=budget,
        model_rows=model_rows,
        method=method,
        proof=proof,
        gap=gap,
        seed=seed,
        progress=progress,
        on_error=on_error,
        n_jobs=n_jobs,
    )
