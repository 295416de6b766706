"""Explainer: a model with its reference and constraints; a call makes the Question and has it answered."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, cast

import pandas as pd

from counterpoise.api.agreement import adapt_models, with_agreement
from counterpoise.api.batch.ask_rows import RowsAsked
from counterpoise.api.batch.make_question import make_question
from counterpoise.api.batch.rejected import OnError, check_on_error
from counterpoise.api.batch.workers import ChunkSettings, Workers, count_workers
from counterpoise.api.evidence import fingerprint
from counterpoise.api.firmness.kept import KeptSetting
from counterpoise.api.firmness.noise import NoiseWish
from counterpoise.api.inputs.binding import check_relations, check_weights, fixed_features, keep_possible_relations
from counterpoise.api.inputs.importance import ImportanceMethod, importance_weights
from counterpoise.api.inputs.reference import PROBE_ROWS, Reference, RelationsSetting
from counterpoise.api.inputs.rows_in import InputRows, Rows, read_rows
from counterpoise.api.inputs.unknown_categories import add_unknown_categories, note_unknown_categories
from counterpoise.api.problem_parts.problems import ExplainedModel
from counterpoise.api.progress import ProgressSetting
from counterpoise.api.run import ExplanationRun
from counterpoise.api.saving.explainer_file import SavedExplainer, write_explainer_file
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.question import DistanceSpec, Question, Target
from counterpoise.methods.base import Method
from counterpoise.models.registry import as_model
from counterpoise.objective.measures import DistanceBuilder, Penalty
from counterpoise.objective.plausibility import Fittable
from counterpoise.objective.regularizers import Regularizer
from counterpoise.space.constraints.between_features import ConstraintOrFunction, as_constraints
from counterpoise.space.constraints.words import Constraint
from counterpoise.space.region.region import Bounds, check_constraints
from counterpoise.space.schema.schema import Schema
from counterpoise.space.schema.tables_in import quote_names
from counterpoise.space.schema.values import ValuesSetting
from counterpoise.types import Array, Model


class Explainer:
    """A model with its reference data and constraints, ready to be asked about rows.

    model: the fitted model: a scikit-learn estimator or pipeline, a model of another library, or a callable.
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
        them; no answer takes them. False by default. Columns that are held fixed, as dates always are, may have any.

    The model is asked about the reference once; these rows are not in the ``model_rows`` of an explanation.

    >>> from counterpoise.space.constraints.words import Immutable
    >>> from sklearn.linear_model import LogisticRegression
    >>> train = pd.DataFrame({"load": [0.5, 1.25, 3.75, 4.5], "ports": [1, 2, 7, 9]})
    >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
    >>> explainer = Explainer(model, reference=train, constraints=[Immutable("load")])
    >>> explanation = explainer(train[2:3], target="benign")
    >>> explanation.valid.tolist(), explanation.changes["feature"].tolist()
    ([True], ['ports'])
    >>> explainer
    Explainer of LogisticRegression: 2 features, 4 reference rows, 1 constraint
    """

    def __init__(
        self,
        model: Any,
        *,
        reference: pd.DataFrame | Array | None = None,
        schema: Schema | None = None,
        constraints: Sequence[ConstraintOrFunction] | ConstraintOrFunction = (),
        bounds: Bounds = "observed",
        values: ValuesSetting = "auto",
        relations: RelationsSetting = "discovered",
        weights: Mapping[Hashable, float] | ImportanceMethod | None = None,
        new_categories: bool = False,
    ) -> None:
        self._user_model = model
        self.reference = Reference(model, reference, schema, values=values, relations=check_relations(relations))
        self.schema = self.reference.schema
        self.bounds: Bounds = bounds
        self.chunks = ChunkSettings()  # how many rows are searched together, which bounds the memory of a call
        self.new_categories = new_categories
        self.weights = check_weights(self.schema, {} if isinstance(weights, str) else weights)
        self._bind_constraints(as_constraints(constraints))
        self.model: Model = as_model(model, self.schema, self.reference.sample_rows(PROBE_ROWS))
        if isinstance(weights, str):
            found = importance_weights(weights, self.model, self.reference.x)
            self.weights = dict(zip(self.schema.names, found.tolist(), strict=True))
        self._distance_builder = DistanceBuilder(self.schema, self.constraints, self.weights)

    def _bind_constraints(self, constraints: tuple[Constraint, ...]) -> None:
        """Take these constraints, and of the relations that were discovered those that go with them."""
        self._given_constraints = constraints
        asked = Question(constraints=constraints, weights=self.weights)
        check_constraints(self.schema, asked.binding_constraints, self.bounds)  # found before any row is seen
        self.relations = keep_possible_relations(
            self.reference.relations, self.schema, asked.binding_constraints, self.bounds
        )
        self.constraints = replace(asked, relations=self.relations.constraints).binding_constraints
        self.held = fixed_features(self.schema, self.constraints)

    def with_constraints(self, *constraints: ConstraintOrFunction) -> Explainer:
        """The same explainer with further constraints; the reference and the model are not read again.

        >>> from sklearn.linear_model import LogisticRegression
        >>> from counterpoise.space.constraints.words import Immutable
        >>> train = pd.DataFrame({"load": [0.5, 1.25, 3.75, 4.5], "ports": [1, 2, 7, 9]})
        >>> model = LogisticRegression().fit(train, ["benign", "benign", "alert", "alert"])
        >>> Explainer(model, reference=train).with_constraints(Immutable("load"))
        Explainer of LogisticRegression: 2 features, 4 reference rows, 1 constraint
        """
        asked = self._copy_with_model()
        asked._bind_constraints((*self._given_constraints, *as_constraints(list(constraints))))
        asked._distance_builder = DistanceBuilder(asked.schema, asked.constraints, asked.weights)
        return asked

    def in_chunks(self, chunks: ChunkSettings) -> Explainer:
        """The same explainer with other settings of its chunks, which no answer depends on."""
        return self._copy_with_model(chunks=chunks)

    def _copy_with_model(self, **changed: Any) -> Explainer:
        """A copy that shares the adapted model; `copy` goes by the pickled state, which is without it."""
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__, **changed)
        return found

    def save(self, path: str | Path, *, with_model: bool = True) -> None:
        """Write the explainer to a file that `load_explainer` reads: no pickle, nothing in it is ever run.

        It holds the schema, the encoded reference rows, relations, constraints, and the model in its library's own
        safe format (scikit-learn, XGBoost, boosters of LightGBM, CatBoost). Other models are left out with
        ``with_model=False`` and given again when it is loaded.
        """
        asked = Question(
            constraints=self._given_constraints,
            relations=self.reference.relations.constraints,
            weights=self.weights,
            bounds=self.bounds,
            new_categories=self.new_categories,
        )
        name, model = type(self._user_model).__name__, self._user_model if with_model else None
        write_explainer_file(Path(path), SavedExplainer(asked, self.reference, model, name, self.fingerprint))

    def __repr__(self) -> str:
        counts = {
            "feature": len(self.schema),
            "reference row": len(self.reference.x),
            "constraint": len(self.constraints),
        }
        counted = ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for what, count in counts.items())
        return f"Explainer of {type(self._user_model).__name__}: {counted}"

    def __getstate__(self) -> dict[str, Any]:
        """The state to pickle: the user's own model, without what can be made from it again."""
        made_again = ("model", "fingerprint", "_distance_builder")
        return {name: value for name, value in self.__dict__.items() if name not in made_again}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._distance_builder = DistanceBuilder(self.schema, self.constraints, self.weights)
        self.model = as_model(self._user_model, self.schema, self.reference.sample_rows(PROBE_ROWS))

    def __call__(
        self,
        X: Rows,
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
        """Explain rows: the least change inside the constraints that gives each of them the target.

        X: the rows: a frame, an array ``(n, d)``, a list of dicts; one row may be a Series or a dict.
        target: what the decision should become: "opposite" (the default: another class than now), a label, a list of
            labels (any of them), an array (one per row), `AnythingBut`, or a range (low, high) of a number.
        threshold: the probability, between 0 and 1, that the target must have; None: the model's own decision counts.
        distance: "l2" (the default), "l1", "l0", "gower", "mad" (L1 in median absolute deviations), "linf", or weights
            of them such as {"l2": 1, "l0": 0.1}. Differences are in standard deviations of the reference.
        lam: the weight of the penalty in Eq. (3), at least 0; "auto": 0.1, so that a further change has to save a tenth
            of a standard deviation (Gower: 0.1/d, L0: 0); 0: the bare distance.
        penalty: what lam multiplies: "changes" (the default), the number of changed features without those that a
            relation moves along, or "l1", the weighted sum of differences, Eq. (9).
        mu: the weight of the decision in Eq. (3), at least 0; "auto": chosen row by row.
        regularizers: further terms of the regulariser, such as `NearTarget`; none by default.
        temperature: the price of fragility, in units of energy: above 0, answers of least free energy; 0 by default.
        keep: the share of noisy copies, between 0 and 1, that must keep the target; None: the least change.
        noise: what ``keep``, ``temperature`` and ``kept`` are about: a number (Gaussian noise, in standard
            deviations), a noise, or "auto": rank noise calibrated on the reference, once for each target and seed.
        kept: whether that share is measured of each answer, on 200 copies; "auto" (the default): not of remote models.
        agree: further fitted models, such as refits: the share of them that give an answer its target too is in
            ``explanation.agree``. One that fails is left out, with a note. None by default.
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
        progress: True shows a bar, False none, a function gets (rows done, rows in all); None: a bar where it helps.
        on_error: what happens to a row that cannot be read, or that the model fails on: "reject" (the default) gives it
            the status "rejected" and its reason, and answers the others; "raise" ends the call in an error. Where no
            row at all can be answered, the call ends in an error too.
        n_jobs: how many processes answer the rows; -1: one for each core. 1 by default. Answers do not depend on it.

        What was asked is in the ``question`` of the explanation that comes back.
        """
        started = time.perf_counter()
        check_on_error(on_error)
        question = make_question(
            self,
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
            alternatives=alternatives,
            budget=budget,
            model_rows=model_rows,
            method=method,
            proof=proof,
            gap=gap,
            seed=seed,
        )
        other_models = adapt_models(agree, self.schema, self.reference.sample_rows(PROBE_ROWS))
        asking = RowsAsked(self, question, started, count_workers(n_jobs), progress)
        found = asking.answer_every_row(X) if on_error == "raise" else asking.answer_what_can_be(X)
        return with_agreement(found, other_models, started, budget)

    def start_run(
        self, X: Rows, question: Question, start_time: float, on_error: OnError = "raise", n_jobs: int = 1
    ) -> ExplanationRun:
        """A run of a question about some rows, which are read and not yet answered."""
        asked, intake = self.prepare_rows(X)
        explained = ExplainedModel(asked.model, asked.schema, asked._distance_builder, self.held, self.fingerprint)
        workers = None if n_jobs == 1 else Workers(asked, question, on_error, n_jobs)
        method = cast(Method, question.method)
        return ExplanationRun(
            question, explained, method, asked.reference, intake, start_time, self.chunks, on_error, workers
        )

    def prepare_rows(self, data: Any) -> tuple[Explainer, InputRows]:
        """An explainer that knows the categories of these rows as well (often itself), and the rows it reads."""
        try:
            return self, read_rows(data, self.schema)
        except InputError as error:
            wide = add_unknown_categories(self.schema, data, error)
            if wide is None:
                if self.new_categories and hasattr(error, "unknown"):
                    todo = f"{error.todo}; new ones have no place in an order, or in a dtype that lists its categories"
                    raise InputError(error.must, error.given, todo) from None
                raise
            new = [feature.name for feature in wide if feature.categories != self.schema[feature.name].categories]
            free = [name for name in new if name not in self.held]  # what is held fixed may be new in every row
            if free and not self.new_categories:
                given = error.given if free == new else f"{quote_names(free)} has values that no reference row has"
                todo = f"{error.todo}, or hold it fixed: cp.Immutable({free[0]!r})"
                todo = f"{todo}, or allow them: new_categories=True, --new-categories"
                raise InputError(error.must, given, todo) from None
            asked = self._copy_with_model()
            asked.schema, asked.reference = wide, copy(self.reference)
            asked._distance_builder = DistanceBuilder(wide, self.constraints, self.weights)
            asked.reference.schema = wide
            asked.model = as_model(self._user_model, wide, self.reference.sample_rows(PROBE_ROWS))
            return asked, note_unknown_categories(asked.model, read_rows(data, wide), wide, error, self.held)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what the model says of up to 256 reference rows; empty without a reference."""
        return fingerprint(self.model, self.reference.sample_rows(PROBE_ROWS)) if len(self.reference.x) else ""
