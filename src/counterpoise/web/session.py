"""One workbench session: an explainer and rows, and every question that the page can ask about them, as plain data."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from threading import Lock
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from counterpoise.api.asking.confirm import meets_goal
from counterpoise.api.explainer import Explainer
from counterpoise.api.inputs.targets import current_decisions, resolve_target
from counterpoise.errors import InputError
from counterpoise.explanation.explanation import Explanation
from counterpoise.explanation.fields import REJECTED
from counterpoise.explanation.formats import format_label
from counterpoise.explanation.question import Target
from counterpoise.model_calls import Tally
from counterpoise.models.probability import ProbabilityModel
from counterpoise.scale.unreadable import split_unreadable
from counterpoise.space.region.region import Region
from counterpoise.types import Array
from counterpoise.web.listed_verdicts import judge_rows, target_probabilities
from counterpoise.web.row_data import (
    describe_answer,
    describe_features,
    describe_point,
    number_or_none,
    summarize_answers,
)
from counterpoise.web.row_index import ListedRow, ListRequest, RowIndex
from counterpoise.web.wishes import Wishes

Stage = Literal["first", "complete"]
"""How much of an answer: the verified least change alone, at once; or its alternatives, bound and proof as well."""
STAGES: tuple[Stage, ...] = get_args(Stage)
AskedKey = tuple[int, str, Stage]


@dataclass(frozen=True)
class SessionSettings:
    """How much a workbench does for one request, and ahead of any."""

    alternatives: int = 3
    """Answers to a row, at most; the first comes alone, before the others and the proof."""
    firm_keep: float = 0.9
    """Share of noisy copies that the firm answer beside the least change must withstand, where a person names none."""
    listed_rows: int = 20_000
    """Rows whose verdicts are asked of the model in one call, while the list is made."""
    answers_ahead: int = 2_000
    """Rows that are answered while nobody asks anything, so that the list can be sorted by effort,"""
    rows_ahead: int = 4
    """so many at a time; a question calls off those at work, which are begun again later."""
    remembered: int = 64
    """Explanations that are held, so that a picture of an answer does not search for it again."""
    way_points: int = 81
    """Points on the way from a row to its answer,"""
    way_copies: int = 64
    """and noisy copies of each."""
    plane_points: int = 36
    """Points along each axis of the landscape."""
    samples: int = 400
    """Effective samples of the ensemble,"""
    sample_seconds: float = 20.0
    """in so many seconds; what was sampled until then is shown, and says so."""


class Session:
    """The questions of a workbench, answered: nothing here knows of HTTP or of a notebook.

    explainer: the model with its reference and constraints.
    rows: the rows, a frame; target and threshold as for the explainer's call.
    """

    def __init__(
        self,
        explainer: Explainer,
        rows: pd.DataFrame,
        *,
        target: Target = "opposite",
        threshold: float | None = None,
        seed: int = 0,
        title: str = "Workbench",
        settings: SessionSettings | None = None,
    ) -> None:
        self.settings = SessionSettings() if settings is None else settings
        self.title, self.target, self.threshold, self.seed = title, target, threshold, seed
        if not isinstance(rows, pd.DataFrame) or not len(rows):
            raise InputError("a workbench needs rows: a frame of at least one", f"{type(rows).__name__}", "give some")
        self.explainer = explainer
        self.rows, unreadable = split_unreadable(rows)
        self.index = RowIndex()
        self._asked: OrderedDict[AskedKey, Explanation] = OrderedDict()
        self._lock = Lock()
        self.rejected: dict[int, str] = unreadable
        """Rows that cannot be read, or that the model fails on, by their places, each with its reason."""
        try:
            self._fill_list()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self.rows)

    def describe(self) -> dict[str, Any]:
        """What the page needs before any row is opened."""
        labels = self.explainer.model.labels
        return {
            "title": self.title,
            "count": len(self),
            "features": describe_features(self.explainer),
            "labels": [] if labels is None else [format_label(label) for label in labels],
            "target": "opposite" if isinstance(self.target, str) and self.target == "opposite" else str(self.target),
            "firmKeep": self.settings.firm_keep,
            "constraints": [str(word) for word in self.explainer.constraints],
        }

    def list_rows(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Lines of the list, and what it can be filtered by."""
        found = self.index.list_rows(ListRequest.read(request))
        return found | {"values": {name: self.index.list_values(name) for name in ("verdict", "status", "way")}}

    def open_row(self, place: int) -> dict[str, Any]:
        """The row as it is: cells, texts, columns that the model does not see, and its verdict."""
        x = self._encode(place)
        known = set(self.explainer.schema.names)
        carried = {str(name): str(self.rows.iloc[place][name]) for name in self.rows.columns if name not in known}
        point = describe_point(self.explainer, x)
        return {
            "place": place,
            "label": str(self.rows.index[place]),
            "carried": carried,
            **point,
            **self.judge(place, x),
        }

    def judge_cells(self, place: int, cells: Mapping[str, Any]) -> dict[str, Any]:
        """What the model says of the row with some cells replaced, and which constraints that breaks."""
        x = self._encode(place).copy()
        for column, value in cells.items():
            x[self.check_column(int(column))] = np.nan if value is None else float(value)
        for number, feature in enumerate(self.explainer.schema):
            code = x[number]
            if not feature.is_numeric and not (np.isnan(code) or 0 <= code < len(feature.categories)):
                raise InputError(f"{feature.title} must be one of its categories", f"number {code:g}", "choose one")
            if np.isinf(code):
                raise InputError(f"{feature.title} must be a finite number", f"{code}", "write a number")
        return {**describe_point(self.explainer, x), **self.judge(place, x)}

    def judge(self, place: int, x: Array) -> dict[str, Any]:
        """Verdict, probability of the target, whether it is reached, and broken constraints, of an encoded point."""
        model = self.explainer.model
        seen = model if self.threshold is None else ProbabilityModel(model)
        both = np.stack([self._encode(place), x])
        decisions = np.asarray(seen.predict(both))
        goal = resolve_target(seen, self.target, self.threshold, current_decisions(seen, both[:1], decisions[:1]))
        region = Region.build(self.explainer.schema, both[:1], self.explainer.constraints, self.explainer.bounds)
        probabilities = model.probabilities(both[1:])
        labels = model.labels
        return {
            "verdict": format_label(decisions[1]),
            "isReached": bool(meets_goal(seen, goal.goal, both[1:], decisions[1:], np.arange(1), Tally())[0]),
            "target": format_label(goal.target[0]),
            "probability": _target_probability(goal.goal, probabilities),
            "turnsAt": self._find_turning_probability(goal.goal, probabilities),
            "probabilities": {}
            if probabilities is None or labels is None
            else {format_label(label): float(p) for label, p in zip(labels, probabilities[0], strict=True)},
            "broken": list(region.violations(both[1:])[0]),
        }

    def _find_turning_probability(self, goal: Any, probabilities: Array | None) -> float | None:
        """The probability that the target must have: the threshold, or that of its strongest rival among many."""
        wanted = getattr(goal, "wanted_classes", None)
        if self.threshold is not None or wanted is None or probabilities is None:
            return self.threshold
        return 0.5 if probabilities.shape[1] == 2 else float(np.where(wanted, 0.0, probabilities).max())

    def answer(self, place: int, wishes: Wishes, stage: Stage) -> dict[str, Any]:
        """The answer to a row under some wishes; the complete one, without wishes, goes into the list too."""
        found = self.explain(place, wishes, stage)
        if wishes == Wishes() and stage == "complete":
            self.index.record(summarize_answers(found, [place]))
        return describe_answer(self.explainer, found)

    def explain(self, place: int, wishes: Wishes, stage: Stage = "complete") -> Explanation:
        """The explanation of one row under some wishes, remembered for a while."""
        key = self.check_place(place), repr(wishes), stage
        with self._lock:
            if key in self._asked:
                self._asked.move_to_end(key)
                return self._asked[key]
        found = self.constrain(wishes)(
            self.rows.iloc[[place]],
            target=self.target,
            threshold=self.threshold,
            keep=wishes.keep,
            alternatives=self.settings.alternatives if stage == "complete" else 1,
            proof="auto" if stage == "complete" else False,
            seed=self.seed,
            progress=False,
        )
        with self._lock:
            self._asked[key] = found
            while len(self._asked) > self.settings.remembered:
                self._asked.popitem(last=False)
        return found

    def make_firm(self, wishes: Wishes) -> Wishes:
        """The wishes, withstanding noise where they do not ask for it."""
        return wishes if wishes.keep is not None else replace(wishes, keep=self.settings.firm_keep)

    def steps_ahead(self) -> Iterator[Callable[[], None]]:
        """Work that can be done while nobody asks: what every later question needs, then rows that nobody opened."""
        yield self._warm_up
        count, step = min(len(self), self.settings.answers_ahead), self.settings.rows_ahead
        for start in range(0, count, step):
            places = [place for place in range(start, min(start + step, count)) if place not in self.rejected]
            if places:
                yield partial(self._answer_rows, places)

    def _warm_up(self) -> None:
        """Ask about the first row once: leaves, relations and the calibrated noise are remembered by then."""
        first = next(place for place in range(len(self)) if place not in self.rejected)
        self.explain(first, self.make_firm(Wishes()), "first")

    def _answer_rows(self, places: list[int]) -> None:
        found = self.explainer(
            self.rows.iloc[places], target=self.target, threshold=self.threshold, seed=self.seed, progress=False
        )
        self.index.record(summarize_answers(found, places))

    def close(self) -> None:
        """Remove what the session holds on disk."""
        self.index.close()

    def constrain(self, wishes: Wishes) -> Explainer:
        """The explainer under some wishes."""
        words = wishes.constraints(self.explainer.schema)
        return self.explainer.with_constraints(*words) if words else self.explainer

    def check_place(self, place: int) -> int:
        """The place itself, or an error where no row stands there, or one that was rejected."""
        if not 0 <= place < len(self):
            raise InputError(f"a row must be a place below {len(self)}", f"{place}", "choose one from the list")
        if place in self.rejected:
            raise InputError("a row must be one that the model can be asked about", self.rejected[place], "correct it")
        return place

    def check_column(self, column: int) -> int:
        """The place itself, or an error where no feature stands there."""
        if not 0 <= column < len(self.explainer.schema):
            raise InputError(
                f"a column must be a place below {len(self.explainer.schema)}", f"{column}", "reload the page"
            )
        return column

    def _encode(self, place: int) -> Array:
        """The row ``(d,)`` as the model's numbers; encoded when it is asked for, so that no second table is held."""
        _, intake = self.explainer.prepare_rows(self.rows.iloc[[self.check_place(place)]])
        return np.asarray(intake.x0[0])

    def _fill_list(self) -> None:
        """Put every row into the list, with what the model says of it; those that it cannot be asked about as well."""
        known = set(self.explainer.schema.names)
        carried = [name for name in self.rows.columns if name not in known]
        for start in range(0, len(self), self.settings.listed_rows):
            rows = self.rows.iloc[start : start + self.settings.listed_rows]
            rejected = {place - start: why for place, why in self.rejected.items() if 0 <= place - start < len(rows)}
            self.explainer, verdicts, probabilities, reasons = judge_rows(
                self.explainer, rows, self.target, self.threshold, rejected
            )
            self.rejected |= {start + place: reason for place, reason in reasons.items()}
            labels = [str(label) for label in rows.index]
            words = [" ".join(map(str, cells)) for cells in rows[carried].itertuples(index=False)]
            self.index.add(
                ListedRow(
                    start + number,
                    labels[number],
                    verdicts[number] or None,
                    number_or_none(probabilities[number]),
                    status=REJECTED if start + number in self.rejected else None,
                    words=" ".join(filter(None, (labels[number], words[number] if carried else "", verdicts[number]))),
                )
                for number in range(len(rows))
            )
        if len(self.rejected) == len(self):
            reason = next(iter(self.rejected.values()))
            raise InputError("at least one row must be one that the model can be asked about", reason, "correct them")
        self.index.sort_columns()


def _target_probability(goal: Any, probabilities: Array | None) -> float | None:
    return number_or_none(target_probabilities(goal, probabilities, 1)[0])
