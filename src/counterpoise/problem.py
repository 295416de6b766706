"""Problem: what every method reads. One row each to explain, the model, the goal, the region and the energy.

The reshape between search arrays ``(n, k, d)`` and the model's ``(p, d)`` happens here and nowhere else, and so does
every model call of a search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from counterpoise.call_blocks import call_in_blocks
from counterpoise.errors import CapabilityError
from counterpoise.model_calls import BudgetedOutputs, Tally, call_model, check_outputs
from counterpoise.models.goals import Goal
from counterpoise.objective.energy import Energy
from counterpoise.objective.noise import Noise
from counterpoise.objective.noise_by_feature import make_copies_by_row
from counterpoise.reference_rows import ReferenceRows
from counterpoise.space.region.region import Region
from counterpoise.streams import Streams
from counterpoise.types import Array, Index, Mask, Model, Pullback, is_identity_index


class Score(NamedTuple):
    """What the model says of points: the margin ``f - c`` and whether the target is reached, each ``(n, k)``."""

    margin: Array
    reached: Mask


class NoiseScore(NamedTuple):
    """Points ``(n, k)`` under noise: ``kept`` is the share of noisy copies that keep the target.

    ``margin`` is reached by the share of copies that is asked for.
    """

    kept: Array
    margin: Array


@dataclass(frozen=True, eq=False)
class Cloud:
    """Noise that an answer should withstand: copies of a point, ``draws`` ``(n, m, d)`` of each row at every point.

    ``keep`` is the share of copies that must keep the target, of each row ``(n,)`` or of all; ``T`` the price of
    fragility, in the decision form of the free energy, Eq. (6): ``-T ln <exp(-kappa phi)>``, with ``kappa`` ``(n,)``.
    """

    noises: tuple[Noise, ...]
    owners: Index  # (n,) which of the noises is that of each row
    draws: Array
    keep: Array | float = 0.0
    T: float = 0.0
    kappa: Array | float = np.inf
    max_cells_together: int = 8_000_000  # numbers in the noisy copies made at once

    def make_copies(self, region: Region, x: Array, draws: Array, scales: Array, numeric: Mask) -> Array:
        """Noisy copies ``(n, k, m, d)`` of points ``x`` ``(n, k, d)`` of rows with this region, checked."""
        return make_copies_by_row(self.noises, self.owners, x, draws, region, scales, numeric)

    def take(self, rows: Index) -> Cloud:
        """The cloud of some rows."""
        keep, kappa = (each if isinstance(each, float) else each[rows] for each in (self.keep, self.kappa))
        return replace(self, owners=self.owners[rows], draws=self.draws[rows], keep=keep, kappa=kappa)


@dataclass(frozen=True, eq=False)
class Problem:
    """n rows to explain, ``min d(x, x0) + lam R`` subject to the target being reached inside the region, Eq. (8)."""

    x0: Array  # (n, d)
    model: Model
    goal: Goal
    region: Region
    energy: Energy
    scales: Array  # (d,) raw length of one unit of distance
    numeric: Mask  # (d,)
    reference_rows: ReferenceRows
    row_numbers: Index  # (n,) position of each row in the user's table, for messages
    deadline: float = np.inf
    tally: Tally = field(default_factory=Tally)
    cloud: Cloud | None = None
    hints: Array | None = None  # (n, h, d) points that a search should start from as well
    max_share_of_time: float = 0.2  # of the time left, that a single call of a slow model may take
    last_seconds: float = 0.05  # that a call may take where no time is left, so that a search ends with what it has
    first_unknown_codes: Array | None = None  # (d,) from this code on categories are unknown; None: all are known

    def __len__(self) -> int:
        return len(self.x0)

    def take(self, rows: Index | Sequence[int]) -> Problem:
        """The problem of some of the rows; the tally stays shared."""
        index = np.asarray(rows, dtype=np.intp)
        if is_identity_index(index, len(self)):
            return self
        return replace(
            self,
            x0=self.x0[index],
            goal=self.goal.take(index),
            region=self.region.take(index),
            energy=self.energy.take(index),
            row_numbers=self.row_numbers[index],
            cloud=None if self.cloud is None else self.cloud.take(index),
            hints=None if self.hints is None else self.hints[index],
        )

    def make_streams(self, seed: int) -> Streams:
        """The random numbers of the rows; they do not depend on the code that an unknown category got in its batch."""
        return Streams.of(
            self.x0 if self.first_unknown_codes is None else np.minimum(self.x0, self.first_unknown_codes), seed
        )

    @property
    def has_expired(self) -> bool:
        """Whether the time for the whole call is over, or no row has model rows left."""
        budget = self.tally.row_budget
        return self.is_out_of_time or (budget is not None and budget.is_spent(self.row_numbers))

    @property
    def is_out_of_time(self) -> bool:
        """Whether the time for the whole call is over."""
        return time.perf_counter() >= self.deadline

    @cached_property
    def is_all_numeric(self) -> bool:
        """Whether all columns are numbers."""
        return bool(self.numeric.all())

    def beats_any_two_changes(self, effort: Array) -> Mask:
        """Which efforts ``(n,)`` of answers are so low that no point which changes two features could cost less."""
        return self.energy.beats_any_two_changes(effort, np.asarray(self.region.free.any(axis=0)))

    @property
    def model_rows_left(self) -> float:
        """How many points of each row a search may give to the model: the same for all rows, whatever they spent."""
        budget = self.tally.row_budget
        return np.inf if budget is None else budget.search_limit

    @property
    def sums_probabilities(self) -> bool:
        """Whether the model is a sum of probabilities, like a forest, and not of decision values."""
        return self.model.link == "log" and not self.model.is_additive

    @property
    def has_gradient(self) -> bool:
        """Whether the model gives gradients."""
        return self.model.gradient is not None

    def outputs(self, x: Array, *, once: bool = False) -> Array:
        """Model outputs ``(n, k, c)`` at points ``x`` ``(n, k, d)``: one model call.

        ``once``: a point that equals the one before it is not given to the model again.
        """
        return self._ask_points(x, once=once).outputs

    def _ask_points(self, x: Array, *, once: bool = False) -> BudgetedOutputs:
        """Model outputs ``(n, k, c)``, and which points ``(n, k)`` the model was asked about: all without a budget."""
        flat, owners = x.reshape(-1, x.shape[-1]), self.row_numbers.repeat(x.shape[1])
        if not once or self.tally.row_budget is not None:
            outputs, asked = self._ask(flat, owners)
        else:
            fresh = np.ones(len(flat), dtype=bool)
            np.logical_or.reduce(flat[1:] != flat[:-1], axis=1, out=fresh[1:])
            distinct = fresh.nonzero()[0]
            outputs, asked = self._ask(flat.take(distinct, axis=0), owners.take(distinct))
            back = fresh.cumsum() - 1
            outputs, asked = outputs.take(back, axis=0), asked.take(back)
        return BudgetedOutputs(outputs.reshape(*x.shape[:2], -1), asked.reshape(x.shape[:2]))

    def _ask(self, flat: Array, owners: Index) -> BudgetedOutputs:
        """Outputs ``(p, c)`` at points ``(p, d)``, as far as the model rows of their owners ``(p,)`` last."""

        def ask(x: Array, owners: Index) -> Array:
            return check_outputs(self.call_model(self.model.outputs, x, owners), x, owners)

        if self.tally.row_budget is not None:
            return self.tally.row_budget.ask(ask, flat, owners)
        if len(flat) <= self._rows_in_time():
            return BudgetedOutputs(ask(flat, owners), np.ones(len(flat), dtype=bool))
        # a slow model is asked part by part, and no more once the time is up
        parts: list[Array] = []
        done = 0
        while done < len(flat) and (not parts or not self.is_out_of_time):
            end = done + max(1, int(min(self._rows_in_time(), len(flat))))
            parts.append(ask(flat[done:end], owners[done:end]))
            done += len(parts[-1])
        outputs = np.concatenate([*parts, np.repeat(parts[0][:1], len(flat) - done, axis=0)])
        return BudgetedOutputs(outputs, np.arange(len(flat)) < done)

    def _rows_in_time(self) -> float:
        """How many rows a call may have: what the model answers in a share of the time left, or in a last moment."""
        if np.isinf(self.deadline) or not self.tally.rows:
            return np.inf
        left = self.max_share_of_time * (self.deadline - time.perf_counter())
        return self.tally.count_rows_within(max(left, self.last_seconds))

    def call_model(self, call: Callable[[Array], Any], flat: Array, owners: Index) -> Any:
        """The result of a function of the model at points ``(p, d)``: every model call of a search is made here."""
        return call_model(call, flat, owners, self.tally)

    def _judge(self, answered: BudgetedOutputs, far_out: float = -1e6) -> Score:
        """Margins and decisions ``(n, k)``; points that could not be asked about are ``far_out`` of the target."""
        margin, reached = self.goal.margin(answered.outputs), self.goal.is_reached(answered.outputs)
        if answered.asked.all():
            return Score(margin, reached)
        return Score(np.where(answered.asked, margin, far_out * (1 + np.abs(margin))), reached & answered.asked)

    def score(self, x: Array, *, once: bool = False) -> Score:
        """Margins and decisions ``(n, k)`` at points ``x`` ``(n, k, d)``: one model call; ``once`` as for outputs."""
        if not x.size:
            return Score(np.zeros(x.shape[:2]), np.zeros(x.shape[:2], dtype=bool))
        margin, reached = self._judge(self._ask_points(x, once=once))
        if self.cloud is None:
            return Score(margin, reached)
        shares = self.score_under_noise(x)
        if np.any(self.cloud.keep):
            enough = shares.kept >= np.reshape(self.cloud.keep, (-1, 1))
            margin, reached = np.minimum(margin, shares.margin), reached & enough
        return Score(margin, reached)

    def are_reached(self, rows: Index, x: Array) -> Mask:
        """Whether points ``x`` ``(p, d)`` of these rows ``(p,)`` reach their targets, ``(p,)``: one model call."""
        if not len(x):
            return np.zeros(0, dtype=bool)
        answered = self._ask(x, self.row_numbers[rows])
        return np.asarray(self.goal.take(rows).is_reached(answered.outputs[:, None, :])[:, 0]) & answered.asked

    def score_under_noise(self, x: Array) -> NoiseScore:
        """Points ``x`` ``(n, k, d)`` under the cloud's noise."""
        cloud = self.cloud
        assert cloud is not None, "a problem without a cloud has no shares"
        n, k, d = x.shape
        m = cloud.draws.shape[1]
        kept, margin = np.empty((n, k)), np.empty((n, k))
        place = np.minimum(np.floor((1 - np.asarray(cloud.keep)) * m + 1e-9).astype(np.intp), m - 1)
        places = np.broadcast_to(place.reshape(-1, 1, 1), (n, k, 1))
        rows_at_once = max(1, cloud.max_cells_together // (k * m * d))
        for start in range(0, n, rows_at_once):
            rows = np.arange(start, min(start + rows_at_once, n))
            part = self if len(rows) == n else self.take(rows)
            assert part.cloud is not None
            margins, reached = part.judge_copies(x[rows], part.cloud.draws)
            kept[rows] = reached.mean(axis=-1)
            margins = np.partition(margins, np.unique(place), axis=-1)
            margin[rows] = np.take_along_axis(margins, places[rows], axis=-1)[..., 0]
        return NoiseScore(kept, margin)

    def judge_copies(self, x: Array, draws: Array) -> tuple[Array, Mask]:
        """Margins ``(n, k, m)`` of noisy copies of points ``x`` ``(n, k, d)``, and whether they keep the target."""
        assert self.cloud is not None, "noisy copies need a cloud"
        copies = self.cloud.make_copies(self.region, x, draws, self.scales, self.numeric)
        score = self._judge(self._ask_points(copies.reshape(len(x), -1, x.shape[2])))
        return score.margin.reshape(copies.shape[:3]), score.reached.reshape(copies.shape[:3])

    def gradient(self, x: Array) -> tuple[Score, Array]:
        """Score and the margin's gradient ``(n, k, d)`` in raw units, for a model that has one."""
        model = self.model
        if model.gradient is None:
            raise CapabilityError(
                "this needs a model with gradients",
                f"{type(model).__name__} has none",
                "use a method that works on any model, such as Search",
            )
        flat = x.reshape(-1, x.shape[-1])
        pull: Pullback | None = None
        if model.outputs_and_pullback is not None and self.tally.row_budget is None:
            owners = self.row_numbers.repeat(x.shape[1])
            found, pull = self.call_model(model.outputs_and_pullback, flat, owners)
            outputs = check_outputs(found, flat, owners).reshape(*x.shape[:2], -1)
            answered = BudgetedOutputs(outputs, np.ones(x.shape[:2], dtype=bool))
        else:
            answered = self._ask_points(x)
        slopes = self.goal.slopes(answered.outputs).reshape(len(flat), -1)
        gradient = self._call_derivative(model.gradient, flat, slopes) if pull is None else pull(slopes)
        score = self._judge(answered) if self.cloud is None else self.score(x)
        return score, np.where(answered.asked[..., None], gradient.reshape(x.shape), 0.0)

    def hvp(self, x: Array, v: Array) -> Array:
        """Hessian of the margin times ``v``, ``(n, k, d)``, for a model with curvature and an identity link."""
        model = self.model
        if model.hvp is None or model.link != "identity":
            raise CapabilityError(
                "this needs a model with Hessian-vector products of its decision values",
                f"{type(model).__name__} has none",
                "use finite differences or the cloud instead",
            )
        slopes, flat = self.goal.slopes(self.outputs(x)), (-1, x.shape[-1])
        arrays = x.reshape(flat), slopes.reshape(-1, slopes.shape[-1]), v.reshape(flat)
        return self._call_derivative(model.hvp, *arrays).reshape(x.shape)

    def _call_derivative(self, call: Callable[..., Array], *arrays: Array) -> Array:
        """A derivative of the model at points, each array ``(p, ...)``; an exception names the row that caused it."""
        widths, size = np.cumsum([array.shape[1] for array in arrays])[:-1], self.tally.block_rows

        def call_joined(rows: Array) -> Array:
            return call(*np.split(rows, widths, axis=1))

        try:
            return call_in_blocks(call_joined, np.concatenate(arrays, axis=1), size) if size else call(*arrays)
        except Exception:
            owners = np.repeat(self.row_numbers, len(arrays[0]) // len(self))
            return np.asarray(call_model(call_joined, np.concatenate(arrays, axis=1), owners, Tally()))
