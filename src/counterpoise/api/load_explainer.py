"""Loading of saved explainers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from counterpoise.api.batch.workers import ChunkSettings
from counterpoise.api.explainer import Explainer
from counterpoise.api.inputs.binding import check_weights
from counterpoise.api.inputs.reference import Reference
from counterpoise.api.saving.explainer_file import read_explainer_file
from counterpoise.errors import InputError
from counterpoise.explanation.question import Question


def load_explainer(path: str | Path, *, model: Any = None) -> Explainer:
    """The explainer that `Explainer.save` wrote: it gives the same answers, and nothing in the file is run.

    path: the file.
    model: the fitted model, where the file was saved without it; None (the default): the one in the file. A model that
        says something else of the reference rows than the saved one did is refused.

    >>> import tempfile
    >>> import pandas as pd
    >>> from xgboost import XGBClassifier
    >>> train = pd.DataFrame({"load": [0.5, 1.25, 3.75, 4.5] * 5})
    >>> model = XGBClassifier(n_estimators=3).fit(train, [0, 0, 1, 1] * 5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Explainer(model, reference=train).save(folder + "/explainer.zip")
    ...     load_explainer(folder + "/explainer.zip")(train[3:4]).valid
    array([ True])
    """
    saved = read_explainer_file(Path(path))
    if model is None:
        model = saved.model
    if model is None:
        raise InputError(
            "an explainer that was saved without its model must be given it",
            f"{Path(path).name!r} holds none",
            f"give the {saved.model_name}: cp.load_explainer(path, model=model)",
        )
    explainer = _restore(model, saved.reference, saved.question)
    if saved.fingerprint and explainer.fingerprint != saved.fingerprint:
        raise InputError(
            "the model must be the one that the explainer was saved with",
            f"this {type(model).__name__} answers differently for some of the reference rows",
            "give that model, or make a new Explainer",
        )
    return explainer


def _restore(model: Any, reference: Reference, question: Question) -> Explainer:
    """The explainer of a model with a reference that is read already, and what was stored of its question."""
    made = object.__new__(Explainer)
    made.schema, made.reference, made.bounds = reference.schema, reference, question.bounds
    made.weights = check_weights(made.schema, question.weights)
    made._bind_constraints(question.constraints)
    made.__setstate__({"_user_model": model, "chunks": ChunkSettings(), "new_categories": question.new_categories})
    return made
